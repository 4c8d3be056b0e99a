/** The request that every store receives when something is to be forgotten, and the event log, which is one of them. */

import { renameSync } from "node:fs";
import { sep } from "node:path";
import { readIfExists, remove, replaceFile } from "../base/files.ts";
import { type JsonRecord, parseRecord, scrub } from "../base/json.ts";
import type { Paths, Reading } from "../config/config.ts";

/** Sessions by id, or anything that contains a matching text. */
export type Forgetting = { ids: ReadonlySet<string> } | { hasText: (text: string) => boolean };

export interface ForgetIn {
  paths: Reading;
  /** Only count; remove nothing. */
  dryRun: boolean;
}

/** Time to wait for a file's writer, whose model may still be answering. */
export const WRITER_WAIT_MS = 60_000;

/** Returns whether a record about this session, containing these texts, is to be forgotten. */
export function isForgotten(forgetting: Forgetting, sessionId: string, texts: readonly string[]): boolean {
  return "ids" in forgetting ? forgetting.ids.has(sessionId) : texts.some(forgetting.hasText);
}

/** Returns whether a file is in the state folder, where every file is ours. */
export function isInState(file: string, { home }: Pick<Paths, "home">): boolean {
  return file.startsWith(`${home}${sep}`);
}

/** Shorter ids are too likely to occur inside other words. */
const ID_MIN_CHARS = 8;

/**
 * Removes lines about forgotten sessions, and the text of lines that record what was injected into other sessions,
 * unless such a line lists other sessions as its subject. Returns how many lines were changed or removed.
 */
export function forgetInLog(
  log: string,
  forgetting: Forgetting,
  { places = [], dryRun = false }: { places?: readonly string[]; dryRun?: boolean } = {},
): number {
  const rewrite = "ids" in forgetting ? sessionLines(forgetting.ids, places) : textLines(forgetting.hasText);
  const before = readLines(`${log}.1`);
  const now = filtered([...before, ...readLines(log)], rewrite);
  if (dryRun || now.changed === 0) return now.changed;
  // Concurrent writers start a new log.
  const aside = `${log}.${process.pid}.${crypto.randomUUID().slice(0, 8)}.tmp`;
  try {
    renameSync(log, aside);
  } catch {
    // nothing has been logged since the last rotation
  }
  const { kept, changed } = filtered([...before, ...readLines(aside)], rewrite);
  if (kept.length > 0) replaceFile(`${log}.1`, kept.map((line) => `${line}\n`).join(""));
  else remove(`${log}.1`);
  remove(aside);
  return changed;
}

/** Returns the line to keep; undefined to drop it. */
type Rewrite = (line: string, event: JsonRecord) => string | undefined;

function filtered(lines: readonly string[], rewrite: Rewrite): { kept: string[]; changed: number } {
  let changed = 0;
  const kept = lines.flatMap((line) => {
    const event = parseRecord(line);
    const next = event && rewrite(line, event);
    if (next !== line) changed++;
    return next === undefined ? [] : [next];
  });
  return { kept, changed };
}

function sessionLines(ids: ReadonlySet<string>, places: readonly string[]): Rewrite {
  const searched = [...[...ids].filter((id) => id.length >= ID_MIN_CHARS), ...places];
  const needles = searched.map((text) => JSON.stringify(text).slice(1, -1));
  return (line, event) => {
    if (typeof event.session === "string" && ids.has(event.session)) return undefined;
    if (typeof event.text === "string") {
      const { about, text: _, ...rest } = event;
      const isOfOthers = Array.isArray(about) && !about.some((id) => ids.has(id));
      return isOfOthers && !needles.some((needle) => line.includes(needle)) ? line : JSON.stringify(rest);
    }
    return needles.some((needle) => line.includes(needle)) ? undefined : line;
  };
}

function textLines(hasText: (text: string) => boolean): Rewrite {
  return (line, event) => (scrub(event, hasText).removed > 0 ? undefined : line);
}

function readLines(file: string): string[] {
  return (readIfExists(file) ?? "").split("\n").filter(Boolean);
}

/** Forgets in the event log and its predecessor. */

import { renameSync } from "node:fs";
import { readIfExists, remove, replaceFile } from "../base/files.ts";
import { type JsonRecord, parseRecord, scrub } from "../base/json.ts";
import type { Forgetting } from "./forgetting.ts";

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
  const before = linesOf(`${log}.1`);
  const now = filtered([...before, ...linesOf(log)], rewrite);
  if (dryRun || now.changed === 0) return now.changed;
  // Concurrent writers start a new log.
  const aside = `${log}.${process.pid}.${crypto.randomUUID().slice(0, 8)}.tmp`;
  try {
    renameSync(log, aside);
  } catch {
    // nothing has been logged since the last rotation
  }
  const { kept, changed } = filtered([...before, ...linesOf(aside)], rewrite);
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

function linesOf(file: string): string[] {
  return (readIfExists(file) ?? "").split("\n").filter(Boolean);
}

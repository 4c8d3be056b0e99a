/** Takes sessions, or what holds a text, out of the event log and the one before it. */

import { renameSync } from "node:fs";
import { readIfExists, remove, replaceFile } from "../base/files.ts";
import { type JsonRecord, parseRecord, scrub } from "../base/json.ts";
import type { Forgetting } from "../store/forgetting.ts";

/** A shorter id is too likely to stand in other words. */
const TELLING_CHARS = 8;

/**
 * Removes the lines about what is forgotten, and from what other sessions were told the words, unless the line says
 * that they are about others. Returns how many lines it changed or removed.
 */
export function forgetInLog(
  log: string,
  forgetting: Forgetting,
  { places, dryRun }: { places: readonly string[]; dryRun: boolean },
): number {
  const rewrite = "ids" in forgetting ? sessionLines(forgetting.ids, places) : textLines(forgetting.hasText);
  const before = linesOf(`${log}.1`);
  const now = filtered([...before, ...linesOf(log)], rewrite);
  if (dryRun || now.changed === 0) return now.changed;
  // Whoever writes meanwhile begins a new log.
  const aside = `${log}.${process.pid}.${crypto.randomUUID().slice(0, 8)}.tmp`;
  try {
    renameSync(log, aside);
  } catch {
    // nothing was logged since the log before
  }
  const { kept, changed } = filtered([...before, ...linesOf(aside)], rewrite);
  if (kept.length > 0) replaceFile(`${log}.1`, kept.map((line) => `${line}\n`).join(""));
  else remove(`${log}.1`);
  remove(aside);
  return changed;
}

/** A line as it stays; undefined when it goes. */
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
  const telling = [...[...ids].filter((id) => id.length >= TELLING_CHARS), ...places];
  const needles = telling.map((text) => JSON.stringify(text).slice(1, -1));
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

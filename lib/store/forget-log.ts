/** Takes what is forgotten out of the event log. */

import { renameSync } from "node:fs";
import { readIfExists, remove, replaceFile } from "../base/files.ts";
import { type JsonRecord, parseRecord, scrub } from "../base/json.ts";
import type { Paths } from "../config/config.ts";
import { byName, type ForgetScope, type Forgetting, type Found } from "./state.ts";

/** Shorter ids are too likely to occur inside other words. */
const ID_MIN_CHARS = 8;

/**
 * Removes lines about forgotten sessions, and the text of every line that records what was injected: it may quote them.
 * Counts the lines that were changed or removed.
 */
export function forgetInLog(
  forgetting: Forgetting,
  {
    paths: { log },
    places = [],
    dryRun,
  }: Pick<ForgetScope, "places" | "dryRun"> & { paths: Pick<Paths, "log"> },
): Pick<Found, "logLines"> {
  const named = byName(forgetting);
  const rewrite: Rewrite =
    "ids" in named
      ? linesOfSessions(named.ids, places)
      : (line, event) => (scrub(event, named.hasText).removed > 0 ? undefined : line);
  const before = readLines(`${log}.1`);
  const now = filtered([...before, ...readLines(log)], rewrite);
  if (dryRun || now.changed === 0) return { logLines: now.changed };
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
  return { logLines: changed };
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

function linesOfSessions(ids: ReadonlySet<string>, places: readonly string[]): Rewrite {
  const searched = [...[...ids].filter((id) => id.length >= ID_MIN_CHARS), ...places];
  const needles = searched.map((text) => JSON.stringify(text).slice(1, -1));
  return (line, { text, ...rest }) => {
    const kept = text === undefined ? line : JSON.stringify(rest);
    return ids.has(String(rest.session)) || needles.some((needle) => kept.includes(needle))
      ? undefined
      : kept;
  };
}

function readLines(file: string): string[] {
  return (readIfExists(file) ?? "").split("\n").filter(Boolean);
}

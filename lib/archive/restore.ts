/** Writes a session again, redacted, as a new one in its host's own place for another folder. */

import { closeSync, linkSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { ensureDirectory, FILE_MODE, remove, removeLeftovers, temporaryPath } from "../base/files.ts";
import { type JsonRecord, stringOf } from "../base/json.ts";
import type { PathsWithRules } from "../config/config.ts";
import type { Head } from "../hosts/format.ts";
import type { Restorer, RestoreTarget } from "../hosts/host.ts";
import { findHost } from "../hosts/hosts.ts";
import { withFile } from "../hosts/lines.ts";
import type { Session } from "../hosts/session.ts";
import { hostByPlace } from "../sessions/meta.ts";
import { readHead } from "../transcripts/head.ts";
import { type Rules, readRules } from "../transcripts/rules.ts";
import { copiedLines } from "./copy.ts";

/** A session made again, or what it would be. */
interface Restored extends Pick<Session, "id" | "file"> {
  folder: string;
  rows: number;
}

/**
 * Restores a session for a folder.
 *
 * @throws {SessionMemoryError} `USAGE` for a host that goes on with no file, `NOT_FOUND` where nothing was said.
 */
export function restoreSession(
  session: Session,
  { paths, folder, dryRun }: { paths: PathsWithRules; folder: string; dryRun: boolean },
): Restored {
  const host = findHost(session.agent);
  const { restorer, name = session.agent } = host ?? {};
  if (!host || !restorer) {
    const what = `Cannot restore "${session.id}": ${name} cannot resume a session that another program wrote`;
    throw new SessionMemoryError("USAGE", what, { hint: "hand it over with session-memory handoff" });
  }
  const head = readHead(session.file);
  if (!head)
    throw new SessionMemoryError("NOT_FOUND", `Cannot restore "${session.id}": it holds no conversation`);
  const at = new Date().toISOString();
  const origin = { id: head.id ?? session.id, file: session.file };
  const target: RestoreTarget = { id: crypto.randomUUID(), folder, from: head.cwd, origin, at };
  const file = restorer.place(paths.expand(host.home), target, { ...host, expand: paths.expand });
  const records = readRecords(session.file, { head, rules: readRules(paths) });
  const { machine, archived } = session;
  const isForeign = machine === undefined && !archived && !hostByPlace(session.file, paths);
  const rows = () => restoredRows(records, { target, restorer, isForeign });
  if (!dryRun) return { id: target.id, file, folder, rows: writeNew(file, rows()) };
  let count = 0;
  for (const _ of rows()) count++;
  return { id: target.id, file, folder, rows: count };
}

interface Restoring {
  target: RestoreTarget;
  restorer: Restorer;
  /** True if it is from a place that no host writes to: nobody knows who typed it. */
  isForeign: boolean;
}

/** Yields the rows of the new session; one whose parent is left out hangs from that one's parent. */
function* restoredRows(
  records: readonly JsonRecord[],
  { target, restorer, isForeign }: Restoring,
): Generator<JsonRecord> {
  yield* restorer.begin(target);
  const lost = new Map<string, unknown>();
  for (const record of records) {
    const row = restorer.row(record, target);
    const id = stringOf(record.uuid) ?? stringOf(record.id);
    const key = record.parentUuid === undefined ? "parentId" : "parentUuid";
    if (!row && id !== undefined) lost.set(id, record[key]);
    if (!row) continue;
    let parent = row[key];
    for (let known = stringOf(parent); known !== undefined && lost.has(known); known = stringOf(parent))
      parent = lost.get(known) ?? null;
    const own = isForeign ? { ...row, typed: false } : row;
    yield parent === undefined ? own : { ...own, [key]: parent };
  }
}

/** Reads a session's rows as its copy has them: a host that goes on with it has them all in memory too. */
function readRecords(source: string, { head, rules }: { head: Head; rules: Rules }): JsonRecord[] {
  return withFile(source, (descriptor) => [
    ...copiedLines(descriptor, { source, head, rules }).flatMap(({ copies }) => copies),
  ]);
}

/** Writes rows as a file that takes its name when it is whole, and no other file's place; returns how many. */
function writeNew(file: string, rows: Iterable<JsonRecord>): number {
  ensureDirectory(dirname(file));
  removeLeftovers(dirname(file));
  const temporary = temporaryPath(file);
  const descriptor = openSync(temporary, "wx", FILE_MODE);
  try {
    let count = 0;
    for (const row of rows) {
      writeSync(descriptor, `${JSON.stringify(row)}\n`);
      count++;
    }
    linkSync(temporary, file);
    return count;
  } finally {
    closeSync(descriptor);
    remove(temporary);
  }
}

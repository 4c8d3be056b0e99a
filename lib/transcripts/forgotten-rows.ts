/**
 * The rows of forgotten sessions, by a hash of the ids that their host gave them: a copy or a fork has the same ones, under
 * whatever name it comes back.
 */

import { readIfExists, remove, replaceFile, statOf } from "../base/files.ts";
import { shortHash } from "../base/hash.ts";
import { parseRecord } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import type { Entry } from "./session.ts";

/** What is forgotten, by the entry of `exclude` that keeps it out. */
interface Forgotten {
  entry: string;
  rows: string[];
}

const LOCK_WAIT_MS = 10_000;

/** Adds rows under the entry of `exclude` that keeps them out. */
export async function keepForgottenRows(file: string, entry: string, rows: Iterable<RowId>): Promise<void> {
  const keys = new Set<string>();
  for (const row of rows) {
    const key = rowKey(row);
    if (key !== undefined) keys.add(key);
  }
  if (keys.size > 0) await change(file, (present) => [...present, { entry, rows: [...keys] }]);
}

/** Drops the rows that no entry of `exclude` keeps out any longer. */
export async function dropForgottenRows(file: string, entries: readonly string[]): Promise<void> {
  if (statOf(file)) await change(file, (present) => present.filter(({ entry }) => !entries.includes(entry)));
}

async function change(file: string, work: (present: Forgotten[]) => Forgotten[]): Promise<void> {
  await withLock(`${file}.lock`, LOCK_WAIT_MS, () => {
    const next = work(read(file));
    if (next.length === 0) remove(file);
    else replaceFile(file, next.map((each) => `${JSON.stringify(each)}\n`).join(""));
  });
}

function read(file: string): Forgotten[] {
  const lines = (readIfExists(file) ?? "").split("\n");
  return lines.flatMap((line) => {
    const { entry, rows } = parseRecord(line) ?? {};
    return typeof entry === "string" && Array.isArray(rows) ? [{ entry, rows: rows.map(String) }] : [];
  });
}

let known: { file: string; state: string; rows: ReadonlySet<string> } | undefined;

/** Returns a test for rows of forgotten sessions; undefined where nothing was forgotten. */
export function forgottenTest(file: string | undefined): ((entry: RowId) => boolean) | undefined {
  const stat = file === undefined ? undefined : statOf(file);
  if (file === undefined || !stat) return undefined;
  const state = `${stat.size} ${stat.mtimeMs}`;
  if (known?.file !== file || known.state !== state)
    known = { file, state, rows: new Set(read(file).flatMap(({ rows }) => rows)) };
  const { rows } = known;
  return (entry) => {
    const key = rowKey(entry);
    return key !== undefined && rows.has(key);
  };
}

type RowId = Pick<Entry, "id" | "at">;

/** Short ids (pi's eight digits) are unique within a file only; with their time they are everywhere. */
function rowKey({ id, at = "" }: RowId): string | undefined {
  return id === undefined ? undefined : shortHash(id.length >= 32 ? id : `${id}@${at}`).toString(36);
}

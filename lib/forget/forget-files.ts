/**
 * Takes sessions, or what holds a text, out of the files of the state folder: ledgers, meta files, marks, names and
 * bookkeeping. Each file under the lock of those who write it. Deleted means unlinked; no disk is wiped.
 */

import { existsSync, readdirSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { cursorFileOf, OWN_MARKS } from "../activity/marks.ts";
import { readIfExists, readJson, remove, replaceFile } from "../base/files.ts";
import { isRecord, type JsonRecord, parseRecord, recordOf, scrub } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import { namesIn } from "../base/probe.ts";
import type { Paths } from "../config/config.ts";
import { forgetMetaStates } from "../naming/meta-state.ts";
import { fileStem, ledgerFile, readLedgerFile } from "../observe/ledger.ts";
import { forgetBackoffs } from "../observe/observe-state.ts";
import { metaDirectory, metaFile } from "../sessions/meta.ts";
import { forgetNames } from "../sessions/name-table.ts";
import { eraseFreedState, withExistingState } from "../store/state.ts";
import { forgetWritten, isAsWritten, removeWritten } from "../store/written-files.ts";
import { isInState } from "./forget-notes.ts";

/** What is forgotten: sessions by id, or whatever holds a text. */
export type Forgetting = { ids: ReadonlySet<string> } | { hasText: (text: string) => boolean };

export interface FileCounts {
  observations: number;
  ledgers: number;
  metaFiles: number;
  /** Marks of how far a session was told, and of how far it has looked. */
  cursors: number;
  /** Meta files in pi's folder that are not as we wrote them, or that we did not write. */
  otherMetas: string[];
}

interface Options {
  paths: Paths;
  /** Whether it is only counted. */
  dryRun: boolean;
}

/** Somebody's model may be answering. */
const LOCK_WAIT_MS = 60_000;
const AGENTS = ["claude", "pi"] as const;
/** What a writer that was killed leaves behind: `<file>.<process>.<random>.tmp`. */
const LEFTOVER = /\.(\d+)\.[0-9a-f]{8}\.tmp$/;

/** Removes from all these files. */
export async function forgetInFiles(forgetting: Forgetting, options: Options): Promise<FileCounts> {
  const ledgers = await forgetLedgers(forgetting, options);
  const { ours, others } = metasOf(forgetting, options.paths);
  if (!options.dryRun) await removeMetas(ours, options.paths);
  const cursors = "ids" in forgetting ? await forgetMarks(forgetting.ids, options) : 0;
  if (!options.dryRun) {
    forgetInState(forgetting, options.paths);
    forgetCaches(options.paths);
    for (const folder of [options.paths.home, metaDirectory(options.paths, "pi")]) removeLeftovers(folder);
  }
  return { ...ledgers, metaFiles: ours.length, cursors, otherMetas: others };
}

/** Whether any of these files is about a session. */
export function isInFiles(id: string, paths: Paths): boolean {
  const files = [ledgerFile(paths, id), cursorFileOf(paths.cursors, id).path];
  return [...files, ...AGENTS.map((agent) => metaFile(paths, { id, agent }))].some((file) =>
    existsSync(file),
  );
}

async function forgetLedgers(
  forgetting: Forgetting,
  { paths, dryRun }: Options,
): Promise<Pick<FileCounts, "ledgers" | "observations">> {
  const counts = { ledgers: 0, observations: 0 };
  const all = namesIn(paths.observations).filter((name) => name.endsWith(".jsonl"));
  const stems = "ids" in forgetting ? [...forgetting.ids].map(fileStem) : undefined;
  const names = stems ? all.filter((name) => stems.includes(name.slice(0, -".jsonl".length))) : all;
  for (const name of names) {
    const file = join(paths.observations, name);
    const before = countObservations(file);
    if ("hasText" in forgetting) {
      const gone = await scrubLedger(file, forgetting.hasText, dryRun);
      counts.observations += gone;
      if (gone > 0) counts.ledgers++;
      continue;
    }
    counts.ledgers++;
    counts.observations += before;
    if (!dryRun) await withLock(`${file}.lock`, LOCK_WAIT_MS, () => remove(file));
  }
  return counts;
}

function countObservations(file: string): number {
  const { records } = readLedgerFile(file);
  return records.reduce(
    (sum, record) => sum + ("observations" in record ? record.observations.length : 0),
    0,
  );
}

/** Leaves the records, so that what they cover is not observed again. Returns how many parts went. */
async function scrubLedger(
  file: string,
  hasText: (text: string) => boolean,
  dryRun: boolean,
): Promise<number> {
  const scrubbed = () => {
    let removed = 0;
    const lines = (readIfExists(file) ?? "").split("\n").filter(Boolean);
    const kept = lines.flatMap((line) => {
      const record = parseRecord(line);
      if (!record) return hasText(line) ? [] : [line];
      const result = scrub(record, hasText);
      removed += result.removed;
      return [result.removed > 0 ? JSON.stringify(result.value) : line];
    });
    return { removed, text: kept.map((line) => `${line}\n`).join("") };
  };
  if (dryRun || scrubbed().removed === 0) return scrubbed().removed;
  return await withLock(`${file}.lock`, LOCK_WAIT_MS, () => {
    const { removed, text } = scrubbed();
    replaceFile(file, text);
    return removed;
  });
}

/** pi's lie in its own folder, where others may have written: only those that have the bytes we wrote are ours. */
function metasOf(forgetting: Forgetting, paths: Paths): { ours: string[]; others: string[] } {
  const files =
    "ids" in forgetting ? metasAbout(forgetting.ids, paths) : metasWith(forgetting.hasText, paths);
  const isOurs = (file: string) => isInState(file, paths) || isAsWritten(paths, file);
  return { ours: files.filter(isOurs), others: files.filter((file) => !isOurs(file)) };
}

async function removeMetas(files: readonly string[], paths: Paths): Promise<void> {
  for (const file of files) {
    await withLock(`${file}.lock`, LOCK_WAIT_MS, () =>
      isInState(file, paths) ? remove(file) : removeWritten(paths, [file]),
    );
  }
}

function metasAbout(ids: ReadonlySet<string>, paths: Paths): string[] {
  const files = [...ids].flatMap((id) => AGENTS.map((agent) => metaFile(paths, { id, agent })));
  return [...new Set(files)].filter((file) => existsSync(file));
}

function metasWith(hasText: (text: string) => boolean, paths: Paths): string[] {
  const folders = new Set(AGENTS.map((agent) => metaDirectory(paths, agent)));
  return [...folders].flatMap((folder) =>
    namesIn(folder)
      .filter((name) => name.endsWith(".meta.json"))
      .map((name) => join(folder, name))
      .filter((file) => scrub(readJson(file), hasText).removed > 0),
  );
}

/** A looker's own file goes; in the others' the marks about a session do. */
async function forgetMarks(ids: ReadonlySet<string>, { paths, dryRun }: Options): Promise<number> {
  let count = 0;
  for (const name of namesIn(paths.cursors).filter((each) => /\.json(\.own|\.broken)?$/.test(each))) {
    const file = join(paths.cursors, name);
    const { kept, removed } = withoutMarks(file, ids);
    count += removed;
    if (dryRun || removed === 0) continue;
    await withLock(`${file}.lock`, LOCK_WAIT_MS, () =>
      rewriteMarks(file, withoutMarks(file, ids).kept ?? kept),
    );
  }
  return count;
}

function withoutMarks(
  file: string,
  ids: ReadonlySet<string>,
): { kept: JsonRecord | undefined; removed: number } {
  const value = readJson(file);
  if (!isRecord(value)) {
    const text = readIfExists(file) ?? "";
    return { kept: undefined, removed: [...ids].some((id) => text.includes(JSON.stringify(id))) ? 1 : 0 };
  }
  let removed = 0;
  const kept: JsonRecord = {};
  for (const [looker, marks] of Object.entries(value)) {
    const about = Object.entries(recordOf(marks));
    const others = about.filter(([id]) => !ids.has(id));
    // What a session has of itself is one mark, not several.
    if (ids.has(looker)) removed += file.endsWith(OWN_MARKS) ? 1 : about.length;
    else {
      removed += about.length - others.length;
      kept[looker] = Object.fromEntries(others);
    }
  }
  return { kept, removed };
}

/** The file's time tells when its session looked last, so it stays. */
function rewriteMarks(file: string, kept: JsonRecord | undefined): void {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return;
  if (!kept || Object.keys(kept).length === 0) {
    remove(file);
    return;
  }
  replaceFile(file, JSON.stringify(kept), { durable: false });
  utimesSync(file, stat.atime, stat.mtime);
}

/** Where transcripts were when nothing had changed: made again, without what stays out. */
function forgetCaches({ cursors }: Paths): void {
  for (const name of namesIn(cursors)) if (name.endsWith(".glance")) remove(join(cursors, name));
}

/** What state.db holds; names are read again, without what stays out. */
function forgetInState(forgetting: Forgetting, paths: Paths): void {
  const isForgotten = (sessionId: string, texts: readonly string[]) =>
    "ids" in forgetting ? forgetting.ids.has(sessionId) : texts.some(forgetting.hasText);
  withExistingState(paths, forgetNames);
  forgetMetaStates(paths, ({ sessionId, texts }) => isForgotten(sessionId, texts));
  forgetBackoffs(paths, ({ sessionId, reason }) => isForgotten(sessionId, [reason]));
  forgetWritten(paths, ({ sessionId, path }) => isForgotten(sessionId, [path]));
  eraseFreedState(paths);
}

function removeLeftovers(folder: string): void {
  for (const entry of readdirSafely(folder)) {
    const path = join(entry.parentPath, entry.name);
    const writer = LEFTOVER.exec(entry.name)?.[1];
    if (writer !== undefined && !isRunning(Number(writer))) remove(path);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // or another user's, whose files are not ours to write either
  }
}

function readdirSafely(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile());
  } catch {
    return []; // there is none yet
  }
}

/**
 * Redacts again what is stored under older rules: index, ledgers, meta files, notes and the log. Done once for each version
 * of the rules, in the background; until then whatever is shown is redacted on its way out.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { namesIn, readIfExists, replaceFile } from "../base/files.ts";
import { parseRecord } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import type { Paths, Settings } from "../config/config.ts";
import { cleanRows, countUncleanRows } from "../index/clean-rows.ts";
import { FILES_FACT } from "../index/freshness.ts";
import { redactionVersion } from "../redact/redact.ts";
import { PAGE_SUFFIX } from "../report/forget-reports.ts";
import { cleanBody } from "../report/html.ts";
import { metaDirectory } from "../sessions/meta.ts";
import { isInState, WRITER_WAIT_MS } from "../store/forgetting.ts";
import { isAsWritten, recordWritten, writtenFiles } from "../store/state.ts";
import { allIndexes, openStore, readFact, type Store, tendIndexes, writeFact } from "../store/store.ts";
import { readRules } from "../transcripts/rules.ts";

interface CleanOptions {
  paths: Paths;
  settings: Pick<Settings, "redact" | "exclude">;
}

/** Redacts what is not yet redacted under the rules of today. */
export async function cleanStored({ paths, settings }: CleanOptions): Promise<void> {
  if (!existsSync(paths.database)) return;
  const { clean } = readRules(settings);
  const version = redactionVersion(settings.redact.extra);
  tendIndexes(paths, new Date()); // first: what cleaning writes looks like use
  for (const index of allIndexes(paths).filter((path) => existsSync(path))) {
    inStore(index, (store) => cleanRows(store, { clean, version }));
  }
  if (inStore(paths.database, (store) => readFact(store, FILES_FACT)) === version) return;
  await cleanFiles(paths, clean);
  inStore(paths.database, (store) => writeFact(store, FILES_FACT, version));
}

/** Counts the rows that are not yet redacted under the rules of today. */
export function countUnclean({ paths, settings }: CleanOptions): number {
  const version = redactionVersion(settings.redact.extra);
  return allIndexes(paths)
    .filter((path) => existsSync(path))
    .reduce((sum, index) => sum + inStore(index, (store) => countUncleanRows(store, version)), 0);
}

function inStore<T>(index: string, work: (store: Store) => T): T {
  const store = openStore(index);
  try {
    return work(store);
  } finally {
    store.close();
  }
}

type Clean = (text: string) => string;

async function cleanFiles(paths: Paths, clean: Clean): Promise<void> {
  for (const name of namesIn(paths.observations).filter((each) => each.endsWith(".jsonl"))) {
    await rewrite(join(paths.observations, name), (text) => cleanLines(text, clean));
  }
  const folders = new Set((["claude", "pi"] as const).map((agent) => metaDirectory(paths, agent)));
  for (const folder of folders) {
    for (const name of namesIn(folder).filter((each) => each.endsWith(".meta.json"))) {
      const file = join(folder, name);
      if (isInState(file, paths)) await rewrite(file, (text) => cleanJson(text, clean));
    }
  }
  for (const name of namesIn(paths.reports)) {
    await rewrite(join(paths.reports, name), (html) => cleanBody(html, clean));
  }
  for (const log of [paths.log, `${paths.log}.1`]) await rewrite(log, (text) => cleanLines(text, clean));
  await cleanWritten(paths, clean);
}

/** Of what lies in others' folders only what is still as we wrote it. */
async function cleanWritten(paths: Paths, clean: Clean): Promise<void> {
  for (const { path, sessionId } of writtenFiles(paths)) {
    if (!isAsWritten(paths, path)) continue;
    const change = path.endsWith(".json") ? cleanJson : path.endsWith(PAGE_SUFFIX) ? cleanBody : undefined;
    const content = await rewrite(path, (text) => (change ? change(text, clean) : clean(text)));
    if (content !== undefined) recordWritten(paths, { path, sessionId, content });
  }
}

/** Changes a file under the lock of those who write it; undefined when there was nothing to change. */
async function rewrite(file: string, change: (text: string) => string): Promise<string | undefined> {
  const before = readIfExists(file);
  if (before === undefined || change(before) === before) return undefined;
  return await withLock(`${file}.lock`, WRITER_WAIT_MS, () => {
    const text = change(readIfExists(file) ?? "");
    replaceFile(file, text);
    return text;
  });
}

function cleanLines(text: string, clean: Clean): string {
  return text
    .split("\n")
    .map((line) => (parseRecord(line) ? cleanJson(line, clean, "") : line))
    .join("\n");
}

/** Values only: the keys are ours. Ids and paths stay, by which things are found again. */
function cleanJson(text: string, clean: Clean, indent?: string): string {
  let changed = false;
  let value: unknown;
  try {
    value = JSON.parse(text, (key, part: unknown) => {
      if (typeof part !== "string" || KEYS_LEFT.test(key)) return part;
      const after = clean(part);
      changed ||= after !== part;
      return after;
    });
  } catch {
    return text; // damaged: whoever reads it says so
  }
  return changed
    ? JSON.stringify(value, null, indent === undefined ? 2 : indent) + (indent === undefined ? "\n" : "")
    : text;
}

const KEYS_LEFT =
  /^(?:id|sessionId|session|sessionFile|parentSessionFile|path|cwd|lastIndexedLeafId|at|createdAt|updatedAt|coversToId)$/;

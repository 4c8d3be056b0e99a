/** Every transcript there is, ours and recorded ones: the same from both ends, and nothing in it that is hidden. */

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { readHead, validateSessionFile } from "../lib/transcripts/head.ts";
import { readActiveBranch, readEntries, readLastEntries } from "./support/entries.ts";
import { FIXTURES_FOLDER, HIDDEN } from "./support/fixtures.ts";
import { SOAK } from "./support/random.ts";
import { ROOT } from "./support/run.ts";

const RECORDED = join(ROOT, "..", "shared", "transcripts");
/** Long sessions of people at work, which the soak reads. */
const REAL = join(ROOT, "..", "shared", "bench", "real2");
/** A log of what hooks were told: rows with a session and a cwd, but no transcript. */
const NO_TRANSCRIPT = /sample_hook_logs\.jsonl$/;

for (const folder of [FIXTURES_FOLDER, RECORDED, ...(SOAK > 1 ? [REAL] : [])]) {
  if (existsSync(folder)) describe(relative(ROOT, folder), () => checkAll(folder));
  else test.skip(`recorded transcripts: ${relative(ROOT, folder)} is not there`, () => {});
}

function checkAll(folder: string): void {
  for (const file of transcriptsUnder(folder)) {
    const name = relative(folder, file);
    if (NO_TRANSCRIPT.test(file)) {
      test(`${name} is no transcript and yields nothing`, () => {
        expect(readHead(file)).toBeUndefined();
        expect([...readEntries(file)]).toEqual([]);
      });
    } else
      test(`${name} is read alike from both ends, without rows of the host`, () => check(file, hostOf(name)));
  }
}

function check(file: string, host: string): void {
  expect(readHead(file)?.agent).toBe(host);
  const entries = [...readEntries(file, { unterminated: "accept" })];
  expect(entries.filter((entry) => entry.text.includes(HIDDEN))).toEqual([]);
  expect(entries.every((entry) => entry.text.trim() !== "" || entry.kind === "tool")).toBe(true);

  const backward = readLastEntries(file, { count: Number.MAX_SAFE_INTEGER }).entries;
  expect(backward).toEqual(entries);

  const branch = readActiveBranch(file);
  const places = new Set(entries.map((entry) => entry.offset));
  expect(branch.filter((entry) => !places.has(entry.offset))).toEqual([]);
  expect(Array.isArray(validateSessionFile(file).errors)).toBe(true);
}

function hostOf(name: string): string {
  const [top = ""] = name.split("/");
  return top.replace(/-recorded$/, "");
}

function transcriptsUnder(folder: string): string[] {
  return (
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      // a state folder of ours holds ledgers, not transcripts; hosts' homes are held by golden transcripts
      .filter((name) => /^[^/]+\/.*\.jsonl$/.test(name) && !/^(?:state-|hosts\/)/.test(name))
      .sort()
      .map((name) => join(folder, name))
  );
}

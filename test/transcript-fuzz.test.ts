/** Damage of every kind, by chance: nothing throws, nothing whole is lost or told twice, no cursor passes a torn line. */

import { beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Head } from "../lib/hosts/format.ts";
import { LINE_MAX_BYTES } from "../lib/hosts/lines.ts";
import type { Entry } from "../lib/hosts/session.ts";
import { readHead, validateSessionFile } from "../lib/transcripts/head.ts";
import type { ReadProgress } from "../lib/transcripts/transcript.ts";
import { claudeUser } from "./support/claude.ts";
import { conversation, type Format } from "./support/corpus.ts";
import { readActiveBranch, readEntries, readLastEntries } from "./support/entries.ts";
import { fuzzSeed, type Random, SOAK, seeded } from "./support/random.ts";
import { jsonl } from "./support/rows.ts";

const FORMATS: Format[] = ["claude", "pi", "codex", "plain"];
const NEWLINE = 10;
let random: Random;
let file: string;

beforeAll(() => {
  random = seeded(fuzzSeed("transcript fuzz"));
  file = join(mkdtempSync(join(tmpdir(), "fuzz-")), "session.jsonl");
});

describe.each(FORMATS)("%s", (format) => {
  test("a file cut at any byte gives what is whole now and the rest when it is there", () => {
    const rows = conversation(format, random, 1);
    const bytes = Buffer.from(jsonl(...rows));
    const { head, entries } = readWhole(bytes);
    const step = SOAK > 1 ? 1 : 5;
    for (let cut = random.integer(0, step - 1); cut <= bytes.length; cut += step) {
      writeFileSync(file, bytes.subarray(0, cut));
      const progress: ReadProgress = { offset: 0, line: 0, skipped: 0 };
      const first = [...readEntries(file, { head, progress })];
      expect(progress.offset).toBe(bytes.subarray(0, cut).lastIndexOf(NEWLINE) + 1);
      writeFileSync(file, bytes);
      const second = [...readEntries(file, { head, from: { ...progress }, progress })];
      expect([...first, ...second]).toEqual(entries);
      expect(progress).toEqual({ offset: bytes.length, line: rows.length, skipped: 0 });
    }
  });

  test("a flipped byte damages its own line at most", () => {
    const bytes = Buffer.from(jsonl(...conversation(format, random, 3)));
    const { head, entries } = readWhole(bytes);
    for (let round = 0; round < 12 * SOAK; round++) {
      const damaged = Buffer.from(bytes);
      const at = random.integer(0, bytes.length - 1);
      if (damaged[at] === NEWLINE) continue;
      do damaged[at] = random.integer(0, 255);
      while (damaged[at] === NEWLINE);
      writeFileSync(file, damaged);
      const line = 1 + bytes.subarray(0, at).filter((byte) => byte === NEWLINE).length;
      const others = (all: Entry[]) => all.filter((entry) => entry.line !== line);
      expect(others([...readEntries(file, { head })])).toEqual(others(entries));
      readEverything();
    }
  });

  test("any bytes at all are read without a throw", () => {
    const bytes = Buffer.from(jsonl(...conversation(format, random, 3)));
    for (let round = 0; round < 10 * SOAK; round++) {
      const damaged = Buffer.from(bytes);
      for (let i = random.integer(1, 40); i > 0; i--) {
        damaged[random.integer(0, bytes.length - 1)] = random.integer(0, 255);
      }
      writeFileSync(file, damaged.subarray(random.integer(0, 200)));
      readEverything();
    }
  });

  test("rows fused on one line are all read, with or without white space between them", () => {
    for (let round = 0; round < 6 * SOAK; round++) {
      const rows = conversation(format, random, 3);
      const { head, entries } = readWhole(Buffer.from(jsonl(...rows)));
      const glued = rows
        .map((row) => JSON.stringify(row) + random.pick(["", "", " ", "\n", "\r\n"]))
        .join("");
      writeFileSync(file, `${glued}\n`);
      expect(shown([...readEntries(file, { head })])).toEqual(shown(entries));
    }
  });

  test("reading while the file grows, shrinks or is replaced never throws and never tells a row twice", () => {
    for (let round = 0; round < 8 * SOAK; round++) {
      const rows = conversation(format, random, 6);
      const bytes = Buffer.from(jsonl(...rows));
      const { head, entries } = readWhole(bytes);
      const start = random.integer(0, bytes.length);
      writeFileSync(file, bytes.subarray(0, start));
      const progress: ReadProgress = { offset: 0, line: 0, skipped: 0 };
      const reader = readEntries(file, { head, progress });
      const taken: Entry[] = [];
      const first = reader.next();
      if (!first.done) taken.push(first.value);
      const end = random.pick([start, bytes.length, random.integer(0, bytes.length)]);
      writeFileSync(file, bytes.subarray(0, end));
      taken.push(...reader);
      expect(taken).toEqual(entries.slice(0, taken.length));
      expect(bytes.subarray(progress.offset - 1, progress.offset).toString()).toBe(
        progress.offset ? "\n" : "",
      );
      writeFileSync(file, bytes);
      taken.push(...readEntries(file, { head, from: progress }));
      expect(taken).toEqual(entries);
    }
  });

  test("backward is forward reversed, also with damaged lines and without a last newline", () => {
    for (let round = 0; round < 8 * SOAK; round++) {
      const lines = jsonl(...conversation(format, random, random.integer(1, 30))).split("\n");
      if (random.chance(0.5)) lines.splice(random.integer(1, lines.length), 0, '{"type":"user","mess');
      if (random.chance(0.5)) lines.pop();
      writeFileSync(file, lines.join("\n"));
      const head = readHead(file);
      const forward = [...readEntries(file, { head, unterminated: "accept", results: true })];
      for (const count of [1, random.integer(1, forward.length), forward.length + 5]) {
        const { entries } = readLastEntries(file, { count, head, results: true });
        expect(entries).toEqual(forward.slice(-count));
      }
    }
  });
});

test("a character of several bytes on the edge of a block stays whole in both directions", () => {
  for (const block of [64 * 1024, 256 * 1024, 192 * 1024]) {
    for (let shift = -5; shift <= 5; shift++) {
      const empty = Buffer.byteLength(jsonl(claudeUser({ text: "", uuid: "u" })));
      const filler = "x".repeat(block + shift - empty - Buffer.byteLength(jsonl(claudeUser({ text: "" }))));
      const texts = [`${filler}ü測🎉`, "🎉".repeat(20_000), "last"];
      writeFileSync(file, jsonl(...texts.map((text) => claudeUser({ text, uuid: "u" }))));
      expect([...readEntries(file)].map((entry) => entry.text)).toEqual(texts);
      expect(readLastEntries(file, { count: 9 }).entries.map((entry) => entry.text)).toEqual(texts);
    }
  }
});

test("a line too long for memory is passed over, counted, and its neighbours are read", () => {
  writeFileSync(file, jsonl(claudeUser({ text: "before" })));
  const piece = Buffer.alloc(LINE_MAX_BYTES / 4 + 1, "x");
  for (let i = 0; i < 5; i++) appendFileSync(file, piece);
  appendFileSync(file, `\n${jsonl(claudeUser({ text: "after" }))}`);
  const progress: ReadProgress = { offset: 0, line: 0, skipped: 0 };
  const seen = [...readEntries(file, { progress })].map(({ line, text }) => ({ line, text }));
  expect(seen).toEqual([
    { line: 1, text: "before" },
    { line: 3, text: "after" },
  ]);
  expect(progress.skipped).toBe(1);
  const { entries, skipped } = readLastEntries(file, { count: 5 });
  expect(entries.map((entry) => entry.text)).toEqual(["before", "after"]);
  expect(skipped).toBe(1);
});

function readWhole(bytes: Buffer): { head: Head; entries: Entry[] } {
  writeFileSync(file, bytes);
  const head = readHead(file);
  if (!head) throw new Error("Expected a transcript but found none");
  return { head, entries: [...readEntries(file, { head })] };
}

function shown(entries: Entry[]): string[] {
  return entries.map((entry) => `${entry.kind} ${entry.text}`);
}

function readEverything(): void {
  readHead(file);
  for (const _ of readEntries(file, { results: true, unterminated: "accept" }));
  readLastEntries(file, { count: 5, results: true });
  readActiveBranch(file, { results: true });
  validateSessionFile(file);
}

/** Codex compresses a rollout a week after its last row, and unpacks it when the session goes on. */

import { describe, expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { canUnpack, statUnpacked } from "../lib/hosts/packed.ts";
import { codexAnswer, codexCall, codexCallOutput, codexMeta, codexPrompt } from "./support/codex.ts";
import { readEntries, readLastEntries } from "./support/entries.ts";
import { type TemporaryHome, temporaryHome } from "./support/home.ts";
import { jsonl, uuidFrom } from "./support/rows.ts";

const ID = uuidFrom("ostrich");
const OLD = new Date("2026-02-03T14:30:00.000Z");

function rows(home: TemporaryHome): string {
  const at = "2026-02-03T14:30:00.000Z";
  return jsonl(
    codexMeta({ id: ID, cwd: home.project, at }),
    ...codexPrompt({ at, text: "Why does the ostrich test fail?" }),
    codexCall({ at, name: "exec_command", arguments: { cmd: "make ostrich" }, callId: "c1" }),
    codexCallOutput({
      at,
      callId: "c1",
      output: "Exit code: 2\nOutput:\nerror: the ostrich has no feathers left",
    }),
    ...codexAnswer({ at, text: "Its feathers were never loaded." }),
  );
}

/** Writes the rollout; returns its path. */
function write(home: TemporaryHome, text = rows(home)): string {
  const file = join(home.home, ".codex/sessions/2026/02/03", `rollout-2026-02-03T14-30-00-${ID}.jsonl`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  utimesSync(file, OLD, OLD);
  return file;
}

/** Compresses a rollout as the client does: beside it, of the same time, the original removed. */
function compress(file: string, { keep = false, bytes = zstdCompressSync(readFileSync(file)) } = {}): void {
  const { mtime } = statSync(file);
  writeFileSync(`${file}.zst`, bytes);
  utimesSync(`${file}.zst`, mtime, mtime);
  if (!keep) unlinkSync(file);
}

const embed = async (home: TemporaryHome) => await home.json("embed");
const hits = async (home: TemporaryHome, ...words: string[]) => (await home.json("search", ...words)).results;

describe("a compressed session", () => {
  test("is neither new nor deleted: nothing is read again, and it is found, read and listed as before", async () => {
    using home = temporaryHome();
    const file = write(home);
    const first = await embed(home);
    expect([first.sessions, first.gone]).toEqual([1, 0]);
    const before = await home.ok("session-reader", ID, "--tools");
    const [listed, found] = [await home.ok("session-reader", "--list"), await hits(home, "ostrich feathers")];
    compress(file);
    const again = await embed(home);
    expect([again.sessions, again.newChunks, again.gone]).toEqual([0, 0, 0]);
    expect(await hits(home, "ostrich feathers")).toEqual([{ ...found[0], file: `${file}.zst` }]);
    expect([found.length, found[0].source_gone]).toEqual([1, false]);
    expect(await home.ok("session-reader", ID, "--tools")).toBe(before);
    expect(await home.ok("session-reader", `${file}.zst`, "--tools")).toBe(before);
    expect(await home.ok("session-reader", "--list")).toBe(listed);
  });

  test("is one session while both files are there, and the plain one counts", async () => {
    using home = temporaryHome();
    const file = write(home);
    compress(file, { keep: true });
    appendFileSync(file, jsonl(...codexPrompt({ text: "And the emu?" })));
    const { sessions } = await home.json("session-reader", "--list");
    expect(sessions.map((session: { file: string }) => session.file)).toEqual([file]);
    expect(await home.ok("session-reader", ID)).toContain("And the emu?");
  });

  test("that is damaged is named with its reason, and the others are read", async () => {
    using home = temporaryHome();
    const file = write(home);
    const bytes = zstdCompressSync(readFileSync(file));
    compress(file, { bytes: bytes.subarray(0, bytes.length - 20) });
    const { stderr, exitCode } = await home.run("session-reader", ID);
    expect([exitCode, stderr.split("\n")[0]]).toEqual([
      1,
      `error: PARSE_ERROR: Cannot read "${file}.zst": it is damaged`,
    ]);
    const other = join(dirname(file), `rollout-2026-02-03T15-30-00-${uuidFrom("emu")}.jsonl`);
    writeFileSync(other, rows(home).replaceAll(ID, uuidFrom("emu")));
    expect(
      (await hits(home, "ostrich feathers")).map((hit: { session_id: string }) => hit.session_id),
    ).toEqual([uuidFrom("emu")]);
  });

  test("where the runtime has no zstd is named by health and by the reader, never read as less", async () => {
    using home = temporaryHome();
    compress(write(home));
    const zlib = process.getBuiltinModule("node:zlib") as { zstdDecompressSync: unknown };
    const own = zlib.zstdDecompressSync;
    zlib.zstdDecompressSync = undefined;
    try {
      expect(canUnpack()).toBe(false);
      const { stderr } = await home.run("session-reader", ID);
      expect(stderr).toContain(
        "this runtime has no zstd\nhint: use Bun 1.4, Node 22.18, Deno 2.9, or a newer one",
      );
      const { findings } = JSON.parse((await home.run("health", "--json")).stdout);
      expect(findings.map(({ what }: { what: string }) => what)).toContain(
        "1 compressed session of Codex cannot be read here",
      );
    } finally {
      zlib.zstdDecompressSync = own;
    }
  });
});

test("a large compressed rollout reads as the plain one, from both ends, from its head and with an unknown size", () => {
  using home = temporaryHome();
  const word = (i: number) => Bun.hash(String(i)).toString(36);
  const more = Array.from(
    { length: 20_000 },
    (_, i) => codexAnswer({ text: `${word(i)} ${word(i + 1e6)} ${i}` })[1] ?? {},
  );
  const file = write(home, rows(home) + jsonl(...more));
  const whole = [...readEntries(file, { results: true })];
  const last = readLastEntries(file, { count: 3 });
  const { size, mtimeMs } = statSync(file);
  const plain = readFileSync(file);
  compress(file);
  expect(statSync(`${file}.zst`).size).toBeGreaterThan(128 * 1024);
  expect([statUnpacked(file)?.size, statUnpacked(file)?.mtimeMs]).toEqual([size, mtimeMs]);
  expect([...readEntries(file, { results: true })]).toEqual(whole);
  expect(readLastEntries(file, { count: 3 })).toEqual(last);
  // a frame whose header does not say how much it holds: the size's two flag bits and its bytes taken out
  const framed = zstdCompressSync(plain);
  const [flags, sizeBytes] = [framed[4] ?? 0, [0, 2, 4, 8][(framed[4] ?? 0) >> 6] ?? 0];
  if ((flags & 0x20) === 0) {
    const unsized = Buffer.concat([framed.subarray(0, 6), framed.subarray(6 + sizeBytes)]);
    unsized[4] = flags & 0x3f;
    writeFileSync(`${file}.zst`, unsized);
    expect(statUnpacked(file)?.size).toBe(size);
  }
  expect(existsSync(file)).toBe(false);
});

/** The index of transcripts in any pieces, and of those that are too large. What embed says of others: golden/indexing.txt. */

import { describe, expect, test } from "bun:test";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Session } from "../lib/hosts/session.ts";
import { indexSessions } from "../lib/index/indexing.ts";
import { listSessions } from "../lib/sessions/sessions.ts";
import type { openStore } from "../lib/store/store.ts";
import { claudeAssistant, claudeToolResult } from "./support/claude.ts";
import { homePerTest, layFixtures, temporaryHome, write, writeClaude } from "./support/home.ts";
import {
  chunksOf,
  contentOf,
  countMatches,
  indexHome,
  openHomeStore,
  openNewStore,
  settingsWith,
  turn,
} from "./support/index.ts";
import { plainLine } from "./support/plain.ts";
import { fuzzSeed, SOAK, seeded } from "./support/random.ts";
import { jsonl, type Row, uuidFrom } from "./support/rows.ts";

const home = homePerTest();

const ONE = uuidFrom("session one");
const TWO = uuidFrom("session two");

function state(store: ReturnType<typeof openStore>, id: string) {
  return store
    .prepare(
      "SELECT status, chunk_count, skipped_lines, cursor_line, next_chunk, error FROM index_state WHERE session_id = ?",
    )
    .get(id);
}

/** A command and its result, in rows that a host writes apart. */
function ran(command: string, content: string): Row[] {
  const id = `toolu_${uuidFrom(command)}`;
  return [
    ...claudeAssistant({ tools: [{ name: "Bash", input: { command }, id }] }),
    claudeToolResult({ toolUseId: id, content, isError: true }),
  ];
}

describe("indexSessions()", () => {
  test("touches nothing when nothing changed", async () => {
    layFixtures(home);
    const store = openHomeStore(home);
    await indexHome(home, store);
    const before = contentOf(store);
    const changes = store.prepare("SELECT total_changes() AS n").get();
    const report = await indexHome(home, store);
    expect(report).toEqual({
      sessions: 0,
      chunks: 0,
      newChunks: 0,
      skippedLines: 0,
      quarantined: [],
      failed: [],
      left: 0,
    });
    expect(store.prepare("SELECT total_changes() AS n").get()).toEqual(changes);
    expect(contentOf(store)).toEqual(before);
  });

  test("gives the same index however a session's bytes arrived", async () => {
    const seed = fuzzSeed("indexing in pieces");
    const random = seeded(seed);
    for (let round = 0; round < 6 * SOAK; round++) {
      using home = temporaryHome();
      const rows = Array.from({ length: random.integer(1, 30) }, (_, i) => [
        ...turn(`question ${i} ${"word ".repeat(random.integer(0, 400))}`, `answer ${i} é🎉`, { minute: i }),
        ...(random.chance(0.3) ? ran(`bun test ${i}`, `${i} failed`) : []),
      ]);
      const bytes = Buffer.from(jsonl(...rows));
      const pieces = openNewStore();
      const file = writeClaude(home, { id: ONE, rows: "" });
      for (let at = 0; at < bytes.length; ) {
        at = Math.min(bytes.length, at + random.integer(1, bytes.length));
        writeFileSync(file, bytes.subarray(0, at));
        await indexHome(home, pieces);
      }
      const whole = openNewStore();
      await indexHome(home, whole);
      expect(contentOf(pieces)).toEqual(contentOf(whole));
      pieces.close();
      whole.close();
    }
  });

  test("goes on with the others when a file may not be read, and tries it again", async () => {
    const store = openHomeStore(home);
    writeClaude(home, { id: TWO, rows: [turn("open", "file")] });
    const [listed] = listSessions(home.paths) as [Session];
    // a folder in its place fails for everybody, root included
    const file = join(home.root, `${ONE}.jsonl`);
    write(join(file, "inner"), "");
    const sessions = [{ ...listed, id: ONE, file }, listed];
    const report = await indexSessions({ store, paths: home.paths, sessions, settings: settingsWith() });
    expect([report.sessions, report.failed.map((failure) => failure.file)]).toEqual([1, [file]]);
    expect(state(store, ONE)).toMatchObject({ status: "failed" });
    expect(chunksOf(store, TWO)).toEqual(["User: open\nAssistant: file"]);
  });

  test("a paste of megabytes leaves the rest of its session searchable, and its own ends", async () => {
    const store = openHomeStore(home);
    const paste = `pastebegin ${"QWxhZGRpbjpvcGVuIHNlc2FtZQ".repeat(80_000)} pasteend`;
    const rows = [turn("earlierquestion", "ok"), turn(paste, "laterdone", { minute: 1 })];
    writeClaude(home, { id: ONE, rows });
    const warnings: string[] = [];
    await indexHome(home, store, { onWarning: (text) => warnings.push(text) });
    const found = ["earlierquestion", "pastebegin", "pasteend", "laterdone"].map(
      (word) => countMatches(store, word) > 0,
    );
    expect({ found, warnings }).toEqual({ found: [true, true, true, true], warnings: [] });
    store.close();
  });

  test("keeps the newest 2,000 chunks of a session, says so, and stays there as it grows", async () => {
    const store = openHomeStore(home);
    const rows = Array.from({ length: 2100 }, (_, i) => turn(`question number${i}`, "ok", { minute: i }));
    const file = writeClaude(home, { id: ONE, rows });
    const warnings: string[] = [];
    const report = await indexHome(home, store, { onWarning: (text) => warnings.push(text) });
    expect([report.chunks, report.newChunks]).toEqual([2000, 2000]);
    expect(warnings).toEqual([`session ${ONE} is over 2000 chunks: only its newest are kept`]);
    expect(state(store, ONE)).toMatchObject({ status: "partial", chunk_count: 2000, next_chunk: 2099 });
    expect([
      countMatches(store, "number99"),
      countMatches(store, "number100"),
      countMatches(store, "number2099"),
    ]).toEqual([0, 1, 1]);
    expect((await indexHome(home, store)).sessions).toBe(0);
    appendFileSync(file, jsonl(turn("question more", "ok", { minute: 2101 })));
    await indexHome(home, store);
    expect(state(store, ONE)).toMatchObject({ status: "partial", chunk_count: 2000, next_chunk: 2100 });
    expect(countMatches(store, "number100")).toBe(0);
  }, 60_000);

  test("stops at its deadline between two exchanges and goes on from there", async () => {
    const store = openHomeStore(home);
    writeClaude(home, {
      id: ONE,
      rows: Array.from({ length: 1000 }, (_, i) => turn(`question ${i}`, "ok", { minute: i })),
    });
    let runs = 0;
    for (let isDone = false; !isDone; runs++) {
      await indexHome(home, store, { deadlineMs: 15 });
      isDone = state(store, ONE)?.status === "complete";
      expect(runs).toBeLessThan(500);
    }
    expect(runs).toBeGreaterThan(1);
    const whole = openNewStore();
    await indexHome(home, whole);
    expect(contentOf(store)).toEqual(contentOf(whole));
    whole.close();
  }, 60_000);

  test("stops with the storage error and keeps what was committed before", async () => {
    const store = openHomeStore(home);
    writeClaude(home, { id: ONE, rows: [turn("first", "one")] });
    await indexHome(home, store);
    const before = contentOf(store);
    store.exec("CREATE TRIGGER full BEFORE INSERT ON chunks BEGIN SELECT RAISE(ABORT, 'disk is full'); END");
    writeClaude(home, { id: TWO, rows: [turn("second", "two")] });
    await expect(indexHome(home, store)).rejects.toMatchObject({
      type: "STORAGE_ERROR",
      message: expect.stringContaining("disk is full"),
    });
    expect(contentOf(store)).toEqual(before);
    store.exec("DROP TRIGGER full");
    await indexHome(home, store);
    expect(chunksOf(store, TWO)).toEqual(["User: second\nAssistant: two"]);
  });

  test("holds two plain files of one name apart", async () => {
    const store = openHomeStore(home);
    for (const folder of ["a", "b"]) {
      const paths = { ...home.paths, transcripts: [join(home.root, folder)] };
      write(join(home.root, folder, "today.jsonl"), [
        plainLine("user", `words of ${folder}`),
        plainLine("assistant", "yes"),
      ]);
      await indexSessions({ store, paths, sessions: listSessions(paths), settings: settingsWith() });
    }
    expect(store.prepare("SELECT content FROM session_chunks ORDER BY 1").all()).toEqual([
      { content: "User: words of a\nAssistant: yes" },
      { content: "User: words of b\nAssistant: yes" },
    ]);
    const ids = store
      .prepare("SELECT id FROM sessions ORDER BY id")
      .all()
      .map((row) => String(row.id));
    expect(ids[0]).toBe("today");
    expect(ids[1]).toMatch(/^today~[0-9a-f]{6}$/);
  });
});

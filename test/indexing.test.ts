import { describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Session } from "../lib/hosts/session.ts";
import { indexSessions } from "../lib/index/indexing.ts";
import { listSessions, unlistedTranscripts } from "../lib/sessions/sessions.ts";
import type { openStore } from "../lib/store/store.ts";
import { claudeAssistant, claudeState, claudeToolResult } from "./support/claude.ts";
import { homePerTest, layFixtures, temporaryHome, write, writeClaude, writePi } from "./support/home.ts";
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
import { piAssistant, piHeader, piLinked, piUser } from "./support/pi.ts";
import { plainLine } from "./support/plain.ts";
import { fuzzSeed, SOAK, seeded } from "./support/random.ts";
import { jsonl, type Row, uuidFrom } from "./support/rows.ts";

const home = homePerTest();

const ONE = uuidFrom("session one");
const TWO = uuidFrom("session two");
const MAKE = [{ name: "Bash", input: { command: "make it" } }];

function state(store: ReturnType<typeof openStore>, id: string) {
  return store.db
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
    const changes = store.db.prepare("SELECT total_changes() AS n").get();
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
    expect(store.db.prepare("SELECT total_changes() AS n").get()).toEqual(changes);
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

  test("reads a replaced file from its start, also when it is larger than before", async () => {
    const store = openHomeStore(home);
    const file = writeClaude(home, {
      id: ONE,
      rows: [turn("old words", "old answer"), turn("more", "again", { minute: 2 })],
    });
    await indexHome(home, store);
    writeFileSync(
      file,
      jsonl(turn("new words", `new answer ${"x ".repeat(60)}`), turn("and more", "of it", { minute: 3 })),
    );
    await indexHome(home, store);
    expect(chunksOf(store, ONE).map((text) => text.slice(0, 15))).toEqual([
      "User: new words",
      "User: and more\n",
    ]);
    expect([countMatches(store, "old"), countMatches(store, "new")]).toEqual([0, 1]);
    writeFileSync(file, jsonl(turn("short", "one")));
    await indexHome(home, store);
    expect(chunksOf(store, ONE)).toEqual(["User: short\nAssistant: one"]);
  });

  test("finds an edit of equal length far before the cursor with `all` only", async () => {
    const store = openHomeStore(home);
    const padding = Array.from({ length: 40 }, (_, i) =>
      turn(`question ${i}`, `answer ${"word ".repeat(40)}`, { minute: i }),
    );
    const rows = [...padding.slice(0, 20), turn("before", "EDITED"), ...padding.slice(20)];
    const file = writeClaude(home, { id: ONE, rows });
    await indexHome(home, store);
    const before = store.db
      .prepare("SELECT id, content FROM session_chunks WHERE content LIKE '%question 7%'")
      .get();
    writeFileSync(file, readFileSync(file, "utf8").replace("EDITED", "CHANGE"));
    await indexHome(home, store);
    expect(countMatches(store, "EDITED")).toBe(1);
    const report = await indexHome(home, store, { all: true });
    expect([report.newChunks, countMatches(store, "EDITED"), countMatches(store, "CHANGE")]).toEqual([
      1, 0, 1,
    ]);
    expect(
      store.db.prepare("SELECT id, content FROM session_chunks WHERE content LIKE '%question 7%'").get(),
    ).toEqual(before);
  });

  test("indexes rows that a fork copied once, and the fork's own", async () => {
    const store = openHomeStore(home);
    const rows = [
      turn("shared question", "shared answer", { sessionId: ONE, tools: MAKE }),
      turn("only in one", "yes", { minute: 1, sessionId: ONE }),
    ].flat();
    const file = writeClaude(home, { id: ONE, rows });
    const copied = rows.slice(0, 2).map((row) => ({ ...row, sessionId: TWO }));
    const fork = writeClaude(home, {
      id: TWO,
      rows: [copied, turn("only in two", "yes", { minute: 2, sessionId: TWO })],
    });
    utimesSync(file, 1000, 1000);
    await indexHome(home, store);
    expect(chunksOf(store, ONE)).toEqual([
      "User: shared question\nAssistant: shared answer",
      "User: only in one\nAssistant: yes",
    ]);
    expect(chunksOf(store, TWO)).toEqual(["User: only in two\nAssistant: yes"]);
    expect(store.db.prepare("SELECT * FROM copies").all()).toEqual([{ session_id: TWO, owner_id: ONE }]);
    expect(store.db.prepare("SELECT target FROM rows WHERE who = 'tool'").all()).toEqual([
      { target: "make it" },
    ]);
    appendFileSync(fork, jsonl(turn("later in two", "yes", { minute: 3, sessionId: TWO })));
    await indexHome(home, store);
    expect(countMatches(store, "shared")).toBe(1);
  });

  test("takes a row once that stands twice in one file, and short ids of other times as others", async () => {
    const store = openHomeStore(home);
    const said = turn("once", "only");
    writeClaude(home, { id: ONE, rows: [said, turn("between", "them", { minute: 1 }), said] });
    const entry = (text: string, at: string) =>
      piLinked([
        piHeader({ id: TWO }),
        piUser({ id: "aaaaaaaa", text, at }),
        piAssistant({ id: "bbbbbbbb", text: "ok", at }),
      ]);
    writePi(home, { id: TWO, rows: entry("pi one", "2026-02-01T10:00:00.000Z") });
    const third = uuidFrom("pi three");
    writePi(home, {
      id: third,
      at: "2026-02-02T10:00:00.000Z",
      rows: [piHeader({ id: third }), ...entry("pi two", "2026-02-02T10:00:00.000Z").slice(1)],
    });
    await indexHome(home, store);
    expect(chunksOf(store, ONE)).toEqual(["User: once\nAssistant: only", "User: between\nAssistant: them"]);
    expect([...chunksOf(store, TWO), ...chunksOf(store, third)]).toEqual([
      "User: pi one\nAssistant: ok",
      "User: pi two\nAssistant: ok",
    ]);
  });

  test("skips and counts lines that are no JSON, and quarantines a file with no message", async () => {
    const store = openHomeStore(home);
    writeClaude(home, {
      id: ONE,
      rows: `${jsonl(turn("a", "b"))}{"broken\nnot json\n${jsonl(turn("c", "d", { minute: 4 }))}`,
    });
    const noise = writeClaude(home, { id: TWO, rows: "\u0000\u0001\u0002 binary\nmore of it\n" });
    const report = await indexHome(home, store);
    expect(report.skippedLines).toBe(2);
    expect(report.quarantined).toEqual([{ file: noise, reason: "2 of 2 lines are not JSON" }]);
    expect(state(store, ONE)).toMatchObject({ status: "complete", chunk_count: 2, skipped_lines: 2 });
    expect(state(store, TWO)).toMatchObject({
      status: "quarantined",
      chunk_count: 0,
      error: "2 of 2 lines are not JSON",
    });
    expect((await indexHome(home, store)).quarantined).toEqual([]);
    writeFileSync(noise, jsonl(turn("now it", "is one")));
    await indexHome(home, store);
    expect(state(store, TWO)).toMatchObject({ status: "complete", chunk_count: 1, error: null });
  });

  test("takes a file in which nothing was said yet for no fault", async () => {
    const store = openHomeStore(home);
    writeClaude(home, { id: ONE, rows: "" });
    writeClaude(home, { id: TWO, rows: "\n\n" });
    writeClaude(home, { id: uuidFrom("opened"), rows: [claudeState("file-history-snapshot", {})] });
    expect((await indexHome(home, store)).quarantined).toEqual([]);
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
      rows: Array.from({ length: 3000 }, (_, i) => turn(`question ${i}`, "ok", { minute: i })),
    });
    let runs = 0;
    for (let isDone = false; !isDone; runs++) {
      await indexHome(home, store, { deadlineMs: 15 });
      isDone = state(store, ONE)?.status === "partial" && Number(state(store, ONE)?.next_chunk) === 2999;
      expect(runs).toBeLessThan(500);
    }
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
    store.db.exec(
      "CREATE TRIGGER full BEFORE INSERT ON chunks BEGIN SELECT RAISE(ABORT, 'disk is full'); END",
    );
    writeClaude(home, { id: TWO, rows: [turn("second", "two")] });
    await expect(indexHome(home, store)).rejects.toMatchObject({
      type: "STORAGE_ERROR",
      message: expect.stringContaining("disk is full"),
    });
    expect(contentOf(store)).toEqual(before);
    store.db.exec("DROP TRIGGER full");
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
    expect(store.db.prepare("SELECT content FROM session_chunks ORDER BY 1").all()).toEqual([
      { content: "User: words of a\nAssistant: yes" },
      { content: "User: words of b\nAssistant: yes" },
    ]);
    const ids = store.db
      .prepare("SELECT id FROM sessions ORDER BY id")
      .all()
      .map((row) => String(row.id));
    expect(ids[0]).toBe("today");
    expect(ids[1]).toMatch(/^today~[0-9a-f]{6}$/);
  });

  test("knows the agent of a given file whose first line was half written before", async () => {
    const store = openHomeStore(home);
    const paths = { ...home.paths, transcripts: [join(home.root, "given")] };
    const file = join(home.root, "given", `${ONE}.jsonl`);
    const whole = jsonl(...turn("where is the sextant", "In room 1.", { sessionId: ONE }));
    for (const written of [whole.slice(0, 40), whole]) {
      write(file, written);
      const listed = listSessions(paths);
      const sessions = [...listed, ...unlistedTranscripts(paths, listed)];
      await indexSessions({ store, paths, sessions, settings: settingsWith() });
    }
    expect(store.db.prepare("SELECT id, agent FROM sessions").all()).toEqual([{ id: ONE, agent: "claude" }]);
    expect(chunksOf(store, ONE)).toEqual(["User: where is the sextant\nAssistant: In room 1."]);
  });
});

import { describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { pruneSessions } from "../lib/index/forget-rows.ts";
import { openStore, type Store } from "../lib/store/store.ts";
import { deedsIn } from "../lib/transcripts/calls.ts";
import { errorKeys } from "../lib/transcripts/error-lines.ts";
import { claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { readEntries } from "./support/entries.ts";
import { homePerTest, layFixtures, writeClaude } from "./support/home.ts";
import { indexHome, openHomeStore, settingsWith } from "./support/index.ts";
import { jsonl, type Row, uuidFrom } from "./support/rows.ts";
import { runScript } from "./support/run.ts";

const home = homePerTest();

const ONE = uuidFrom("deeds one");
const TWO = uuidFrom("deeds two");

function run(command: string, output: string, { isError = false, sessionId = ONE } = {}): Row[] {
  const id = `toolu_${uuidFrom(command + output)}`;
  return [
    ...claudeAssistant({ sessionId, tools: [{ name: "Bash", input: { command }, id }] }),
    claudeToolResult({ sessionId, toolUseId: id, content: output, isError }),
  ];
}

const deeds = (store: Store) =>
  store.db
    .prepare(
      "SELECT id, line, result_line, exchange_line, target, outcome, result FROM deeds ORDER BY session, line",
    )
    .all()
    .map(({ id: _, ...deed }) => Object.values(deed).join("|"));

const found = (store: Store, word: string) =>
  Number(store.db.prepare("SELECT count(*) AS n FROM deeds_fts WHERE deeds_fts MATCH ?").get(word)?.n);

describe("deeds in the index", () => {
  test("are those of the transcripts, and found by their words", async () => {
    layFixtures(home);
    const store = openHomeStore(home);
    await indexHome(home, store);
    const files = store.db.prepare("SELECT file FROM sessions WHERE source_gone = 0").all();
    const wanted = files.reduce(
      (sum, { file }) => sum + deedsIn([...readEntries(String(file), { results: true })]).length,
      0,
    );
    expect(deeds(store).length).toBeGreaterThan(10);
    expect(deeds(store).length).toBeLessThanOrEqual(wanted);
    expect(store.db.prepare("SELECT count(*) AS n FROM deeds_fts").get()?.n).toBe(deeds(store).length);
  });

  test("grow with their session, and a result that comes late is put to its call", async () => {
    const store = openHomeStore(home);
    const [call, result] = run("npm test", "3 failed: zebra", { isError: true }) as [Row, Row];
    const file = writeClaude(home, {
      id: ONE,
      rows: [claudeUser({ sessionId: ONE, text: "test it" }), call],
    });
    await indexHome(home, store);
    expect(deeds(store)).toEqual(["2||1|npm test|unknown|"]);
    appendFileSync(file, jsonl(result));
    await indexHome(home, store);
    expect(deeds(store)).toEqual(["2|3|1|npm test|failed|3 failed: zebra"]);
    expect(found(store, "zebra")).toBe(1);
    const later = [claudeUser({ sessionId: ONE, text: "again" }), ...run("npm test", "12 pass")];
    appendFileSync(file, jsonl(...later));
    await indexHome(home, store);
    appendFileSync(file, jsonl(...run("git push", "ok")));
    await indexHome(home, store);
    expect(deeds(store)).toEqual([
      "2|3|1|npm test|failed|3 failed: zebra",
      "5|6|4|npm test|done|12 pass",
      "7|8|4|git push|done|ok",
    ]);
  });

  test("an answer to a dialog stays the user's word when reading goes on from it, and our own output stays out", async () => {
    const store = openHomeStore(home);
    const question = { question: "Which database?", options: [{ label: "SQLite" }] };
    const ask = claudeAssistant({
      sessionId: ONE,
      tools: [{ name: "AskUserQuestion", input: { questions: [question] }, id: "ask" }],
    });
    const answer = {
      ...claudeToolResult({ sessionId: ONE, toolUseId: "ask", content: "answered" }),
      toolUseResult: { questions: [question], answers: { [question.question]: "SQLite with zebra mode" } },
    };
    const [own, found] = run("session-memory search zebra", "1. 7c41f0b2:3-9 · an old aardvark");
    const file = writeClaude(home, {
      id: ONE,
      rows: [claudeUser({ sessionId: ONE, text: "choose" }), ...ask, own as Row, answer],
    });
    const words = () =>
      store.db
        .prepare("SELECT content FROM session_chunks ORDER BY chunk_index")
        .all()
        .map(({ content }) => content)
        .join("|");
    await indexHome(home, store);
    const before = words();
    expect(before).toContain("User: SQLite with zebra mode");
    for (const rows of [[found as Row], claudeAssistant({ sessionId: ONE, text: "Then SQLite." })]) {
      appendFileSync(file, jsonl(rows));
      await indexHome(home, store);
    }
    expect(words()).toBe(`${before}\nAssistant: Then SQLite.`);
    expect(deeds(store)).toEqual([]);
    expect(found && deeds(store).join()).not.toContain("aardvark");
  });

  test("of a replaced file take the place of those before", async () => {
    const store = openHomeStore(home);
    const first = [
      claudeUser({ sessionId: ONE, text: "one" }),
      ...run("make zebra", "ok"),
      ...run("make b", "ok"),
    ];
    const file = writeClaude(home, { id: ONE, rows: first });
    await indexHome(home, store);
    writeFileSync(file, jsonl(claudeUser({ sessionId: ONE, text: "two" }), ...run("make c", "fine")));
    await indexHome(home, store);
    expect(deeds(store)).toEqual(["2|3|1|make c|done|fine"]);
    expect(found(store, "zebra")).toBe(0);
  });

  test("that a fork copied are there once", async () => {
    const store = openHomeStore(home);
    const rows = [claudeUser({ sessionId: ONE, text: "one" }), ...run("make a", "ok")];
    writeClaude(home, { id: ONE, rows });
    await indexHome(home, store);
    const own = [claudeUser({ sessionId: TWO, text: "own" }), ...run("make b", "ok", { sessionId: TWO })];
    writeClaude(home, { id: TWO, rows: [...rows.map((row) => ({ ...row, sessionId: TWO })), ...own] });
    await indexHome(home, store);
    expect(deeds(store)).toEqual(["2|3|1|make a|done|ok", "5|6|4|make b|done|ok"]);
  });

  test("are found by an error's line in one lookup, whatever differs between two runs", async () => {
    const at = (folder: string, line: number) =>
      `${folder}/src/a.ts:${line}:5 - error TS2304: Cannot find name 'zebra' in ${folder}/src/b.ts.\nok`;
    const rows = [
      claudeUser({ sessionId: ONE, cwd: "/srv/one", text: "go" }),
      ...run("make", at("/srv/one", 3), { isError: true }),
      ...run("make | tail", at("/srv/one", 99)),
      ...run("make", "ok"),
    ];
    writeClaude(home, { id: ONE, rows: rows.map((row) => ({ ...row, cwd: "/srv/one" })) });
    const store = openHomeStore(home);
    await indexHome(home, store);
    const [key] = errorKeys(at("/home/me/two", 7), { cwd: "/home/me/two", hasFailed: true }).keys();
    const lines = () =>
      store.db
        .prepare("SELECT line FROM error_lines JOIN deeds ON id = deed WHERE key = ?")
        .all(key ?? 0)
        .map(({ line }) => line);
    expect(lines()).toEqual([2, 4]);
    pruneSessions(store, [ONE]);
    expect(store.db.prepare("SELECT count(*) AS n FROM error_lines").get()).toEqual({ n: 0 });
  });

  test("go with a pruned or a forgotten session, and with a forgotten word, out of the files' bytes too", async () => {
    const rows = (sessionId: string, word: string) => [
      claudeUser({ sessionId, text: "go on" }),
      ...run(`make ${word}`, `${word} is made`, { sessionId }),
    ];
    const words = ["zebrafish", "aardvark", "okapi"];
    const ids = words.map((word) => uuidFrom(word));
    for (const [i, word] of words.entries())
      writeClaude(home, { id: ids[i] as string, rows: rows(ids[i] as string, word) });
    const store = openHomeStore(home);
    await indexHome(home, store);
    pruneSessions(store, [ids[0] as string]);
    expect(deeds(store).join()).not.toContain("zebrafish");
    store.close();
    const options = { env: home.env, cwd: home.project };
    expect((await runScript("forget", [ids[1] as string, "--yes"], options)).exitCode).toBe(0);
    expect((await runScript("forget", ["--pattern", "okapi", "--yes"], options)).exitCode).toBe(0);
    const left = openHomeStore(home);
    expect(deeds(left).join()).not.toMatch(/aardvark|okapi/);
    left.close();
    const bytes = readFileSync(home.paths.database, "latin1");
    for (const word of ["aardvark", "okapi"]) expect(bytes).not.toContain(word);
  }, 30_000);

  test("hold no secret, and nothing that config.json excludes", async () => {
    const token = `ghp_${"a1B2c3D4e5F6g7H8i9J0".repeat(2).slice(0, 36)}`;
    const rows = [
      claudeUser({ sessionId: ONE, text: "go" }),
      ...run(`curl -u x:${token} y`, `${"x ".repeat(3000)}${token}`),
      ...run("echo tamarin", "fine"),
      ...run("echo other", "a tamarin", { isError: true }),
      ...run("echo plain", "12 pass"),
    ];
    writeClaude(home, { id: ONE, rows });
    const store = openStore(home.paths.database);
    const exclude = { sessions: [], projects: [], patterns: ["tamarin"] };
    await indexHome(home, store, { settings: settingsWith({ exclude }) });
    expect(deeds(store).length).toBe(3);
    store.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    store.close();
    const bytes = readFileSync(home.paths.database, "latin1");
    expect(bytes).not.toContain(token.slice(4, 20));
    expect(bytes).not.toContain("tamarin");
    expect(bytes).toContain("12 pass");
  });
});

describe("rows that were taken back", () => {
  const linked = (name: string, parent: string | null, text: string): Row =>
    claudeUser({
      sessionId: ONE,
      uuid: uuidFrom(name),
      parentUuid: parent === null ? null : uuidFrom(parent),
      text,
    });
  const answered = (name: string, parent: string, text: string): Row[] =>
    claudeAssistant({ sessionId: ONE, uuid: uuidFrom(name), parentUuid: uuidFrom(parent), text });
  const marked = (store: Store) =>
    store.db
      .prepare("SELECT first_line, last_line FROM rewound")
      .all()
      .map((row) => Object.values(row));

  test("are known by their lines, whether they were there at first or were taken back later", async () => {
    const store = openHomeStore(home);
    const file = writeClaude(home, {
      id: ONE,
      rows: [
        linked("a", null, "an idea"),
        ...answered("b", "a", "which?"),
        linked("c", "b", "this"),
        ...answered("d", "c", "good"),
      ],
    });
    await indexHome(home, store);
    expect(marked(store)).toEqual([]);
    appendFileSync(file, jsonl(linked("e", "d", "and this"), ...answered("f", "e", "fine")));
    await indexHome(home, store);
    expect(marked(store)).toEqual([]);
    appendFileSync(file, jsonl(linked("g", "b", "no, that"), ...answered("h", "g", "better")));
    await indexHome(home, store);
    expect(marked(store)).toEqual([[3, 6]]);
    writeFileSync(file, jsonl(linked("x", null, "all new")));
    await indexHome(home, store);
    expect(marked(store)).toEqual([]);
  });
});

/** Damage in one row or one file is that row's or that file's alone. */

import { expect, test } from "bun:test";
import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../lib/store/sqlite.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { readActiveBranch, readEntries, readLastEntries } from "./support/entries.ts";
import { type TemporaryHome, temporaryHome, write, writeClaude } from "./support/home.ts";
import { openHomeStore } from "./support/index.ts";
import { uuidFrom } from "./support/rows.ts";

const [HARMED, WHOLE] = [uuidFrom("harmed"), uuidFrom("whole")];

/** A session that is whole beside one with these lines in it. */
function homeWith(lines: readonly string[]): TemporaryHome {
  const home = temporaryHome();
  const said = (id: string, words: string) =>
    [
      claudeUser({ text: `where is the sextant ${words}`, cwd: home.project, sessionId: id }),
      ...claudeAssistant({ text: `In the ${words} room.`, cwd: home.project, sessionId: id }),
    ].map((row) => JSON.stringify(row));
  writeClaude(home, { id: WHOLE, cwd: home.project, rows: `${said(WHOLE, "chart").join("\n")}\n` });
  const harmed = [...said(HARMED, "early"), ...lines, ...said(HARMED, "late")];
  writeClaude(home, { id: HARMED, cwd: home.project, rows: `${harmed.join("\n")}\n` });
  return home;
}

const DEEP = 25_000;
const nested = `${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}`;
const toolRow = (input: string) =>
  JSON.stringify(
    claudeAssistant({ text: "", tools: [{ name: "Write", input: { file_path: "x.ts", content: "@@" } }] }).at(
      -1,
    ),
  ).replace('"@@"', input);

const ROWS = [
  toolRow(nested),
  nested,
  JSON.stringify(claudeUser({ text: "a time that is none", at: "2026-13-45T99:99:99.999Z" })),
  JSON.stringify(claudeUser({ text: "far off", at: "+275760-09-13T00:00:00.000Z" })),
  JSON.stringify({ ...claudeUser({ text: "a number" }), timestamp: 1e300 }),
];

test("rows nested 25,000 levels deep, and times that are none, harm no command and hide no other row", async () => {
  using home = homeWith(ROWS);
  const commands: [string, ...string[]][] = [
    ["embed"],
    ["embed", "--all"],
    ["search", "where is the sextant", "--json"],
    ["session-reader", HARMED],
    ["session-reader", "--list"],
    ["observe-compact", HARMED, "--observe", "--render"],
    ["index-meta", HARMED, "--force"],
    ["save-session", HARMED],
    ["activity-summary", "--scope", "all", "--since", "2020-01-01", "--current", WHOLE],
    ["session-reference", `see @@${HARMED}`],
    ["health"],
  ];
  for (const [name, ...args] of commands) {
    const { stdout, stderr, exitCode } = await home.run(name, ...args);
    expect([name, args, exitCode, /\n {4}at |RangeError|Invalid/.exec(stderr + stdout)?.[0]]).toEqual([
      name,
      args,
      0,
      undefined,
    ]);
    if (name === "session-reader" && args[0] === HARMED) expect(stdout).toContain("In the late room.");
    if (name === "search") {
      const ids = JSON.parse(stdout).results.map(({ session_id }: { session_id: string }) => session_id);
      expect([...new Set(ids)].sort()).toEqual([HARMED, WHOLE].sort());
    }
  }
}, 60_000);

const LEVELS = 60_000;
const deepObject = `${'{"a":'.repeat(LEVELS)}1${"}".repeat(LEVELS)}`;
const deepList = `${"[".repeat(LEVELS)}1${"]".repeat(LEVELS)}`;

const claude = (content: string, kind = "assistant") =>
  `{"type":"${kind}","sessionId":"s","uuid":"u","timestamp":"2026-02-03T10:00:00.000Z","cwd":"/tmp","message":{"role":"${kind}","content":${content}}}`;
const call = (input: string, name = "mcp") =>
  claude(`[{"type":"tool_use","id":"t","name":"${name}","input":${input}}]`);
const result = (content: string) => claude(`[{"type":"tool_result","content":${content}}]`, "user");
const codex = (type: string, payload: string) =>
  `{"timestamp":"2026-02-03T10:00:00.000Z","type":"${type}","payload":${payload}}`;

/** Files in which other rows than the first and last are nested beyond what a stack holds. */
const FILES: Record<string, string[]> = {
  "Claude Code": [
    claude('"first words"', "user"),
    call(deepObject),
    call(`{"command":${deepList}}`, "Bash"),
    result(deepList),
    claude(deepList, "user"),
    claude(deepObject, "user"),
    claude('"last words"', "user"),
  ],
  Codex: [
    codex("session_meta", '{"id":"c","cwd":"/tmp"}'),
    codex("response_item", '{"type":"message","role":"assistant","content":"first words"}'),
    codex(
      "response_item",
      `{"type":"function_call","name":"shell","arguments":${JSON.stringify(`{"command":${deepList}}`)}}`,
    ),
    codex("response_item", `{"type":"function_call_output","call_id":"c","output":${deepObject}}`),
    codex("response_item", '{"type":"message","role":"assistant","content":"last words"}'),
  ],
};

test.each(Object.entries(FILES))("rows of %s nested 60,000 levels deep cost no other row", (_, rows) => {
  using home = temporaryHome();
  const file = write(join(home.root, "a.jsonl"), `${rows.join("\n")}\n`);
  for (const entries of [
    [...readEntries(file, { results: true })],
    readLastEntries(file, { count: 20, results: true }).entries,
    readActiveBranch(file, { results: true }),
  ]) {
    const texts = entries.map(({ text }) => text);
    expect([texts[0], texts.at(-1)]).toEqual(["first words", "last words"]);
    for (const text of texts) expect(text.length).toBeLessThan(1000);
  }
});

test("a chunk whose rows damage took harms no search", async () => {
  using home = homeWith([]);
  await home.run("embed");
  const store = openHomeStore(home);
  store.exec("DELETE FROM rows");
  store.close();
  for (const args of [["--json"], ["--full"], ["--context", "1"], ["--by-session"]]) {
    const { stderr, exitCode } = await home.run(
      "search",
      "where is the sextant chart",
      "--no-index",
      ...args,
    );
    expect([args, exitCode, /\n {4}at /.exec(stderr)]).toEqual([args, 0, null]);
  }
});

/** Writes bytes into a file at a place. */
function harm(file: string, bytes: Uint8Array, at: number): void {
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, bytes, 0, bytes.length, at);
  closeSync(descriptor);
}

const FAULT = /\n {4}at |probably a bug|no such database/;

test.each(["index", "state"])("a header that SQLite does not know is damage: %s", async (which) => {
  using home = homeWith([]);
  await home.run("embed");
  const file = which === "index" ? home.paths.database : home.paths.state;
  const db = openDatabase(file);
  db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  db.close();
  harm(file, Uint8Array.of(0, 0, 0, 9), 44);
  await home.run("embed");
  const { stdout, stderr } = await home.run("search", "where is the sextant");
  expect(stdout + stderr).not.toMatch(FAULT);
  expect(stdout).toContain("sextant");
  expect(await home.ok("health")).toMatch(/^(?:OK|DEGRADED)/);
});

test("health says its status, and what is damaged, wherever state.db is", async () => {
  const statuses = new Set<string>();
  for (const part of [1, 3, 5, 7]) {
    using home = homeWith([]);
    await home.run("embed");
    await home.run("index-meta", HARMED, "--force");
    const db = openDatabase(home.paths.state);
    db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    db.close();
    const { size } = statSync(home.paths.state);
    const at = Math.floor((size / 9) * part);
    harm(home.paths.state, new Uint8Array(Math.floor(size / 3)).fill(0xff), at);
    const { stdout, exitCode } = await home.run("health");
    const [status = ""] = stdout.split("\n", 1);
    statuses.add(status);
    expect([part, status, exitCode]).toEqual([part, status, status === "ERROR" ? 1 : 0]);
    expect(stdout).toContain("index: ");
    if (status === "ERROR") expect(stdout).toContain("is damaged");
  }
  expect(statuses).toContain("ERROR");
});

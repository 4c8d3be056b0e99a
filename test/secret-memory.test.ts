/** What one row of a session announces as a secret is taken out of its other rows, whichever way they are read. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { archivePlace } from "../lib/sessions/places.ts";
import { chain, claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { type TemporaryHome, temporaryHome, writeClaude } from "./support/home.ts";
import { hostId, layHost, sayInOpencode } from "./support/hosts.ts";
import { jsonl, type Row } from "./support/rows.ts";

const ID = "7d1f0c52-7a84-4e7b-9a51-0a6de7f3c1aa";
const PASSWORD = "Wombat77Xy";
const BARE = `try ${PASSWORD} at the harbour gate`;
const HIDDEN = "try [redacted:password] at the harbour gate";

const user = (text: string) => claudeUser({ sessionId: ID, text });
const said = (text: string) => claudeAssistant({ sessionId: ID, text });

/** Many exchanges, so that what came before is stored before what follows is read. */
const filler = (count: number): Row[] =>
  Array.from({ length: count }, (_, i) => [
    user(`question ${i} about lanterns`),
    ...said(`answer ${i}`),
  ]).flat();

function writeRows(home: TemporaryHome, rows: Row[]): string {
  return writeClaude(home, { id: ID, rows: chain(rows) });
}

/** Returns the rows of the index that contain a text. */
function holds(home: TemporaryHome, text: string): string[] {
  using db = new Database(home.paths.database);
  const tables = ["rows", "exchanges", "session_chunks", "sessions"];
  return tables
    .flatMap((table) => db.query(`SELECT * FROM ${table}`).all())
    .map((row) => JSON.stringify(row))
    .filter((row) => row.includes(text));
}

test("a secret is gone from rows before and behind the one that announces it, whichever way they are read", async () => {
  using home = temporaryHome();
  const file = writeRows(home, [
    user(BARE),
    ...said("opened"),
    ...filler(120),
    user(`DB_PASSWORD=${PASSWORD}`),
    ...said(`so ${PASSWORD} it is`),
  ]);
  await home.ok("embed");
  expect(holds(home, PASSWORD)).toEqual([]);
  expect(await home.ok("search", "harbour gate")).toContain(HIDDEN);
  expect(await home.ok("session-reader", `${ID}:1`)).toContain(HIDDEN);
  expect(await home.ok("session-reader", ID, "--lines", "1")).toContain("so [redacted:password] it is");
  appendFileSync(file, jsonl(chain([user(`later: ${BARE}`), ...said("opened again")])));
  await home.ok("embed");
  expect(holds(home, PASSWORD)).toEqual([]);
  expect(await home.ok("session-reader", ID, "--lines", "2")).toContain(`later: ${HIDDEN}`);
});

test("a secret that is announced after its rows were stored is removed from them at that run", async () => {
  using home = temporaryHome();
  const file = writeRows(home, [user(BARE), ...said(`it was ${PASSWORD}`), user("next"), ...said("done")]);
  await home.ok("embed");
  expect(await home.ok("search", "harbour gate")).toContain(PASSWORD);
  appendFileSync(file, jsonl(chain([user("and now?"), ...said(`export DB_PASSWORD=${PASSWORD}`)])));
  await home.ok("embed");
  expect(await home.ok("search", "harbour gate")).toContain(HIDDEN);
  const report = await home.ok("report", ID, "--out", "page.html");
  expect(report).not.toContain(PASSWORD);
  expect(readFileSync(join(home.project, "page.html"), "utf8")).not.toContain(PASSWORD);
});

test("words, ids and what another session announces stay", async () => {
  using home = temporaryHome();
  const other = "8d1f0c52-7a84-4e7b-9a51-0a6de7f3c1bb";
  writeRows(home, [
    user('DB_PASSWORD="tigerlily" and API_TOKEN=9fceb02d0ae598e95dc970b74767f19372d61af8'),
    ...said("the tigerlily bloomed in commit 9fceb02d0ae598e95dc970b74767f19372d61af8"),
  ]);
  writeClaude(home, { id: other, rows: chain([user(`DB_PASSWORD=${PASSWORD}`), ...said("kept")]) });
  writeClaude(home, {
    id: "9d1f0c52-7a84-4e7b-9a51-0a6de7f3c1cc",
    rows: chain([user(`the station ${PASSWORD}Road`), ...said("seen")]),
  });
  await home.ok("embed");
  expect(await home.ok("session-reader", ID)).toContain(
    "the tigerlily bloomed in commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
  );
  expect(await home.ok("session-reader", "9d1f0c52")).toContain(`the station ${PASSWORD}Road`);
});

test("arguments of a call are judged with their names, in its target too", async () => {
  using home = temporaryHome();
  const input = { url: "db.example.test", user: "ann", password: "tigerlily", query: "login with tigerlily" };
  const list = { args: ["--user", "ann", "--password", "tulipmeadow"] };
  writeRows(home, [
    user("connect"),
    ...claudeAssistant({ sessionId: ID, tools: [{ id: "t1", name: "mcp__db__open", input }] }),
    claudeToolResult({ sessionId: ID, toolUseId: "t1", content: "ok" }),
    ...claudeAssistant({ sessionId: ID, tools: [{ id: "t2", name: "mcp__db__run", input: list }] }),
    claudeToolResult({ sessionId: ID, toolUseId: "t2", content: "ok" }),
  ]);
  await home.ok("embed");
  expect([...holds(home, "tigerlily"), ...holds(home, "tulipmeadow")]).toEqual([]);
  const shown = await home.ok("session-reader", ID, "--tools");
  expect(shown).not.toMatch(/tigerlily|tulipmeadow/);
  expect(shown).toContain("user: ann");
});

const opened = (input: Record<string, unknown>): Row[] => [
  ...claudeAssistant({ sessionId: ID, tools: [{ id: "t1", name: "mcp__db__open", input }] }),
  claudeToolResult({ sessionId: ID, toolUseId: "t1", content: "ok" }),
];

test.each([
  ["a key", { host: "db", password: PASSWORD }],
  ["a key deep in the arguments", { host: "db", with: [{ user: "ann", login: { password: PASSWORD } }] }],
  ["a key beyond ASCII", { host: "db", пароль: PASSWORD }],
  ["a key of JSON in an argument", { body: JSON.stringify({ user: "ann", password: PASSWORD }) }],
  ["a word of a list", { args: ["--user", "ann", "--password", PASSWORD] }],
  ["the name of a field", { fields: [{ name: "password", value: PASSWORD }] }],
])(
  "what %s makes a secret is gone from its call, and from messages after it where the call is not shown",
  async (_, input) => {
    using home = temporaryHome();
    writeRows(home, [user("connect"), ...opened(input), ...said(`so ${PASSWORD} it is`)]);
    for (const shown of ["--tools", "--no-tools", "--full"]) {
      const page = await home.ok("session-reader", ID, shown);
      expect(page).not.toContain(PASSWORD);
      expect(page).toMatch(/so \[redacted:[a-z]+\] it is/);
    }
    await home.ok("embed");
    expect(holds(home, PASSWORD)).toEqual([]);
  },
);

test.each([
  ["", `${PASSWORD}\n`],
  [", in colours too", `\u001b[32m${PASSWORD}\u001b[0m \n`],
])("what a command prints that only prints a secret is one%s", async (_, printed) => {
  using home = temporaryHome();
  const run = (id: string, command: string, content: string) => [
    ...claudeAssistant({ sessionId: ID, tools: [{ id, name: "Bash", input: { command } }] }),
    claudeToolResult({ sessionId: ID, toolUseId: id, content }),
  ];
  writeRows(home, [
    user("which is it?"),
    ...run("t1", "terraform output -raw db_password", printed),
    ...run("t2", "git rev-parse --abbrev-ref HEAD", "Release77Xy"),
    ...said(`so ${PASSWORD} on Release77Xy`),
  ]);
  await home.ok("embed");
  expect(holds(home, PASSWORD)).toEqual([]);
  const shown = await home.ok("session-reader", ID, "--tools");
  expect(shown).not.toContain(PASSWORD);
  expect(shown).toContain("so [redacted:secret] on Release77Xy");
});

test("copies of a host's database hold no secret that another message announces", async () => {
  using home = temporaryHome();
  const id = hostId("opencode");
  layHost(home, "opencode", "zebra", { words: { "Raise the zebra limit to 20, please": BARE } });
  const copy = () =>
    gunzipSync(readFileSync(`${archivePlace(home.paths, { agent: "opencode", id })}.gz`)).toString();
  await home.ok("session-reader", "--list");
  expect(copy()).toContain(BARE);
  sayInOpencode(home, id, 10, `DB_PASSWORD=${PASSWORD}`);
  await home.ok("session-reader", "--list");
  expect(copy()).not.toContain(PASSWORD);
  sayInOpencode(home, id, 11, `again: ${BARE}`);
  await home.ok("session-reader", "--list");
  expect(copy()).toContain(`again: ${HIDDEN}`);
});

test("observations made before a secret was announced are shown without it", async () => {
  using home = temporaryHome();
  const file = writeRows(home, [
    user(`Never use ${PASSWORD} at the harbour gate.`),
    ...said(`We decided to keep ${PASSWORD} for the gate.`),
    user("next"),
    ...said("done"),
  ]);
  home.configure({ observe: { rules: true, retainTokens: 0, stepTokens: 200 } });
  await home.ok("observe-compact", ID, "--observe");
  expect(await home.ok("observe-compact", ID, "--render")).toContain(PASSWORD);
  appendFileSync(file, jsonl(chain([user(`DB_PASSWORD=${PASSWORD}`), ...said("noted")])));
  await home.ok("embed");
  const rendered = await home.ok("observe-compact", ID, "--render");
  expect(rendered).toContain("[redacted:password] at the harbour gate");
  expect(rendered).not.toContain(PASSWORD);
});

test("the end of a session is shown without a secret that a row before the end announces, not indexed yet", async () => {
  using home = temporaryHome();
  writeRows(home, [
    user("connect"),
    ...said(`the password: ${PASSWORD}`),
    user("and then?"),
    ...said(`so ${PASSWORD} it is`),
  ]);
  const page = await home.ok("session-reader", ID, "--lines", "4");
  expect(page).not.toContain(PASSWORD);
  expect(page).toMatch(/so \[redacted:[a-z]+\] it is/);
});

/** Claude Code: the user's words that it writes elsewhere than in a plain prompt. */

import { expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { homePerTest, writeClaude } from "./support/home.ts";
import { jsonl, type Row, secondsAgo, uuidFrom } from "./support/rows.ts";

const home = homePerTest();
const ID = uuidFrom("words");

const user = (text: string, extra: Row = {}) =>
  claudeUser({ text, sessionId: ID, cwd: home.project, at: secondsAgo(60), extra });
const answer = (text: string) =>
  claudeAssistant({ text, sessionId: ID, cwd: home.project, at: secondsAgo(50) });
const queue = (operation: string, content?: string): Row => ({
  type: "queue-operation",
  operation,
  timestamp: secondsAgo(55),
  sessionId: ID,
  ...(content !== undefined && { content }),
});
/** A command that is a prompt, as the client writes it with what it expands to. */
const command = (name: string, args: string) => [
  user(
    `<command-message>${name}</command-message>\n<command-name>/${name}</command-name>\n<command-args>${args}</command-args>`,
  ),
  user("Fix the issue that the user names. Follow the marmalade guide.", { isMeta: true }),
];
/** A command that the client runs itself. */
const ownCommand = (name: string, args = "") => [
  user(
    `<command-name>/${name}</command-name>\n            <command-message>${name}</command-message>\n            <command-args>${args}</command-args>`,
  ),
  user("<local-command-stdout>done</local-command-stdout>"),
];

async function said(rows: (Row | Row[])[]): Promise<string[]> {
  writeClaude(home, { id: ID, rows });
  const { entries } = JSON.parse(await home.ok("session-reader", ID, "--json"));
  return entries.map(({ line, kind, text }: Row) => `${line} ${kind} ${text}`);
}

/** Rows of the session that a search finds, from `--json`. */
async function found(question: string): Promise<string[]> {
  const { results } = JSON.parse(await home.ok("search", question, "--json"));
  return results.flatMap(({ lines }: { lines: Row[] }) => lines.map(({ line, text }) => `${line} ${text}`));
}

test("what follows a slash command is the user's words, to the reader, search, the digest and the name", async () => {
  const rows = [...command("fix-issue", "the zeppelin exporter drops the last row"), answer("I found it.")];
  expect(await said(rows)).toEqual([
    "1 user /fix-issue the zeppelin exporter drops the last row",
    "3 assistant I found it.",
  ]);
  expect(await found("zeppelin exporter")).toContain("1 /fix-issue the zeppelin exporter drops the last row");
  expect(await found("marmalade")).toEqual([]);
  writeClaude(home, { id: uuidFrom("me"), rows: [user("hello")] });
  const digest = await home.ok("activity-summary", "--current", uuidFrom("me"), "--since", "1h");
  expect(digest).toContain('"/fix-issue the zeppelin exporter drops the last row"');
  expect(await home.ok("index-meta", ID, "--force")).toMatch(/zeppelin exporter/i);
});

test("a plugin's command keeps its short name, and its words their lines and brackets", async () => {
  const words = "why does <Row> drop\nthe last line?";
  expect(await said([...command("shop-tools:explain", words), answer("So.")])).toEqual([
    `1 user /explain ${words}`,
    "3 assistant So.",
  ]);
});

test("commands of the host itself stay out, and those without words", async () => {
  const rows = [
    ...ownCommand("clear"),
    ...ownCommand("model", "opus"),
    ...ownCommand("compact", "keep the file names"),
    ...command("commit", ""),
    user("now deploy it"),
    answer("Done."),
  ];
  expect(await said(rows)).toEqual(["9 user now deploy it", "10 assistant Done."]);
});

test("what is typed while the agent works is the user's, once and at its line", async () => {
  const correction = "Why is the zeppelin migration changed, rather than adding a new one?";
  const rows = [
    user("write the migration"),
    answer("Changing the first one."),
    queue("enqueue", correction),
    queue("enqueue", "and run the tests"),
    answer("Still at it."),
    queue("remove"),
    queue("remove"),
    answer("Right, a new one."),
  ];
  expect(await said(rows)).toEqual([
    "1 user write the migration",
    "2 assistant Changing the first one.",
    `3 user ${correction}`,
    "4 user and run the tests",
    "5 assistant Still at it.",
    "8 assistant Right, a new one.",
  ]);
  expect(await found("zeppelin migration")).toContain(`3 ${correction}`);
  const lineOf = /^L3 \[.*\] User: Why is the zeppelin migration/m;
  expect(await home.ok("session-reader", `${ID}:3`)).toMatch(lineOf);
  expect(await home.ok("session-reader", ID, "--lines", "4")).toMatch(lineOf);
  expect(await home.ok("session-reader", ID, "--outline")).toMatch(lineOf);
});

test("what stands beside a tool's result, or behind a reminder, is the user's, to the reader and to search", async () => {
  const result = claudeToolResult({
    sessionId: ID,
    toolUseId: "toolu_1",
    content: "1 pass",
    at: secondsAgo(54),
  });
  const { content } = result.message as { content: Row[] };
  const words = "stop, the zeppelin fixtures are not to be touched";
  const rows = [
    user("run the tests"),
    { ...result, message: { role: "user", content: [...content, { type: "text", text: words }] } },
    answer("I stop."),
    user("<system-reminder>The task was started.</system-reminder>\nand rename the zeppelin"),
    answer("Renamed."),
  ];
  expect(await said(rows)).toEqual([
    "1 user run the tests",
    `2 user ${words}`,
    "3 assistant I stop.",
    "4 user and rename the zeppelin",
    "5 assistant Renamed.",
  ]);
  expect(await found("zeppelin fixtures")).toContain(`2 ${words}`);
});

test("what a queue holds beside that is nobody's words, or is told by another row", async () => {
  const rows = [
    queue("enqueue", "start with the importer"),
    queue("dequeue"),
    user("start with the importer"),
    answer("Starting."),
    queue("enqueue", '{"task_id":"b1","description":"bun test","task_type":"local_bash"}'),
    queue("remove"),
    queue("enqueue", "<task-notification>\n<task-id>b1</task-id>\n</task-notification>"),
    queue("remove"),
    queue("enqueue", "/mcp"),
    queue("remove"),
    queue("enqueue", "written by a newer client"),
    queue("remove", "written by a newer client"),
    answer("Reading it."),
    user("written by a newer client"),
    queue("enqueue", "taken back into the input"),
    queue("popAll", "taken back into the input"),
    queue("enqueue", "never taken up"),
    answer("Done."),
  ];
  expect(await said(rows)).toEqual([
    "3 user start with the importer",
    "4 assistant Starting.",
    "13 assistant Reading it.",
    "14 user written by a newer client",
    "18 assistant Done.",
  ]);
});

test("what is taken up from the queue between two calls is the user's", async () => {
  const words = "does the zeppelin need <b> in its name?";
  const attachment = {
    type: "queued_command",
    prompt: words,
    commandMode: "prompt",
    origin: { kind: "human" },
  };
  const taken = { type: "attachment", attachment, sessionId: ID, timestamp: secondsAgo(54) };
  const rows = [user("go on"), queue("enqueue", words), queue("dequeue"), taken, answer("It does.")];
  expect(await said(rows)).toEqual(["1 user go on", `2 user ${words}`, "5 assistant It does."]);
});

test("a queued message is found from the moment the agent takes it up", async () => {
  const file = writeClaude(home, {
    id: ID,
    rows: [user("write the migration"), answer("On it."), queue("enqueue", "use the zeppelin schema")],
  });
  expect(await found("zeppelin schema")).toEqual([]);
  appendFileSync(file, jsonl([queue("remove"), ...answer("With that schema, then.")]));
  expect(await found("zeppelin schema")).toContain("3 use the zeppelin schema");
});

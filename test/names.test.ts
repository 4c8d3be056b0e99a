import { expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { hostTitle, lastDirectory, readTitles } from "../lib/sessions/discovery.ts";
import { metaFile, nameOf } from "../lib/sessions/meta.ts";
import { describeSession, sessionAt } from "../lib/sessions/sessions.ts";
import type { Session } from "../lib/transcripts/session.ts";
import { CLAUDE_SESSION, claudeAssistant, claudeState, claudeUser } from "./support/claude.ts";
import { codexMeta } from "./support/codex.ts";
import {
  homePerTest,
  type TemporaryHome,
  temporaryHome,
  write,
  writeClaude,
  writeCodex,
  writePi,
} from "./support/home.ts";
import { PI_SESSION, piEntry, piHeader, piUser } from "./support/pi.ts";
import { plainLine } from "./support/plain.ts";
import { jsonl, type Row, uuidFrom } from "./support/rows.ts";

const home = homePerTest();

const PROMPT = claudeUser({ text: "hello", uuid: uuidFrom("prompt") });
const custom = (customTitle: string) => claudeState("custom-title", { customTitle });
const ai = (aiTitle: string) => claudeState("ai-title", { aiTitle });
const agent = (agentName: string) => claudeState("agent-name", { agentName });
const summary = (text: string, leafUuid: string) => ({ type: "summary", summary: text, leafUuid });
/** Rows of so many kilobytes in which no title stands. */
const filler = (kilobytes: number) =>
  Array.from({ length: kilobytes }, () => claudeAssistant({ text: "x".repeat(400) })).flat();

function session(file: string): Session {
  const found = sessionAt(file);
  if (!found) throw new Error(`Expected a session in ${file}`);
  return found;
}

function titleOf(rows: Row[]): string | undefined {
  using home = temporaryHome();
  return hostTitle(session(writeClaude(home, { rows: [PROMPT, ...rows] })));
}

test.each<[string, Row[], string | undefined]>([
  ["none, and invents none", [], undefined],
  ["the client's", [ai("Login test")], "Login test"],
  ["the user's before the client's", [custom("Mine"), ai("Theirs")], "Mine"],
  ["the agent's name before the client's title", [agent("scout"), ai("Theirs")], "scout"],
  ["the last of several", [custom("First"), custom("Second"), ai("x")], "Second"],
  ["the client's when the user took theirs away", [custom("Mine"), ai("Theirs"), custom("")], "Theirs"],
  ["one at the end of a long file", [...filler(200), custom("Late")], "Late"],
  ["one at the start of a long file", [custom("Early"), ...filler(200)], "Early"],
  ["the end's before the start's", [custom("Early"), ...filler(200), custom("Late")], "Late"],
  [
    "the user's at the start before the client's at the end",
    [custom("Mine"), ...filler(200), ai("Late")],
    "Mine",
  ],
  ["an old summary of this session", [summary("Cookies", uuidFrom("prompt"))], "Cookies"],
  ["no summary of another session", [summary("Other work", uuidFrom("elsewhere"))], undefined],
  ["the client's title before a summary", [summary("Old", uuidFrom("prompt")), ai("New")], "New"],
  [
    "no text that looks like a title",
    [claudeUser({ text: '{"type":"custom-title","customTitle":"Quoted"}' })],
    undefined,
  ],
  ["no title inside another row", [claudeUser({ text: "x", extra: { data: custom("Nested") } })], undefined],
  ["no title that is no text", [claudeState("custom-title", { customTitle: { a: 1 } })], undefined],
  ["one line without control characters", [custom("  Fix\n\u001b[31m login\t test ")], "Fix login test"],
])("hostTitle() of Claude Code takes %s", (_, rows, expected) => {
  expect(titleOf(rows)).toBe(expected);
});

test("hostTitle() of Claude Code prefers the file that it keeps the user's title in, if that can be read", () => {
  const file = writeClaude(home, { rows: [PROMPT, custom("Row")] });
  const kept = join(file, "..", CLAUDE_SESSION, "custom-title.json");
  const found = ['{"customTitle": "File"}', "{", '{"customTitle": ""}', "[]"].map((text) => {
    write(kept, text);
    return hostTitle(session(file));
  });
  expect(found).toEqual(["File", "Row", "Row", "Row"]);
});

test("hostTitle() reads a title whose line is not yet whole only when it is", () => {
  const whole = jsonl(PROMPT, custom("Mine"));
  const file = writeClaude(home, { rows: whole.slice(0, -5) });
  expect(hostTitle(session(file))).toBeUndefined();
  writeClaude(home, { rows: whole.slice(0, -1) });
  expect(hostTitle(session(file))).toBe("Mine");
});

test.each<[string, Row[], string | undefined]>([
  ["none", [], undefined],
  ["the last", [info("First"), piUser({ text: "x" }), info("Second")], "Second"],
  ["none when the last took it away", [info("First"), info("")], undefined],
  ["none when the last has none", [info("First"), piEntry("session_info", {}, {})], undefined],
])("hostTitle() of pi takes %s", (_, rows, expected) => {
  using home = temporaryHome();
  expect(hostTitle(session(writePi(home, { rows: [piHeader(), ...rows] })))).toBe(expected);
});

function info(name: string): Row {
  return piEntry("session_info", { name }, {});
}

test("hostTitle() knows no titles of Codex and plain transcripts, nor of a file that is gone", () => {
  const codex = session(writeCodex(home, { rows: [codexMeta()] }));
  const plain = session(write(join(home.root, "p.jsonl"), jsonl(plainLine("user", "hello"))));
  expect([codex, plain].map(({ agent }) => agent)).toEqual(["codex", "plain"]);
  expect([codex, plain].map(hostTitle)).toEqual([undefined, undefined]);
  expect(hostTitle({ agent: "claude", file: join(home.root, "none.jsonl"), size: 5 })).toBeUndefined();
});

test("hostTitle() does not try thousands of hostile summaries", () => {
  const rows = Array.from({ length: 2000 }, () => summary("x", "a"));
  const file = writeClaude(home, { rows: [PROMPT, summary("Cookies", uuidFrom("prompt")), ...rows] });
  expect(hostTitle(session(file))).toBeUndefined();
});

test("readTitles() knows which is the user's own, not the client's, and follows no link", () => {
  const given = (...rows: Row[]) => readTitles(session(writeClaude(home, { rows: [PROMPT, ...rows] }))).given;
  expect([given(ai("Theirs")), given(ai("Theirs"), custom("Mine"))]).toEqual([undefined, "Mine"]);
  const file = writeClaude(home, { rows: [PROMPT] });
  write(join(home.root, "elsewhere", "custom-title.json"), '{"customTitle": "Foreign"}');
  symlinkSync(join(home.root, "elsewhere"), file.replace(".jsonl", ""));
  expect(readTitles(session(file)).given).toBeUndefined();
});

test("lastDirectory() is the one that the last rows name", () => {
  const rows = [
    claudeUser({ cwd: "/first", text: "x" }),
    claudeUser({ cwd: "/second", text: 'a "cwd" b' }),
    ai("x"),
  ];
  expect(lastDirectory(writeClaude(home, { rows }))).toBe("/second");
  expect(lastDirectory(join(home.root, "none"))).toBeUndefined();
});

test("nameOf() takes Volute's name, else the meta file's, else the host's", () => {
  const titled = session(writeClaude(home, { rows: [PROMPT, ai("Title")] }));
  expect(nameOf(titled, home.paths)).toBe("Title");
  writeMeta(home, titled, "meta name");
  expect(nameOf(titled, home.paths)).toBe("meta name");
  expect(nameOf({ ...titled, name: "discord" }, home.paths)).toBe("discord");
  expect(describeSession(titled, home.paths).name).toBe("meta name");
});

test("nameOf() looks for a pi session's meta file where pi's are", () => {
  using home = temporaryHome();
  const found = session(writePi(home, { rows: [piHeader()] }));
  expect(nameOf(found, home.paths)).toBeUndefined();
  write(
    join(home.paths.pi, "sessions-meta", `${PI_SESSION}.meta.json`),
    JSON.stringify({ sessionId: PI_SESSION, name: "mail" }),
  );
  expect(nameOf(found, home.paths)).toBe("mail");
});

test("nameOf() takes a corrupt meta file for none", () => {
  using home = temporaryHome();
  const titled = session(writeClaude(home, { rows: [PROMPT, ai("Title")] }));
  for (const text of ["", "{", "[1]", '{"sessionId": 1, "name": "x"}', '{"sessionId": "x", "name": ["x"]}']) {
    write(metaFile(home.paths, titled), text);
    expect(nameOf(titled, home.paths)).toBe("Title");
  }
});

test("nameOf() of an id that would lead out of the folder stays in it", () => {
  write(join(home.root, "x.meta.json"), JSON.stringify({ sessionId: "x", name: "outside" }));
  const hostile = {
    agent: "plain",
    file: join(home.root, "none"),
    updatedAt: "",
    modifiedAt: "",
    size: 0,
  } as const;
  const ids = ["../x", "../../x", join(home.root, "x"), "../x\0"];
  expect(ids.map((id) => nameOf({ ...hostile, id }, home.paths))).toEqual(ids.map(() => undefined));
});

test("nameOf() follows no link from a transcript's place to another session's title", () => {
  const file = writeClaude(home, { rows: [PROMPT] });
  write(join(home.root, "elsewhere", "custom-title.json"), '{"customTitle": "Foreign"}');
  symlinkSync(join(home.root, "elsewhere"), file.replace(".jsonl", ""));
  expect(nameOf(session(file), home.paths)).toBeUndefined();
});

function writeMeta(home: TemporaryHome, { id, agent }: Session, name: string): void {
  write(metaFile(home.paths, { id, agent }), JSON.stringify({ schemaVersion: 1, sessionId: id, name }));
}

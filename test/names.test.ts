import { expect, test } from "bun:test";
import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Session } from "../lib/hosts/session.ts";
import { metaFile } from "../lib/sessions/meta.ts";
import { findName } from "../lib/sessions/record.ts";
import { describeSession, sessionAt } from "../lib/sessions/sessions.ts";
import { hostTitle } from "../lib/sessions/titles.ts";
import { CLAUDE_SESSION, claudeAssistant, claudeState, claudeUser } from "./support/claude.ts";
import {
  homePerTest,
  type TemporaryHome,
  temporaryHome,
  write,
  writeClaude,
  writePi,
} from "./support/home.ts";
import { piEntry, piHeader, piUser } from "./support/pi.ts";
import { type Row, uuidFrom } from "./support/rows.ts";

const home = homePerTest();

const PROMPT = claudeUser({ text: "hello", uuid: uuidFrom("prompt") });
const custom = (customTitle: string) => claudeState("custom-title", { customTitle });
const ai = (aiTitle: string) => claudeState("ai-title", { aiTitle });
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
  ["the client's when the user took theirs away", [custom("Mine"), ai("Theirs"), custom("")], "Theirs"],
  ["one at the end of a long file", [...filler(200), custom("Late")], "Late"],
  ["one at the start of a long file", [custom("Early"), ...filler(200)], "Early"],
  [
    "the user's at the start before the client's at the end",
    [custom("Mine"), ...filler(200), ai("Late")],
    "Mine",
  ],
  ["an old summary of this session", [summary("Cookies", uuidFrom("prompt"))], "Cookies"],
  ["no old summary of another session", [summary("Cookies", uuidFrom("other"))], undefined],
  ["the client's before an old summary", [ai("Theirs"), summary("Cookies", uuidFrom("prompt"))], "Theirs"],
  [
    "no text that looks like a title",
    [claudeUser({ text: '{"type":"custom-title","customTitle":"Quoted"}' })],
    undefined,
  ],
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

test("findName() takes Volute's name, else the meta file's, else the host's", () => {
  const titled = session(writeClaude(home, { rows: [PROMPT, ai("Title")] }));
  expect(findName(titled, home.paths)).toBe("Title");
  writeMeta(home, titled, "meta name");
  expect(findName(titled, home.paths)).toBe("meta name");
  expect(findName({ ...titled, name: "discord" }, home.paths)).toBe("discord");
  expect(describeSession(titled, home.paths).name).toBe("meta name");
});

test("findName() follows no link from a transcript's place to another session's title", () => {
  const file = writeClaude(home, { rows: [PROMPT] });
  write(join(home.root, "elsewhere", "custom-title.json"), '{"customTitle": "Foreign"}');
  symlinkSync(join(home.root, "elsewhere"), file.replace(".jsonl", ""));
  expect(findName(session(file), home.paths)).toBeUndefined();
});

test("a search prints the meta file's name, else the title as it was indexed, also once the transcript is gone", async () => {
  const told = claudeUser({ text: "the falcon lives in the northern barn", uuid: uuidFrom("prompt") });
  const file = writeClaude(home, { rows: [told, ...filler(200), custom("Late")] });
  const searched = async () => {
    const { results } = await home.json("search", "falcon northern barn");
    return results[0].name;
  };
  expect(await searched()).toBe("Late");
  writeMeta(home, session(file), "meta name");
  expect(await searched()).toBe("meta name");
  rmSync(metaFile(home.paths, { id: CLAUDE_SESSION, agent: "claude" }));
  rmSync(file);
  expect(await searched()).toBe("Late");
});

function writeMeta(home: TemporaryHome, { id, agent }: Session, name: string): void {
  write(metaFile(home.paths, { id, agent }), JSON.stringify({ schemaVersion: 1, sessionId: id, name }));
}

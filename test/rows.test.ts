/** What the index holds of a conversation: rows, the exchanges they form, and the chunks that are spans of them. */

import { describe, expect, test } from "bun:test";
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "../lib/store/store.ts";
import { claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { homePerTest, writeClaude } from "./support/home.ts";
import { indexHome, openHomeStore, settingsWith } from "./support/index.ts";
import { jsonl, type Row, uuidFrom } from "./support/rows.ts";

const home = homePerTest();
const ID = uuidFrom("rows");

const at = (second: number) => new Date(Date.UTC(2026, 1, 3, 14, 0, second)).toISOString();
const asks = (text: string, second = 0) => claudeUser({ text, at: at(second), sessionId: ID });
const says = (text: string, second = 0) => claudeAssistant({ text, at: at(second), sessionId: ID });

/** A message of many pieces, no two of whose sentences are alike. */
const LONG = Array.from({ length: 120 }, (_, i) => `Drawer ${i} 📐 holds the chart of voyage ${i * 7}.`).join(
  " ",
);

async function indexed(...rows: (Row | Row[])[]): Promise<Store> {
  writeClaude(home, { id: ID, rows });
  const store = openHomeStore(home);
  await indexHome(home, store);
  return store;
}

function all(store: Store, sql: string): unknown[] {
  return store.db.prepare(sql).all();
}

/** Everything that is in the files of the index. */
function bytes(): string {
  const files = readdirSync(home.paths.home).filter((name) => name.startsWith("index-"));
  return files.map((name) => readFileSync(join(home.paths.home, name), "latin1")).join("");
}

test("a row is a message or a call, with its place and its own time", async () => {
  const calls = [
    { name: "Bash", id: "t1", input: { command: "grep -r sextant rooms" } },
    { name: "Read", id: "t2", input: { file_path: "/srv/rooms.md" } },
  ];
  const [text, first, second] = claudeAssistant({
    ...{ text: "I look for it.", tools: calls, at: at(5), sessionId: ID },
  }) as [Row, Row, Row];
  const blocks = [text, first, second].map(
    (row) => (row as { message: { content: Row[] } }).message.content[0],
  );
  const oneLine = { ...text, message: { ...(text.message as Row), content: blocks } };
  const store = await indexed(
    asks("where does the sextant lie?"),
    oneLine,
    claudeToolResult({ toolUseId: "t1", content: "no such room", isError: true, at: at(7), sessionId: ID }),
    says("In room 2.", 9),
  );
  expect(
    all(store, "SELECT line, nth, at, who, text, kind, target, outcome, result, result_line FROM rows"),
  ).toEqual([
    { ...said(1, 0, "user", "where does the sextant lie?"), at: at(0) },
    { ...said(2, 0, "assistant", "I look for it."), at: at(5) },
    {
      ...done(2, 1, "command", "grep -r sextant rooms"),
      outcome: "failed",
      result: "no such room",
      result_line: 3,
    },
    { ...done(2, 2, "read", "/srv/rooms.md"), outcome: "unknown", result: "", result_line: null },
    { ...said(4, 0, "assistant", "In room 2."), at: at(9) },
  ]);
  expect(all(store, "SELECT line, nth, participants, speaker, subject FROM exchanges")).toEqual([
    {
      ...{ line: 1, nth: 0, participants: "User and Assistant", speaker: "user" },
      subject: "where does the sextant lie?",
    },
  ]);

  function said(line: number, nth: number, who: string, text: string) {
    return { line, nth, who, text, kind: null, target: null, outcome: null, result: null, result_line: null };
  }
  function done(line: number, nth: number, kind: string, target: string) {
    return { line, nth, at: at(5), who: "tool", text: null, kind, target };
  }
});

test("a long message is one row; each of its chunks says which characters it is", async () => {
  const store = await indexed(asks("what do the drawers hold?"), says(LONG));
  expect(all(store, "SELECT text FROM rows WHERE line = 2")).toEqual([{ text: LONG }]);
  const pieces = store.db
    .prepare(
      `SELECT part_from, part_to, content FROM chunks JOIN session_chunks USING (id)
       WHERE part_from IS NOT NULL ORDER BY chunks.chunk_index`,
    )
    .all();
  expect(pieces.length).toBeGreaterThan(4);
  const points = [...LONG];
  let end = 0;
  for (const { part_from, part_to, content } of pieces) {
    const [from, to] = [Number(part_from), Number(part_to)];
    expect(content).toBe(`Assistant: ${points.slice(from, to).join("")}`);
    expect(from).toBeLessThanOrEqual(end);
    end = to;
  }
  expect(end).toBe(points.length);
  const { stdout } = await home.run("search", "voyage 287 voyage 294", "--full", "--json");
  const [{ lines }] = JSON.parse(stdout).results;
  expect(LONG).toContain(lines.at(-1).text);
});

test("a turn that goes on leaves its rows as they are", async () => {
  const rows = [asks("where does the sextant lie?"), ...says("I look for it.", 5)];
  const store = await indexed(...rows);
  const before = all(store, "SELECT * FROM rows");
  const file = writeClaude(home, { id: ID, rows });
  appendFileSync(file, jsonl(says("In room 2.", 9)));
  await indexHome(home, store);
  const now = all(store, "SELECT * FROM rows");
  expect([now.slice(0, 2), now.length]).toEqual([before, 3]);
  await indexHome(home, store, { all: true });
  expect(all(store, "SELECT * FROM rows")).toEqual(now);
});

describe("a pattern that reaches over several rows", () => {
  const talk = [
    asks("the walrus sings"),
    ...says("and the seal swims", 5),
    asks("what of the otter?", 9),
    ...says("it sleeps", 12),
  ];
  const PATTERN = "walrus[\\s\\S]*seal";
  const rest = [{ text: "what of the otter?" }, { text: "it sleeps" }];

  test("is not indexed while it is excluded", async () => {
    const exclude = { sessions: [], projects: [], patterns: [PATTERN] };
    writeClaude(home, { id: ID, rows: talk });
    const store = openHomeStore(home);
    await indexHome(home, store, { settings: settingsWith({ exclude }) });
    expect(all(store, "SELECT text FROM rows")).toEqual(rest);
    expect(all(store, "SELECT subject FROM exchanges")).toEqual([{ subject: "what of the otter?" }]);
    expect(all(store, "SELECT content FROM session_chunks")).toEqual([
      { content: "User: what of the otter?\nAssistant: it sleeps" },
    ]);
  });

  test("is forgotten from rows, exchanges and chunks, and from the bytes of the file", async () => {
    writeClaude(home, { id: ID, rows: talk });
    await home.ok("embed");
    expect(bytes()).toContain("walrus");
    await home.ok("forget", "--pattern", PATTERN, "--yes");
    const store = openHomeStore(home);
    expect(all(store, "SELECT text FROM rows")).toEqual(rest);
    expect(bytes()).not.toMatch(/walrus|seal/);
  });

  test("is forgotten with all pieces of a long message, wherever that is cut", async () => {
    const cut = "Drawer 20 📐 holds the chart of voyage 140. Drawer 60";
    writeClaude(home, { id: ID, rows: [asks("what do the drawers hold?"), ...says(LONG)] });
    await home.ok("embed");
    await home.ok("forget", "--pattern", `${cut.slice(0, 9)}[\\s\\S]*Drawer 60`, "--yes");
    const store = openHomeStore(home);
    expect(all(store, "SELECT text FROM rows")).toEqual([{ text: "what do the drawers hold?" }]);
    expect(bytes()).not.toContain("holds the chart");
  });

  test("is not in the index that is made again under other rules", async () => {
    writeClaude(home, { id: ID, rows: talk });
    await home.ok("embed");
    home.configure({ redact: { extra: ["never-there"] }, exclude: { patterns: [PATTERN] } });
    await home.ok("embed", "--quiet");
    const store = openHomeStore(home);
    expect(all(store, "SELECT text FROM rows")).toEqual(rest);
    expect(bytes()).not.toMatch(/walrus|seal/);
  });
});

test("a long message that other rules hide parts of keeps its pieces where they were", async () => {
  writeClaude(home, { id: ID, rows: [asks("what do the drawers hold?"), ...says(LONG)] });
  await home.ok("embed");
  home.configure({ redact: { extra: ["voyage \\d+"] } });
  await home.ok("embed", "--quiet");
  const clean = LONG.replace(/voyage \d+/g, "[redacted:custom]");
  const store = openHomeStore(home);
  expect(all(store, "SELECT text FROM rows WHERE line = 2")).toEqual([{ text: clean }]);
  const pieces = all(store, "SELECT content FROM session_chunks WHERE first_line = 2 ORDER BY chunk_index");
  for (const [i, piece] of (pieces as { content: string }[]).entries()) {
    const text = piece.content.replace("Assistant: ", "");
    expect([i, clean.includes(text)]).toEqual([i, true]);
  }
  expect(bytes()).not.toMatch(/voyage \d/);
});

/** What the index holds of a conversation: rows, the exchanges they form, and the chunks that are spans of them. */

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "../lib/store/store.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { homePerTest, writeClaude } from "./support/home.ts";
import { indexHome, openHomeStore } from "./support/index.ts";
import { type Row, uuidFrom } from "./support/rows.ts";

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
  return store.prepare(sql).all();
}

/** Everything that is in the files of the index. */
function bytes(): string {
  const files = readdirSync(home.paths.home).filter((name) => name.startsWith("index-"));
  return files.map((name) => readFileSync(join(home.paths.home, name), "latin1")).join("");
}

test("a long message is one row; each of its chunks says which characters it is", async () => {
  const store = await indexed(asks("what do the drawers hold?"), says(LONG));
  expect(all(store, "SELECT text FROM rows WHERE line = 2")).toEqual([{ text: LONG }]);
  const pieces = store
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
    const rules = { ...home.paths.rules, exclude: { sessions: [], projects: [], patterns: [PATTERN] } };
    writeClaude(home, { id: ID, rows: talk });
    const store = openHomeStore(home);
    await indexHome(home, store, { paths: { ...home.paths, rules } });
    expect(all(store, "SELECT text FROM rows")).toEqual(rest);
    expect(all(store, "SELECT subject FROM exchanges")).toEqual([{ subject: "what of the otter?" }]);
    expect(all(store, "SELECT content FROM session_chunks")).toEqual([
      { content: "User: what of the otter?\nAssistant: it sleeps" },
    ]);
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
});

import { describe, expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import type { Store } from "../lib/store/store.ts";
import { claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { homePerTest, writeClaude } from "./support/home.ts";
import { indexHome, openHomeStore } from "./support/index.ts";
import { jsonl, type Row, uuidFrom } from "./support/rows.ts";

const home = homePerTest();

const ONE = uuidFrom("deeds one");

function run(command: string, output: string, { isError = false } = {}): Row[] {
  const id = `toolu_${uuidFrom(command + output)}`;
  return [
    ...claudeAssistant({ sessionId: ONE, tools: [{ name: "Bash", input: { command }, id }] }),
    claudeToolResult({ sessionId: ONE, toolUseId: id, content: output, isError }),
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
});

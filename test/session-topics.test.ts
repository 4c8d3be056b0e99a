import { describe, expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { updateSessionTopics } from "../lib/index/topics.ts";
import { keyTerms } from "../lib/language/vocabulary.ts";
import type { Store } from "../lib/store/store.ts";
import { homePerTest, writeClaude } from "./support/home.ts";
import { indexHome, openHomeStore, turn } from "./support/index.ts";
import { jsonl, uuidFrom } from "./support/rows.ts";
import { runScript } from "./support/run.ts";

const home = homePerTest();
const ONE = uuidFrom("topics one");
const TWO = uuidFrom("topics two");

const terms = (...pieces: string[]) =>
  keyTerms(pieces, { max: 5 }).map(({ term, pieces }) => `${term} ${pieces}`);

describe("keyTerms()", () => {
  test("takes two words that belong together, however they are joined, written as the name they have", () => {
    expect(
      terms(
        "User: the invoice renderer is slow",
        "Assistant: `InvoiceRenderer` walks the tree twice.",
        "User: then fix invoice-renderer.ts, please",
      ),
    ).toEqual(["InvoiceRenderer 3"]);
  });

  test("takes a single word only where it comes often, in one form for singular and plural", () => {
    const often = ["one invoice", "two invoices", "a lost invoice", "Invoices again"];
    expect(terms(...often)).toEqual(["invoice 4"]);
    expect(terms(...often.slice(1))).toEqual([]);
  });

  test("takes no words of every session, no word alone of a pair, and none of pasted text", () => {
    const said = "we fix the test file and update the config; the error message is in the output";
    const pasted = "2026-02-03 10:00:01 ERROR turnstile sensor failed";
    expect(
      terms(...Array.from({ length: 6 }, () => `${said}\n${pasted}\nhttps://turnstile.example/sensor`)),
    ).toEqual([]);
    expect(terms(...Array.from({ length: 6 }, () => "the turnstile sensor"))).toEqual(["turnstile sensor 6"]);
  });

  test("takes a longer name as a whole", () => {
    expect(terms(...Array.from({ length: 4 }, () => "call `expandSlashCommand`"))).toEqual([
      "expandSlashCommand 4",
    ]);
  });

  test("leaves out a word that is as frequent elsewhere", () => {
    const pieces = Array.from({ length: 6 }, () => "the turnstile and the barrier");
    const rarity = (word: string) => (word === "turnstile" ? 1 : 0);
    expect(keyTerms(pieces, { max: 5, rarity })).toEqual([{ term: "turnstile", pieces: 6 }]);
  });
});

function lay(): string {
  const barrier = (i: number) =>
    turn(`does the barrier open ${i}?`, `It opens ${i}.`, { minute: i, sessionId: TWO });
  writeClaude(home, { id: TWO, rows: Array.from({ length: 8 }, (_, i) => barrier(i)).flat() });
  const tools = [
    { name: "Edit", input: { file_path: "/shop/src/ticket-gate.ts", old_string: "a", new_string: "b" } },
  ];
  const sensor = (i: number) =>
    turn(`the turnstile sensor counts ${i} barriers`, "TurnstileSensor is mended.", {
      minute: i,
      sessionId: ONE,
      tools,
    });
  return writeClaude(home, { id: ONE, rows: Array.from({ length: 6 }, (_, i) => sensor(i)).flat() });
}

const held = (store: Store, id: string) =>
  store.db
    .prepare("SELECT topic, chunks FROM session_topics WHERE session_id = ? ORDER BY topic")
    .all(id)
    .map(({ topic, chunks }) => `${topic} ${chunks}`);

describe("a session's topics", () => {
  test("are its own terms and the files it edits most, and are made anew when it has grown", async () => {
    const file = lay();
    const store = openHomeStore(home);
    await indexHome(home, store);
    await updateSessionTopics(store);
    expect(held(store, ONE)).toEqual(["TurnstileSensor 6", "ticket-gate 6"]);
    const more = (i: number) =>
      turn(`the receipt printer prints ${i}`, "A receipt printer.", { minute: 10 + i });
    appendFileSync(file, jsonl(...Array.from({ length: 4 }, (_, i) => more(i)).flat()));
    await indexHome(home, store);
    await updateSessionTopics(store);
    expect(held(store, ONE)).toContain("receipt printer 4");
  });

  test("are listed by search with their counts, and filter it without case, spaces, - and _", async () => {
    lay();
    const { stdout } = await runScript("search", ["--topics"], { env: home.env });
    expect(stdout.split("\n")).toContain("TurnstileSensor 6");
    const listed = await runScript("search", ["--topics", "--json"], { env: home.env });
    const { topics } = JSON.parse(listed.stdout) as { topics: object[] };
    expect(topics).toContainEqual({ topic: "TurnstileSensor", chunks: 6, sessions: 1 });
    for (const topic of ["turnstile sensor", "TURNSTILE_SENSORS", "turnstile-sensor"]) {
      const found = await runScript("search", ["barrier", "--topic", topic, "--json"], { env: home.env });
      const { results } = JSON.parse(found.stdout) as { results: { session_id: string }[] };
      expect(new Set(results.map(({ session_id }) => session_id))).toEqual(new Set([ONE]));
    }
    const alone = await runScript("search", ["--topic", "turnstile sensor", "--json"], { env: home.env });
    expect(JSON.parse(alone.stdout).results[0]).toMatchObject({ session_id: ONE, strength: "strong" });
    const none = await runScript("search", ["barrier", "--topic", "turnstile", "--json"], { env: home.env });
    expect(JSON.parse(none.stdout).results).toEqual([]);
  });

  test("are made after a turn of their session, and go with what is forgotten or redacted", async () => {
    lay();
    const topics = async () => {
      await runScript("embed", ["--session", ONE], { env: home.env });
      const store = openHomeStore(home);
      const found = held(store, ONE);
      store.close();
      return found;
    };
    expect(await topics()).toEqual(["TurnstileSensor 6", "ticket-gate 6"]);
    home.configure({ redact: { extra: ["(?i:turnstile ?sensor)"] } });
    expect(await topics()).toEqual(["ticket-gate 6"]);
    await runScript("forget", ["--yes", "--pattern", "ticket-gate"], { env: home.env });
    const left = openHomeStore(home);
    expect(held(left, ONE)).toEqual([]);
    left.close();
    await runScript("forget", ["--yes", ONE], { env: home.env });
    const store = openHomeStore(home);
    expect(held(store, ONE)).toEqual([]);
    expect(store.db.prepare("SELECT count(*) AS n FROM topic_marks").get()?.n).toBe(0);
  });
});

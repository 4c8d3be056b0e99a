/** Vectors in the index, and runs at once. What embed prints and sends: golden/embed.txt. */

import { describe, expect, setSystemTime, test } from "bun:test";
import { appendFileSync, readdirSync, readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { type EmbeddingConfig, loadConfig } from "../lib/config/config.ts";
import { hasAllVectors, vectorSource } from "../lib/index/chunk-vectors.ts";
import { embedSessions, planRun, type RunOptions } from "../lib/index/index-run.ts";
import { embedChunks } from "../lib/index/paid-work.ts";
import { embedTexts } from "../lib/model/llm.ts";
import { openSpendLedger } from "../lib/model/spend.ts";
import { listSessions } from "../lib/sessions/sessions.ts";
import type { Store } from "../lib/store/store.ts";
import { claudeAssistant } from "./support/claude.ts";
import { type RecordedRequest, serverPerFile } from "./support/fake-openai.ts";
import { homePerTest, type TemporaryHome, writeClaude } from "./support/home.ts";
import { contentOf, indexHome, openHomeStore, openNewStore, settingsWith, turn } from "./support/index.ts";
import { seeded } from "./support/random.ts";
import { jsonl, uuidFrom } from "./support/rows.ts";
import { starting, startScript } from "./support/run.ts";

const home = homePerTest();

const DIMENSIONS = 64;
const ONE = uuidFrom("embedded one");
const TWO = uuidFrom("embedded two");
const server = serverPerFile({ dimensions: DIMENSIONS });

function embedding(): EmbeddingConfig {
  return { baseUrl: server.baseUrl, apiKeyEnv: "NO_KEY", model: "fake-embedder", dimensions: DIMENSIONS };
}

/** Embeds what a store holds, without pauses between the tries. */
async function embedAll(home: TemporaryHome, store: Store) {
  const config = embedding();
  const spend = openSpendLedger(home.paths.home, settingsWith());
  const embed = (texts: string[]) => embedTexts(texts, { config, env: {}, spend });
  return await embedChunks({ store, embedding: config, embed, pauseMs: 1 });
}

const embed = (...args: string[]) => home.run("embed", ...args);

function manyTurns(count: number, word = "question") {
  return Array.from({ length: count }, (_, i) => turn(`${word} number${i}`, `answer ${i}`, { minute: i }));
}

describe("embedChunks()", () => {
  test("a chunk that is made again with the words it had is found by its bits", async () => {
    const store = openHomeStore(home);
    const rows = manyTurns(2);
    writeClaude(home, { id: ONE, rows });
    await indexHome(home, store);
    await embedAll(home, store);
    const call = claudeAssistant({
      at: "2026-02-03T14:09:00.000Z",
      tools: [{ name: "Bash", input: { command: "ls" } }],
    });
    writeClaude(home, { id: ONE, rows: [...rows, ...call] });
    await indexHome(home, store);
    expect(await embedAll(home, store)).toMatchObject({ embedded: 0, left: 0 });
    expect(store.all("SELECT chunk_id AS id FROM session_embeddings ORDER BY 1")).toEqual(
      store.all("SELECT id FROM chunks ORDER BY id"),
    );
  });

  test("tries a failing batch three times more and goes on", async () => {
    const store = openHomeStore(home);
    writeClaude(home, { id: ONE, rows: manyTurns(2) });
    await indexHome(home, store);
    server.scriptEmbeddings(
      { kind: "status", status: 429 },
      { kind: "raw", body: '{"data": [{"embedding": [0.1' },
      { kind: "cut" },
    );
    expect(await embedAll(home, store)).toMatchObject({ embedded: 2, left: 0, stopped: undefined });
    expect(server.embeddings()).toHaveLength(4);
  });

  test("keeps an answer that was paid for though its chunks cannot be written any more", async () => {
    const store = openHomeStore(home);
    writeClaude(home, { id: ONE, rows: manyTurns(3) });
    server.scriptEmbeddings(() => {
      store.exec(`CREATE TRIGGER broken BEFORE UPDATE OF embedding ON chunks
        BEGIN SELECT RAISE(ABORT, 'no vectors here'); END`);
      return { kind: "vectors" };
    });
    home.configure({ embedding: embedding() });
    expect((await embed("--quiet")).exitCode).toBe(1);
    expect((await embed("--quiet")).exitCode).toBe(1);
    expect(server.embeddedTexts()).toHaveLength(3);
    store.exec("DROP TRIGGER broken");
    expect(await home.ok("embed")).toContain("3 made (3 paid for before)");
    expect(server.embeddedTexts()).toHaveLength(3);
  });

  test("works and stays right where sqlite-vec is not loaded, and fills the table once it is", async () => {
    writeClaude(home, { id: ONE, rows: manyTurns(3) });
    const store = openHomeStore(home);
    await indexHome(home, store);
    await embedAll(home, store);
    const without: Store = { ...store, vectors: { mode: "scan", why: "a test" } };
    writeClaude(home, { id: ONE, rows: manyTurns(2, "other") });
    await indexHome(home, without);
    await embedAll(home, without);
    expect(vectorSource(without, embedding())).toMatchObject({ mode: "scan" });
    expect(vectorSource(store, embedding())).toMatchObject({ mode: "scan" });
    expect([hasAllVectors(without, embedding()), hasAllVectors(store, embedding())]).toEqual([true, false]);
    await embedAll(home, store);
    expect(vectorSource(store, embedding())).toMatchObject({ mode: "vec0" });
    const ids = (table: string) =>
      store
        .prepare(
          `SELECT ${table} AS id FROM ${table === "id" ? "session_chunks" : "session_embeddings"} ORDER BY 1`,
        )
        .all();
    expect(ids("chunk_id")).toEqual(ids("id"));
    expect(server.embeddedTexts()).toHaveLength(5);
  });
});

describe("embed.ts", () => {
  test("--dry-run says to the chunk what the same command then sends: refined, new, grown, forked, all, forgotten", async () => {
    const pieces = ({ body }: RecordedRequest) =>
      String(body.messages.at(-1).content).match(/^\d+\.$/gm)?.length ?? 0;
    server.script((request) => {
      const chunks = Array.from({ length: pieces(request) }, (_, i) => i + 1);
      return JSON.stringify({ topics: chunks.map((chunk) => ({ chunk, tags: ["one tag"] })) });
    });
    const file = writeClaude(home, { id: ONE, rows: manyTurns(25) });
    const llm = { baseUrl: server.baseUrl, model: "m", apiKeyEnv: "NO_KEY" };
    const host = new URL(server.baseUrl).host;
    async function compare(flags: Partial<RunOptions>) {
      const config = await loadConfig(home.env, home.project);
      const sessions = listSessions(home.paths).reverse();
      const options = { config, sessions, isComplete: true, ...flags };
      server.requests.length = 0;
      const plan = await planRun(options);
      expect(server.requests).toEqual([]);
      const store = openHomeStore(home);
      await embedSessions({ ...options, store });
      store.close();
      const topics = server.chats().reduce((sum, request) => sum + pieces(request), 0);
      const sent = { vectors: server.embeddedTexts().length, topics };
      expect(plan.map(({ what, chunks }) => [what, chunks])).toEqual(
        plan.map(({ what }) => [what, sent[what]]),
      );
      return plan;
    }
    home.configure({ llm });
    const run = await embed("--topics", "--dry-run", "--json");
    const [refined] = await compare({ topics: true });
    expect(refined).toMatchObject({ what: "topics", host, sessions: 1, chunks: 25, usd: 0 });
    const { what: _, text: __, ...shown } = refined ?? {};
    expect(JSON.parse(run.stdout)).toEqual(shown);
    home.configure({ llm, embedding: embedding() });
    expect(await compare({ topics: true })).toMatchObject([{ chunks: 25 }, { chunks: 0 }]);
    expect(await compare({ all: true, topics: true })).toMatchObject([{ chunks: 0 }, { chunks: 0 }]);
    appendFileSync(file, jsonl(...manyTurns(3, "later")));
    writeClaude(home, { id: TWO, rows: readFileSync(file, "utf8") });
    expect(await compare({ vectors: false })).toEqual([]);
    expect(await compare({ topics: true })).toMatchObject([{ sessions: 1 }, { sessions: 1 }]);
    await home.ok("forget", ONE, TWO, "--yes");
    const own = jsonl(...manyTurns(2, "own"));
    writeClaude(home, { id: uuidFrom("fork of a forgotten one"), rows: readFileSync(file, "utf8") + own });
    expect(await compare({})).toMatchObject([{ chunks: 2 }]);
  });

  test("says how far it is, and how long the rest takes, once it takes over a second", async () => {
    home.configure({ embedding: embedding() });
    writeClaude(home, { id: ONE, rows: manyTurns(150) });
    server.scriptEmbeddings(() => {
      setSystemTime(Date.now() + 4000);
      return { kind: "vectors" };
    });
    const { stderr } = await home.run("embed");
    setSystemTime();
    expect(stderr).toMatch(/^vectors 100\/150 · \d+\/s · \d s left$/m);
  });

  test("a run that is embedding keeps its turn however long it lasts, and a killed one loses it", async () => {
    home.configure({ embedding: embedding() });
    writeClaude(home, { id: ONE, rows: manyTurns(3) });
    server.scriptEmbeddings({ kind: "hang" });
    const command = [...starting("embed"), "--quiet"];
    const slow = Bun.spawn(command, { env: home.env, stdout: "ignore", stderr: "ignore" });
    while (server.requests.length === 0) await Bun.sleep(5);
    const hourAgo = new Date(Date.now() - 3_600_000);
    for (const name of readdirSync(home.paths.home).filter((file) => file.endsWith(".lock")))
      utimesSync(join(home.paths.home, name), hourAgo, hourAgo);
    const second = await embed();
    expect([second.exitCode, server.embeddedTexts().length]).toEqual([0, 3]);
    expect(second.stdout).toStartWith(
      `semantic vectors: skipped: another run is at work (process ${slow.pid})\n`,
    );
    slow.kill("SIGKILL");
    await slow.exited;
    const third = await embed();
    expect(third.stdout).toStartWith("semantic vectors: 3 made");
    expect(server.embeddedTexts()).toHaveLength(6);
  });

  test("two runs at once leave what one leaves, and pay once", async () => {
    home.configure({ embedding: embedding() });
    const random = seeded(5);
    for (let i = 0; i < 6; i++) {
      const id = uuidFrom(`concurrent ${i}`);
      writeClaude(home, { id, rows: manyTurns(random.integer(1, 20), `topic${i}`) });
    }
    const runs = await Promise.all([1, 2, 3].map(() => startScript("embed", ["--quiet"], { env: home.env })));
    expect(runs.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual([
      [0, ""],
      [0, ""],
      [0, ""],
    ]);
    const texts = server.embeddedTexts();
    expect(texts).toHaveLength(new Set(texts).size);
    const store = openHomeStore(home);
    const alone = openNewStore();
    await indexHome(home, alone);
    await embedAll(home, alone);
    expect(contentOf(store)).toEqual(contentOf(alone));
    alone.close();
  }, 60_000);
});

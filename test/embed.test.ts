import { describe, expect, setSystemTime, test } from "bun:test";
import { appendFileSync, existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type EmbeddingConfig, loadConfig } from "../lib/config/config.ts";
import { hasAllVectors, vectorSource } from "../lib/index/chunk-vectors.ts";
import { embedSessions, planRun, type RunOptions } from "../lib/index/index-run.ts";
import { embedChunks } from "../lib/index/paid-work.ts";
import { embedTexts } from "../lib/model/llm.ts";
import { openSpendLedger } from "../lib/model/spend.ts";
import { listSessions } from "../lib/sessions/sessions.ts";
import type { Store } from "../lib/store/store.ts";
import {
  fakeVector,
  type RecordedRequest,
  type Reply,
  serverPerFile,
  startFakeOpenAI,
} from "./support/fake-openai.ts";
import { homePerTest, type TemporaryHome, temporaryHome, writeClaude } from "./support/home.ts";
import {
  contentOf,
  countMatches,
  indexHome,
  openHomeStore,
  openNewStore,
  settingsWith,
  turn,
} from "./support/index.ts";
import { seeded } from "./support/random.ts";
import { jsonl, uuidFrom } from "./support/rows.ts";
import { starting, startScript } from "./support/run.ts";

const home = homePerTest();

const DIMENSIONS = 64;
const ONE = uuidFrom("embedded one");
const TWO = uuidFrom("embedded two");
const server = serverPerFile({ dimensions: DIMENSIONS });

function embedding(changes: Partial<EmbeddingConfig> = {}): EmbeddingConfig {
  return {
    baseUrl: server.baseUrl,
    apiKeyEnv: "NO_KEY",
    model: "fake-embedder",
    dimensions: DIMENSIONS,
    ...changes,
  };
}

/** Embeds what a store holds, without pauses between the tries. */
async function embedAll(
  home: TemporaryHome,
  store: Store,
  changes: Partial<EmbeddingConfig> = {},
  all = false,
) {
  const config = embedding(changes);
  const spend = openSpendLedger(home.paths.home, settingsWith());
  const embed = (texts: string[]) => embedTexts(texts, { config, env: {}, spend });
  return await embedChunks({ store, embedding: config, embed, all, pauseMs: 1 });
}

const embed = (...args: string[]) => home.run("embed", ...args);

function vectorsIn(store: Store): { id: number; values: number[] }[] {
  return store.db
    .prepare("SELECT id, embedding FROM session_chunks WHERE embedding IS NOT NULL ORDER BY id")
    .all()
    .map((row) => {
      const bytes = Buffer.from(row.embedding as Uint8Array);
      const values = Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4));
      return { id: Number(row.id), values };
    });
}

/** Makes the server's refusals those of yesterday. */
function aDayPasses(store: Store): void {
  store.db.exec("UPDATE chunks SET embedding_failures = max(embedding_failures - 1, 0)");
}

function manyTurns(count: number, word = "question") {
  return Array.from({ length: count }, (_, i) => turn(`${word} number${i}`, `answer ${i}`, { minute: i }));
}

describe("embedChunks()", () => {
  test("keeps each chunk's exact vector and its sign bits, and sends nothing a second time", async () => {
    const store = openHomeStore(home);
    writeClaude(home, { id: ONE, rows: manyTurns(3) });
    await indexHome(home, store);
    const report = await embedAll(home, store);
    expect(report).toMatchObject({ embedded: 3, reused: 0, left: 0, usd: 0, stopped: undefined });
    const texts = server.embeddedTexts();
    expect(texts[0]).toStartWith(
      "[Session from February 3, 2026 at 2:00 PM UTC]\n[Participants: User and Assistant]\n",
    );
    expect(vectorsIn(store).map(({ values }) => values)).toEqual(
      texts.map((text) => [...Float32Array.from(fakeVector(text, DIMENSIONS))]),
    );
    const nearest = store.db
      .prepare(
        "SELECT chunk_id FROM session_embeddings WHERE embedding MATCH vec_quantize_binary(?) AND k = 1",
      )
      .get(new Uint8Array(Float32Array.from(fakeVector(texts[1] ?? "", DIMENSIONS)).buffer));
    expect(nearest).toEqual({ chunk_id: vectorsIn(store)[1]?.id ?? -1 });
    expect(vectorSource(store, embedding())).toEqual({ mode: "vec0", embedder: 1 });
    expect(await embedAll(home, store)).toMatchObject({ embedded: 0, left: 0 });
    expect(server.embeddedTexts()).toHaveLength(3);
  });

  test("never mixes two models, of whatever width: the first one's vectors wait in the cache, and coming back is free", async () => {
    const wide = await startFakeOpenAI({ dimensions: 128 });
    const store = openHomeStore(home);
    writeClaude(home, { id: ONE, rows: manyTurns(3) });
    await indexHome(home, store);
    await embedAll(home, store);
    const other = { model: "other-embedder", dimensions: 128, baseUrl: wide.baseUrl };
    expect(vectorSource(store, embedding(other))).toEqual({
      mode: "off",
      why: "the vectors are of another model than other-embedder (128), run embed",
    });
    expect(await embedAll(home, store, other)).toMatchObject({ embedded: 3, reused: 0 });
    expect(store.db.prepare("SELECT DISTINCT embedder FROM session_chunks").all()).toEqual([{ embedder: 2 }]);
    expect(vectorsIn(store).map(({ values }) => values.length)).toEqual([128, 128, 128]);
    const sql = store.db.prepare("SELECT sql FROM sqlite_master WHERE name = 'session_embeddings'").get();
    expect(String(sql?.sql)).toContain("bit[128]");
    expect(await embedAll(home, store)).toMatchObject({ embedded: 3, reused: 3 });
    expect([server.embeddedTexts().length, wide.embeddedTexts().length]).toEqual([3, 3]);
    expect(Number(store.db.prepare("SELECT count(*) AS n FROM session_embeddings").get()?.n)).toBe(3);
    await wide.close();
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

  test("leaves chunks for a later run when the server stays down, and embeds them then", async () => {
    using home = temporaryHome();
    const store = openHomeStore(home);
    writeClaude(home, { id: ONE, rows: manyTurns(250) });
    await indexHome(home, store);
    server.scriptEmbeddings(...Array.from({ length: 20 }, () => ({ kind: "status", status: 500 }) as const));
    const report = await embedAll(home, store);
    expect([report.embedded, report.left, report.stopped?.type]).toEqual([0, 250, "EMBEDDING_FAILED"]);
    // two batches of four tries, not one for each of the three batches
    expect(server.embeddings()).toHaveLength(8);
    server.scriptEmbeddings();
    expect(await embedAll(home, store)).toMatchObject({ embedded: 250, left: 0 });
  });

  test("has health warn of the chunks that wait since a run failed, until one succeeds", async () => {
    using home = temporaryHome();
    home.configure({ embedding: embedding() });
    const store = openHomeStore(home);
    const failed = async () => {
      const { metrics, findings } = JSON.parse((await home.run("health", "--json")).stdout);
      const what = findings.map(
        (finding: { level: string; what: string }) => `${finding.level}: ${finding.what}`,
      );
      return [metrics.failedChunks, ...what.filter((text: string) => text.includes("embedded"))];
    };
    writeClaude(home, { id: ONE, rows: manyTurns(3) });
    await indexHome(home, store);
    await embedAll(home, store);
    writeClaude(home, { id: TWO, rows: manyTurns(2, "other") });
    await indexHome(home, store);
    expect(await failed()).toEqual([0]);
    server.scriptEmbeddings(...Array.from({ length: 4 }, () => ({ kind: "status", status: 500 }) as const));
    expect(await embedAll(home, store)).toMatchObject({ embedded: 0, left: 2 });
    expect(await failed()).toEqual([2, "warning: 2 chunks could not be embedded"]);
    server.scriptEmbeddings();
    expect(await embedAll(home, store)).toMatchObject({ embedded: 2, left: 0 });
    writeClaude(home, { id: uuidFrom("three"), rows: manyTurns(1, "third") });
    await indexHome(home, store);
    expect(await failed()).toEqual([0]);
  });

  test("finds the one text that the server refuses, embeds the others, and asks for it again after a day", async () => {
    using home = temporaryHome();
    const store = openHomeStore(home);
    writeClaude(home, { id: ONE, rows: manyTurns(20) });
    await indexHome(home, store);
    const refuse = (request: { text: string }) =>
      request.text.includes("number13")
        ? ({ kind: "status", status: 400 } as const)
        : ({ kind: "vectors" } as const);
    server.scriptEmbeddings(...Array.from({ length: 30 }, () => refuse));
    expect(await embedAll(home, store)).toMatchObject({ embedded: 19, left: 1, stopped: undefined });
    const sent = server.embeddings().length;
    expect(await embedAll(home, store)).toMatchObject({ embedded: 0, left: 1 });
    expect(server.embeddings()).toHaveLength(sent);
    aDayPasses(store);
    expect(await embedAll(home, store)).toMatchObject({ embedded: 0, left: 1, stopped: undefined });
    expect(server.embeddings()).toHaveLength(sent + 1);
    expect(await embedAll(home, store)).toMatchObject({ embedded: 0, left: 1 });
    expect(server.embeddings()).toHaveLength(sent + 1);
    server.scriptEmbeddings();
    expect(await embedAll(home, store, {}, true)).toMatchObject({ embedded: 1, left: 0 });
  });

  test("embeds what is new though several texts before it are refused again", async () => {
    using home = temporaryHome();
    const store = openHomeStore(home);
    writeClaude(home, { id: ONE, rows: manyTurns(6) });
    await indexHome(home, store);
    const refuse = ({ text }: { text: string }) =>
      /question number[1-4]/.test(text)
        ? ({ kind: "status", status: 400 } as const)
        : ({ kind: "vectors" } as const);
    server.scriptEmbeddings(...Array.from({ length: 60 }, () => refuse));
    expect(await embedAll(home, store)).toMatchObject({ embedded: 2, left: 4, stopped: undefined });
    aDayPasses(store);
    writeClaude(home, { id: TWO, rows: manyTurns(1, "other") });
    await indexHome(home, store);
    expect(await embedAll(home, store)).toMatchObject({ embedded: 1, left: 4, stopped: undefined });
    server.scriptEmbeddings();
  });

  test("sends nothing that the index would not store, and says whose fault that is", async () => {
    const store = openHomeStore(home);
    writeClaude(home, { id: ONE, rows: manyTurns(3) });
    store.db.exec(`CREATE TRIGGER broken BEFORE UPDATE OF embedding ON chunks
      BEGIN SELECT RAISE(ABORT, 'no vectors here'); END`);
    home.configure({ embedding: embedding() });
    for (const _ of [1, 2]) {
      const { stderr, exitCode } = await embed("--quiet");
      expect(exitCode).toBe(1);
      expect(stderr).toStartWith(
        `error: STORAGE_ERROR: Cannot write "${home.paths.database}": no vectors here\n`,
      );
      expect(stderr).not.toContain("may be written");
    }
    expect(server.requests).toEqual([]);
  });

  test("keeps an answer that was paid for though its chunks cannot be written any more", async () => {
    const store = openHomeStore(home);
    writeClaude(home, { id: ONE, rows: manyTurns(3) });
    server.scriptEmbeddings(() => {
      store.db.exec(`CREATE TRIGGER broken BEFORE UPDATE OF embedding ON chunks
        BEGIN SELECT RAISE(ABORT, 'no vectors here'); END`);
      return { kind: "vectors" };
    });
    home.configure({ embedding: embedding() });
    expect((await embed("--quiet")).exitCode).toBe(1);
    expect((await embed("--quiet")).exitCode).toBe(1);
    expect(server.embeddedTexts()).toHaveLength(3);
    store.db.exec("DROP TRIGGER broken");
    expect(await home.ok("embed")).toContain("3 made (3 paid for before)");
    expect(server.embeddedTexts()).toHaveLength(3);
  });

  test("--status counts the vectors of each session", async () => {
    home.configure({ embedding: embedding() });
    writeClaude(home, { id: ONE, rows: manyTurns(3) });
    await home.ok("embed", "--quiet");
    writeClaude(home, { id: TWO, rows: manyTurns(2, "other") });
    await home.ok("embed", "--no-vectors", "--quiet");
    const { sessions } = JSON.parse(await home.ok("embed", "--status", "--json"));
    const counts = sessions.map(({ id, chunks, vectors }: Record<string, unknown>) => [id, chunks, vectors]);
    expect(counts.sort()).toEqual(
      [
        [ONE, 3, 3],
        [TWO, 2, 0],
      ].sort(),
    );
    expect(await home.ok("embed", "--status")).toContain(" · 3 chunks, 3 vectors\n");
  });

  test("works and stays right where sqlite-vec is not loaded, and fills the table once it is", async () => {
    writeClaude(home, { id: ONE, rows: manyTurns(3) });
    const store = openHomeStore(home);
    await indexHome(home, store);
    await embedAll(home, store);
    const without: Store = { ...store, db: { ...store.db, vectors: { mode: "scan", why: "a test" } } };
    writeClaude(home, { id: ONE, rows: manyTurns(2, "other") });
    await indexHome(home, without);
    await embedAll(home, without);
    expect(vectorSource(without, embedding())).toMatchObject({ mode: "scan" });
    expect(vectorSource(store, embedding())).toMatchObject({ mode: "scan" });
    expect([hasAllVectors(without, embedding()), hasAllVectors(store, embedding())]).toEqual([true, false]);
    await embedAll(home, store);
    expect(vectorSource(store, embedding())).toMatchObject({ mode: "vec0" });
    const ids = (table: string) =>
      store.db
        .prepare(
          `SELECT ${table} AS id FROM ${table === "id" ? "session_chunks" : "session_embeddings"} ORDER BY 1`,
        )
        .all();
    expect(ids("chunk_id")).toEqual(ids("id"));
    expect(server.embeddedTexts()).toHaveLength(5);
  });
});

describe("embed.ts", () => {
  test("sends what config.json names to that host, and says what it cost", async () => {
    home.configure({ embedding: embedding({ model: "text-embedding-3-small" }) });
    writeClaude(home, { id: ONE, rows: manyTurns(2) });
    const plan = await embed("--dry-run", "--json");
    const { tokens, usd, ...rest } = JSON.parse(plan.stdout);
    expect(rest).toEqual({ sessions: 1, chunks: 2, host: new URL(server.baseUrl).host });
    expect([tokens > 0, usd]).toEqual([true, 0]);
    expect([existsSync(home.paths.database), server.requests.length]).toEqual([false, 0]);
    const run = await embed();
    expect(run.stdout).toMatch(
      /^semantic vectors: 2 made \(0 paid for before\) · \$0\.0000\nindexed 1 session, 2 chunks \(2 new\)/,
    );
    const after = await embed("--dry-run");
    expect(after.stdout).toStartWith(
      `vectors: 0 sessions, 0 chunks would be sent to ${new URL(server.baseUrl).host}`,
    );
    await embed("--no-vectors");
    expect(server.embeddedTexts()).toHaveLength(2);
  });

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

  test.each([
    ["unknown", { model: "no-such-embedder", baseUrl: "https://models.invalid/v1" }],
    ["configured, at a server on loopback", { model: "priced" }],
  ])("refuses a call over the daily budget before it is made: price %s", async (_, config) => {
    home.configure({
      embedding: embedding(config),
      llm: { model: "m", dailyBudgetUsd: 0.0000001, prices: { priced: { input: 0.02, output: 0 } } },
    });
    writeClaude(home, { id: ONE, rows: manyTurns(1) });
    const plan = JSON.parse((await embed("--dry-run", "--json")).stdout);
    const run = await embed();
    expect([run.exitCode, server.requests.length]).toEqual([1, 0]);
    expect(run.stderr).toStartWith("error: BUDGET_EXCEEDED: ");
    expect(plan.usd).toBeGreaterThan(0.0000001);
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

  const refusals: [what: string, reply: Reply, message: string][] = [
    ["of the key", { kind: "status", status: 401 }, "the server answered 401 scripted failure"],
    ["of every text", { kind: "status", status: 400 }, "the server answered 400 scripted failure"],
  ];

  test.each(refusals)(
    "exits 1 with the cause when the embedder refuses everything: %s",
    async (_, reply, message) => {
      home.configure({ embedding: embedding() });
      writeClaude(home, { id: ONE, rows: manyTurns(4) });
      server.scriptEmbeddings(...Array.from({ length: 30 }, () => reply));
      const run = await embed("--json");
      const store = openHomeStore(home);
      expect(countMatches(store, "question")).toBe(4);
      store.close();
      expect([run.exitCode, JSON.parse(run.stdout).vectors]).toMatchObject([
        1,
        { embedded: 0, left: 4, error: `EMBEDDING_FAILED: Cannot embed: ${message}` },
      ]);
      expect(run.stderr).toContain(`error: EMBEDDING_FAILED: Cannot embed: ${message}\n`);
      expect(readFileSync(home.paths.log, "utf8")).not.toContain('"ok":true');
      server.scriptEmbeddings();
      const again = await embed();
      expect([again.exitCode, again.stdout.split("\n")[0]]).toMatchObject([
        0,
        expect.stringContaining("4 made"),
      ]);
    },
  );

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

  test("refines topics by the model once, in rows, headers and full text", async () => {
    home.configure({ llm: { baseUrl: server.baseUrl, model: "m", apiKeyEnv: "NO_KEY" } });
    const file = writeClaude(home, { id: ONE, rows: manyTurns(25) });
    server.script(({ body }) => {
      const count = String(body.messages.at(-1).content).match(/^\d+\.$/gm)?.length ?? 0;
      const topics = Array.from({ length: count }, (_, i) => ({
        chunk: i + 1,
        tags: ["Zebra Crossing", "x],[y"],
      }));
      return JSON.stringify({ topics });
    });
    const run = await embed("--topics");
    expect(run.stdout).toContain("topics: 25 chunks");
    expect(server.chats()).toHaveLength(2);
    const store = openHomeStore(home);
    expect(countMatches(store, "zebra")).toBe(25);
    const { topic_tags, context_content } =
      store.db.prepare("SELECT topic_tags, context_content FROM session_chunks").get() ?? {};
    expect(topic_tags).toBe('["zebra crossing","x y"]');
    expect(String(context_content)).toContain("\n[Topics: zebra crossing, x y]\n");
    await indexHome(home, store, { all: true });
    writeFileSync(file, readFileSync(file, "utf8") + jsonl(turn("last", "one", { minute: 50 })));
    await indexHome(home, store);
    expect(countMatches(store, "zebra")).toBe(25);
    store.close();
    await embed("--topics");
    expect(server.chats()).toHaveLength(3);
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

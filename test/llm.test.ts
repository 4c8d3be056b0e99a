import { beforeEach, expect, test } from "bun:test";
import { z } from "zod";
import { SessionMemoryError } from "../lib/base/errors.ts";
import type { EmbeddingConfig, Environment, LlmConfig } from "../lib/config/config.ts";
import { jsonCompleter } from "../lib/model/answers.ts";
import { chatSender, embedTexts } from "../lib/model/llm.ts";
import { openSpendLedger, readSpendToday, type SpendLedger } from "../lib/model/spend.ts";
import { redactor } from "../lib/redact/redact.ts";
import { fakeVector, type Reply, serverPerFile } from "./support/fake-openai.ts";
import { temporaryHome } from "./support/home.ts";
import { runCommand } from "./support/run.ts";

const DIMENSIONS = 64;
const schema = z.object({ name: z.string() });
const key: Environment = { KEY: "sk-test" };

let home: string;
let spend: SpendLedger;

const server = serverPerFile({ dimensions: DIMENSIONS, replies: ['{"name": "a name"}'] });
beforeEach(() => {
  home = temporaryHome().root;
  spend = openSpendLedger(home, { llm: llm() });
});

function llm(changes: Partial<LlmConfig> = {}): LlmConfig {
  return {
    baseUrl: server.baseUrl,
    apiKeyEnv: "KEY",
    model: "tiny",
    dailyBudgetUsd: 1,
    timeoutMs: 5000,
    prices: { tiny: { input: 1, output: 2 } },
    ...changes,
  };
}

function embedding(changes: Partial<EmbeddingConfig> = {}): EmbeddingConfig {
  return {
    baseUrl: server.baseUrl,
    apiKeyEnv: "KEY",
    model: "nomic-embed-text",
    dimensions: DIMENSIONS,
    ...changes,
  };
}

interface Asked {
  config?: Partial<LlmConfig>;
  env?: Environment;
  signal?: AbortSignal;
  system?: string;
  prompt?: string;
}

function ask(options: Asked = {}) {
  const { config, env = key, signal, system = "Answer in JSON.", prompt = "Name it." } = options;
  const complete = jsonCompleter(chatSender({ config: llm(config), env, spend }), redactor([]));
  return complete({ feature: "meta", system, prompt, schema, signal });
}

async function failureOf(work: Promise<unknown>): Promise<SessionMemoryError> {
  const error = await work.then(
    (value) => value,
    (error: unknown) => error,
  );
  if (!(error instanceof SessionMemoryError)) throw new Error(`expected a failure, found ${error}`);
  return error;
}

test("an answer comes with its tokens and price, and the ledger has them", async () => {
  server.script({
    kind: "chat",
    content: '{"name": "fix login"}',
    usage: { prompt_tokens: 1000, completion_tokens: 500 },
  });
  expect(await ask()).toEqual({
    value: { name: "fix login" },
    model: "tiny",
    usage: { input: 1000, output: 500 },
    tokens: 1500,
    usd: 0.002,
  });
  expect(readSpendToday(home)).toEqual({
    usd: 0.002,
    calls: 1,
    tokens: { input: 1000, output: 500 },
  });
  expect(server.chats().map(({ body }) => body)).toEqual([
    {
      model: "tiny",
      messages: [
        { role: "system", content: "Answer in JSON." },
        { role: "user", content: "Name it." },
      ],
      max_tokens: 1500,
    },
  ]);
});

const transport: [string, Reply, string, boolean][] = [
  ["a body that is cut off", { kind: "cut" }, "Cannot ask the model: ", true],
  ["half of JSON", { kind: "raw", body: '{"choices": [{"mess' }, "Cannot ask the model: ", true],
  [
    "401",
    { kind: "status", status: 401, body: { error: { message: "bad key" } } },
    "Cannot ask the model: the server answered 401 bad key",
    false,
  ],
  [
    "429 for an empty account",
    {
      kind: "status",
      status: 429,
      body: { error: { code: "insufficient_quota", message: "no credit left" } },
    },
    "Cannot ask the model: the server answered 429 no credit left",
    false,
  ],
  [
    "an HTML page",
    { kind: "raw", body: "<html>Sign in</html>", contentType: "text/html" },
    "Cannot ask the model: the server's answer is not a chat completion",
    true,
  ],
];

test.each(transport)(
  "a transport failure is surfaced at once: %s",
  async (_, reply, message, recoverable) => {
    server.script(reply);
    const error = await failureOf(ask());
    expect(error.message).toStartWith(message);
    expect([error.type, error.recoverable, server.requests.length]).toEqual(["MODEL_FAILED", recoverable, 1]);
  },
);

test("a server that never answers is given up at the limit, and the call stays counted", async () => {
  server.script({ kind: "hang" });
  const error = await failureOf(ask({ config: { timeoutMs: 60 } }));
  expect(error.message).toBe("Cannot ask the model: no answer within 0.06 s");
  const today = readSpendToday(home);
  expect([today.calls, today.tokens.output]).toEqual([1, 1500]);
});

test("our key, which a server echoes, is in no message and no answer", async () => {
  const env = { KEY: "unknown-vendor:qzrtpl" };
  server.script(
    { kind: "status", status: 401, body: { error: { message: `no such key ${env.KEY}` } } },
    { kind: "chat", content: `{"name": "${env.KEY}"}` },
  );
  const error = await failureOf(ask({ env }));
  expect(error.message).toBe("Cannot ask the model: the server answered 401 no such key [REDACTED]");
  expect((await ask({ env })).value).toEqual({ name: "[REDACTED]" });
});

test("a caller can give up", async () => {
  server.script({ kind: "hang" });
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 30);
  expect((await failureOf(ask({ signal: stop.signal }))).message).toBe(
    "Cannot ask the model: the call was cancelled",
  );
});

test("a refused call costs nothing, nor does one that no server took", async () => {
  server.script({ kind: "status", status: 401 });
  await failureOf(ask());
  await failureOf(ask({ config: { baseUrl: "http://127.0.0.1:9/v1" } }));
  expect(readSpendToday(home).usd).toBe(0);
});

test.each([500, 503, 408])(
  "a %d may be billed behind a proxy: the call stays at its estimate",
  async (status) => {
    server.script({ kind: "status", status });
    await failureOf(ask());
    server.scriptEmbeddings({ kind: "status", status });
    await failureOf(embedTexts(["a"], { config: embedding({ model: "tiny" }), env: key, spend }));
    const { usd, calls, tokens } = readSpendToday(home);
    expect([calls, usd > 0.003, tokens.output]).toEqual([2, true, 1500]);
  },
);

test("a usage that is no number of tokens does not lift the cap", async () => {
  spend = openSpendLedger(home, { llm: llm({ dailyBudgetUsd: 0.004 }) });
  const usage = { prompt_tokens: "none", completion_tokens: -5000 } as unknown as { prompt_tokens: number };
  server.script({ kind: "chat", content: '{"name": "free"}', usage });
  expect((await ask()).usage.output).toBe(1500);
  expect((await failureOf(ask())).type).toBe("BUDGET_EXCEEDED");
});

test.each([{}, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }])(
  "a paid server that reports no usage is counted by what was sent and what came: %j",
  async (usage) => {
    const reply = { kind: "chat", content: '{"name": "free"}', usage };
    server.script(reply as Reply);
    const prompt = "name the gateway ".repeat(1000);
    await ask({ prompt });
    const { usd, tokens } = readSpendToday(home);
    expect([tokens.input > 3000, tokens.output > 4, tokens.output < 20, usd > 0.003]).toEqual(
      Array(4).fill(true),
    );
    server.scriptEmbeddings({ kind: "raw", body: JSON.stringify({ data: [], usage }) });
    await failureOf(embedTexts([prompt], { config: embedding({ model: "tiny" }), env: key, spend }));
    expect(readSpendToday(home).tokens.input).toBeGreaterThan(2 * 3000);
  },
);

test("a secret and a lone surrogate never leave in a prompt, nor in what is embedded", async () => {
  const secret = `ghp_${"aB3dE5gH7jK9mN1pQ2rS".repeat(2).slice(0, 36)}`;
  await ask({ system: `S ${secret}`, prompt: `P ${secret} \ud800.` });
  await embedTexts([`token ${secret} \udc00`], { config: embedding(), env: key, spend });
  expect(server.requests.length).toBe(2);
  for (const { text } of server.requests) {
    expect(text).not.toContain(secret);
    expect(text).not.toMatch(/\\ud[89a-f][0-9a-f]{2}/i);
  }
});

test("only the named key is sent, and a local server needs none", async () => {
  await ask({ env: { KEY: "sk-own", OPENAI_API_KEY: "sk-other" } });
  await ask({ env: { OPENAI_API_KEY: "sk-other" } });
  expect(server.chats().map(({ headers }) => headers.authorization)).toEqual(["Bearer sk-own", undefined]);
});

test("without its key OpenAI itself is not called", async () => {
  const error = await failureOf(ask({ config: { baseUrl: undefined }, env: {} }));
  expect(error.message).toBe('Cannot call "tiny": KEY is not set');
});

test("the environment steers neither the host nor the headers", async () => {
  const script = `
    import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
    import { jsonCompleter } from ${JSON.stringify(import.meta.resolve("../lib/model/answers.ts"))};
    import { chatSender } from ${JSON.stringify(import.meta.resolve("../lib/model/llm.ts"))};
    import { openSpendLedger } from ${JSON.stringify(import.meta.resolve("../lib/model/spend.ts"))};
    const spend = openSpendLedger(${JSON.stringify(home)}, {});
    const complete = jsonCompleter(chatSender({ config: ${JSON.stringify(llm())}, env: {}, spend }), (text) => text);
    await complete({ feature: "meta", system: "s", prompt: "p", schema: z.object({ name: z.string() }) });`;
  const env = {
    ...process.env,
    OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
    OPENAI_API_KEY: "sk-ambient",
    OPENAI_ORG_ID: "org",
    OPENAI_CUSTOM_HEADERS: "x-planted: 1",
    OPENAI_LOG: "debug",
  };
  const run = await runCommand(["bun", "-e", script], { env });
  expect(run).toEqual({ stdout: "", stderr: "", exitCode: 0 });
  const headers = server.chats()[0]?.headers ?? {};
  expect(Object.keys(headers).filter((name) => /auth|openai|stainless|planted/.test(name))).toEqual([]);
});

test("a redirect to another host is not followed", async () => {
  server.script({ kind: "status", status: 307, headers: { location: "http://127.0.0.1:9/elsewhere" } });
  const error = await failureOf(ask());
  expect([error.type, server.requests.length]).toEqual(["MODEL_FAILED", 1]);
});

test("texts are embedded in order, a hundred a request, and are near what shares their words", async () => {
  const texts = Array.from({ length: 230 }, (_, i) => `text number ${i}`);
  server.scriptEmbeddings({ kind: "vectors", fault: "reversed" });
  const { vectors, tokens, usd } = await embedTexts(texts, { config: embedding(), env: key, spend });
  expect(vectors).toEqual(texts.map((text) => Float32Array.from(fakeVector(text, DIMENSIONS))));
  expect(server.embeddings().map(({ body }) => body.input.length)).toEqual([100, 100, 30]);
  expect(server.embeddings()[0]?.body.dimensions).toBeUndefined();
  expect(tokens).toBe(texts.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0));
  expect(usd).toBe(0);
});

const ONES = { index: 0, embedding: Array(64).fill(1) };
const faults: [string, Reply, string, boolean][] = [
  [
    "another size",
    { kind: "vectors", fault: "dimensions" },
    'Cannot use the vectors of "nomic-embed-text": expected 64 dimensions but found 72',
    false,
  ],
  [
    "one too few",
    { kind: "vectors", fault: "missing" },
    "Cannot embed: expected 2 vectors but found 1",
    true,
  ],
  [
    "a null in one",
    { kind: "vectors", fault: "null" },
    "Cannot embed: a vector is not a list of numbers",
    true,
  ],
  [
    "two of one text",
    { kind: "raw", body: JSON.stringify({ data: [ONES, ONES] }) },
    "Cannot embed: the vectors' positions do not match the texts",
    true,
  ],
  [
    "no list",
    { kind: "raw", body: '{"object": "list"}' },
    "Cannot embed: expected 2 vectors but found none",
    true,
  ],
  ["500", { kind: "status", status: 500 }, "Cannot embed: the server answered 500 scripted failure", true],
  ["400", { kind: "status", status: 400 }, "Cannot embed: the server answered 400 scripted failure", false],
];

test.each(faults)("vectors are refused: %s", async (_, reply, message, recoverable) => {
  server.scriptEmbeddings(reply);
  const error = await failureOf(embedTexts(["a", "b"], { config: embedding(), env: key, spend }));
  expect([error.type, error.message, error.recoverable]).toEqual(["EMBEDDING_FAILED", message, recoverable]);
  expect(server.requests.length).toBe(1);
});

test("vectors that were paid for are kept when a later request fails", async () => {
  server.scriptEmbeddings({ kind: "vectors" }, { kind: "status", status: 500 });
  const texts = Array.from({ length: 150 }, (_, i) => `text ${i}`);
  const error = await failureOf(embedTexts(texts, { config: embedding(), env: key, spend }));
  expect((error.details.vectors as Float32Array[]).length).toBe(100);
});

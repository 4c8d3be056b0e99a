import { expect, test } from "bun:test";
import { z } from "zod";
import type { PiContext, PiModel, PiReply } from "../hooks/pi/api.ts";
import { registerTools } from "../hooks/pi/commands.ts";
import { registerPrompt } from "../hooks/pi/extension.ts";
import { namingModel } from "../hooks/pi/models.ts";
import { loadConfig } from "../lib/config/config.ts";
import { readSpendToday } from "../lib/model/spend.ts";
import { type TemporaryHome, temporaryHome, writePi } from "./support/home.ts";
import { piAssistant, piHeader, piLinked, piUser } from "./support/pi.ts";
import { piHost } from "./support/pi-host.ts";
import { uuidFrom } from "./support/rows.ts";

const PROMPT = "name this";
const ANSWER: PiReply["content"] = [{ type: "text", text: '{"name": "a name"}' }];

/** Asks pi's active model, which has one answer; returns what the records count for it. */
async function spendOf(
  home: TemporaryHome,
  { reply, model = {}, prompt = PROMPT }: { reply: PiReply; model?: Partial<PiModel>; prompt?: string },
) {
  const config = await loadConfig(home.env, home.project);
  const active: PiModel = { id: "m", provider: "p", cost: { input: 1, output: 2 }, ...model };
  const context = { model: active, modelRegistry: { complete: async () => reply } } as unknown as PiContext;
  const complete = namingModel(config, context)?.complete;
  const request = {
    feature: "meta",
    system: "",
    prompt,
    schema: z.object({ name: z.string() }),
    maxTokens: 1000,
  };
  const answer = await complete?.(request).catch((error: Error) => error.message);
  return { answer, today: readSpendToday(home.paths.home) };
}

function piHome(): TemporaryHome {
  const home = temporaryHome();
  home.configure({ modelKeys: ["active"], timezone: "UTC" });
  return home;
}

test.each([
  ["401 invalid key", 0],
  ["429 slow down", 0],
  ["Error: 404 no such model", 0],
  ["408 request timeout", 1000],
  ["500 internal error", 1000],
  ["terminated", 1000],
])(
  "a refusal by pi's provider is free, a failure that may be billed counts at its estimate: %s",
  async (errorMessage, output) => {
    using home = piHome();
    const reply: PiReply = { content: [], stopReason: "error", errorMessage };
    const { answer, today } = await spendOf(home, { reply });
    expect([answer, today.tokens.output]).toEqual([`Cannot get an answer from "m": ${errorMessage}`, output]);
  },
);

test("an answer of pi's model without usage counts at its estimate, with usage at that", async () => {
  using home = piHome();
  expect((await spendOf(home, { reply: { content: ANSWER, stopReason: "stop" } })).today.tokens.output).toBe(
    1000,
  );
  using silent = piHome();
  const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: { total: Number.NaN } };
  const long = PROMPT.repeat(1000);
  const said = await spendOf(silent, {
    prompt: long,
    reply: { content: ANSWER, stopReason: "stop", usage: none },
  });
  expect([said.today.tokens.input > 1500, said.today.tokens.output > 4]).toEqual([true, true]);
  expect(said.answer).toMatchObject({ usd: said.today.usd });
  using other = piHome();
  const usage = { input: 10, output: 20, cacheRead: 30, cacheWrite: 40 };
  const { today } = await spendOf(other, { reply: { content: ANSWER, stopReason: "stop", usage } });
  expect(today.tokens).toEqual({ input: 80, output: 20 });
  using cached = piHome();
  const read = { ...usage, input: 0 };
  const hit = await spendOf(cached, { reply: { content: ANSWER, stopReason: "stop", usage: read } });
  expect(hit.today.tokens).toEqual({ input: 70, output: 20 });
});

test("pi's model without a price counts as the dearest known one, unless it is on loopback; config.json's price wins", async () => {
  const usage = { input: 1000, output: 1000 };
  const reply: PiReply = { content: ANSWER, stopReason: "stop", usage };
  const spent = async (model: Partial<PiModel>, prices = {}) => {
    using home = piHome();
    home.configure({ modelKeys: ["active"], timezone: "UTC", llm: { model: "x", prices } });
    return (await spendOf(home, { reply, model })).today.usd;
  };
  expect(await spent({ cost: {} })).toBe(0.14);
  expect(await spent({ cost: {}, baseUrl: "http://127.0.0.1:1/v1" })).toBe(0);
  expect(await spent({})).toBe(0.003);
  expect(await spent({}, { m: { input: 10, output: 10 } })).toBe(0.02);
});

test("names are asked of modelKeys, then of the llm block, then rules make them", async () => {
  const active: PiModel = { id: "m", provider: "p" };
  const context = { model: active, modelRegistry: { complete: async () => ({}) } } as unknown as PiContext;
  const named = async (config: object) => {
    using home = temporaryHome();
    home.configure(config);
    const loaded = await loadConfig(home.env, home.project);
    return namingModel(loaded, context)?.name;
  };
  const llm = { model: "tiny", baseUrl: "http://127.0.0.1:1/v1" };
  expect(await named({ modelKeys: ["x/none", "active"], llm })).toBe("p/m");
  expect(await named({ modelKeys: ["x/none"], llm })).toBe("tiny");
  expect(await named({ llm })).toBe("tiny");
  expect(await named({})).toBeUndefined();
});

test("the tools take what the model asks in either form, and name what is missing", async () => {
  using home = temporaryHome();
  const id = uuidFrom("told");
  const [question, answer] = ["which port do we keep?", "We decided to keep port 8443."];
  writePi(home, {
    id,
    rows: piLinked([
      piHeader({ id, cwd: home.project }),
      piUser({ text: question }),
      piAssistant({ text: answer }),
    ]),
  });
  const said = { answer: "8443", confidence: "low", citations: [] };
  const config = { modelKeys: ["active"], timezone: "UTC" };
  const rows = piLinked([piHeader({ cwd: home.project }), piUser({ text: "hello" })]);
  const host = await piHost(home, { rows, config, answer: async () => said });
  registerTools(host.state);
  const found = await host.call("session_search", { query: ["which port"] });
  expect(found).toContain(answer);
  const seen: string[] = [];
  for (const filters of [{ has_decision: true }, { agent: "pi" }, { topics: [] }, { has_action: false }])
    seen.push(await host.call("session_search", { query: "which port", filters, limit: 5 }));
  expect(seen.map((text) => text.includes(answer))).toEqual([true, true, true, true]);
  const none = await host.call("session_search", { query: "which port", filters: { agent: "claude" } });
  expect(none).not.toContain(answer);
  expect(none).not.toContain("Error");
  for (const session of [{ session: id }, { sessionId: id }])
    expect(await host.call("query_session", { ...session, question })).toContain('"answer": "8443"');
  expect(await host.call("query_session", { question })).toContain("Expected a session");
});

test.each([
  [{ modelKeys: ["active"] }, "- to ask more: query_session"],
  [{}, "- to read more: "],
])("with %j a reference says how to ask more", async (config, line) => {
  using home = temporaryHome();
  const id = uuidFrom("another");
  writePi(home, {
    id,
    rows: piLinked([piHeader({ id, cwd: home.project }), piUser({ text: "keep port 8443" })]),
  });
  const host = await piHost(home, { rows: piLinked([piHeader(), piUser({ text: "hello" })]), config });
  registerPrompt(host.state);
  const prompt = `and @@${id.slice(0, 8)}?`;
  expect(await host.emit("before_agent_start", { prompt })).toMatchObject({
    message: { customType: "session-reference", content: expect.stringContaining(line) },
  });
});

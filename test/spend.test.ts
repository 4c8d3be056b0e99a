import { expect, setSystemTime, test } from "bun:test";
import { join } from "node:path";
import { SessionMemoryError } from "../lib/base/errors.ts";
import {
  formatCost,
  openSpendLedger,
  pricePlan,
  readSpendToday,
  type SpendLedger,
  type Tokens,
} from "../lib/model/spend.ts";
import { temporaryHome } from "./support/home.ts";

type PlannedCall = Parameters<SpendLedger["reserve"]>[0];

const prices = { cheap: { input: 1, output: 2 } };

function home(): string {
  return temporaryHome().root;
}

function settings(dailyBudgetUsd: number) {
  return { llm: { apiKeyEnv: "K", model: "cheap", dailyBudgetUsd, timeoutMs: 1000, prices } };
}

const million = (input: number, output = 0) => ({ input: input * 1e6, output: output * 1e6 });

function planned(tokens: Tokens, feature = "meta"): PlannedCall {
  return { kind: "chat", feature, model: "cheap", tokens };
}

async function refusal(work: Promise<unknown>): Promise<SessionMemoryError> {
  const error = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(error instanceof SessionMemoryError)) throw new Error(`expected a refusal, found ${error}`);
  return error;
}

test("a settled call counts what it took, not what was estimated", async () => {
  const dir = home();
  const ledger = openSpendLedger(dir, settings(10));
  const call = await ledger.reserve(planned(million(1, 1)));
  expect(readSpendToday(dir)).toEqual({
    usd: 3,
    calls: 1,
    tokens: { input: 1e6, output: 1e6 },
  });
  expect(call.settle(million(1, 0))).toEqual({ tokens: million(1), usd: 1 });
  expect(readSpendToday(dir)).toEqual({
    usd: 1,
    calls: 1,
    tokens: { input: 1e6, output: 0 },
  });
});

test("the call that would pass the cap is refused before it is made", async () => {
  const dir = home();
  const ledger = openSpendLedger(dir, settings(1));
  (await ledger.reserve(planned(million(0.6)))).settle(million(0.6));
  const error = await refusal(ledger.reserve(planned(million(0.5), "query")));
  expect(error.type).toBe("BUDGET_EXCEEDED");
  expect(error.message).toBe(
    'Cannot call "cheap" for query: $0.6000 spent today and a call of up to $0.5000 would pass the daily budget of $1.00',
  );
  expect(error.exitCode).toBe(1);
  (await ledger.reserve(planned(million(0.4), "query"))).settle(million(0.4));
  expect(readSpendToday(dir).calls).toBe(2);
});

test("a call that was never settled stays counted at its estimate", async () => {
  const dir = home();
  await openSpendLedger(dir, settings(1)).reserve(planned(million(0.9)));
  const other = openSpendLedger(dir, settings(1));
  const error = await refusal(other.reserve(planned(million(0.2))));
  expect(error.details).toEqual({ spent: 0.9, estimate: 0.2, cap: 1 });
});

test("the day is that of UTC, wherever one is: at its midnight the budget is whole again", async () => {
  const dir = home();
  const ledger = (timezone: string) =>
    openSpendLedger(dir, { ...settings(1), timezone } as Parameters<typeof openSpendLedger>[1]);
  setSystemTime(new Date("2026-03-01T12:59:00Z")); // 23:59 in Melbourne
  (await ledger("Australia/Melbourne").reserve(planned(million(1)))).settle(million(1));
  setSystemTime(new Date("2026-03-01T23:59:00Z"));
  for (const timezone of ["Australia/Melbourne", "America/Los_Angeles", "UTC"])
    await refusal(ledger(timezone).reserve(planned(million(0.1))));
  setSystemTime(new Date("2026-03-02T00:00:00Z"));
  await ledger("Australia/Melbourne").reserve(planned(million(0.1)));
  expect(readSpendToday(dir).usd).toBeCloseTo(0.1);
  setSystemTime();
});

test("eight processes with one budget together stay under the cap", async () => {
  const dir = home();
  const script = `
    import { openSpendLedger } from ${JSON.stringify(join(import.meta.dir, "../lib/model/spend.ts"))};
    const ledger = openSpendLedger(${JSON.stringify(dir)}, ${JSON.stringify(settings(1))});
    let made = 0;
    for (let i = 0; i < 5; i++) {
      try {
        const call = await ledger.reserve({ kind: "chat", feature: "meta", model: "cheap", tokens: { input: 100000, output: 0 } });
        call.settle({ input: 100000, output: 0 });
        made++;
      } catch (error) { if (error.type !== "BUDGET_EXCEEDED") throw error; }
    }
    console.log(made);`;
  const runs = Array.from({ length: 8 }, () => Bun.spawn(["bun", "-e", script], { stdout: "pipe" }));
  const made = await Promise.all(runs.map(async (run) => Number(await new Response(run.stdout).text())));
  expect(made.reduce((sum, count) => sum + count, 0)).toBe(10);
  expect(readSpendToday(dir).usd).toBeCloseTo(1);
});

test("a model of unknown price counts as the dearest known one of its kind, and the cap holds", async () => {
  const dir = home();
  const ledger = openSpendLedger(dir, settings(0.1));
  const call = {
    kind: "chat",
    feature: "meta",
    model: "no-such-model",
    tokens: { input: 1000, output: 500 },
  };
  const first = await ledger.reserve(call as PlannedCall);
  expect(first.settle({ input: 1000, output: 100 })).toEqual({
    tokens: { input: 1000, output: 100 },
    usd: null,
  });
  expect(readSpendToday(dir)).toEqual({
    usd: 0.032,
    calls: 1,
    tokens: { input: 1000, output: 100 },
  });
  expect(first.settle({ input: 1e300, output: 1e300, usd: 1e300 }).tokens).toEqual({
    input: 1000,
    output: 500,
  });
  first.settle({ input: 1000, output: 100 });
  const error = await refusal(ledger.reserve(call as PlannedCall));
  expect([error.message, error.hint]).toEqual([
    'Cannot call "no-such-model" for meta: $0.0320 spent today and a call of up to $0.0800, counted as the dearest known model, would pass the daily budget of $0.10',
    'name its price in config.json: {"llm": {"prices": {"no-such-model": {"input": …, "output": …}}}}',
  ]);
  expect(formatCost(null, 1234)).toBe("1234 tokens, price unknown");
  expect(formatCost(0.00123, 1234)).toBe("$0.0012");
});

test("an embedder of unknown price counts as the dearest known embedder", async () => {
  const dir = home();
  const call: PlannedCall = { kind: "embedding", feature: "embed", model: "tiny-embed", tokens: million(1) };
  await openSpendLedger(dir, settings(1)).reserve(call);
  expect(readSpendToday(dir).usd).toBe(0.13);
});

const hosts: [baseUrl: string, usd: number][] = [
  ["http://127.0.0.1:11434/v1", 0],
  ["http://localhost:1234/v1", 0],
  ["http://[::1]:8080", 0],
  ["http://0.0.0.0:8000", 0],
  ["https://127.0.0.1.example.com/v1", 140],
  ["https://localhost.example.com", 140],
  ["https://models.example.com/v1", 140],
];

test.each(hosts)("a model at %s costs %p", (baseUrl, usd) => {
  const plan = (model: string) =>
    pricePlan({ settings: settings(1) }, { kind: "chat", model, baseUrl }, million(1, 1));
  expect([plan("llama").usd, plan("cheap").usd]).toEqual([usd, 3]);
  expect(plan("llama").text).toContain(
    usd === 0 ? ": about $0.0000 (" : ": counted as $140.0000, the dearest known",
  );
});

test("a dated or provider-prefixed model name has its model's list price", () => {
  const chat = (model: string) => pricePlan({ settings: {} }, { kind: "chat", model }, million(1, 1)).usd;
  expect([chat("gpt-4o-mini"), chat("openai/gpt-4o-mini-2024-07-18")]).toEqual([0.75, 0.75]);
  const small = { kind: "embedding", model: "text-embedding-3-small" } as const;
  expect(pricePlan({ settings: {} }, small, million(1)).usd).toBe(0.02);
  expect([chat("gpt-4o-mini-fast"), chat("constructor"), chat("__proto__")]).toEqual([140, 140, 140]);
});

test("a purse has a cap of its own: its calls count against it alone", async () => {
  using home = temporaryHome();
  const settings = {
    llm: {
      model: "m",
      apiKeyEnv: "",
      timeoutMs: 1,
      dailyBudgetUsd: 0.01,
      prices: { m: { input: 1, output: 1 } },
    },
  };
  const call = { kind: "chat" as const, feature: "observe", model: "m", tokens: { input: 8000, output: 0 } };
  const observer = openSpendLedger(home.paths.home, settings, "observe");
  const general = openSpendLedger(home.paths.home, settings);
  await observer.reserve(call);
  expect(observer.reserve(call)).rejects.toThrow("would pass the daily budget");
  await general.reserve(call);
  expect(general.reserve(call)).rejects.toThrow("would pass the daily budget");
  expect(readSpendToday(home.paths.home).usd).toBeCloseTo(0.016);
});

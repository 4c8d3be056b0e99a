import { expect, test } from "bun:test";
import { appendFileSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { SessionMemoryError } from "../lib/base/errors.ts";
import { formatCost, openSpendLedger, readSpendToday } from "../lib/model/spend.ts";
import { temporaryHome } from "./support/home.ts";

const prices = { cheap: { input: 1, output: 2 } };

function home(): string {
  return temporaryHome().root;
}

function settings(dailyBudgetUsd: number, timezone = "UTC") {
  return {
    llm: { apiKeyEnv: "K", model: "cheap", dailyBudgetUsd, timeoutMs: 1000, prices },
    timezone,
  };
}

const million = (input: number, output = 0) => ({ input: input * 1e6, output: output * 1e6 });

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
  const call = await ledger.reserve({ feature: "meta", model: "cheap", tokens: million(1, 1) });
  expect(readSpendToday(dir, "UTC")).toEqual({
    usd: 3,
    calls: 1,
    tokens: { input: 1e6, output: 1e6 },
    unpriced: [],
  });
  expect(call.settle(million(1, 0))).toBe(1);
  expect(readSpendToday(dir, "UTC")).toEqual({
    usd: 1,
    calls: 1,
    tokens: { input: 1e6, output: 0 },
    unpriced: [],
  });
});

test("the call that would pass the cap is refused before it is made", async () => {
  const dir = home();
  const ledger = openSpendLedger(dir, settings(1));
  (await ledger.reserve({ feature: "meta", model: "cheap", tokens: million(0.6) })).settle(million(0.6));
  const error = await refusal(ledger.reserve({ feature: "query", model: "cheap", tokens: million(0.5) }));
  expect(error.type).toBe("BUDGET_EXCEEDED");
  expect(error.message).toBe(
    'Cannot call "cheap" for query: $0.6000 spent today and a call of up to $0.5000 would pass the daily budget of $1.00',
  );
  expect(error.exitCode).toBe(1);
  (await ledger.reserve({ feature: "query", model: "cheap", tokens: million(0.4) })).settle(million(0.4));
  expect(readSpendToday(dir, "UTC").calls).toBe(2);
});

test("a call that was never settled stays counted at its estimate", async () => {
  const dir = home();
  await openSpendLedger(dir, settings(1)).reserve({ feature: "meta", model: "cheap", tokens: million(0.9) });
  const other = openSpendLedger(dir, settings(1));
  const error = await refusal(other.reserve({ feature: "meta", model: "cheap", tokens: million(0.2) }));
  expect(error.details).toEqual({ spent: 0.9, estimate: 0.2, cap: 1, day: expect.any(String) });
});

test("the day is the local day: at local midnight the budget is whole again", async () => {
  const dir = home();
  let now = new Date("2026-03-01T12:59:00Z"); // 23:59 in Melbourne
  const ledger = openSpendLedger(dir, settings(1, "Australia/Melbourne"), { now: () => now });
  (await ledger.reserve({ feature: "meta", model: "cheap", tokens: million(1) })).settle(million(1));
  await refusal(ledger.reserve({ feature: "meta", model: "cheap", tokens: million(0.1) }));
  now = new Date("2026-03-01T13:00:00Z");
  await ledger.reserve({ feature: "meta", model: "cheap", tokens: million(0.1) });
  expect(readSpendToday(dir, "Australia/Melbourne", now).usd).toBeCloseTo(0.1);
});

test("eight processes with one budget together stay under the cap", async () => {
  const dir = home();
  const script = `
    import { openSpendLedger } from ${JSON.stringify(join(import.meta.dir, "../lib/model/spend.ts"))};
    const ledger = openSpendLedger(${JSON.stringify(dir)}, ${JSON.stringify(settings(1))});
    let made = 0;
    for (let i = 0; i < 5; i++) {
      try {
        const call = await ledger.reserve({ feature: "meta", model: "cheap", tokens: { input: 100000, output: 0 } });
        call.settle({ input: 100000, output: 0 });
        made++;
      } catch (error) { if (error.type !== "BUDGET_EXCEEDED") throw error; }
    }
    console.log(made);`;
  const runs = Array.from({ length: 8 }, () => Bun.spawn(["bun", "-e", script], { stdout: "pipe" }));
  const made = await Promise.all(runs.map(async (run) => Number(await new Response(run.stdout).text())));
  expect(made.reduce((sum, count) => sum + count, 0)).toBe(10);
  expect(readSpendToday(dir, "UTC").usd).toBeCloseTo(1);
});

test("an unknown price is null, said, and not forbidden unless the budget is nothing", async () => {
  const dir = home();
  const call = await openSpendLedger(dir, settings(1)).reserve({
    feature: "meta",
    model: "local-7b",
    tokens: million(9),
  });
  expect(call.settle({ input: 1200, output: 34 })).toBeNull();
  expect(readSpendToday(dir, "UTC")).toEqual({
    usd: 0,
    calls: 1,
    tokens: { input: 1200, output: 34 },
    unpriced: ["local-7b"],
  });
  const none = openSpendLedger(home(), settings(0));
  expect(
    (await refusal(none.reserve({ feature: "meta", model: "local-7b", tokens: million(1) }))).message,
  ).toBe(
    'Cannot call "local-7b" for meta: $0.0000 spent today and a call of unknown price would pass the daily budget of $0.00',
  );
  expect(formatCost(null, 1234)).toBe("1234 tokens, price unknown");
  expect(formatCost(0.00123, 1234)).toBe("$0.0012");
});

test("a dated or provider-prefixed model name has its model's list price", () => {
  const { price } = openSpendLedger(home(), { timezone: "UTC" });
  expect(price("gpt-4o-mini", million(1, 1))).toBe(0.75);
  expect(price("openai/gpt-4o-mini-2024-07-18", million(1, 1))).toBe(0.75);
  expect(price("text-embedding-3-small", million(1))).toBe(0.02);
  expect(price("gpt-4o-mini-fast", million(1))).toBeNull();
});

test("a line torn by a full disk loses at most its own call", async () => {
  const dir = home();
  const ledger = openSpendLedger(dir, settings(10));
  await ledger.reserve({ feature: "meta", model: "cheap", tokens: million(1) });
  appendFileSync(join(dir, "spend.ndjson"), '{"id":"torn","at":"20');
  await ledger.reserve({ feature: "meta", model: "cheap", tokens: million(2) });
  await ledger.reserve({ feature: "meta", model: "cheap", tokens: million(3) });
  expect(readSpendToday(dir, "UTC").usd).toBe(6);
});

test("the ledger is for the user's eyes only and holds no text of any session", async () => {
  const dir = home();
  await openSpendLedger(dir, settings(10)).reserve({ feature: "meta", model: "cheap", tokens: million(1) });
  const file = join(dir, "spend.ndjson");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(Object.keys(JSON.parse(readFileSync(file, "utf8")))).toEqual([
    "id",
    "at",
    "day",
    "feature",
    "model",
    "inputTokens",
    "outputTokens",
    "usd",
    "open",
  ]);
});

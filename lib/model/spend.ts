/**
 * Prices model calls, records what they cost and holds the daily cap.
 *
 * A call is recorded in state.db at its estimate before it is made, in one transaction with the check, and at its real
 * price after, so that several processes together stay under the cap and a killed one leaves its call counted. The day
 * is that of UTC: no change of the timezone gives another budget.
 */

import { join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { hasContent } from "../base/files.ts";
import { numberOf, SUM_MAX } from "../base/json.ts";
import type { LlmConfig, Settings } from "../config/config.ts";
import { CALL_LIMITS } from "../config/limits.ts";
import { estimateTokens } from "../language/tokens.ts";
import { withState } from "../store/state.ts";
import type { Store } from "../store/store.ts";

/** The cap that a program's calls count against: a number a day, whatever they cost. */
const PROGRAM = "command";

type Prices = LlmConfig["prices"];
type ModelKind = "chat" | "embedding";

export interface Tokens {
  input: number;
  output: number;
}

/** The facts that decide the price of a call. */
interface PricedModel {
  kind: ModelKind;
  model: string;
  /** The URL that is called; a host on loopback costs nothing. @default {OpenAI} */
  baseUrl?: string | undefined;
  /** A program that is asked in place of a server. */
  command?: readonly string[] | undefined;
}

/** A call about to be made, with an upper bound of its tokens. */
interface PlannedCall extends PricedModel {
  /** Its purpose: `meta`, `embed`, `query` … */
  feature: string;
  tokens: Tokens;
}

/** A call recorded before it is made. */
export interface Reservation {
  /**
   * Records what the call took and returns its price; null where the price is unknown. A count that is not a number of
   * tokens, or is missing, stays at its estimate, and so does an input of 0: servers are not trusted to report usage. A
   * program may say its price.
   */
  settle(used: { [K in keyof Tokens]?: unknown } & { usd?: unknown }): { tokens: Tokens; usd: number | null };
  /** Records that the call was refused: it took nothing. */
  release(): void;
}

/** A request in the place of a call: how it is made and how its failures are told. */
interface Request<T> {
  timeoutMs: number;
  signal: AbortSignal | undefined;
  make: (within: AbortSignal) => Promise<T>;
  /** Returns whether it was refused before any work. @default {false} */
  isRefused?: (error: unknown) => boolean;
  /** Returns the error to throw, with the reason if nobody waits for an answer any more. */
  toError: (error: unknown, over?: { reason: string; kind: "timeout" | "aborted" }) => unknown;
}

/** Makes a recorded call within its time limit. One that was refused is free; one that failed on the way may be billed, and stays at its estimate. */
export async function makeCall<T>(
  reservation: Reservation,
  { timeoutMs, signal, make, isRefused, toError }: Request<T>,
): Promise<T> {
  // A timer that is stopped: Deno does not end before the time of an AbortSignal.timeout that somebody listens to.
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), timeoutMs);
  const within = signal ? AbortSignal.any([limit.signal, signal]) : limit.signal;
  // whoever is asked may ignore the signal
  const { promise: over, reject } = Promise.withResolvers<never>();
  within.addEventListener("abort", () => reject(within.reason), { once: true });
  try {
    within.throwIfAborted();
    return await Promise.race([make(within), over]);
  } catch (error) {
    if (isRefused?.(error)) reservation.release();
    if (limit.signal.aborted)
      throw toError(error, { reason: `no answer within ${timeoutMs / 1000} s`, kind: "timeout" });
    throw toError(error, signal?.aborted ? { reason: "the call was cancelled", kind: "aborted" } : undefined);
  } finally {
    clearTimeout(timer);
  }
}

/** Records paid calls, and refuses those beyond the cap. */
export interface SpendLedger {
  /**
   * Records a call at its estimate.
   *
   * @throws {SessionMemoryError} `BUDGET_EXCEEDED` when the day's calls and this one would cost more than the cap.
   */
  reserve(call: PlannedCall): Promise<Reservation>;
}

/** Opens the ledger of a state folder under the cap and the prices of config.json. The calls of a `purse` count against it alone. */
export function openSpendLedger(home: string, { llm }: Pick<Settings, "llm">, purse?: string): SpendLedger {
  return {
    async reserve(call) {
      const { feature, model, tokens } = call;
      const [id, at] = [crypto.randomUUID(), new Date().toISOString()];
      const day = dayAt(at);
      const calls = call.kind === "chat" && purse === undefined ? llm?.dailyCalls : undefined;
      const counted = calls === undefined ? (purse ?? "") : PROGRAM;
      const estimate = findPrice(call, tokens, llm?.prices);
      withSpend(home, (store) =>
        store.transaction(() => {
          const spent = readDay(store, day, counted);
          const cap = (llm ?? CALL_LIMITS).dailyBudgetUsd;
          if (calls !== undefined) refuseOverCalls(call, calls, spent.calls);
          else refuseOverCap(call, { estimate, cap, spent: spent.usd, purse: purse ?? "llm" });
          const row = [id, at, day, feature, model, tokens.input, tokens.output, estimate.usd, counted];
          store.run("INSERT INTO spend VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", ...row);
        }),
      );
      return reserved(call, id, { home, prices: llm?.prices });
    },
  };
}

/** Returns the reservation of a recorded call. */
function reserved(
  call: PlannedCall,
  id: string,
  { home, prices }: { home: string; prices: Prices | undefined },
): Reservation {
  const record = ({ input, output }: Tokens, usd: number) => {
    try {
      const update = "UPDATE spend SET input_tokens = ?, output_tokens = ?, usd = ? WHERE id = ?";
      withSpend(home, (db) => db.run(update, input, output, usd, id));
    } catch {
      // a full disk must not lose an answer that is paid: the call stays counted at its estimate
    }
  };
  return {
    settle(used) {
      const input = toCount(used.input) || call.tokens.input;
      const output = toCount(used.output) ?? call.tokens.output;
      const { usd: priced, isKnown } = findPrice(call, { input, output }, prices);
      const usd = toCount(used.usd) ?? priced;
      record({ input, output }, usd);
      return { tokens: { input, output }, usd: isKnown ? usd : null };
    },
    release: () => record({ input: 0, output: 0 }, 0),
  };
}

/** The spend of a day. */
interface Spent {
  usd: number;
  calls: number;
  tokens: Tokens;
}

/** Returns what was spent on the current day. */
export function readSpendToday(home: string, now: Date = new Date()): Spent {
  if (!hasContent(stateIn(home))) return { usd: 0, calls: 0, tokens: { input: 0, output: 0 } };
  return withSpend(home, (store) => readDay(store, dayAt(now.toISOString())));
}

/** `$0.0012`, or the tokens where the price is unknown. */
export function formatCost(usd: number | null, tokens: number): string {
  return usd === null ? `${tokens} tokens, price unknown` : `$${usd.toFixed(4)}`;
}

/** Returns the host that would receive the tokens, and the price at which such a call is recorded. */
export function pricePlan(
  { settings }: { settings: Pick<Settings, "llm"> },
  model: PricedModel,
  { input, output }: Tokens,
): { host: string; tokens: number; usd: number; text: string } {
  const { command, baseUrl = "https://api.openai.com" } = model;
  const host = command ? `the program ${command[0]}` : new URL(baseUrl).host;
  const { usd, isKnown } = findPrice(model, { input, output }, settings.llm?.prices);
  const price = isKnown
    ? `about $${usd.toFixed(4)}`
    : `counted as $${usd.toFixed(4)}, the dearest known model's price, its own being unknown`;
  const tokens = input + output;
  return { host, tokens, usd, text: `${host}: ${price} (at most ${tokens} tokens)` };
}

function refuseOverCap(
  { model, feature }: PlannedCall,
  { estimate, cap, spent, purse }: { estimate: Price; cap: number; spent: number; purse: string },
): void {
  const { usd, isKnown } = estimate;
  if (usd === 0 || (spent < cap && spent + usd <= cap)) return;
  const basis = isKnown ? "" : ", counted as the dearest known model,";
  const message = `$${spent.toFixed(4)} spent today and a call of up to $${usd.toFixed(4)}${basis} would pass the daily budget of $${cap.toFixed(2)}`;
  throw new SessionMemoryError("BUDGET_EXCEEDED", `Cannot call "${model}" for ${feature}: ${message}`, {
    details: { spent, estimate: usd, cap },
    recoverable: true,
    hint: isKnown
      ? `wait until tomorrow, or raise ${purse}.dailyBudgetUsd in config.json`
      : `name its price in config.json: {"llm": {"prices": {"${model}": {"input": …, "output": …}}}}`,
  });
}

function refuseOverCalls({ model, feature }: PlannedCall, cap: number, calls: number): void {
  if (calls < cap) return;
  const message = `Cannot call "${model}" for ${feature}: ${calls} calls today are the most that llm.dailyCalls allows`;
  const hint = "wait until tomorrow, or raise llm.dailyCalls in config.json";
  throw new SessionMemoryError("BUDGET_EXCEEDED", message, { recoverable: true, hint });
}

/** Returns what was spent on a day, by one purse if one is named. */
function readDay(db: Store, day: string, purse?: string): Spent {
  const sums = "COUNT(*) AS calls, TOTAL(usd) AS usd, TOTAL(input_tokens) AS i, TOTAL(output_tokens) AS o";
  const { usd, calls, i, o } =
    db.get(`SELECT ${sums} FROM spend WHERE day = ? AND purse = COALESCE(?, purse)`, day, purse ?? null) ??
    {};
  return { usd: Number(usd), calls: Number(calls), tokens: { input: Number(i), output: Number(o) } };
}

function withSpend<T>(home: string, work: (store: Store) => T): T {
  return withState({ state: stateIn(home) }, work);
}

function stateIn(home: string): string {
  return join(home, "state.db");
}

/** Returns the value if it is a number of tokens or dollars that a call can take. */
export function toCount(value: unknown): number | undefined {
  const number = numberOf(value);
  return number !== undefined && number >= 0 && number <= SUM_MAX ? number : undefined;
}

function dayAt(iso: string): string {
  return iso.slice(0, 10);
}

/**
 * List prices of well-known models, for when config.json names none: the standard tier of https://openai.com/api/pricing
 * without cache discounts, compared in November 2026 with three public price lists that agree. The models ending in
 * `-pro` answer another API than ours; they are listed as the dearest that a proxy may offer. `llm.prices` in
 * config.json corrects what has changed since.
 */
const LIST_PRICES: Record<ModelKind, Record<string, readonly [input: number, output: number]>> = {
  embedding: {
    "text-embedding-3-small": [0.02, 0],
    "text-embedding-3-large": [0.13, 0],
    "text-embedding-ada-002": [0.1, 0],
  },
  chat: {
    "gpt-4o": [2.5, 10],
    "gpt-4o-mini": [0.15, 0.6],
    "gpt-4.1": [2, 8],
    "gpt-4.1-mini": [0.4, 1.6],
    "gpt-4.1-nano": [0.1, 0.4],
    "o4-mini": [1.1, 4.4],
    o3: [2, 8],
    "o3-pro": [20, 80],
    "gpt-5": [1.25, 10],
    "gpt-5-mini": [0.25, 2],
    "gpt-5-nano": [0.05, 0.4],
    "gpt-5-pro": [15, 120],
    "gpt-5.1": [1.25, 10],
    "gpt-5.2": [1.75, 14],
    "gpt-5.4": [2.5, 15],
    "gpt-5.4-mini": [0.75, 4.5],
    "gpt-5.4-nano": [0.2, 1.25],
    "gpt-5.5": [5, 30],
  },
};

interface Price {
  usd: number;
  /** False when the model's price is unknown and `usd` is that of the dearest known model of its kind. */
  isKnown: boolean;
}

/** Returns the price of a call; `usd` is never NaN or negative. */
function findPrice(model: PricedModel, tokens: Tokens, configured: Prices = {}): Price {
  const known = knownRate(model, configured);
  const rate = known ?? dearest(model.kind);
  return { usd: (tokens.input * rate.input + tokens.output * rate.output) / 1_000_000, isKnown: !!known };
}

/** Returns more tokens than a text has in any usual tokenizer. */
export function tokenUpperBound(text: string): number {
  // The estimate is within 30 %; a rare character beyond ASCII may be as many tokens as it has bytes.
  return Math.ceil(1.3 * estimateTokens(text) + (Buffer.byteLength(text) - text.length) / 2);
}

/** Finds a model's price; a dated or prefixed name (`openai/gpt-4o-mini-2024-07-18`) has the price of its model. */
function knownRate({ kind, model, baseUrl }: PricedModel, configured: Prices): Tokens | undefined {
  const bare = model.replace(/^.*\//, "");
  const own = [model, bare].find((name) => Object.hasOwn(configured, name));
  if (own !== undefined) return configured[own];
  if (baseUrl !== undefined && isLoopback(baseUrl)) return { input: 0, output: 0 };
  const names = [bare, bare.replace(/-\d{4}-\d{2}-\d{2}$/, "")];
  const listed = names.find((name) => Object.hasOwn(LIST_PRICES[kind], name));
  const [input = 0, output = 0] = LIST_PRICES[kind][listed ?? ""] ?? [];
  return listed === undefined ? undefined : { input, output };
}

function dearest(kind: ModelKind): Tokens {
  const rates = Object.values(LIST_PRICES[kind]);
  return {
    input: Math.max(...rates.map(([input]) => input)),
    output: Math.max(...rates.map(([, output]) => output)),
  };
}

function isLoopback(baseUrl: string): boolean {
  if (!URL.canParse(baseUrl)) return false;
  const { hostname } = new URL(baseUrl);
  return /^(?:(?:.*\.)?localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1\])$/.test(hostname);
}

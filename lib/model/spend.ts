/**
 * Records what paid model calls cost and holds the daily cap.
 *
 * A call is recorded in state.db at its estimate before it is made, in one transaction with the check, and at its real
 * price after, so that several processes together stay under the cap and a killed one leaves its call counted. The day
 * is the local day.
 */

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { numberOf } from "../base/json.ts";
import { formatLocal } from "../base/time.ts";
import type { Config, Settings } from "../config/config.ts";
import type { Row as SqlRow } from "../store/sqlite.ts";
import { withState } from "../store/state.ts";
import type { Store } from "../store/store.ts";
import { type Price, type PricedModel, priceOf, type Tokens } from "./prices.ts";

const DEFAULT_BUDGET_USD = 1;

/** A call about to be made, with an upper bound of its tokens. */
export interface PlannedCall extends PricedModel {
  /** Its purpose: `meta`, `embed`, `query` … */
  feature: string;
  tokens: Tokens;
}

/** A call recorded before it is made. */
export interface Reservation {
  /**
   * Records what the call took and returns its price; null where the price is unknown. A count that is no number of
   * tokens, or is missing, stays at its estimate: servers are not trusted to report usage. A program may say its price.
   */
  settle(used: { [K in keyof Tokens]?: unknown } & { usd?: unknown }): { tokens: Tokens; usd: number | null };
}

/** Records paid calls, and refuses those beyond the cap. */
export interface SpendLedger {
  /**
   * Records a call at its estimate.
   *
   * @throws {SessionMemoryError} `BUDGET_EXCEEDED` when the day's calls and this one would cost more than the cap.
   */
  reserve(call: PlannedCall): Promise<Reservation>;
  /** Returns the price at which a call would be recorded. */
  price(model: PricedModel, tokens: Tokens): Price;
}

interface SpendToday {
  usd: number;
  calls: number;
  tokens: Tokens;
  /** Models called today whose price is unknown; in `usd` they count as the dearest known model of their kind. */
  unpriced: string[];
}

/** One call. */
interface Row {
  id: string;
  at: string;
  day: string;
  feature: string;
  model: string;
  inputTokens: number;
  outputTokens: number;
  usd: number;
  /** The price is unknown: `usd` is that of the dearest known model. */
  unpriced?: true;
  /** Not yet, or never, answered: counted at its estimate. */
  open?: true;
  /** Whose cap it counts against, where that is not the general one. */
  purse?: string;
}

interface LedgerOptions {
  /** Calls with a cap of their own: they count against it alone. @default {the general cap} */
  purse?: string | undefined;
  /** @default {the clock} */
  now?: () => Date;
}

/** Opens the ledger of a state folder under the cap and the prices of config.json. */
export function openSpendLedger(
  home: string,
  settings: Pick<Settings, "llm" | "timezone">,
  { now = () => new Date(), purse }: LedgerOptions = {},
): SpendLedger {
  const cap = settings.llm?.dailyBudgetUsd ?? DEFAULT_BUDGET_USD;
  const price = (model: PricedModel, tokens: Tokens) => priceOf(model, tokens, settings.llm?.prices ?? {});

  async function reserve(call: PlannedCall): Promise<Reservation> {
    const at = now();
    // a program's calls are counted, and against a cap of their own
    const calls = call.kind === "chat" && purse === undefined ? settings.llm?.dailyCalls : undefined;
    const estimate = price(call, call.tokens);
    const row: Row = {
      id: randomBytes(8).toString("hex"),
      at: at.toISOString(),
      day: localDay(at, settings.timezone),
      feature: call.feature,
      model: call.model,
      inputTokens: call.tokens.input,
      outputTokens: call.tokens.output,
      usd: estimate.usd,
      ...(estimate.isKnown ? {} : { unpriced: true }),
      ...(calls === undefined ? purse && { purse } : { purse: "command" }),
      open: true,
    };
    withSpend(home, (store) =>
      store.db.transaction(() => {
        const spent = readDay(store, row.day, row.purse ?? "");
        if (calls === undefined) refuseOverCap(row, cap, spent.usd);
        else refuseOverCalls(row, calls, spent.calls);
        write(store, row);
      }),
    );
    return {
      settle(used) {
        const tokens = {
          input: countOf(used.input) ?? call.tokens.input,
          output: countOf(used.output) ?? call.tokens.output,
        };
        const { usd: priced, isKnown } = price(call, tokens);
        const usd = countOf(used.usd) ?? priced;
        const { open: _, ...settled } = row;
        try {
          withSpend(home, (store) =>
            write(store, { ...settled, inputTokens: tokens.input, outputTokens: tokens.output, usd }),
          );
        } catch {
          // a full disk must not lose an answer that is paid: the call stays counted at its estimate
        }
        return { tokens, usd: isKnown ? usd : null };
      },
    };
  }

  return { reserve, price };
}

/** Returns what was spent on the current local day. */
export function readSpendToday(home: string, timezone: string, now: Date = new Date()): SpendToday {
  const day = localDay(now, timezone);
  if (!existsSync(stateIn(home))) return summed([]);
  return withSpend(home, (store) => readDay(store, day));
}

/** `$0.0012`, or the tokens where the price is unknown. */
export function formatCost(usd: number | null, tokens: number): string {
  return usd === null ? `${tokens} tokens, price unknown` : `$${usd.toFixed(4)}`;
}

/** `about $0.0012`, or what it counts as where the price is unknown. */
function formatPrice({ usd, isKnown }: Price): string {
  return isKnown
    ? `about $${usd.toFixed(4)}`
    : `counted as $${usd.toFixed(4)}, the dearest known model's price, its own being unknown`;
}

/** Returns the host that would receive so many tokens, and the price at which such a call is recorded. */
export function pricePlan(
  { paths, settings }: Pick<Config, "paths" | "settings">,
  model: PricedModel,
  { input, output }: Tokens,
): { host: string; tokens: number; usd: number; text: string } {
  const { command } = model;
  const host = command
    ? `the program ${command[0]}`
    : new URL(model.baseUrl ?? "https://api.openai.com").host;
  const price = openSpendLedger(paths.home, settings).price(model, { input, output });
  const tokens = input + output;
  return { host, tokens, usd: price.usd, text: `${host}: ${formatPrice(price)} (at most ${tokens} tokens)` };
}

function refuseOverCap({ usd, unpriced, ...row }: Row, cap: number, spent: number): void {
  if (usd === 0 || (spent < cap && spent + usd <= cap)) return;
  const basis = unpriced ? ", counted as the dearest known model," : "";
  throw new SessionMemoryError(
    "BUDGET_EXCEEDED",
    `Cannot call "${row.model}" for ${row.feature}: $${spent.toFixed(4)} spent today and a call of up to $${usd.toFixed(4)}${basis} would pass the daily budget of $${cap.toFixed(2)}`,
    {
      details: { spent, estimate: usd, cap, day: row.day },
      recoverable: true,
      hint: unpriced
        ? `name its price in config.json: {"llm": {"prices": {"${row.model}": {"input": …, "output": …}}}}`
        : `wait until tomorrow, or raise ${row.purse ?? "llm"}.dailyBudgetUsd in config.json`,
    },
  );
}

function refuseOverCalls({ model, feature }: Row, cap: number, calls: number): void {
  if (calls < cap) return;
  throw new SessionMemoryError(
    "BUDGET_EXCEEDED",
    `Cannot call "${model}" for ${feature}: ${calls} calls today are the most that llm.dailyCalls allows`,
    {
      details: { calls, cap },
      recoverable: true,
      hint: "wait until tomorrow, or raise llm.dailyCalls in config.json",
    },
  );
}

/** Returns what was spent on a day, by one purse where it is given. */
function readDay({ db }: Store, day: string, purse?: string): SpendToday {
  const rows = db.prepare("SELECT * FROM spend WHERE day = ? ORDER BY at").all(day);
  return summed(purse === undefined ? rows : rows.filter((row) => row.purse === purse));
}

function summed(rows: readonly SqlRow[]): SpendToday {
  const today: SpendToday = { usd: 0, calls: 0, tokens: { input: 0, output: 0 }, unpriced: [] };
  for (const row of rows) {
    const model = String(row.model);
    today.calls++;
    today.usd += Number(row.usd);
    today.tokens.input += Number(row.input_tokens);
    today.tokens.output += Number(row.output_tokens);
    if (row.is_unpriced === 1 && !today.unpriced.includes(model)) today.unpriced.push(model);
  }
  return today;
}

function withSpend<T>(home: string, work: (store: Store) => T): T {
  return withState({ state: stateIn(home) }, work);
}

function stateIn(home: string): string {
  return join(home, "state.db");
}

function write({ db }: Store, row: Row): void {
  const { id, at, day, feature, model, inputTokens, outputTokens, usd, unpriced, open, purse } = row;
  db.prepare(`INSERT OR REPLACE INTO spend VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`).run(
    ...[
      id,
      at,
      day,
      feature,
      model,
      inputTokens,
      outputTokens,
      usd,
      unpriced ? 1 : 0,
      open ? 1 : 0,
      purse ?? "",
    ],
  );
}

/** Returns the value if it is a non-negative number. */
function countOf(value: unknown): number | undefined {
  const number = numberOf(value);
  return number !== undefined && number >= 0 ? number : undefined;
}

function localDay(date: Date, timezone: string): string {
  return formatLocal(date.toISOString(), timezone).slice(0, 10);
}

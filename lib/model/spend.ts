/**
 * What paid model calls cost, call by call, and the hard daily cap.
 *
 * A call is written down at its estimate before it is made and at its real price after, under a lock, so that several
 * processes together stay under the cap and a killed one leaves its call counted. The day is the local day.
 */

import { randomBytes } from "node:crypto";
import { appendFileSync, closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { hasCode, SessionMemoryError } from "../base/errors.ts";
import { withLock } from "../base/files.ts";
import { formatLocal } from "../base/time.ts";
import type { LlmConfig, Settings } from "../config/config.ts";

const FILE = "spend.ndjson";
const LOCK_WAIT_MS = 10_000;
const DEFAULT_BUDGET_USD = 1;

type Prices = LlmConfig["prices"];

/**
 * List prices of well-known models, USD per million tokens, for when config.json names none.
 *
 * Source: https://openai.com/api/pricing (standard tier, no cache discount), as of November 2026. A price that has
 * changed since is corrected by `llm.prices` in config.json.
 */
const LIST_PRICES: Prices = {
  "text-embedding-3-small": { input: 0.02, output: 0 },
  "text-embedding-3-large": { input: 0.13, output: 0 },
  "text-embedding-ada-002": { input: 0.1, output: 0 },
  "gpt-4o": { input: 2.5, output: 10 },
  "gpt-4o-mini": { input: 0.15, output: 0.6 },
  "gpt-4.1": { input: 2, output: 8 },
  "gpt-4.1-mini": { input: 0.4, output: 1.6 },
  "gpt-4.1-nano": { input: 0.1, output: 0.4 },
  "gpt-5": { input: 1.25, output: 10 },
  "gpt-5-mini": { input: 0.25, output: 2 },
  "gpt-5-nano": { input: 0.05, output: 0.4 },
  "gpt-5.4": { input: 2.5, output: 15 },
  "gpt-5.4-mini": { input: 0.75, output: 4.5 },
  "gpt-5.4-nano": { input: 0.2, output: 1.25 },
};

export interface Tokens {
  input: number;
  output: number;
}

/** A call about to be made, with the most it can take. */
export interface PlannedCall {
  /** What it is for: `meta`, `embed`, `query` … */
  feature: string;
  model: string;
  tokens: Tokens;
}

/** A call written down before it is made. */
export interface Reservation {
  /** Writes what the call really took and returns its price; null where the price is unknown. */
  settle(tokens: Tokens): number | null;
}

/** Where paid calls are written down and refused. */
export interface SpendLedger {
  /**
   * Writes a call down at its estimate.
   *
   * @throws {SessionMemoryError} `BUDGET_EXCEEDED` when the day's calls and this one would cost more than the cap.
   */
  reserve(call: PlannedCall): Promise<Reservation>;
  /** The price of a call, null where it is unknown. */
  price(model: string, tokens: Tokens): number | null;
}

export interface SpendToday {
  usd: number;
  calls: number;
  tokens: Tokens;
  /** Models called today whose price is unknown: not in `usd`. */
  unpriced: string[];
}

/** One line of the ledger. The last line with an id stands for the call. */
interface Row {
  id: string;
  at: string;
  day: string;
  feature: string;
  model: string;
  inputTokens: number;
  outputTokens: number;
  usd: number | null;
  /** Not yet, or never, answered: counted at its estimate. */
  open?: true;
}

interface LedgerOptions {
  /** @default {the clock} */
  now?: () => Date;
}

/** Opens the ledger of a state folder under the cap and the prices of config.json. */
export function openSpendLedger(
  home: string,
  settings: Pick<Settings, "llm" | "timezone">,
  { now = () => new Date() }: LedgerOptions = {},
): SpendLedger {
  const file = join(home, FILE);
  const cap = settings.llm?.dailyBudgetUsd ?? DEFAULT_BUDGET_USD;
  const read = rowReader(file);
  const price = (model: string, tokens: Tokens) => callPrice(model, tokens, settings.llm?.prices ?? {});

  async function reserve(call: PlannedCall): Promise<Reservation> {
    const at = now();
    const row: Row = {
      id: randomBytes(8).toString("hex"),
      at: at.toISOString(),
      day: localDay(at, settings.timezone),
      feature: call.feature,
      model: call.model,
      inputTokens: call.tokens.input,
      outputTokens: call.tokens.output,
      usd: price(call.model, call.tokens),
      open: true,
    };
    await withLock(`${file}.lock`, LOCK_WAIT_MS, () => {
      refuseOverCap(row, cap, sum(read(), row.day).usd);
      append(file, row);
    });
    return {
      settle(tokens) {
        const { open: _, ...settled } = row;
        const usd = price(call.model, tokens);
        try {
          append(file, { ...settled, inputTokens: tokens.input, outputTokens: tokens.output, usd });
        } catch {
          // a full disk must not lose an answer that is paid: the call stays counted at its estimate
        }
        return usd;
      },
    };
  }

  return { reserve, price };
}

/** What was spent on the current local day. */
export function readSpendToday(home: string, timezone: string, now: Date = new Date()): SpendToday {
  return sum(rowReader(join(home, FILE))(), localDay(now, timezone));
}

/** `$0.0012`, or the tokens where the price is unknown. */
export function formatCost(usd: number | null, tokens: number): string {
  return usd === null ? `${tokens} tokens, price unknown` : `$${usd.toFixed(4)}`;
}

function refuseOverCap(row: Row, cap: number, spent: number): void {
  const over = row.usd === null ? cap === 0 : row.usd > 0 && (spent >= cap || spent + row.usd > cap);
  if (!over) return;
  const cost = row.usd === null ? "a call of unknown price" : `a call of up to $${row.usd.toFixed(4)}`;
  throw new SessionMemoryError(
    "BUDGET_EXCEEDED",
    `Cannot call "${row.model}" for ${row.feature}: $${spent.toFixed(4)} spent today and ${cost} would pass the daily budget of $${cap.toFixed(2)}`,
    {
      details: { spent, estimate: row.usd, cap, day: row.day },
      recoverable: true,
      hint: "wait until tomorrow, or raise llm.dailyBudgetUsd in config.json",
    },
  );
}

/** A dated or prefixed name (`openai/gpt-4o-mini-2024-07-18`) has the price of its model. */
function callPrice(model: string, tokens: Tokens, configured: Prices): number | null {
  const bare = model.replace(/^.*\//, "");
  const undated = bare.replace(/-\d{4}-\d{2}-\d{2}$/, "");
  const own = configured[model] ?? configured[bare];
  const rate = own ?? LIST_PRICES[bare] ?? LIST_PRICES[undated];
  if (!rate) return null;
  return (tokens.input * rate.input + tokens.output * rate.output) / 1_000_000;
}

function sum(rows: Iterable<Row>, day: string): SpendToday {
  const today: SpendToday = { usd: 0, calls: 0, tokens: { input: 0, output: 0 }, unpriced: [] };
  for (const row of rows) {
    if (row.day !== day) continue;
    today.calls++;
    today.usd += row.usd ?? 0;
    today.tokens.input += row.inputTokens;
    today.tokens.output += row.outputTokens;
    if (row.usd === null && !today.unpriced.includes(row.model)) today.unpriced.push(row.model);
  }
  return today;
}

/** Reads the ledger on from where it last stopped, so that a thousand calls of one run do not read it a thousand times. */
function rowReader(file: string): () => Iterable<Row> {
  const rows = new Map<string, Row>();
  let offset = 0;
  return () => {
    const text = readFrom(file, offset);
    // A line that another process is still writing is read next time.
    const whole = text.subarray(0, text.lastIndexOf(0x0a) + 1);
    offset += whole.length;
    for (const line of whole.toString("utf8").split("\n")) {
      const row = parseRow(line);
      if (row) rows.set(row.id, row);
    }
    return rows.values();
  };
}

function parseRow(line: string): Row | undefined {
  if (line === "") return undefined;
  try {
    // A line torn by a full disk has the next one fused to it.
    const row = JSON.parse(line.slice(Math.max(0, line.lastIndexOf('{"id":')))) as Row;
    return typeof row.id === "string" && typeof row.day === "string" ? row : undefined;
  } catch {
    return undefined; // torn: it was refused or its answer never came
  }
}

function readFrom(file: string, offset: number): Buffer {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return Buffer.alloc(0);
    throw error;
  }
  try {
    const buffer = Buffer.alloc(Math.max(0, fstatSync(descriptor).size - offset));
    let filled = 0;
    while (filled < buffer.length) {
      const read = readSync(descriptor, buffer, filled, buffer.length - filled, offset + filled);
      if (read === 0) break;
      filled += read;
    }
    return buffer.subarray(0, filled);
  } finally {
    closeSync(descriptor);
  }
}

/** One write per line: appends of several processes do not mix. */
function append(file: string, row: Row): void {
  appendFileSync(file, `${JSON.stringify(row)}\n`, { mode: 0o600 });
}

function localDay(date: Date, timezone: string): string {
  return formatLocal(date.toISOString(), timezone).slice(0, 10);
}

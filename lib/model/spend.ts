/**
 * Records what paid model calls cost and holds the daily cap.
 *
 * A call is recorded at its estimate before it is made and at its real price after, under a lock, so that several
 * processes together stay under the cap and a killed one leaves its call counted. The day is the local day.
 */

import { randomBytes } from "node:crypto";
import { appendFileSync, closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { hasCode, SessionMemoryError } from "../base/errors.ts";
import { type JsonRecord, numberOf, recordOf, stringOf } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import { formatLocal } from "../base/time.ts";
import type { Settings } from "../config/config.ts";
import { type Price, type PricedModel, priceOf, type Tokens } from "./prices.ts";

const FILE = "spend.ndjson";
const LOCK_WAIT_MS = 10_000;
const DEFAULT_BUDGET_USD = 1;

/** A call about to be made, with the most it can take. */
export interface PlannedCall extends PricedModel {
  /** What it is for: `meta`, `embed`, `query` … */
  feature: string;
  tokens: Tokens;
}

/** A call written down before it is made. */
export interface Reservation {
  /**
   * Records what the call took and returns its price; null where the price is unknown. A count that is no number of
   * tokens, or is missing, stays at its estimate: servers are not trusted to report usage.
   */
  settle(used: { [K in keyof Tokens]?: unknown }): { tokens: Tokens; usd: number | null };
}

/** Where paid calls are written down and refused. */
export interface SpendLedger {
  /**
   * Writes a call down at its estimate.
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

/** One line of the ledger. The last line with an id stands for the call. */
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
  const price = (model: PricedModel, tokens: Tokens) => priceOf(model, tokens, settings.llm?.prices ?? {});

  async function reserve(call: PlannedCall): Promise<Reservation> {
    const at = now();
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
      open: true,
    };
    await withLock(`${file}.lock`, LOCK_WAIT_MS, () => {
      refuseOverCap(row, cap, sum(read(), row.day).usd);
      append(file, row);
    });
    return {
      settle(used) {
        const tokens = {
          input: countOf(used.input) ?? call.tokens.input,
          output: countOf(used.output) ?? call.tokens.output,
        };
        const { usd, isKnown } = price(call, tokens);
        const { open: _, ...settled } = row;
        try {
          append(file, { ...settled, inputTokens: tokens.input, outputTokens: tokens.output, usd });
        } catch {
          // a full disk must not lose an answer that is paid: the call stays counted at its estimate
        }
        return { tokens, usd: isKnown ? usd : null };
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

/** `about $0.0012`, or what it counts as where the price is unknown. */
export function formatPrice({ usd, isKnown }: Price): string {
  return isKnown
    ? `about $${usd.toFixed(4)}`
    : `counted as $${usd.toFixed(4)}, the dearest known model's price, its own being unknown`;
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
        : "wait until tomorrow, or raise llm.dailyBudgetUsd in config.json",
    },
  );
}

function sum(rows: Iterable<Row>, day: string): SpendToday {
  const today: SpendToday = { usd: 0, calls: 0, tokens: { input: 0, output: 0 }, unpriced: [] };
  for (const row of rows) {
    if (row.day !== day) continue;
    today.calls++;
    today.usd += row.usd;
    today.tokens.input += row.inputTokens;
    today.tokens.output += row.outputTokens;
    if (row.unpriced && !today.unpriced.includes(row.model)) today.unpriced.push(row.model);
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
    return readRow(recordOf(JSON.parse(line.slice(Math.max(0, line.lastIndexOf('{"id":'))))));
  } catch {
    return undefined; // torn: it was refused or its answer never came
  }
}

/** Anything may have been written into the file by hand: what is no amount counts as its tokens at the dearest price. */
function readRow({ id, day, ...fields }: JsonRecord): Row | undefined {
  if (typeof id !== "string" || typeof day !== "string") return undefined;
  const model = stringOf(fields.model) ?? "unknown";
  const feature = stringOf(fields.feature) ?? "unknown";
  const [inputTokens, outputTokens] = [countOf(fields.inputTokens) ?? 0, countOf(fields.outputTokens) ?? 0];
  const written = countOf(typeof fields.usd === "string" ? Number(fields.usd || Number.NaN) : fields.usd);
  const kind = feature === "embed" ? "embedding" : "chat";
  const price = priceOf({ kind, model }, { input: inputTokens, output: outputTokens }, {});
  const isUnpriced = fields.unpriced === true || (written === undefined && !price.isKnown);
  return {
    id,
    day,
    at: stringOf(fields.at) ?? "",
    feature,
    model,
    inputTokens,
    outputTokens,
    usd: written ?? price.usd,
    ...(isUnpriced ? { unpriced: true } : {}),
  };
}

/** The value if it is an amount of something. */
function countOf(value: unknown): number | undefined {
  const number = numberOf(value);
  return number !== undefined && number >= 0 ? number : undefined;
}

function readFrom(file: string, offset: number): Buffer {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return Buffer.alloc(0);
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

/** Measures how much of a conversation is not observed yet, and cuts the next piece to observe. */

import { estimateTokens } from "../language/tokens.ts";
import type { Entry } from "../transcripts/session.ts";
import type { Draft, Memory } from "./observations.ts";

/** Characters kept of a tool result, as in pi's own summaries. */
export const RESULT_CHARS = 2000;
/** One line of a tool call. */
const TOOL_CHARS = 300;
/** Share of a shortened text that its beginning gets. */
const HEAD_SHARE = 0.7;
/** Context that a host reports beyond this multiple of the estimate is not the conversation's. */
const CALIBRATION_MAX = 3;

/** A piece of new conversation, oldest first. */
export interface Step {
  entries: Entry[];
  /** One `[line] (time) Speaker: …` paragraph per message. */
  text: string;
  tokens: number;
  /** The lines a model may cite. */
  lines: Set<number>;
}

/** Notes on a step, by rule or by a model, before they become a record. */
export interface StepNotes {
  drafts: Draft[];
  /** Those of `drafts` that are requests and were settled within the same step. */
  settled: ReadonlySet<Draft>;
  /** Ids of earlier requests that were settled. */
  closes: string[];
}

interface StepOptions {
  maxTokens: number;
  redact: (text: string) => string;
}

/** Returns the entries of the conversation that no record covers. */
export function uncovered(entries: readonly Entry[], memory: Pick<Memory, "covered">): Entry[] {
  return entries.filter(({ line }) => !memory.covered.has(line));
}

/**
 * Returns the tokens that entries take in the model's context, tool results included: as the host reported them, else an
 * estimate, scaled by how far the reports exceeded it.
 */
export function rawTokens(entries: readonly Entry[]): number {
  let total = 0;
  let pending = 0;
  let reported = 0;
  let estimated = 0;
  let before: number | undefined;
  for (const entry of entries) {
    pending += estimateTokens(entry.text) + 4;
    if (entry.contextTokens === undefined) continue;
    const grown = before === undefined ? 0 : entry.contextTokens - before;
    // After a compaction the context is smaller than before it: that says nothing of these rows.
    const isPlausible = grown > 0 && grown <= pending * CALIBRATION_MAX + 2000;
    if (isPlausible) {
      reported += grown;
      estimated += pending;
    }
    total += isPlausible ? grown : pending;
    before = entry.contextTokens;
    pending = 0;
  }
  const scale = estimated > 0 ? Math.max(1, reported / estimated) : 1;
  return Math.round(total + pending * scale);
}

/** Returns the entries from a place on that make up `tokens`, by the estimate. */
export function windowOf(entries: readonly Entry[], from: number, tokens: number): Entry[] {
  let to = from;
  for (let sum = 0; to < entries.length && sum < tokens; to++) sum += rawTokens(entries.slice(to, to + 1));
  return entries.slice(from, to);
}

/** Returns the newest entries that make up `tokens`, and those before them. A message and its calls stay together. */
export function splitTail(entries: readonly Entry[], tokens: number): { older: Entry[]; tail: Entry[] } {
  let at = entries.length;
  for (let sum = 0; at > 0 && sum < tokens; at--) {
    sum += rawTokens([entries[at - 1] as Entry]);
  }
  while (at > 0 && at < entries.length && entries[at]?.line === entries[at - 1]?.line) at--;
  return { older: entries.slice(0, at), tail: entries.slice(at) };
}

/** Returns the first piece of `entries` that fits, ending before a user message where that costs less than half of it. */
export function cutStep(entries: readonly Entry[], options: StepOptions): Step | undefined {
  const rows = [...groupByLine(entries)];
  const texts: string[] = [];
  let tokens = 0;
  let count = 0;
  for (const row of rows) {
    let text = rowText(row, options.redact);
    let cost = estimateTokens(text) + 1;
    if (cost > options.maxTokens && count === 0) {
      text = excerptTokens(text, options.maxTokens - 1);
      cost = estimateTokens(text) + 1;
    }
    if (tokens + cost > options.maxTokens) break;
    texts.push(text);
    tokens += cost;
    count++;
  }
  if (count === 0) return undefined;
  if (count < rows.length) count = backToUserMessage(rows, count);
  const taken = rows.slice(0, count).flat();
  const text = texts.slice(0, count).filter(Boolean).join("\n");
  return {
    entries: taken,
    text,
    tokens: estimateTokens(text),
    lines: new Set(taken.map(({ line }) => line)),
  };
}

/** Returns a long text's beginning and end with a mark of what is missing between, at most `max` characters. */
export function excerpt(text: string, max: number, { total = text.length } = {}): string {
  if (text.length <= max || (text.length <= max * 2 && [...text].length <= max)) return text;
  const mark = (missing: number) => ` … [${missing} characters] … `;
  const room = Math.max(2, max - mark(total).length);
  const head = Math.ceil(room * HEAD_SHARE);
  const tail = room - head;
  // A character beyond the basic plane is two units: it is taken whole or not at all.
  const beginning = text.slice(0, head).replace(/[\uD800-\uDBFF]$/, "");
  const end = text.slice(text.length - tail).replace(/^[\uDC00-\uDFFF]/, "");
  return `${beginning}${mark(total - beginning.length - end.length)}${end}`;
}

function excerptTokens(text: string, maxTokens: number): string {
  let max = Math.min(text.length, maxTokens * 5);
  let cut = excerpt(text, max);
  while (estimateTokens(cut) > maxTokens && max > 40) {
    max = Math.floor(max * Math.min(0.9, maxTokens / estimateTokens(cut)));
    cut = excerpt(text, max);
  }
  return cut;
}

function* groupByLine(entries: readonly Entry[]): Generator<Entry[]> {
  let row: Entry[] = [];
  for (const entry of entries) {
    if (row.length > 0 && row[0]?.line !== entry.line) {
      yield row;
      row = [];
    }
    row.push(entry);
  }
  if (row.length > 0) yield row;
}

function backToUserMessage(rows: readonly Entry[][], count: number): number {
  for (let at = count; at > count / 2; at--) {
    if (rows[at]?.some(({ kind }) => kind === "user")) return at;
  }
  return count;
}

const SPEAKERS: Record<Entry["kind"], string> = {
  user: "User",
  assistant: "Assistant",
  tool: "Tool call",
  result: "Tool result",
  summary: "Summary of what came before",
};

function rowText(row: readonly Entry[], redact: (text: string) => string): string {
  return row
    .map((entry) => {
      const time = entry.at ? ` (${entry.at.slice(0, 16).replace("T", " ")}Z)` : "";
      const speaker = entry.isError ? "Tool error" : SPEAKERS[entry.kind];
      return `[${entry.line}]${time} ${speaker}: ${asData(entryText(entry, redact))}`;
    })
    .join("\n");
}

/** Escapes a text so that it can neither end the surrounding conversation nor begin a message. */
function asData(text: string): string {
  return text
    .trim()
    .replace(/<(?=\/?(?:new-conversation|observations))/gi, "‹")
    .replace(/^\[(?=\d+\])/gm, " [");
}

/** Redacted before it is cut: half a secret is not recognised. */
function entryText({ kind, text }: Entry, redact: (text: string) => string): string {
  if (kind === "result") return excerpt(redact(ends(text)), RESULT_CHARS, { total: text.length });
  return kind === "tool" ? excerpt(redact(text).replace(/\s+/g, " "), TOOL_CHARS) : redact(text);
}

/** Returns the ends of a huge result, far more than is kept, so that no kept part begins inside a secret. */
function ends(text: string): string {
  const room = RESULT_CHARS * 10;
  return text.length <= room * 2 ? text : `${text.slice(0, room)}\n${text.slice(-room)}`;
}

/**
 * Writes a conversation as text for a model, within a limit (its first request, what compactions kept of it, the messages a
 * question is about, and its end, with a mark wherever something was left out), and checks that the lines a model cites
 * hold what it quotes.
 */

import { isFunctionWord } from "../language/words.ts";
import type { Entry } from "../transcripts/session.ts";

/** Shares of the limit where not all fits, given out in this order; what one leaves over goes to the end of the conversation. */
const SHARES = { head: 0.15, summaries: 0.25, relevant: 0.35 };
/** No single message takes more than this part of the limit. */
const MESSAGE_SHARE = 1 / 8;
/** Entries tried for the relevant share. */
const RELEVANT_MAX = 200;

interface ConversationOptions {
  maxBytes: number;
  /** Whether each message begins with its line of the transcript: `L812 User: …`. @default {false} */
  lines?: boolean;
  /** How much an entry has to do with what is asked; 0 for nothing. */
  relevance?: ((entry: Entry) => number) | undefined;
}

/** Renders a conversation's entries, and counts the messages that were left out. */
export function conversationText(
  all: readonly Entry[],
  options: ConversationOptions,
): { text: string; omitted: number } {
  const entries = all.filter(({ text, tool }) => tool || text.trim() !== "");
  const shown = choose(entries, options);
  const parts: string[] = [];
  let gap = 0;
  let omitted = 0;
  const closeGap = () => {
    if (gap > 0) parts.push(`[… ${gap} message${gap === 1 ? "" : "s"} left out …]`);
    omitted += gap;
    gap = 0;
  };
  for (const [index, entry] of entries.entries()) {
    const text = shown.get(index);
    if (text !== undefined) {
      closeGap();
      parts.push(text);
    } else if (!isAside(entry)) gap++;
  }
  closeGap();
  return { text: parts.join("\n\n"), omitted };
}

/** Tool calls and results are shown only when they are asked for. */
function isAside({ kind }: Entry): boolean {
  return kind === "tool" || kind === "result";
}

/** Returns the entries that are shown, by their position, rendered; no others are, however many there are. */
function choose(entries: readonly Entry[], options: ConversationOptions): Map<number, string> {
  const { maxBytes, lines, relevance } = options;
  const all = relevance && renderAll(entries, options);
  if (all) return all;
  const shown = new Map<number, string>();
  let left = maxBytes;
  const take = (indexes: readonly number[], share: number, { whole = false } = {}) => {
    let budget = Math.min(left, share);
    for (const index of indexes) {
      const entry = entries[index];
      if (!entry || shown.has(index)) continue;
      const text = framed(entry, shortened(content(entry), Math.floor(maxBytes * MESSAGE_SHARE)), lines);
      const bytes = Buffer.byteLength(text) + 2;
      if (bytes > budget && whole) return;
      if (bytes > budget) continue;
      shown.set(index, text);
      budget -= bytes;
      left -= bytes;
    }
  };
  const of = (kind: Entry["kind"]) => entries.flatMap((entry, index) => (entry.kind === kind ? [index] : []));
  take(of("user").slice(0, 1), maxBytes * SHARES.head);
  take(of("summary").toReversed(), maxBytes * SHARES.summaries);
  if (relevance) take(mostRelevant(entries, relevance), maxBytes * SHARES.relevant);
  const spoken = entries.flatMap((entry, index) => (isAside(entry) ? [] : [index]));
  take(spoken.toReversed(), left, { whole: true });
  return shown;
}

/** Returns all entries, tool calls with what they wrote among them, if they fit. */
function renderAll(
  entries: readonly Entry[],
  { maxBytes, lines }: ConversationOptions,
): Map<number, string> | undefined {
  const shown = new Map<number, string>();
  let left = maxBytes;
  for (const [index, entry] of entries.entries()) {
    const { target = "", input = "" } = entry.tool ?? {};
    const written = input === "" || input.startsWith(target) ? input : `${target}\n${input}`;
    const text = framed(entry, entry.kind === "tool" ? written || target : content(entry), lines);
    left -= Buffer.byteLength(text) + 2;
    if (left < 0) return undefined;
    shown.set(index, text);
  }
  return shown;
}

function mostRelevant(entries: readonly Entry[], relevance: (entry: Entry) => number): number[] {
  return entries
    .map((entry, index) => ({ index, score: relevance(entry) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, RELEVANT_MAX)
    .map(({ index }) => index);
}

const SPEAKERS = {
  user: "User",
  assistant: "Assistant",
  summary: "Summary of what came before",
  result: "Result",
};

function framed({ line, kind, tool }: Entry, text: string, lines: boolean | undefined): string {
  const said = kind === "tool" ? `[${tool?.name ?? "Tool"} ${text}]` : `${SPEAKERS[kind]}: ${text}`;
  return lines ? `L${line} ${said}` : said;
}

function content({ kind, tool, text }: Entry): string {
  return kind === "tool" ? (tool?.target ?? "") : text.trim();
}

/** Cuts from the middle: a message says what it wants at its start and what came of it at its end. */
function shortened(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text);
  const half = Math.max(0, Math.floor((maxBytes - 60) / 2));
  const start = wholeText(bytes.subarray(0, half));
  const end = wholeText(bytes.subarray(bytes.length - half));
  return `${start}\n[… ${text.length - start.length - end.length} characters left out …]\n${end}`;
}

/** Bytes as text without the halves of characters at its ends. */
function wholeText(bytes: Buffer): string {
  return bytes.toString("utf8").replace(/^\uFFFD+|\uFFFD+$/g, "");
}

/** A result may be megabytes long; its beginning says what it is about. */
const ENTRY_CHARS = 20_000;
/** The words before and after carry over: an answer seldom repeats its question. */
const NEIGHBOUR = 0.3;
/** Tool results are long and match everything. */
const RESULT_WEIGHT = 0.6;

/** Returns a function that gives an entry's relevance to a question by its words, 0 for none. */
export async function relevanceTo(
  question: string,
  entries: readonly Entry[],
): Promise<(entry: Entry) => number> {
  const [{ readQuestions }, { makeMeasure }, { inverseFrequency }] = await Promise.all([
    import("../search/query.ts"),
    import("../search/measure.ts"),
    import("../search/rank.ts"),
  ]);
  const [{ terms } = { terms: [] }] = readQuestions([question]);
  const holders = new Map(terms.map(({ stem }) => [stem, new Set<number>()]));
  for (const [i, { found }] of makeMeasure(holders.keys())(entries.map(searchedText)).entries())
    for (const { stem } of found) holders.get(stem)?.add(i);
  const own = entries.map(() => 0);
  for (const { stem, weight } of terms) {
    const found = holders.get(stem) ?? new Set();
    const worth = weight * inverseFrequency(entries.length, found.size);
    for (const i of found) own[i] = (own[i] ?? 0) + worth;
  }
  const scores = new Map(
    entries.map((entry, i) => {
      const beside = NEIGHBOUR * Math.max(own[i - 1] ?? 0, own[i + 1] ?? 0);
      return [entry, ((own[i] ?? 0) + beside) * (entry.kind === "result" ? RESULT_WEIGHT : 1)];
    }),
  );
  return (entry) => scores.get(entry) ?? 0;
}

function searchedText({ text, tool }: Entry): string {
  return tool ? `${tool.name} ${tool.target}` : text.slice(0, ENTRY_CHARS);
}

export type Confidence = "high" | "medium" | "low";

export interface Citation {
  line: number;
  excerpt: string;
}

const LOWERED: Record<Confidence, Confidence> = { high: "medium", medium: "low", low: "low" };

/**
 * Keeps the citations whose excerpt occurs in their line, white space aside, each once. Confidence goes
 * down a step when one was dropped, and to the bottom when none is left.
 */
export function checkCitations(
  cited: readonly Citation[],
  confidence: Confidence,
  lines: ReadonlyMap<number, string>,
): { citations: Citation[]; confidence: Confidence; notes: string[] } {
  const citations: Citation[] = [];
  let dropped = 0;
  for (const { line, excerpt } of cited) {
    const wanted = folded(excerpt).replace(/^(?:"|“|…|\.\.\.|\s)+|(?:"|”|…|\.\.\.|\s)+$/g, "");
    if (!standsIn(lines.get(line) ?? "", wanted)) dropped++;
    else if (!citations.some((known) => known.line === line && known.excerpt === wanted))
      citations.push({ line, excerpt: wanted });
  }
  const notes: string[] = [];
  if (dropped > 0)
    notes.push(`${dropped} of ${cited.length} citations were not found in their lines and were dropped`);
  if (cited.length === 0) notes.push("no line was cited");
  if (citations.length === 0) return { citations, confidence: "low", notes };
  return { citations, confidence: dropped > 0 ? LOWERED[confidence] : confidence, notes };
}

/** Words that every line has cite nothing, unless they are the whole line. */
function standsIn(text: string, wanted: string): boolean {
  if (wanted === "" || text === wanted) return wanted !== "";
  return text.includes(wanted) && !wanted.split(" ").every(isFunctionWord);
}

/** Returns the text of each transcript line, with white space folded. */
export function textByLine(entries: readonly Entry[]): Map<number, string> {
  const lines = new Map<number, string>();
  for (const { line, text, tool } of entries) {
    const said = folded(tool ? `${tool.name} ${tool.target}` : text);
    const before = lines.get(line);
    lines.set(line, before === undefined ? said : `${before} ${said}`);
  }
  return lines;
}

function folded(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

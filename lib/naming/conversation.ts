/**
 * A conversation as text for a model, within a limit: its first request, what compactions kept of it, the messages a
 * question is about, and its end; with a mark wherever something was left out.
 */

import type { Entry } from "../transcripts/session.ts";

/** Shares of the limit, given out in this order; what one leaves over goes to the end of the conversation. */
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

interface ConversationText {
  text: string;
  /** How many messages were left out. */
  omitted: number;
}

/** Renders a conversation's entries. */
export function conversationText(all: readonly Entry[], options: ConversationOptions): ConversationText {
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
  const { maxBytes, relevance } = options;
  const shown = new Map<number, string>();
  let left = maxBytes;
  const take = (indexes: readonly number[], share: number, { whole = false } = {}) => {
    let budget = Math.min(left, share);
    for (const index of indexes) {
      const entry = entries[index];
      if (!entry || shown.has(index)) continue;
      const text = rendered(entry, options);
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

function mostRelevant(entries: readonly Entry[], relevance: (entry: Entry) => number): number[] {
  return entries
    .map((entry, index) => ({ index, score: relevance(entry) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, RELEVANT_MAX)
    .map(({ index }) => index);
}

function rendered(entry: Entry, { maxBytes, lines }: ConversationOptions): string {
  const place = lines ? `L${entry.line} ` : "";
  const text = shortened(content(entry), Math.floor(maxBytes * MESSAGE_SHARE));
  return `${place}${label(entry)}${text}${entry.kind === "tool" ? "]" : ""}`;
}

function label({ kind, tool }: Entry): string {
  if (kind === "user") return "User: ";
  if (kind === "assistant") return "Assistant: ";
  if (kind === "summary") return "Summary of what came before: ";
  return kind === "tool" ? `[${tool?.name ?? "Tool"} ` : "Result: ";
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

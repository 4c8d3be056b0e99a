/** How much each entry of one conversation has to do with a question, by its words. */

import { foldText, splitJoined } from "../language/words.ts";
import { readQuestions } from "../search/query.ts";
import { inverseFrequency } from "../search/rank.ts";
import { findStems } from "../search/terms.ts";
import type { Entry } from "../transcripts/session.ts";

/** A result may be megabytes long; its beginning says what it is about. */
const ENTRY_CHARS = 20_000;
/** The words before and after carry over: an answer seldom repeats its question. */
const NEIGHBOUR = 0.3;
const LITERAL = 2;
/** Tool results are long and match everything. */
const RESULT_WEIGHT = 0.6;

/** Returns a function that gives an entry's relevance, 0 for none. */
export function relevanceTo(question: string, entries: readonly Entry[]): (entry: Entry) => number {
  const [{ terms, literals } = { terms: [], literals: [] }] = readQuestions([question]);
  const held = heldTerms(
    entries,
    terms.map(({ stem }) => stem),
  );
  const idf = terms.map((_, t) => inverseFrequency(entries.length, held.filter((has) => has[t]).length));
  const own = held.map((has) =>
    terms.reduce((sum, { weight }, t) => sum + (has[t] ? weight * (idf[t] ?? 0) : 0), 0),
  );
  const scores = new Map<Entry, number>();
  for (const [i, entry] of entries.entries()) {
    const beside = Math.max(own[i - 1] ?? 0, own[i + 1] ?? 0);
    const text = foldText(textOf(entry));
    const named = literals.filter((literal) => text.includes(literal)).length;
    const score =
      (own[i] ?? 0) + (own[i] || entry.kind !== "result" ? NEIGHBOUR * beside : 0) + LITERAL * named;
    scores.set(entry, entry.kind === "result" ? score * RESULT_WEIGHT : score);
  }
  return (entry) => scores.get(entry) ?? 0;
}

/** Returns, for each entry, which stems occur in it. */
function heldTerms(entries: readonly Entry[], stems: readonly string[]): boolean[][] {
  const held = entries.map(() => stems.map(() => false));
  const texts = entries.map((entry) => [textOf(entry), splitJoined(textOf(entry))]);
  findStems(stems, texts, (stem, i) => {
    (held[i] as boolean[])[stems.indexOf(stem)] = true;
  });
  return held;
}

function textOf({ text, tool }: Entry): string {
  return tool ? `${tool.name} ${tool.target}` : text.slice(0, ENTRY_CHARS);
}

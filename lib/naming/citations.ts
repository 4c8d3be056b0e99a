/** Checks that a model's citations are where it says. */

import { isFunctionWord } from "../language/words.ts";
import type { Entry } from "../transcripts/session.ts";

export type Confidence = "high" | "medium" | "low";

export interface Citation {
  line: number;
  excerpt: string;
}

/** A shorter excerpt occurs in many lines by chance: it must be whole words that say something. */
const EXCERPT_MIN_CHARS = 8;
/** Of a script that puts spaces between words. */
const LETTER = "(?![\\u3040-\\u9fff\\uac00-\\ud7a3])[\\p{L}\\p{N}]";
const LETTER_FIRST = new RegExp(`^${LETTER}`, "u");
const LETTER_LAST = new RegExp(`${LETTER}$`, "u");
const LOWERED: Record<Confidence, Confidence> = { high: "medium", medium: "low", low: "low" };

interface CheckedCitations {
  citations: Citation[];
  confidence: Confidence;
  /** What the reader should know of the check. */
  notes: string[];
}

/**
 * Keeps the citations whose excerpt occurs in their line, white space aside, each once. Confidence goes
 * down a step when one was dropped, and to the bottom when none is left.
 */
export function checkCitations(
  cited: readonly Citation[],
  confidence: Confidence,
  lines: ReadonlyMap<number, string>,
): CheckedCitations {
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

function standsIn(text: string, wanted: string): boolean {
  if (wanted === "") return false;
  if (wanted.length >= EXCERPT_MIN_CHARS || text === wanted) return text.includes(wanted);
  if (wanted.split(" ").every(isFunctionWord)) return false;
  const literal = wanted.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  const before = LETTER_FIRST.test(wanted) ? `(?<!${LETTER})` : "";
  const after = LETTER_LAST.test(wanted) ? `(?!${LETTER})` : "";
  return new RegExp(before + literal + after, "u").test(text);
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

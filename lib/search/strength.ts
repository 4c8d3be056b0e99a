/**
 * Measures how likely it is that a passage answers, on the same scale in every index. A passage is worth the share that it
 * holds of the phrasing that it fits best, by the rarity of the words, times the number of asked words that it holds
 * close together; one that holds all of them is worth most. Without a rare word that most phrasings keep it is worth half,
 * and no passage is worth more than the best ranked one.
 */

import type { StoredDeed } from "../index/session-rows.ts";
import { splitJoined } from "../language/words.ts";
import type { ChunkRow } from "./candidates.ts";
import type { Passage } from "./passages.ts";
import { findStems, type Question, type Term } from "./query.ts";
import type { Retrieved } from "./retrieval.ts";
import { deedText } from "./rows.ts";

/** From this strength on, a passage answers: for nine of ten questions with an answer, for one of ten without. */
export const STRONG = 0.5;
/** The worth for each phrasing that makes a passage strong. real2 and codebench with and without their repositories. */
const ENOUGH = 0.6;
/** More phrasings than this ask for no more. */
const PHRASINGS_COUNTED = 4;
/** Words further apart than this are not said together. real2, codebench: 30 … 130 the same within 2 questions. */
const WINDOW_WORDS = 50;
/** Words of tool calls count half: they are code, and many. real2, codebench: 0.3 … 0.7 the same. */
const DONE = 0.5;
/** What is left without a rare word. real2: of the questions that nothing answers 9.2 -> 7.9 % are strong. */
const WITHOUT_A_WORD = 0.5;

/** How much of a question a passage holds. */
interface Strength {
  /** 0 to 1. */
  score: number;
  /** The stems that it holds anywhere, its header included. */
  held: ReadonlySet<string>;
}

/** A word of the question in a text. */
interface Occurrence {
  stem: string;
  /** Position among the words; `NaN` for what counts wherever it is. */
  at: number;
}

/** Measures passages, best ranked first; `rare` are the rare words that most phrasings keep. */
export function measureStrength(
  passages: readonly Passage[],
  { phrasings, asked, deeds }: Pick<Retrieved, "phrasings" | "asked" | "deeds">,
  rare: readonly Term[],
): Map<Passage, Strength> {
  const questions = phrasings.map(({ question }) => question);
  const terms = new Map(questions.flatMap((question) => question.terms.map((term) => [term.stem, term])));
  const texts = passages.flatMap((passage) => textsOf(passage, deeds).map((text) => ({ passage, ...text })));
  const found = texts.map((): Occurrence[] => []);
  findStems(
    terms.keys(),
    texts.map(({ columns }) => columns),
    (stem, i, column, position) => found[i]?.push({ stem, at: column === 0 ? position : Number.NaN }),
  );
  const enough = ENOUGH * Math.min(PHRASINGS_COUNTED, questions.length);
  const worths = questions.map((question) => worthsOf(question, asked));
  const strengths = new Map<Passage, Strength>();
  let most = 1;
  for (const passage of passages) {
    let worth = 0;
    const held = new Set<string>();
    for (const [i, text] of texts.entries()) {
      if (text.passage !== passage) continue;
      const occurrences = found[i] as Occurrence[];
      for (const { stem } of occurrences) held.add(stem);
      if (text.part === "head") continue;
      const together = mostTogether(occurrences, { terms, worths });
      worth = Math.max(worth, text.part === "done" ? DONE * together : together);
    }
    if (rare.some(({ stem }) => !held.has(stem))) worth *= WITHOUT_A_WORD;
    const score = worth === Number.POSITIVE_INFINITY ? 1 : worth / (worth + enough);
    if (strengths.size === 0) most = score;
    strengths.set(passage, { score: Math.min(most, score), held });
  }
  return strengths;
}

/** Who speaks: no word of theirs. */
const LABELS = /^(?:User|Assistant): /gm;

interface Text {
  part: "said" | "done" | "head";
  /** The text, and the parts of joined names in it. */
  columns: [string, string];
}

function textsOf({ found }: Passage, deeds: ReadonlyMap<ChunkRow, readonly StoredDeed[]>): Text[] {
  return found.flatMap(({ row }) => {
    const done = (deeds.get(row) ?? []).map(deedText).join("\n");
    const head = row.contextContent.slice(0, row.contextContent.length - row.content.length);
    const said = row.content.replace(LABELS, "");
    return [
      { part: "said", columns: [`${said}\n${row.tools}`, splitJoined(said, row.tools)] },
      { part: "done", columns: [done, splitJoined(done)] },
      { part: "head", columns: [head, ""] },
    ];
  });
}

/** Returns the worth of each stem of a phrasing, all together 1. */
function worthsOf({ terms }: Question, asked: Retrieved["asked"]): Map<string, number> {
  const weighed = asked.weigh(terms);
  const total = weighed.reduce((sum, { worth }) => sum + worth, 0) || 1;
  return new Map(terms.map(({ stem }, i) => [stem, (weighed[i]?.worth ?? 0) / total]));
}

/** Returns the worth of the window of words that is worth most. */
function mostTogether(
  occurrences: readonly Occurrence[],
  asked: { terms: ReadonlyMap<string, Term>; worths: readonly ReadonlyMap<string, number>[] },
): number {
  const everywhere = occurrences.filter(({ at }) => Number.isNaN(at)).map(({ stem }) => stem);
  const placed = occurrences.filter(({ at }) => !Number.isNaN(at)).sort((a, b) => a.at - b.at);
  let most = worthTogether(everywhere, asked);
  let start = 0;
  for (const [end, { at }] of placed.entries()) {
    while (at - (placed[start] as Occurrence).at > WINDOW_WORDS) start++;
    const together = placed.slice(start, end + 1).map(({ stem }) => stem);
    most = Math.max(most, worthTogether([...together, ...everywhere], asked));
  }
  return most;
}

/** Returns the number of asked words among stems, times the share of the phrasing that they make most of; infinite for all. */
function worthTogether(
  stems: readonly string[],
  { terms, worths }: { terms: ReadonlyMap<string, Term>; worths: readonly ReadonlyMap<string, number>[] },
): number {
  const unique = [...new Set(stems)];
  if (unique.length === terms.size) return Number.POSITIVE_INFINITY;
  const words = unique.reduce((sum, stem) => sum + (terms.get(stem)?.weight ?? 0), 0);
  const shares = worths.map((worth) => unique.reduce((sum, stem) => sum + (worth.get(stem) ?? 0), 0));
  return words * Math.max(0, ...shares);
}

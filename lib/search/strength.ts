/** Judges how likely candidates answer, on the same scale in every index. Pure. */

import { STRONG } from "./hit.ts";
import { type Candidate, stemsOf } from "./passages.ts";
import type { Term } from "./query.ts";
import type { Retrieved } from "./retrieval.ts";
import type { AskedWorth, Unit } from "./units.ts";

/** A candidate with how likely it answers. */
export interface Judged extends Candidate {
  /** 0 to 1. */
  score: number;
  /** The stems that it holds close together, by which it was judged. */
  together: readonly string[];
}

/** The worth for each phrasing that makes a candidate strong. real2 and codebench with and without their repositories. */
const ENOUGH = 0.6;
/** More phrasings than this ask for no more. */
const PHRASINGS_COUNTED = 4;
/** Units that follow each other and count as close together. */
const TOGETHER = 4;
/** Words of tool calls count half: they are code, and many. real2, codebench: 0.3 … 0.7 the same. */
const DONE = 0.5;
/** The factor for a candidate without a rare word. real2: fewer of the questions that nothing answers are strong. */
const WITHOUT_A_WORD = 0.5;
/** The highest score of a candidate without a rare word: it does not hold the subject of the question. */
const MOST_WITHOUT = STRONG - 0.01;

/**
 * Judges candidates, best ranked first. One is worth the share that it holds of the phrasing that it fits best, by the rarity
 * of the words, times the number of asked words that it holds close together; one that holds all of them is worth most.
 * Without one of the `rare` words that most phrasings keep it is worth half and never strong, and none is worth more than the
 * best ranked one, if that lacked nothing. Words that are not `isTelling` do not count.
 */
export function judge(
  candidates: readonly Candidate[],
  { questions, asked }: Pick<Retrieved, "questions" | "asked">,
  {
    rare,
    isTelling,
    worth,
  }: { rare: readonly Term[]; isTelling: (term: Term) => boolean; worth: AskedWorth },
): Judged[] {
  const phrasings = questions.map(({ terms }) => {
    const weighed = asked.weigh(terms.filter(isTelling));
    const total = weighed.reduce((sum, one) => sum + one.worth, 0) || 1;
    return new Map(weighed.map((one) => [one.number, one.worth / total]));
  });
  const telling = new Set(phrasings.flatMap((worths) => [...worths.keys()]));
  const enough = ENOUGH * Math.min(PHRASINGS_COUNTED, questions.length);
  // maps a worth to a scale from 0 to 1, where .5 is enough
  const scale = (value: number) => (value === Number.POSITIVE_INFINITY ? 1 : value / (value + enough));
  let most = 1;
  return candidates.map((one, i) => {
    const best = mostTogether(one.units, { phrasings, telling });
    const isLacking = rare.some(({ stem }) => !one.held.has(stem));
    const full = scale(best.worth * (isLacking ? WITHOUT_A_WORD : 1));
    if (i === 0) most = scale(best.worth);
    const score = Math.min(most, isLacking ? Math.min(full, MOST_WITHOUT) : full);
    return { ...one, score, together: stemsOf(best.units, worth) };
  });
}

/** Returns the units close together that are worth most: the number of words, times the share of the phrasing they fit best. */
function mostTogether(
  units: readonly Unit[],
  { phrasings, telling }: { phrasings: readonly ReadonlyMap<number, number>[]; telling: ReadonlySet<number> },
): { units: readonly Unit[]; worth: number } {
  const worthOf = (held: readonly number[]) => {
    if (held.length === telling.size) return Number.POSITIVE_INFINITY;
    const shares = phrasings.map((worths) =>
      held.reduce((sum, number) => sum + (worths.get(number) ?? 0), 0),
    );
    return held.length * Math.max(0, ...shares);
  };
  let best = { units: units.slice(0, 0), worth: worthOf([]) };
  for (const [i, { row }] of units.entries()) {
    const close = units.slice(i, i + TOGETHER);
    const held = [...telling].filter((number) => close.some((unit) => (unit.held[number] as number) > 0));
    const worth = (row.who === "tool" ? DONE : 1) * worthOf(held);
    if (worth > best.worth) best = { units: close, worth };
  }
  return best;
}

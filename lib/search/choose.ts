/**
 * Chooses what to show of hits: one budget of characters is spent where a character is most likely to answer. Pure.
 */

import type { PassageRow, ShownRow } from "./rows.ts";
import type { Unit } from "./units.ts";

/** A hit's units to choose from. */
interface Choice {
  units: readonly Unit[];
  /** Code points of the lines around its rows. */
  headCost: number;
}

interface ChooseOptions {
  /** Code points for the rows of all hits. */
  budget: number;
  /** The worth of each stem of the question. */
  worths: Float64Array;
  /** Returns the cost of a row before its text. */
  rowCost: (row: ShownRow) => number;
}

/** Added to each cost before a chance is divided by it, so that the shortest line is not always the best. */
const FREE_CHARACTERS = 220;
/** The worth of a unit whose words its hit shows already. */
const AGAIN = 0.5;
/** The share of the budget that the first hit may take. real2, codebench, deeds: 0.5 … 0.7 the same within 4 of 366. */
const FIRST_SHARE = 0.6;
/**
 * A unit far less likely than the likeliest is left out, sooner if it holds no word of the question and answers no row
 * that does; the best of a hit never. real2, codebench, deeds: 40 characters fewer, and as many answers.
 */
const LEAST = { withWords: 0.0005, without: 0.03 };
/** The share of the question that a user's row holds to which a reply is an answer in other words, and the least that says one. */
const ANSWERED = { share: 0.5, characters: 30 };
/** Code points of a cut, its count of items included. */
const CUT_CHARS = 6;
/** Marks at both ends of a row. */
const ENDS = 4;

/** A unit that may be taken. */
interface Open {
  /** The position of its hit. */
  hit: number;
  unit: Unit;
  /** Code points of its text, and of its row before it. */
  length: number;
  start: number;
}

/** Takes the unit that is most likely to answer for its length, again and again; returns each hit's in that order. */
export function chooseUnits(hits: readonly Choice[], { budget, worths, rowCost }: ChooseOptions): Unit[][] {
  const chosen = hits.map((): Unit[] => []);
  const shown = hits.map(() => new Float64Array(worths.length));
  const begun = new Set<PassageRow>();
  const bests = hits.map(({ units }) => Math.max(0, ...units.map(({ chance }) => chance)));
  const most = Math.max(0, ...bests);
  const leastOf = (unit: Unit) =>
    most * (unit.features.all > 0 || isAnswer(unit) ? LEAST.withWords : LEAST.without);
  const open = new Set<Open>(
    hits.flatMap(({ units }, hit) =>
      units
        .filter((unit) => unit.chance >= Math.min(leastOf(unit), bests[hit] as number))
        .map((unit) => ({ hit, unit, length: unitLength(unit), start: rowCost(unit.row) + ENDS })),
    ),
  );
  const spent = hits.map(() => 0);
  let left = budget;
  for (;;) {
    let [best, worth, price] = [undefined as Open | undefined, 0, 0];
    for (const one of open) {
      const { hit, unit, length, start } = one;
      const head = (chosen[hit] as Unit[]).length === 0 ? (hits[hit] as Choice).headCost : 0;
      const cost = length + (begun.has(unit.row) ? CUT_CHARS : start);
      if (head + cost > left) continue;
      const isMore = hit === 0 && hits.length > 1 && head === 0;
      if (isMore && (spent[0] as number) + cost > FIRST_SHARE * budget) continue;
      const isNew = 1 - (1 - AGAIN) * shareShown(unit, shown[hit] as Float64Array, worths);
      const value = (unit.chance * isNew) / (cost + FREE_CHARACTERS);
      if (value > worth) [best, worth, price] = [one, value, head + cost];
    }
    if (!best) return chosen;
    const { hit, unit } = best;
    open.delete(best);
    chosen[hit]?.push(unit);
    begun.add(unit.row);
    left -= price;
    spent[hit] = (spent[hit] as number) + price;
    const seen = shown[hit] as Float64Array;
    for (const [i, share] of unit.held.entries()) seen[i] = Math.max(seen[i] as number, share);
  }
}

/** Returns whether an agent's words follow a user's row that holds most of the question. */
function isAnswer({ row: { who }, features, start, end }: Unit): boolean {
  return who === "assistant" && features.reply >= ANSWERED.share && end - start >= ANSWERED.characters;
}

/** Returns the part of a unit's words, by their worth, that is shown already. */
function shareShown({ held }: Unit, shown: Float64Array, worths: Float64Array): number {
  let [again, all] = [0, 0];
  for (const [i, worth] of worths.entries()) {
    const share = worth * (held[i] as number);
    all += share;
    if ((shown[i] as number) > 0) again += share;
  }
  return all > 0 ? again / all : 0;
}

/** Returns the code points of a unit on one line. */
function unitLength({ row: { text }, start, end }: Unit): number {
  return [...text.slice(start, end).replace(/\s+/g, " ").trim()].length;
}

/** Returns the rows with chosen units, in order, each with these units alone. */
export function toShownRows(rows: readonly PassageRow[], units: readonly Unit[]): ShownRow[] {
  const chosen = Map.groupBy(units, ({ row }) => row);
  return rows.flatMap((row) => {
    const own = chosen.get(row);
    if (!own) return [];
    const { isInside: _, isOutput: __, outcome: ___, ...shown } = row;
    return [{ ...shown, text: shownText(row, own) }];
  });
}

/** The beginning of an item of a list. */
const ITEM = /^[ \t]*(?:[-*•]|\d+[.)])\s/gm;

/** Returns the chosen units of a row on one line; of a list that is shown in part the left out items are counted. */
function shownText({ text, tool }: ShownRow, units: readonly Unit[]): string {
  const places = units.map(({ start, end }) => [start, end] as const).sort((a, b) => a[0] - b[0]);
  const isList = places.some(([start, end]) => text.slice(start, end).search(ITEM) >= 0);
  const cutOf = (leftOut: string) => {
    const items = isList ? (leftOut.match(ITEM)?.length ?? 0) : 0;
    return items > 0 ? `… (+${items} ${items === 1 ? "item" : "items"}) …` : "…";
  };
  let shown = "";
  let last = 0;
  for (const [start, end] of places) {
    if (start === end) continue; // a tool call's head is shown anyway
    const gap = text.slice(last, start);
    if (shown === "") shown = /\S/.test(gap) && tool === undefined ? "… " : "";
    else shown += /\S/.test(gap) ? ` ${cutOf(gap)} ` : " ";
    shown += text.slice(start, end).replace(/\s+/g, " ").trim();
    last = end;
  }
  const rest = text.slice(last);
  return shown !== "" && /\S/.test(rest) ? `${shown} ${cutOf(rest)}` : shown;
}

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
/** Code points of a cut, its count of items included. */
const CUT_CHARS = 6;
/** Marks at both ends of a row. */
const ENDS = 4;

/**
 * A unit far less likely than the likeliest is left out, sooner where neither it nor the user's row before it holds what is
 * asked for; the best of a hit never. real2, codebench, deeds: 40 characters fewer, and as many answers.
 */
const LEAST = { withWords: 0.0005, without: 0.03 };
/** The share of the question that a user's row holds to which a reply is an answer in other words, and the least that says one. */
const ANSWERED = { share: 0.5, characters: 30 };
/** Code points up to which the best row is shown whole. real2, codebench, deeds: 0, 400, 700 answer the same, 2,000 four of 366 fewer. */
const WHOLE_CHARS = 700;

/** A unit that may be taken. */
interface Open {
  /** The position of its hit. */
  hit: number;
  unit: Unit;
  /** Code points of its text. */
  length: number;
}

/**
 * Takes the unit that is most likely to answer for its length, again and again, but after the first the others of its row where
 * that is short; returns each hit's in that order.
 */
export function chooseUnits(hits: readonly Choice[], options: ChooseOptions): Unit[][] {
  const { chosen, priceOf, newness, take } = openBudget(hits, options);
  const open = new Set(likely(hits));
  const takeAt = (one: Open, price: number) => {
    open.delete(one);
    take(one, price);
  };
  for (let count = 0; ; count++) {
    let best: { one: Open; value: number; price: number } | undefined;
    for (const one of open) {
      const priced = priceOf(one);
      if (!priced) continue;
      const value = (one.unit.chance * newness(one)) / (priced.cost + FREE_CHARACTERS);
      if (!best || value > best.value) best = { one, value, price: priced.price };
    }
    if (!best) return chosen;
    const { one, price } = best;
    takeAt(one, price);
    const rest = count > 0 ? [] : [...open].filter(({ unit: { row } }) => row === one.unit.row);
    if (rest.reduce((sum, { length }) => sum + length, one.length) > WHOLE_CHARS) continue;
    for (const other of rest) {
      const priced = priceOf(other);
      if (priced) takeAt(other, priced.price);
    }
  }
}

/** Keeps account of the units that were taken. */
function openBudget(hits: readonly Choice[], { budget, worths, rowCost }: ChooseOptions) {
  const chosen = hits.map((): Unit[] => []);
  const spent = hits.map(() => 0);
  const shown = hits.map(() => new Float64Array(worths.length));
  const begun = new Set<PassageRow>();
  const isShared = hits.filter(({ units }) => units.length > 0).length > 1;
  return {
    chosen,
    /** Returns the code points of a unit, and with its hit's head where it is the hit's first; undefined where it does not fit. */
    priceOf({ hit, unit, length }: Open): { cost: number; price: number } | undefined {
      const cost = length + (begun.has(unit.row) ? CUT_CHARS : rowCost(unit.row) + ENDS);
      const isFirst = chosen[hit]?.length === 0;
      const price = cost + (isFirst ? (hits[hit] as Choice).headCost : 0);
      const most = hit === 0 && isShared && !isFirst ? FIRST_SHARE * budget : budget;
      const left = budget - spent.reduce((sum, one) => sum + one, 0);
      return price <= left && (spent[hit] as number) + cost <= most ? { cost, price } : undefined;
    },
    /** Returns the part of a unit's worth that its hit's words leave it. */
    newness({ hit, unit }: Open): number {
      return 1 - (1 - AGAIN) * shareShown(unit, shown[hit] as Float64Array, worths);
    },
    take({ hit, unit }: Open, price: number): void {
      chosen[hit]?.push(unit);
      begun.add(unit.row);
      spent[hit] = (spent[hit] as number) + price;
      for (const [i, held] of unit.held.entries()) if (held > 0) (shown[hit] as Float64Array)[i] = 1;
    },
  };
}

/** Returns the units that are not far less likely than the likeliest, and the best of each hit. */
function likely(hits: readonly Choice[]): Open[] {
  const bests = hits.map(({ units }) => Math.max(0, ...units.map(({ chance }) => chance)));
  const most = Math.max(0, ...bests);
  const least = (unit: Unit) =>
    most * (unit.features.all > 0 || isAnswer(unit) ? LEAST.withWords : LEAST.without);
  return hits.flatMap(({ units }, hit) =>
    units
      .filter((unit) => unit.chance >= Math.min(least(unit), bests[hit] as number))
      .map((unit) => ({ hit, unit, length: unitLength(unit) })),
  );
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
    const { isOutput: _, ...shown } = row;
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

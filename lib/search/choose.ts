/**
 * Chooses the words of the found rows to show: the sentences that hold the question's words, those beside them that
 * settle it, and what was done. One budget over all hits, spent where a character says most. Pure, but for counting words.
 */

import { isFinding, replyOf } from "../language/speech.ts";
import { splitJoined } from "../language/words.ts";
import { findStems } from "./query.ts";
import type { PassageRow, Row } from "./rows.ts";

interface ChooseOptions {
  /** The worth of each stem of the question. */
  worths: ReadonlyMap<string, number>;
  /** Code points for the rows of all hits. */
  budget: number;
  /** Returns the cost of a row before its text. */
  rowCost: (row: Row) => number;
}

/** A row with what is shown of it. */
export interface ChosenRow {
  /** The row with its chosen sentences in order, and `…` where words are left out. */
  row: Row;
  /** True if it holds what was chosen first of its hit. */
  isBest: boolean;
}

/** A sentence or line of a row; a tool call's first unit is its head alone, its output has none. */
interface Unit {
  hit: number;
  row: number;
  start: number;
  end: number;
  isFirst: boolean;
  isLast: boolean;
  /** The share of each stem that the unit holds: 1, half for a part of a name. */
  held: Float64Array;
  /** The unit's worth beyond the question's words in it. */
  around: number;
}

/** Longer lines are cut at sentences, longer sentences anywhere. */
const UNIT_MAX = 300;
const SENTENCE_MIN = 40;
/** A row no longer than this is shown whole or not at all. answers, deeds: 250 … 300; 400 loses. */
const SHORT_ROW = 300;
/** Lines that follow each other are shown together up to so many characters. real2, codebench, deeds: 80 … 320. */
const LINES_TOGETHER = 160;
/** The worth of a stem the second time in a hit; its square the third time, and so on. */
const AGAIN = 0.25;
/** Worth against length: so many characters count as nothing, so that a short line is not the best one. */
const FREE_CHARACTERS = 220;
/** Each further hit is less likely to answer. */
const NEXT_HIT = 0.8;
/** Of rows around the passage. */
const OUTSIDE = 0.9;
/** The worth of a word in a tool call when it was also said. */
const DONE = 0.4;
/**
 * The part of a row's worth that goes to the sentence that opens or closes it, to one that states a finding, to a reply
 * of the user, and to what the user asked. real2, codebench, deeds: one part for all does as well as five of their own.
 */
const BY_PLACE = 0.15;
/** A longer message of the user asks for something new. */
const REPLY_MAX = 200;
/** The share of the budget that the first hit may take. */
const FIRST_SHARE = 0.6;
/** Code points of a cut, its count of items included. */
const CUT_CHARS = 6;

/** More rows than any hit has. */
const ROWS_MAX = 1_000_000;
/** Marks at both ends of a row. */
const ENDS = 4;

/** Chooses from the rows of each hit, best hit first; returns the chosen rows of each in order. */
export function chooseRows(hits: readonly (readonly PassageRow[])[], options: ChooseOptions): ChosenRow[][] {
  const units = readUnits(hits, options.worths);
  addSurroundings(units, hits, options.worths);
  const chosen = spend(units, hits, options);
  return hits.map((rows, hit) => {
    const best = chosen.find((unit) => unit.hit === hit);
    return rows.flatMap((row, i) => {
      const own = chosen.filter((unit) => unit.hit === hit && unit.row === i);
      return own.length > 0 ? [{ row: shownRow(row, own), isBest: best?.row === i }] : [];
    });
  });
}

/** Cuts a text into lines, long ones into sentences. */
function cutUnits(text: string): [start: number, end: number][] {
  const units: [number, number][] = [];
  for (const { index, 0: line } of text.matchAll(/[^\n]*\S[^\n]*/g)) {
    let from = 0;
    const cutAt = (end: number) => {
      for (; end - from > UNIT_MAX; from = whole(line, from + UNIT_MAX)) {
        units.push([index + from, index + whole(line, from + UNIT_MAX)]);
      }
      if (end > from) units.push([index + from, index + end]);
      from = end;
    };
    if (line.length > UNIT_MAX) {
      for (const mark of line.matchAll(/[.!?;:]["')\]]*\s+|[。！？]/g)) {
        const end = mark.index + mark[0].length;
        if (end - from >= SENTENCE_MIN) cutAt(end);
      }
    }
    cutAt(line.length);
  }
  return units;
}

/** Joins short lines that follow each other: a line of code or of a list says little alone. */
function joinShort(units: readonly [number, number][]): [number, number][] {
  const joined: [number, number][] = [];
  for (const [start, end] of units) {
    const last = joined.at(-1);
    if (last && end - last[0] <= LINES_TOGETHER) last[1] = end;
    else joined.push([start, end]);
  }
  return joined;
}

/** Returns a position that does not cut a surrogate pair. */
function whole(text: string, position: number): number {
  return (text.charCodeAt(position) & 0xfc00) === 0xdc00 ? position - 1 : position;
}

function readUnits(hits: readonly (readonly PassageRow[])[], worths: ReadonlyMap<string, number>): Unit[] {
  const numbers = new Map([...worths.keys()].map((stem, number) => [stem, number]));
  const units: Unit[] = [];
  const texts: string[][] = [];
  for (const [hit, rows] of hits.entries()) {
    for (const [row, { text, tool, isOutput }] of rows.entries()) {
      const isCall = tool !== undefined && !isOutput;
      const places = text.length <= SHORT_ROW ? [[0, text.length] as const] : joinShort(cutUnits(text));
      if (isCall && text.length > SHORT_ROW) places.unshift([0, 0]);
      for (const [i, [start, end]] of places.entries()) {
        const said = isCall && i === 0 ? `${tool} ${text.slice(start, end)}` : text.slice(start, end);
        texts.push([said, splitJoined(said)]);
        const held = new Float64Array(numbers.size);
        units.push({
          hit,
          row,
          start,
          end,
          isFirst: i === 0,
          isLast: i === places.length - 1,
          held,
          around: 0,
        });
      }
    }
  }
  findStems(numbers.keys(), texts, (stem, i, column) => {
    const { held } = units[i] as Unit;
    const number = numbers.get(stem) as number;
    held[number] = Math.max(held[number] as number, column === 0 ? 1 : 0.5);
  });
  discountDone(units, hits);
  return units;
}

/** Lowers the worth of tool calls whose words were also said; a word that only a tool call holds is shown there. */
function discountDone(units: readonly Unit[], hits: readonly (readonly PassageRow[])[]): void {
  const isDone = ({ hit, row }: Unit) => hits[hit]?.[row]?.who === "tool";
  const said = hits.map(() => new Set<number>());
  for (const unit of units) {
    if (!isDone(unit)) for (const [i, share] of unit.held.entries()) if (share > 0) said[unit.hit]?.add(i);
  }
  for (const unit of units.filter(isDone)) {
    for (const [i, share] of unit.held.entries()) {
      if (said[unit.hit]?.has(i)) unit.held[i] = share * DONE;
    }
  }
}

/** Adds to each unit for its place and for what it does. */
function addSurroundings(
  units: readonly Unit[],
  hits: readonly (readonly PassageRow[])[],
  worths: ReadonlyMap<string, number>,
): void {
  const values = [...worths.values()];
  const own = units.map(({ held }) => values.reduce((sum, worth, i) => sum + worth * (held[i] as number), 0));
  const ofRow = new Map<string, number>();
  const key = ({ hit, row }: Unit, step = 0) => `${hit} ${row + step}`;
  for (const [i, unit] of units.entries()) {
    ofRow.set(key(unit), Math.max(own[i] as number, ofRow.get(key(unit)) ?? 0));
  }
  for (const unit of units) {
    const row = hits[unit.hit]?.[unit.row] as PassageRow;
    const [here, before, after] = [0, -1, 1].map((step) => ofRow.get(key(unit, step)) ?? 0) as [
      number,
      number,
      number,
    ];
    const places = [
      unit.isFirst ? Math.max(here, before) : 0,
      unit.isLast ? here : 0,
      row.who === "user" ? Math.max(here, after) : 0,
      unit.isFirst && isReply(row) ? before : 0,
      isFinding(row.text.slice(unit.start, unit.end)) ? Math.max(here, before) : 0,
    ];
    unit.around = BY_PLACE * places.reduce((sum, worth) => sum + worth, 0);
  }
}

/** Returns whether a row may settle the one before it: not thanks, and not "continue". */
function isReply({ who, text }: Row): boolean {
  const act = replyOf(text);
  return who === "user" && text.length <= REPLY_MAX && act !== "thanks" && act !== "goesOn";
}

/** Takes the unit that is worth most for its length, again and again, until the budget is spent. */
function spend(
  units: readonly Unit[],
  hits: readonly (readonly PassageRow[])[],
  { worths, budget, rowCost }: ChooseOptions,
): Unit[] {
  const values = [...worths.values()];
  const shown = hits.map(() => new Float64Array(values.length));
  const spentOn = hits.map(() => 0);
  const open = new Set(units);
  const rows = new Set<number>();
  const chosen: Unit[] = [];
  let left = budget;
  const lengths = new Map(units.map((unit) => [unit, lengthOf(hits[unit.hit]?.[unit.row] as Row, unit)]));
  const beginnings = hits.map((own) => own.map((row) => rowCost(row) + ENDS));
  const costOf = (unit: Unit) => {
    const isBegun = rows.has(unit.hit * ROWS_MAX + unit.row);
    return (lengths.get(unit) ?? 0) + (isBegun ? CUT_CHARS : (beginnings[unit.hit]?.[unit.row] ?? 0));
  };
  const worthOf = ({ hit, row, held, around }: Unit) => {
    let sum = around;
    for (const [i, worth] of values.entries()) {
      const share = held[i] as number;
      if (share > 0) sum += worth * share * AGAIN ** ((shown[hit] as Float64Array)[i] as number);
    }
    return sum * NEXT_HIT ** hit * (hits[hit]?.[row]?.isInside ? 1 : OUTSIDE);
  };
  for (;;) {
    let [best, most, price] = [undefined as Unit | undefined, 0, 0];
    for (const unit of open) {
      const cost = costOf(unit);
      const isOver =
        unit.hit === 0 && (spentOn[0] as number) + cost > FIRST_SHARE * budget && hits.length > 1;
      if (cost > left || isOver) continue;
      const value = worthOf(unit) / (cost + FREE_CHARACTERS);
      if (value > most) [best, most, price] = [unit, value, cost];
    }
    if (!best) return chosen;
    open.delete(best);
    chosen.push(best);
    left -= price;
    spentOn[best.hit] = (spentOn[best.hit] as number) + price;
    rows.add(best.hit * ROWS_MAX + best.row);
    const counts = shown[best.hit] as Float64Array;
    for (const [i, share] of best.held.entries()) counts[i] = (counts[i] as number) + share;
  }
}

/** Returns the code points of a unit on one line. */
function lengthOf({ text }: Row, { start, end }: Unit): number {
  return [...text.slice(start, end).replace(/\s+/g, " ").trim()].length;
}

function shownRow(row: PassageRow, units: readonly Unit[]): Row {
  const { line, who, tool, rewound } = row;
  return {
    line,
    who,
    ...(tool !== undefined && { tool }),
    ...(rewound && { rewound }),
    text: textOf(row, units),
  };
}

/** The beginning of an item of a list. */
const ITEM = /^[ \t]*(?:[-*•]|\d+[.)])\s/gm;

/** Returns the chosen units of a row on one line; of a list that is shown in part the left out items are counted. */
function textOf({ text, tool }: Row, units: readonly Unit[]): string {
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

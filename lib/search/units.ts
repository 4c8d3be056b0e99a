/**
 * Cuts rows into units (a short row, a sentence or a line of a longer one, a call's head) and says how likely each answers: some
 * named features by one table of learned weights.
 */

import type { Measure } from "./measure.ts";
import type { PassageRow } from "./rows.ts";
import { type Feature, UNIT_WEIGHTS } from "./unit-weights.ts";

/** The worth of a question's words. */
export interface AskedWorth {
  /** The number of each stem. */
  numbers: ReadonlyMap<string, number>;
  /** The worth of each stem, all together 1: for all phrasings, and for each. */
  all: Float64Array;
  phrasings: readonly Float64Array[];
}

interface UnitOptions {
  asked: AskedWorth;
  measure: Measure;
  /** The place of the passage in the ranking, from 0. */
  rank: number;
  /** The ranking of the session, in parts of the best one's. */
  session: number;
  /** Returns the ranking of what stands in a row, in parts of the best. */
  chunk: (row: PassageRow) => number;
  /** True if it is of the time that was asked for. */
  isTimely: boolean;
}

/** A part of a row that is shown or left out; of a long call the first is its head alone. */
export interface Unit {
  row: PassageRow;
  start: number;
  end: number;
  /** The share of each stem that it holds: 1, half for a part of a name. */
  held: Float64Array;
  features: Record<Feature, number>;
  /** The likelihood of its being the answer, comparable within one search. */
  chance: number;
}

/**
 * The chance of each further passage's units, in parts of the one before. real2, codebench, deeds: 0.6 … 0.8 print 8 to 12 of 366
 * more than where the hits alone are ordered by it; 0.8 prints most of them within 1,000 code points.
 */
const NEXT_PASSAGE = 0.8;
/** A longer line is cut into sentences, a longer sentence anywhere. */
const UNIT_MAX = 300;
const SENTENCE_MIN = 60;
/** The most characters of consecutive lines that make one unit. real2, codebench, deeds: 80 … 320. */
const LINES_TOGETHER = 160;
/** The share of a word that a part of a name is. */
const PART = 0.5;
/** Words of a unit as long as most. */
const USUAL_WORDS = 30;
const WORD_CHARACTERS = 6;

/** Cuts the rows of a passage, given in order, into units. */
export function toUnits(rows: readonly PassageRow[], options: UnitOptions): Unit[] {
  const { asked, measure, rank, session, chunk, isTimely } = options;
  const cut = cutRows(rows, asked.numbers, measure);
  const inRow = cut.map((own) =>
    union(
      own.map(({ held }) => held),
      asked.numbers.size,
    ),
  );
  const prior = NEXT_PASSAGE ** rank;
  return rows.flatMap((row, i) => {
    const user = inRow[rows.findLastIndex(({ who }, at) => at < i && who === "user")];
    const shared = {
      around: bestShare(union(inRow.slice(Math.max(0, i - 1), i + 2), asked.numbers.size), asked),
      session,
      chunk: chunk(row),
      user: row.who === "user" ? 1 : 0,
      assistant: row.who === "assistant" ? 1 : 0,
      reply: row.who === "user" || !user ? 0 : bestShare(user, asked),
      time: isTimely ? 1 : 0,
    };
    return (cut[i] as Cut[]).map(({ start, end, held, isFirst }): Unit => {
      const all = shareOf(held, asked.all);
      const words = Math.max(1, (end - start) / WORD_CHARACTERS) / USUAL_WORDS;
      const features = {
        ...shared,
        all,
        best: bestShare(held, asked),
        first: isFirst ? 1 : 0,
        dense: all / (0.5 + 0.5 * words),
      };
      return { row, start, end, held, features, chance: prior * chanceOf(features) };
    });
  });
}

function chanceOf(features: Unit["features"]): number {
  let sum = 0;
  for (const [name, weight] of Object.entries(UNIT_WEIGHTS)) sum += weight * features[name as Feature];
  return Math.exp(sum);
}

/** Returns the share of a question's worth that some stems make. */
function shareOf(held: Float64Array, worths: Float64Array): number {
  return worths.reduce((sum, worth, i) => sum + worth * (held[i] as number), 0);
}

function bestShare(held: Float64Array, { phrasings }: AskedWorth): number {
  return Math.max(0, ...phrasings.map((worths) => shareOf(held, worths)));
}

/** Returns the most of each stem that some units hold. */
function union(all: readonly Float64Array[], size: number): Float64Array {
  return all.reduce(
    (most, held) => most.map((share, i) => Math.max(share, held[i] as number)),
    new Float64Array(size),
  );
}

interface Cut extends Pick<Unit, "start" | "end" | "held"> {
  isFirst: boolean;
}

/** Cuts each row into parts. */
function cutRows(
  rows: readonly PassageRow[],
  numbers: ReadonlyMap<string, number>,
  measure: Measure,
): Cut[][] {
  const texts = measure(rows.map(({ text }) => text));
  const heads = measure(rows.map(({ tool = "" }) => tool));
  return rows.map((row, r) => {
    const isCall = row.tool !== undefined && !row.isOutput;
    const places = row.text.length <= UNIT_MAX ? [[0, row.text.length] as const] : cutText(row.text);
    if (isCall && row.text.length > UNIT_MAX) places.unshift([0, 0]);
    return places.map(([start, end], i): Cut => {
      const held = new Float64Array(numbers.size);
      const within = texts[r]?.filter((one) => one.start >= start && one.start < end) ?? [];
      for (const { stem, isPart } of [...within, ...((isCall && i === 0 && heads[r]) || [])]) {
        const number = numbers.get(stem) as number;
        held[number] = Math.max(held[number] as number, isPart ? PART : 1);
      }
      return { start, end, held, isFirst: i === 0 };
    });
  });
}

/** A heading, or an announcement of what follows. */
const ANNOUNCES = /^[ \t]*#{1,6}[ \t][^\n]*$|:[*_`]*\s*$/;

/** Cuts a text into lines, long ones into sentences; short ones that follow each other and what is announced stay together. */
function cutText(text: string): (readonly [number, number])[] {
  const units: [number, number][] = [];
  for (const [start, end] of cutLines(text)) {
    const last = units.at(-1);
    if (last && (ANNOUNCES.test(text.slice(...last)) || end - last[0] <= LINES_TOGETHER)) last[1] = end;
    else units.push([start, end]);
  }
  return units;
}

function cutLines(text: string): [start: number, end: number][] {
  const units: [number, number][] = [];
  for (const { index, 0: line } of text.matchAll(/[^\n]*\S[^\n]*/g)) {
    let from = 0;
    const cutAt = (end: number) => {
      for (; end - from > UNIT_MAX; from = whole(line, from + UNIT_MAX))
        units.push([index + from, index + whole(line, from + UNIT_MAX)]);
      if (end > from) units.push([index + from, index + end]);
      from = end;
    };
    if (line.length > UNIT_MAX) {
      for (const mark of line.matchAll(/[.!?;]["')\]]*\s+|[。！？]/g)) {
        const end = mark.index + mark[0].length;
        if (end - from >= SENTENCE_MIN) cutAt(end);
      }
    }
    cutAt(line.length);
  }
  return units;
}

/** Returns a position that does not cut a surrogate pair. */
function whole(text: string, position: number): number {
  return (text.charCodeAt(position) & 0xfc00) === 0xdc00 ? position - 1 : position;
}

/**
 * Chooses what to show of the rows of hits: the sentences that hold the question's words, those beside them that settle it,
 * and what was done. One budget of characters for all hits is spent where a character is worth most, and the hit with the
 * best sentence goes first. Pure, but for counting words.
 */

import { isConcession, isFinding, isQuestion, readReply } from "../language/speech.ts";
import { foldText } from "../language/words.ts";
import type { Measure } from "./measure.ts";
import type { PassageRow, ShownRow } from "./rows.ts";

interface ChooseOptions {
  /** Code points for the rows of all hits. */
  budget: number;
  /** Code points of the lines around each hit's rows. */
  headCosts: readonly number[];
  /** Returns the cost of a row before its text. */
  rowCost: (row: ShownRow) => number;
}

/** The rows of a hit to choose from, in order, cut into what is shown or left out. */
export interface Choice {
  rows: readonly PassageRow[];
  units: readonly Unit[];
  /** The stems of the question, and what each is worth. */
  stems: readonly string[];
  worths: readonly number[];
}

/** What was chosen of a hit. */
export interface Chosen {
  /** The row that says most, then the others in their order. */
  rows: ShownRow[];
  /** The parts of them in the order in which they were chosen, with the stems that each holds. */
  parts: { line: number; stems: string[]; worth: number }[];
}

/** A sentence or line of a row; a tool call's first unit is its head alone, its output has none. */
interface Unit {
  /** Its row's position among those of the hit. */
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

/** Longer lines are cut into sentences, longer sentences anywhere. */
const UNIT_MAX = 300;
const SENTENCE_MIN = 60;
/** A row no longer than this is shown whole or not at all. answers, deeds: 250 … 300; 400 loses. */
const SHORT_ROW = 300;
/** Lines that follow each other are shown together up to so many characters. real2, codebench, deeds: 80 … 320. */
const LINES_TOGETHER = 160;
/** The worth of a stem the second time in a hit; its square the third time, and so on. */
const AGAIN = 0.25;
/** Added to each length before worth is divided by it, so that the shortest line is not always the best. */
const FREE_CHARACTERS = 220;
/** Each further hit is less likely to answer. real2, codebench, deeds: 0.6 … 0.8 within 3 of 252. */
const NEXT_HIT = 0.75;
/** The factor for rows around the passage. */
const OUTSIDE = 0.9;
/** The worth of a word in a tool call when it was also said. */
const DONE = 0.4;
/** The share of a word that a part of a name is. */
const PART = 0.5;
/**
 * The part of a row's worth that goes to the sentence that opens or closes it, to one that states a finding, to a reply
 * of the user, and to what the user asked. real2, codebench, deeds: one part for all does as well as five of their own.
 */
const BY_PLACE = 0.15;
/**
 * The part of a row's worth that goes to the row that settles it: of a question's to its answer, of a failed call's to its
 * output, of an admission's to the words that it admits. real2, codebench, deeds: 0.15 … 0.3 answer 259 to 261 of 366.
 */
const BY_ANSWER = 0.3;
/** The share of it for the user's words behind a call that was turned down. real2, codebench, deeds: 1 answers 2 fewer of 366. */
const TURNED_DOWN = 0.5;
/** The part of its best word that a whole name is worth beyond its words. real2, codebench, deeds: 0.2 … 0.6 answer 257 to 261. */
const BY_NAME = 0.3;
/** The part of a user row's worth added where the user's words are asked for. real2, codebench, deeds: 0.3 … 1 the same. */
const BY_SPEAKER = 0.3;
/** A shorter message says nothing beside another: "commit", "7". real2, codebench, deeds: 0 … 25 answer the same. */
const FEW_CHARS = 12;
/** A longer message of the user asks for something new. */
const REPLY_MAX = 200;
/** The share of the budget that the first hit may take. */
const FIRST_SHARE = 0.5;
/** Code points of a cut, its count of items included. */
const CUT_CHARS = 6;

/** Marks at both ends of a row. */
const ENDS = 4;

/**
 * Chooses from the rows of each hit, best hit first; returns what is chosen of each, rows with their chosen sentences and `…`
 * where words are left out.
 */
export function chooseRows(hits: readonly Choice[], options: ChooseOptions): Chosen[] {
  const taken = Map.groupBy(spend(hits, options), ({ hit }) => hit);
  return hits.map(({ rows, stems }, hit): Chosen => {
    const own = taken.get(hit) ?? [];
    const units = own.map(({ unit }) => unit);
    const [best] = units;
    const order = [...new Set([...(best ? [best.row] : []), ...rows.keys()])];
    return {
      rows: order.flatMap((i) => {
        const shown = units.filter(({ row }) => row === i);
        return shown.length > 0 ? [shownRow(rows[i] as PassageRow, shown)] : [];
      }),
      parts: own.map(({ unit: { row, held }, worth }) => ({
        line: (rows[row] as PassageRow).line,
        stems: stems.filter((_, i) => (held[i] as number) > 0),
        worth,
      })),
    };
  });
}

/** Returns hits given by rank, the one whose best sentence says most first. */
export function byBestSentence<H extends { choice: Choice }>(hits: readonly H[]): H[] {
  return hits
    .map((hit, rank) => ({ hit, worth: NEXT_HIT ** rank * bestWorth(hit.choice) }))
    .sort((a, b) => b.worth - a.worth)
    .map(({ hit }) => hit);
}

/** Returns the worth of the best sentence of a passage itself. */
function bestWorth({ rows, units, worths }: Choice): number {
  return Math.max(0, ...units.map((unit) => (rows[unit.row]?.isInside ? ownWorth(unit, worths) : 0)));
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

/** What the rows of a hit are chosen by. */
export interface AskedOfRows {
  /** The worth of each stem. */
  worths: ReadonlyMap<string, number>;
  /** The names of the question as they must stand in a text, folded, and the worth of their best word. */
  names: ReadonlyMap<string, number>;
  /** True if what the user said is asked for. */
  isForUser: boolean;
}

/** Reads the choice of a hit's rows. */
export function readChoice(
  rows: readonly PassageRow[],
  { asked, measure }: { asked: AskedOfRows; measure: Measure },
): Choice {
  const { worths } = asked;
  const own = [...worths.values()];
  const units = discountDone(rows, holdings(rows, { stems: [...worths.keys()], measure }));
  const best = rows.map(() => 0);
  for (const unit of units) best[unit.row] = Math.max(best[unit.row] as number, ownWorth(unit, own));
  const settled = listSettled(rows, best);
  return {
    rows,
    stems: [...worths.keys()],
    worths: own,
    units: units.map((unit) => ({ ...unit, around: worthAround(unit, { rows, best, settled, asked }) })),
  };
}

/** A unit before it is known what stands around it. */
type BareUnit = Omit<Unit, "around">;

/** Cuts rows into units, each with what it holds of the question. */
function holdings(
  rows: readonly PassageRow[],
  { stems, measure }: { stems: readonly string[]; measure: Measure },
): BareUnit[] {
  const numbers = new Map(stems.map((stem, number) => [stem, number]));
  const texts = measure(rows.map(({ text }) => text));
  const heads = measure(rows.map(({ tool = "" }) => tool));
  return rows.flatMap(({ text, tool, isOutput }, row) => {
    const isCall = tool !== undefined && !isOutput;
    const places = text.length <= SHORT_ROW ? [[0, text.length] as const] : joinShort(cutUnits(text));
    if (isCall && text.length > SHORT_ROW) places.unshift([0, 0]);
    return places.map(([start, end], i): BareUnit => {
      const held = new Float64Array(stems.length);
      const within = texts[row]?.found.filter((one) => one.start >= start && one.start < end) ?? [];
      for (const { stem, isPart } of [...within, ...(isCall && i === 0 ? (heads[row]?.found ?? []) : [])]) {
        const number = numbers.get(stem) as number;
        held[number] = Math.max(held[number] as number, isPart ? PART : 1);
      }
      return { row, start, end, isFirst: i === 0, isLast: i === places.length - 1, held };
    });
  });
}

/** Lowers the worth of tool calls whose words were also said; a word that only a tool call holds is shown there. */
function discountDone(rows: readonly PassageRow[], units: readonly BareUnit[]): BareUnit[] {
  const isDone = ({ row }: BareUnit) => rows[row]?.who === "tool";
  const said = units.filter((unit) => !isDone(unit));
  const isSaid = (i: number) => said.some(({ held }) => held[i] !== 0);
  return units.map((unit) =>
    isDone(unit)
      ? { ...unit, held: unit.held.map((share, i) => (share > 0 && isSaid(i) ? share * DONE : share)) }
      : unit,
  );
}

/** Returns what a unit holds of the question. */
function ownWorth({ held }: Pick<Unit, "held">, worths: readonly number[]): number {
  return worths.reduce((sum, worth, i) => sum + worth * (held[i] as number), 0);
}

/**
 * Returns for each row the worth of the row that it settles: of the user's question that it answers, being the last that was
 * said before the user's next; of the call whose failure it is; of the call behind whose refusal the user says why; of the
 * answer that says the user is right with it.
 */
function listSettled(rows: readonly PassageRow[], best: readonly number[]): number[] {
  const settled = rows.map(() => 0);
  let question = 0;
  let call: { outcome?: PassageRow["outcome"]; worth: number } = { worth: 0 };
  const said = [...rows.keys()].filter((i) => rows[i]?.who !== "tool");
  const isSaidBy = (who: string, i = -1) => rows[i]?.who === who;
  for (const [i, { who, text, isOutput, outcome }] of rows.entries()) {
    const worth = best[i] as number;
    if (who === "tool") {
      if (!isOutput) call = { ...(outcome && { outcome }), worth };
      else if (outcome === "failed") settled[i] = call.worth;
      continue;
    }
    const n = said.indexOf(i);
    if (who === "user") {
      if (call.outcome === "rejected") settled[i] = TURNED_DOWN * call.worth;
      question = isQuestion(text) ? worth : 0;
    } else {
      const before = said[n - 1] ?? -1;
      if (isSaidBy("user", before) && isConcession(text)) settled[before] = worth;
      if (!isSaidBy("assistant", said[n + 1])) settled[i] = question;
    }
    call = { worth: 0 };
  }
  return settled;
}

/** Returns a unit's worth for its place and for what it does, by the `best` units of its row and of those beside it. */
function worthAround(
  unit: BareUnit,
  {
    rows,
    best,
    settled,
    asked: { names, isForUser },
  }: { rows: readonly PassageRow[]; best: readonly number[]; settled: readonly number[]; asked: AskedOfRows },
): number {
  const row = rows[unit.row] as PassageRow;
  const at = (step: number) => best[unit.row + step] ?? 0;
  const places = [
    unit.isFirst ? Math.max(at(0), at(-1)) : 0,
    unit.isLast ? at(0) : 0,
    row.who === "user" ? Math.max(at(0), at(1)) : 0,
    unit.isFirst && isReply(row) ? at(-1) : 0,
    isFinding(row.text.slice(unit.start, unit.end)) ? Math.max(at(0), at(-1)) : 0,
  ];
  if (isBareReply(unit, rows)) return 0;
  const answers = unit.isFirst || unit.isLast ? (settled[unit.row] as number) : 0;
  const text = foldText(row.text.slice(unit.start, unit.end));
  const named = [...names].reduce((sum, [name, worth]) => sum + (text.includes(name) ? worth : 0), 0);
  const around = places.reduce((sum, worth) => sum + worth, 0);
  const own = isForUser && row.who === "user" ? at(0) : 0;
  return BY_PLACE * around + BY_ANSWER * answers + BY_NAME * named + BY_SPEAKER * own;
}

/** Returns whether a message of a word or two holds none of the question's, and answers no other. */
function isBareReply({ row, held }: BareUnit, rows: readonly PassageRow[]): boolean {
  const { who, text } = rows[row] as PassageRow;
  const before = rows[row - 1];
  const isAnswer = before !== undefined && before.who !== "tool" && isQuestion(before.text);
  return who !== "tool" && text.trim().length < FEW_CHARS && !isAnswer && held.every((share) => share === 0);
}

/** Returns whether a row may settle the one before it: not thanks, and not "continue". */
function isReply({ who, text }: ShownRow): boolean {
  const act = readReply(text);
  return who === "user" && text.length <= REPLY_MAX && act !== "thanks" && act !== "goesOn";
}

/** A unit that may be taken. */
interface OpenUnit {
  /** The position of its hit. */
  hit: number;
  unit: Unit;
  /** Code points. */
  length: number;
}

/** A unit that was taken, and what it was worth then. */
interface Taken extends OpenUnit {
  worth: number;
}

/** Takes the unit that is worth most for its length, again and again, until the budget is spent. */
function spend(hits: readonly Choice[], { budget, headCosts, rowCost }: ChooseOptions): Taken[] {
  const shown = hits.map(({ worths }) => new Float64Array(worths.length));
  const spentOn = hits.map(() => 0);
  const costs = hits.map(({ rows }) => rows.map((row) => rowCost(row) + ENDS));
  const open = new Set(
    hits.flatMap(({ rows, units }, hit) =>
      units.map((unit) => ({ hit, unit, length: unitLength(rows[unit.row] as ShownRow, unit) })),
    ),
  );
  const begun = new Set<ShownRow>();
  const chosen: Taken[] = [];
  let left = budget;
  const rowOf = ({ hit, unit }: OpenUnit) => hits[hit]?.rows[unit.row] as PassageRow;
  const worthOf = (one: OpenUnit) => {
    const { held, around } = one.unit;
    const counts = shown[one.hit] as Float64Array;
    let sum = around;
    for (const [i, worth] of (hits[one.hit] as Choice).worths.entries()) {
      const share = held[i] as number;
      if (share > 0) sum += worth * share * AGAIN ** (counts[i] as number);
    }
    return sum * NEXT_HIT ** one.hit * (rowOf(one).isInside ? 1 : OUTSIDE);
  };
  for (;;) {
    let [best, most, price] = [undefined as OpenUnit | undefined, 0, 0];
    for (const one of open) {
      const { hit, unit, length } = one;
      const head = spentOn[hit] === 0 ? (headCosts[hit] as number) : 0;
      const cost = head + length + (begun.has(rowOf(one)) ? CUT_CHARS : (costs[hit]?.[unit.row] as number));
      const isMore = hit === 0 && hits.length > 1 && begun.size > 0;
      const isOver = isMore && (spentOn[0] as number) + cost > FIRST_SHARE * budget;
      if (cost > left || isOver) continue;
      const value = worthOf(one) / (cost - head + FREE_CHARACTERS);
      if (value > most) [best, most, price] = [one, value, cost];
    }
    if (!best) return chosen;
    open.delete(best);
    chosen.push({ ...best, worth: worthOf(best) });
    left -= price;
    spentOn[best.hit] = (spentOn[best.hit] as number) + price;
    begun.add(rowOf(best));
    const counts = shown[best.hit] as Float64Array;
    for (const [i, share] of best.unit.held.entries()) counts[i] = (counts[i] as number) + share;
  }
}

/** Returns the code points of a unit on one line. */
function unitLength({ text }: ShownRow, { start, end }: Unit): number {
  return [...text.slice(start, end).replace(/\s+/g, " ").trim()].length;
}

function shownRow(row: PassageRow, units: readonly Unit[]): ShownRow {
  const { line, who, tool, deed, rewound } = row;
  return {
    line,
    who,
    ...(tool !== undefined && { tool }),
    ...(deed && { deed }),
    ...(rewound && { rewound }),
    text: shownText(row, units),
  };
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

/** Formats hits as lines within a budget of code points: the rows that answer, one line a hit, or one line a session. */

import { countPoints, cutLine, joinFacts, type Line, linesWithin, type Part } from "../base/output.ts";
import { counted, formatRange, oneLine } from "../base/text.ts";
import { formatLocal, formatMinute } from "../base/time.ts";
import type { Participants } from "../config/config.ts";
import type { Done } from "../hosts/session.ts";
import { isFiller } from "../language/speech.ts";
import {
  describeSubject,
  type Explanation,
  type Hit,
  type HitStyle,
  isStrong,
  leadFirst,
  readLoss,
  shownName,
  shownProject,
} from "./hit.ts";
import { rowParts, type ShownRow } from "./rows.ts";

export interface PrintOptions extends HitStyle {
  /** Code points of all output, its line ends included. */
  maxChars: number;
}

/** The most results of one search: more is a listing. */
export const LIMIT_MAX = 100;
/** Places named after a hit at most; JSON holds all. */
const ALSO_MAX = 5;
const NAME_MAX = 44;
const PROJECT_MAX = 24;
const COPIES_MAX = 3;
/** Code points of an exchange before or after a hit. */
const AROUND_MAX = 700;
/** Hits printed where none is strong, and the code points of that output, which promises 1,150 at most. */
export const UNCERTAIN_HITS = 3; // promised
export const UNCERTAIN_CHARS = 1000;
/** The most weak sessions listed after strong ones; further ones are guesses. */
const WEAK_SESSIONS = 3;
const WEAK_LINE = 136;
/** Code points of its row that a hit on one line shows at least: less of it cannot be read. */
const ROW_LEAST = 60;
/** Code points before its text: ` · L1234 Assistant: `. */
const ROW_START = 20;
const BRIEF_LINE = 160;
/** A session's line if it fits, and the places named in it. */
const SESSION_LINE = 480;
const PLACES_NAMED = 3;
const WEAK_FROM_HERE: Line = { kind: "text", parts: [["faint", "weak from here:"]] };
const NOTHING_CERTAIN: Line = { kind: "text", parts: [["faint", "nothing certain; nearest:"]] };

/** The hits of a search that are not returned. */
export interface Beyond {
  /** Strong places behind the limit. */
  strong: number;
  limit: number;
}

/** Says how many strong hits are left out, and which option shows them. */
export function leftOutLine({ strong, limit }: Beyond): Line {
  const counts = `${strong} more strong ${strong === 1 ? "hit" : "hits"}`;
  const text = `${counts}: --limit ${Math.min(LIMIT_MAX, limit + strong)}`;
  return { kind: "text", parts: [["faint", strong === 0 ? "no other strong hit" : text]] };
}

/** Prints the rows of the hits that have them, and of the others one line each in what is left of the characters. */
export function printHits(found: readonly Hit[], beyond: Beyond, options: PrintOptions): Line[] {
  if (found.length === 0) return [];
  const isCertain = found.some(isStrong);
  const shown = isCertain ? found : found.slice(0, UNCERTAIN_HITS);
  const top = isCertain ? [] : [NOTHING_CERTAIN];
  const open = shown.filter(({ isOpen }) => isOpen);
  const rest = isCertain ? [leftOutLine(beyond)] : [];
  const maxChars = options.maxChars - countPoints([...top, ...rest]);
  const around = (which: string, texts: readonly string[] = []) =>
    texts.map((text) => rowLine(`   ${which}: ${oneLine(text, AROUND_MAX)}`));
  const blocks = open.map((hit, i) => ({
    head: formatHead(open, i, options),
    rows: [
      ...around("before", hit.passage?.before),
      ...hit.rows.map((row) => shownLine(row, options)),
      ...around("after", hit.passage?.after),
    ],
    rest: footLines(hit, options),
  }));
  const lines = linesWithin(fit(blocks, maxChars), maxChars);
  let strong = beyond.strong + found.filter(isStrong).length - open.filter(isStrong).length;
  let position = open.length;
  for (const one of shown.filter(({ isOpen }) => !isOpen)) {
    const line = formatLine(one, { position, max: WEAK_LINE, isRowShown: true }, options);
    if (lines.length > 0 && countPoints([...lines, line]) > maxChars) continue;
    lines.push(line);
    position++;
    if (isStrong(one)) strong--;
  }
  const printed = [...top, ...linesWithin(lines, maxChars)];
  return isCertain
    ? linesWithin([...printed, leftOutLine({ ...beyond, strong })], options.maxChars)
    : printed;
}

/** Returns a row below the count of those left out before it. */
function shownLine(row: ShownRow, { participants }: PrintOptions): Line {
  const gap = row.skipped ? `   … ${counted(row.skipped, "row")}\n` : "";
  return rowLine(["faint", gap], "   ", ...rowParts(row, participants));
}

/** Names the words that no session holds, if any. */
export function nowhereLines(words: readonly string[]): Line[] {
  if (words.length === 0) return [];
  const line = { kind: "text" as const, parts: [["faint", "in no session: "] as const, words.join(", ")] };
  return [cutLine(line, WEAK_LINE)];
}

/** Prints hits with whole rows, line breaks kept. */
export function printFull(found: readonly Hit[], options: PrintOptions): Line[] {
  const lines = found.flatMap((hit, i) => [
    formatHead(found, i, options),
    ...hit.rows.map((row) => wholeRow(row, options.participants)),
    ...footLines(hit, options),
  ]);
  let left = options.maxChars;
  for (const [i, line] of lines.entries()) {
    const cost = countPoints([line]);
    const isLast = i === lines.length - 1;
    if (cost <= left - (isLast ? 0 : 2)) left -= cost;
    else return [...lines.slice(0, i), cutLine(line, left - 1)];
  }
  return lines;
}

/** Returns a row with its line breaks; what continues it is indented, so that no text can pass for another row. */
export function wholeRow(row: ShownRow, participants?: Participants): Line {
  const text = row.text.trimEnd().replace(/\n/g, "\n     ");
  return rowLine("   ", ...rowParts({ ...row, text }, participants));
}

export function rowLine(...parts: Part[]): Line {
  return { kind: "row", parts };
}

/** Prints one line a hit. */
export function printBrief(found: readonly Hit[], options: PrintOptions): Line[] {
  const lines = found.map((one, position) => formatLine(one, { position, max: BRIEF_LINE }, options));
  return linesWithin(lines, options.maxChars);
}

interface SessionOptions extends PrintOptions {
  limit: number;
  /** Returns whether a call only looks. */
  isLook: (deed: Done) => boolean;
  resumeOf?: ((hit: Hit) => string | undefined) | undefined;
  /** True if the sessions stand in the order of their times. @default {false} */
  isByTime?: boolean | undefined;
}

/** Prints one line a session: the places where it is spoken of, and the row that says it best; weak ones below a line of text. */
export function printBySession(found: readonly Hit[], options: SessionOptions): Line[] {
  if (found.length === 0) return [];
  const { maxChars, limit, isByTime } = options;
  const sessions = [...Map.groupBy(found, ({ session }) => session.id).values()];
  const strong = sessions.filter((own) => own.some(isStrong));
  const weak = sessions.filter((own) => !own.some(isStrong));
  const isCertain = strong.length > 0;
  const first = isCertain ? strong.slice(0, limit) : weak.slice(0, Math.min(limit, UNCERTAIN_HITS));
  const timeOf = ([hit]: readonly Hit[]) => hit?.at ?? "";
  if (isByTime) first.sort((a, b) => timeOf(a).localeCompare(timeOf(b)));
  const others = isCertain ? weak.slice(0, Math.min(limit - first.length, WEAK_SESSIONS)) : [];
  const top = isCertain ? [] : [NOTHING_CERTAIN];
  const rest = [
    ...(others.length > 0 ? [WEAK_FROM_HERE] : []),
    ...others.map((own, i) => sessionLine(own, first.length + i, WEAK_LINE, options)),
  ];
  const share = Math.floor((maxChars - countPoints([...top, ...rest])) / first.length) - 1;
  const most = Math.min(SESSION_LINE, Math.max(BRIEF_LINE, share));
  const lines = first.map((own, i) => sessionLine(own, i, most, options));
  return linesWithin([...top, ...lines, ...rest], maxChars);
}

/** Returns a session's line: what it is called, where it speaks of the question, and the row that says it best. */
function sessionLine(own: readonly Hit[], i: number, max: number, options: SessionOptions): Line {
  const hit = own.find(isStrong) ?? (own[0] as Hit);
  const { participants, isLook, resumeOf } = options;
  const places = mergeRanges([...own.map(({ from, to }) => [from, to] as const), ...hit.also]);
  const named = places.slice(0, PLACES_NAMED).map(([from, to]) => formatRange(from, to));
  const head = headLine(
    i,
    joinFacts([
      ["name", options.shortId(hit.session)],
      ...sessionParts(hit, options),
      timePart(hit.at, options.timezone),
      strengthPart(hit),
      goneMark(hit),
      `${counted(places.length, "place")}: ${named.join(", ")}`,
    ]),
  );
  const best = bestParts(tellingRow(own, isLook), participants, describeSubject(hit, options));
  const line = cutLine({ ...head, parts: [...head.parts, ...best] }, lineMax(head, max));
  const command = resumeOf?.(hit);
  return command === undefined ? line : { ...line, parts: [...line.parts, `\n   ${command}`] };
}

/** Announces what follows it. */
const ANNOUNCES = /^[^\n]{0,200}:\s*$/;

/** Returns the best row of a session's hits that was said or changed; a bare look or an announcement only where all are. */
function tellingRow(own: readonly Hit[], isLook: (deed: Done) => boolean): ShownRow | undefined {
  const rows = own.flatMap(leadFirst);
  return (
    rows.find(
      ({ who, deed, text }) =>
        !(who === "tool" ? deed && isLook(deed) : isFiller(text) || ANNOUNCES.test(text)),
    ) ?? rows[0]
  );
}

/** Merges line ranges that overlap or adjoin; the order of the first of each stays. */
export function mergeRanges(ranges: readonly (readonly [number, number])[]): [number, number][] {
  const merged: [number, number][] = [];
  for (const [from, to] of ranges) {
    const touching = merged.filter(([a, b]) => from <= b + 1 && to >= a - 1);
    const first = touching[0];
    if (!first) {
      merged.push([from, to]);
      continue;
    }
    for (const other of touching.slice(1)) merged.splice(merged.indexOf(other), 1);
    first[0] = Math.min(from, ...touching.map(([a]) => a));
    first[1] = Math.max(to, ...touching.map(([, b]) => b));
  }
  return merged;
}

/** The text of a hit's head line. */
type HeadFacts = Pick<Hit, "session" | "at" | "from" | "to" | "score" | "without" | "summary">;

/** Returns the head line of a hit; a session that was named above is not named again. */
export function formatHead(hits: readonly HeadFacts[], i: number, style: HitStyle): Line {
  const hit = hits[i] as HeadFacts;
  const isNamed = hits.slice(0, i).some(({ session }) => session.id === hit.session.id);
  const { summary, without } = hit;
  const marks = [
    strengthPart(hit),
    without.length > 0 ? `without ${without.join(", ")}` : undefined,
    goneMark(hit),
  ];
  return headLine(
    i,
    joinFacts([
      ["name", formatPlace(hit, style)],
      ...(isNamed ? [] : sessionParts(hit, style)),
      timePart(hit.at, style.timezone),
      ...(summary === undefined ? marks : [summary]),
    ]),
  );
}

/** Returns the head of a result by its position. */
export function headLine(i: number, parts: readonly Part[]): Line {
  return { kind: "result", parts: [["faint", `${i + 1}. `], ...parts] };
}

/** Marks a hit whose transcript its host has deleted. */
function goneMark(hit: Pick<Hit, "session">): string {
  const { isArchived, isGone, isPromptsAlone } = readLoss(hit);
  if (isPromptsAlone) return "prompts alone";
  if (isArchived) return "archive";
  return isGone ? "transcript gone" : "";
}

function strengthPart(hit: Pick<Hit, "score">): Part {
  return isStrong(hit) ? ["good", "strong"] : ["faint", "weak"];
}

/** A result with its rows and the lines below them. */
export interface Block {
  head: Line;
  rows: Line[];
  rest: Line[];
}

/**
 * Leaves out rows from the last block on, between the first, which says what, and the last, which says how it ended; then the
 * lines below the rows, then all rows, until all fits or only the heads are left.
 */
export function fit(blocks: Block[], maxChars: number): Line[] {
  const isOver = () => countPoints(joinBlocks(blocks)) > maxChars;
  for (const { rows } of blocks.toReversed())
    while (isOver() && rows.length > 1) rows.splice(Math.max(1, rows.length - 2), 1);
  for (const { rest } of blocks.toReversed()) while (isOver() && rest.length > 0) rest.pop();
  for (const { rows } of blocks.toReversed()) while (isOver() && rows.length > 0) rows.pop();
  return joinBlocks(blocks);
}

export function joinBlocks(blocks: readonly Block[]): Line[] {
  return blocks.flatMap(({ head, rows, rest }) => [head, ...rows, ...rest]);
}

/** Returns a hit on one line: its place, its strength and its best row. */
function formatLine(
  hit: Hit,
  { position, max, isRowShown = false }: { position: number; max: number; isRowShown?: boolean },
  style: HitStyle,
): Line {
  const [name] = sessionParts(hit, style);
  const day = formatLocal(hit.at, style.timezone).slice(0, 10);
  const facts = joinFacts([["name", formatPlace(hit, style)], name, ["time", day], strengthPart(hit)]);
  const best = bestParts(leadFirst(hit)[0], style.participants, describeSubject(hit, style));
  const head = headLine(position, facts);
  return cutLine(headLine(position, [...facts, ...best]), isRowShown ? lineMax(head, max) : max);
}

/** Returns the code points of a line behind whose head there is room to read its row. */
function lineMax(head: Line, max: number): number {
  return Math.max(max, countPoints([head]) + ROW_START + ROW_LEAST);
}

/** Returns the row that says most, on one line after other facts; without a row, what the hit is about. */
function bestParts(
  row: ShownRow | undefined,
  participants: HitStyle["participants"],
  subject: string,
): Part[] {
  if (!row) return subject === "" ? [] : [" · ", ["said", oneLine(subject, SESSION_LINE)]];
  return [" · ", ...rowParts({ ...row, text: oneLine(row.text, SESSION_LINE) }, participants)];
}

/** Lists other places in the session, copies of it, and why it was found. */
export function footLines(
  { also, takenBack = [], copies, explain }: Pick<Hit, "also" | "takenBack" | "copies" | "explain">,
  { nameOf }: HitStyle,
): Line[] {
  const rest = [...placesLine("taken back before:", takenBack), ...alsoLines(also)];
  if (copies.length > 0) {
    const named = copies.slice(0, COPIES_MAX).map((copy) => oneLine(nameOf(copy) ?? copy.id, NAME_MAX));
    rest.push(foot(`also in ${named.join(", ")}`));
  }
  if (explain) rest.push(...formatExplanation(explain).map(foot));
  return rest;
}

/** Names a session's other places on one line, if any. */
export function alsoLines(places: readonly (readonly [number, number])[]): Line[] {
  return placesLine("also", places);
}

function placesLine(what: string, places: readonly (readonly [number, number])[]): Line[] {
  if (places.length === 0) return [];
  const more = places.length > ALSO_MAX ? [`${places.length - ALSO_MAX} more`] : [];
  const named = [...places.slice(0, ALSO_MAX).map(([from, to]) => formatRange(from, to)), ...more];
  return [foot(`${what} ${named.join(", ")}`)];
}

function foot(text: string): Line {
  return { kind: "text", parts: [["faint", `   ${text}`]] };
}

/** Returns the evidence of a hit: why it was found, by which words it was judged, and what was chosen of it. */
function formatExplanation({ ranks, together, chosen }: Explanation): string[] {
  const why = ranks.map((rank, i) => `phrasing ${i + 1} ${rank === null ? "not found" : `#${rank}`}`);
  const rows = chosen.map(({ line, words, worth }) => `L${line} ${worth} ${words.join(", ")}`.trimEnd());
  return [
    ...(together.length > 0 ? [`close together: ${together.join(", ")}`] : []),
    ...(rows.length > 0 ? [`chosen: ${rows.join("; ")}`] : []),
    `why: ${why.join("; ")}`,
  ];
}

/** Returns a hit's place as references take it. */
export function formatPlace(
  { session, from, to }: Pick<Hit, "session" | "from" | "to">,
  style: HitStyle,
): string {
  return `${style.shortId(session)}:${formatRange(from, to)}`;
}

/** Returns the name of a hit's session and that of its project. */
function sessionParts({ session }: Pick<Hit, "session">, style: HitStyle): string[] {
  return [
    oneLine(shownName(session, style) ?? "", NAME_MAX),
    oneLine(shownProject(session, style) ?? "", PROJECT_MAX),
  ];
}

/** Returns a time to the minute. */
export function timePart(timestamp: string, timezone: string | undefined): Part {
  return ["time", formatMinute(timestamp, timezone), timestamp];
}

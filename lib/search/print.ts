/** Formats hits as lines within a budget of code points: the rows that answer, one line a hit, or one line a session. */

import { isOnlyInBlocks } from "../base/files.ts";
import { countPoints, cutLine, joinFacts, type Line, linesWithin, type Part } from "../base/output.ts";
import { counted, folderName, truncate } from "../base/text.ts";
import { formatLocal } from "../base/time.ts";
import { PARTICIPANTS, type Participants } from "../config/config.ts";
import type { SessionRow } from "../index/index-state.ts";
import { isFiller } from "../language/speech.ts";
import { oneLine } from "../redact/redact.ts";
import { sharedBy } from "../store/store.ts";
import { isSourceGone } from "./corpus.ts";
import type { Row } from "./rows.ts";

/** One result, as `--json` prints it. */
export interface Hit {
  session_id: string;
  name: string | null;
  agent: string;
  /** Name of the project's folder. */
  project: string | null;
  timestamp: string;
  topics: string[];
  speakers: string[];
  has_decision: boolean;
  has_action: boolean;
  /** How likely it answers, 0 to 1, on the same scale in every index: from 0.5 on it is strong. */
  relevance_score: number;
  strength: "strong" | "weak";
  lines: Row[];
  /** Other places of the session where it is spoken of, best first. */
  also: [from: number, to: number][];
  content: string;
  /** The subject of the exchange, in one sentence. */
  context: string;
  /** Exchanges before and after. */
  before: string[];
  after: string[];
  /** Sessions that hold a copy. */
  also_in: string[];
  /** The owner who shares it, and the machine it comes from. */
  from?: { owner: string; machine: string };
  file: string;
  first_line: number;
  last_line: number;
  source_gone: boolean;
  /** True where only the archive holds the session. */
  archived?: true;
  explain?: Explanation;
}

/** Returns what the JSON of a result says of its session. */
export function sessionFields(
  session: SessionRow,
  { name, clean }: { name: string | undefined; clean: (text: string) => string },
): Pick<Hit, "session_id" | "name" | "agent" | "project" | "from" | "file" | "source_gone" | "archived"> {
  const from = sharedBy(session);
  const folder = folderName(session.project ?? session.cwd ?? "");
  return {
    session_id: from?.id ?? session.id,
    name: name === undefined ? null : truncate(clean(name).replace(/\s+/g, " ").trim(), JSON_NAME_MAX),
    agent: session.agent,
    project: folder ? clean(folder) : null,
    ...(from ? { from: { owner: from.owner, machine: from.machine } } : {}),
    file: from ? session.id : session.file,
    source_gone: from ? session.sourceGone : isSourceGone(session),
    ...(!from && isOnlyInBlocks(session.file) ? { archived: true } : {}),
  };
}

/** A hit with what is printed of it beside its JSON. */
export interface FoundHit {
  hit: Hit;
  /** The beginning of its session's id that is unique. */
  shortId: string;
  /** Names of the sessions that hold a copy. */
  copies: string[];
  /** The row that says most, where rows were chosen. */
  best?: Row | undefined;
  /** Rare words of the question that it does not hold, and other sessions do. */
  without: readonly string[];
  /** True if its rows are printed, and not the best of them on one line. */
  isOpen: boolean;
}

/** The origin of a score. */
export interface Explanation {
  /** Position in each phrasing's list, from 1; null: not among its first hundred. */
  ranks: (number | null)[];
  /** Position by meaning, where vectors were asked. */
  nearest: (number | null)[];
  /** For each phrasing: the part of it that occurs in the chunk itself, 0 to 1. */
  coverage: number[];
  /** True if the times a phrasing names fit. */
  timely: boolean;
}

export interface PrintOptions {
  /** Code points of all output, its line ends included. */
  maxChars: number;
  timezone: string | undefined;
  participants: Participants;
}

/** The most results of one search: more is a listing. */
export const LIMIT_MAX = 100;
/** Places named after a hit at most; JSON holds all. */
const ALSO_MAX = 5;
const NAME_MAX = 44;
const JSON_NAME_MAX = 60;
const PROJECT_MAX = 24;
const COPIES_MAX = 3;
/** Code points of an exchange before or after a hit. */
const AROUND_MAX = 700;
const WEAK_HITS = 3;
/** Weak sessions behind strong ones: what is not among them is a guess. */
const WEAK_SESSIONS = 5;
const WEAK_LINE = 136;
const BRIEF_LINE = 160;
/** A session's line, where there is room, and the places named in it. */
const SESSION_LINE = 480;
const PLACES_NAMED = 3;
const NOTHING_CERTAIN: Line = { kind: "text", parts: [["faint", "nothing certain; nearest:"]] };

/** Prints the rows of the hits that have them, and of the others one line each in what is left of the characters. */
export function printHits(found: readonly FoundHit[], options: PrintOptions): Line[] {
  if (found.length === 0) return [];
  const isCertain = found.some(({ hit }) => hit.strength === "strong");
  const shown = isCertain ? found : found.slice(0, found[0]?.isOpen ? 1 : WEAK_HITS);
  const top = isCertain ? [] : [NOTHING_CERTAIN];
  const open = shown.filter(({ isOpen }) => isOpen);
  const maxChars = options.maxChars - countPoints(top);
  const around = (which: string, text: string) => row(`   ${which}: ${oneLine(text, AROUND_MAX)}`);
  const blocks = open.map((one, i) => ({
    head: headOf(open, i, options.timezone),
    rows: [
      ...one.hit.before.map((text) => around("before", text)),
      ...one.hit.lines.map((line) => row("   ", ...rowParts(line, options.participants))),
      ...one.hit.after.map((text) => around("after", text)),
    ],
    rest: footLines(one),
  }));
  const lines = linesWithin(fit(blocks, maxChars), maxChars);
  for (const [i, one] of shown.filter(({ isOpen }) => !isOpen).entries()) {
    const line = lineOf(one, { position: open.length + i, max: WEAK_LINE }, options);
    if (lines.length === 0 || countPoints([...lines, line]) <= maxChars) lines.push(line);
  }
  return [...top, ...linesWithin(lines, maxChars)];
}

/** Names the words that no session holds, where there are any. */
export function nowhereLines(words: readonly string[]): Line[] {
  if (words.length === 0) return [];
  const line = { kind: "text" as const, parts: [["faint", "in no session: "] as const, words.join(", ")] };
  return [cutLine(line, WEAK_LINE)];
}

/** Prints hits with whole rows, line breaks kept. */
export function printFull(
  found: readonly FoundHit[],
  { maxChars, timezone, participants }: PrintOptions,
): Line[] {
  const lines = found.flatMap((one, i) => [
    headOf(found, i, timezone),
    ...one.hit.lines.map((line) => wholeRow(line, participants)),
    ...footLines(one),
  ]);
  let left = maxChars;
  for (const [i, line] of lines.entries()) {
    const cost = countPoints([line]);
    const isLast = i === lines.length - 1;
    if (cost <= left - (isLast ? 0 : 2)) left -= cost;
    else return [...lines.slice(0, i), cutLine(line, left - 1)];
  }
  return lines;
}

/** Returns a row with its line breaks; what continues it is indented, so that no text can pass for another row. */
export function wholeRow(line: Row, participants?: Participants): Line {
  const text = line.text.trimEnd().replace(/\n/g, "\n     ");
  return row("   ", ...rowParts({ ...line, text }, participants));
}

export function row(...parts: Part[]): Line {
  return { kind: "row", parts };
}

/** Prints one line a hit. */
export function printBrief(found: readonly FoundHit[], options: PrintOptions): Line[] {
  const lines = found.map((one, position) => lineOf(one, { position, max: BRIEF_LINE }, options));
  return linesWithin(lines, options.maxChars);
}

/** Prints one line a session: the places where it is spoken of, and the row that says it best; weak ones below a line of text. */
export function printBySession(
  found: readonly FoundHit[],
  options: PrintOptions & {
    limit: number;
    /** Returns whether a call only looks, by its row's head. */
    isLook: (head: string) => boolean;
    resumeOf?: ((hit: Hit) => string | undefined) | undefined;
  },
): Line[] {
  const { maxChars, timezone, participants, limit, isLook, resumeOf } = options;
  if (found.length === 0) return [];
  const sessions = [...Map.groupBy(found, ({ hit }) => hit.session_id).values()] as [
    FoundHit,
    ...FoundHit[],
  ][];
  const strong = sessions.filter(([{ hit }]) => hit.strength === "strong").length;
  const shown = sessions.slice(0, Math.min(limit, strong + (strong > 0 ? WEAK_SESSIONS : WEAK_HITS)));
  const room = Math.floor((maxChars - (shown.length - strong) * WEAK_LINE) / Math.max(1, strong)) - 1;
  const most = Math.min(SESSION_LINE, Math.max(BRIEF_LINE, room));
  const lines = shown.map((own, i) => {
    const [{ hit, shortId }] = own;
    const shownPlaces = own.map(({ hit: { first_line: from, last_line: to } }) => [from, to] as const);
    const places = mergeRanges([...shownPlaces, ...hit.also]);
    const named = places.slice(0, PLACES_NAMED).map(([from, to]) => rangeOf(from, to));
    const facts = joinFacts([
      ["name", shortId],
      nameOf(hit.name),
      projectOf(hit.project),
      timePart(hit.timestamp, timezone),
      strengthPart(hit),
      goneMark(hit),
      `${counted(places.length, "place")}: ${named.join(", ")}`,
    ]);
    const best = bestParts(tellingRow(own, isLook), participants, hit.context);
    const line = cutLine(result(i, [...facts, ...best]), i >= strong && strong > 0 ? WEAK_LINE : most);
    const command = resumeOf?.(hit);
    return command === undefined ? line : { ...line, parts: [...line.parts, `\n   ${command}`] };
  });
  if (strong === 0) return linesWithin([NOTHING_CERTAIN, ...lines], maxChars);
  const weak: Line = { kind: "text", parts: [["faint", "weak from here:"]] };
  return linesWithin(lines.length > strong ? lines.toSpliced(strong, 0, weak) : lines, maxChars);
}

/** Returns the best row of a session's hits that was said or changed; a bare look or an announcement only where all are. */
function tellingRow(own: readonly FoundHit[], isLook: (head: string) => boolean): Row | undefined {
  const rows = own.flatMap(({ hit, best }) => [...(best ? [best] : []), ...hit.lines]);
  return (
    rows.find(({ who, tool = "", text }) => !(who === "tool" ? isLook(tool) : isFiller(text))) ?? rows[0]
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

/** Returns the head line of a hit; a session that was named above is not named again. */
export function headOf(found: readonly FoundHit[], i: number, timezone?: string): Line {
  const { hit, shortId, without } = found[i] as FoundHit;
  const isNamed = found.slice(0, i).some((one) => one.hit.session_id === hit.session_id);
  return result(
    i,
    joinFacts([
      ["name", placeOf(hit, shortId)],
      ...(isNamed ? [] : [nameOf(hit.name), projectOf(hit.project)]),
      timePart(hit.timestamp, timezone),
      strengthPart(hit),
      without.length > 0 ? `without ${without.join(", ")}` : undefined,
      goneMark(hit),
    ]),
  );
}

/** Returns the head of a result by its position. */
export function result(i: number, parts: readonly Part[]): Line {
  return { kind: "result", parts: [["faint", `${i + 1}. `], ...parts] };
}

/** Marks a hit whose transcript its host has deleted. */
function goneMark({ source_gone, archived }: Hit): string {
  if (archived) return "archive";
  return source_gone ? "source gone" : "";
}

function strengthPart({ strength }: Hit): Part {
  return [strength === "strong" ? "good" : "faint", strength];
}

/** Returns a row's line, who said it and its words, or the call and what it did. */
export function rowParts(
  { line, who, tool = "", rewound, changed, takenBack, replaced, text }: Row,
  participants: Participants = PARTICIPANTS,
): Part[] {
  const marks = [
    rewound && "rewound",
    takenBack && `taken back: ${takenBack}`,
    replaced && `replaced: ${replaced}`,
    changed && "changed since",
  ];
  const start: Part[] = [
    ["place", `L${line}`],
    ...marks.flatMap((mark): Part[] => (mark ? [" ", ["bad", `(${mark})`]] : [])),
  ];
  const by: Part = who === "tool" ? ["tool", tool] : [who, `${participants[who]}:`];
  return [...start, " ", by, ...(text.trim() === "" ? [] : ([" ", ["said", text.trimEnd()]] as Part[]))];
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
  const isOver = () => countPoints(linesOf(blocks)) > maxChars;
  for (const { rows } of blocks.toReversed())
    while (isOver() && rows.length > 1) rows.splice(Math.max(1, rows.length - 2), 1);
  for (const { rest } of blocks.toReversed()) while (isOver() && rest.length > 0) rest.pop();
  for (const { rows } of blocks.toReversed()) while (isOver() && rows.length > 0) rows.pop();
  return linesOf(blocks);
}

export function linesOf(blocks: readonly Block[]): Line[] {
  return blocks.flatMap(({ head, rows, rest }) => [head, ...rows, ...rest]);
}

/** Returns a hit on one line: its place, its strength and its best row. */
function lineOf(
  one: FoundHit,
  { position, max }: { position: number; max: number },
  { timezone, participants }: PrintOptions,
): Line {
  const { hit, shortId } = one;
  const day = formatLocal(hit.timestamp, timezone).slice(0, 10);
  const facts = joinFacts([
    ["name", placeOf(hit, shortId)],
    nameOf(hit.name),
    ["time", day],
    strengthPart(hit),
  ]);
  const best = bestParts(one.best ?? hit.lines[0], participants, hit.context);
  return cutLine(result(position, [...facts, ...best]), max);
}

/** Returns the row that says most, on one line after other facts; without a row, what the hit is about. */
function bestParts(
  row: Row | undefined,
  participants: PrintOptions["participants"],
  context: string,
): Part[] {
  if (!row) return context === "" ? [] : [" · ", ["said", oneLine(context, SESSION_LINE)]];
  return [" · ", ...rowParts({ ...row, text: oneLine(row.text, SESSION_LINE) }, participants)];
}

/** Lists other places in the session, copies of it, and why it was found. */
export function footLines({ hit, copies }: FoundHit): Line[] {
  const rest = alsoLines(hit.also);
  if (copies.length > 0) {
    const named = copies.slice(0, COPIES_MAX).map((name) => oneLine(name, NAME_MAX));
    rest.push(foot(`copied in ${named.join(", ")}`));
  }
  if (hit.explain) rest.push(foot(`why: ${formatExplanation(hit.explain)}`));
  return rest;
}

/** Names other places of a session on a line, where there are any. */
export function alsoLines(places: readonly (readonly [number, number])[]): Line[] {
  if (places.length === 0) return [];
  const more = places.length > ALSO_MAX ? [`${places.length - ALSO_MAX} more`] : [];
  const named = [...places.slice(0, ALSO_MAX).map(([from, to]) => rangeOf(from, to)), ...more];
  return [foot(`also ${named.join(", ")}`)];
}

function foot(text: string): Line {
  return { kind: "text", parts: [["faint", `   ${text}`]] };
}

function formatExplanation({ ranks, nearest, coverage, timely }: Explanation): string {
  const words = ranks.map(
    (rank, i) => `phrasing ${i + 1} ${rank === null ? "not found" : `#${rank}`}, holds ${coverage[i]} of it`,
  );
  const meaning = nearest.map((rank, i) => `meaning ${i + 1} ${rank === null ? "not found" : `#${rank}`}`);
  return [...words, ...meaning, ...(timely ? ["time fits"] : [])].join("; ");
}

function placeOf({ first_line, last_line }: FoundHit["hit"], shortId: string): string {
  return `${shortId}:${rangeOf(first_line, last_line)}`;
}

/** Returns lines as a place names them. */
export function rangeOf(from: number, to: number): string {
  return from === to ? `${from}` : `${from}-${to}`;
}

function nameOf(name: string | null): string {
  return name === null ? "" : oneLine(name, NAME_MAX);
}

function projectOf(project: string | null): string {
  return project === null ? "" : oneLine(project, PROJECT_MAX);
}

/** Returns a time to the minute. */
export function timePart(timestamp: string, timezone: string | undefined): Part {
  return ["time", formatLocal(timestamp, timezone).slice(0, 16), timestamp];
}

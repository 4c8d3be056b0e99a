/** Hits as text: the rows that answer within a budget of code points, one line a hit, or one a session. */

import { formatLocal } from "../base/time.ts";
import { PARTICIPANTS, type Participants } from "../config/config.ts";
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
  /** The part of the question that it holds, 0 to 1, on the same scale in every index. */
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
  explain?: Explanation;
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

/** Places named after a hit at most; JSON holds all. */
const ALSO_MAX = 5;
const NAME_MAX = 44;
const PROJECT_MAX = 24;
const COPIES_MAX = 3;
/** Code points of an exchange before or after a hit. */
const AROUND_MAX = 700;
const WEAK_HITS = 3;
const WEAK_LINE = 136;
const BRIEF_LINE = 160;
/** A session's line, where there is room, and the places named in it. */
const SESSION_LINE = 320;
const PLACES_NAMED = 3;
const NOTHING_CERTAIN = "nothing certain; nearest:";

/** Prints the strong hits, or one line for each of the nearest where none is strong. */
export function printHits(found: readonly FoundHit[], options: PrintOptions): string {
  const strong = found.filter(({ hit }) => hit.strength === "strong");
  if (strong.length === 0) return printWeak(found, options);
  const blocks = strong.map((one, i) => ({
    head: headOf(strong, i, options.timezone),
    rows: [
      ...one.hit.before.map((text) => `   before: ${cut(text, AROUND_MAX)}`),
      ...one.hit.lines.map((line) => `${rowPrefix(line, options.participants)}${line.text}`.trimEnd()),
      ...one.hit.after.map((text) => `   after: ${cut(text, AROUND_MAX)}`),
    ],
    rest: footLines(one),
  }));
  return fit(blocks, options.maxChars);
}

/** Prints hits with whole rows, line breaks kept. */
export function printFull(
  found: readonly FoundHit[],
  { maxChars, timezone, participants }: PrintOptions,
): string {
  const blocks = found.map((one, i) => [
    headOf(found, i, timezone),
    ...one.hit.lines.map((line) => wholeRow(line, participants)),
    ...footLines(one),
  ]);
  const text = blocks.flat().join("\n");
  return length(text) < maxChars ? text : cutLines(text, maxChars);
}

/** Returns a row with its line breaks; what continues it is indented, so that no text can pass for another row. */
export function wholeRow(line: Row, participants?: Participants): string {
  return `${rowPrefix(line, participants)}${line.text}`.trimEnd().replace(/\n/g, "\n     ");
}

/** Prints one line a hit. */
export function printBrief(
  found: readonly FoundHit[],
  { maxChars, timezone, participants }: PrintOptions,
): string {
  return linesWithin(
    found.map((one, i) => lineOf(one, { position: i + 1, timezone, participants, max: BRIEF_LINE })),
    maxChars,
  );
}

/** Prints one line a session: where it is spoken of, how often, and the row that says it best. */
export function printBySession(
  found: readonly FoundHit[],
  {
    maxChars,
    timezone,
    participants,
    limit,
    resumeOf,
  }: PrintOptions & { limit: number; resumeOf?: ((hit: Hit) => string | undefined) | undefined },
): string {
  const firsts = found.filter(
    ({ hit }, i) => found.findIndex((one) => one.hit.session_id === hit.session_id) === i,
  );
  const shown = firsts.slice(0, limit);
  const most = Math.min(SESSION_LINE, Math.max(BRIEF_LINE, Math.floor(maxChars / shown.length) - 1));
  const lines = shown.map((one, i) => {
    const { hit, shortId } = one;
    const own = found.filter((one) => one.hit.session_id === hit.session_id);
    const shownPlaces = own.map(({ hit: { first_line: from, last_line: to } }) => [from, to] as const);
    const places = withoutContained([...shownPlaces, ...hit.also]);
    const named = places.slice(0, PLACES_NAMED).map(([from, to]) => rangeOf(from, to));
    const counted = `${places.length} ${places.length === 1 ? "place" : "places"}`;
    const facts = [
      shortId,
      nameOf(hit.name),
      projectOf(hit.project),
      timeOf(hit.timestamp, timezone),
      hit.strength,
      ...goneMark(hit),
      `${counted}: ${named.join(", ")}`,
      bestRow(one, participants),
    ];
    const line = cut(`${i + 1}. ${facts.filter(Boolean).join(" · ")}`, most);
    const command = resumeOf?.(hit);
    return command === undefined ? line : `${line}\n   ${command}`;
  });
  return linesWithin(lines, maxChars);
}

/** Returns ranges without those that lie in another one. */
function withoutContained(ranges: readonly (readonly [number, number])[]): (readonly [number, number])[] {
  return ranges.filter(
    ([from, to], i) =>
      !ranges.some(([a, b], k) => a <= from && to <= b && (b - a > to - from || k < i) && k !== i),
  );
}

/** Returns the head line of a hit; a session that was named above is not named again. */
export function headOf(found: readonly FoundHit[], i: number, timezone?: string): string {
  const { hit, shortId } = found[i] as FoundHit;
  const isNamed = found.slice(0, i).some((one) => one.hit.session_id === hit.session_id);
  const facts = [
    placeOf(hit, shortId),
    ...(isNamed ? [] : [nameOf(hit.name), projectOf(hit.project)]),
    timeOf(hit.timestamp, timezone),
    hit.strength,
    ...goneMark(hit),
  ];
  return `${i + 1}. ${facts.filter(Boolean).join(" · ")}`;
}

/** Marks a hit whose transcript its host has deleted. */
function goneMark({ source_gone }: Hit): string[] {
  return source_gone ? ["source gone"] : [];
}

/** Returns the text printed before a row's own. */
export function rowPrefix(
  { line, who, tool, rewound }: Row,
  participants: Participants = PARTICIPANTS,
): string {
  const start = `   L${line}${rewound ? " (rewound)" : ""}`;
  return who === "tool" ? `${start} ${tool} ` : `${start} ${participants[who]}: `;
}

/** Lines as text of at most so many code points; what is left out is counted. */
export function linesWithin(lines: readonly string[], maxChars: number): string {
  let text = lines.join("\n");
  for (let kept = lines.length - 1; length(text) + 1 > maxChars && kept > 0; kept--) {
    text = [...lines.slice(0, kept), `… ${lines.length - kept} more`].join("\n");
  }
  return length(text) + 1 > maxChars ? cut(text.split("\n", 1)[0] ?? "", maxChars - 1) : text;
}

/** Returns a text without its last lines, or the last characters of a single one. */
function cutLines(text: string, maxChars: number): string {
  const kept = [...text].slice(0, maxChars - 3).join("");
  return `${kept.slice(0, Math.max(kept.lastIndexOf("\n"), 1))}\n…`;
}

interface Block {
  head: string;
  rows: string[];
  rest: string[];
}

/** Leaves out the last rows of the last hits, then what follows them, then the hits, until all fits. */
function fit(blocks: Block[], maxChars: number): string {
  const textOf = () => blocks.flatMap(({ head, rows, rest }) => [head, ...rows, ...rest]).join("\n");
  const isOver = () => length(textOf()) + 1 > maxChars;
  for (const block of blocks.toReversed()) while (isOver() && block.rows.length > 1) block.rows.pop();
  for (const block of blocks.toReversed()) while (isOver() && block.rest.length > 0) block.rest.pop();
  for (const block of blocks.toReversed()) while (isOver() && block.rows.length > 0) block.rows.pop();
  return linesWithin(textOf().split("\n"), maxChars);
}

function printWeak(found: readonly FoundHit[], { maxChars, timezone, participants }: PrintOptions): string {
  if (found.length === 0) return "";
  const lines = found
    .slice(0, WEAK_HITS)
    .map((one, i) => lineOf(one, { position: i + 1, timezone, participants, max: WEAK_LINE }));
  return linesWithin([NOTHING_CERTAIN, ...lines], maxChars);
}

/** Returns a hit on one line: its place and its best row. */
function lineOf(
  one: FoundHit,
  {
    position,
    timezone,
    participants,
    max,
  }: Pick<PrintOptions, "timezone" | "participants"> & { position: number; max: number },
): string {
  const { hit, shortId } = one;
  const said = bestRow(one, participants) ?? hit.context;
  const facts = [placeOf(hit, shortId), nameOf(hit.name), timeOf(hit.timestamp, timezone).slice(0, 10), said];
  return cut(`${position}. ${facts.filter(Boolean).join(" · ")}`, max);
}

function bestRow({ hit, best }: FoundHit, participants: PrintOptions["participants"]): string | undefined {
  const row = best ?? hit.lines[0];
  return row && `${rowPrefix(row, participants).trimStart()}${row.text}`;
}

/** Lists other places in the session, copies of it, and why it was found. */
export function footLines({ hit, copies }: FoundHit): string[] {
  const places = hit.also.slice(0, ALSO_MAX).map(([from, to]) => rangeOf(from, to));
  const more = hit.also.length > ALSO_MAX ? [`${hit.also.length - ALSO_MAX} more`] : [];
  const rest = places.length > 0 ? [`   also ${[...places, ...more].join(", ")}`] : [];
  if (copies.length > 0) {
    rest.push(
      `   copied in ${copies
        .slice(0, COPIES_MAX)
        .map((name) => cut(name, NAME_MAX))
        .join(", ")}`,
    );
  }
  if (hit.explain) rest.push(`   why: ${formatExplanation(hit.explain)}`);
  return rest;
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

function rangeOf(from: number, to: number): string {
  return from === to ? `${from}` : `${from}-${to}`;
}

function nameOf(name: string | null): string {
  return name === null ? "" : cut(name, NAME_MAX);
}

function projectOf(project: string | null): string {
  return project === null ? "" : cut(project, PROJECT_MAX);
}

function timeOf(timestamp: string, timezone: string | undefined): string {
  return formatLocal(timestamp, timezone).slice(0, 16);
}

function length(text: string): number {
  return [...text].length;
}

function cut(text: string, max: number): string {
  const characters = [...text.replace(/\s+/g, " ").trim()];
  return characters.length <= max
    ? characters.join("")
    : `${characters.slice(0, Math.max(0, max - 1)).join("")}…`;
}

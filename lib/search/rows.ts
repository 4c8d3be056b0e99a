/** Reads the rows of part of a session from the index: their words, deeds, lines and exchanges. */

import type { Part } from "../base/output.ts";
import { oneLine } from "../base/text.ts";
import { formatMinute } from "../base/time.ts";
import { PARTICIPANTS, type Participants } from "../config/config.ts";
import type { Done, LineSpan, Outcome, Said, Speaker } from "../hosts/session.ts";
import { joinContent } from "../index/chunk-text.ts";
import { type IndexedSession, rewoundLines } from "../index/index-state.ts";
import { joinParts, type Stored } from "../index/stored-rows.ts";
import type { Store } from "../store/store.ts";
import { isOfFiles } from "../transcripts/rows.ts";
import { type IndexedChunk, readChunksAfter, readExchangesBeside, saidIn } from "./candidates.ts";

/** Something said or done, as it is printed. */
export interface ShownRow {
  /** The transcript's line. */
  line: number;
  who: Speaker | "tool";
  /** A tool call's name, target and outcome. */
  tool?: string;
  /** The call itself, where the row is one and not its output; no part of JSON. */
  deed?: Stored<Done>;
  /** True if the user took it back: the conversation went on from a row before it. */
  rewound?: true;
  /** True if a file that it changed, or speaks of, was changed since and no longer holds what was added. */
  changed?: true;
  /** The line of the user's answer that took it back: `L1400`. */
  takenBack?: string;
  /** The rows of the session between the one shown before it and itself; no part of JSON. */
  skipped?: number;
  text: string;
}

/** A row among which those to show are chosen. */
export interface PassageRow extends ShownRow {
  /** True if it is the result of a tool call. */
  isOutput?: true;
  /** The end of a tool call that failed. */
  outcome?: "failed" | "rejected";
  /** True if it is part of the passage itself, not of its surroundings. */
  isInside: boolean;
}

/** Returns a row's line, who said it and its words, or the call and what it did. */
export function rowParts(
  { line, who, tool = "", rewound, changed, takenBack, text }: ShownRow,
  participants: Participants = PARTICIPANTS,
): Part[] {
  const marks = [rewound && "rewound", takenBack && `taken back: ${takenBack}`, changed && "changed since"];
  const start: Part[] = [
    ["place", `L${line}`],
    ...marks.flatMap((mark): Part[] => (mark ? [" ", ["bad", `(${mark})`]] : [])),
  ];
  const by: Part = who === "tool" ? ["tool", tool] : [who, `${participants[who]}:`];
  return [...start, " ", by, ...(text.trim() === "" ? [] : ([" ", ["said", text.trimEnd()]] as Part[]))];
}

/** Returns rows, the revoked ones marked. */
export function markRewound<R extends ShownRow>(rows: readonly R[], store: Store, session: number): R[] {
  const spans = rewoundLines(store, session);
  const isRewound = ({ line }: R) => spans.some(([from, to]) => line >= from && line <= to);
  return rows.map((row) => (isRewound(row) ? { ...row, rewound: true } : row));
}

/** Returns rows in line order, each with the number of rows left out before it. */
export function withSkipped(rows: readonly ShownRow[], store: Store, session: number): ShownRow[] {
  const count = "SELECT count(*) AS n FROM rows WHERE session = ? AND line > ? AND line < ?";
  return rows.map((row, i) => {
    const before = rows[i - 1];
    const skipped = before ? Number(store.get(count, session, before.line, row.line)?.n ?? 0) : 0;
    return skipped > 0 ? { ...row, skipped } : row;
  });
}

/** Chunks after rows that were taken back in which the row that holds is looked for. */
const HOLDING_CHUNKS = 5;
/** Code points of the row that holds. */
const HOLDING_CHARS = 300;

/** Puts the row that holds now, the next one of the same speaker, before a row that the user revoked. */
export function withHolding(
  rows: readonly ShownRow[],
  { store, session }: { store: Store; session: Pick<IndexedSession, "id" | "number"> },
  speaker: Speaker = "user",
): ShownRow[] {
  const first = rows.findIndex(({ rewound }) => rewound);
  if (first === -1) return [...rows];
  const spans = rewoundLines(store, session.number);
  const spanOf = (line: number) => spans.find(([from, to]) => line >= from && line <= to);
  const ends = new Set(rows.flatMap(({ line, rewound }) => (rewound ? (spanOf(line)?.[1] ?? []) : [])));
  const holding = Array.from(ends).flatMap((end) => {
    const chunks = readChunksAfter(store, session.id, { line: end, limit: HOLDING_CHUNKS });
    return (
      readMessageRows(chunks, () => false).find(
        ({ line, who }) => line > end && who === speaker && !spanOf(line),
      ) ?? []
    );
  });
  const before = rows.slice(0, first);
  const moved = new Map<number, ShownRow>();
  for (const { line, who, text } of holding) {
    const isSame = (row: ShownRow) => row.line === line && row.who === who;
    // the best row of a hit may be the one that holds: it is first already
    if (before.some(isSame)) continue;
    moved.set(line, rows.find(isSame) ?? { line, who, text: oneLine(text, HOLDING_CHARS) });
  }
  const holds = [...moved.values()];
  return [...before, ...holds, ...rows.slice(first).filter((row) => !holds.includes(row))];
}

/**
 * Returns the lines that the user took back before the exchanges of some rows, to ask anew. `around` has the messages in which
 * these begin; a line that already has a row shown is left out.
 */
export function takenBackBefore(
  shown: readonly ShownRow[],
  around: readonly ShownRow[],
  { store, session }: { store: Store; session: Pick<IndexedSession, "number"> },
): LineSpan[] {
  const spans = rewoundLines(store, session.number);
  if (spans.length === 0) return [];
  const isIn = (line: number) => spans.some(([from, to]) => line >= from && line <= to);
  const begins = (rows: readonly ShownRow[]) => rows.filter(({ who, line }) => who === "user" && !isIn(line));
  const starts = shown.map((row) => begins(around).findLast(({ line }) => line <= row.line)?.line);
  const asked = store
    .all("SELECT line FROM rows WHERE session = ? AND who = 'user' ORDER BY line", session.number)
    .map(({ line }) => Number(line))
    .filter((line) => !isIn(line));
  return spans.filter(([from, to]) => {
    const isShown = shown.some(({ line }) => line >= from && line <= to);
    const next = asked.find((line) => line > to);
    return !isShown && next !== undefined && starts.includes(next);
  });
}

/** Returns the messages of chunks given in order; the pieces of a long message are one row. */
export function readMessageRows(
  chunks: readonly IndexedChunk[],
  isInside: (chunk: IndexedChunk) => boolean,
  isWanted: (row: Said) => boolean = () => true,
): PassageRow[] {
  const all = saidIn(chunks);
  const said = (chunk: IndexedChunk) => all(chunk).filter(isWanted);
  const inside = chunks.filter(isInside).flatMap(said);
  return joinParts(chunks.flatMap(said)).map((row) => {
    const { line, who, text } = row;
    return { line, who, text, isInside: inside.some((piece) => belongsTo(piece, row)) };
  });
}

/** Returns whether a message is another one, or a piece of it. */
function belongsTo(piece: Said, { line, nth, part }: Said): boolean {
  if (piece.line !== line || piece.nth !== nth) return false;
  return !piece.part || !part || (piece.part.from >= part.from && piece.part.to <= part.to);
}

/** Joins chunks' text, what pieces of one message repeat only once. */
export function joinChunks(chunks: readonly IndexedChunk[], said = saidIn(chunks)): string {
  return joinContent(joinParts(chunks.flatMap(said)));
}

/**
 * Returns a test that passes each row of a session once, so that no two hits show it; of calls that are printed alike, such
 * as an edit that was made again, it passes the first.
 */
export function oncePerRow(sessionId: string, taken: Set<string>): (row: ShownRow) => boolean {
  return ({ line, who, tool = "", text }) => {
    const keys = [
      `${sessionId} ${line} ${who} ${tool}`,
      ...(who === "tool" ? [`${sessionId} ${tool} ${text}`] : []),
    ];
    if (keys.some((key) => taken.has(key))) return false;
    for (const key of keys) taken.add(key);
    return true;
  };
}

/** The most chunks shown from the start of an exchange before or after a result; its last one is shown too. */
const AROUND_CHUNKS = 2;

/** Returns the exchanges before and after a chunk's own, in order, long ones shortened, each after its own time. */
export function exchangesAround(
  chunk: IndexedChunk,
  { count, timezone }: { count: number; timezone: string | undefined },
): { before: string[]; after: string[] } {
  const beside = (step: -1 | 1) =>
    readExchangesBeside(chunk, { count, step }).map((chunks) => {
      const time = formatMinute(chunks[0]?.timestamp ?? "", timezone);
      return `${time} ${shortenExchange(chunks)}`;
    });
  return count > 0 ? { before: beside(-1), after: beside(1) } : { before: [], after: [] };
}

function shortenExchange(chunks: readonly IndexedChunk[]): string {
  if (chunks.length <= AROUND_CHUNKS + 1) return joinChunks(chunks);
  return `${joinChunks(chunks.slice(0, AROUND_CHUNKS))}\n…\n${joinChunks(chunks.slice(-1))}`;
}

/** Code points of a path, and of a command. */
const TARGET_MAX = 100;
export const COMMAND_MAX = 220;
const SIGNS: Partial<Record<Outcome, string>> = {
  failed: " failed",
  rejected: " rejected",
  running: " running",
};

/** Returns the text of a deed by which it was found. */
export function deedText({ target, input, result }: Stored<Done>): string {
  return `${target}\n${input}\n${result}`;
}

/** Returns deeds as rows: each call, and what came of it. */
export function toDeedRows(
  deeds: readonly Stored<Done>[],
  cwd: string | undefined,
): Omit<PassageRow, "isInside">[] {
  return deeds.flatMap((deed) => {
    const { line, resultLine, kind, outcome, input, result } = deed;
    const who = "tool" as const;
    const ended = outcome === "failed" || outcome === "rejected" ? { outcome } : {};
    const said =
      kind === "read" ? "" : input.startsWith(deed.target) ? input.slice(deed.target.length) : input;
    const call = {
      line,
      who,
      tool: callHead(deed, cwd),
      deed,
      ...ended,
      text: said.trimStart(),
    };
    // what files held says nothing of the work
    const isInformative = result !== "" && !(outcome === "done" && isOfFiles(deed));
    if (!isInformative) return [call];
    const tool = writeHead({ ...deed, target: "output" });
    return [
      call,
      {
        line: resultLine ?? line,
        who,
        tool,
        ...ended,
        text: result.trimStart(),
        isOutput: true as const,
      },
    ];
  });
}

/** Returns a call on one line: its tool, what it was called with, and how it ended. */
export function callHead(deed: Done, cwd: string | undefined): string {
  const max = deed.kind === "command" ? COMMAND_MAX : TARGET_MAX;
  return writeHead({ ...deed, target: cutMiddle(relativeTo(cwd, deed.target), max) });
}

function writeHead({ tool, target, outcome }: Done): string {
  return `[${tool} ${target}]${SIGNS[outcome] ?? ""}`;
}

/** Returns a path as it is named from a session's directory. */
function relativeTo(cwd: string | undefined, target: string): string {
  return cwd !== undefined && target.startsWith(`${cwd}/`) ? target.slice(cwd.length + 1) : target;
}

/** Keeps the beginning and the end of a long text: of a path its name, of a command what it runs. */
function cutMiddle(text: string, max: number): string {
  const line = [...text.replace(/\s+/g, " ").trim()];
  if (line.length <= max) return line.join("");
  const tail = Math.floor(max * 0.6);
  return `${line.slice(0, max - tail - 1).join("")}…${line.slice(-tail).join("")}`;
}

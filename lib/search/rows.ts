/** The rows of a stretch of a transcript as the index holds them: who said or did what, and on which line. */

import { rewoundLines } from "../index/index-state.ts";
import type { Store } from "../store/store.ts";
import type { ChunkRow } from "./candidates.ts";
import type { HitLine } from "./hit.ts";

/** Something said or done, as it may be shown. */
export interface Row {
  /** The transcript's line. */
  line: number;
  /** The last line, where only the stretch is known: chunks made before lines were stored. */
  lastLine: number;
  who: "user" | "assistant" | "tool";
  /** A tool call's name, target and outcome. */
  tool?: string | undefined;
  text: string;
  /** True if it is the result of a tool call. */
  isOutput?: boolean | undefined;
  /** True if it is part of the passage itself, not of its surroundings. */
  isInside: boolean;
  /** True if the user took it back: the conversation went on from a row before it. */
  isRewound?: boolean | undefined;
}

/** Marks the rows that were taken back. */
export function markRewound<T extends Pick<Row, "line" | "isRewound">>(
  rows: readonly T[],
  store: Store,
  session: number,
): void {
  const spans = rewoundLines(store, session);
  for (const row of spans.length > 0 ? rows : [])
    row.isRewound = spans.some(([from, to]) => row.line >= from && row.line <= to);
}

/** Characters that a piece of a long message repeats of the one before. */
const OVERLAP_MIN = 16;
const OVERLAP_MAX = 600;

/** Returns the messages of chunks given in order; the pieces of a long message are one row. */
export function messagesOf(chunks: readonly ChunkRow[], isInside: (chunk: ChunkRow) => boolean): Row[] {
  const rows: Row[] = [];
  for (const chunk of chunks) {
    for (const row of splitChunk(chunk, isInside(chunk))) {
      const before = rows.at(-1);
      const joined =
        before?.line === row.line && before.who === row.who ? joinPieces(before.text, row.text) : undefined;
      if (!before || joined === undefined) rows.push(row);
      else {
        before.text = joined;
        before.isInside ||= row.isInside;
      }
    }
  }
  return rows;
}

/** Joins chunks' text, what pieces of one message repeat only once. */
export function joinChunks(chunks: readonly ChunkRow[]): string {
  return messagesOf(chunks, () => true)
    .map(({ who, text }) => `${who === "user" ? "User" : "Assistant"}: ${text}`)
    .join("\n");
}

/** Returns a row as a hit shows it. */
export function toLine({ line, who, tool, isRewound }: Row, text: string): HitLine {
  return { line, who, ...(tool === undefined ? {} : { tool }), ...(isRewound && { rewound: true }), text };
}

/** Returns a test for a session's rows that passes each row once, so that no two hits show the same. */
export function isNew(sessionId: string, taken: Set<string>): (row: Row) => boolean {
  return ({ line, who, tool = "" }) => {
    const key = `${sessionId} ${line} ${who} ${tool}`;
    if (taken.has(key)) return false;
    taken.add(key);
    return true;
  };
}

const ROW_LINES = /^\d+:\d+(?: \d+:\d+)*$/;

function splitChunk({ content, rowLines, firstLine, lastLine }: ChunkRow, isInside: boolean): Row[] {
  // what a damaged file left may be anything
  const isOld = !ROW_LINES.test(rowLines);
  const places = (isOld ? `0:${firstLine}` : rowLines)
    .split(" ")
    .map((place) => place.split(":").map(Number) as [start: number, line: number]);
  return places.map(([start, line], i) => {
    const said = content.slice(start, places[i + 1] ? (places[i + 1]?.[0] ?? 0) - 1 : undefined);
    return {
      line,
      lastLine: isOld ? lastLine : line,
      who: said.startsWith("User: ") ? "user" : "assistant",
      text: said.slice(said.indexOf(": ") + 2),
      isInside,
    };
  });
}

/** Joins two pieces of one message without the repeated text; undefined when nothing is repeated. */
function joinPieces(text: string, piece: string): string | undefined {
  for (let length = Math.min(OVERLAP_MAX, piece.length, text.length); length >= OVERLAP_MIN; length--) {
    if (text.endsWith(piece.slice(0, length))) return text + piece.slice(length);
  }
  return undefined;
}

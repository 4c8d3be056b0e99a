/**
 * Reads back what the index holds of a session: the messages of its chunks, each on its line, and its deeds; and the format of
 * `row_lines`.
 */

import type { SqlRow } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import type { Chunk, Deed, DeedKind, DeedOutcome } from "../transcripts/session.ts";
import { toolName } from "../transcripts/tool-call.ts";

/** A deed as the index holds it. */
export interface StoredDeed extends Omit<Deed, "at"> {
  id: number;
  /** Number of the session. */
  session: number;
  /** Line of the first row of its exchange. */
  exchangeLine: number;
  /** The deed's time, or the nearest that is known. */
  timestamp: string;
}

/** The lines of calls in a session: after one line, up to and including another. */
interface CallLines {
  after: number;
  to: number;
}

export const ALL_LINES: CallLines = { after: -1, to: Number.MAX_SAFE_INTEGER };

/** The columns of a deed, for `deedFrom`. */
export const DEED_COLUMNS =
  "d.id, d.session, d.line, d.result_line, d.exchange_line, d.timestamp, d.kind, d.tool, d.target, d.paths, d.input, d.outcome, d.result";

/** Converts a row of `DEED_COLUMNS` to a deed. */
export function deedFrom(row: SqlRow): StoredDeed {
  const target = String(row.target);
  const paths = row.paths === null ? target : String(row.paths);
  return {
    id: Number(row.id),
    session: Number(row.session),
    line: Number(row.line),
    resultLine: row.result_line === null ? undefined : Number(row.result_line),
    exchangeLine: Number(row.exchange_line),
    timestamp: String(row.timestamp),
    kind: row.kind as DeedKind,
    tool: toolName(String(row.tool)),
    target,
    paths: paths === "" ? [] : paths.split("\n"),
    input: String(row.input),
    outcome: row.outcome as DeedOutcome,
    result: String(row.result),
  };
}

/** Reads the deeds of a session in order: all, or those whose calls are on these lines. */
export function readDeeds(store: Store, session: number, { after, to } = ALL_LINES): StoredDeed[] {
  return store.db
    .prepare(
      `SELECT ${DEED_COLUMNS} FROM deeds d WHERE d.session = ? AND d.line > ? AND d.line <= ? ORDER BY d.line, d.id`,
    )
    .all(session, after, to)
    .map(deedFrom);
}

/** What must be known of a stored chunk to take it apart. */
interface StoredText {
  content: string;
  rowLines: string;
  firstLine: number;
}

interface ChunkMessage {
  line: number;
  who: "user" | "assistant";
  text: string;
}

const ROW_LINES = /^\d+:\d+(?: \d+:\d+)*$/;
/** Characters that a piece of a long message repeats of the one before. */
const OVERLAP_MIN = 16;
const OVERLAP_MAX = 600;

/** Writes where the messages of a chunk begin and on which lines they are: `0:118 340:121`. */
export function writeRowLines(rows: Chunk["rows"]): string {
  return rows.map(({ start, line }) => `${start}:${line}`).join(" ");
}

function readRowLines(text: string): Chunk["rows"] {
  if (!ROW_LINES.test(text)) return []; // what a damaged file left may be anything
  return text.split(" ").map((place) => {
    const [start = 0, line = 0] = place.split(":").map(Number);
    return { start, line };
  });
}

/** Returns the messages of a chunk, or the pieces of them that are in it. */
export function splitMessages({ content, rowLines, firstLine }: StoredText): ChunkMessage[] {
  const rows = readRowLines(rowLines);
  const places = rows.length > 0 ? rows : [{ start: 0, line: firstLine }];
  return places.map(({ start, line }, i) => {
    const next = places[i + 1];
    const said = content.slice(start, next && next.start - 1);
    const who = said.startsWith("User: ") ? "user" : "assistant";
    return { line, who, text: said.slice(said.indexOf(": ") + 2) };
  });
}

/** Joins two pieces of one message without the repeated text; undefined when nothing is repeated. */
export function joinPieces(text: string, piece: string): string | undefined {
  for (let length = Math.min(OVERLAP_MAX, piece.length, text.length); length >= OVERLAP_MIN; length--) {
    if (text.endsWith(piece.slice(0, length))) return text + piece.slice(length);
  }
  return undefined;
}

/** Cleans each message of a chunk by itself, and corrects where each begins. */
export function cleanMessages(
  { content, rowLines }: Pick<StoredText, "content" | "rowLines">,
  clean: (text: string) => string,
): Pick<Chunk, "content" | "rows"> & { rowLines: string } {
  const places = readRowLines(rowLines);
  let cleaned = clean(content.slice(0, places[0]?.start ?? content.length));
  const rows = places.map(({ start, line }, at) => {
    const begin = cleaned.length;
    cleaned += clean(content.slice(start, places[at + 1]?.start));
    return { start: begin, line };
  });
  return { content: cleaned, rows, rowLines: writeRowLines(rows) };
}

/** The messages of a chunk, or pieces of them: where each begins in its text, and on which line of the transcript it is. */

import type { Chunk } from "../transcripts/session.ts";

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

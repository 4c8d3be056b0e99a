/**
 * Reads what indexes up to version 3 held of sessions as rows, exchanges and chunks: their chunks were texts of labelled
 * messages with the places where these begin, and calls had a table of their own.
 */

import type { Said, Speaker } from "../hosts/session.ts";
import { eachRow, listColumns } from "../store/carry-over.ts";
import type { SqlDatabase, SqlRow } from "../store/sqlite.ts";
import type { Header } from "./chunk-text.ts";

export type CarriedTable = "rows" | "exchanges" | "chunks";
/** Takes a row of one of the tables as they are now. */
export type TakeRow = (table: CarriedTable, row: SqlRow) => void;

/** Characters that a piece of a long message repeats of the one before. */
const OVERLAP_MIN = 16;
const OVERLAP_MAX = 600;
const ROW_LINES = /^\d+:\d+(?: \d+:\d+)*$/;

interface Reading {
  /** The ids of the sessions that are read, by their number. */
  numbers: ReadonlyMap<number, string>;
  take: TakeRow;
}

/** A message that was read, and the pieces that it was stored in. */
interface OldMessage extends Said<Speaker> {
  at: string;
  pieces: number;
  /** True if it was the only one of its chunk, as pieces are. */
  isAlone: boolean;
}

/** Reads the contents of sessions; returns whether all of them could be read. Other sessions give no more than their vectors. */
export function readOldRows(from: SqlDatabase, { numbers, take }: Reading): boolean {
  const table = listColumns("chunks", from).length > 0 ? "chunks" : "session_chunks";
  const byId = new Map([...numbers].map(([number, id]) => [id, number]));
  const places = new Map<number, { index: number; id: number }[]>();
  const text = listColumns(table, from).includes("header") ? "header" : "context_content AS header";
  const columns = `id, session_id, chunk_index, content_hash, embedder, embedding, content, ${text}`;
  const areChunks = eachRow(from, { table, columns }, (row) => {
    const session = byId.get(String(row.session_id));
    if (session === undefined) return take("chunks", { ...row, session: -1 });
    const own = places.get(session) ?? [];
    places.set(session, [...own, { index: Number(row.chunk_index), id: Number(row.id) }]);
  });
  const lines = new Map<string, number>();
  const exchanges = new Map<string, number>();
  const idOf = (exchange: string) => {
    if (!exchanges.has(exchange)) exchanges.set(exchange, exchanges.size + 1);
    return exchanges.get(exchange) ?? 0;
  };
  const find = from.prepare(`SELECT * FROM ${table} NOT INDEXED WHERE id = ?`);
  for (const [session, own] of places) {
    const ids = new Map(own.sort((a, b) => a.index - b.index).map(({ id, index }) => [index, id]));
    const chunks = [...ids.values()].flatMap((id): SqlRow[] => find.all(id));
    for (const { line, nth } of takeSession(session, chunks, { take, idOf }))
      lines.set(`${session} ${line}`, nth + 1);
  }
  const areDeeds = eachRow(
    from,
    { table: "deeds", columns: "*" },
    ({ timestamp, exchange_line: _, ...row }) => {
      const place = `${row.session} ${row.line}`;
      const nth = lines.get(place) ?? 0;
      lines.set(place, nth + 1);
      take("rows", { ...row, nth, at: timestamp ?? "", who: "tool", text: null });
    },
  );
  return areChunks && areDeeds;
}

/** Takes the messages, exchanges and chunks of a session; returns the messages. */
function takeSession(
  session: number,
  chunks: readonly SqlRow[],
  { take, idOf }: { take: TakeRow; idOf: (exchange: string) => number },
): OldMessage[] {
  const messages: OldMessage[] = [];
  const spans = chunks.map((chunk) => {
    const own = splitLabelled(String(chunk.content), String(chunk.row_lines), Number(chunk.first_line));
    const joined = own.length === 1 && own[0] ? joinPiece(messages.at(-1), own[0]) : undefined;
    if (joined) return { chunk, first: joined.message, last: joined.message, part: joined.part };
    const added = own.map((said) => {
      const nth = messages.filter(({ line }) => line === said.line).length;
      const message = { ...said, nth, at: String(chunk.timestamp), pieces: 1, isAlone: own.length === 1 };
      messages.push(message);
      return message;
    });
    const [first, last] = [added[0] as OldMessage, added.at(-1) as OldMessage];
    return { chunk, first, last, part: { from: 0, to: [...first.text].length } };
  });
  for (const [i, { line, nth, who, text, at }] of messages.entries())
    take("rows", { id: `${session} ${i}`, session, line, nth, at, who, text });
  for (const { chunk, first, last, part } of spans) {
    const exchange = Number(chunk.exchange_line);
    const isPiece = first === last && first.pieces > 1;
    const id = idOf(`${session} ${exchange}`);
    const { day, clock = null, ...about } = readHeader(String(chunk.header ?? chunk.context_content));
    take("exchanges", { ...about, id, session, line: exchange, nth: 0 });
    take("chunks", {
      ...chunk,
      ...{ session, exchange: id, day, clock },
      ...{ first_line: first.line, first_nth: first.nth, last_line: last.line, last_nth: last.nth },
      length: 0,
      ...{ part_from: isPiece ? part.from : null, part_to: isPiece ? part.to : null },
    });
  }
  return messages;
}

/** Returns the header and content of a chunk. */
export function readOldText({ header, content }: SqlRow): {
  header: Omit<Header, "topics">;
  content: string;
} {
  return { header: readHeader(String(header)), content: String(content) };
}

/** Joins a piece to the message that it goes on with, if it does; returns that message and the characters that the piece is. */
function joinPiece(
  last: OldMessage | undefined,
  { line, who, text }: Labelled,
): { message: OldMessage; part: { from: number; to: number } } | undefined {
  if (!last?.isAlone || last.line !== line || last.who !== who) return undefined;
  const overlap = measureOverlap(last.text, text);
  last.text += overlap === 0 ? `\n${text}` : text.slice(overlap);
  last.pieces++;
  const to = [...last.text].length;
  return { message: last, part: { from: to - [...text].length, to } };
}

/** Returns how many characters of a text's end another one begins with; 0 where too few say that it does. */
function measureOverlap(text: string, next: string): number {
  for (let length = Math.min(OVERLAP_MAX, next.length, text.length); length >= OVERLAP_MIN; length--)
    if (text.endsWith(next.slice(0, length))) return length;
  return 0;
}

/** A message as it was labelled in a chunk. */
type Labelled = Pick<OldMessage, "line" | "who" | "text">;

/** Returns the messages of a labelled text by where they begin, `0:118 340:121`; what damage left of that may be anything. */
function splitLabelled(text: string, places: string, firstLine: number): Labelled[] {
  const starts = ROW_LINES.test(places)
    ? places.split(" ").map((place) => place.split(":").map(Number) as [number, number])
    : [[0, firstLine] as const];
  return starts.map(([start, line], i) => {
    const next = starts[i + 1];
    const said = text.slice(start, next && next[0] - 1);
    const [, label, words = said] = /^(User|Assistant): ([\s\S]*)$/.exec(said) ?? [];
    return { line, who: label === "User" ? "user" : "assistant", text: words };
  });
}

/** Returns what the lines of a header say. */
function readHeader(text: string): Omit<Header, "topics"> {
  const line = (name: string) => new RegExp(`^\\[${name} (.*)\\]$`, "m").exec(text)?.[1] ?? "";
  const [day = "", clock] = line("Session from").split(" at ");
  const [, who, subject = ""] = /^(User asks|Assistant says): (.*)$/.exec(line("Context:")) ?? [];
  const speaker = who === "Assistant says" ? "assistant" : "user";
  return { day, clock, participants: line("Participants:"), speaker, subject };
}

/** Reads back what the index holds of a session: its rows, and the chunks of them that are ranked. */

import type { CallKind, Done, Outcome, Row, Said, Speaker } from "../hosts/session.ts";
import type { SqlRow } from "../store/sqlite.ts";
import { SAID_IN_CHUNK, type Store } from "../store/store.ts";
import { isBefore, toolName } from "../transcripts/rows.ts";
import type { Chunk } from "./chunk.ts";
import type { Header } from "./chunk-text.ts";

/** A row as the index holds it. */
export type Stored<R extends Row = Row> = R & {
  id: number;
  /** Number of the session. */
  session: number;
  /** The row's time, or the nearest that is known. */
  at: string;
};

/** The place of a row in the index; an exchange's is that of its first row. */
export type StoredPlace = Pick<Stored, "session" | "line" | "nth">;

/** Lines of a session: after one, up to and including another. */
interface LinesAfter {
  after: number;
  to: number;
}

export const ALL_LINES: LinesAfter = { after: -1, to: Number.MAX_SAFE_INTEGER };

/** The columns of a row, for `toRow`. */
export const ROW_COLUMNS = `r.id, r.session, r.line, r.nth, r.at, r.who, r.text, r.result_line, r.kind, r.tool, r.target,
  r.paths, r.input, r.outcome, r.result`;

/** Converts a row of `ROW_COLUMNS`. */
export function toStored(row: SqlRow): Stored {
  return row.who === "tool" ? toDone(row) : { ...placeFrom(row), ...saidFrom(row) };
}

/** Converts a row of `ROW_COLUMNS` that is a call's. */
export function toDone(row: SqlRow): Stored<Done> {
  const target = String(row.target);
  const paths = row.paths === null ? target : String(row.paths);
  return {
    ...placeFrom(row),
    who: "tool",
    resultLine: row.result_line === null ? undefined : Number(row.result_line),
    kind: row.kind as CallKind,
    tool: toolName(String(row.tool)),
    target,
    paths: paths === "" ? [] : paths.split("\n"),
    input: String(row.input),
    outcome: row.outcome as Outcome,
    result: String(row.result),
  };
}

function placeFrom({ id, session, line, nth, at }: SqlRow) {
  return { id: Number(id), session: Number(session), line: Number(line), nth: Number(nth), at: String(at) };
}

/** The tool of a message that no person typed. */
export const PROGRAM = "program";

function saidFrom<Who extends Said["who"]>({
  who,
  text,
  tool,
}: SqlRow): Pick<Said<Who>, "who" | "text" | "typed"> {
  return { who: who as Who, text: String(text), typed: tool === PROGRAM ? false : undefined };
}

/** Reads the rows of a session in order: all, or those on some lines. */
export function readRows(store: Store, session: number, { after, to } = ALL_LINES): Stored[] {
  return store
    .all(
      `SELECT ${ROW_COLUMNS} FROM rows r WHERE r.session = ? AND r.line > ? AND r.line <= ? ORDER BY r.line, r.nth`,
      session,
      after,
      to,
    )
    .map(toStored);
}

/** Reads what was done in a session, in order: all, or the calls on some lines. */
export function readDone(store: Store, session: number, { after, to } = ALL_LINES): Stored<Done>[] {
  return store
    .all(
      `SELECT ${ROW_COLUMNS} FROM rows r WHERE r.session = ? AND r.line > ? AND r.line <= ? AND r.who = 'tool'
       ORDER BY r.line, r.nth`,
      session,
      after,
      to,
    )
    .map(toDone);
}

/** An exchange as the index holds it. */
export interface StoredExchange {
  /** The place of its first row: its name within the session. */
  line: number;
  nth: number;
  rows: Stored[];
  /** For each of its chunks the topics that a model gave it, or null. */
  topics: (string[] | null)[];
}

/** Reads the exchanges of a session in order; deeds before the first of them, or in one without words, belong to another. */
export function readExchanges(store: Store, session: number): StoredExchange[] {
  const chunks = store.all(
    `SELECT e.line, e.nth, iif(t.content_hash IS NULL, NULL, c.topic_tags) AS topics
       FROM exchanges e JOIN chunks c ON c.exchange = e.id LEFT JOIN paid.topics t ON t.content_hash = c.content_hash
       WHERE e.session = ? ORDER BY e.line, e.nth, c.chunk_index`,
    session,
  );
  const exchanges: StoredExchange[] = [];
  for (const { line, nth, topics } of chunks) {
    const last = exchanges.at(-1);
    const given = topics === null ? null : JSON.parse(String(topics));
    if (last && last.line === line && last.nth === nth) last.topics.push(given);
    else exchanges.push({ line: Number(line), nth: Number(nth), rows: [], topics: [given] });
  }
  let at = 0;
  for (const row of readRows(store, session)) {
    for (let next = exchanges[at + 1]; next && !isBefore(row, next); next = exchanges[at + 1]) at++;
    exchanges[at]?.rows.push(row);
  }
  return exchanges;
}

/** The text of a chunk with its header and tool calls. */
export interface ChunkText extends Pick<Chunk, "rows" | "header" | "tools"> {
  id: number;
}

/** Returns whether a row of a session contains one of these texts. */
export function holdsAny(db: Store, session: number, texts: readonly string[]): boolean {
  if (texts.length === 0) return false;
  return (
    db.get(
      `SELECT 1 FROM rows r, json_each(?) t WHERE r.session = ? AND (instr(r.text, t.value) OR instr(r.target, t.value)
       OR instr(r.paths, t.value) OR instr(r.input, t.value) OR instr(r.result, t.value)) LIMIT 1`,
      JSON.stringify(texts),
      session,
    ) !== undefined
  );
}

/** Reads the texts of chunks, in the order of their ids. */
export function readChunkTexts(store: Store, ids: readonly number[]): ChunkText[] {
  const wanted = JSON.stringify(ids);
  const said = readSaid(store, ids);
  return store
    .all(
      `SELECT ${HEADER_COLUMNS}, c.id, c.tools FROM chunks c JOIN exchanges e ON e.id = c.exchange
       WHERE c.id IN (SELECT value FROM json_each(?)) ORDER BY c.id`,
      wanted,
    )
    .map((row) => {
      const id = Number(row.id);
      return { id, rows: said.get(id) ?? [], header: toHeader(row), tools: String(row.tools) };
    });
}

/** The columns of a chunk `c` and its exchange `e`, for `toHeader`. */
export const HEADER_COLUMNS = "c.day, c.clock, c.topic_tags, e.participants, e.speaker, e.subject";

/** Converts a row of `HEADER_COLUMNS`. */
export function toHeader({ day, clock, topic_tags, participants, speaker, subject }: SqlRow): Header {
  return {
    day: String(day),
    clock: clock === null ? undefined : String(clock),
    participants: String(participants),
    topics: JSON.parse(String(topic_tags)),
    speaker: speaker as Said["who"],
    subject: String(subject),
  };
}

/** Reads the messages of chunks, by chunk id; where a chunk is a piece of a long message, that piece. */
export function readSaid(store: Store, ids: readonly number[]): Map<number, Said<Speaker>[]> {
  const rows = store.all(
    `SELECT c.id AS chunk, c.part_from, c.part_to, r.line, r.nth, r.at, r.who,
         CASE WHEN c.part_from IS NULL THEN r.text ELSE substr(r.text, c.part_from + 1, c.part_to - c.part_from) END AS text
       FROM json_each(?) CROSS JOIN chunks c ON c.id = value CROSS JOIN rows r ON ${SAID_IN_CHUNK}
       ORDER BY c.id, r.line, r.nth`,
    JSON.stringify(ids),
  );
  const byChunk = new Map<number, Said<Speaker>[]>();
  for (const { chunk, part_from, part_to, line, nth, at, ...said } of rows) {
    const part = part_from === null ? {} : { part: { from: Number(part_from), to: Number(part_to) } };
    const row = { line: Number(line), nth: Number(nth), at: String(at), ...saidFrom<Speaker>(said), ...part };
    const own = byChunk.get(Number(chunk));
    if (own) own.push(row);
    else byChunk.set(Number(chunk), [row]);
  }
  return byChunk;
}

/** Joins the pieces of long messages, what they repeat only once, in rows given in order. */
export function joinParts<R extends Pick<Said, "line" | "nth" | "text" | "part">>(rows: readonly R[]): R[] {
  const joined: R[] = [];
  for (const row of rows) {
    const last = joined.at(-1);
    const [before, part] = [last?.part, row.part];
    const isSame = last?.line === row.line && last.nth === row.nth;
    if (!isSame || !before || !part || part.from > before.to) joined.push(row);
    else {
      const text = last.text + withoutPoints(row.text, before.to - part.from);
      joined[joined.length - 1] = { ...last, text, part: { from: before.from, to: part.to } };
    }
  }
  return joined;
}

/** Returns a text without its first code points. */
function withoutPoints(text: string, count: number): string {
  return [...text].slice(count).join("");
}

/** Returns a row's place in its session as a key. */
export function placeKey({ line, nth }: Pick<Row, "line" | "nth">): string {
  return `${line} ${nth}`;
}

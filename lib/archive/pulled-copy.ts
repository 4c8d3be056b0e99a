/**
 * Writes others' sessions as copies in our plain form. Exchanges come in the order of their places; what the copy holds before the
 * first of them is kept as it is. The hub's number of the change stands in
 * the copy's note, so that words and number change together.
 */

import { replaceFile } from "../base/files.ts";
import { type JsonRecord, stringsOf } from "../base/json.ts";
import { appendBlocks, type BlockWriter, writeBlocks } from "../hosts/blocks.ts";
import { linesForward, parseLine, withFile } from "../hosts/lines.ts";
import { statUnpacked } from "../hosts/packed.ts";
import { placeOf, rowRecord } from "../hosts/plain-row.ts";
import type { Row, Session } from "../hosts/session.ts";
import { besideCopy } from "../sessions/pulled.ts";
import { isBefore } from "../transcripts/rows.ts";

/** An exchange as it is pulled. */
export interface PulledExchange extends Place {
  /** In order, cut and redacted as the sender's index has them. */
  rows: readonly Row[];
  /** For each of its chunks the topics that a model gave it, or null; left out where none did. */
  topics?: readonly (readonly string[] | null)[] | undefined;
}

type Place = Pick<Row, "line" | "nth">;

interface RowLine {
  text: string;
  place: Place;
}

/** An exchange as the copy holds it. */
interface Held {
  place: Place;
  rows: RowLine[];
}

/** A line of the copy as it is, with the byte behind it. */
interface OldLine {
  text: string;
  end: number;
}

/** The difference that a pull makes to a copy. */
interface CopyChange {
  /** True if words that it held are there no more. */
  hasLost: boolean;
  /** The bytes at its beginning that are as they were. */
  kept: number;
}

export interface CopyWriter {
  /** Adds an exchange, or puts it in place of the one that was there; one without rows is gone. */
  put(exchange: PulledExchange): void;
  /** Completes the copy; a new one without a row is not written. */
  end(note: JsonRecord): CopyChange;
  /** Leaves the copy as it was, unless it is complete. */
  abandon(): void;
}

/** The session of a copy: whose it is, and what the hub and its owner's machine say of it. */
interface CopiedSession extends Pick<Session, "agent" | "id" | "name" | "cwd" | "parentId" | "startedAt"> {
  storedId: string;
  owner: string;
  machine: string;
  /** The hub's number of it. */
  number: number;
  project: string;
  updatedAt: string;
  meta: unknown;
  observations: string | undefined;
}

/** Begins to write a copy, or to change one. */
export function pulledCopy(file: string, session: CopiedSession): CopyWriter {
  const { agent, id, storedId, owner, machine, number, project, updatedAt } = session;
  const { name, cwd, parentId: parent, startedAt, meta, observations } = session;
  const isNew = statUnpacked(file) === undefined;
  const about = { agent, id, parent, owner, machine, from: "shared", project, number };
  let merge: ReturnType<typeof merger> | undefined;
  const begin = (exchange: Place) => {
    if (!isNew) return merger(file, about, linesFrom(file, exchange));
    const timestamp = startedAt ?? updatedAt;
    const head = { host: agent, session: storedId, parent, cwd, remote: project, timestamp };
    return merger(file, about, { kept: 0, lines: [], head });
  };
  return {
    put(exchange) {
      if (isNew && exchange.rows.length === 0) return;
      merge ??= begin(exchange);
      merge.put(exchange);
    },
    end(note) {
      const unchanged = { hasLost: false, kept: Number.MAX_SAFE_INTEGER };
      if (isNew && !merge) return unchanged;
      const said = { name, project, cwd, parentId: parent, startedAt, meta, observations };
      replaceFile(besideCopy(file), JSON.stringify(said), { durable: false });
      if (merge) return merge.end(note, updatedAt);
      appendBlocks(file, new Uint8Array(), { note, durable: true, at: updatedAt });
      return unchanged;
    },
    abandon: () => merge?.abandon(),
  };
}

/** Reads the lines of a copy from a place on, and the bytes before them. */
function linesFrom(file: string, from: Place): { kept: number; lines: OldLine[] } {
  return withFile(file, (descriptor) => {
    let [kept, lines]: [number, OldLine[]] = [0, []];
    for (const { bytes, offset, end } of linesForward(descriptor)) {
      const place = placeOf(bytes);
      // the head, and a row that was kept out since, name no place
      if (offset === 0 || (place && isBefore(place, from))) [kept, lines] = [end, []];
      else lines.push({ text: bytes?.toString("utf8") ?? "", end });
    }
    return { kept, lines };
  });
}

/** Parts the lines of a copy into exchanges: the first row of each has topics. */
function heldIn(lines: readonly OldLine[]): Held[] {
  const held: Held[] = [];
  for (const { text } of lines) {
    const place = placeOf(Buffer.from(text)) ?? held.at(-1)?.rows.at(-1)?.place;
    if (!place) continue;
    // within a text its quotes would be escaped
    if (text.includes('"topics":[') || held.length === 0) held.push({ place, rows: [] });
    held.at(-1)?.rows.push({ text, place });
  }
  return held;
}

interface Beginning {
  /** The bytes of the copy before its lines that may change. */
  kept: number;
  lines: readonly OldLine[];
  /** The first line of a new copy. */
  head?: JsonRecord;
}

/** Merges exchanges into the last lines of a copy. */
function merger(file: string, about: JsonRecord, { kept, lines, head }: Beginning) {
  const held = heldIn(lines);
  const copy = lineWriter(file, { about, lines, kept });
  if (head) copy.write(JSON.stringify(head));
  const written: string[] = [];
  const add = rowsForward((text) => {
    copy.write(text);
    if (lines.length > 0) written.push(text);
  });
  const takeBefore = (place?: Place) => {
    while (held[0] && (!place || isBefore(held[0].place, place))) add(held.shift() as Held);
  };
  return {
    put({ line, nth, rows, topics = [] }: PulledExchange) {
      const place = { line, nth };
      takeBefore(place);
      if (held[0] && !isBefore(place, held[0].place)) held.shift();
      const texts = rows.map((row, i) => ({
        text: JSON.stringify(
          rowRecord(row.who === "user" ? { ...row, typed: false } : row, i === 0 ? topics : undefined),
        ),
        place: row,
      }));
      if (texts.length > 0) add({ place, rows: texts });
    },
    end(note: JsonRecord, at: string): CopyChange {
      takeBefore();
      add();
      return { hasLost: hasLost(lines, written), kept: copy.end(note, at) };
    },
    abandon: copy.abandon,
  };
}

/** Returns what writes exchanges: each ends where the next one begins, and rows only go forward. Without one it ends the last. */
function rowsForward(write: (text: string) => void): (exchange?: Held) => void {
  let current: Held | undefined;
  let last: Place = { line: -1, nth: 0 };
  return (next) => {
    for (const { text, place } of current?.rows ?? []) {
      if (!isBefore(last, place) || (next && !isBefore(place, next.place))) continue;
      last = place;
      write(text);
    }
    current = next;
  };
}

/** Returns whether words of the lines that a copy had are in none that took their place. */
function hasLost(lines: readonly OldLine[], written: readonly string[]): boolean {
  const now = new Set(written);
  const lost = lines.filter(({ text }) => !now.has(text)).flatMap(({ text }) => textsIn(text));
  const words = new Set(lost.length > 0 ? written.flatMap(textsIn) : []);
  return lost.some((text) => !words.has(text));
}

/** Returns the words of a row's line. */
function textsIn(line: string): string[] {
  const [{ text, target, input, result, paths } = {} as JsonRecord] = parseLine(Buffer.from(line)).records;
  return stringsOf([text, target, input, result, ...stringsOf(paths)]).filter((each) => each !== "");
}

/** Writes the last lines of a copy, and none again that is as it was. */
function lineWriter(
  file: string,
  { about, lines, kept: before }: { about: JsonRecord; lines: readonly OldLine[]; kept: number },
) {
  let [same, kept] = [0, before];
  let writer: BlockWriter | undefined;
  const begin = () => (writer ??= writeBlocks(file, { durable: before > 0, about, keep: kept }));
  return {
    write(text: string) {
      const old = lines[same];
      if (writer || old?.text !== text) return begin().write(Buffer.from(`${text}\n`));
      [same, kept] = [same + 1, old.end];
    },
    /** Returns the bytes at the copy's beginning that are as they were. */
    end(note: JsonRecord, at: string): number {
      begin().end(note, at);
      writer = undefined;
      return kept;
    },
    abandon: () => writer?.abandon(),
  };
}

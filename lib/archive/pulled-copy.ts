/**
 * Writes others' sessions as copies in our plain form; a copy that changes keeps the bytes before its first change. The
 * hub's number of the change stands in the copy's note, so that words and number change together.
 */

import { replaceFile } from "../base/files.ts";
import { type JsonRecord, stringsOf } from "../base/json.ts";
import { appendBlocks } from "../hosts/blocks.ts";
import { linesForward, parseLine, withFile } from "../hosts/lines.ts";
import { statUnpacked } from "../hosts/packed.ts";
import { placeOf, rowRecord } from "../hosts/plain-row.ts";
import type { Row, Session } from "../hosts/session.ts";
import { besideCopy } from "../sessions/pulled.ts";
import { isBefore } from "../transcripts/rows.ts";
import { writeLines } from "./copy-files.ts";

/** An exchange as it is pulled. */
export interface PulledExchange extends Place {
  /** In order, cut and redacted as the sender's index has them. */
  rows: readonly Row[];
  /** For each of its chunks the topics that a model gave it, or null; left out where none did. */
  topics?: readonly (readonly string[] | null)[] | undefined;
}

type Place = Pick<Row, "line" | "nth">;

/** A line of the copy, with the place of its row. */
interface RowLine {
  text: string;
  place: Place;
}

/** An exchange as lines of the copy. */
interface Exchange {
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

/** The session of a copy: whose it is, and what the hub and its owner's machine say of it. */
interface CopiedSession extends Pick<Session, "agent" | "id" | "name" | "cwd" | "parentId" | "startedAt"> {
  storedId: string;
  owner: string;
  machine: string;
  /** The hub's number of it, and of the change up to which its exchanges are read. */
  number: number;
  seq: number;
  project: string;
  updatedAt: string;
  meta: unknown;
  observations: string | undefined;
}

/** Writes a copy, or what changed in it: each exchange in place of the one that was there; one without rows is gone. */
export function writePulled(
  file: string,
  session: CopiedSession,
  exchanges: readonly PulledExchange[],
): CopyChange {
  const { agent, id, storedId, owner, machine, number, seq, project, updatedAt } = session;
  const { name, cwd, parentId: parent, startedAt, meta, observations } = session;
  const unchanged = { hasLost: false, kept: Number.MAX_SAFE_INTEGER };
  const isNew = statUnpacked(file) === undefined;
  if (isNew && exchanges.every(({ rows }) => rows.length === 0)) return unchanged;
  const said = { name, project, cwd, parentId: parent, startedAt, meta, observations };
  replaceFile(besideCopy(file), JSON.stringify(said), { durable: false });
  const [first] = exchanges;
  if (!first) {
    appendBlocks(file, new Uint8Array(), { note: { seq }, durable: true, at: updatedAt });
    return unchanged;
  }
  const timestamp = startedAt ?? updatedAt;
  const head = { host: agent, session: storedId, parent, cwd, remote: project, timestamp };
  const old = isNew ? { kept: 0, lines: [] } : linesFrom(file, first);
  const lines = [...(isNew ? [JSON.stringify(head)] : []), ...merged(heldIn(old.lines), exchanges)];
  const change = lines.findIndex((line, i) => line !== old.lines[i]?.text);
  const same = change === -1 ? lines.length : change;
  const kept = old.lines[same - 1]?.end ?? old.kept;
  const text = lines.slice(same).map((line) => `${line}\n`);
  const note = { agent, id, parent, owner, machine, from: "shared", project, number, seq };
  writeLines(file, text.join(""), { note, at: updatedAt, durable: old.kept > 0, keep: kept });
  return { hasLost: hasLost(old.lines, lines), kept };
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
function heldIn(lines: readonly OldLine[]): Exchange[] {
  const held: Exchange[] = [];
  for (const { text } of lines) {
    const place = placeOf(Buffer.from(text));
    if (!place) continue;
    // within a text its quotes would be escaped
    if (text.includes('"topics":[') || held.length === 0) held.push({ place, rows: [] });
    held.at(-1)?.rows.push({ text, place });
  }
  return held;
}

function toExchange({ line, nth, rows, topics = [] }: PulledExchange): Exchange {
  const place = { line, nth };
  const texts = rows.map((row, i) => {
    const own = row.who === "user" ? { ...row, typed: false } : row;
    return { text: JSON.stringify(rowRecord(own, i === 0 ? topics : undefined)), place: row };
  });
  return { place, rows: texts };
}

/** Returns the lines of a copy with exchanges in place of its own. */
function merged(held: readonly Exchange[], exchanges: readonly PulledExchange[]): string[] {
  const key = ({ line, nth }: Place) => `${line}.${nth}`;
  const replaced = new Set(exchanges.map(key));
  const order = (a: Exchange, b: Exchange) =>
    Number(isBefore(b.place, a.place)) - Number(isBefore(a.place, b.place));
  const all = [...held.filter(({ place }) => !replaced.has(key(place))), ...exchanges.map(toExchange)]
    .filter(({ rows }) => rows.length > 0)
    .sort(order);
  let last: Place = { line: -1, nth: 0 };
  // an exchange ends where the next one begins, and rows only go forward
  return all.flatMap(({ rows }, i) => {
    const next = all[i + 1]?.place;
    const lines: string[] = [];
    for (const { text, place } of rows) {
      if (!isBefore(last, place) || (next && !isBefore(place, next))) continue;
      last = place;
      lines.push(text);
    }
    return lines;
  });
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

/**
 * Writes others' sessions as copies in our plain form. Exchanges come in the order of their places; what the copy holds before the
 * first of them is kept as it is, and where rows are only added, they are appended. The hub's number of the change stands in
 * the copy's note, so that words and number change together.
 */

import { type JsonRecord, stringsOf } from "../base/json.ts";
import { appendBlocks, type BlockWriter, writeBlocks } from "../hosts/blocks.ts";
import { linesForward, parseLine, withFile } from "../hosts/lines.ts";
import { statUnpacked } from "../hosts/packed.ts";
import { placeOf, rowRecord } from "../hosts/plain-row.ts";
import { isBefore, placeKey } from "../index/stored-rows.ts";
import type { SharedExchange } from "./wire.ts";

/** Added rows are held in memory up to this many bytes; a copy with more is written anew. */
const APPEND_MAX_BYTES = 4 * 1024 * 1024;

type Place = Pick<SharedExchange, "line" | "nth">;

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
export interface CopyChange {
  /** True if words that it held are there no more. */
  hasLost: boolean;
  /** The lines that were taken out, by their place, each with the byte behind it in the copy as it was. */
  removed: { place: Place | undefined; end: number; bytes: number }[];
  /** The byte of the copy as it was before which nothing but these lines has changed. */
  until: number;
}

export interface CopyWriter {
  /** Adds an exchange, or puts it in place of the one that was there. */
  put(exchange: SharedExchange): void;
  /** Completes the copy. */
  end(note: JsonRecord): CopyChange;
  /** Leaves the copy as it was. */
  abandon(): void;
}

interface CopyOptions {
  /** The first line of a new copy. */
  head: JsonRecord;
  /** The note that names the session. */
  about: JsonRecord;
  /** The places of exchanges that are gone. */
  gone: readonly Place[];
  modifiedAt: string;
}

const UNCHANGED: CopyChange = { hasLost: false, removed: [], until: Number.POSITIVE_INFINITY };

/** Begins to write a copy, or to change one. */
export function pulledCopy(file: string, options: CopyOptions): CopyWriter {
  const { head, about, gone, modifiedAt } = options;
  const isNew = statUnpacked(file) === undefined;
  const out = new Set(gone.map(placeKey));
  let first = gone.toSorted((a, b) => (isBefore(a, b) ? -1 : 1))[0];
  let merge: ReturnType<typeof merger> | undefined;
  const begin = () => {
    if (isNew || !first) return merger(file, { about, kept: 0, lines: [], out, head });
    return merger(file, { about, ...linesFrom(file, first), out });
  };
  return {
    put(exchange) {
      if (!first || (!merge && isBefore(exchange, first))) first = exchange;
      merge ??= begin();
      merge.put(exchange);
    },
    end(note) {
      if (first || isNew) merge ??= begin();
      const change = merge?.end(note, modifiedAt) ?? UNCHANGED;
      if (!merge) appendBlocks(file, new Uint8Array(), { note, durable: true, at: modifiedAt });
      return change;
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

interface MergeOptions {
  about: JsonRecord;
  /** The bytes of the copy before its lines that may change. */
  kept: number;
  lines: readonly OldLine[];
  /** The keys of the exchanges that are gone. */
  out: ReadonlySet<string>;
  /** The first line of a new copy. */
  head?: JsonRecord;
}

/** Merges exchanges into the last lines of a copy. */
function merger(file: string, { about, lines, out, head, ...options }: MergeOptions) {
  const held = heldIn(lines);
  const copy = lineWriter(file, { about, lines, kept: options.kept });
  if (head) copy.write(JSON.stringify(head));
  const written: string[] = [];
  let current: Held | undefined;
  let last: Place = { line: -1, nth: 0 };
  // an exchange ends where the next one begins, and rows only go forward
  const close = (next?: Place) => {
    for (const { text, place } of current?.rows ?? []) {
      if (!isBefore(last, place) || (next && !isBefore(place, next))) continue;
      last = place;
      copy.write(text);
      if (lines.length > 0) written.push(text);
    }
  };
  const add = (exchange: Held) => {
    close(exchange.place);
    current = exchange;
  };
  const takeBefore = (place?: Place) => {
    while (held[0] && (!place || isBefore(held[0].place, place))) {
      const next = held.shift() as Held;
      if (!out.has(placeKey(next.place))) add(next);
    }
  };
  return {
    put({ line, nth, rows, topics = [] }: SharedExchange) {
      const place = { line, nth };
      takeBefore(place);
      if (held[0] && !isBefore(place, held[0].place)) held.shift();
      const texts = rows.map((row, i) => ({
        text: JSON.stringify(
          rowRecord(row.who === "user" ? { ...row, typed: false } : row, i === 0 ? topics : undefined),
        ),
        place: row,
      }));
      add({ place, rows: texts });
    },
    end(note: JsonRecord, at: string): CopyChange {
      takeBefore();
      close();
      copy.end(note, at);
      return changeOf(lines, written);
    },
    abandon: copy.abandon,
  };
}

/** Compares the lines that a copy had with the lines that took their place. */
function changeOf(lines: readonly OldLine[], written: readonly string[]): CopyChange {
  const now = new Set(written);
  const removed: CopyChange["removed"] = [];
  const lost: string[] = [];
  let { until } = UNCHANGED;
  let at = 0;
  for (const { text, end } of lines) {
    const bytes = Buffer.byteLength(text) + 1;
    if (written[at] === text) at++;
    else if (now.has(text)) until = Math.min(until, end - bytes);
    else {
      removed.push({ place: placeOf(Buffer.from(text)), end, bytes });
      lost.push(...textsIn(text));
    }
  }
  const words = new Set(lost.length > 0 ? written.flatMap(textsIn) : []);
  return { hasLost: lost.some((text) => !words.has(text)), removed, until };
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
  let [same, kept, bytes] = [0, before, 0];
  let added: Buffer[] = [];
  let writer: BlockWriter | undefined;
  const startAnew = () => {
    writer = writeBlocks(file, { durable: false, about, keep: kept });
    for (const each of added) writer.write(each);
    added = [];
    return writer;
  };
  return {
    write(text: string) {
      const old = lines[same];
      if (!writer && added.length === 0 && old?.text === text) {
        [same, kept] = [same + 1, old.end];
        return;
      }
      const line = Buffer.from(`${text}\n`);
      if (writer) return writer.write(line);
      added.push(line);
      bytes += line.length;
      if (kept === 0 || old || bytes > APPEND_MAX_BYTES) startAnew();
    },
    end(note: JsonRecord, at: string) {
      if (!writer && kept > 0 && same === lines.length)
        return appendBlocks(file, Buffer.concat(added), { note, durable: true, at });
      (writer ?? startAnew()).end(note, at);
    },
    abandon: () => writer?.abandon(),
  };
}

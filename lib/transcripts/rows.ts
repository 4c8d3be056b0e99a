/** The rows of a transcript: its lines parsed, without the records that a later one of the same message replaces. */

import type { JsonRecord } from "../base/json.ts";
import type { Format } from "./format.ts";
import { type Line, linesBackward, linesForward, parseLine } from "./jsonl.ts";

export interface Row extends Omit<Line, "bytes"> {
  records: JsonRecord[];
  /** Whether some of the line was not JSON. */
  damaged: boolean;
}

/** Lines between two records of one message: its tokens and its tool calls are written soon after its words. */
export const REPLACED_WITHIN = 16;

/** Yields the rows of an open file from the byte `from` on. */
export function rowsForward(descriptor: number, format: Format, from = 0): Iterable<Row> {
  const rows = parsed(linesForward(descriptor, { from }));
  return format.messageOf ? lastOfEach(rows, format.messageOf) : rows;
}

/** Yields the rows of an open file from its end to its start. */
export function* rowsBackward(descriptor: number, format: Format, size: number): Generator<Row> {
  const later: (string | undefined)[] = [];
  for (const row of parsed(linesBackward(descriptor, size))) {
    const { messageOf } = format;
    if (messageOf) {
      row.records = row.records.filter((record) => !later.includes(messageOf(record) ?? ""));
      later.push(...row.records.map(messageOf));
      later.splice(0, later.length - REPLACED_WITHIN);
    }
    yield row;
  }
}

function* parsed(lines: Iterable<Line>): Generator<Row> {
  for (const { offset, end, terminated, count, bytes } of lines)
    yield { offset, end, terminated, count, ...parseLine(bytes) };
}

function* lastOfEach(rows: Iterable<Row>, messageOf: NonNullable<Format["messageOf"]>): Generator<Row> {
  const held: Row[] = [];
  for (const row of rows) {
    for (const record of row.records) {
      const message = messageOf(record);
      if (message === undefined) continue;
      for (const earlier of held)
        earlier.records = earlier.records.filter((each) => messageOf(each) !== message);
    }
    held.push(row);
    if (held.length > REPLACED_WITHIN) yield held.shift() as Row;
  }
  yield* held;
}

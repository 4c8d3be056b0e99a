/** The rows of a transcript: its lines parsed, and of several states of one message the last. */

import type { JsonRecord } from "../base/json.ts";
import type { Format } from "./format.ts";
import { type Line, linesBackward, linesForward, parseLine } from "./jsonl.ts";

export interface Row extends Omit<Line, "bytes"> {
  records: JsonRecord[];
  /** Whether some of the line was not JSON. */
  damaged: boolean;
}

/** Lines between two states of one message: its tokens and its tool calls are written soon after its words. */
export const STATES_WITHIN = 16;

/** Yields the rows of an open file from the byte `from` on. */
export function rowsForward(descriptor: number, format: Format, from = 0): Iterable<Row> {
  const rows = parsed(linesForward(descriptor, { from }));
  return format.messageOf ? lastStates(rows, format.messageOf, "forward") : rows;
}

/** Yields the rows of an open file from its end to its start. */
export function rowsBackward(descriptor: number, format: Format, size: number): Iterable<Row> {
  const rows = parsed(linesBackward(descriptor, size));
  return format.messageOf ? lastStates(rows, format.messageOf, "backward") : rows;
}

function* parsed(lines: Iterable<Line>): Generator<Row> {
  for (const { offset, end, terminated, count, bytes } of lines)
    yield { offset, end, terminated, count, ...parseLine(bytes) };
}

/** Puts the last state of each message where its first one is, and leaves out the others. */
function* lastStates(
  rows: Iterable<Row>,
  messageOf: NonNullable<Format["messageOf"]>,
  direction: "forward" | "backward",
): Generator<Row> {
  const held: Row[] = [];
  for (const row of rows) {
    row.records = row.records.flatMap((record) => {
      const message = messageOf(record);
      const isOther = (each: JsonRecord) => message !== undefined && messageOf(each) === message;
      const other = held.find(({ records }) => records.some(isOther));
      if (!other) return [record];
      if (direction === "forward") {
        other.records = other.records.map((each) => (isOther(each) ? record : each));
        return [];
      }
      const last = other.records.find(isOther) ?? record;
      other.records = other.records.filter((each) => !isOther(each));
      return [last];
    });
    held.push(row);
    if (held.length > STATES_WITHIN) yield held.shift() as Row;
  }
  yield* held;
}

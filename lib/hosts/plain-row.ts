/** A row as a record of our plain form, which names its own place, since pulled rows have gaps. */

import { arrayOf, type JsonRecord, numberOf, stringOf, stringsOf } from "../base/json.ts";
import type { Entry, Row, Speaker } from "./session.ts";
import { CALL_KINDS, calledAction, type RawCall, toolName } from "./tool-call.ts";

/** The topics of an exchange's chunks, or null for a chunk without: its first row keeps them. */
type Topics = Entry["topics"];

/** Returns a row's record; its place comes first, so that it is found without reading the rest. */
export function rowRecord(row: Row, topics?: Topics): JsonRecord {
  const { line, nth, who, at, ...facts } = row;
  const resultLine = row.who === "tool" ? row.resultLine : undefined;
  return { line, nth, resultLine, who, timestamp: at, ...facts, topics };
}

/** Characters that hold the place of a record. */
const PLACE_CHARS = 96;

/** Returns the place that a record names and the last line that it reaches; undefined for one that names none. */
export function placeOf(bytes: Buffer | undefined): { line: number; nth: number; last: number } | undefined {
  const text = bytes?.toString("latin1", 0, PLACE_CHARS) ?? "";
  const [, line, nth, last = line] = /^\{"line":(\d+),"nth":(\d+)(?:,"resultLine":(\d+))?/.exec(text) ?? [];
  return line === undefined ? undefined : { line: Number(line), nth: Number(nth), last: Number(last) };
}

const SPEAKERS: readonly (Speaker | "summary")[] = ["user", "assistant", "summary"];

const STATES = ["rejected", "running", "unknown"] as const;

/** Returns what a row's record says, a call followed by its result; undefined for a record of another kind. */
export function rowEntries(
  record: JsonRecord,
):
  | (Omit<Entry, "line" | "nth" | "offset" | "end" | "tool"> & { line?: number; tool?: RawCall })[]
  | undefined {
  const { who, isAnswer } = record;
  const topics = Array.isArray(record.topics)
    ? record.topics.map((given) => (Array.isArray(given) ? stringsOf(given) : null))
    : undefined;
  const speaker = SPEAKERS.find((each) => each === who);
  const callId = `${record.line}.${record.nth}`;
  if (speaker) {
    const text = stringOf(record.text) ?? "";
    return [{ kind: speaker, text, topics, ...(isAnswer === true && { callId }) }];
  }
  if (who !== "tool") return undefined;
  const tool = toCall(record);
  const call = { kind: "tool" as const, text: `${tool.name} ${tool.target}`.trim(), tool, callId, topics };
  const { outcome } = record;
  const text = stringOf(record.result) ?? "";
  if (outcome === "unknown" && text === "") return [call];
  const result = {
    kind: "result" as const,
    text,
    callId,
    isError: outcome === "failed",
    state: STATES.find((each) => each === outcome),
    patch: stringOf(record.patch),
  };
  const line = numberOf(record.resultLine);
  return [call, line === undefined ? result : { ...result, line }];
}

function toCall(record: JsonRecord): RawCall {
  const name = stringOf(record.tool) ?? "tool";
  const kind = CALL_KINDS.find((each) => each === record.kind) ?? "other";
  const action = calledAction({ tool: name, kind });
  const target = stringOf(record.target) ?? "";
  const paths = stringsOf(arrayOf(record.paths));
  const input = stringOf(record.input) || target;
  return { name: toolName(name), target, action, paths, readInput: () => input };
}

/** A row as a record of our plain form, which names its own place, since pulled rows have gaps. */

import { arrayOf, type JsonRecord, numberOf, stringOf, stringsOf } from "../base/json.ts";
import type { BareEntry } from "./format.ts";
import type { Entry, Row, Speaker } from "./session.ts";
import { CALL_KINDS, type RawCall, toolName } from "./tool-call.ts";

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
export function rowEntries(record: JsonRecord): BareEntry[] | undefined {
  const { who, isAnswer, outcome } = record;
  const topics = Array.isArray(record.topics)
    ? record.topics.map((given) => (Array.isArray(given) ? stringsOf(given) : null))
    : undefined;
  const speaker = SPEAKERS.find((each) => each === who);
  const callId = `${record.line}.${record.nth}`;
  const said = stringOf(record.text) ?? "";
  if (speaker) return [{ kind: speaker, text: said, topics, ...(isAnswer === true && { callId }) }];
  if (who !== "tool") return undefined;
  const tool = toCall(record);
  const call: BareEntry = { kind: "tool", text: `${tool.name} ${tool.target}`.trim(), tool, callId, topics };
  const text = stringOf(record.result) ?? "";
  if (outcome === "unknown" && text === "") return [call];
  const line = numberOf(record.resultLine);
  const state = STATES.find((each) => each === outcome);
  const result = { text, callId, isError: outcome === "failed", state, patch: stringOf(record.patch) };
  return [call, { kind: "result", ...result, ...(line !== undefined && { line }) }];
}

function toCall(record: JsonRecord): RawCall {
  const name = stringOf(record.tool) ?? "tool";
  const kind = CALL_KINDS.find((each) => each === record.kind) ?? "other";
  const target = stringOf(record.target) ?? "";
  const paths = stringsOf(arrayOf(record.paths));
  const input = stringOf(record.input) || target;
  return { name: toolName(name), target, kind, paths, readInput: () => input };
}

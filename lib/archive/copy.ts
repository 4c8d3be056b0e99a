/**
 * Writes the copy of a transcript: a line for each of its lines, redacted, with what readers and a host that goes on need.
 * What is excluded keeps its line and its place in the conversation, without a word.
 */

import { isRecord, type JsonRecord, recordOf } from "../base/json.ts";
import { type BlockWriter, writeBlocks } from "../hosts/blocks.ts";
import { type EntryOptions, type Head, readBareEntry, TOLD, wholeEntry } from "../hosts/format.ts";
import { formatOf } from "../hosts/hosts.ts";
import {
  closeTranscript,
  linesForward,
  NEWLINE,
  openTranscript,
  parseLine,
  recordsAfter,
} from "../hosts/lines.ts";
import { lookingOnce } from "../redact/redact.ts";
import { recordTest } from "../transcripts/forgotten.ts";
import { headIn } from "../transcripts/head.ts";
import type { Rules } from "../transcripts/rules.ts";
import { cleanEntries, type SecretMemory, textsInTurn } from "../transcripts/secret-rows.ts";
import { secretsIn } from "../transcripts/transcript.ts";

/** Rows in which hosts repeat what others hold: states of a message while it is written, requests, files as they were. */
const REPEATING = new Set([
  "progress",
  "api-request-blob",
  "file-history-snapshot",
  "turn.prompt",
  "agent.message.appended",
]);
/** The rest of a row without its words: its place in the conversation. */
const PLACE_KEYS = new Set([
  "type",
  "uuid",
  "parentUuid",
  "logicalParentUuid",
  "id",
  "parentId",
  "timestamp",
  "sessionId",
  "isSidechain",
  "agentId",
  "targetId",
  "leafUuid",
  "host",
  "session",
  "parent", // of our plain form
]);
/** A model's thoughts: their signature is the host's, and no redacted text would fit it. */
const THOUGHTS = new Set(["thinking", "redacted_thinking", "reasoning"]);
/** Whole files as they were before an edit. */
const FILES = new Set(["originalFile"]);
/** Longer base64 is an image or a file. */
const DATA_MIN = 512;
/** A longer value is not a secret that only its key announces. */
const ANNOUNCED_MAX = 256;
/** A line that says no more than that it is damaged. */
const DAMAGED = "{";
/** Bytes read between two rests. */
const SLICE_BYTES = 1024 * 1024;

export interface CopyOptions {
  rules: Rules;
  /** The copy's note: in what state its source was, and by which rules it was made. */
  note: JsonRecord;
  /** The session that it is a copy of, for the note of a new one. */
  about?: JsonRecord | undefined;
  /** The time that the copy gets. */
  modifiedAt: string;
  /** True if it is on disk before it takes its name, since nothing else could make it again. */
  durable: boolean;
  /** Only count what would be left out. @default {false} */
  dryRun?: boolean;
  /** Called between slices of work. */
  rest?: (() => Promise<void>) | undefined;
}

/** Writes a copy of a transcript, or of a copy, in place of an old one; undefined where the source holds no transcript. */
export async function writeCopy(
  source: string,
  target: string,
  options: CopyOptions,
): Promise<Written | undefined> {
  const descriptor = openTranscript(source);
  let writer: BlockWriter | undefined;
  try {
    const head = headIn(source, descriptor);
    if (!head) return undefined;
    writer = options.dryRun ? undefined : writeBlocks(target, options);
    const excluded = await writeRows(descriptor, { source, head, writer }, options);
    writer?.end(options.note, options.modifiedAt);
    writer = undefined;
    return { excluded };
  } finally {
    writer?.abandon();
    closeTranscript(descriptor);
  }
}

/** The outcome of writing a copy. */
interface Written {
  /** Rows, or parts of an output, that were left out since they are excluded. */
  excluded: number;
}

/** Writes the rows; returns how many are excluded. */
async function writeRows(
  descriptor: number,
  { source, head, writer }: { source: string; head: Head; writer: BlockWriter | undefined },
  { rules, rest }: CopyOptions,
): Promise<number> {
  let excluded = 0;
  let told = toldBeside(head, rules);
  let rested = 0;
  const lines = copiedLines(descriptor, { source, head, rules, onExcluded: () => excluded++ });
  for (const { copies, damaged, end, terminated, count } of lines) {
    // A row before which something is torn stays such a row.
    const torn = damaged ? DAMAGED : "";
    if (copies[0]) Object.assign(copies[0], told);
    if (copies[0]) told = undefined;
    const text = torn + copies.map((copy) => JSON.stringify(copy)).join("");
    writer?.write(Buffer.from(text));
    if (terminated) writer?.write(Buffer.alloc(count, NEWLINE));
    if (end - rested < SLICE_BYTES) continue;
    rested = end;
    await rest?.();
  }
  return excluded;
}

/** Returns what the first row of the copy keeps of the files beside the transcript, which may be gone with it. */
function toldBeside(head: Head, rules: Rules): JsonRecord | undefined {
  if (!formatOf(head).beside) return undefined;
  const { cwd, startedAt } = head;
  return { [TOLD]: { ...(cwd !== undefined && { cwd: rules.clean(cwd) }), startedAt } };
}

interface Copying extends Required<Pick<EntryOptions, "head">> {
  rules: Rules;
  /** Called for each row that is left out since it is excluded. */
  onExcluded?: () => void;
}

/** Yields the lines of an open transcript, each with the copies of its rows. */
export function* copiedLines(descriptor: number, { source, ...given }: Copying & { source: string }) {
  const copying = { ...given, rules: { ...given.rules, clean: lookingOnce(given.rules.clean) } };
  const copied = rowCopier(secretsIn(source, copying), { ...copying, later: recordsAfter(descriptor) });
  for (const { bytes, offset, end, terminated, count } of linesForward(descriptor)) {
    const { records, damaged } = parseLine(bytes);
    const copies = records.map((record) => copied(record, { offset, end }));
    yield { copies, damaged, end, terminated, count };
  }
}

/** Returns what makes the copy of each row, given in their order: redacted, and without a word where it is excluded. */
export function rowCopier(
  memory: SecretMemory,
  { head, later, rules, onExcluded }: Copying & Pick<EntryOptions, "later">,
) {
  const format = formatOf(head);
  const shown = cleanEntries(rules, memory);
  const isForgotten = recordTest(head.agent, format, rules);
  const inTurn = textsInTurn();
  return (record: JsonRecord, place: { offset: number; end: number }): JsonRecord => {
    if (REPEATING.has(String(record.type))) return keepPlace(record);
    const entries = readBareEntry(format, record, { ...place, line: 0, nth: 0 }, { head, later });
    let prepare: ((text: string) => string) | undefined;
    let isExcluded = isForgotten(record);
    for (const entry of entries) {
      prepare = inTurn(entry.text) ?? prepare;
      if (shown(wholeEntry(entry)) === undefined) isExcluded = true;
    }
    const clean = memory.cleaner([place.offset]);
    const redactText = (text: string) => clean(prepare?.(text) ?? text);
    const copy = isExcluded ? undefined : redactedRow(record, redactText, rules);
    if (copy) return copy;
    onExcluded?.();
    return keepPlace(record);
  };
}

/** Returns a row with nothing but its place in the conversation. */
function keepPlace(record: JsonRecord): JsonRecord {
  const isOfPlace = ([key, value]: [string, unknown]) =>
    PLACE_KEYS.has(key) && (value === null || typeof value !== "object");
  const place = Object.fromEntries(Object.entries(record).filter(isOfPlace));
  if (isRecord(record.payload)) place.payload = { type: record.payload.type };
  if (isRecord(record.snapshot)) place.snapshot = {};
  return place;
}

/** Returns a row with every text in it redacted; undefined where one of them is excluded. */
function redactedRow(
  record: JsonRecord,
  redactText: (text: string) => string,
  { hasPatterns, hasText }: Rules,
): JsonRecord | undefined {
  let isExcluded = false;
  const text = (value: string, key: string): string => {
    const announced = value.length <= ANNOUNCED_MAX && key !== "" ? `${key}: ` : "";
    const whole = announced + value;
    let shown = redactText(whole);
    if (shown === whole) shown = value;
    else shown = shown.startsWith(announced) ? shown.slice(announced.length) : redactText(value);
    isExcluded ||= hasPatterns && (hasText(value) || hasText(shown));
    return shown;
  };
  const walk = (value: unknown, key = ""): unknown => {
    if (typeof value === "string") return isData(value) ? "" : text(value, key);
    if (Array.isArray(value)) return value.filter((each) => !isThought(each)).map((each) => walk(each));
    if (!isRecord(value)) return value;
    if (isThought(value)) return { type: value.type };
    const copy: JsonRecord = Object.create(null); // in which any name is a field's
    for (const name in value) if (!FILES.has(name)) copy[text(name, "")] = walk(value[name], name);
    return copy;
  };
  const copy = recordOf(walk(record));
  return isExcluded ? undefined : copy;
}

function isThought(value: unknown): boolean {
  return isRecord(value) && THOUGHTS.has(String(value.type));
}

/** Returns whether a text is an image or a file: no words, and in most sessions more than all of them. */
function isData(text: string): boolean {
  if (text.length < DATA_MIN) return false;
  return text.startsWith("data:") || /^[A-Za-z0-9+/_-]{512}/.test(text);
}

/** Copies one of the files that a session's host keeps beside its transcript: the text of an output. */
export async function writeOutput(source: string, target: string, options: CopyOptions): Promise<Written> {
  const { rules, dryRun, rest } = options;
  const descriptor = openTranscript(source);
  let writer = dryRun ? undefined : writeBlocks(target, options);
  let excluded = 0;
  try {
    const inTurn = textsInTurn();
    for (const part of textParts(descriptor)) {
      const text = rules.clean(inTurn(part)?.(part) ?? part);
      if (rules.hasPatterns && (rules.hasText(part) || rules.hasText(text))) excluded++;
      else writer?.write(Buffer.from(text));
      await rest?.();
    }
    writer?.end(options.note, options.modifiedAt);
    writer = undefined;
    return { excluded };
  } finally {
    writer?.abandon();
    closeTranscript(descriptor);
  }
}

/** Yields a text in parts of whole lines, about as long as a block. */
function* textParts(descriptor: number): Generator<string> {
  let lines: string[] = [];
  let length = 0;
  for (const { bytes, terminated, count } of linesForward(descriptor)) {
    lines.push(`${bytes?.toString("utf8") ?? ""}${terminated ? "\n".repeat(count) : ""}`);
    length += lines.at(-1)?.length ?? 0;
    if (length < SLICE_BYTES) continue;
    yield lines.join("");
    [lines, length] = [[], 0];
  }
  if (length > 0) yield lines.join("");
}

/** Detects the agent that wrote a transcript and reads what its first rows say about the session. */

import { isUtf8 } from "node:buffer";
import type { Stats } from "node:fs";
import { describeError } from "../base/errors.ts";
import { type JsonRecord, recordOf } from "../base/json.ts";
import { pastTime } from "../base/time.ts";
import {
  addFacts,
  copiedFormat,
  type Format,
  type Head,
  plain,
  type RawEntry,
  readBareEntry,
  rowTime,
  TOLD,
} from "../hosts/format.ts";
import type { Host } from "../hosts/host.ts";
import { formatOf, HOSTS } from "../hosts/hosts.ts";
import { LINE_MAX_BYTES, linesForward, parseLine, readSize, recordsAfter, withFile } from "../hosts/lines.ts";
import { statUnpacked } from "../hosts/packed.ts";
import { AGENTS } from "../hosts/table.ts";

export type { Head };

/** Most sessions say all within their first rows. */
const FIRST_BYTES = 16 * 1024;
/** Read behind the first line, which alone may be longer, where what matters most is known. */
const HEAD_BYTES = 64 * 1024;
/** pi itself looks this far for its header. */
const HEAD_MAX_BYTES = 1024 * 1024;
/** The least that holds the longest first rows that hosts write, with images in them. */
const HEAD_END = 16 * 1024 * 1024;

/**
 * Detects which agent wrote a file and what its first rows say of the session; `stat` is the file's, where it is known.
 *
 * @returns undefined when the file holds no transcript.
 */
export function readHead(file: string, stat: Stats | undefined = statUnpacked(file)): Head | undefined {
  const version = stat && `${stat.ino} ${stat.size} ${stat.mtimeMs}`;
  const known = heads.get(file);
  if (known && known.version === version) return known.head;
  const head = withFile(file, (descriptor, size) => headIn(file, descriptor, size), { stat });
  if (head) head.startedAt = pastTime(head.startedAt);
  if (heads.size >= HEADS_MAX) heads.clear();
  if (version !== undefined) heads.set(file, { version, head });
  return head;
}

/** Reads a file's head; undefined when it has none or cannot be read. */
export function tryHead(file: string, stat?: Stats): Head | undefined {
  try {
    return readHead(file, stat);
  } catch {
    return undefined; // gone since it was listed, or not ours to read
  }
}

/** Heads by their files' states: a run asks for the same head in several places. */
const heads = new Map<string, { version: string; head: Head | undefined }>();
/** The most that are kept: of more files each is asked for once at a time. */
const HEADS_MAX = 10_000;

/** Reads the head of a file that is open, no further than it is known: rows after that are not parsed. */
export function headIn(file: string, descriptor: number, size = readSize(descriptor)): Head | undefined {
  const records: JsonRecord[] = [];
  let writer: Writer | undefined;
  let head: Head | undefined;
  let isPlain = false;
  let read: number | undefined;
  for (const { bytes, offset } of linesForward(descriptor, { block: FIRST_BYTES, to: HEAD_END })) {
    const isEnough = head ? head.cwd !== undefined : isPlain;
    // A line as of the file's size when it was opened: a file that grows must not be read for ever.
    if (offset >= size || (read ?? 0) >= (isEnough ? HEAD_BYTES : HEAD_MAX_BYTES)) break;
    read = read === undefined ? 0 : read + (bytes?.length ?? LINE_MAX_BYTES);
    for (const record of parseLine(bytes).records) {
      if (writer && head) addTo(head, writer.format, record);
      else {
        records.push(record);
        writer = writerOf(record);
        if (writer) head = headFrom(writer, records, file);
        isPlain ||= plain.matches(record);
      }
    }
    if (head && isComplete(head)) break;
  }
  return head ?? (isPlain ? headFrom({ head: { agent: "plain" }, format: plain }, records, file) : undefined);
}

/** The format of a transcript, and the head that this alone tells. */
interface Writer {
  head: Head;
  format: Pick<Host, keyof Format>;
}

/** Returns the writer that a row is unmistakable of; any row with a role and content is one of plain transcripts. */
function writerOf(record: JsonRecord): Writer | undefined {
  const host = HOSTS.find((each) => each.matches(record));
  if (host) return { head: { agent: host.agent }, format: host };
  const agent = AGENTS.find((each) => each === record.host);
  return agent === undefined
    ? undefined
    : { head: { agent, isInPlainForm: true }, format: copiedFormat(agent) };
}

function headFrom({ head, format }: Writer, records: readonly JsonRecord[], file: string): Head {
  for (const record of records) addTo(head, format, record);
  addFacts(head, format.beside?.(file) ?? {});
  return head;
}

function addTo(head: Head, format: Format, record: JsonRecord): void {
  addFacts(head, format.facts(record, head));
  addFacts(head, recordOf(record[TOLD]));
  head.startedAt ??= rowTime(record, format);
}

/** Returns whether later rows cannot add anything. */
function isComplete(head: Head): boolean {
  if (head.cwd === undefined || head.startedAt === undefined) return false;
  return formatOf(head).isHeadComplete?.(head) ?? head.id !== undefined;
}

/** The verdict on a transcript file. Only what makes it useless is an error. */
interface Validation {
  valid: boolean;
  errors: string[];
  warnings: string[];
}

/** More damaged lines than this share, and the file is not what it claims to be. */
const DAMAGED_SHARE_MAX = 0.5;
const WARNINGS_MAX = 20; // a screen of them

/** The findings for a file in which nothing was said yet, which is not damage in a host's folder. */
export const SILENT = ["It is empty", "It holds no message of a user or an assistant"] as const;

/** Validates a transcript: an unreadable line is a warning, a file without one readable message an error. */
export function validateSessionFile(file: string): Validation {
  const found: string[] = [];
  const error = findError(file, (warning) => found.push(warning));
  const warnings = found.slice(0, WARNINGS_MAX);
  const more = found.length - warnings.length;
  if (more > 0) warnings.push(`${more} more like these`);
  return { valid: error === undefined, errors: error === undefined ? [] : [error], warnings };
}

/** Returns what makes a file useless as a transcript. */
function findError(file: string, warn: (warning: string) => void): string | undefined {
  let head: Head | undefined;
  try {
    if (statUnpacked(file)?.isFile() === false) return "Not a file";
    head = readHead(file);
  } catch (error) {
    return `Cannot read it: ${describeError(error)}`;
  }
  const { lines, records, damaged, notText, messages } = countLines(file, head, warn);
  if (records + damaged + notText === 0) return SILENT[0];
  if (notText > lines * DAMAGED_SHARE_MAX) return "Not a UTF-8 text file";
  if (damaged > lines * DAMAGED_SHARE_MAX) return `${damaged} of ${lines} lines are not JSON`;
  return messages === 0 ? SILENT[1] : undefined;
}

function countLines(file: string, known: Head | undefined, warn: (warning: string) => void) {
  const seen = { lines: 0, records: 0, damaged: 0, notText: 0, messages: 0 };
  const head = known ?? { agent: "plain" };
  const format = formatOf(head);
  withFile(file, (descriptor) => {
    const settings = { head, later: recordsAfter(descriptor) };
    for (const line of linesForward(descriptor)) {
      seen.lines += line.count;
      const name = `line ${seen.lines}`;
      const { records, damaged } = parseLine(line.bytes);
      if (!line.terminated && damaged) {
        warn(`${name}: unfinished, no newline yet`);
        continue;
      }
      if (line.bytes && !isUtf8(line.bytes)) {
        seen.notText++;
        warn(`${name}: not UTF-8`);
      } else if (damaged)
        warn(`${name}: ${records.length > 0 ? "two records fused or torn" : "not a JSON object"}`);
      if (damaged && records.length === 0) seen.damaged++;
      seen.records += records.length;
      for (const record of records) {
        const place = { line: seen.lines, nth: 0, offset: line.offset, end: line.end };
        const entries = readBareEntry(format, record, place, settings);
        const said = entries.filter(({ kind }) => kind === "user" || kind === "assistant");
        const problem = problemIn(record, said, known?.agent === "plain");
        if (problem !== undefined) warn(`${name}: ${problem}`);
        seen.messages += said.length;
      }
    }
  });
  return seen;
}

/** Returns what a message lacks. */
function problemIn(record: JsonRecord, said: readonly RawEntry[], isPlain: boolean): string | undefined {
  const message = recordOf(record.message ?? record.payload ?? (isPlain ? record : undefined));
  const isMessage = isPlain || ("content" in message && (message.type ?? "message") === "message");
  if (isMessage && !(typeof message.role === "string" && "content" in message)) return "no role and content";
  if (said.every(({ at }) => at !== undefined)) return undefined;
  const time = record.timestamp ?? message.timestamp;
  return time === undefined ? "no timestamp" : "timestamp is not a date";
}

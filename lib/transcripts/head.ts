/** Detects the agent that wrote a transcript and reads what its first rows say about the session. */

import type { JsonRecord } from "../base/json.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import type { Format, Head } from "./format.ts";
import { linesForward, parseLine, readHeadBytes, withFile } from "./jsonl.ts";
import { pi } from "./pi.ts";
import { plain } from "./plain.ts";
import type { Agent } from "./session.ts";

/** Most sessions say all within their first rows. */
const FIRST_BYTES = 16 * 1024;
/** Read to tell the agent; enough for every host's header unless its first line is longer. */
const HEAD_BYTES = 64 * 1024;
/** pi itself looks this far for its header. */
const HEAD_MAX_BYTES = 1024 * 1024;
/** A file that shows nobody's rows so far is no transcript. */
const UNKNOWN_MAX_BYTES = 64 * 1024 * 1024;
const CWD_KEY = '"cwd"';
/** Formats whose rows are unmistakable; plain takes any line with a role and content. */
const HOSTS: readonly Format[] = [claude, pi, codex];

/**
 * Tells which agent wrote a file and what its first rows say of the session.
 *
 * @returns undefined when the file holds no transcript.
 */
export function readHead(file: string): Head | undefined {
  const first = headOf(readHeadBytes(file, FIRST_BYTES));
  if (first && isComplete(first)) return first;
  const head = headOf(readHeadBytes(file, HEAD_BYTES));
  if (head?.cwd !== undefined || head?.agent === "plain") return head;
  // The first line alone may be longer: a pasted image, a system prompt.
  const long = headOf(readHeadBytes(file, HEAD_MAX_BYTES)) ?? head;
  if (long?.cwd !== undefined || long?.agent === "plain") return long;
  return withFile(file, (descriptor, size) =>
    size > HEAD_MAX_BYTES ? (readOn(descriptor, size) ?? long) : long,
  );
}

/** Reads up to the row that says where the session works, however far it is; rows without that are not parsed. */
function readOn(descriptor: number, size: number): Head | undefined {
  const reader = headReader();
  for (const { bytes, offset } of linesForward(descriptor)) {
    // A line as of the file's size when it was opened: a file that grows must not be read for ever.
    if (offset >= size || (!reader.isKnown() && offset > UNKNOWN_MAX_BYTES)) break;
    if (!bytes || (reader.isKnown() && !bytes.includes(CWD_KEY))) continue;
    const head = reader.add(bytes);
    if (head?.cwd !== undefined) return head;
  }
  return reader.head();
}

/** Reads no further than the head is known: a small file would be parsed twice. */
function headOf(bytes: Buffer): Head | undefined {
  const reader = headReader();
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(10, start);
    const end = newline === -1 ? bytes.length : newline;
    const head = reader.add(bytes.subarray(start, end));
    if (head && isComplete(head)) return head;
    start = end + 1;
  }
  return reader.head();
}

/** Takes lines one by one, and tells the head once a row of a host has shown whose file it is. */
function headReader() {
  const records: JsonRecord[] = [];
  let format: Format | undefined;
  let head: Head | undefined;
  return {
    isKnown: () => format !== undefined,
    add(line: Buffer): Head | undefined {
      for (const record of parseLine(line).records) {
        if (format && head) format.readHead(record, head);
        else {
          records.push(record);
          format = HOSTS.find((host) => host.matches(record));
          head = format && headFrom(format, records);
        }
      }
      return head;
    },
    head(): Head | undefined {
      if (head) return head;
      return records.some((record) => plain.matches(record)) ? headFrom(plain, records) : undefined;
    },
  };
}

function headFrom(format: Format, records: readonly JsonRecord[]): Head {
  const head: Head = { agent: format.agent };
  for (const record of records) format.readHead(record, head);
  return head;
}

/** Returns whether later rows cannot add anything. */
function isComplete({ agent, id, cwd, startedAt, typedEvents }: Head): boolean {
  if (cwd === undefined || startedAt === undefined) return false;
  if (agent === "codex") return id !== undefined && typedEvents === true;
  return agent === "claude" || (agent === "pi" && id !== undefined);
}

/** Returns an agent's format. A record nested too deeply for the stack gives no entries and affects no other record. */
export function formatOf(agent: Agent): Format {
  return TOLERANT.find((format) => format.agent === agent) ?? TOLERANT[0];
}

const TOLERANT = [tolerant(plain), ...HOSTS.map(tolerant)] as const;

function tolerant(format: Format): Format {
  return {
    ...format,
    entries(record, place, options) {
      try {
        return format.entries(record, place, options);
      } catch (error) {
        if (error instanceof RangeError) return [];
        throw error;
      }
    },
  };
}

/** Which agent wrote a transcript, and what its first rows say of the session. */

import { claude } from "./agents/claude.ts";
import { codex } from "./agents/codex.ts";
import type { Format, Head } from "./agents/format.ts";
import { pi } from "./agents/pi.ts";
import { plain } from "./agents/plain.ts";
import type { JsonRecord } from "./json.ts";
import { parseLine, readHeadBytes } from "./jsonl.ts";
import type { Agent } from "./session.ts";

/** Read to tell the agent; enough for every host's header unless its first line is longer. */
const HEAD_BYTES = 64 * 1024;
/** pi itself looks this far for its header. */
const HEAD_MAX_BYTES = 1024 * 1024;
/** plain is last: it takes any line with a role and content. */
const FORMATS: readonly Format[] = [claude, pi, codex, plain];

/**
 * Tells which agent wrote a file and what its first rows say of the session.
 *
 * @returns undefined when the file holds no transcript.
 */
export function readHead(file: string): Head | undefined {
  const head = headOf(readHeadBytes(file, HEAD_BYTES));
  if (head?.cwd !== undefined || head?.agent === "plain") return head;
  // The first line alone may be longer: a pasted image, a system prompt.
  return headOf(readHeadBytes(file, HEAD_MAX_BYTES)) ?? head;
}

function headOf(bytes: Buffer): Head | undefined {
  const records: JsonRecord[] = [];
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(10, start);
    const end = newline === -1 ? bytes.length : newline;
    records.push(...parseLine(bytes.subarray(start, end)).records);
    start = end + 1;
  }
  for (const format of FORMATS) {
    if (!records.some((record) => format.matches(record))) continue;
    const head: Head = { agent: format.agent };
    for (const record of records) format.readHead(record, head);
    return head;
  }
  return undefined;
}

/** The format of an agent. */
export function formatOf(agent: Agent): Format {
  return FORMATS.find((format) => format.agent === agent) ?? plain;
}

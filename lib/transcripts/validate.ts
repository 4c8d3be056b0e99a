/** Validates transcript files line by line. */

import { isUtf8 } from "node:buffer";
import { statSync } from "node:fs";
import { describeError } from "../base/errors.ts";
import type { JsonRecord } from "../base/json.ts";
import { type Head, isoTime } from "./format.ts";
import { formatOf, readHead } from "./head.ts";
import { linesForward, parseLine, withFile } from "./jsonl.ts";
import { plainMessage } from "./plain.ts";

/** The verdict on a transcript file. Only what makes it useless is an error. */
interface Validation {
  valid: boolean;
  errors: string[];
  warnings: string[];
}

/** More damaged lines than this share, and the file is not what it claims to be. */
const DAMAGED_SHARE_MAX = 0.5;
const WARNINGS_MAX = 20;

/** Validates a transcript: an unreadable line is a warning, a file without one readable message an error. */
export function validateSessionFile(file: string): Validation {
  const findings: string[] = [];
  let left = 0;
  const warn = (text: string) => (findings.length < WARNINGS_MAX ? findings.push(text) : left++);
  const result = (...errors: string[]): Validation => {
    const warnings = left > 0 ? [...findings, `${left} more like these`] : findings;
    return { valid: errors.length === 0, errors, warnings };
  };
  let head: Head | undefined;
  try {
    if (!statSync(file).isFile()) return result("Not a file");
    head = readHead(file);
  } catch (error) {
    return result(`Cannot read it: ${describeError(error)}`);
  }
  const seen = { lines: 0, damaged: 0, notText: 0, messages: 0 };
  const format = formatOf(head?.agent ?? "plain");
  const settings = { head: head ?? { agent: format.agent }, results: false };
  withFile(file, (descriptor) => {
    for (const line of linesForward(descriptor)) {
      seen.lines++;
      const name = `line ${seen.lines}`;
      const { records, damaged } = line.bytes ? parseLine(line.bytes) : { records: [], damaged: true };
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
      for (const record of records) {
        if (head?.agent === "plain") for (const problem of plainProblems(record)) warn(`${name}: ${problem}`);
        const place = { line: seen.lines, offset: line.offset, end: line.end };
        const entries = format.entries(record, place, settings);
        seen.messages += entries.filter(
          (entry) => entry.kind === "user" || entry.kind === "assistant",
        ).length;
      }
    }
  });
  if (seen.lines === 0) return result("It is empty");
  if (seen.notText > seen.lines * DAMAGED_SHARE_MAX) return result("Not a UTF-8 text file");
  if (seen.damaged > seen.lines * DAMAGED_SHARE_MAX)
    return result(`${seen.damaged} of ${seen.lines} lines are not JSON`);
  if (seen.messages === 0) return result("It holds no message of a user or an assistant");
  return result();
}

function plainProblems(record: JsonRecord): string[] {
  const message = plainMessage(record);
  if (!message) return ["no role and content"];
  const time = record.timestamp ?? message.timestamp;
  if (time === undefined) return ["no timestamp"];
  return isoTime(time) === undefined ? ["timestamp is not a date"] : [];
}

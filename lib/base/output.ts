/** The lines that printers return, and writing whose arrival matters: news counts as delivered only once a reader has it. */

import { fstatSync, writeSync } from "node:fs";
import { hasCode } from "./errors.ts";
import { pause } from "./files.ts";

const STDOUT = 1; // POSIX
const RETRY_MS = 2; // a pipe is emptied within milliseconds

/**
 * Writes text to stdout, or to another descriptor.
 *
 * @returns false when the reader is gone.
 */
export function writeFully(text: string, descriptor = STDOUT): boolean {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(descriptor, bytes, written, bytes.length - written);
    } catch (error) {
      if (hasCode(error, "EPIPE", "EBADF", "ECONNRESET")) return false;
      if (!hasCode(error, "EAGAIN")) throw error;
      pause(RETRY_MS); // the pipe is full: its reader is slow
    }
  }
  return true;
}

/** Returns whether a descriptor is a terminal. node:tty, slower to load than Bun is to start, is asked about devices only. */
export function isTerminal(descriptor = STDOUT): boolean {
  try {
    return (
      fstatSync(descriptor).isCharacterDevice() && process.getBuiltinModule("node:tty").isatty(descriptor)
    );
  } catch {
    return false; // closed
  }
}

/** A display of how far work is. */
export interface Progress {
  update: (done: number, total: number) => void;
  end: () => void;
}

export type StartProgress = (what: string) => Progress;

export const NO_PROGRESS: StartProgress = () => ({ update() {}, end() {} });

/** The kind of a part of a line, by which a terminal colours it. `place` is an `L` and a line of the transcript. */
export type PartKind =
  | "name"
  | "time"
  | "place"
  | "user"
  | "assistant"
  | "tool"
  | "said"
  | "good"
  | "bad"
  | "faint";

/** A part of a line; of a time also its instant, since a terminal says times as people do. */
export type Part = string | readonly [kind: PartKind, text: string, instant?: string];

/** A line: the head of a `result`, a `row` that hangs where a terminal breaks it, or `text`. Parts can hold line breaks. */
export interface Line {
  kind: "result" | "row" | "text";
  parts: readonly Part[];
}

/** Returns a line as it is piped. */
export function plainText(line: Line | string): string {
  return typeof line === "string" ? line : line.parts.map(partText).join("");
}

function partText(part: Part): string {
  return typeof part === "string" ? part : part[1];
}

/** Counts the code points of lines, line ends included. */
export function countPoints(lines: readonly (Line | string)[]): number {
  return lines.reduce((sum, line) => sum + [...plainText(line)].length + 1, 0);
}

/** Cuts a line to `max` code points, marked with an ellipsis. */
export function cutLine({ kind, parts }: Line, max: number): Line {
  if (countPoints([{ kind, parts }]) - 1 <= max) return { kind, parts };
  const kept: Part[] = [];
  let left = Math.max(0, max - 1);
  for (const part of parts) {
    const points = [...partText(part)];
    const text = points.slice(0, left).join("");
    kept.push(points.length <= left ? part : typeof part === "string" ? text : [part[0], text]);
    left -= points.length;
    if (left <= 0) break;
  }
  return { kind, parts: [...kept, "…"] };
}

/** Joins the facts of a line by `·`, without the missing ones. */
export function joinFacts(facts: readonly (Part | undefined)[]): Part[] {
  const known = facts.filter((fact) => fact !== undefined && partText(fact) !== "") as Part[];
  return known.flatMap((fact, i) => (i === 0 ? [fact] : [" · ", fact]));
}

/** Returns as many lines as fit, and a last one that counts the others; of the first always as much as fits. */
export function linesWithin(lines: readonly Line[], maxChars: number, rest = countRest): Line[] {
  for (let kept = lines.length; kept > 0; kept--) {
    const shown = [...lines.slice(0, kept), ...rest(lines.length - kept)];
    if (countPoints(shown) <= maxChars) return shown;
  }
  const last = rest(Math.max(0, lines.length - 1));
  const room = maxChars - countPoints(last) - 1;
  const first = lines.slice(0, 1);
  if (room < 1) return first.map((line) => cutLine(line, maxChars - 1));
  return [...first.map((line) => cutLine(line, room)), ...last];
}

function countRest(count: number): Line[] {
  return count === 0 ? [] : [{ kind: "text", parts: [["faint", `… ${count} more`]] }];
}

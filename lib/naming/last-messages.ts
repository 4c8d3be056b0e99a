/** The last messages of a transcript, with as much of the conversation as naming it takes, in constant memory. */

import { describeError, hasCode, SessionMemoryError } from "../base/errors.ts";
import type { Rules } from "../transcripts/rules.ts";
import type { Entry } from "../transcripts/session.ts";
import { readEntries } from "../transcripts/transcript.ts";

/** A conversation is named by its first and last entries. */
const HEAD = 1000;
const TAIL = 1000;

interface ConversationEnd {
  /** User and assistant messages with text, at most as many as asked for. */
  messages: Entry[];
  /** The first and last entries of all kinds. */
  entries: Entry[];
}

/**
 * Reads a transcript's last `count` messages, with their lines.
 *
 * @throws {SessionMemoryError} `NOT_FOUND` when it is gone, `PARSE_ERROR` when it cannot be read.
 */
export function readEnd(file: string, { count, rules }: { count: number; rules: Rules }): ConversationEnd {
  const head: Entry[] = [];
  const tail: Entry[] = [];
  const messages: Entry[] = [];
  try {
    for (const entry of readEntries(file, { rules, unterminated: "accept" })) {
      if (head.length < HEAD) head.push(entry);
      else pushWithin(tail, entry, TAIL);
      if (isMessage(entry)) pushWithin(messages, entry, count);
    }
  } catch (cause) {
    if (hasCode(cause, "ENOENT")) {
      throw new SessionMemoryError("NOT_FOUND", `Cannot read "${file}": the transcript is gone`, {
        hint: "bun scripts/session-reader.ts <session> shows what the index holds of it",
        cause,
      });
    }
    throw new SessionMemoryError("PARSE_ERROR", `Cannot read "${file}": ${describeError(cause)}`, {
      hint: "see what is wrong with bun scripts/embed.ts --validate-only",
      cause,
    });
  }
  return { entries: [...head, ...tail.slice(-TAIL)], messages: messages.slice(-count) };
}

/** Adds to a list of which the last `count` are wanted, and lets go of the others now and then. */
function pushWithin(entries: Entry[], entry: Entry, count: number): void {
  entries.push(entry);
  if (entries.length >= 2 * count + 100) entries.splice(0, entries.length - count);
}

function isMessage({ kind, text }: Entry): boolean {
  return (kind === "user" || kind === "assistant") && text.trim() !== "";
}

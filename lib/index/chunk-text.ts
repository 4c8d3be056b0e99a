/** Writes a chunk's text: a situational header, then what was said, each message after its speaker's label. */

import type { Said } from "../hosts/session.ts";
import { splitJoined } from "../language/words.ts";
import { NO_TOPICS } from "../store/store.ts";

/** The header of a chunk's text: when it was said, by whom, on what topics, and what its exchange began with. */
export interface Header {
  /** `February 5, 2026` */
  day: string;
  /** `10:30 AM Melbourne time`; undefined where the time is unknown. */
  clock: string | undefined;
  /** `User and Assistant` */
  participants: string;
  topics: readonly string[];
  /** The speaker who began the exchange, and the words. */
  speaker: Said["who"];
  subject: string;
}

/** Returns the header's lines and the blank one that ends it. */
export function headerText({ day, clock, participants, topics, ...exchange }: Header): string {
  return (
    `[Session from ${clock === undefined ? day : `${day} at ${clock}`}]\n[Participants: ${participants}]\n` +
    `[Topics: ${topics.join(", ") || NO_TOPICS}]\n[Context: ${subjectLine(exchange)}]\n\n`
  );
}

/** Returns what an exchange is about in one line. */
export function subjectLine({ speaker, subject }: Pick<Header, "speaker" | "subject">): string {
  return `${speaker === "user" ? "User asks" : "Assistant says"}: ${subject}`;
}

/** Returns the text of messages as a chunk has it. */
export function joinContent(rows: readonly Said[]): string {
  return rows.map(({ who, text }) => `${who === "user" ? "User" : "Assistant"}: ${text}`).join("\n");
}

/**
 * Returns a chunk's full-text columns. The header is there without its labels, names and clock, which are the same
 * everywhere; `extra` holds what the tokenizer would miss: parts of joined words.
 */
export function fullTextColumns({
  content,
  header: { day, topics, subject },
  tools,
}: {
  content: string;
  header: Header;
  tools: string;
}): [content: string, header: string, tools: string, extra: string] {
  return [content, `${day}\n${topics.join(", ")}\n${subject}`, tools, splitJoined(content, tools)];
}

/** Name, description, summary and tags of a conversation without a model: its own sentences, chosen by rule. */

import { counted, truncate } from "../base/text.ts";
import { gist, replyOf, spokenText } from "../language/speech.ts";
import { topicsOf } from "../language/topics.ts";
import type { Entry } from "../transcripts/session.ts";
import { nameByRule } from "./naming.ts";

const DESCRIPTION_CHARS = 160;
const REQUEST_CHARS = 240;
const ANSWER_CHARS = 320;
/** Topics are read from so much of a conversation. */
const TOPIC_CHARS = 200_000;
/** First words quoted as the name of a conversation without a subject. */
const QUOTED_WORDS = 6;
const QUOTED_CHARS = 40;

/** A conversation as its meta file describes it. */
export interface Summary {
  name: string;
  description: string;
  summary: string;
  tags: string[];
}

/** Place and time of a conversation, for one that has no subject. */
interface Circumstances {
  /** The directory's last part. */
  project: string;
  /** `2026-02-12`. */
  date: string;
}

/** What was asked first and last, and what the last answer says; `From` is the session whose work it goes on with. */
const LABELS = ["From", "Asked", "Then", "Last"] as const;
type Lines = Partial<Record<(typeof LABELS)[number], string>>;

/** Summarizes a conversation from its redacted entries. */
export function summarizeByRule(entries: readonly Entry[], where: Circumstances): Summary {
  const lines = readLines(entries);
  const name = nameByRule(entries);
  const otherwise = circumstances(entries, where);
  return {
    name: name ?? otherwise,
    description: name === undefined ? otherwise : truncate(lines.Asked ?? name, DESCRIPTION_CHARS),
    summary: writeLines(lines) || otherwise,
    tags: tagsOf(entries),
  };
}

/** Returns a summary by rule brought up to date with what was said since, without reading the rest of the conversation again. */
export function continueSummary(before: Summary, fresh: readonly Entry[]): Summary {
  const old = parseLines(before.summary);
  const { Asked, Then = Asked, Last } = readLines(fresh);
  const lines = { ...old, ...withoutGaps(old.Asked === undefined ? { Asked, Last } : { Then, Last }) };
  const tags = before.tags.length > 0 ? before.tags : tagsOf(fresh);
  return { ...before, summary: writeLines(lines) || before.summary, tags };
}

/** Returns a summary that also says which session's work it goes on with. */
export function withOrigin(made: Summary, origin: Pick<Summary, "name" | "description">): Summary {
  const about = truncate(origin.description.replace(/\s+/g, " "), DESCRIPTION_CHARS);
  return { ...made, summary: `From: ${origin.name} (${about})\n${made.summary}` };
}

/** Returns whether a name was made of circumstances, because the conversation said nothing yet. */
export function isCircumstantial(name: string): boolean {
  return /^(?:"?[^"]+"|Conversation|\d+ calls?) (?:in .+ )?on \d{4}-\d\d-\d\d$/.test(name);
}

function readLines(entries: readonly Entry[]): Lines {
  const requests = entries
    .filter(({ kind, text }) => kind === "user" && replyOf(text) === undefined && !text.startsWith("/"))
    .map(({ text }) => gist(spokenText(text), REQUEST_CHARS))
    .filter(Boolean);
  const [first, last] = [requests[0], requests.at(-1)];
  const answer = entries.findLast(({ kind, text }) => kind === "assistant" && text.trim() !== "")?.text;
  return withoutGaps({
    Asked: first,
    Then: last === first ? undefined : last,
    Last: answer && gist(answer, ANSWER_CHARS),
  });
}

function withoutGaps(lines: { [label in keyof Lines]?: string | undefined }): Lines {
  return Object.fromEntries(Object.entries(lines).filter(([, text]) => text));
}

function writeLines(lines: Lines): string {
  return LABELS.flatMap((label) => (lines[label] ? `${label}: ${lines[label]}` : [])).join("\n");
}

function parseLines(summary: string): Lines {
  const found = [...summary.matchAll(new RegExp(`^(${LABELS.join("|")}): (.+)$`, "gm"))];
  return Object.fromEntries(found.map(([, label, text]) => [label, text]));
}

/** Names a conversation that says nothing of itself by its first words, else by how much was done, and where and when. */
function circumstances(entries: readonly Entry[], { project, date }: Circumstances): string {
  const place = `${project === "" ? "" : `in ${project} `}on ${date}`;
  const quoted = entries.map((entry) => (entry.kind === "user" ? firstWords(entry.text) : "")).find(Boolean);
  if (quoted) return `"${quoted}" ${place}`;
  const calls = entries.filter(({ tool }) => tool).length;
  return `${calls > 0 ? counted(calls, "call") : "Conversation"} ${place}`;
}

/** Returns the first words of a message, which say something to somebody who was there; empty where it holds none. */
function firstWords(text: string): string {
  const words = spokenText(text)
    .replaceAll('"', "")
    .replace(/@?(?:[\w.-]*\/)+([\w.-]+)/g, "$1")
    .trim()
    .split(/\s+/)
    .slice(0, QUOTED_WORDS)
    .join(" ");
  return /\p{L}{2}/u.test(words) ? truncate(words, QUOTED_CHARS) : "";
}

/** Returns what the conversation is about. */
function tagsOf(entries: readonly Entry[]): string[] {
  const said = entries.filter(({ kind }) => kind === "user" || kind === "assistant" || kind === "summary");
  const text = said.map(({ text }) => text).join("\n");
  return text.trim() === "" ? [] : topicsOf(text.slice(0, TOPIC_CHARS));
}

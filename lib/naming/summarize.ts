/** Name, description, summary and tags of a conversation without a model: its own sentences, chosen by rule. */

import { truncate } from "../base/text.ts";
import {
  gist,
  isAgreement,
  isDecision,
  isGoOn,
  isThanks,
  sentences,
  spokenText,
  userAct,
} from "../language/speech.ts";
import { describeText } from "../language/topics.ts";
import { keyTerms } from "../language/vocabulary.ts";
import type { Entry } from "../transcripts/session.ts";
import { nameByRule } from "./naming.ts";
import { commitSubjects, editedFiles, workDone } from "./work.ts";

const DESCRIPTION_CHARS = 160;
const REQUEST_CHARS = 240;
const LATER_CHARS = 140;
const LATER_MAX = 4;
const DECISIONS_MAX = 3;
const DECISION_CHARS = { min: 20, max: 200 };
const COMMITS_MAX = 5;
const COMMIT_CHARS = 90;
const OUTCOME_CHARS = 320;
const FILES_MAX = 6;
const TAGS_MAX = 5;
/** At most so many tags are the conversation's own terms. */
const TERM_TAGS = 3;
const TOPIC_TEXT_CHARS = 200_000;
/** Limits of the first words quoted as the name of a conversation without a subject. */
const QUOTED_WORDS = 6;
const QUOTED_CHARS = 40;
/** A conversation with fewer messages was not much more than an exchange. */
const SHORT_MESSAGES = 6;
/** Longer messages and answers are more than a remark. */
const SLIGHT_WORDS = 6;
const SLIGHT_CHARS = 200;
/** Between the parts of one line of a summary. */
const BETWEEN = " · ";

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

/** The lines of a summary; each begins with its name and a colon. */
interface Lines {
  /** The session whose work it goes on with. */
  From: string[];
  Asked: string[];
  /** Later requests. */
  Then: string[];
  Decided: string[];
  /** Subjects of commits. */
  Done: string[];
  Files: string[];
  Last: string[];
}

/** Summarizes a conversation from its redacted entries. */
export function summarizeByRule(entries: readonly Entry[], where: Circumstances): Summary {
  const lines = linesOf(entries);
  const otherwise = circumstances(entries, where);
  const name = isSlight(entries) ? undefined : nameByRule(entries);
  return {
    name: name ?? otherwise,
    description: name === undefined ? otherwise : describe(name, lines),
    summary: textOf(lines, otherwise),
    tags: tagsOf(entries),
  };
}

/** Returns a summary by rule brought up to date with what was said since, without reading the rest of the conversation again. */
export function continueSummary(before: Summary, fresh: readonly Entry[]): Summary {
  const old = parseLines(before.summary);
  const added = linesOf(fresh);
  const lines: Lines = {
    From: old.From,
    Asked: old.Asked.length > 0 ? old.Asked : added.Asked,
    Then: lastDistinct([...old.Then, ...(old.Asked.length > 0 ? added.Asked : []), ...added.Then], LATER_MAX),
    Decided: lastDistinct([...old.Decided, ...added.Decided], DECISIONS_MAX),
    Done: lastDistinct([...old.Done, ...added.Done], COMMITS_MAX),
    Files: firstDistinct([...added.Files, ...old.Files], FILES_MAX),
    Last: added.Last.length > 0 ? added.Last : old.Last,
  };
  const tags = before.tags.length >= 3 ? before.tags : tagsOf(fresh);
  const description = isCircumstantial(before.name) ? before.description : describe(before.name, lines);
  return { name: before.name, description, summary: textOf(lines, before.summary), tags };
}

/** Returns a summary that also says which session's work it goes on with. */
export function withOrigin(made: Summary, origin: Pick<Summary, "name" | "description">): Summary {
  const from = `From: ${origin.name} (${truncate(origin.description.replace(/\s+/g, " "), LATER_CHARS)})`;
  return { ...made, summary: `${from}\n${made.summary}` };
}

/** Returns whether a name was made of circumstances, because the conversation said nothing yet. */
export function isCircumstantial(name: string): boolean {
  // Earlier names lack the first quotation mark.
  return /^(?:Short exchange|Conversation|"?[^"]+"|\d+ (?:commands?|edits?|calls?)\b.*|.+ with .+) (?:in .+ )?on \d{4}-\d\d-\d\d$/.test(
    name,
  );
}

function linesOf(entries: readonly Entry[]): Lines {
  const requests = [...new Set(entries.filter(isRequest).map(({ text }) => spokenText(text)))];
  const asked = requests.map((text) => gist(text, REQUEST_CHARS)).find((text) => text !== "");
  const then = laterRequests(requests);
  const last = entries.findLast(({ kind, text }) => kind === "assistant" && text.trim() !== "");
  const said = [asked ?? "", ...then];
  const isSaid = (sentence: string) => said.some((text) => text.includes(sentence));
  return {
    From: [],
    Asked: asked === undefined ? [] : [asked],
    Then: then,
    Decided: decisions(entries)
      .filter((sentence) => !isSaid(sentence))
      .slice(-DECISIONS_MAX),
    Done: lastDistinct(
      commitSubjects(entries).map((subject) => truncate(subject, COMMIT_CHARS)),
      COMMITS_MAX,
    ),
    Files: firstDistinct(editedFiles(entries), FILES_MAX),
    Last: last ? [gist(last.text, OUTCOME_CHARS)].filter(Boolean) : [],
  };
}

function textOf(lines: Lines, otherwise: string): string {
  const written = Object.entries(lines).flatMap(([label, parts]: [string, string[]]) =>
    parts.length === 0 ? [] : [`${label}: ${parts.join(label === "Files" ? ", " : BETWEEN)}`],
  );
  return (lines.Asked.length > 0 ? written : [otherwise, ...written]).join("\n");
}

function parseLines(summary: string): Lines {
  const lines: Lines = { From: [], Asked: [], Then: [], Decided: [], Done: [], Files: [], Last: [] };
  for (const line of summary.split("\n")) {
    const [, label = "", text = ""] = /^(From|Asked|Then|Decided|Done|Files|Last): (.+)$/.exec(line) ?? [];
    if (!isLabel(label, lines)) continue;
    if (label === "Files") lines.Files = text.split(", ");
    else lines[label] = WHOLE.has(label) ? [text] : text.split(BETWEEN);
  }
  return lines;
}

/** Labels whose text is a single part, never split at BETWEEN. */
const WHOLE = new Set(["From", "Asked", "Last"]);

function isLabel(label: string, lines: Lines): label is keyof Lines {
  return Object.hasOwn(lines, label);
}

/** Returns the first request where it says what it is about; else what came of it. */
function describe(name: string, { Asked, Done }: Lines): string {
  const asked = Asked[0] ?? "";
  if (asked !== "" && !isAboutTicket(asked)) return gist(asked, DESCRIPTION_CHARS);
  const done = Done.filter((subject) => subject.toLowerCase() !== name.toLowerCase());
  return truncate([name, ...done].join(BETWEEN), DESCRIPTION_CHARS);
}

/** Returns whether a request only names a piece of work that is described elsewhere. */
function isAboutTicket(request: string): boolean {
  return /^(?:please )?(?:work on|implement|start|continue|do|fix|take|pick up)\b.{0,25}\b[a-z]\w*-(?:\d+|[a-z0-9]{3})\b/i.test(
    request,
  );
}

function isRequest({ kind, text }: Entry): boolean {
  return kind === "user" && !isGoOn(text) && !isAgreement(text) && !isThanks(text) && !text.startsWith("/");
}

/** Returns whether nothing but remarks of a few words was said, and nothing came of it. */
function isSlight(entries: readonly Entry[]): boolean {
  if (!entries.some(({ kind }) => kind === "user")) return false;
  return entries.every(({ kind, text, tool }) => {
    if (kind === "user") return isRemark(text);
    return tool ? tool.action !== "edit" : kind !== "assistant" || text.length <= SLIGHT_CHARS;
  });
}

/** Returns whether a message is only a few words, or only says to go on. */
function isRemark(text: string): boolean {
  const words = text.trim().split(/\s+/).length;
  return words < 3 || isGoOn(text) || (words <= SLIGHT_WORDS && userAct(text) === "remark");
}

/** Names a conversation that says nothing of itself by its first words, else by what was run or edited, and where and when. */
function circumstances(entries: readonly Entry[], { project, date }: Circumstances): string {
  const place = `${project === "" ? "" : `in ${project} `}on ${date}`;
  const said = entries.find((entry) => entry.kind === "user" && /\p{L}{2}/u.test(firstWords(entry.text)));
  if (said) return `"${firstWords(said.text)}" ${place}`;
  const work = workDone(entries);
  if (work !== undefined) return `${work} ${place}`;
  const messages = entries.filter(({ kind }) => kind === "user" || kind === "assistant").length;
  return `${messages < SHORT_MESSAGES ? "Short exchange" : "Conversation"} ${place}`;
}

/** Returns the first words of a message, which say something to somebody who was there. */
function firstWords(text: string): string {
  const words = spokenText(text)
    .replaceAll('"', "")
    .replace(/@?(?:[\w.-]*\/)+([\w.-]+)/g, "$1")
    .trim()
    .split(/\s+/)
    .slice(0, QUOTED_WORDS);
  while (words.length > 1 && words.join(" ").length > QUOTED_CHARS) words.pop();
  return truncate(words.join(" "), QUOTED_CHARS);
}

/** Returns the requests after the first, spread over the session. */
function laterRequests(requests: readonly string[]): string[] {
  const later = requests
    .slice(1)
    .map((text) => gist(text, LATER_CHARS))
    .filter((text) => text.length > 20);
  const step = Math.max(1, later.length / LATER_MAX);
  return Array.from(
    { length: Math.min(LATER_MAX, later.length) },
    (_, i) => later[Math.floor(i * step)] ?? "",
  );
}

/** Choices that were made, oldest first. */
function decisions(entries: readonly Entry[]): string[] {
  const found = new Set<string>();
  for (const { kind, text } of entries) {
    if (kind !== "user" && kind !== "assistant") continue;
    for (const sentence of sentences(kind === "user" ? spokenText(text) : text)) {
      if (sentence.length < DECISION_CHARS.min || sentence.length > DECISION_CHARS.max) continue;
      if (isDecision(sentence)) found.add(sentence);
    }
  }
  return [...found];
}

/** Topics by rule, then the conversation's own terms. */
function tagsOf(entries: readonly Entry[]): string[] {
  const texts = entries
    .filter(({ kind }) => kind === "user" || kind === "assistant" || kind === "summary")
    .map(({ text }) => text);
  const text = texts.join("\n").slice(0, TOPIC_TEXT_CHARS);
  if (text.trim() === "") return [];
  const terms = keyTerms(texts, { max: TERM_TAGS }).map(({ term }) => term);
  const topics = describeText(text).topics.slice(0, TAGS_MAX - terms.length);
  return [...new Set([...topics, ...terms])];
}

/** Returns the last `max` different ones, in their order. */
function lastDistinct(items: readonly string[], max: number): string[] {
  return [...new Set(items.toReversed())].filter(Boolean).slice(0, max).reverse();
}

/** Returns the first `max` different ones, and how many more there are. */
function firstDistinct(items: readonly string[], max: number): string[] {
  const known = [...new Set(items.filter((item) => item !== "" && !/^and \d+ more$/.test(item)))];
  const before = items.find((item) => /^and \d+ more$/.test(item));
  const more = Math.max(known.length - max, before ? Number(/\d+/.exec(before)?.[0]) : 0);
  return [...known.slice(0, max), ...(more > 0 ? [`and ${more} more`] : [])];
}

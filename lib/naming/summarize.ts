/** Name, description, summary and tags of a conversation without a model: its own sentences, chosen by rule. */

import { gist, isAgreement, isDecision, isGoOn, isThanks, sentences } from "../language/speech.ts";
import { spokenText } from "../language/spoken-text.ts";
import { describeText } from "../language/topics.ts";
import { contentWords } from "../language/wording.ts";
import type { Entry } from "../transcripts/session.ts";
import { nameByRule } from "./naming.ts";

const DESCRIPTION_CHARS = 160;
const REQUEST_CHARS = 240;
const LATER_CHARS = 140;
const LATER_MAX = 4;
const DECISIONS_MAX = 3;
const DECISION_CHARS = { min: 20, max: 200 };
const OUTCOME_CHARS = 320;
const FILES_MAX = 6;
const TAGS_MAX = 5;
const TOPIC_TEXT_CHARS = 200_000;
/** A conversation with fewer messages was not much more than an exchange. */
const SHORT_MESSAGES = 6;

/** What a meta file says of a conversation. */
export interface Summary {
  name: string;
  description: string;
  summary: string;
  tags: string[];
}

/** Where and when a conversation took place, for one that says nothing of itself. */
export interface Circumstances {
  /** The directory's last part. */
  project: string;
  /** `2026-02-12`. */
  date: string;
}

/** Summarizes a conversation from its redacted entries. */
export function summarizeByRule(entries: readonly Entry[], where: Circumstances): Summary {
  const requests = entries.filter(isRequest).map(({ text }) => spokenText(text));
  const first = requests.map((text) => gist(text, REQUEST_CHARS)).find((text) => text !== "");
  const otherwise = circumstances(entries, where);
  const name = nameByRule(entries);
  return {
    name: name ?? otherwise,
    description: name === undefined || first === undefined ? otherwise : gist(first, DESCRIPTION_CHARS),
    summary: [
      first === undefined ? otherwise : `Asked: ${first}`,
      labelled("Then", laterRequests(requests)),
      labelled("Decided", decisions(entries)),
      labelled("Files", editedFiles(entries)),
      labelled("Last", outcome(entries)),
    ]
      .filter((line) => line !== "")
      .join("\n"),
    tags: tagsOf(entries),
  };
}

/** Whether a name was made of circumstances, because the conversation said nothing yet. */
export function isCircumstantial(name: string): boolean {
  return /^(?:Short exchange|Conversation) in .+ on \d{4}-\d\d-\d\d$/.test(name);
}

/** The files edited, the one edited most first. */
export function editedFiles(entries: readonly Entry[]): string {
  const counts = new Map<string, number>();
  for (const { tool } of entries) {
    for (const path of tool?.action === "edit" ? tool.paths : []) {
      const file = path.split(/[\\/]/).at(-1) ?? "";
      if (file !== "") counts.set(file, (counts.get(file) ?? 0) + 1);
    }
  }
  const files = [...counts].toSorted((a, b) => b[1] - a[1]).map(([file]) => file);
  const more = files.length - FILES_MAX;
  return `${files.slice(0, FILES_MAX).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

function isRequest({ kind, text }: Entry): boolean {
  return kind === "user" && !isGoOn(text) && !isAgreement(text) && !isThanks(text) && !text.startsWith("/");
}

function circumstances(entries: readonly Entry[], { project, date }: Circumstances): string {
  const messages = entries.filter(({ kind }) => kind === "user" || kind === "assistant").length;
  return `${messages < SHORT_MESSAGES ? "Short exchange" : "Conversation"} in ${project} on ${date}`;
}

/** The requests after the first, spread over the session. */
function laterRequests(requests: readonly string[]): string {
  const later = requests
    .slice(1)
    .map((text) => gist(text, LATER_CHARS))
    .filter((text) => text.length > 20);
  const step = Math.max(1, later.length / LATER_MAX);
  const chosen = Array.from(
    { length: Math.min(LATER_MAX, later.length) },
    (_, i) => later[Math.floor(i * step)],
  );
  return chosen.join(" · ");
}

function decisions(entries: readonly Entry[]): string {
  const found: string[] = [];
  for (const { kind, text } of entries) {
    if (kind !== "user" && kind !== "assistant") continue;
    const said = kind === "user" ? spokenText(text) : text;
    for (const sentence of sentences(said)) {
      if (sentence.length < DECISION_CHARS.min || sentence.length > DECISION_CHARS.max) continue;
      if (isDecision(sentence)) found.push(sentence);
    }
  }
  // The later word holds.
  return found.slice(-DECISIONS_MAX).join(" · ");
}

function outcome(entries: readonly Entry[]): string {
  const last = entries.findLast(({ kind, text }) => kind === "assistant" && text.trim() !== "");
  return last ? gist(last.text, OUTCOME_CHARS) : "";
}

/** Topics by rule, then the words that come back most. */
function tagsOf(entries: readonly Entry[]): string[] {
  const texts = entries.filter(({ kind }) => kind === "user" || kind === "assistant" || kind === "summary");
  const text = texts
    .map((entry) => entry.text)
    .join("\n")
    .slice(0, TOPIC_TEXT_CHARS);
  if (text.trim() === "") return [];
  const counts = new Map<string, number>();
  for (const entry of texts) {
    for (const word of new Set(contentWords(entry.text))) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const common = [...counts].filter(([word, count]) => count > 2 && word.length > 3);
  const words = common.toSorted((a, b) => b[1] - a[1]).map(([word]) => word);
  return [...new Set([...describeText(text).topics, ...words])].slice(0, TAGS_MAX);
}

function labelled(label: string, text: string): string {
  return text === "" ? "" : `${label}: ${text}`;
}

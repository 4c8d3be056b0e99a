/** Makes the name, description, summary and tags of a session's meta: by a model, or by rule from the session's own words. */

import { makeAccount } from "../account/account.ts";
import { describeError, type ErrorType, SessionMemoryError } from "../base/errors.ts";
import { isRecord, numberOf } from "../base/json.ts";
import { oneLine, projectName, splitWords, takeStart, truncate } from "../base/text.ts";
import { formatDate } from "../base/time.ts";
import type { PathsWithRules, Settings } from "../config/config.ts";
import type { Entry, Row, Said, Session } from "../hosts/session.ts";
import { readMeaning } from "../language/meaning.ts";
import { gist, spokenText } from "../language/speech.ts";
import type { CompleteJson } from "../model/answers.ts";
import { RULES, type SessionMeta } from "../sessions/meta.ts";
import { isMessage, toRows } from "../transcripts/calls.ts";
import { readHead } from "../transcripts/head.ts";
import { conversationText } from "./conversation.ts";
import { nameByRule } from "./naming.ts";

/** The most of a conversation that a model reads: about 12,000 tokens. */
const INPUT_MAX_BYTES = 48_000;
const PREVIOUS_MAX_CHARS = 4000;
const DESCRIPTION_CHARS = 300;
const SUMMARY_CHARS = 4000;
const TAG_CHARS = 40;
const TAGS_MAX = 5;

export interface MetaOptions {
  paths: PathsWithRules;
  settings: Pick<Settings, "minNewUserMessages" | "timezone" | "redact" | "exclude">;
  /** The row that the host is at, where that may be another than the file's last. */
  leafId?: string | undefined;
  /** The model; without one the meta is made by rule. */
  complete?: CompleteJson | undefined;
  /** True if it is made although it is not due. @default {false} */
  force?: boolean;
  /** True if nothing is written: the model takes notes of what it would be sent. @default {false} */
  dryRun?: boolean;
  /** The time that another process may hold the file. @default {120000} */
  lockWaitMs?: number;
  /** True if a model that has just failed is left alone for a while. @default {false} */
  rests?: boolean;
  signal?: AbortSignal | undefined;
  now?: () => Date;
}

/** The outcome of making a session's meta. */
export interface MetaOutcome {
  sessionId: string;
  status: "indexed" | "not-due" | "failed";
  name: string | undefined;
  /** Null where the price is unknown. */
  usd: number | null;
  /** The model asked, or `rules`. */
  model: string;
  usage?: { input: number; output: number } | undefined;
  /** `TYPE: message`. */
  error?: string | undefined;
  errorType?: ErrorType | undefined;
  /** The failure, where asking the model for another session would fail the same way. */
  lastingFailure?: SessionMemoryError | undefined;
  /** User messages since the meta was made. */
  newUsers?: number;
  /** A remark for the user: a meta file could not be read. */
  warning?: string | undefined;
}

/** Notes why a session has no meta, its price all the same, and whether the next one would fare alike. */
export function fail(outcome: MetaOutcome, error: unknown): void {
  const known = error instanceof SessionMemoryError ? error : undefined;
  const type = known?.type ?? "STORAGE_ERROR";
  outcome.status = "failed";
  outcome.error = `${type}: ${known?.message ?? describeError(error)}`;
  outcome.errorType = type;
  const { usd, usage } = known?.details ?? {};
  // Answers that could not be used were paid for too.
  if (isUsage(usage)) Object.assign(outcome, { usd: numberOf(usd) ?? null, usage });
  const isLasting = type === "BUDGET_EXCEEDED" || (type === "MODEL_FAILED" && !known?.recoverable);
  outcome.lastingFailure = isLasting ? known : undefined;
}

function isUsage(value: unknown): value is MetaOutcome["usage"] {
  return isRecord(value) && typeof value.input === "number" && typeof value.output === "number";
}

export interface Material {
  session: Session;
  entries: readonly Entry[];
  /** Those of them that the present meta does not know. */
  fresh: readonly Entry[];
  meta: SessionMeta | undefined;
  /** The meta of the session that this one continues, redacted. */
  origin: Summary | undefined;
  outcome: MetaOutcome;
  options: MetaOptions;
}

/** Summarizes by the model, else by rule; undefined when the model failed and the present meta is kept. */
export async function summarize(material: Material): Promise<(Summary & { model: string }) | undefined> {
  const { complete } = material.options;
  if (complete) {
    try {
      return await byModel(complete, material);
    } catch (error) {
      if (!(error instanceof SessionMemoryError)) throw error;
      fail(material.outcome, error);
      if (material.meta) return undefined;
    }
  }
  return { ...byRule(material), model: RULES };
}

async function byModel(complete: CompleteJson, material: Material): Promise<Summary & { model: string }> {
  const { metaRequest } = await import("../model/prompts.ts");
  const { entries, fresh, meta, outcome, options } = material;
  const goesOn = meta !== undefined && meta.model !== RULES && fresh.length < entries.length;
  const origin = goesOn ? undefined : material.origin;
  const { text: said } = conversationText(toRows((goesOn ? fresh : entries).filter(isSpoken)), {
    maxBytes: INPUT_MAX_BYTES,
  });
  const text = origin ? `(goes on with another session)\n${previousText(origin)}\n\n${said}` : said;
  const answer = await complete({
    feature: "meta",
    ...metaRequest(text, goesOn ? previousText(meta) : undefined),
    signal: options.signal,
  });
  Object.assign(outcome, { usd: answer.usd, usage: answer.usage, model: answer.model });
  const { name, description, summary, tags } = answer.value;
  return {
    name: tidyName(name),
    description: oneLine(description, DESCRIPTION_CHARS),
    summary: takeStart(summary, SUMMARY_CHARS),
    tags: [...new Set(tags.map((tag) => oneLine(tag.toLowerCase(), TAG_CHARS)))].slice(0, TAGS_MAX),
    model: answer.model,
  };
}

function byRule(material: Material): Summary {
  const { session, entries, meta, origin, options } = material;
  const at = entries.find((entry) => entry.at)?.at ?? session.updatedAt;
  const cwd = readHead(session.file)?.cwd ?? session.cwd;
  const where = {
    project: (cwd && projectName(cwd)) || session.agent,
    date: formatDate(at, options.settings.timezone),
  };
  const made = summarizeByRule(toRows(entries), where);
  if (origin) {
    const about = oneLine(origin.description, CHARS.description);
    made.summary = `From: ${oneLine(origin.name, NAME_CHARS)} (${about})\n${made.summary}`;
  }
  // A name that changed with each look could not be referred to.
  const isKept = meta !== undefined && !isCircumstantial(meta.name) && !options.force;
  return isKept ? { ...made, name: meta.name } : made;
}

function previousText({ name, description, summary, tags }: Summary): string {
  const text = `name: ${name}\ndescription: ${description}\nsummary: ${summary}\ntags: ${tags.join(", ")}`;
  return takeStart(text, PREVIOUS_MAX_CHARS);
}

export function isSpoken(entry: Entry): boolean {
  return (isMessage(entry) || entry.kind === "summary") && entry.text.trim() !== "";
}

const NAME_CHARS = 80;
const NAME_WORDS = 10;

/** One line of at most ten words without punctuation or quotes at its ends. */
function tidyName(name: string): string {
  const line = oneLine(name, 200).replace(/^["'“„«`\s]+|["'”“»`\s.,;:!?。！？、…-]+$/gu, "");
  const words = line.split(" ").slice(0, NAME_WORDS).join(" ");
  return oneLine(words, NAME_CHARS).replace(/[\s.,;:!?。！？、…-]+$/u, "");
}

/** Characters of what rules write. */
const CHARS = { description: 160, request: 240, answer: 320, quoted: 40 };
const QUOTED_WORDS = 6;
/** The most of a conversation that topics are read from. */
const TOPIC_CHARS = 200_000;

/** A conversation as its meta file describes it. */
export interface Summary {
  name: string;
  description: string;
  summary: string;
  tags: string[];
}

/** Summarizes a conversation from its redacted rows: the first and the last request, and the last answer. */
export function summarizeByRule(
  rows: readonly Row[],
  { project, date }: { project: string; date: string },
): Summary {
  const account = makeAccount(rows);
  const requests = account.asked.flatMap(({ text }) => gist(spokenText(text), CHARS.request) || []);
  const [first] = requests;
  const last = requests.at(-1);
  const answer = gist(account.answer?.text ?? "", CHARS.answer);
  const lines = [
    ...(first ? [`Asked: ${first}`] : []),
    ...(last && last !== first ? [`Then: ${last}`] : []),
    ...(answer ? [`Last: ${answer}`] : []),
  ];
  const name = nameByRule(rows, account);
  const said = rows.filter((row) => row.who !== "tool");
  const otherwise = circumstances(said, `${project === "" ? "" : `in ${project} `}on ${date}`);
  return {
    name: name ?? otherwise,
    description: name === undefined ? otherwise : truncate(first ?? name, CHARS.description),
    summary: lines.join("\n") || otherwise,
    // a conversation's beginning says what it is about
    tags: readMeaning(takeStart(said.map(({ text }) => text).join("\n"), TOPIC_CHARS)).topics,
  };
}

/** Names a session that has no subject by its first words, which say something to somebody who was there, and its place. */
function circumstances(said: readonly Said[], place: string): string {
  const opening = said.map(({ who, text }) => (who === "user" ? openingWords(text) : "")).find(Boolean);
  return `${opening ? `"${opening}"` : "Conversation"} ${place}`;
}

/** Returns whether a name was made of circumstances, because the conversation said nothing yet. */
export function isCircumstantial(name: string): boolean {
  return /^(?:"?[^"]+"|Conversation) (?:in .+ )?on \d{4}-\d\d-\d\d$/.test(name);
}

/** Returns the first words of a message; empty where it holds none. */
function openingWords(text: string): string {
  const plain = spokenText(text)
    .replaceAll('"', "")
    .replace(/@?(?:[\w.-]*\/)+([\w.-]+)/g, "$1");
  const words = splitWords(plain).slice(0, QUOTED_WORDS).join(" ");
  return /\p{L}{2}/u.test(words) ? truncate(words, CHARS.quoted) : "";
}

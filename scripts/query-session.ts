#!/usr/bin/env bun
/**
 * Answers a question about one past session, with the transcript lines the answer stands on.
 *
 * Needs a model: config.json names it (a host passes its own).
 *
 * @module
 */

import type { CompleteJson } from "../lib/answers.ts";
import { type Citation, type Confidence, checkCitations, textByLine } from "../lib/citations.ts";
import { cleaner } from "../lib/clean.ts";
import { note, parseFlags, print, printJson, runMain, warnIgnored } from "../lib/cli.ts";
import { loadConfig, pathsReading, type Settings } from "../lib/config.ts";
import { configuredModel } from "../lib/configured-model.ts";
import { conversationText } from "../lib/conversation.ts";
import { SessionMemoryError } from "../lib/errors.ts";
import { readExclusion, refuseExcluded } from "../lib/exclusion.ts";
import { relevanceTo } from "../lib/relevance.ts";
import { resolveSession } from "../lib/resolve.ts";
import type { Session } from "../lib/session.ts";
import { formatCost } from "../lib/spend.ts";
import { readActiveBranch } from "../lib/transcript.ts";

const USAGE = `\
Usage: bun scripts/query-session.ts [options] <session> <question>

Reads the whole session (of a long one: first request, compaction summaries, the passages nearest to the question, the
end) and answers in Markdown, with confidence and cited lines. Citations that do not stand in their line are dropped.

Options:
      --subagents        <session> may be a subagent's
      --sessions <path>  Transcripts in place of the agents' own (repeatable)
      --json             One JSON document: answer, confidence, citations, notes
      --quiet            No remarks on stderr
  -h, --help             Show this help

<session> is an id, a name, last, or a path. Asks the model of the llm block in config.json, at most for its daily budget
(default: 1.00 USD). Without one: search.ts --session.

Examples:
  bun scripts/query-session.ts "fix login test" "why did we await refresh?"
  bun scripts/query-session.ts last "which files are still to be changed?" --json
`;

/** About 30,000 tokens. */
const INPUT_MAX_BYTES = 96_000;
const ANSWER_MAX_TOKENS = 2000;
const QUESTION_MAX_CHARS = 4000;

export interface QueryOptions {
  /** The configured model, or the host's own. */
  complete: CompleteJson;
  settings: Pick<Settings, "redact" | "exclude">;
  signal?: AbortSignal | undefined;
  /** @default {96000} */
  maxBytes?: number;
}

export interface SessionAnswer {
  answer: string;
  confidence: Confidence;
  citations: (Citation & { file: string })[];
  notes: string[];
  usd: number | null;
  tokens: number;
}

/** Asks the model a question about one session. */
export async function querySession(
  session: Session,
  question: string,
  options: QueryOptions,
): Promise<SessionAnswer> {
  const { complete, settings, signal, maxBytes = INPUT_MAX_BYTES } = options;
  const { NOT_IN_SESSION, QUESTION_SYSTEM, questionAnswer, questionPrompt } = await import(
    "../lib/prompts.ts"
  );
  const clean = cleaner(settings.redact);
  const { hasText } = readExclusion(settings.exclude);
  const entries = readActiveBranch(session.file, { results: true }).entries.filter(
    ({ text }) => !hasText(text),
  );
  const asked = clean(question).slice(0, QUESTION_MAX_CHARS).toWellFormed();
  const { text, omitted } = conversationText(entries, {
    maxBytes,
    lines: true,
    clean,
    relevance: relevanceTo(asked, entries),
  });
  if (text === "") {
    return {
      answer: NOT_IN_SESSION,
      confidence: "low",
      citations: [],
      notes: ["the session holds no conversation"],
      usd: 0,
      tokens: 0,
    };
  }
  const { value, usd, tokens } = await complete({
    feature: "query",
    system: QUESTION_SYSTEM,
    prompt: questionPrompt(text, asked),
    schema: questionAnswer,
    maxTokens: ANSWER_MAX_TOKENS,
    signal,
  });
  const { citations, confidence, notes } = checkCitations(
    value.citations,
    value.confidence,
    textByLine(entries, clean),
  );
  if (omitted > 0) notes.push(`${omitted} messages of the session were left out to fit`);
  const cited = citations.map((citation) => ({ file: session.file, ...citation }));
  return { answer: clean(value.answer), confidence, citations: cited, notes, usd, tokens };
}

async function main(args: string[]): Promise<void> {
  const { values, words } = parseFlags(
    args,
    {
      subagents: { type: "boolean", default: false },
      sessions: { type: "string", multiple: true },
      json: { type: "boolean", default: false },
    },
    { min: 2, max: 2 },
  );
  const config = await loadConfig(process.env, process.cwd());
  warnIgnored(config.ignored);
  const paths = pathsReading(config, values.sessions, process.cwd());
  const [reference = "", question = ""] = words;
  const context = { paths, cwd: process.cwd(), current: config.currentSession, subagents: values.subagents };
  const session = resolveSession(reference, context);
  refuseExcluded(session, config.settings.exclude);
  const complete = await configuredModel(config);
  if (!complete) throw noModel(session, question);

  const { answer, confidence, citations, notes, usd, tokens } = await querySession(session, question, {
    complete,
    settings: config.settings,
  });
  if (values.json) {
    printJson({
      answer,
      confidence,
      citations: citations.map(({ file, line, excerpt }) => ({ file, line, excerpt })),
      notes,
    });
  } else {
    print(`${answer}\n\nconfidence: ${confidence}`);
    for (const { file, line, excerpt } of citations) print(`${file}:${line} "${excerpt}"`);
    for (const text of notes) print(`note: ${text}`);
  }
  note(formatCost(usd, tokens));
}

function noModel(session: Session, question: string): SessionMemoryError {
  return new SessionMemoryError(
    "NO_MODEL",
    `Cannot ask session "${session.id}": config.json names no model`,
    {
      hint: `run bun scripts/search.ts --session ${session.id} ${JSON.stringify(question)}`,
    },
  );
}

if (import.meta.main) await runMain(USAGE, main);

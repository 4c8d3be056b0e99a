#!/usr/bin/env bun

/**
 * Answers a question about one past session, with the transcript lines that support the answer.
 *
 * Needs a model: config.json names it (a host passes its own).
 *
 * @module
 */

import { SessionMemoryError } from "../lib/base/errors.ts";
import { takeStart } from "../lib/base/text.ts";
import { note, type Run, runScript, switches, usageError } from "../lib/cli.ts";
import type { Settings } from "../lib/config/config.ts";
import { placeOnDisk } from "../lib/hosts/packed.ts";
import type { Session } from "../lib/hosts/session.ts";
import type { CompleteJson } from "../lib/model/answers.ts";
import { configuredModel } from "../lib/model/configured-model.ts";
import { formatCost } from "../lib/model/spend.ts";
import {
  type Citation,
  type Confidence,
  checkCitations,
  conversationText,
  relevanceTo,
  textByLine,
} from "../lib/naming/conversation.ts";
import { defuse } from "../lib/redact/redact.ts";
import { findPlace } from "../lib/share/find-place.ts";
import type { Place } from "../lib/share/shared-sessions.ts";
import { toRows } from "../lib/transcripts/calls.ts";
import { readRules } from "../lib/transcripts/rules.ts";
import { readActiveBranch } from "../lib/transcripts/tree.ts";

const USAGE = `\
Usage: session-memory query-session [options] <session> <question>

Reads a session of up to 96 kB whole, of a longer one the first request, compaction summaries, the passages nearest to the
question and the end, and answers in Markdown, with confidence and cited lines. Citations not found in their line are
dropped.

Options:
      --subagents        <session> may be a subagent's
      --sessions <path>  Transcripts in place of the agents' own (repeatable)
      --json, --quiet    One JSON document (answer, confidence, citations, notes); no remarks on stderr

<session> is an id, a name, last, a path, or what somebody shares (alice@desk:<id>). Asks the model of the llm block in
config.json, at most for its daily budget (default: 1.00 USD). Without one: session-memory search --session.

Examples:
  session-memory query-session "fix login test" "why did we await refresh?"
  session-memory query-session last "which files are still to be changed?" --json
`;

/** About 30,000 tokens. */
const INPUT_MAX_BYTES = 96_000;
const ANSWER_MAX_TOKENS = 2000; // a page and its citations
const QUESTION_MAX_CHARS = 4000; // a page

interface QueryOptions {
  /** The configured model, or the host's own. */
  complete: CompleteJson;
  settings: Pick<Settings, "redact" | "exclude">;
  signal?: AbortSignal | undefined;
}

interface SessionAnswer {
  answer: string;
  confidence: Confidence;
  citations: (Citation & { file: string })[];
  notes: string[];
  usd: number | null;
  tokens: number;
}

/** Asks the model a question about one session. */
export async function querySession(
  { session, rows }: Pick<Place, "session" | "rows">,
  question: string,
  { complete, settings, signal }: QueryOptions,
): Promise<SessionAnswer> {
  const { NOT_IN_SESSION, questionRequest } = await import("../lib/model/prompts.ts");
  const rules = readRules(settings);
  const { clean } = rules;
  const said = rows ?? toRows(readActiveBranch(session.file, { rules, results: true }));
  const asked = takeStart(clean(question), QUESTION_MAX_CHARS);
  const relevance = await relevanceTo(asked, said);
  const { text, omitted } = conversationText(said, { maxBytes: INPUT_MAX_BYTES, lines: true, relevance });
  if (text === "") return { ...NOTHING_SAID, answer: NOT_IN_SESSION };
  const { value, usd, tokens } = await complete({
    feature: "query",
    ...questionRequest(text, asked),
    maxTokens: ANSWER_MAX_TOKENS,
    signal,
  });
  const checked = checkCitations(value.citations, value.confidence, textByLine(said));
  const citations = checked.citations.map((citation) => ({
    file: placeOnDisk(session.file) || session.id,
    ...citation,
  }));
  const left = omitted > 0 ? [`${omitted} messages of the session were left out to fit`] : [];
  const isAnswered = value.answer !== NOT_IN_SESSION;
  const notes = [...(isAnswered ? checked.notes : []), ...left];
  return {
    answer: defuse(clean(value.answer)),
    confidence: checked.confidence,
    citations,
    notes,
    usd,
    tokens,
  };
}

const NOTHING_SAID: Omit<SessionAnswer, "answer"> = {
  confidence: "low",
  citations: [],
  notes: ["the session holds no conversation"],
  usd: 0,
  tokens: 0,
};

const SCRIPT = {
  usage: USAGE,
  flags: switches("subagents"),
  words: { min: 2, max: 2 },
  readsAnyVolute: true,
} as const;

async function main({ values, words, config, asking, show }: Run<typeof SCRIPT.flags>): Promise<void> {
  const { settings } = config;
  const [reference = "", question = ""] = words;
  if (question.trim() === "") throw usageError("Expected a question", 'try "what did we decide?"');
  const asked = await findPlace(reference, { ...asking, subagents: values.subagents });
  const complete = await configuredModel(config);
  if (!complete) throw noModel(asked.session, question);

  const { answer, confidence, citations, notes, usd, tokens } = await querySession(asked, question, {
    complete,
    settings,
  });
  const cited = citations.map(({ file, line, excerpt }) => ({ file, line, excerpt }));
  show({ answer, confidence, citations: cited, notes }, [
    `${answer}\n\nconfidence: ${confidence}`,
    ...cited.map(({ file, line, excerpt }) => `${file}:${line} "${defuse(excerpt)}"`),
    ...notes.map((text) => `note: ${text}`),
  ]);
  note(formatCost(usd, tokens));
}

function noModel(session: Session, question: string): SessionMemoryError {
  return new SessionMemoryError(
    "NO_MODEL",
    `Cannot ask session "${session.id}": config.json names no model`,
    {
      hint: `run session-memory search --session ${session.id} ${JSON.stringify(question)}`,
    },
  );
}

if (import.meta.main) await runScript(SCRIPT, main);

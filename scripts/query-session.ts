#!/usr/bin/env bun

/**
 * Answers a question about one past session, with the transcript lines that support the answer.
 *
 * Needs a model: config.json names it (a host passes its own).
 *
 * @module
 */

import { SessionMemoryError } from "../lib/base/errors.ts";
import { defuse } from "../lib/base/text.ts";
import { note, type Run, runScript, toggle, usageError } from "../lib/cli.ts";
import { findPlace } from "../lib/index/find-place.ts";
import { configuredModel } from "../lib/model/configured-model.ts";
import { formatCost } from "../lib/model/spend.ts";
import { querySession } from "../lib/naming/question.ts";

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

export { querySession };

const SCRIPT = {
  usage: USAGE,
  flags: { subagents: toggle },
  words: [2, 2],
  readsAnyVolute: true,
} as const;

async function main(run: Run<typeof SCRIPT.flags>): Promise<void> {
  const { values, words, asking, show } = run;
  const [reference = "", question = ""] = words;
  if (question.trim() === "") throw usageError("Expected a question", 'try "what did we decide?"');
  const asked = await findPlace(reference, { ...asking, ...values });
  const complete = await configuredModel(run);
  if (!complete) {
    const { id } = asked.session;
    const message = `Cannot ask session "${id}": config.json names no model`;
    const hint = `run session-memory search --session ${id} ${JSON.stringify(question)}`;
    throw new SessionMemoryError("NO_MODEL", message, { hint });
  }
  const answered = await querySession(asked, question, { ...run, complete });
  const { answer, confidence, notes, usd, tokens } = answered;
  const citations = answered.citations.map(({ file, line, excerpt }) => ({ file, line, excerpt }));
  show({ answer, confidence, citations, notes }, [
    `${answer}\n\nconfidence: ${confidence}`,
    ...citations.map(({ file, line, excerpt }) => `${file}:${line} "${defuse(excerpt)}"`),
    ...notes.map((text) => `note: ${text}`),
  ]);
  note(formatCost(usd, tokens));
}

if (import.meta.main) await runScript(SCRIPT, main);

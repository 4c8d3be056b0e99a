#!/usr/bin/env bun

/**
 * Gives sessions a name, a description, a summary and tags.
 *
 * Asks the model that config.json names; without one, rules take them from the session's own words.
 *
 * @module
 */

import { SessionMemoryError } from "../lib/base/errors.ts";
import { counted, unbroken } from "../lib/base/text.ts";
import {
  ANY_WORDS,
  each,
  note,
  type Run,
  refuseTogether,
  runScript,
  startProgress,
  toggle,
  usageError,
  warn,
} from "../lib/cli.ts";
import type { Config } from "../lib/config/config.ts";
import type { Session } from "../lib/hosts/session.ts";
import { configuredModel, noteTaker } from "../lib/model/configured-model.ts";
import { formatCost, pricePlan } from "../lib/model/spend.ts";
import type { MetaOptions, MetaOutcome } from "../lib/naming/meta-words.ts";
import { indexMeta, isKnownNotDue } from "../lib/naming/session-meta.ts";
import { readRecords, sessionKey } from "../lib/sessions/record.ts";
import { resolveSession } from "../lib/sessions/resolve.ts";
import { listSessions } from "../lib/sessions/sessions.ts";

const USAGE = `\
Usage: session-memory index-meta [options] [<session>…]

Writes name, description, summary and tags of sessions into their meta files. Without a model a session is due after
each turn that changed it; with one after 5 new user messages (minNewUserMessages), or if its metadata was made without.

Options:
      --new              Sessions that are due, unchanged ones unopened (default)
      --all              All sessions, each one opened and listed
      --force            Also sessions that are not due
      --dry-run          What would be sent and its price, by these flags; send and write nothing
      --sessions <path>  Transcripts in place of the agents' own (repeatable)
      --json             One JSON document       --quiet  No progress and warnings

<session> is an id, a name, last, or a path. Without an llm block in config.json nothing leaves the machine.

Examples:
  session-memory index-meta --new
  session-memory index-meta --force "fix login test"
`;

/** Sums of fractions have more, which mean nothing. */
const USD_DIGITS = 9;

interface IndexAllOptions extends MetaOptions {
  /** True if every session is opened, changed or not. @default {false} */
  thorough?: boolean;
  progress?: (done: number, total: number) => void;
}

/** Makes the meta of each session that is due; outcomes in the sessions' order. */
async function makeMetas(sessions: readonly Session[], options: IndexAllOptions): Promise<MetaOutcome[]> {
  const records = readRecords(options.paths);
  const outcomes: MetaOutcome[] = [];
  let { complete, force = false } = options;
  for (const [done, session] of sessions.entries()) {
    const record = records.get(sessionKey(session));
    const own = { ...options, complete, force };
    if (!options.thorough && isKnownNotDue(session, record, own)) {
      const name = record?.meta?.name;
      outcomes.push({ sessionId: session.id, status: "not-due", name, usd: 0, model: "" });
      continue;
    }
    const outcome = await indexMeta(session, own);
    outcomes.push(outcome);
    // What failed for good fails for all: the rest is made by rule where no model made it before.
    if (outcome.lastingFailure) [complete, force] = [undefined, false];
    options.progress?.(done + 1, sessions.length);
  }
  return outcomes;
}

const FLAGS = each(toggle, "new", "all", "force", "dryRun");

async function main(run: Run<typeof FLAGS>): Promise<void> {
  const { values, words, paths, settings, cwd, asking, show } = run;
  refuseTogether(values, "all", "new");
  if (words.length > 0 && (values.all || values.new)) {
    throw usageError(
      "Cannot use a session together with --all or --new",
      "name sessions, or give one of the flags",
    );
  }
  const sessions =
    words.length > 0
      ? named(words.map((reference) => resolveSession(reference, asking)))
      : listSessions(paths, { cwd });
  const thorough = values.all || words.length > 0;
  const progress = startProgress("sessions named");
  const options = { paths, settings, force: values.force, thorough, progress: progress.update };
  if (values.dryRun) {
    const { plan, lines } = await makePlan(run, sessions, options);
    progress.end();
    show(plan, lines);
    return;
  }
  const complete = await configuredModel(run);
  const outcomes = await makeMetas(sessions, { ...options, complete });
  progress.end();
  for (const { warning } of outcomes) if (warning) warn(warning);
  show(
    { sessions: outcomes.map(toJson) },
    // sessions that nobody asked for and that are not due are only counted
    outcomes.filter(({ status }) => thorough || status !== "not-due").map(outcomeLine),
  );
  if (!values.json) note(describeAll(outcomes));
  refuseFailures(outcomes);
}

/** Returns sessions that were named, each once. */
function named(sessions: readonly Session[]): Session[] {
  return [...new Map(sessions.map((session) => [sessionKey(session), session])).values()];
}

/** Returns the sessions whose words would be sent, and the price of one answer for each. */
async function makePlan(
  config: Config,
  sessions: readonly Session[],
  options: IndexAllOptions,
): Promise<{ plan: object; lines: string[] }> {
  const { llm } = config.settings;
  if (!llm) {
    const plan = { sessions: [], host: null, tokens: 0, usd: 0 };
    return { plan, lines: ["nothing would be sent: no llm in config.json"] };
  }
  const made = "to be made";
  const { complete, notes } = noteTaker(llm.model, () => ({
    name: "to be named",
    description: made,
    summary: made,
    tags: [made],
  }));
  const outcomes = await makeMetas(sessions, { ...options, complete, dryRun: true });
  const asked = outcomes.flatMap(({ sessionId, usage }) =>
    usage ? [{ sessionId, tokens: usage.input + usage.output }] : [],
  );
  const { text, ...price } = pricePlan(config, { kind: "chat", ...llm }, notes.tokens);
  const lines = asked.map(({ sessionId, tokens }) => `${unbroken(sessionId)}: at most ${tokens} tokens`);
  return {
    plan: { sessions: asked, ...price },
    lines: [...lines, `${counted(asked.length, "session")} would be sent to ${text}`],
  };
}

function toJson({ sessionId, status, name, usd, error }: MetaOutcome): object {
  const price = usd === null ? null : Number(usd.toFixed(USD_DIGITS));
  return { sessionId, status, name: name ?? null, usd: price, ...(error === undefined ? {} : { error }) };
}

function outcomeLine({ sessionId, status, name, usd, usage, error }: MetaOutcome): string {
  const cost = usage ? ` · ${formatCost(usd, usage.input + usage.output)}` : "";
  const said = status === "failed" ? error : (name ?? "(no name yet)");
  return `${status} ${unbroken(sessionId)} ${said}${cost}`;
}

function describeAll(outcomes: readonly MetaOutcome[]): string {
  const count = (status: MetaOutcome["status"]) =>
    outcomes.filter((outcome) => outcome.status === status).length;
  const asked = outcomes.flatMap(({ usd, usage }) => (usage ? [{ usd, ...usage }] : []));
  const usd = asked.reduce<number | null>(
    (sum, { usd }) => (sum === null || usd === null ? null : sum + usd),
    0,
  );
  const tokens = asked.reduce((sum, { input, output }) => sum + input + output, 0);
  const cost = asked.length > 0 ? ` · ${formatCost(usd, tokens)}` : "";
  const [notDue, failed] = [count("not-due"), count("failed")];
  const others = [
    ...(notDue > 0 ? [notDue === 1 ? "1 left as it is" : `${notDue} left as they are`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
  ];
  return `${[`${counted(count("indexed"), "session")} named`, ...others].join(", ")}${cost}`;
}

function refuseFailures(outcomes: readonly MetaOutcome[]): void {
  const [first, ...others] = outcomes.filter(({ status }) => status === "failed");
  if (!first) return;
  const why = first.error?.replace(/^\w+: /, "");
  const hint =
    first.lastingFailure?.hint ?? "run it again later; sessions without a meta file were described by rule";
  throw new SessionMemoryError(
    first.errorType ?? "MODEL_FAILED",
    others.length === 0 ? `${why}` : `${why} (and ${others.length} more sessions failed)`,
    { hint },
  );
}

if (import.meta.main) await runScript({ usage: USAGE, flags: FLAGS, words: ANY_WORDS }, main);

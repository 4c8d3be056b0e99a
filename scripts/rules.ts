#!/usr/bin/env bun
/**
 * Lists what users laid down beyond a task, keeps and ends rules, and prints the ones in force for CLAUDE.md.
 *
 * @module
 */

import { SessionMemoryError } from "../lib/base/errors.ts";
import { quote, shortId, unbroken } from "../lib/base/text.ts";
import { each, filled, note, type Run, refuseTogether, runScript, toggle } from "../lib/cli.ts";
import type { Session } from "../lib/hosts/session.ts";
import { findWords, keepWords, typedRows } from "../lib/observe/standing-marks.ts";
import {
  AGENT,
  endRule,
  formatDay,
  formatPlace,
  holds,
  keptLine,
  type StandingRule,
  standingRules,
  WORDS,
} from "../lib/observe/standing-rules.ts";
import { resolveSession } from "../lib/sessions/resolve.ts";
import { listSessions, projectDirectory } from "../lib/sessions/sessions.ts";
import { readActiveBranch } from "../lib/transcripts/tree.ts";

const USAGE = `\
Usage: session-memory rules [options]

Lists standing rules: what you laid down in a session beyond its task ("next time …, let me commit"), with place and
origin. New sessions of the project are given those that hold. A model that observes (llm in config.json, in pi
its own) marks them, an agent keeps them by --add, and sentences that begin with from now on, always, never,
next time or remember are heard without either.

Options:
      --project <p>      Only a project's: a folder in it (.), or its name (default: all projects)
      --add <words>      Keep the user's own words, as they stand in a message of the calling session
      --drop <id>        End one for good
      --markdown         Those that hold as a list for CLAUDE.md or AGENTS.md; changes no file
      --json, --quiet    One JSON document (rules); no remarks on stderr

Examples:
  session-memory rules --add "never use port 8080 in this project"
  session-memory rules --drop k3f9a2
`;

const SCRIPT = {
  usage: USAGE,
  flags: { ...each(filled, "project", "add", "drop"), markdown: toggle },
} as const;

type RulesRun = Run<typeof SCRIPT.flags>;

async function main(run: RulesRun): Promise<void> {
  const { values, paths, settings, cwd, show } = run;
  refuseTogether(values, "add", "drop", "markdown");
  if (values.add !== undefined) return await add(run, values.add);
  const { project: called } = values;
  const directory = projectDirectory({ project: called, cwd });
  const found = await standingRules(paths, { directory, called });
  if (values.drop !== undefined) return drop(run, found, values.drop);
  if (found.length === 0) note("no standing rules yet");
  const lines = values.markdown ? markdown(found) : listing(found, settings.timezone);
  show({ rules: found.map(ruleJson) }, lines);
}

/** The newest sessions of a project that may be the caller's, where the host does not say which one calls. */
const CALLERS_MAX = 10;

/** Keeps words that the user of the calling session typed. */
async function add({ paths, currentSession, rules, cwd, show }: RulesRun, given: string): Promise<void> {
  const words = given.trim().replace(/^["“'](.+)["”']$/s, "$1");
  const read = (session: Session, newest?: number) => {
    const entries = typedRows(readActiveBranch(session.file, { rules }));
    return { session, entries: newest === undefined ? entries : entries.slice(-newest) };
  };
  const callers =
    currentSession === undefined
      ? listSessions(paths, { project: ".", cwd })
          .slice(0, CALLERS_MAX)
          .map((session) => read(session, 1))
          .filter(({ entries }) => entries.some(({ text }) => findWords(text, words) !== undefined))
      : [read(resolveSession(currentSession, { paths, cwd, sessionOnly: true, exact: true }))];
  const kept =
    callers.length === 1 && callers[0] ? await keepWords(words, { ...callers[0], paths }) : undefined;
  if (!kept) throw notKept(words, callers);
  const { mark, isNew } = kept;
  const rule = { mark, ids: [mark.id], isDropped: false };
  show({ rules: [ruleJson(rule)] }, [keptLine(mark.words, isNew)]);
}

function notKept(words: string, callers: readonly { session: Session }[]): SessionMemoryError {
  const ids = callers.map(({ session }) => shortId(session.id)).join(", ");
  if (callers.length > 1) {
    return new SessionMemoryError(
      "AMBIGUOUS",
      `Cannot keep ${quote(words)}: several sessions end with it: ${ids}`,
      {
        hint: "run it in the session in which it was typed",
      },
    );
  }
  const where = ids === "" ? "in the last message of any session of this project" : `in session ${ids}`;
  return new SessionMemoryError(
    "NOT_FOUND",
    `Cannot keep ${quote(words)}: the user did not type it ${where}`,
    {
      hint: "give the user's own words as they stand in the message",
    },
  );
}

function drop({ paths, show }: RulesRun, found: readonly StandingRule[], id: string): void {
  const rule = found.find(({ ids }) => ids.includes(id));
  if (!rule) {
    throw new SessionMemoryError("NOT_FOUND", `Cannot end "${id.slice(0, 100)}": no rule has this id`, {
      hint: "session-memory rules lists them with their ids",
    });
  }
  if (!rule.isDropped) endRule(paths, { mark: rule.mark, at: new Date().toISOString() });
  show({ rules: [ruleJson({ ...rule, isDropped: true })] }, [`ended: ${quote(rule.mark.words)}`]);
}

function* listing(found: readonly StandingRule[], timezone: string | undefined): Generator<string> {
  let last: string | undefined;
  for (const rule of found) {
    const { mark, supersededBy, isDropped } = rule;
    if (mark.project !== last) yield `# ${unbroken(mark.project)}`;
    last = mark.project;
    const facts = [
      `by ${originOf(rule)}`,
      ...(supersededBy === undefined ? [] : [`superseded by ${supersededBy}`]),
      ...(isDropped ? ["ended"] : []),
    ];
    yield `${mark.id}  ${quote(mark.words)} (${formatDay(mark, timezone)}${formatPlace(mark)}) ${facts.join("; ")}`;
  }
}

function markdown(found: readonly StandingRule[]): string[] {
  return found.filter(holds).map(({ mark }) => `- ${mark.words}`);
}

function originOf({ mark: { by } }: StandingRule): string {
  return by === WORDS || by === AGENT ? by : "model";
}

function ruleJson(rule: StandingRule) {
  const { mark, supersededBy = null, isDropped } = rule;
  return {
    id: mark.id,
    words: mark.words,
    project: mark.project,
    session: { id: mark.sessionId, agent: mark.agent },
    line: mark.line,
    place: formatPlace(mark),
    origin: originOf(rule),
    model: originOf(rule) === "model" ? mark.by : null,
    supersededBy,
    dropped: isDropped,
    holds: holds(rule),
  };
}

if (import.meta.main) await runScript(SCRIPT, main);

#!/usr/bin/env bun
/**
 * Lists what users laid down beyond a task, ends a rule for good, and prints the rules that hold for CLAUDE.md.
 *
 * @module
 */

import { SessionMemoryError } from "../lib/base/errors.ts";
import { counted, quote, unbroken } from "../lib/base/text.ts";
import { note, type Run, refuseTogether, runScript, switches, texts } from "../lib/cli.ts";
import {
  endRule,
  formatDay,
  formatPlace,
  holds,
  readStanding,
  readStandingFor,
  rulesOfAll,
  type StandingRule,
  type StoredStanding,
  toSession,
  WORDS,
} from "../lib/observe/standing-rules.ts";
import { projectCalled } from "../lib/search/own-project.ts";
import { projectDirectory } from "../lib/sessions/sessions.ts";
import { type Rules, readRules } from "../lib/transcripts/rules.ts";

const USAGE = `\
Usage: session-memory rules [options]

Lists standing rules: what you laid down in a session beyond its task ("next time …, let me commit"), with place and
origin. New sessions of the project are given those that hold. A model that observes (llm in config.json, in pi
its own) marks them; without one only what is said in so many words is heard: from now on, always, never, next time.

Options:
      --project <p>      Only a project's: a folder in it (.), or its name (default: all projects)
      --drop <id>        End one for good
      --markdown         Those that hold as a list for CLAUDE.md or AGENTS.md; changes no file
      --json, --quiet    One JSON document (rules); no remarks on stderr

Examples:
  session-memory rules --project .
  session-memory rules --drop k3f9a2
`;

const SCRIPT = {
  usage: USAGE,
  flags: { ...texts("project", "drop"), ...switches("markdown") },
  words: { max: 0 },
} as const;

type RulesRun = Run<typeof SCRIPT.flags>;

async function main(run: RulesRun): Promise<void> {
  const { values, config, show } = run;
  refuseTogether(values, "drop", "markdown");
  const rules = readRules(config.settings);
  const found = await rulesOfAll(await storedFor(run), config.paths);
  if (values.drop !== undefined) return drop(run, found, values.drop);
  if (found.length === 0) note("no standing rules yet");
  const style = { timezone: config.settings.timezone, rules };
  const lines = values.markdown ? markdown(found, rules) : listing(found, style);
  show({ rules: found.map((rule) => ruleJson(rule, rules)) }, lines);
}

/** Reads the marks of the project that is asked for, else all. */
async function storedFor({ values, config, cwd }: RulesRun): Promise<StoredStanding> {
  const { project } = values;
  const directory = projectDirectory({ project, cwd });
  if (directory !== undefined) return await readStandingFor(directory, config.paths);
  const { marks, ends } = readStanding(config.paths);
  if (project === undefined) return { marks, ends };
  const isCalled = projectCalled(project, config.paths);
  return { marks: marks.filter((mark) => isCalled(toSession(mark))), ends };
}

function drop({ config, show }: RulesRun, found: readonly StandingRule[], id: string): void {
  const rule = found.find(({ ids }) => ids.has(id));
  if (!rule) {
    throw new SessionMemoryError("NOT_FOUND", `Cannot end "${id.slice(0, 100)}": no rule has this id`, {
      hint: "session-memory rules lists them with their ids",
    });
  }
  if (!rule.isDropped) endRule(config.paths, { mark: rule.mark, at: new Date().toISOString() });
  const rules = readRules(config.settings);
  show({ rules: [ruleJson({ ...rule, isDropped: true }, rules)] }, [`ended: ${wordsIn(rule, rules)}`]);
}

function wordsIn({ mark }: StandingRule, { clean }: Rules): string {
  return quote(clean(mark.words));
}

function* listing(
  found: readonly StandingRule[],
  { timezone, rules }: { timezone: string | undefined; rules: Rules },
): Generator<string> {
  let last: string | undefined;
  for (const rule of found) {
    const { mark, last: again, marks, supersededBy, isDropped } = rule;
    if (mark.project !== last) yield `# ${unbroken(rules.clean(mark.project))}`;
    last = mark.project;
    const facts = [
      `by ${mark.by === WORDS ? "words" : "model"}`,
      ...(marks.length > 1
        ? [`said ${counted(marks.length, "time")}, last ${formatDay(again, timezone)}${formatPlace(again)}`]
        : []),
      ...(supersededBy === undefined ? [] : [`superseded by ${supersededBy}`]),
      ...(isDropped ? ["ended"] : []),
    ];
    yield `${mark.id}  ${wordsIn(rule, rules)} (${formatDay(mark, timezone)}${formatPlace(mark)}) ${facts.join("; ")}`;
  }
}

function markdown(found: readonly StandingRule[], { clean }: Rules): string[] {
  return found.filter(holds).map(({ mark }) => `- ${clean(mark.words)}`);
}

function ruleJson(rule: StandingRule, { clean }: Rules) {
  const { mark, last, marks, supersededBy = null, isDropped } = rule;
  return {
    id: mark.id,
    words: clean(mark.words),
    project: clean(mark.project),
    session: { id: mark.sessionId, agent: mark.agent },
    line: mark.line,
    place: formatPlace(mark),
    origin: mark.by === WORDS ? "words" : "model",
    model: mark.by === WORDS ? null : clean(mark.by),
    said: marks.length,
    lastSaid: last.at || null,
    supersededBy,
    dropped: isDropped,
    holds: holds(rule),
  };
}

if (import.meta.main) await runScript(SCRIPT, main);

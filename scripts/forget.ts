#!/usr/bin/env bun

/**
 * Removes a session, a project or a text from everything we hold, and keeps it out.
 *
 * The hosts' transcripts are never touched.
 *
 * @module
 */

import { SessionMemoryError } from "../lib/base/errors.ts";
import { counted } from "../lib/base/text.ts";
import {
  confirm,
  note,
  parseFlags,
  print,
  printJson,
  runMain,
  timeFlag,
  usageError,
  useConfig,
  warn,
} from "../lib/cli.ts";
import {
  type Config,
  expandPath,
  loadConfig,
  pathsReading,
  readingAnyVolute,
  type Settings,
  seeingExcluded,
} from "../lib/config/config.ts";
import { namedTargets, projectEntry, type Target, targetsWhere } from "../lib/forget/forget-target.ts";
import {
  type ForgetOptions,
  type Forgotten,
  finishErasing,
  forgetTargets,
  forgetText,
  isAnything,
  readHeld,
} from "../lib/forget/forgetting.ts";
import { oneLine, redact } from "../lib/redact/redact.ts";
import { readExclusion } from "../lib/transcripts/exclusion.ts";

const USAGE = `\
Usage: bun scripts/forget.ts <session>… | --project <p> | --before <t> | --pattern <regex>… [options]

Removes sessions, or whatever holds a text, from everything session-memory has: index, vectors, names,
observations, saved notes, marks and log. What went is kept out from then on ("exclude" in config.json).
What would go is shown and asked about first. The transcripts of Claude Code, pi and Codex are theirs and stay.
<session>: its id, the start of its id (4+), its exact name, its transcript's path, or "last".

Options:
  --project <p>      All sessions of a project: its directory, or its name
  --before <t>       All sessions that did nothing since: 2026-02-03, yesterday, 7d (with --project: of it)
  --pattern <regex>  Chunks, observations, names and notes that match (repeatable; case counts)
  --dry-run          Show what would go; change nothing
  --yes              Do not ask; needed where there is no terminal
  --no-exclude       Do not keep it out: the next indexing reads it again
  --sessions <path>  Read this file or folder instead of the agents' own (repeatable)
  --json             One JSON document       --quiet  No remarks on stderr
  -h, --help         Show this help

Examples:
  bun scripts/forget.ts discord --dry-run
  bun scripts/forget.ts --project ~/code/secret
`;

const SHOWN_MAX = 10;
const NAME_MAX = 60;

type Exclude = Settings["exclude"];
type Flags = ReturnType<typeof readFlags>["values"];

async function main(args: string[]): Promise<void> {
  const { values, words } = readFlags(args);
  const loaded = await loadConfig(process.env, process.cwd());
  useConfig(loaded);
  const reading = readingAnyVolute(pathsReading(loaded, values.sessions, process.cwd()));
  const config = { ...loaded, paths: seeingExcluded(reading) };
  if (!values["dry-run"]) finishErasing(config.paths);
  if (values.pattern) await forgetPatterns(values.pattern, config, values);
  else await forgetSessions(words, config, values);
}

function readFlags(args: string[]) {
  const off = { type: "boolean", default: false } as const;
  const parsed = parseFlags(args, {
    project: { type: "string" },
    before: { type: "string" },
    pattern: { type: "string", multiple: true },
    "dry-run": off,
    yes: off,
    "no-exclude": off,
    sessions: { type: "string", multiple: true },
    json: off,
  });
  const { values, words } = parsed;
  const isRange = values.project !== undefined || values.before !== undefined;
  const ways = [words.length > 0, isRange, values.pattern !== undefined].filter(Boolean).length;
  if (ways === 0) throw usageError("Expected what to forget", "name a session, or see --help");
  if (ways > 1) {
    throw usageError(
      "Cannot combine sessions, --project or --before, and --pattern",
      "forget one after the other",
    );
  }
  if (values.project?.trim() === "") throw usageError('Cannot use --project ""', "name a directory");
  for (const pattern of values.pattern ?? []) refuseBadPattern(pattern);
  return parsed;
}

function refuseBadPattern(pattern: string): void {
  let isFit = false;
  try {
    // One that fits an empty text fits everything.
    isFit = !new RegExp(pattern, "u").test("");
  } catch {
    // said below
  }
  if (isFit) return;
  throw usageError(
    `Cannot use --pattern "${pattern}": expected a regular expression that fits some texts only`,
    "try --pattern 'Project Falcon'",
  );
}

async function forgetSessions(words: readonly string[], config: Config, values: Flags): Promise<void> {
  const { paths, env, currentSession: current } = config;
  const options = { paths, cwd: process.cwd(), current, held: readHeld(paths) };
  const project = values.project && projectEntry(projectPath(values.project, env), options.cwd);
  const before =
    values.before === undefined ? undefined : timeFlag("--before", values.before, config.settings.timezone);
  const targets =
    words.length > 0 ? namedTargets(words, options) : targetsWhere({ project, before }, options);
  if (targets.length === 0) throw nothingFits(values);
  const sessions = keptOutByName(targets, values);
  const exclude = { sessions, projects: project && !before ? [project] : [], patterns: [] };
  const places = project && !before ? [project] : [];
  const asked = { ...optionsOf(config, values, exclude), places };
  await confirmed((dryRun) => forgetTargets(targets, { ...asked, dryRun }), targets, values);
}

/** A name stays a name. */
function projectPath(project: string, env: Config["env"]): string {
  return project.startsWith("~") ? expandPath(project, env, process.cwd()) : project;
}

/** A project keeps its sessions out by itself. Of old ones, only those can come back that a host still has. */
function keptOutByName(targets: readonly Target[], { project, before }: Flags): string[] {
  if (project !== undefined && before === undefined) return [];
  const ids = new Set(targets.map(({ id }) => id));
  // A subagent stays out with the session that started it.
  const own = targets.filter(({ parentId }) => parentId === undefined || !ids.has(parentId));
  const back = before === undefined ? own : own.filter(({ transcript }) => transcript !== undefined);
  return back.map(({ id }) => id);
}

async function forgetPatterns(patterns: readonly string[], config: Config, values: Flags): Promise<void> {
  const exclude = { sessions: [], projects: [], patterns: [...patterns] };
  const { hasText } = readExclusion(exclude);
  const options = optionsOf(config, values, exclude);
  await confirmed((dryRun) => forgetText(hasText, { ...options, dryRun }), [], values);
}

function optionsOf({ paths }: Config, values: Flags, exclude: Exclude): Omit<ForgetOptions, "dryRun"> {
  return { paths, cwd: process.cwd(), exclude: values["no-exclude"] ? undefined : exclude };
}

/** Shows what would go, asks, and forgets it. */
async function confirmed(
  forget: (dryRun: boolean) => Promise<Forgotten>,
  targets: readonly Target[],
  values: Flags,
): Promise<void> {
  if (values["dry-run"]) {
    report(await forget(true), targets, values);
    return;
  }
  if (!values.yes) {
    const preview = { ...values, "dry-run": true };
    for (const line of describe(await forget(true), targets, preview)) (values.json ? note : print)(line);
    if (!(await confirm("Forget this?"))) {
      throw new SessionMemoryError("NOT_CONFIRMED", "Cannot forget without a yes: nothing was changed", {
        hint: "add --yes",
      });
    }
  }
  report(await forget(false), targets, values);
}

function nothingFits({ project, before }: Flags): SessionMemoryError {
  const asked = [
    project === undefined ? "" : `project "${project}"`,
    before === undefined ? "" : `before ${before}`,
  ];
  const what = oneLine(redact(asked.filter(Boolean).join(" ")), 200);
  return new SessionMemoryError("NOT_FOUND", `Cannot forget ${what}: nothing fits it`, {
    hint: "to keep it out all the same, add it to exclude in config.json",
  });
}

function report(forgotten: Forgotten, targets: readonly Target[], values: Flags): void {
  const { removed, excluded, forks, erased, keptFiles } = forgotten;
  if (values.pattern && !isAnything(forgotten)) note("no stored data matches");
  if (values.json) {
    const sessions = targets.map(({ id, agent, name, transcript }) => ({
      id,
      agent,
      name: name && redact(name),
      transcript,
    }));
    const dryRun = values["dry-run"];
    const transcripts = transcriptsOf(targets);
    printJson({ dryRun, sessions, removed, keptFiles, excluded, forks, transcripts, erased });
    for (const remark of remarks(forgotten, targets, values)) note(remark);
  } else for (const line of describe(forgotten, targets, values)) print(line);
  if (!erased) refuseUnerased();
}

function describe(forgotten: Forgotten, targets: readonly Target[], values: Flags): string[] {
  return [
    ...sessionLines(targets, values["dry-run"]),
    ...removedLines(forgotten.removed),
    ...excludedLines(forgotten.excluded),
    ...remarks(forgotten, targets, values),
  ];
}

function sessionLines(targets: readonly Target[], dryRun: boolean): string[] {
  const verb = dryRun ? "would forget" : "forgot";
  const matches = dryRun ? "would forget what matches" : "forgot what matched";
  const shown = targets.slice(0, SHOWN_MAX).map(({ id, agent, name }) => {
    const called = name === undefined ? "" : ` "${oneLine(redact(name), NAME_MAX)}"`;
    return `- ${oneLine(redact(id), 255)}${called}${agent === undefined ? "" : ` (${agent})`}`;
  });
  const more = targets.length > SHOWN_MAX ? [`- … ${targets.length - SHOWN_MAX} more`] : [];
  return [targets.length > 0 ? `${verb} ${counted(targets.length, "session")}` : matches, ...shown, ...more];
}

function transcriptsOf(targets: readonly Target[]): string[] {
  return targets.flatMap(({ transcript }) => (transcript === undefined ? [] : [transcript]));
}

function removedLines({ notes, ...counts }: Forgotten["removed"]): string[] {
  const { chunks, vectors, cached, ledgers, observations, metaFiles, cursors, logLines } = counts;
  return [
    `index: ${counted(chunks, "chunk")}, ${counted(vectors, "vector")}, ${cached} cached`,
    `observations: ${observations} in ${counted(ledgers, "ledger")}`,
    `meta files: ${metaFiles}; marks: ${cursors}; log lines: ${logLines}`,
    `notes: ${notes.length}`,
    ...notes.map((file) => `- ${redact(file)}`),
  ];
}

function excludedLines({ sessions, projects, patterns }: Exclude): string[] {
  const parts = [
    sessions.length > 0 ? counted(sessions.length, "session") : "",
    ...projects.map((project) => `project ${redact(project)}`),
    ...patterns.map((pattern) => `pattern ${redact(pattern)}`),
  ].filter(Boolean);
  return parts.length > 0 ? [`kept out from now on: ${parts.join(", ")} (exclude in config.json)`] : [];
}

function remarks({ forks, keptFiles }: Forgotten, targets: readonly Target[], values: Flags): string[] {
  const transcripts = transcriptsOf(targets);
  const lines: string[] = [];
  if (forks.length > 0) {
    lines.push(`began as copies and hold the same rows, forget them too: ${redact(forks.join(", "))}`);
  }
  if (keptFiles.length > 0) {
    lines.push("not removed, since we did not write them as they are now, to delete with rm:");
    lines.push(...keptFiles.map((file) => `- ${redact(file)}`));
  }
  if (transcripts.length > 0) {
    lines.push(`still there: ${counted(transcripts.length, "transcript")} of the hosts, to delete with rm:`);
    lines.push(...transcripts.slice(0, SHOWN_MAX).map((file) => `- ${redact(file)}`));
    if (transcripts.length > SHOWN_MAX) lines.push(`- … ${transcripts.length - SHOWN_MAX} more`);
  }
  if (targets.some(({ agent, transcript }) => agent === "pi" && transcript !== undefined)) {
    lines.push("what our extension wrote into pi's session files (observations, updates) is in those files");
  }
  if (values.pattern) lines.push("transcripts of the hosts still hold it");
  if (values["no-exclude"] && !values["dry-run"])
    lines.push("not kept out: the next indexing reads it again");
  if (values.before !== undefined && !values["no-exclude"]) {
    lines.push("only these sessions are kept out, one by one: a time cannot be");
  }
  return lines;
}

function refuseUnerased(): never {
  warn("removed, but the database's log still holds bytes of it");
  throw new SessionMemoryError("BUSY", "Cannot write the index anew: another process is reading it", {
    recoverable: true,
    hint: "run the same command again",
  });
}

if (import.meta.main) await runMain(USAGE, main);

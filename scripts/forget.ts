#!/usr/bin/env bun

/**
 * Removes a session, a project or a text from all stored data and excludes it from then on.
 *
 * The hosts' transcripts are never touched.
 *
 * @module
 */

import { SessionMemoryError } from "../lib/base/errors.ts";
import { counted, unbroken } from "../lib/base/text.ts";
import {
  confirm,
  note,
  print,
  printJson,
  type Run,
  runScript,
  timeFlag,
  usageError,
  warn,
} from "../lib/cli.ts";
import { type Config, expandPath, type Settings, seeingExcluded } from "../lib/config/config.ts";
import { namedTargets, projectEntry, type Target, targetsWhere } from "../lib/forget/forget-target.ts";
import {
  ensureIndexes,
  type ForgetOptions,
  type Forgotten,
  finishErasing,
  forgetTargets,
  forgetText,
  isAnything,
  readHeld,
  undoExclusion,
} from "../lib/forget/removal.ts";
import { oneLine, redact } from "../lib/redact/redact.ts";
import { projectKey } from "../lib/sessions/project.ts";
import { heldShared } from "../lib/share/replica.ts";
import { readExclusion } from "../lib/transcripts/rules.ts";

const USAGE = `\
Usage: session-memory forget <session>… | --project <p> | --before <t> | --pattern <regex>…
       session-memory forget --undo <session|project|pattern>

Removes sessions, or whatever holds a text, from all that session-memory holds (index, names, observations,
notes, log) and excludes it from then on. Shows what would go and asks first. Transcripts are the hosts' and stay.
<session>: its id, the start of its id (4+), its exact name, its transcript's path, or "last".

Options:
  --project <p>      All sessions of a project: its directory, or its name
  --before <t>       All sessions that did nothing since: 2026-02-03, yesterday, 7d (with --project: of it)
  --pattern <regex>  Chunks, observations, names and notes that match (repeatable; case counts)
  --undo <what>      Take it out of "exclude" in config.json: the next indexing reads it again
  --dry-run          Show what would go; change nothing
  --yes              Do not ask; needed where there is no terminal
  --no-exclude       Do not exclude it: the next indexing reads it again
  --sessions <path>  Read this file or folder instead of the agents' own (repeatable)
  --json             One JSON document       --quiet  No remarks on stderr
  -h, --help         Show this help

Examples:
  session-memory forget discord --dry-run
  session-memory forget --project ~/code/secret
`;

type Exclude = Settings["exclude"];

const OFF = { type: "boolean", default: false } as const;
const FLAGS = {
  project: { type: "string" },
  before: { type: "string" },
  pattern: { type: "string", multiple: true },
  "dry-run": OFF,
  undo: { type: "string" },
  yes: OFF,
  "no-exclude": OFF,
} as const;

type Flags = Run<typeof FLAGS>["values"];

async function main({ values, words, ...run }: Run<typeof FLAGS>): Promise<void> {
  refuseContradictions(values, words);
  const config = { ...run.config, paths: seeingExcluded(run.config.paths) };
  if (values.undo !== undefined) return await undo(values.undo, config, values);
  await ensureIndexes(config.paths, config.settings);
  if (!values["dry-run"]) finishErasing(config.paths);
  if (values.pattern) await forgetPatterns(values.pattern, config, values);
  else await forgetSessions(words, config, values);
}

function refuseContradictions(values: Flags, words: readonly string[]): void {
  const isRange = values.project !== undefined || values.before !== undefined;
  const { pattern, undo } = values;
  const asked = [words.length > 0, isRange, pattern !== undefined, undo !== undefined];
  const ways = asked.filter(Boolean).length;
  if (ways === 0) throw usageError("Expected what to forget", "name a session, or see --help");
  if (ways > 1) {
    throw usageError(
      "Cannot combine sessions, --project or --before, --pattern and --undo",
      "forget one after the other",
    );
  }
  if (values.project?.trim() === "") throw usageError('Cannot use --project ""', "name a directory");
  for (const pattern of values.pattern ?? []) assertUsefulPattern(pattern);
}

function assertUsefulPattern(pattern: string): void {
  let problem = "it matches everything";
  try {
    // A pattern that matches the empty text matches everything.
    if (!new RegExp(pattern, "u").test("")) return;
  } catch {
    problem = "not a regular expression";
  }
  throw usageError(`Cannot use --pattern "${pattern}": ${problem}`, "try --pattern 'Project Falcon'");
}

async function forgetSessions(words: readonly string[], config: Config, values: Flags): Promise<void> {
  const { paths, env, currentSession: current } = config;
  const shared = values.before === undefined ? heldShared(paths) : [];
  const options = { paths, cwd: process.cwd(), current, remark: note, held: [...readHeld(paths), ...shared] };
  const project = values.project && projectEntry(projectPath(values.project, env), options.cwd);
  const before =
    values.before === undefined ? undefined : timeFlag("--before", values.before, config.settings.timezone);
  const targets =
    words.length > 0 ? namedTargets(words, options) : targetsWhere({ project, before }, options);
  if (targets.length === 0 && before === undefined) throw nothingMatches(values);
  const sessions = excludedByName(targets, project, values);
  const exclude = { sessions, projects: project && !before ? [project] : [], patterns: [] };
  const places = project && !before ? [project] : [];
  const asked = { ...readOptions(config, values, exclude), places };
  await confirmed((dryRun) => forgetTargets(targets, { ...asked, dryRun }), targets, values);
}

/** Expands `~`; a plain name stays a name. */
function projectPath(project: string, env: Config["env"]): string {
  return project.startsWith("~") ? expandPath(project, env, process.cwd()) : project;
}

/**
 * Returns the sessions to exclude by id: of a project, which is excluded itself, those that only its origin tells, on other
 * machines; of old sessions only those that a host still has.
 */
function excludedByName(
  targets: readonly Target[],
  project: string | undefined,
  { before }: Flags,
): string[] {
  if (project !== undefined && before === undefined) {
    const { hasSession } = readExclusion({ sessions: [], projects: [project], patterns: [] });
    const isKeptOut = ({ id, cwd }: Target) => hasSession({ id, cwd, project: cwd && projectKey(cwd) });
    return targets.filter((target) => !isKeptOut(target)).map(({ id }) => id);
  }
  const ids = new Set(targets.map(({ id }) => id));
  // A subagent is excluded together with its parent.
  const own = targets.filter(({ parentId }) => parentId === undefined || !ids.has(parentId));
  const back = before === undefined ? own : own.filter(({ transcript }) => transcript !== undefined);
  return back.map(({ id }) => id);
}

async function forgetPatterns(patterns: readonly string[], config: Config, values: Flags): Promise<void> {
  const exclude = { sessions: [], projects: [], patterns: [...patterns] };
  const { hasText } = readExclusion(exclude);
  const options = readOptions(config, values, exclude);
  await confirmed((dryRun) => forgetText(hasText, { ...options, dryRun }), [], values);
}

function readOptions({ paths }: Config, values: Flags, exclude: Exclude): Omit<ForgetOptions, "dryRun"> {
  return { paths, cwd: process.cwd(), exclude: values["no-exclude"] ? undefined : exclude };
}

/** Shows what would be removed, asks, and removes it. */
async function confirmed(
  forget: (dryRun: boolean) => Promise<Forgotten>,
  targets: readonly Target[],
  values: Flags,
): Promise<void> {
  const isNothingIdle = values.before !== undefined && targets.length === 0;
  if (values["dry-run"] || isNothingIdle) {
    report(await forget(true), targets, values);
    return;
  }
  if (!values.yes) {
    const lines = forgottenLines(await forget(true), targets, { ...askedFor(values), dryRun: true });
    for (const line of lines) (values.json ? note : print)(line);
    await assertConfirmed();
  }
  report(await forget(false), targets, values);
}

function askedFor(values: Flags): Asked {
  return {
    dryRun: values["dry-run"],
    isExcluded: !values["no-exclude"],
    hasPattern: values.pattern !== undefined,
    hasTime: values.before !== undefined,
  };
}

async function assertConfirmed(): Promise<void> {
  if (await confirm("Forget this?")) return;
  throw new SessionMemoryError("NOT_CONFIRMED", "Cannot forget without a yes: nothing was changed", {
    hint: "add --yes",
  });
}

/** Removes entries from `exclude`. */
async function undo(what: string, { paths, env }: Config, values: Flags): Promise<void> {
  const project = projectEntry(projectPath(what, env), process.cwd());
  const dryRun = values["dry-run"];
  const undone = await undoExclusion(what, { paths, project, dryRun });
  if (values.json) printJson({ dryRun, undone });
  else {
    print(
      `${dryRun ? "would no longer exclude" : "no longer excluded"}: ${excludedParts(undone).join(", ")}`,
    );
    print("what the hosts still have of it is indexed again by the next run of embed or search");
  }
}

function nothingMatches({ project }: Flags): SessionMemoryError {
  const what = oneLine(redact(`project "${project}"`), 200);
  return new SessionMemoryError("NOT_FOUND", `Cannot forget ${what}: no stored data matches`, {
    hint: "to exclude it anyway, add it to exclude in config.json",
  });
}

function report(forgotten: Forgotten, targets: readonly Target[], values: Flags): void {
  const { removed, excluded, forks, erased, keptFiles, setAside } = forgotten;
  const isEmpty = values.pattern ? !isAnything(forgotten) : targets.length === 0;
  if (isEmpty) note("no stored data matches");
  if (values.json) {
    const sessions = targets.map(({ id, agent, name, transcript }) => ({
      id,
      agent,
      name,
      transcript,
    }));
    const dryRun = values["dry-run"];
    const transcripts = listTranscripts(targets);
    printJson({ dryRun, sessions, removed, keptFiles, setAside, excluded, forks, transcripts, erased });
    for (const remark of remarks(forgotten, targets, askedFor(values))) note(remark);
  } else for (const line of forgottenLines(forgotten, targets, askedFor(values))) print(line);
  if (!erased) throwUnerased();
}

function throwUnerased(): never {
  warn("removed, but the database's WAL still contains bytes of it");
  throw new SessionMemoryError("BUSY", "Cannot compact the index: another process is reading it", {
    recoverable: true,
    hint: "run the same command again",
  });
}

/** The options that affect the wording. */
interface Asked {
  dryRun: boolean;
  isExcluded: boolean;
  hasPattern: boolean;
  hasTime: boolean;
}

/** As many as fit on a screen beside the counts. */
const SHOWN_MAX = 10;
/** A session's name on one line with its id. */
const NAME_MAX = 60;

/** Returns the complete report. */
function forgottenLines(forgotten: Forgotten, targets: readonly Target[], asked: Asked): string[] {
  return [
    ...sessionLines(targets, asked.dryRun),
    ...removedLines(forgotten.removed),
    ...excludedLines(forgotten.excluded),
    ...remarks(forgotten, targets, asked),
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

/** Returns the transcripts that the hosts still have. */
function listTranscripts(targets: readonly Target[]): string[] {
  return targets.flatMap(({ transcript }) => (transcript === undefined ? [] : [transcript]));
}

function removedLines({ notes, reports, ...counts }: Forgotten["removed"]): string[] {
  const { chunks, vectors, cached, ledgers, observations, metaFiles, cursors, logLines, sharedChunks } =
    counts;
  return [
    `index: ${counted(chunks, "chunk")}, ${counted(vectors, "vector")}, ${cached} cached`,
    `observations: ${observations} in ${counted(ledgers, "ledger")}`,
    `meta files: ${metaFiles}; marks: ${cursors}; log lines: ${logLines}`,
    ...(sharedChunks > 0 ? [`shared by others: ${counted(sharedChunks, "chunk")}`] : []),
    `notes: ${notes.length}`,
    ...notes.map((file) => `- ${unbroken(file)}`),
    ...(reports.length > 0 ? [`reports: ${reports.length}`] : []),
    ...reports.map((file) => `- ${unbroken(file)}`),
  ];
}

function excludedLines(exclude: Exclude): string[] {
  const parts = excludedParts(exclude);
  return parts.length > 0 ? [`excluded from now on: ${parts.join(", ")} (exclude in config.json)`] : [];
}

/** Describes exclusions, one part per kind. */
function excludedParts({ sessions, projects, patterns }: Exclude): string[] {
  return [
    sessions.length > 0 ? counted(sessions.length, "session") : "",
    ...projects.map((project) => `project ${project}`),
    ...patterns.map((pattern) => `pattern ${pattern}`),
  ].filter(Boolean);
}

/** Returns remarks on what remains and what the user can do about it. */
function remarks(
  { forks, keptFiles, setAside }: Forgotten,
  targets: readonly Target[],
  asked: Asked,
): string[] {
  const transcripts = listTranscripts(targets);
  const lines: string[] = [];
  if (forks.length > 0) {
    lines.push(`forks that contain the same rows, forget them too: ${forks.join(", ")}`);
  }
  lines.push(...keptLines(keptFiles));
  if (setAside.length > 0) {
    const verb = asked.dryRun ? "would be deleted" : "deleted";
    lines.push(`damaged files that were set aside, ${verb}:`, ...listed(setAside));
  }
  if (transcripts.length > 0) {
    lines.push(`still there: ${counted(transcripts.length, "transcript")} of the hosts; delete with rm:`);
    lines.push(...transcripts.slice(0, SHOWN_MAX).map((file) => `- ${unbroken(file)}`));
    if (transcripts.length > SHOWN_MAX) lines.push(`- … ${transcripts.length - SHOWN_MAX} more`);
  }
  if (targets.some(({ agent, transcript }) => agent === "pi" && transcript !== undefined)) {
    lines.push("observations and updates that our extension wrote are in pi's own session files");
  }
  if (asked.hasPattern) lines.push("the hosts' transcripts still contain it");
  if (!asked.isExcluded && !asked.dryRun) lines.push("not excluded: the next indexing run reads it again");
  if (asked.hasTime && asked.isExcluded) {
    lines.push("only these sessions are excluded, one by one: a time cannot be excluded");
  }
  return lines;
}

function listed(files: readonly string[]): string[] {
  return files.map((file) => `- ${unbroken(file)}`);
}

function keptLines(files: readonly string[]): string[] {
  if (files.length === 0) return [];
  return ["not removed because they are not as we wrote them; delete them with rm:", ...listed(files)];
}

if (import.meta.main) await runScript({ usage: USAGE, flags: FLAGS, readsAnyVolute: true }, main);

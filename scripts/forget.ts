#!/usr/bin/env bun

/**
 * Removes a session, a project or a text from all stored data and excludes it from then on.
 *
 * The hosts' transcripts are never touched.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { findMarksFile } from "../lib/activity/look.ts";
import { forgetMarks } from "../lib/activity/marks.ts";
import { forgetTold } from "../lib/activity/seen.ts";
import { describeArchive, forgetCopies, removeArchive } from "../lib/archive/archive.ts";
import { updateCopies } from "../lib/archive/copies.ts";
import { SessionMemoryError } from "../lib/base/errors.ts";
import { counted, oneLine, unbroken } from "../lib/base/text.ts";
import {
  ANY_WORDS,
  confirm,
  each,
  filled,
  note,
  print,
  type Run,
  runScript,
  texts,
  time,
  toggle,
  usageError,
  warn,
} from "../lib/cli.ts";
import { currentPaths, type ExcludeSettings, expandPath, seeingExcluded } from "../lib/config/config.ts";
import {
  type ForgetOptions,
  type Forgotten,
  forgetTargets,
  forgetText,
  isAnything,
  prepareIndexes,
  readHeld,
  undoExclusion,
} from "../lib/forget/forget.ts";
import type { Forget } from "../lib/forget/stores.ts";
import { namedTargets, type Target, targetsWhere } from "../lib/forget/targets.ts";
import { refreshIndex } from "../lib/history/fresh-index.ts";
import { olderInstalls } from "../lib/index/former-index.ts";
import { forgetNotes } from "../lib/naming/note.ts";
import { forgetLedgers, ledgerFile } from "../lib/observe/ledger.ts";
import { forgetStanding } from "../lib/observe/standing-rules.ts";
import { forgetReports } from "../lib/report/html.ts";
import { storingHost } from "../lib/sessions/hosts.ts";
import { projectDirectories, projectKey, realDirectory } from "../lib/sessions/project.ts";
import { pulledSessions } from "../lib/sessions/pulled.ts";
import { asHeld } from "../lib/sessions/resolve.ts";
import { forgetPublished, readmitForgotten, withdrawForgotten } from "../lib/share/share-state.ts";
import { hasPromptsAlone } from "../lib/transcripts/files.ts";
import { fitting } from "../lib/transcripts/rules.ts";

const USAGE = `\
Usage: session-memory forget <session>… | --project <p> | --before <t> | --pattern <regex>…
       session-memory forget --archive | --undo <session|project|pattern>

Removes sessions, or whatever holds a text, from all that session-memory holds (index, names, observations,
notes, log) and excludes it from then on. Shows what would go and asks first. Transcripts are the hosts' and stay.
<session>: its id, the start of its id (4+), its exact name, its transcript's path, or "last".

Options:
  --project <p>      All sessions of a project: its directory, or its name
  --before <t>       All sessions that did nothing since: 2026-02-03, yesterday, 7d (with --project: of it)
  --pattern <regex>  Chunks, observations, names and notes that match (repeatable; case counts, but in file names)
  --archive          Every copy in the archive; set archive.enabled to false first, or they are made again
  --undo <what>      Take it out of "exclude" in config.json: the next indexing reads it again
  --dry-run          Show what would go; change nothing
  --yes              Do not ask; needed where there is no terminal
  --sessions <path>  Read this file or folder instead of the agents' own (repeatable)
  --json             One JSON document       --quiet  No remarks on stderr

Examples:
  session-memory forget discord --dry-run
  session-memory forget --project ~/code/secret
`;

const FLAGS = {
  ...each(filled, "project", "undo"),
  ...each(toggle, "archive", "dryRun", "yes"),
  before: time,
  pattern: texts,
};

type ForgetRun = Run<typeof FLAGS>;

/** Forgets in each room that holds something of a session. */
const ROOMS: readonly Forget[] = [
  forgetNotes,
  forgetReports,
  forgetLedgers,
  forgetStanding,
  forgetCopies,
  forgetMarks,
  forgetTold,
  forgetPublished,
];

async function main(run: ForgetRun): Promise<void> {
  const paths = seeingExcluded(run.paths);
  const asked = { ...run, paths, asking: { ...run.asking, paths } };
  const { values, words, settings } = asked;
  refuseContradictions(values, words);
  if (values.undo !== undefined) return await undo(values.undo, asked);
  if (values.archive) return await forgetArchive(asked);
  await prepareIndexes(paths, { settings, dryRun: values.dryRun });
  if (values.pattern) await forgetPatterns(values.pattern, asked);
  else await forgetSessions(asked);
}

function refuseContradictions(values: ForgetRun["values"], words: readonly string[]): void {
  const isRange = values.project !== undefined || values.before !== undefined;
  const { pattern, undo } = values;
  const named = [words.length > 0, isRange, pattern !== undefined, undo !== undefined, values.archive];
  const ways = named.filter(Boolean).length;
  if (ways === 0) throw usageError("Expected what to forget", "name a session, or see --help");
  if (ways > 1) {
    throw usageError(
      "Cannot combine sessions, --project or --before, --pattern, --archive and --undo",
      "forget one after the other",
    );
  }
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

async function forgetSessions(asked: ForgetRun): Promise<void> {
  const { words, values, paths } = asked;
  const { before } = values;
  // no transcript of another's is anybody's here: only its copy can go
  const theirs = values.before === undefined ? pulledSessions(paths, { excluded: true }) : [];
  const shared = theirs.map((session) => asHeld({ ...session, size: 0 }));
  const filesOf = (id: string) => [ledgerFile(paths, id), findMarksFile(paths.cursors, id).path];
  const hasFile = (id: string) => filesOf(id).some((file) => existsSync(file));
  const options = { ...asked.asking, held: [...readHeld(paths), ...shared], hasFile };
  const project = values.project && projectEntry(projectPath(values.project, asked), asked.cwd);
  const targets =
    words.length > 0 ? namedTargets(words, options) : targetsWhere({ project, before }, options);
  if (targets.length === 0 && before === undefined) {
    const what = oneLine(`project "${values.project}"`, 200);
    throw new SessionMemoryError("NOT_FOUND", `Cannot forget ${what}: no stored data matches`, {
      hint: "to exclude it anyway, add it to exclude in config.json",
    });
  }
  const places = project && !before ? [project] : [];
  const exclude = { sessions: excludedByName(targets, project, asked), projects: places, patterns: [] };
  const forgetting = { ...forgetOptions(asked, exclude), places };
  await confirmed((dryRun) => forgetTargets(targets, { ...forgetting, dryRun }), targets, asked);
}

/** Returns the entry of `exclude.projects` for a project as the user named it. */
function projectEntry(project: string, cwd: string): string {
  if (!/[/\\]|^\.\.?$/.test(project)) return project;
  const directory = realDirectory(project.startsWith(".") ? `${cwd}/${project}` : project);
  // The top of a repository means all its worktrees, a folder inside one only itself.
  return projectDirectories(directory).includes(directory) ? projectKey(directory) : directory;
}

/** Expands `~`; a plain name stays a name. */
function projectPath(project: string, { env, cwd }: ForgetRun): string {
  return project.startsWith("~") ? expandPath(project, env, cwd) : project;
}

/**
 * Returns the sessions to exclude by id: of a project, which is excluded itself, the ones that only its origin tells, on other
 * machines; of old sessions only the ones that a host still has.
 */
function excludedByName(
  targets: readonly Target[],
  project: string | undefined,
  { values: { before }, paths }: ForgetRun,
): string[] {
  if (project !== undefined && before === undefined) {
    const fits = fitting(project, paths);
    const isKeptOut = ({ id, cwd }: Target) => fits({ id, cwd, project: cwd && projectKey(cwd) });
    return targets.filter((target) => !isKeptOut(target)).map(({ id }) => id);
  }
  const ids = new Set(targets.map(({ id }) => id));
  // A subagent is excluded together with its parent.
  const own = targets.filter(({ parentId }) => parentId === undefined || !ids.has(parentId));
  const back = before === undefined ? own : own.filter((target) => hostTranscript(target) !== undefined);
  return back.map(({ id }) => id);
}

/** Returns the transcript that the host still has. */
function hostTranscript({ file, archived }: Target): string | undefined {
  return archived ? undefined : file;
}

async function forgetPatterns(patterns: readonly string[], asked: ForgetRun): Promise<void> {
  const exclude = { sessions: [], projects: [], patterns: [...patterns] };
  const fits = (flags: string) => {
    const tests = patterns.map((pattern) => new RegExp(pattern, flags));
    return (text: string) => tests.some((pattern) => pattern.test(text));
  };
  const forgetting = { hasText: fits("u"), hasName: fits("iu") };
  const options = forgetOptions(asked, exclude);
  await confirmed((dryRun) => forgetText(forgetting, { ...options, dryRun }), [], asked);
}

function forgetOptions(
  { paths, cwd, ...config }: ForgetRun,
  exclude: ExcludeSettings,
): Omit<ForgetOptions, "dryRun"> {
  const refresh = async () => {
    const reading = currentPaths({ ...paths, rules: config.settings });
    const settings = { ...config.settings, exclude: reading.rules.exclude };
    await updateCopies(reading);
    await refreshIndex({ ...config, cwd, settings, paths: reading });
  };
  const withdraw: ForgetOptions["withdraw"] = (sessions) => withdrawForgotten(paths, sessions);
  return { paths, cwd, refresh, exclude, rooms: ROOMS, withdraw };
}

/** Shows what would be removed, asks, and removes it. */
async function confirmed(
  forget: (dryRun: boolean) => Promise<Forgotten>,
  targets: readonly Target[],
  { paths, values, show }: ForgetRun,
): Promise<void> {
  const older = olderInstalls(paths).map(
    (folder) => `an older session-memory brings rows of it back: ${folder}`,
  );
  const left = [...leftLines(targets, values), ...older]; // their copies say whose they are
  const isNothingIdle = values.before !== undefined && targets.length === 0;
  const dryRun = values.dryRun || isNothingIdle;
  const lines = async () => [
    ...forgottenLines(await forget(true), targets, { ...values, dryRun: true }),
    ...left,
  ];
  if (!dryRun) await ask(values, lines);
  const forgotten = await forget(dryRun);
  if (values.pattern ? !isAnything(forgotten) : targets.length === 0) note("no stored data matches");
  const { erased, ...found } = forgotten;
  const sessions = targets.map((target) => {
    const { id, agent, name } = target;
    return { id, agent, name, transcript: hostTranscript(target) };
  });
  show({ dryRun: values.dryRun, sessions, ...found, transcripts: listTranscripts(targets), erased }, [
    ...forgottenLines(forgotten, targets, values),
    ...left,
  ]);
  if (erased) return;
  warn("removed, but the database's WAL still contains bytes of it");
  throw new SessionMemoryError("BUSY", "Cannot compact the index: another process is reading it", {
    recoverable: true,
    hint: "run the same command again",
  });
}

/** Removes the whole archive. */
async function forgetArchive({ paths, values, show }: ForgetRun): Promise<void> {
  const { copies, alone, bytes } = describeArchive(paths);
  const size = `${(bytes / BYTES_PER_MB).toFixed(1)} MB`;
  const what = `the archive: ${counted(copies, "copy", "copies")}, ${size}, ${alone} of a session that lives only there`;
  const result = { dryRun: values.dryRun, copies, bytes, alone };
  if (!values.dryRun) await ask(values, () => [`would forget ${what}`]);
  if (!values.dryRun) removeArchive(paths);
  show(result, [`${values.dryRun ? "would forget" : "forgot"} ${what}`]);
}

const BYTES_PER_MB = 1024 * 1024;

/**
 * Shows what would go, and asks, unless --yes says so already.
 *
 * @throws {SessionMemoryError} `NOT_CONFIRMED` without a yes.
 */
async function ask(
  { yes, json }: ForgetRun["values"],
  lines: () => string[] | Promise<string[]>,
): Promise<void> {
  if (yes) return;
  for (const line of await lines()) (json ? note : print)(line);
  if (await confirm("Forget this?")) return;
  const message = "Cannot forget without a yes: nothing was changed";
  throw new SessionMemoryError("NOT_CONFIRMED", message, { hint: "add --yes" });
}

/** Removes entries from `exclude`. */
async function undo(what: string, asked: ForgetRun): Promise<void> {
  const { paths, cwd, values, show } = asked;
  const project = projectEntry(projectPath(what, asked), cwd);
  const dryRun = values.dryRun;
  const undone = await undoExclusion(what, {
    paths,
    project,
    dryRun,
    readmit: (entries) => readmitForgotten(paths, entries),
  });
  const parts = excludedParts(undone).join(", ");
  show({ dryRun, undone }, [
    `${dryRun ? "would no longer exclude" : "no longer excluded"}: ${parts}`,
    "what the hosts still have of it is indexed again by the next run of embed or search",
  ]);
}

/** The most that fit on a screen beside the counts. */
const SHOWN_MAX = 10;
/** A session's name on one line with its id. */
const NAME_MAX = 60;

/** Returns what was or would be removed, what remains, and what the user can do about it. */
function forgottenLines(
  forgotten: Forgotten,
  targets: readonly Target[],
  values: ForgetRun["values"],
): string[] {
  const called = targets.map(({ id, agent, name }) => {
    const title = name === undefined ? "" : ` "${oneLine(name, NAME_MAX)}"`;
    return `${oneLine(id, 255)}${title}${agent === undefined ? "" : ` (${agent})`}`;
  });
  const what = values.pattern ? "what matches" : counted(targets.length, "session");
  const alone = targets.filter(({ archived }) => archived).length;
  const lost = `no transcript is left of ${counted(alone, "session")}, only our copy: --undo brings nothing of it back`;
  return [
    `${values.dryRun ? "would forget" : "forgot"} ${what}`,
    ...dashed(called, SHOWN_MAX),
    ...when(alone > 0 && !values.pattern, lost),
    ...removedLines(forgotten, values),
  ];
}

function when(holds: boolean, line: string): string[] {
  return holds ? [line] : [];
}

function removedLines(
  { removed, excluded, forks, keptFiles, setAside }: Forgotten,
  { dryRun }: Pick<ForgetRun["values"], "dryRun">,
): string[] {
  const from = excludedParts(excluded);
  return [
    `index: ${counted(removed.chunks, "chunk")}, ${counted(removed.vectors, "vector")}`,
    `observations: ${removed.observations} in ${counted(removed.ledgers, "ledger")}`,
    ...when(removed.rules > 0, `standing rules: ${removed.rules}`),
    ...when(removed.copies > 0, `archive: ${counted(removed.copies, "copy", "copies")}`),
    `meta files: ${removed.metaFiles}; marks: ${removed.cursors}; log lines: ${removed.logLines}`,
    ...when(removed.sharedChunks > 0, `shared by others: ${counted(removed.sharedChunks, "chunk")}`),
    `notes: ${removed.notes.length}`,
    ...dashed(removed.notes),
    ...titledList(`reports: ${removed.reports.length}`, removed.reports),
    ...when(from.length > 0, `excluded from now on: ${from.join(", ")} (exclude in config.json)`),
    ...when(forks.length > 0, `forks and copies of it, left with the rows of their own: ${forks.join(", ")}`),
    ...titledList("not removed because they are not as we wrote them; delete them with rm:", keptFiles),
    ...titledList(`files that cannot be read here, ${dryRun ? "would be deleted" : "deleted"}:`, setAside),
  ];
}

/** Returns what the hosts still have of it. */
function leftLines(targets: readonly Target[], { pattern }: Pick<ForgetRun["values"], "pattern">): string[] {
  const transcripts = listTranscripts(targets);
  const stores = storingHosts(targets);
  const left = `still there: ${counted(transcripts.length, "transcript")} of the hosts; delete with rm:`;
  const stored = `still there, to be deleted with the host: what ${stores.join(", ")} keeps of them`;
  const isPrompts = targets.some(({ file }) => file !== undefined && hasPromptsAlone(file));
  return [
    ...titledList(left, transcripts, SHOWN_MAX),
    ...when(stores.length > 0, stored),
    ...when(pattern !== undefined, "the hosts' transcripts still contain it"),
    ...when(isPrompts, "the host's file of all prompts still contains theirs"),
  ];
}

/** Returns the transcripts that the hosts still have; copies of ours do not count. */
function listTranscripts(targets: readonly Target[]): string[] {
  return targets.flatMap((target) => (storingHost(target.agent) ? [] : (hostTranscript(target) ?? [])));
}

/** Returns the hosts that keep sessions of these in stores of their own. */
function storingHosts(targets: readonly Target[]): string[] {
  const there = targets.filter((target) => hostTranscript(target) !== undefined);
  return [...new Set(there.flatMap((target) => storingHost(target.agent) ?? []))];
}

/** Describes exclusions, one part per kind. */
function excludedParts({ sessions, projects, patterns }: ExcludeSettings): string[] {
  return [
    ...(sessions.length > 0 ? [counted(sessions.length, "session")] : []),
    ...projects.map((project) => `project ${project}`),
    ...patterns.map((pattern) => `pattern ${pattern}`),
  ];
}

/** Returns nothing if there is nothing to list. */
function titledList(title: string, items: readonly string[], max?: number): string[] {
  return items.length === 0 ? [] : [title, ...dashed(items, max)];
}

function dashed(items: readonly string[], max = Number.POSITIVE_INFINITY): string[] {
  const more = items.length > max ? [`- … ${items.length - max} more`] : [];
  return [...items.slice(0, max).map((item) => `- ${unbroken(item)}`), ...more];
}

if (import.meta.main)
  await runScript({ usage: USAGE, flags: FLAGS, words: ANY_WORDS, readsAnyVolute: true }, main);

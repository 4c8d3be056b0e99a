#!/usr/bin/env bun

/**
 * Makes past conversation searchable: by words always, by meaning where config.json names an embedder.
 *
 * Nothing is sent anywhere unless config.json has an embedding (or, for --topics, an llm) block. What only some runs
 * need is loaded by those: most runs are started by a hook and find nothing changed.
 *
 * @module
 */

import { describeError } from "../lib/base/errors.ts";
import { logEvent } from "../lib/base/output.ts";
import { counted, unbroken } from "../lib/base/text.ts";
import {
  note,
  print,
  printJson,
  type Run,
  runScript,
  startProgress,
  stopSignal,
  timeFlag,
  usageError,
  warn,
} from "../lib/cli.ts";
import type { Config } from "../lib/config/config.ts";
import { ensureIndex, openIndex, readStatuses, type SessionStatus } from "../lib/index/freshness.ts";
import { embedSessions, findFailure, type RunOptions, type RunReport } from "../lib/index/index-run.ts";
import { listSessions, unlistedTranscripts } from "../lib/sessions/sessions.ts";
import { withExistingStore } from "../lib/store/store.ts";
import type { Session } from "../lib/transcripts/session.ts";

const USAGE = `\
Usage: session-memory embed [options]

Indexes conversation for search: chunks and full text, and vectors where config.json has an embedding block.

Options:
      --new              New and grown sessions only (default)
      --all              Everything again, compared in full; what was paid for is kept
      --session <s>      This session only: id, name, last, or a path (repeatable)
      --since <time>     Only transcripts changed since: 2026-02-03, yesterday, 7d
      --no-vectors       Full text only
      --topics           Topics by the model in place of those by rule
      --prune            Forget sessions whose transcript is gone
      --status           What is indexed, per session
      --validate-only    Check the transcripts; change nothing
      --dry-run          What would be sent and its price, by these flags; send and change nothing
      --sessions <path>  Transcripts in place of the agents' own (repeatable)
      --json             One JSON document
      --quiet            No progress and warnings
  -h, --help             Show this help

Examples:
  session-memory embed
  session-memory embed --dry-run --json
`;

export { embedSessions };

const OFF = { type: "boolean", default: false } as const;
const SCRIPT = {
  usage: USAGE,
  flags: {
    new: OFF,
    all: OFF,
    session: { type: "string", multiple: true },
    since: { type: "string" },
    "no-vectors": OFF,
    topics: OFF,
    prune: OFF,
    status: OFF,
    "validate-only": OFF,
    "dry-run": OFF,
  },
  words: { max: 0 },
} as const;

type Flags = Run<typeof SCRIPT.flags>["values"];

async function main({ values, config }: Run<typeof SCRIPT.flags>): Promise<void> {
  refuseContradictions(values);
  if (values.status) return await showStatus(config, values);
  const sessions = await chooseSessions(config, values);
  if (values["validate-only"]) await validate(sessions, values);
  else if (values["dry-run"]) await showPlan(config, sessions, values);
  else await run(config, sessions, values);
}

function refuseContradictions(values: Flags): void {
  if (values.new && values.all) throw usageError("Cannot use --new together with --all", "give one of them");
  const modes = (["status", "validate-only", "dry-run"] as const).filter((mode) => values[mode]);
  if (modes.length > 1)
    throw usageError(`Cannot use --${modes.join(" together with --")}`, "give one of them");
}

/** Oldest first: a fork's copies come after what they were copied from. */
async function chooseSessions({ paths, settings, currentSession }: Config, flags: Flags): Promise<Session[]> {
  const context = { paths, cwd: process.cwd(), current: currentSession, subagents: true, remark: note };
  if (flags.session) {
    const { resolveSession } = await import("../lib/sessions/resolve.ts");
    return flags.session.map((reference) => resolveSession(reference, context));
  }
  const since = flags.since === undefined ? undefined : timeFlag("--since", flags.since, settings.timezone);
  const listed = listSessions(paths, { subagents: true, excluded: true, cwd: process.cwd() }).filter(
    ({ modifiedAt }) => since === undefined || Date.parse(modifiedAt) > since.getTime(),
  );
  const others = unlistedTranscripts(paths, listed);
  return [...others, ...listed.reverse()];
}

function runOptions(config: Config, sessions: readonly Session[], flags: Flags): Omit<RunOptions, "store"> {
  return {
    config,
    sessions,
    isComplete: !flags.session && flags.since === undefined,
    all: flags.all,
    vectors: !flags["no-vectors"],
    topics: flags.topics,
    prune: flags.prune,
    signal: stopSignal(),
    progress: startProgress,
    onWarning: warn,
  };
}

async function run(config: Config, sessions: readonly Session[], flags: Flags): Promise<void> {
  const { paths } = config;
  const store = await openIndex(paths.database, config.settings);
  try {
    const report = await embedSessions({ ...runOptions(config, sessions, flags), store });
    await showReport(report, flags);
    const failure = findFailure(report);
    if (failure) throw failure;
    const { vectors } = report;
    if (typeof vectors === "object" && vectors.stopped)
      warn(`${counted(vectors.left, "chunk")} left for later: ${vectors.stopped.message}`);
    if (report.sessions > 0) logEvent(paths.log, { event: "embed", ok: true, ...readCounts(report) });
  } catch (error) {
    const { redact } = await import("../lib/redact/redact.ts");
    logEvent(paths.log, { event: "embed", ok: false, error: redact(describeError(error)) });
    throw error;
  } finally {
    store.close();
  }
}

function readCounts({ sessions, chunks, newChunks, tookMs }: RunReport): object {
  return { sessions, chunks, newChunks, tookMs: Math.round(tookMs) };
}

async function showReport(report: RunReport, { json, quiet }: Flags): Promise<void> {
  warnOfFiles(report);
  if (json) {
    printJson({ ...report, vectors: toJson(report.vectors), topics: report.topics && toJson(report.topics) });
    return;
  }
  if (report.left > 0) note(`stopped: ${counted(report.left, "session")} left for the next run`);
  if (report.gone > 0 && !quiet)
    note(`source gone: ${counted(report.gone, "session")}, still searchable (--prune forgets them)`);
  if (report.pruned > 0) print(`pruned ${counted(report.pruned, "session")}`);
  if (report.topics) print(`topics: ${await describeTopics(report.topics)}`);
  print(`semantic vectors: ${await describeVectors(report.vectors)}`);
  print(
    `indexed ${counted(report.sessions, "session")}, ${counted(report.chunks, "chunk")} (${report.newChunks} new), ` +
      `${counted(report.skippedLines, "skipped line")}, ${report.quarantined.length} quarantined, ` +
      `${(report.tookMs / 1000).toFixed(1)} s`,
  );
}

function warnOfFiles({ quarantined, failed }: RunReport): void {
  const [first, ...others] = quarantined;
  if (first && others.length === 0) warn(`quarantined ${unbroken(first.file)}: ${first.reason}`);
  else if (first)
    warn(
      `quarantined ${quarantined.length} transcripts, the first ${unbroken(first.file)}: ${first.reason} (session-memory embed --status shows all)`,
    );
  for (const { file, reason } of failed) warn(`cannot read ${unbroken(file)}: ${reason}`);
}

async function describeVectors(vectors: RunReport["vectors"]): Promise<string> {
  if (typeof vectors === "string") return vectors;
  const { embedded, reused, left } = vectors;
  return `${embedded} made (${reused} paid for before)${left > 0 ? `, ${left} left for later` : ""}${await paid(vectors)}`;
}

async function describeTopics(topics: NonNullable<RunReport["topics"]>): Promise<string> {
  return typeof topics === "string" ? topics : `${counted(topics.refined, "chunk")}${await paid(topics)}`;
}

async function paid({ usd, tokens }: { usd: number | null; tokens: number }): Promise<string> {
  if (tokens === 0) return "";
  const { formatCost } = await import("../lib/model/spend.ts");
  return ` · ${formatCost(usd, tokens)}`;
}

function toJson(part: RunReport["vectors"] | NonNullable<RunReport["topics"]>): unknown {
  if (typeof part === "string") return { state: part };
  const { stopped, ...rest } = part;
  return { state: "on", ...rest, ...(stopped ? { error: `${stopped.type}: ${stopped.message}` } : {}) };
}

async function showStatus({ paths, settings }: Config, { json }: Flags): Promise<void> {
  await ensureIndex(paths.database, settings);
  const statuses = withExistingStore(paths.database, readStatuses) ?? [];
  if (json) {
    printJson({ sessions: statuses });
    return;
  }
  for (const status of statuses) print(statusLine(status));
  const chunks = statuses.reduce((sum, status) => sum + status.chunks, 0);
  note(`${counted(statuses.length, "session")}, ${counted(chunks, "chunk")}`);
}

function statusLine({ id, agent, name, status, chunks, vectors, sourceGone, error }: SessionStatus): string {
  const remarks = [sourceGone ? "source gone" : "", error ?? ""]
    .filter(Boolean)
    .map((remark) => ` · ${remark}`);
  return `${status} ${unbroken(id)} · ${agent}${name ? ` · ${name}` : ""} · ${counted(chunks, "chunk")}, ${counted(vectors, "vector")}${remarks.join("")}`;
}

async function validate(sessions: readonly Session[], { json }: Flags): Promise<void> {
  const { validateSessionFile } = await import("../lib/transcripts/head.ts");
  const files = sessions.map(({ file }) => ({ file, ...validateSessionFile(file) }));
  if (json) {
    printJson({ files });
    return;
  }
  for (const { file, valid, errors, warnings } of files) {
    const reasons = [...errors, ...warnings].map((text) => `\n  ${text}`).join("");
    print(`${valid ? "valid" : "invalid"} ${unbroken(file)}${reasons}`);
  }
  note(`${files.filter(({ valid }) => valid).length} of ${counted(files.length, "file")} valid`);
}

async function showPlan(config: Config, sessions: readonly Session[], flags: Flags): Promise<void> {
  await ensureIndex(config.paths.database, config.settings);
  const { planRun } = await import("../lib/index/index-run.ts");
  const planned = await planRun(runOptions(config, sessions, flags));
  if (flags.json) {
    const [first = NOTHING, ...more] = planned.map(({ what: _, text: __, ...rest }) => rest);
    printJson(more[0] ? { ...first, topics: more[0] } : first);
    return;
  }
  if (planned.length === 0) print("nothing would be sent: no embedding in config.json");
  for (const { what, sessions, chunks, text } of planned)
    print(`${what}: ${counted(sessions, "session")}, ${counted(chunks, "chunk")} would be sent to ${text}`);
}

const NOTHING = { sessions: 0, chunks: 0, tokens: 0, host: null, usd: 0 };

if (import.meta.main) await runScript(SCRIPT, main);

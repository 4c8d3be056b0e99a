#!/usr/bin/env bun

/**
 * Makes past conversation searchable: by words always, by meaning where config.json names an embedder.
 *
 * Nothing is sent anywhere unless config.json has an embedding (or, for --topics, an llm) block.
 *
 * @module
 */

import { updateArchive } from "../lib/archive/archive.ts";
import { describeError } from "../lib/base/errors.ts";
import { counted, unbroken } from "../lib/base/text.ts";
import {
  each,
  note,
  type Run,
  refuseTogether,
  runScript,
  startProgress,
  stopSignal,
  texts,
  time,
  toggle,
  warn,
} from "../lib/cli.ts";
import type { Config } from "../lib/config/config.ts";
import type { Session } from "../lib/hosts/session.ts";
import { ensureIndex, withIndex } from "../lib/index/freshness.ts";
import {
  embedSessions,
  findFailure,
  planRun,
  type RunOptions,
  type RunReport,
} from "../lib/index/index-run.ts";
import { readStatuses, type SessionStatus } from "../lib/index/index-state.ts";
import { formatCost } from "../lib/model/spend.ts";
import { resolveSession } from "../lib/sessions/resolve.ts";
import { byLastRow, listSessions, unlistedTranscripts, visibleAmong } from "../lib/sessions/sessions.ts";
import { withExistingStore } from "../lib/store/store.ts";
import { log } from "../lib/transcripts/event-log.ts";
import { placeOnDisk } from "../lib/transcripts/files.ts";
import { validateSessionFile } from "../lib/transcripts/head.ts";

const USAGE = `\
Usage: session-memory embed [options]

Indexes conversation for search: chunks and full text, and vectors where config.json has an embedding block.

Options:
      --new              New and grown sessions only (default)
      --all              Index everything again; what was paid for is reused
      --session <s>      This session only: id, name, last, or a path (repeatable)
      --since <time>     Only sessions with a row since: 2026-02-03, yesterday, 7d
      --no-vectors       Full text only
      --topics           Topics by the model in place of the map of keywords
      --prune            Forget sessions whose transcript is gone
      --status           What is indexed, per session
      --validate-only    Check the transcripts; change nothing
      --dry-run          What would be sent and its price, by these flags; send and change nothing
      --sessions <path>  Transcripts in place of the agents' own (repeatable)
      --json             One JSON document       --quiet  No progress and warnings

Examples:
  session-memory embed
  session-memory embed --dry-run --json
`;

export { embedSessions };

const SCRIPT = {
  usage: USAGE,
  flags: {
    ...each(toggle, "new", "all", "noVectors", "topics", "prune", "status", "validateOnly", "dryRun"),
    since: time,
    session: texts,
  },
} as const;

type EmbedRun = Run<typeof SCRIPT.flags>;

async function main(asked: EmbedRun): Promise<void> {
  const { values } = asked;
  refuseTogether(values, "new", "all");
  refuseTogether(values, "status", "validateOnly", "dryRun");
  const isComplete = !values.session && values.since === undefined;
  if (values.status && isComplete) return showStatus(asked);
  const { sessions, listed } = chooseSessions(asked);
  if (values.status) return showStatus(asked, listed);
  if (values.validateOnly) return validate(visibleAmong(sessions, asked.paths), asked);
  const options = {
    config: asked,
    sessions,
    signal: stopSignal(),
    progress: startProgress,
    onWarning: warn,
    isComplete,
    all: values.all,
    vectors: !values.noVectors,
    topics: values.topics,
    prune: values.prune,
  };
  if (values.dryRun) await showPlan(options, asked);
  else await run(options, { ...asked, listed });
}

/** The indexed sessions, oldest first since a fork's copies come after their originals, and the listed ones. */
interface Chosen {
  sessions: Session[];
  listed: Session[];
}

function chooseSessions({ values, paths, cwd, asking }: EmbedRun): Chosen {
  const { since } = values;
  if (values.session) {
    const sessions = values.session.map((reference) =>
      resolveSession(reference, { ...asking, subagents: true }),
    );
    return { sessions, listed: sessions };
  }
  const options = { subagents: true, excluded: true, cwd };
  const listed = since
    ? [...byLastRow(paths, options)].filter(({ updatedAt }) => updatedAt >= since.toISOString())
    : listSessions(paths, options);
  const others = unlistedTranscripts(paths, listed);
  return { sessions: [...others, ...listed.toReversed()], listed };
}

/** Copies what has been idle for a day; a late copy is not a failure of indexing. */
async function archive(
  { paths, settings, listed }: Config & Pick<Chosen, "listed">,
  signal: AbortSignal | undefined,
): Promise<void> {
  const rest = async () => {
    await new Promise((resolve) => setImmediate(resolve)); // a signal gets its turn
    signal?.throwIfAborted();
  };
  try {
    await updateArchive({ paths, settings, listed, rest, isOver: () => signal?.aborted === true });
  } catch (error) {
    warn(`not archived: ${describeError(error)}`);
  }
}

async function run(
  options: Omit<RunOptions, "store">,
  asked: EmbedRun & Pick<Chosen, "listed">,
): Promise<void> {
  const { paths } = asked;
  try {
    const started = new Date().toISOString();
    const report = await withIndex(asked, async (store) => {
      const report = await embedSessions({ ...options, store });
      // most runs find nothing new, and what reads rules is half of the program
      if (report.newChunks > 0)
        await (await import("../lib/observe/observe-session.ts")).keepFound(store, {
          ...asked,
          since: started,
        });
      return report;
    });
    remarkOn(report, asked.values);
    const { sessions, chunks, newChunks, tookMs, vectors, topics } = report;
    asked.show(
      { ...report, vectors: toJson(vectors), topics: topics && toJson(topics) },
      reportLines(report),
    );
    const failure = findFailure(report);
    if (failure) throw failure;
    if (typeof vectors === "object" && vectors.stopped)
      warn(`${counted(vectors.left, "chunk")} left for later: ${vectors.stopped.message}`);
    const counts = { sessions, chunks, newChunks, tookMs: Math.round(tookMs) };
    if (sessions > 0) log(paths.log, { event: "embed", ok: true, ...counts }, asked.rules);
    if (options.isComplete) await archive(asked, options.signal);
  } catch (error) {
    log(paths.log, { event: "embed", ok: false, error: describeError(error) }, asked.rules);
    throw error;
  }
}

/** Tells what could not be read, and what is left. */
function remarkOn({ quarantined, failed, left, gone }: RunReport, { json }: EmbedRun["values"]): void {
  const [first, ...others] = quarantined;
  const more = others.length > 0 ? ` (and ${others.length} more: session-memory embed --status)` : "";
  if (first) warn(`quarantined ${unbroken(first.file)}: ${first.reason}${more}`);
  for (const { file, reason } of failed) warn(`cannot read ${unbroken(file)}: ${reason}`);
  if (json) return;
  if (left > 0) note(`stopped: ${counted(left, "session")} left for the next run`);
  if (gone > 0) note(`transcript gone: ${counted(gone, "session")}, still searchable (--prune forgets them)`);
}

function reportLines(report: RunReport): string[] {
  const { vectors, topics, pruned } = report;
  const made =
    typeof vectors === "string"
      ? vectors
      : `${vectors.embedded} made (${vectors.reused} paid for before)${vectors.left > 0 ? `, ${vectors.left} left for later` : ""}${paid(vectors)}`;
  const refined = typeof topics === "object" ? `${counted(topics.refined, "chunk")}${paid(topics)}` : topics;
  return [
    ...(pruned > 0 ? [`pruned ${counted(pruned, "session")}`] : []),
    ...(refined === undefined ? [] : [`topics: ${refined}`]),
    `semantic vectors: ${made}`,
    `indexed ${counted(report.sessions, "session")}, ${counted(report.chunks, "chunk")} (${report.newChunks} new), ` +
      `${counted(report.skippedLines, "skipped line")}, ${report.quarantined.length} quarantined, ` +
      `${(report.tookMs / 1000).toFixed(1)} s`,
  ];
}

function paid({ usd, tokens }: { usd: number | null; tokens: number }): string {
  return tokens === 0 ? "" : ` · ${formatCost(usd, tokens)}`;
}

function toJson(part: RunReport["vectors"] | NonNullable<RunReport["topics"]>): unknown {
  if (typeof part === "string") return { state: part };
  const { stopped, ...rest } = part;
  return { state: "on", ...rest, ...(stopped ? { error: `${stopped.type}: ${stopped.message}` } : {}) };
}

function showStatus({ paths, settings, values, show }: EmbedRun, of?: Session[]): void {
  ensureIndex(paths.database, settings);
  const wanted = of && new Set(of.map(({ file }) => placeOnDisk(file)));
  const statuses = withExistingStore(paths.database, readStatuses) ?? [];
  const sessions = statuses.filter(({ file }) => wanted?.has(file) ?? true);
  show({ sessions }, sessions.map(statusLine));
  const chunks = sessions.reduce((sum, status) => sum + status.chunks, 0);
  if (!values.json) note(`${counted(sessions.length, "session")}, ${counted(chunks, "chunk")}`);
}

function statusLine({ id, agent, name, status, chunks, vectors, sourceGone, error }: SessionStatus): string {
  const size = `${counted(chunks, "chunk")}, ${counted(vectors, "vector")}`;
  const parts = [`${status} ${unbroken(id)}`, agent, name, size, sourceGone && "transcript gone", error];
  return parts.filter(Boolean).join(" · ");
}

function validate(sessions: readonly Session[], { values, show }: EmbedRun): void {
  const files = sessions.map(({ file }) => ({ file: placeOnDisk(file), ...validateSessionFile(file) }));
  const lines = files.map(({ file, valid, errors, warnings }) =>
    [`${valid ? "valid" : "invalid"} ${unbroken(file)}`, ...errors, ...warnings].join("\n  "),
  );
  show({ files }, lines);
  const valid = files.filter((file) => file.valid).length;
  if (!values.json) note(`${valid} of ${counted(files.length, "file")} valid`);
}

async function showPlan(
  options: Omit<RunOptions, "store">,
  { paths, settings, show }: EmbedRun,
): Promise<void> {
  ensureIndex(paths.database, settings);
  const planned = await planRun(options);
  const [first = NOTHING, topics] = planned.map(({ what: _, text: __, ...rest }) => rest);
  const lines = planned.map(
    ({ what, sessions, chunks, text }) =>
      `${what}: ${counted(sessions, "session")}, ${counted(chunks, "chunk")} would be sent to ${text}`,
  );
  show(
    topics ? { ...first, topics } : first,
    lines.length > 0 ? lines : ["nothing would be sent: no embedding in config.json"],
  );
}

const NOTHING = { sessions: 0, chunks: 0, tokens: 0, host: null, usd: 0 };

if (import.meta.main) await runScript(SCRIPT, main);

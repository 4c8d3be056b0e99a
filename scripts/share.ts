#!/usr/bin/env bun
/**
 * Shares sessions between machines and people through a PostgreSQL hub: publishes yours, pulls the others'.
 *
 * Nothing is sent unless config.json has a share block, and only of the projects that it names.
 *
 * @module
 */

import { counted } from "../lib/base/text.ts";
import {
  each,
  note,
  type Run,
  refuseTogether,
  runScript,
  startProgress,
  stopSignal,
  text,
  toggle,
  usageError,
} from "../lib/cli.ts";
import type { Config } from "../lib/config/config.ts";
import { withIndex } from "../lib/index/freshness.ts";
import { catchUp } from "../lib/index/indexing.ts";
import { listSessions } from "../lib/sessions/sessions.ts";
import { initHub, initSql } from "../lib/share/hub-schema.ts";
import {
  leaveHub,
  type PublishPreview,
  previewPublish,
  requireShare,
  type ShareReport,
  type ShareStatus,
  shareConfig,
  shareInBackground,
  shareOnce,
  shareStatus,
} from "../lib/share/share.ts";
import { ownMachine } from "../lib/share/share-state.ts";

const USAGE = `\
Usage: session-memory share [--publish | --pull] [options]

Sends the sessions of the projects that "share" in config.json names to a PostgreSQL hub, and reads what others share
as copies, which search reads beside your own index. The hub's URL comes from SESSION_MEMORY_HUB_URL.

Options:
      --publish      Send only (default: send and read)
      --pull         Read only
      --dry-run      What would be sent: sessions, chunks, bytes, sample lines; send nothing
      --status       What is sent where, and how far behind; asks nobody
      --leave        Take all that this machine sent from the hub, delete what was read, and stop
      --init <role>  Make or migrate the hub's tables for this role and its members, by the URL in
                     SESSION_MEMORY_HUB_ADMIN_URL (with --dry-run: print the SQL)
      --json         One JSON document       --quiet  No progress and remarks

Examples:
  session-memory share --dry-run
  session-memory share --status --json
`;

export { shareInBackground, shareOnce, shareStatus };

const NO_PROJECT = "config.json names no project";
const NOTHING_SHARED: ShareStatus = {
  hub: null,
  machine: ownMachine({}),
  projects: [],
  lastPublish: null,
  lastPull: null,
};

/** The index is brought up to date first, for at most this long. */
const INDEX_MS = 60_000;

const SCRIPT = {
  usage: USAGE,
  flags: { ...each(toggle, "publish", "pull", "status", "dryRun", "leave"), init: text },
} as const;

type Sharing = Run<typeof SCRIPT.flags>;

async function main(run: Sharing): Promise<void> {
  const { values } = run;
  refuseContradictions(values);
  if (values.init !== undefined) return await init(run, values.init);
  if (values.status) return showStatus(run);
  if (values.dryRun) return await preview(run);
  requireShare(run);
  if (values.leave) await leave(run);
  else await share(run);
}

function refuseContradictions(values: Sharing["values"]): void {
  refuseTogether(values, "publish", "pull", "status", "leave", "init");
  for (const mode of ["pull", "status", "leave"]) refuseTogether(values, "dryRun", mode);
  if (values.init?.trim() === "") {
    throw usageError('Cannot use --init "": expected a role', "try --init team_app");
  }
}

async function share(config: Sharing): Promise<void> {
  const { publish, pull } = config.values;
  const signal = stopSignal();
  if (!pull) await bringUpToDate(config, signal);
  const report = await shareOnce({
    config,
    publish: !pull,
    pull: !publish,
    signal,
    progress: startProgress,
  });
  config.show(report, [describeRun(report)]);
}

/** Indexes what was said since the last turn first, so that it is sent too. */
async function bringUpToDate(config: Config, signal: AbortSignal): Promise<void> {
  const { paths, settings } = config;
  const sessions = listSessions(paths, { subagents: true });
  const limits = { deadlineMs: INDEX_MS, signal };
  await withIndex(config, (store) => catchUp({ store, paths, sessions, settings, ...limits }));
}

async function init(run: Sharing, role: string): Promise<void> {
  const { values, show } = run;
  if (values.dryRun) {
    const sql = initSql(role, 0);
    show({ role, sql }, [sql]);
    return;
  }
  const report = await initHub(run, role);
  const done = report.from === report.to ? "are current" : `went from version ${report.from} to ${report.to}`;
  show(report, [`the tables at ${report.hub} ${done}; ${report.role} and its members may use them`]);
}

async function leave(run: Sharing): Promise<void> {
  const left = await leaveHub(run);
  const sessions = counted(left.sessions, "session");
  run.show(left, [`took ${sessions} from ${left.hub} and deleted what was read from it`]);
  note("session-memory share without --leave joins again; without a share block in config.json nothing does");
}

async function preview(run: Sharing): Promise<void> {
  const { show } = run;
  if (!shareConfig(run)) {
    const nothing: PublishPreview = { sessions: 0, chunks: 0, bytes: 0, projects: [], samples: [] };
    show(nothing, [`nothing would be sent: ${NO_PROJECT}`]);
    return;
  }
  await bringUpToDate(run, stopSignal());
  const plan = previewPublish(run);
  show(plan, describePlan(plan));
}

function* describePlan({ projects, samples, ...all }: PublishPreview): Generator<string> {
  yield `would send ${formatSize(all)}`;
  for (const { project, audience, ...part } of projects) {
    yield `- ${project}: ${formatSize(part)}, readable by ${audience}`;
  }
  for (const line of samples) yield `  ${line}`;
}

function formatSize({
  sessions,
  chunks,
  bytes,
}: Pick<PublishPreview, "sessions" | "chunks" | "bytes">): string {
  const size = bytes < 1e6 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
  return `${counted(sessions, "session")}, ${counted(chunks, "chunk")}, ${size}`;
}

function showStatus(run: Sharing): void {
  const status = shareStatus(run);
  if (status) run.show(status, describeStatus(status));
  else run.show(NOTHING_SHARED, [`nothing is shared: ${NO_PROJECT}`]);
}

function* describeStatus({ hub, machine, projects, ...times }: ShareStatus): Generator<string> {
  yield `hub: ${hub ?? "its URL is not set"} · this machine: ${machine}`;
  for (const { project, audience, published, pulled, behind } of projects) {
    yield `${project}: ${published} sent, readable by ${audience}; ${pulled} read; ${behind} behind`;
  }
  yield `last sent: ${times.lastPublish ?? "never"} · last read: ${times.lastPull ?? "never"}`;
  if (times.error !== undefined) yield `last failure: ${times.error}`;
}

function describeRun({ hub, published, pulled, tookMs }: ShareReport): string {
  const parts: string[] = [];
  if (published) {
    const withdrawn = published.withdrawn > 0 ? `, ${published.withdrawn} taken back` : "";
    parts.push(
      `sent ${counted(published.sessions, "session")}, ${counted(published.chunks, "chunk")}${withdrawn}`,
    );
  }
  if (pulled) {
    const removed = pulled.removed > 0 ? `, ${pulled.removed} gone` : "";
    parts.push(`read ${counted(pulled.sessions, "session")}, ${counted(pulled.chunks, "chunk")}${removed}`);
  }
  return `${hub}: ${parts.join("; ")}; ${(tookMs / 1000).toFixed(1)} s`;
}

if (import.meta.main) await runScript(SCRIPT, main);

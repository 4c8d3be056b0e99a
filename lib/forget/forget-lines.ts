/** What forgetting says: what went or would go, what is excluded now, and what is left for the user to do. */

import { counted } from "../base/text.ts";
import type { Paths, Settings } from "../config/config.ts";
import { oneLine, redact } from "../redact/redact.ts";
import type { EverythingForgotten } from "./everything.ts";
import type { Target } from "./forget-target.ts";
import type { Forgotten } from "./forgetting.ts";

type Exclude = Settings["exclude"];

/** How it was asked for. */
export interface Asked {
  dryRun: boolean;
  isExcluded: boolean;
  hasPattern: boolean;
  hasTime: boolean;
}

const SHOWN_MAX = 10;
const NAME_MAX = 60;

/** All of it, in lines. */
export function forgottenLines(forgotten: Forgotten, targets: readonly Target[], asked: Asked): string[] {
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

/** The transcripts that the hosts still have. */
export function transcriptsOf(targets: readonly Target[]): string[] {
  return targets.flatMap(({ transcript }) => (transcript === undefined ? [] : [transcript]));
}

function removedLines({ notes, ...counts }: Forgotten["removed"]): string[] {
  const { chunks, vectors, cached, ledgers, observations, metaFiles, cursors, logLines, sharedChunks } =
    counts;
  return [
    `index: ${counted(chunks, "chunk")}, ${counted(vectors, "vector")}, ${cached} cached`,
    `observations: ${observations} in ${counted(ledgers, "ledger")}`,
    `meta files: ${metaFiles}; marks: ${cursors}; log lines: ${logLines}`,
    ...(sharedChunks > 0 ? [`shared by others: ${counted(sharedChunks, "chunk")}`] : []),
    `notes: ${notes.length}`,
    ...notes.map((file) => `- ${file}`),
  ];
}

function excludedLines(exclude: Exclude): string[] {
  const parts = excludedParts(exclude);
  return parts.length > 0 ? [`excluded from now on: ${parts.join(", ")} (exclude in config.json)`] : [];
}

/** What is excluded, a part each kind. */
export function excludedParts({ sessions, projects, patterns }: Exclude): string[] {
  return [
    sessions.length > 0 ? counted(sessions.length, "session") : "",
    ...projects.map((project) => `project ${project}`),
    ...patterns.map((pattern) => `pattern ${pattern}`),
  ].filter(Boolean);
}

/** What is left to do or to know. */
export function remarks({ forks, keptFiles }: Forgotten, targets: readonly Target[], asked: Asked): string[] {
  const transcripts = transcriptsOf(targets);
  const lines: string[] = [];
  if (forks.length > 0) {
    lines.push(`began as copies and hold the same rows, forget them too: ${forks.join(", ")}`);
  }
  lines.push(...keptLines(keptFiles));
  if (transcripts.length > 0) {
    lines.push(`still there: ${counted(transcripts.length, "transcript")} of the hosts, to delete with rm:`);
    lines.push(...transcripts.slice(0, SHOWN_MAX).map((file) => `- ${file}`));
    if (transcripts.length > SHOWN_MAX) lines.push(`- … ${transcripts.length - SHOWN_MAX} more`);
  }
  if (targets.some(({ agent, transcript }) => agent === "pi" && transcript !== undefined)) {
    lines.push("what our extension wrote into pi's session files (observations, updates) is in those files");
  }
  if (asked.hasPattern) lines.push("transcripts of the hosts still hold it");
  if (!asked.isExcluded && !asked.dryRun) lines.push("not kept out: the next indexing reads it again");
  if (asked.hasTime && asked.isExcluded) {
    lines.push("only these sessions are kept out, one by one: a time cannot be");
  }
  return lines;
}

/** What forgetting everything says. */
export function everythingLines(
  { files, bytes, written, keptFiles, remains }: EverythingForgotten,
  { paths, dryRun }: { paths: Paths; dryRun: boolean },
): string[] {
  const size = `${counted(files, "file")}, ${(bytes / 1_000_000).toFixed(1)} MB`;
  return [
    `${dryRun ? "would remove" : "removed"} all in ${paths.home} but config.json: ${size}`,
    ...(written.length > 0 ? ["and what we wrote elsewhere:", ...listed(written)] : []),
    ...keptLines(keptFiles),
    ...(remains.length > 0 ? ["what remains:", ...listed(remains)] : []),
  ];
}

function listed(files: readonly string[]): string[] {
  return files.map((file) => `- ${file}`);
}

function keptLines(files: readonly string[]): string[] {
  if (files.length === 0) return [];
  return ["not removed, since we did not write them as they are now, to delete with rm:", ...listed(files)];
}

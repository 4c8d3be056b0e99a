/** Formats the outcome of forgetting: what was removed, what is excluded now, and what the user still has to do. */

import { counted, unbroken } from "../base/text.ts";
import type { Settings } from "../config/config.ts";
import { oneLine, redact } from "../redact/redact.ts";
import type { Target } from "./forget-target.ts";
import type { Forgotten } from "./forgetting.ts";

type Exclude = Settings["exclude"];

/** The options that affect the wording. */
export interface Asked {
  dryRun: boolean;
  isExcluded: boolean;
  hasPattern: boolean;
  hasTime: boolean;
}

const SHOWN_MAX = 10;
const NAME_MAX = 60;

/** Returns the complete report. */
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

/** Returns the transcripts that the hosts still have. */
export function transcriptsOf(targets: readonly Target[]): string[] {
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
export function excludedParts({ sessions, projects, patterns }: Exclude): string[] {
  return [
    sessions.length > 0 ? counted(sessions.length, "session") : "",
    ...projects.map((project) => `project ${project}`),
    ...patterns.map((pattern) => `pattern ${pattern}`),
  ].filter(Boolean);
}

/** Returns remarks on what remains and what the user can do about it. */
export function remarks(
  { forks, keptFiles, setAside }: Forgotten,
  targets: readonly Target[],
  asked: Asked,
): string[] {
  const transcripts = transcriptsOf(targets);
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

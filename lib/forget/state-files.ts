/**
 * Forgets everything: the state folder, and the files that we wrote elsewhere.
 */

import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { namesIn, remove } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { metaDirectory } from "../sessions/meta.ts";
import { publishedAt } from "../share/replica.ts";
import { isAsWritten, removeWritten, writtenFiles } from "../store/state.ts";

/** The result, or in a dry run what it would be. */
export interface EverythingForgotten {
  /** Number of files in the state folder. */
  files: number;
  bytes: number;
  /** Files elsewhere that still have the bytes we wrote. */
  written: string[];
  /** Files elsewhere that were changed since; these stay. */
  keptFiles: string[];
  /** What is not ours to remove: config.json, the hosts' transcripts, installed plugins. */
  remains: string[];
}

/** Removes everything, or only counts it in a dry run. */
export function forgetEverything(paths: Paths, { dryRun }: { dryRun: boolean }): EverythingForgotten {
  const sizes = filesUnder(paths.home)
    .filter((file) => file !== paths.config)
    .map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  const recorded = writtenFiles(paths)
    .map(({ path }) => path)
    .filter((file) => existsSync(file) && !file.startsWith(paths.notes));
  const written = recorded.filter((file) => isAsWritten(paths, file));
  const found = {
    files: sizes.length,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    written,
    keptFiles: recorded.filter((file) => !written.includes(file)),
    remains: remainsOf(paths),
  };
  if (dryRun) return found;
  removeWritten(paths, written);
  removeLeftovers(paths);
  for (const name of namesIn(paths.home)) {
    const path = join(paths.home, name);
    if (path !== paths.config) rmSync(path, { recursive: true, force: true });
  }
  return found;
}

function remainsOf(paths: Paths): string[] {
  const transcripts = [
    join(paths.claude, "projects"),
    join(paths.pi, "sessions"),
    join(paths.codex, "sessions"),
    join(paths.codex, "archived_sessions"),
    join(paths.openclaw, "agents"),
  ];
  const plugins = [join(paths.claude, "plugins", "cache"), join(paths.claude, "plugins", "marketplaces")];
  const installed = plugins.flatMap((folder) =>
    namesIn(folder)
      .filter((name) => name.includes("session-memory"))
      .map((name) => join(folder, name)),
  );
  const hub = publishedAt(paths);
  return [
    ...[paths.config, ...transcripts, ...installed].filter(
      (path) => existsSync(path) && (path === paths.config || namesIn(path).length > 0),
    ),
    ...(hub === undefined ? [] : [`what was shared at ${hub}: run share.ts --leave before`]),
  ];
}

/** What killed writers leave behind: `<file>.<process>.<random>.tmp`. */
const LEFTOVER = /\.(\d+)\.[0-9a-f]{8}\.tmp$/;

/** Removes the temporary files of writers that are no longer running. */
export function removeLeftovers(paths: Paths): void {
  for (const folder of [paths.home, metaDirectory(paths, "pi")]) {
    for (const file of filesUnder(folder)) {
      const writer = LEFTOVER.exec(file)?.[1];
      if (writer !== undefined && !isRunning(Number(writer))) remove(file);
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // another user's process could not have written here
  }
}

function filesUnder(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name));
  } catch {
    return []; // there is none yet
  }
}

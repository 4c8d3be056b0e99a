/** Removes all stored data: the state folder except config.json, and the files we wrote elsewhere. */

import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { namesIn } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { publishedAt } from "../share/forget-shared.ts";
import { isAsWritten, removeWritten, writtenFiles } from "../store/written-files.ts";
import { removeLeftovers } from "./leftovers.ts";

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

function filesUnder(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
}

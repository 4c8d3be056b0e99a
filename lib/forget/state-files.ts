/**
 * Forgets in the state folder's files: in the event log and its predecessor, or everything, the files that we wrote
 * elsewhere included.
 */

import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { namesIn, readIfExists, remove, replaceFile } from "../base/files.ts";
import { type JsonRecord, parseRecord, scrub } from "../base/json.ts";
import type { Paths } from "../config/config.ts";
import { metaDirectory } from "../sessions/meta.ts";
import { publishedAt } from "../share/replica.ts";
import type { Forgetting } from "../store/forgetting.ts";
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

/** Shorter ids are too likely to occur inside other words. */
const ID_MIN_CHARS = 8;

/**
 * Removes lines about forgotten sessions, and the text of lines that record what was injected into other sessions,
 * unless such a line lists other sessions as its subject. Returns how many lines were changed or removed.
 */
export function forgetInLog(
  log: string,
  forgetting: Forgetting,
  { places, dryRun }: { places: readonly string[]; dryRun: boolean },
): number {
  const rewrite = "ids" in forgetting ? sessionLines(forgetting.ids, places) : textLines(forgetting.hasText);
  const before = linesOf(`${log}.1`);
  const now = filtered([...before, ...linesOf(log)], rewrite);
  if (dryRun || now.changed === 0) return now.changed;
  // Concurrent writers start a new log.
  const aside = `${log}.${process.pid}.${crypto.randomUUID().slice(0, 8)}.tmp`;
  try {
    renameSync(log, aside);
  } catch {
    // nothing has been logged since the last rotation
  }
  const { kept, changed } = filtered([...before, ...linesOf(aside)], rewrite);
  if (kept.length > 0) replaceFile(`${log}.1`, kept.map((line) => `${line}\n`).join(""));
  else remove(`${log}.1`);
  remove(aside);
  return changed;
}

/** Returns the line to keep; undefined to drop it. */
type Rewrite = (line: string, event: JsonRecord) => string | undefined;

function filtered(lines: readonly string[], rewrite: Rewrite): { kept: string[]; changed: number } {
  let changed = 0;
  const kept = lines.flatMap((line) => {
    const event = parseRecord(line);
    const next = event && rewrite(line, event);
    if (next !== line) changed++;
    return next === undefined ? [] : [next];
  });
  return { kept, changed };
}

function sessionLines(ids: ReadonlySet<string>, places: readonly string[]): Rewrite {
  const searched = [...[...ids].filter((id) => id.length >= ID_MIN_CHARS), ...places];
  const needles = searched.map((text) => JSON.stringify(text).slice(1, -1));
  return (line, event) => {
    if (typeof event.session === "string" && ids.has(event.session)) return undefined;
    if (typeof event.text === "string") {
      const { about, text: _, ...rest } = event;
      const isOfOthers = Array.isArray(about) && !about.some((id) => ids.has(id));
      return isOfOthers && !needles.some((needle) => line.includes(needle)) ? line : JSON.stringify(rest);
    }
    return needles.some((needle) => line.includes(needle)) ? undefined : line;
  };
}

function textLines(hasText: (text: string) => boolean): Rewrite {
  return (line, event) => (scrub(event, hasText).removed > 0 ? undefined : line);
}

function linesOf(file: string): string[] {
  return (readIfExists(file) ?? "").split("\n").filter(Boolean);
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

/**
 * Changes config.json, without its schema: the `exclude` block, and whether Claude Code is asked; and in Claude Code's own
 * settings the status line.
 */

import { existsSync, realpathSync } from "node:fs";
import { SessionMemoryError } from "../base/errors.ts";
import { readIfExists, remove, replaceFile } from "../base/files.ts";
import {
  arrayOf,
  isRecord,
  type JsonRecord,
  parseJson,
  parseRecord,
  recordOf,
  stringOf,
} from "../base/json.ts";
import { EXCLUDE_KEYS, type ExcludeKey } from "./config.ts";
import type { ExcludeSettings } from "./schema.ts";

/** Whoever changes config.json holds it for milliseconds. */
const LOCK_WAIT_MS = 10_000;

/**
 * Adds entries that the file does not have yet, and returns those.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` when the file is not a JSON object.
 */
export async function addExclusions(config: string, wanted: ExcludeSettings): Promise<ExcludeSettings> {
  return await changeExclude(config, (key, present) => {
    const added = [...new Set(wanted[key])].filter((entry) => !present.includes(entry));
    return { changed: added, next: [...present, ...added] };
  });
}

/**
 * Removes entries, and returns the ones in the file.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` when the file is not a JSON object.
 */
export async function removeExclusions(config: string, unwanted: ExcludeSettings): Promise<ExcludeSettings> {
  return await changeExclude(config, (key, present) => ({
    changed: unwanted[key].filter((entry) => present.includes(entry)),
    next: present.filter((entry) => !(unwanted[key] as unknown[]).includes(entry)),
  }));
}

async function changeExclude(
  config: string,
  change: (key: ExcludeKey, present: readonly unknown[]) => { changed: string[]; next: readonly unknown[] },
): Promise<ExcludeSettings> {
  const all: ExcludeSettings = { sessions: [], projects: [], patterns: [] };
  await changeConfig(config, (settings) => {
    const exclude = { ...recordOf(settings.exclude) };
    for (const key of EXCLUDE_KEYS) {
      const { changed, next } = change(key, arrayOf(exclude[key]));
      all[key] = changed;
      if (changed.length > 0) exclude[key] = next;
    }
    return EXCLUDE_KEYS.some((key) => all[key].length > 0) ? { ...settings, exclude } : undefined;
  });
  return all;
}

/** The `llm` block that `setup` writes for Claude Code as the model. */
const ASKED_HOST = { command: "claude" };

/** Makes Claude Code the model where none is configured, or takes that back as it was written. Returns whether it did. */
export async function setHostAsModel(config: string, isAsked: boolean): Promise<boolean> {
  return await changeConfig(config, ({ llm, ...others }) => {
    if (isAsked) return llm === undefined ? { ...others, llm: ASKED_HOST } : undefined;
    return isHostModel(llm) ? others : undefined;
  });
}

/** Returns whether an `llm` block is the one that makes Claude Code the model, as it was written. */
export function isHostModel(llm: unknown): boolean {
  return JSON.stringify(llm) === JSON.stringify(ASKED_HOST);
}

/** Our status line's command, as set-up writes it from whatever folder it is in. */
const OWN_STATUS_LINE = /^\/bin\/sh "[^"]*\/bin\/session-memory" status-line$/;

/** Reads whether Claude Code's settings have a status line, and whether it is ours; undefined where they cannot be read. */
export function readStatusLine(file: string): { isNone: boolean; isOurs: boolean } | undefined {
  const settings = parseRecord(readIfExists(file) ?? "{}");
  if (!settings) return undefined;
  const { statusLine } = settings;
  const { type, command, ...others } = recordOf(statusLine);
  const isAsWritten = type === "command" && Object.keys(others).length === 0;
  const isOurs = isAsWritten && OWN_STATUS_LINE.test(stringOf(command) ?? "");
  return { isNone: statusLine === undefined, isOurs };
}

/** Sets the status line unless one is set, or takes ours out. */
export function setStatusLine(file: string, command: string | undefined): void {
  const found = readStatusLine(file);
  if (!found || !(command === undefined ? found.isOurs : found.isNone)) return;
  const { statusLine: _, ...others } = parseRecord(readIfExists(file) ?? "{}") ?? {};
  const next = command === undefined ? others : { ...others, statusLine: { type: "command", command } };
  const target = existsSync(file) ? realpathSync(file) : file;
  if (Object.keys(next).length === 0) remove(target);
  else replaceFile(target, `${JSON.stringify(next, null, 2)}\n`);
}

/** Replaces the file's settings by others, unless there are none. Returns whether it did. */
async function changeConfig(
  config: string,
  change: (settings: Record<string, unknown>) => Record<string, unknown> | undefined,
): Promise<boolean> {
  // The file may be a link into somebody's dotfiles: what it leads to is replaced.
  const file = existsSync(config) ? realpathSync(config) : config;
  const { withLock } = await import("../base/locks.ts");
  return await withLock(`${file}.lock`, LOCK_WAIT_MS, () => {
    const next = change(parseConfig(config, readIfExists(file) ?? "{}"));
    if (next) replaceFile(file, `${JSON.stringify(next, null, 2)}\n`);
    return next !== undefined;
  });
}

function parseConfig(file: string, text: string): JsonRecord {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    value = undefined;
  }
  if (isRecord(value)) return value;
  throw new SessionMemoryError("CONFIG_INVALID", `Cannot change "${file}": it is not a JSON object`, {
    hint: "correct the syntax or delete the file",
  });
}

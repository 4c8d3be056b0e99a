/** Changes the `exclude` block of config.json, without its schema. */

import { existsSync, realpathSync } from "node:fs";
import { SessionMemoryError } from "../base/errors.ts";
import { readIfExists, replaceFile } from "../base/files.ts";
import { arrayOf, isRecord, parseJson } from "../base/json.ts";
import { EXCLUDE_KEYS, type ExcludeKey } from "./config.ts";
import type { Settings } from "./schema.ts";

type Exclude = Settings["exclude"];

/** Whoever changes config.json holds it for milliseconds. */
const LOCK_WAIT_MS = 10_000;

/**
 * Adds entries that the file does not have yet, and returns those.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` when the file is no JSON object.
 */
export async function addExclusions(config: string, wanted: Exclude): Promise<Exclude> {
  return await changeExclude(config, (key, present) => {
    const added = [...new Set(wanted[key])].filter((entry) => !present.includes(entry));
    return { changed: added, next: [...present, ...added] };
  });
}

/**
 * Removes the entries that are chosen, and returns them.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` when the file is no JSON object.
 */
export async function removeExclusions(
  config: string,
  isChosen: (key: ExcludeKey, entry: string) => boolean,
  { dryRun = false } = {},
): Promise<Exclude> {
  const change: Change = (key, present) => {
    const isGone = (entry: unknown) => typeof entry === "string" && isChosen(key, entry);
    return {
      changed: present.filter((entry): entry is string => isGone(entry)),
      next: present.filter((entry) => !isGone(entry)),
    };
  };
  return await changeExclude(config, change, dryRun);
}

type Change = (
  key: ExcludeKey,
  present: readonly unknown[],
) => { changed: string[]; next: readonly unknown[] };

async function changeExclude(config: string, change: Change, dryRun = false): Promise<Exclude> {
  // The file may be a link into somebody's dotfiles: what it leads to is replaced.
  const file = existsSync(config) ? realpathSync(config) : config;
  const { withLock } = await import("../base/locks.ts");
  return await withLock(`${file}.lock`, LOCK_WAIT_MS, () => {
    const settings = parseConfig(config, readIfExists(file) ?? "{}");
    const present = isRecord(settings.exclude) ? settings.exclude : {};
    const all: Exclude = { sessions: [], projects: [], patterns: [] };
    const exclude: Record<string, unknown> = { ...present };
    for (const key of EXCLUDE_KEYS) {
      const { changed, next } = change(key, arrayOf(present[key]));
      all[key] = changed;
      if (changed.length > 0) exclude[key] = next;
    }
    const isChanged = EXCLUDE_KEYS.some((key) => all[key].length > 0);
    if (isChanged && !dryRun) replaceFile(file, `${JSON.stringify({ ...settings, exclude }, null, 2)}\n`);
    return all;
  });
}

function parseConfig(file: string, text: string): Record<string, unknown> {
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

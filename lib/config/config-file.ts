/** Changes config.json, without its schema, and settings of hosts. */

import { existsSync, realpathSync } from "node:fs";
import { SessionMemoryError } from "../base/errors.ts";
import { readIfExists, remove, replaceFile } from "../base/files.ts";
import { type JsonRecord, parseRecord } from "../base/json.ts";

/** Whoever changes config.json holds it for milliseconds. */
const LOCK_WAIT_MS = 10_000;

/**
 * Replaces the file's settings where `change` returns others. Returns whether it did.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` when the file is not a JSON object.
 */
export async function changeConfig(
  config: string,
  change: (settings: JsonRecord) => JsonRecord | undefined,
): Promise<boolean> {
  const file = linkedFile(config);
  const { withLock } = await import("../base/locks.ts");
  return await withLock(`${file}.lock`, LOCK_WAIT_MS, () => {
    const settings = parseRecord(readIfExists(file) ?? "{}");
    if (!settings) {
      throw new SessionMemoryError("CONFIG_INVALID", `Cannot change "${config}": it is not a JSON object`, {
        hint: "correct the syntax or delete the file",
      });
    }
    const next = change(settings);
    if (next) replaceFile(file, formatSettings(next));
    return next !== undefined;
  });
}

/** Returns what a link leads to, such as a file among somebody's dotfiles: that is replaced, not the link. */
function linkedFile(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

export function formatSettings(settings: JsonRecord): string {
  return `${JSON.stringify(settings, null, 2)}\n`;
}

/** A change to a file of a host's settings. */
interface ChangedFile {
  path: string;
  /** False if it cannot be read, or needs no change. */
  isNeeded: boolean;
  /** True if it is not plain JSON, which is left alone. */
  isUnreadable: boolean;
  /** Changes the file as it is then: the host's own commands may have written it meanwhile. */
  write: () => void;
}

/** Returns a change to the settings of a host. */
export function changedSettings(path: string, make: (settings: JsonRecord) => JsonRecord): ChangedFile {
  const next = () => {
    const settings = parseRecord(readIfExists(path) ?? "{}");
    const made = settings && formatSettings(make(settings));
    return {
      isUnreadable: !settings,
      made: settings && made !== formatSettings(settings) ? made : undefined,
    };
  };
  const { made, isUnreadable } = next();
  return { path, isUnreadable, isNeeded: made !== undefined, write: () => writeSettings(path, next().made) };
}

/** Writes whatever a link leads to, and removes it if nothing is left. */
function writeSettings(path: string, text: string | undefined): void {
  if (text === undefined) return;
  const target = linkedFile(path);
  if (text === formatSettings({})) remove(target);
  else replaceFile(target, text);
}

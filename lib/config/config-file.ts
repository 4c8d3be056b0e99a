/** Changes config.json without its schema. */

import { existsSync, realpathSync } from "node:fs";
import { SessionMemoryError } from "../base/errors.ts";
import { readIfExists, replaceFile } from "../base/files.ts";
import { type JsonRecord, parseRecord } from "../base/json.ts";

/** Whoever changes config.json holds it for milliseconds. */
const LOCK_WAIT_MS = 10_000;

/**
 * Replaces the file's settings by others, unless there are none. Returns whether it did.
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
export function linkedFile(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

export function formatSettings(settings: JsonRecord): string {
  return `${JSON.stringify(settings, null, 2)}\n`;
}

/** Whole files as text or JSON, where one that is missing is no failure. All that a hook needs with nothing to say. */

import { existsSync, readFileSync } from "node:fs";

/** A file's text, or undefined when there is none. */
export function readIfExists(path: string): string | undefined {
  // Asked first: an exception costs more than a call, and most of these files are optional.
  if (!existsSync(path)) return undefined;
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** A parsed JSON file; undefined when it is missing or not JSON. */
export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined; // a derived file: missing and corrupt are the same to every caller
  }
}

/** The places in which the words of sessions are held. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { TemporaryHome } from "./home.ts";

/** Every planted word begins with it, and no stemmer shortens them. */
export const MARK = "zqvictim";

function filesUnder(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** All files of ours: state, pi's meta files, notes. */
function ours(home: TemporaryHome): string[] {
  const folders = [home.paths.home, join(home.paths.pi, "sessions-meta"), join(home.project, "memory")];
  return folders.flatMap(filesUnder).filter((file) => file !== home.paths.config);
}

/** Those of them that hold a text, packed ones too; a database also holds what is in its log. */
export function holding(home: TemporaryHome, text: string): string[] {
  const bytes = (file: string) =>
    file.endsWith(".gz") ? gunzipSync(readFileSync(file)) : readFileSync(file);
  const files = ours(home)
    .filter((file) => bytes(file).toString("latin1").toLowerCase().includes(text))
    .map((file) => file.slice(home.root.length).replace(/-wal$/, ""));
  return [...new Set(files)];
}

/**
 * Takes this machine's paths out of texts that leave it: they name people, and mean nothing elsewhere. Home folders
 * become `~`, and what lies in the project is named from its top.
 */

import { realpathSync } from "node:fs";
import { encodeClaudeCwd } from "../sessions/places.ts";

/** A home in another system's or user's usual place, also in JSON, in a URL, and as hosts make folder names of it. */
const USUAL = [
  String.raw`(?<![\w.~-])(?:\\?/)(?:home|Users)(?:\\?/)[\w.@-]+`,
  String.raw`(?<![\w])[A-Za-z]:(?:\\{1,2}|/)Users(?:\\{1,2}|/)[\w.@-]+`,
  String.raw`(?<![\w])-(?:home|Users)-[A-Za-z0-9]+(?=-|$|[^\w-])`,
];

/** Makes a function that puts `~` in place of home folders: the user's own, wherever it is, and usual ones. */
export function homeRemover(home: string): (text: string) => string {
  const own = [...new Set([home, realPath(home)])].filter((path) => path.length > 1);
  const names = own.flatMap((path) => [escaped(path), escaped(encodeClaudeCwd(path))]);
  const pattern = new RegExp([...names.map((name) => `${name}(?![\\w])`), ...USUAL].join("|"), "g");
  return (text) => text.replace(pattern, "~");
}

/** Makes a function that names what lies below a directory from there: `src/a.ts`, and `.` for itself. */
export function rootRemover(root: string): (text: string) => string {
  const paths = [...new Set([root, realPath(root)])].map(escaped).join("|");
  const pattern = new RegExp(`(?:${paths})(?:/(?=[\\w.@-])|(?![\\w/-]))`, "g");
  return (text) => text.replace(pattern, (match) => (match.endsWith("/") ? "" : "."));
}

/** Returns the tool calls of a chunk, one per line: of files outside of project and home only the name is left. */
export function withoutForeignPaths(tools: string): string {
  return tools.replace(/^(\S+) \/(?:[^\s/]+\/)*([^\s/]+)$/gm, "$1 …/$2");
}

function escaped(path: string): string {
  return path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("/", String.raw`\\?/`);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

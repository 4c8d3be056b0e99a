/** Reads the outputs that a host keeps in files beside a transcript, since they are too long for a row. */

import { lstatSync } from "node:fs";
import { dirname, join, win32 } from "node:path";
import { fileStem } from "../base/files.ts";
import { NEWLINE, readFully, withFile } from "./lines.ts";
import { BLOCKED } from "./names.ts";

/** The outputs of an archived copy are in a folder of this name, in the one that is called as the copy is. */
export const COPIED_OUTPUTS = "outputs";

/** Returns the folder of a transcript's own in which something is kept. */
export function ownFolder(transcript: string, name: string): string {
  return join(transcript.replace(/\.jsonl$/, ""), name);
}

/** The most that is read of an output, half of it from each end: longer ones are data. */
const OUTPUT_BYTES_MAX = 1024 * 1024;

/**
 * Reads an output by the path that its row names: by the file's name alone, in the folder that its host has for them in the
 * session's own, or in that of our copy; a path that leads elsewhere, or a link, is not followed. Undefined where it is gone.
 */
export function readOutput(transcript: string, folder: string, path: string): string | undefined {
  const name = win32.basename(path); // knows both slashes
  if (!name.endsWith(".txt")) return undefined;
  for (const owner of [transcript, findOwner(transcript)]) {
    if (owner === undefined) continue;
    const file = join(ownFolder(owner, folder), name);
    if (isOwn(file)) return readEnds(file);
    const copy = join(ownFolder(owner, COPIED_OUTPUTS), fileStem(name));
    if (isOwn(copy + BLOCKED)) return readEnds(copy);
  }
  return undefined;
}

/** Returns the transcript of the session that a subagent works for, by the folder that it is in. */
function findOwner(transcript: string): string | undefined {
  const [, parent] = /^(.*)[/\\]subagents[/\\]/.exec(transcript) ?? [];
  return parent === undefined ? undefined : `${parent}.jsonl`;
}

function isOwn(file: string): boolean {
  const kindOf = (path: string) => lstatSync(path, { throwIfNoEntry: false });
  const folders = [dirname(file), dirname(dirname(file))];
  return folders.every((folder) => kindOf(folder)?.isDirectory()) && kindOf(file)?.isFile() === true;
}

function readEnds(file: string): string | undefined {
  try {
    return withFile(file, (descriptor, size) => {
      if (size <= OUTPUT_BYTES_MAX) return readFully(descriptor, 0, size).toString("utf8");
      const half = OUTPUT_BYTES_MAX / 2;
      const head = readFully(descriptor, 0, half);
      const tail = readFully(descriptor, size - half, half);
      const [to, from] = [head.lastIndexOf(NEWLINE), tail.indexOf(NEWLINE)];
      const [first, last] = [head.subarray(0, to > 0 ? to : half), tail.subarray(from + 1)];
      return `${first.toString("utf8")}\n…\n${last.toString("utf8")}`;
    });
  } catch {
    return undefined; // deleted since, or not ours to read
  }
}

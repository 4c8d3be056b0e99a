/** Makes rows of a session those of a new one in another folder: without thoughts and images, which are in no copy. */

import { join, posix, win32 } from "node:path";
import { isRecord } from "../base/json.ts";
import type { RestoreTarget } from "./host.ts";

/** What stands for an image, which is in no copy. */
const IMAGE = { type: "text", text: "[image]" };

/** Returns a message's content without thoughts, with a word in place of each image; undefined for none. */
export function keepContent(content: unknown): string | unknown[] | undefined {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  return content.map((block) => {
    if (!isRecord(block)) return block;
    if (block.type === "image") return IMAGE;
    if (block.type === "input_image") return { type: "input_text", text: IMAGE.text };
    return Array.isArray(block.content) ? { ...block, content: keepContent(block.content) } : block;
  });
}

/** Returns a directory of the session as one of the new folder; one outside the old folder stays. */
export function moved(cwd: unknown, { from, folder }: RestoreTarget): unknown {
  if (typeof cwd !== "string" || from === undefined) return folder;
  const { relative, isAbsolute, sep } = posix.isAbsolute(from) ? posix : win32;
  const below = relative(from, cwd);
  const [first, ...rest] = below.split(sep);
  // absolute: there is no way from one drive to another
  return first === ".." || isAbsolute(below) ? cwd : join(folder, first ?? "", ...rest);
}

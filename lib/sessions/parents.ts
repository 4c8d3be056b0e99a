/** Finds the session that another one came from: a subagent's parent, or the origin of a fork. */

import { closeSync, openSync, readSync } from "node:fs";
import { dirname, join } from "node:path";
import { namesIn } from "../base/files.ts";
import { readHead } from "../transcripts/head.ts";
import { ownRules } from "../transcripts/rules.ts";
import type { Session } from "../transcripts/session.ts";
import { readEntries } from "../transcripts/transcript.ts";

const HEAD_BYTES = 64 * 1024;
/** Larger folders are not searched for the origin of a fork. */
const SIBLINGS_MAX = 500;

/** Returns the transcript of the session that this one came from; undefined when none is known. */
export function parentFile(session: Session): string | undefined {
  const head = readHead(session.file);
  if (!head) return undefined;
  if (session.agent === "pi") return head.forkedFrom;
  if (session.agent !== "claude") return undefined;
  const parentId = session.parentId ?? head.parentId;
  if (parentId !== undefined && parentId !== session.id)
    return besideOrAbove(session.file, `${parentId}.jsonl`);
  return forkOrigin(session, head.startedAt);
}

/** A subagent's file lies two folders below its parent's, or beside it in older versions. */
function besideOrAbove(file: string, name: string): string | undefined {
  let folder = dirname(file);
  for (let up = 0; up < 5; up++, folder = dirname(folder)) {
    if (namesIn(folder).includes(name)) return join(folder, name);
  }
  return undefined;
}

/** Claude Code copies a fork's rows with their ids and begins the new file later: the older holder of the first is the origin. */
function forkOrigin({ file }: Session, startedAt: string | undefined): string | undefined {
  const first = readEntries(file, { rules: ownRules() }).next().value;
  if (first?.id === undefined || startedAt === undefined || first.at === undefined || first.at >= startedAt)
    return undefined;
  const names = namesIn(dirname(file)).filter((name) => name.endsWith(".jsonl"));
  if (names.length > SIBLINGS_MAX) return undefined;
  let origin: { file: string; startedAt: string } | undefined;
  for (const name of names) {
    const other = join(dirname(file), name);
    if (other === file || !headHolds(other, `"uuid":"${first.id}"`)) continue;
    const began = readHead(other)?.startedAt;
    if (began !== undefined && began < startedAt && began < (origin?.startedAt ?? "~"))
      origin = { file: other, startedAt: began };
  }
  return origin?.file;
}

function headHolds(file: string, text: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    return false; // gone since it was listed, or not ours to read
  }
  try {
    const bytes = Buffer.alloc(HEAD_BYTES);
    return bytes.subarray(0, readSync(descriptor, bytes, 0, HEAD_BYTES, 0)).includes(text);
  } finally {
    closeSync(descriptor);
  }
}

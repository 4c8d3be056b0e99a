/** Turns found files into sessions: by place and name, and by content where those do not suffice. */

import { basename } from "node:path";
import { describeError } from "../base/errors.ts";
import { changedAt, statOf } from "../base/files.ts";
import type { Head } from "../transcripts/format.ts";
import { readHead } from "../transcripts/head.ts";
import type { Session } from "../transcripts/session.ts";
import { codexId, isClaudeSubagent, type TranscriptFile } from "./places.ts";

/** Ids that pi took from its user: never a path. */
const PI_ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,198}[A-Za-z0-9])?$/;

/** Returns the session of a found file; undefined when it is gone, not a transcript, or not changed after the given time. */
export function sessionOf(
  found: TranscriptFile,
  { changedAfter = Number.NEGATIVE_INFINITY }: { changedAfter?: number | undefined } = {},
): Session | undefined {
  const stat = statOf(found.file);
  if (!stat?.isFile() || stat.mtimeMs <= changedAfter) return undefined;
  const { agent, id, parentId, name, file, machine } = isIdentified(found)
    ? found
    : (identify(found) ?? found);
  if (agent === undefined || id === undefined || (found.subagent && parentId === undefined)) return undefined;
  const modifiedAt = changedAt(stat);
  return { id, agent, file, name, parentId, machine, updatedAt: modifiedAt, modifiedAt, size: stat.size };
}

function isIdentified({ agent, id, subagent, parentId }: TranscriptFile): boolean {
  return agent !== undefined && id !== undefined && (!subagent || parentId !== undefined);
}

/** Reads what only the content says: the agent, pi's id, the parent of a subagent beside its parent's file. */
function identify(found: TranscriptFile): TranscriptFile | undefined {
  const head = headOf(found.file);
  if (!head || (found.agent !== undefined && head.agent !== found.agent)) return undefined;
  const id = idOf(found.file, head);
  return { ...found, agent: head.agent, id, parentId: found.parentId ?? parentOf(id, head) };
}

function idOf(file: string, head: Head): string | undefined {
  if (head.agent === "pi") return head.id !== undefined && PI_ID.test(head.id) ? head.id : undefined;
  const stem = basename(file, ".jsonl");
  return head.agent === "codex" ? (codexId(file) ?? stem) : stem;
}

/** Returns a subagent's parent session. In old versions main transcripts have sidechain rows too. */
export function parentOf(id: string | undefined, head: Head | undefined): string | undefined {
  if (head?.agent !== "claude" || !id || !isClaudeSubagent(id)) return undefined;
  return head.parentId === id ? undefined : head.parentId;
}

/** Reads a file's head; undefined when it has none or cannot be read. */
export function headOf(file: string): Head | undefined {
  try {
    return readHead(file);
  } catch {
    return undefined; // gone since it was listed, or not ours to read
  }
}

/** Returns why a file given by its path has no session. */
export function whyNoTranscript(file: string): string {
  const stat = statOf(file);
  if (!stat) return "there is no such file";
  if (!stat.isFile()) return "it is not a file";
  if (stat.size === 0) return "it is empty";
  try {
    readHead(file);
    return "it holds no conversation that is known";
  } catch (error) {
    return describeError(error);
  }
}

/**
 * Sorts newest first, and keeps one of several copies of a session: the newest, or where one was synced from another
 * machine the longest, since a copy may be behind and its time is that of the copying.
 */
export function newestCopies(sessions: Session[]): Session[] {
  sessions.sort((a, b) => order(b.updatedAt, a.updatedAt) || order(a.id, b.id) || order(a.file, b.file));
  const kept = new Map<string, Session>();
  for (const session of sessions) {
    const key = `${session.agent} ${session.id}`;
    const newer = kept.get(key);
    if (!newer) kept.set(key, session);
    else {
      const better = isLonger(session, newer) ? session : newer;
      // Either copy may have the name.
      better.name ??= session.name ?? newer.name;
      kept.set(key, better);
    }
  }
  return [...kept.values()].sort((a, b) => order(b.updatedAt, a.updatedAt));
}

function isLonger(session: Session, than: Session): boolean {
  if (session.machine === undefined && than.machine === undefined) return false;
  if (session.size !== than.size) return session.size > than.size;
  return session.machine === undefined && than.machine !== undefined;
}

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

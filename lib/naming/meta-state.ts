/**
 * When each session was last looked at for its meta file and what came of it, so that thousands of unchanged sessions
 * cost two stats each. Only bookkeeping: without it every session is looked at once more.
 *
 * One line per look, appended in one write; the last line of a session counts.
 */

import { appendFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { ensureDirectory, readIfExists, replaceFile } from "../base/files.ts";
import { isRecord, stringOf } from "../base/json.ts";
import { tryLock } from "../base/locks.ts";
import type { Session } from "../transcripts/session.ts";

/** A file with so many lines more than sessions is written anew. */
const SPARE_LINES = 2000;

export interface MetaState {
  /** `<agent>:<id>`. */
  key: string;
  /** The transcript's size and time. */
  transcript: string;
  /** The meta file's size and time; empty when there was none. */
  meta: string;
  /** User messages that the meta does not know yet. */
  newUsers: number;
  /** Whether the meta was made by rule. */
  byRules: boolean;
  /** The name that we wrote: another one in the file is the user's. */
  name: string | undefined;
  /** The name in the file where it is not ours. */
  given?: string | undefined;
  /** User messages in a meta made by rule because they were too few to ask the model that was there. */
  unasked?: number | undefined;
  /** When a model last failed at it, in milliseconds; not there once one did not. */
  failedAt?: number | undefined;
}

/** Every session's last look. */
export function readMetaStates(home: string): Map<string, MetaState> {
  const file = fileIn(home);
  const states = new Map<string, MetaState>();
  const lines = (readIfExists(file) ?? "").split("\n");
  for (const line of lines) {
    const state = parseState(line);
    if (state) states.set(state.key, state);
  }
  if (lines.length > states.size + SPARE_LINES) rewrite(file, states);
  return states;
}

/** The last look at one session. Asked for each session of a run, so it looks for the one line from the end. */
export function readMetaState(home: string, key: string): MetaState | undefined {
  const text = readIfExists(fileIn(home)) ?? "";
  const wanted = `"key":${JSON.stringify(key)}`;
  for (let at = text.lastIndexOf(wanted); at !== -1; at = at === 0 ? -1 : text.lastIndexOf(wanted, at - 1)) {
    const end = text.indexOf("\n", at);
    const state = parseState(text.slice(text.lastIndexOf("\n", at) + 1, end === -1 ? text.length : end));
    if (state?.key === key) return state;
  }
  return undefined;
}

export function appendMetaState(home: string, state: MetaState): void {
  ensureDirectory(home);
  appendFileSync(fileIn(home), `${JSON.stringify(state)}\n`, { mode: 0o600 });
}

export function metaStateKey({ agent, id }: Pick<Session, "agent" | "id">): string {
  return `${agent}:${id}`;
}

/** What changes when a transcript does. */
export function transcriptMark({ size, updatedAt }: Pick<Session, "size" | "updatedAt">): string {
  return `${size}@${updatedAt}`;
}

/** What changes when a file does; empty when there is none. */
export function fileMark(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat ? `${stat.size}@${stat.mtimeMs}` : "";
}

function parseState(line: string): MetaState | undefined {
  if (line === "") return undefined;
  try {
    const value: unknown = JSON.parse(line);
    if (!isRecord(value)) return undefined;
    const { key, transcript, meta, newUsers, byRules } = value;
    if (typeof key !== "string" || typeof transcript !== "string" || typeof meta !== "string")
      return undefined;
    if (typeof newUsers !== "number" || typeof byRules !== "boolean") return undefined;
    const [name, given] = [stringOf(value.name), stringOf(value.given)];
    const state: MetaState = { key, transcript, meta, newUsers, byRules, name };
    if (given !== undefined) state.given = given;
    if (typeof value.failedAt === "number") state.failedAt = value.failedAt;
    if (typeof value.unasked === "number") state.unasked = value.unasked;
    return state;
  } catch {
    return undefined; // torn: that session is looked at once more
  }
}

/** A line that another process appends meanwhile may be lost, which costs one more look. */
function rewrite(file: string, states: ReadonlyMap<string, MetaState>): void {
  const release = tryLock(join(dirname(file), "meta-state.lock"));
  if (!release) return;
  try {
    const text = [...states.values()].map((state) => `${JSON.stringify(state)}\n`).join("");
    replaceFile(file, text, { durable: false });
  } finally {
    release();
  }
}

function fileIn(home: string): string {
  return join(home, "meta-state.ndjson");
}

/**
 * When each session was last looked at for its meta file and what came of it, so that thousands of unchanged sessions
 * cost two stats each; and what of a conversation its meta is made of: what was added since, else all of it. A session
 * without a record is looked at once more.
 */

import { statSync } from "node:fs";
import { parseRecord, stringOf } from "../base/json.ts";
import type { Paths } from "../config/config.ts";
import { branchEnds, type Mark, noted, readAppended, readMark, saveMark } from "../index/pending.ts";
import type { SessionMeta } from "../sessions/meta.ts";
import { withState } from "../store/state.ts";
import type { Store } from "../store/store.ts";
import type { Rules } from "../transcripts/rules.ts";
import type { Cursor, Entry, Session } from "../transcripts/session.ts";
import { readActiveBranch } from "../transcripts/transcript.ts";

type StatePaths = Pick<Paths, "home" | "state" | "pi" | "meta">;

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
  /** When a model last failed, in milliseconds; removed by a success. */
  failedAt?: number | undefined;
}

/** Every session's last look. */
export function readMetaStates(paths: StatePaths): Map<string, MetaState> {
  const rows = withState(paths, ({ db }) => db.prepare("SELECT look FROM meta_looks ORDER BY key").all());
  const states = rows.flatMap(({ look }) => parseLook(String(look)) ?? []);
  return new Map(states.map((state) => [state.key, state]));
}

/** Returns the last look at one session. */
export function readMetaState(paths: StatePaths, key: string): MetaState | undefined {
  const find = ({ db }: Store) => db.prepare("SELECT look FROM meta_looks WHERE key = ?").get(key);
  const row = withState(paths, find);
  return row && parseLook(String(row.look));
}

/** Keeps a look in place of the one before. */
export function keepMetaState(paths: StatePaths, state: MetaState): void {
  withState(paths, ({ db }) => {
    db.prepare("INSERT OR REPLACE INTO meta_looks VALUES (?, ?)").run(state.key, JSON.stringify(state));
  });
}

/** Forgets looks: by their session, and by the texts they hold. */
export function forgetMetaStates(
  paths: StatePaths,
  isForgotten: (look: { sessionId: string; texts: string[] }) => boolean,
): void {
  const forgotten = [...readMetaStates(paths).values()].filter(({ key, name = "", given = "" }) =>
    isForgotten({ sessionId: key.slice(key.indexOf(":") + 1), texts: [key, name, given] }),
  );
  withState(paths, ({ db }) => {
    for (const { key } of forgotten) db.prepare("DELETE FROM meta_looks WHERE key = ?").run(key);
  });
}

export function metaStateKey({ agent, id }: Pick<Session, "agent" | "id">): string {
  return `${agent}:${id}`;
}

/** Returns a mark that changes when a transcript does. */
export function transcriptMark({ size, modifiedAt }: Pick<Session, "size" | "modifiedAt">): string {
  return `${size}@${modifiedAt}`;
}

/** Returns a mark that changes when a file does; empty when there is none. */
export function fileMark(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat ? `${stat.size}@${stat.mtimeMs}` : "";
}

function parseLook(line: string): MetaState | undefined {
  const { key, transcript, meta, newUsers, byRules, ...rest } = parseRecord(line) ?? {};
  if (typeof key !== "string" || typeof transcript !== "string" || typeof meta !== "string") return undefined;
  if (typeof newUsers !== "number" || typeof byRules !== "boolean") return undefined;
  const state: MetaState = { key, transcript, meta, newUsers, byRules, name: stringOf(rest.name) };
  if (typeof rest.given === "string") state.given = rest.given;
  if (typeof rest.failedAt === "number") state.failedAt = rest.failedAt;
  if (typeof rest.unasked === "number") state.unasked = rest.unasked;
  return state;
}

/** Tool results name a ticket's title; in a larger transcript they are not looked at. */
const RESULTS_BYTES_MAX = 32 * 1024 * 1024;

export interface MetaReading {
  /** Added since the meta was made; all of them when it knows none of this branch. */
  fresh: readonly Entry[];
  /** The conversation, or `fresh` where not all of it was read. */
  entries: readonly Entry[];
  isWhole: boolean;
  /** User messages that the meta does not know. */
  newUsers: number;
  /** Notes where this look ended; `made` when a meta was written that knows all of it. */
  end(made: SessionMeta | undefined): void;
}

interface ReadingOptions {
  meta: SessionMeta | undefined;
  store: Store | undefined;
  /** The row that the host is at. @default {the file's last} */
  leafId: string | undefined;
  /** Whether the whole is wanted whatever was read before. */
  wantsWhole: boolean;
  /** Whether the meta is continued by rule, which a doubled file is too much for. */
  byRules: boolean;
  rules: Rules;
}

/** Reads what a session's meta needs. */
export function readForMeta(session: Session, options: ReadingOptions): MetaReading {
  return readAdded(session, options) ?? readWhole(session, options);
}

function readAdded(session: Session, options: ReadingOptions): MetaReading | undefined {
  const { meta, store, leafId, wantsWhole, byRules, rules } = options;
  const mark =
    store && meta && !wantsWhole && leafId === undefined ? readMark(store, session, "names") : undefined;
  if (!store || !mark || mark.note.knows !== meta?.lastIndexedLeafId) return undefined;
  if (byRules && session.size >= 2 * noted(mark, "whole")) return undefined;
  const appended = readAppended(session, mark, rules);
  if (!appended) return undefined;
  const made: Cursor = { offset: noted(mark, "offset"), line: noted(mark, "line") };
  const isNext = made.offset === mark.cursor.offset;
  const fresh = isNext ? appended.entries : readActiveBranch(session.file, { rules, from: made }).entries;
  const { cursor, ends } = appended;
  return {
    fresh,
    entries: fresh,
    isWhole: false,
    newUsers: countUsers(fresh),
    end: (written) =>
      note(store, session, { mark, cursor, ends, written, made, knows: meta?.lastIndexedLeafId }),
  };
}

function readWhole(session: Session, { meta, store, leafId, rules }: ReadingOptions): MetaReading {
  const results = session.size <= RESULTS_BYTES_MAX;
  const { entries } = readActiveBranch(session.file, { rules, results, leafId });
  const fresh = newEntries(entries, meta);
  const last = entries.at(-1);
  const known = entries[entries.length - 1 - fresh.length];
  return {
    fresh,
    entries,
    isWhole: true,
    newUsers: countUsers(fresh),
    end(written) {
      if (!store || !last) return;
      const cursor = { offset: last.end, line: last.line };
      const made = meta && known ? { offset: known.end, line: known.line } : { offset: 0, line: 0 };
      const ends = branchEnds(session);
      note(store, session, { mark: undefined, cursor, ends, written, made, knows: meta?.lastIndexedLeafId });
    },
  };
}

interface Look {
  mark: Mark | undefined;
  cursor: Cursor;
  ends: string[];
  written: SessionMeta | undefined;
  made: Cursor;
  knows: string | undefined;
}

function note(store: Store, session: Session, { mark, cursor, ends, written, made, knows }: Look): void {
  const { offset, line } = written ? cursor : made;
  const whole = mark ? noted(mark, "whole") : session.size;
  saveMark(store, session, {
    follower: "names",
    cursor,
    ends,
    note: { whole, offset, line, knows: written?.lastIndexedLeafId ?? knows ?? "" },
  });
}

/** Returns the entries after the last one that the meta knows; all when it knows none of this branch. */
function newEntries(entries: readonly Entry[], meta: SessionMeta | undefined): readonly Entry[] {
  if (!meta) return entries;
  const line = /^line:(\d+)$/.exec(meta.lastIndexedLeafId)?.[1];
  if (line !== undefined) return entries.filter((entry) => entry.line > Number(line));
  return entries.slice(entries.findLastIndex(({ id }) => id === meta.lastIndexedLeafId) + 1);
}

function countUsers(entries: readonly Entry[]): number {
  return entries.filter(({ kind }) => kind === "user").length;
}

/**
 * What of a conversation its meta is made of: what was added since it was made, else all of it.
 *
 * A mark in the index says where the last look ended, so that a turn appended to a long session costs reading that
 * turn. The whole is read at first, when the conversation branched off, and each time its file has doubled.
 */

import { branchEnds, type Mark, noted, readAppended, readMark, saveMark } from "../index/pending.ts";
import type { SessionMeta } from "../sessions/meta.ts";
import type { Store } from "../store/store.ts";
import type { Rules } from "../transcripts/rules.ts";
import type { Cursor, Entry, Session } from "../transcripts/session.ts";
import { readActiveBranch } from "../transcripts/transcript.ts";

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

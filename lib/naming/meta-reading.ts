/** What of a conversation a session's meta is made of: what was added since, else all of it. */

import { numberOf } from "../base/json.ts";
import { placeAt, readAppended } from "../index/appended.ts";
import type { SessionMeta } from "../sessions/meta.ts";
import type { Progress, SessionRecord } from "../sessions/record.ts";
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
  /** Returns how far it was read; `made` when a meta was written that knows all of it. */
  end(made: SessionMeta | undefined): Progress;
}

interface ReadingOptions {
  record: Pick<SessionRecord, "meta" | "indexedTo">;
  /** The row that the host is at. @default {the file's last} */
  leafId: string | undefined;
  /** Whether the whole is wanted whatever was read before. */
  wantsWhole: boolean;
  rules: Rules;
}

/** Reads what a session's meta needs. */
export function readForMeta(session: Session, options: ReadingOptions): MetaReading {
  return readAdded(session, options) ?? readWhole(session, options);
}

function readAdded(
  session: Session,
  { record, leafId, wantsWhole, rules }: ReadingOptions,
): MetaReading | undefined {
  const { meta, indexedTo } = record;
  if (!meta || !indexedTo || wantsWhole || leafId !== undefined) return undefined;
  const appended = readAppended(session, indexedTo, rules);
  if (!appended) return undefined;
  const { note } = indexedTo;
  const known: Cursor = { offset: numberOf(note.offset) ?? 0, line: numberOf(note.line) ?? 0 };
  const isNext = known.offset === indexedTo.offset;
  const fresh = isNext ? appended.entries : readActiveBranch(session.file, { rules, from: known }).entries;
  return {
    fresh,
    entries: fresh,
    isWhole: false,
    newUsers: countUsers(fresh),
    end: (made) => progress(session, appended.end, made ? appended.end : known),
  };
}

function readWhole(session: Session, { record: { meta }, leafId, rules }: ReadingOptions): MetaReading {
  const results = session.size <= RESULTS_BYTES_MAX;
  const { entries } = readActiveBranch(session.file, { rules, results, leafId });
  const fresh = newEntries(entries, meta);
  const end = after(entries.at(-1));
  const known = after(meta ? entries[entries.length - 1 - fresh.length] : undefined);
  return {
    fresh,
    entries,
    isWhole: true,
    newUsers: countUsers(fresh),
    end: (made) => progress(session, end, made ? end : known),
  };
}

function after(entry: Entry | undefined): Cursor {
  return { offset: entry?.end ?? 0, line: entry?.line ?? 0 };
}

/** The note says up to where the meta knows the transcript. */
function progress({ file, size, modifiedAt }: Session, end: Cursor, { offset, line }: Cursor): Progress {
  return { ...placeAt(file, end), size, modified: modifiedAt, note: { offset, line } };
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

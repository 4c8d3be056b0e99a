/** Makes a session's meta when it is due, under its file's lock, and notes in its record what came of it. */

import { isAbsolute } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { numberOf, stringOf } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import type { Entry, Session } from "../hosts/session.ts";
import { currentExclusion } from "../sessions/gate.ts";
import { parentFile } from "../sessions/listing.ts";
import { META_SCHEMA_VERSION, metaFile, RULES, type SessionMeta } from "../sessions/meta.ts";
import { exportMeta, isCurrent, readRecord, type SessionRecord, saveRecord } from "../sessions/record.ts";
import { isStillVisible, visibleSessionAt } from "../sessions/sessions.ts";
import { readTitles } from "../sessions/titles.ts";
import { readHead } from "../transcripts/head.ts";
import { isPlainName, type Rules, shownText } from "../transcripts/rules.ts";
import { readActiveBranch } from "../transcripts/tree.ts";
import {
  fail,
  isSpoken,
  type Material,
  type MetaOptions,
  type MetaOutcome,
  type Summary,
  summarize,
} from "./meta-words.ts";

/** Another process may be waiting for its model. */
const LOCK_WAIT_MS = 120_000;
const MODEL_REST_MS = 30 * 60_000; // a turn comes every few minutes, and a wrong key stays wrong

/** The notes on a session's meta. */
interface Notes {
  /** User messages that the meta does not know yet. */
  newUsers: number;
  /** A name that somebody gave in the meta file: it stays. */
  given?: string | undefined;
  /** True if it was made by rule because too little was said to ask the model that was there. */
  isUnasked?: boolean | undefined;
  /** The time of a model's last failure, in milliseconds; removed by a success. */
  failedAt?: number | undefined;
}

function readNotes({ indexedTo }: SessionRecord): Notes {
  const { given, isUnasked, newUsers, failedAt } = indexedTo?.note ?? {};
  return {
    newUsers: numberOf(newUsers) ?? 0,
    given: stringOf(given),
    isUnasked: isUnasked === true,
    failedAt: numberOf(failedAt),
  };
}

/** Returns whether a record as it was stored shows, without opening a file, that nothing is due. */
export function isKnownNotDue(
  session: Session,
  record: SessionRecord | undefined,
  options: MetaOptions,
): boolean {
  if (!record || options.force || !isCurrent(record, session, options.paths)) return false;
  return !asksNow({ meta: record.meta, notes: readNotes(record), complete: options.complete }, options);
}

/**
 * Makes a session's meta when it is due.
 *
 * A model's failure is an outcome, not an exception, and leaves the present meta as it is; a session without one gets
 * one by rule.
 */
export async function indexMeta(session: Session, options: MetaOptions): Promise<MetaOutcome> {
  const none = { status: "not-due", name: undefined, usd: 0, model: RULES } as const;
  const outcome: MetaOutcome = { sessionId: session.id, ...none };
  const { paths, dryRun, lockWaitMs = LOCK_WAIT_MS } = options;
  const file = metaFile(paths, session);
  // Asked again under the lock: whoever held it may have been forgetting the session.
  const isOut = () => !isPlainName(session.id) || !isStillVisible(session, paths);
  const make = async () => {
    if (isOut()) return;
    const record = readRecord(paths, session);
    const made = await makeMeta(session, { record, outcome, options });
    if (dryRun || isOut()) return;
    if (made.meta) {
      exportMeta(paths, session, made.meta);
      outcome.name = made.meta.name;
      if (!outcome.error) outcome.status = "indexed";
    }
    const indexedTo = { size: session.size, modified: session.modifiedAt, note: { ...made.notes } };
    saveRecord(paths, { ...record, file: session.file, meta: made.meta ?? record.meta, indexedTo });
  };
  try {
    if (dryRun) await make();
    else await withLock(`${file}.lock`, lockWaitMs, make);
  } catch (error) {
    if (!(error instanceof SessionMemoryError) && !isSystemError(error)) throw error;
    fail(outcome, error);
  }
  return outcome;
}

interface Made {
  /** Undefined where the present one stays. */
  meta: SessionMeta | undefined;
  notes: Notes;
}

async function makeMeta(
  session: Session,
  { record, outcome, options }: { record: SessionRecord; outcome: MetaOutcome; options: MetaOptions },
): Promise<Made> {
  const { meta, problem } = record;
  const { leafId, now = () => new Date() } = options;
  const noted = readNotes(record);
  if (problem) outcome.warning = `${metaFile(options.paths, session)} is not usable: ${problem}`;
  outcome.name = meta?.name;
  const rules = currentExclusion(options.paths);
  const results = session.size <= RESULTS_BYTES_MAX;
  const entries = readActiveBranch(session.file, { rules, results, leafId });
  const fresh = newEntries(entries, meta);
  const newUsers = countUsers(meta?.model === RULES && noted.isUnasked ? entries : fresh);
  const notes: Notes = { ...noted, newUsers };
  outcome.newUsers = newUsers;
  const complete = restedModel(noted, options);
  const asksModel = asksNow({ meta, notes, complete }, options);
  const made = { meta: undefined, notes };
  if (!entries.some(isSpokenOrDone) || !isDue({ meta, fresh, asksModel }, options)) return made;

  const origin = await readOriginMeta(session, entries, options);
  const asked = { ...options, complete: asksModel ? complete : undefined };
  const summary = await summarize({ session, entries, fresh, meta, origin, outcome, options: asked });
  if (asksModel && !options.signal?.aborted)
    notes.failedAt = outcome.error === undefined ? undefined : now().getTime();
  if (!summary) return made;
  const name = givenName(session, { noted, summary, rules }) ?? summary.name;
  // A model that was there and had too little to go by is asked once there is enough.
  notes.isUnasked = summary.model === RULES && complete !== undefined && !asksModel;
  notes.newUsers = notes.isUnasked ? newUsers : 0;
  return { notes, meta: assembled(session, { ...summary, name }, { entries, meta, now: now() }) };
}

/** Returns the model, unless it has just failed and is left alone for a while. */
function restedModel(
  { failedAt = Number.NEGATIVE_INFINITY }: Notes,
  { complete, rests = false, now = () => new Date() }: MetaOptions,
): MetaOptions["complete"] {
  return rests && now().getTime() - failedAt < MODEL_REST_MS ? undefined : complete;
}

/** Returns whether the model is asked: until enough was said for it, rules name the session. */
function asksNow(
  { meta, notes, complete }: { meta: SessionMeta | undefined; notes: Notes } & Pick<MetaOptions, "complete">,
  { settings, force = false }: MetaOptions,
): boolean {
  if (!complete) return false;
  const wasAsked = meta?.model === RULES && !notes.isUnasked;
  return force || wasAsked || notes.newUsers >= settings.minNewUserMessages;
}

/** Returns whether a meta is made; what a model wrote is not replaced by rules because the model is away. */
function isDue(
  { meta, fresh, asksModel }: Pick<Material, "meta" | "fresh"> & { asksModel: boolean },
  { force = false }: MetaOptions,
): boolean {
  return asksModel || force || ((!meta || meta.model === RULES) && fresh.some(isSpokenOrDone));
}

/** Returns the name that somebody gave; the host's title is as good as a name made by rule, a model's name is better. */
function givenName(
  session: Session,
  { noted, summary, rules }: { noted: Notes; summary: { model: string }; rules: Rules },
): string | undefined {
  const titles = readTitles(session);
  const given = titles.given ?? noted.given ?? (summary.model === RULES ? titles.title : undefined);
  return shownText(given, rules);
}

/**
 * Reads the meta of the session that this one goes on with, which is named first where it has none: a new session may
 * name its parent and hold none of its rows, so nothing else says what was said there.
 */
async function readOriginMeta(
  { file, machine }: Session,
  entries: readonly Entry[],
  { paths, settings, dryRun }: MetaOptions,
): Promise<Summary | undefined> {
  // Another machine's path is a name here.
  if (machine !== undefined) return undefined;
  const { forkedFrom = "", startedAt } = readHead(file) ?? {};
  const first = entries.find(({ at }) => at)?.at;
  const holdsItsRows = first !== undefined && startedAt !== undefined && first < startedAt;
  const origin = isAbsolute(forkedFrom) && !holdsItsRows ? visibleSessionAt(forkedFrom, paths) : undefined;
  if (!origin) return undefined;
  const read = () => readRecord(paths, origin).meta;
  // Not waited for: whoever holds it may be waiting for this one.
  if (!dryRun && !read()) await indexMeta(origin, { paths, settings, lockWaitMs: 0 });
  return read();
}

function assembled(
  session: Session,
  made: Summary & { model: string },
  { entries, meta, now }: { entries: readonly Entry[]; meta: SessionMeta | undefined; now: Date },
): SessionMeta {
  const { name, description, summary, tags, model } = made;
  const last = entries.at(-1);
  return {
    schemaVersion: META_SCHEMA_VERSION,
    sessionId: session.id,
    sessionFile: session.file,
    parentSessionFile: parentFile(session),
    name,
    description,
    summary,
    tags,
    cwd: readHead(session.file)?.cwd ?? session.cwd ?? "",
    createdAt: meta?.createdAt ?? now.toISOString(),
    updatedAt: now.toISOString(),
    model,
    lastIndexedLeafId: last?.id ?? `line:${last?.line ?? 0}`,
  };
}

/** Returns whether an entry says or did something that a summary is made of. */
function isSpokenOrDone(entry: Entry): boolean {
  return isSpoken(entry) || entry.kind === "tool";
}

/** Returns whether the system failed: the transcript vanished while it was read, or the disk is full. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}

/** Tool results name a ticket's title; in a larger transcript they are not looked at. */
const RESULTS_BYTES_MAX = 32 * 1024 * 1024;

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

/** Makes a session's meta when it is due, under its file's lock, and notes in its record what came of it. */

import { SessionMemoryError } from "../base/errors.ts";
import { numberOf, stringOf } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import { readTitles } from "../sessions/discovery.ts";
import { parentFile } from "../sessions/listing.ts";
import {
  META_SCHEMA_VERSION,
  metaFile,
  RULES,
  readMeta,
  type SessionMeta,
  writeMeta,
} from "../sessions/meta.ts";
import {
  isCurrent,
  isExportCurrent,
  readRecord,
  type SessionRecord,
  saveRecord,
} from "../sessions/record.ts";
import { currentExclude, isExcluded } from "../sessions/unlisted.ts";
import { recordWritten } from "../store/written-files.ts";
import { readHead } from "../transcripts/head.ts";
import { readRules } from "../transcripts/rules.ts";
import type { Entry, Session } from "../transcripts/session.ts";
import { type MetaReading, readForMeta } from "./meta-reading.ts";
import { fail, findOrigin, isSpoken, type MetaOptions, type MetaOutcome, summarize } from "./meta-words.ts";
import { isCircumstantial, type Summary } from "./naming.ts";

/** Another process may be waiting for its model. */
const LOCK_WAIT_MS = 120_000;

/** What was noted of a session's meta, beside how far its transcript was read. */
interface Notes {
  /** User messages that the meta does not know yet. */
  newUsers: number;
  /** A name that somebody gave in the meta file: it stays. */
  given?: string | undefined;
  /** User messages in a meta made by rule because they were too few to ask the model that was there. */
  unasked?: number | undefined;
  /** When a model last failed, in milliseconds; removed by a success. */
  failedAt?: number | undefined;
}

function readNotes({ indexedTo }: Pick<SessionRecord, "indexedTo">): Notes {
  const { newUsers, given, unasked, failedAt } = indexedTo?.note ?? {};
  return {
    newUsers: numberOf(newUsers) ?? 0,
    given: stringOf(given),
    unasked: numberOf(unasked),
    failedAt: numberOf(failedAt),
  };
}

/** Returns whether a record as it was stored shows, without opening a file, that nothing is due. */
export function isKnownNotDue(
  session: Session,
  record: SessionRecord | undefined,
  { paths, settings, complete, force = false }: MetaOptions,
): boolean {
  if (!record || force || !isCurrent(record.indexedTo, session) || !isExportCurrent(record, paths))
    return false;
  const { newUsers, unasked } = readNotes(record);
  const byRules = record.meta?.model === RULES;
  if (byRules && complete && unasked === undefined) return false;
  return newUsers < settings.minNewUserMessages || (record.meta !== undefined && !byRules && !complete);
}

/**
 * Makes a session's meta when it is due.
 *
 * A model's failure is an outcome, not an exception, and leaves the present one as it is; where there is none yet, one is
 * made by rule.
 */
export async function indexMeta(session: Session, options: MetaOptions): Promise<MetaOutcome> {
  const outcome: MetaOutcome = {
    sessionId: session.id,
    status: "not-due",
    name: undefined,
    usd: 0,
    model: RULES,
  };
  const { paths, settings, dryRun, lockWaitMs = LOCK_WAIT_MS } = options;
  const file = metaFile(paths, session);
  // Asked again under the lock: whoever held it may have been forgetting the session.
  const isOut = () => isExcluded(session, { paths, exclude: currentExclude(paths, settings.exclude) });
  const make = async () => {
    if (isOut()) return;
    const record = readRecord(paths, session);
    const made = await makeMeta(session, { record, outcome, options });
    if (dryRun || isOut()) return;
    if (made.meta) {
      const content = writeMeta(file, made.meta);
      // pi's lie outside the state folder
      if (session.agent === "pi") recordWritten(paths, { path: file, content, sessionId: session.id });
      outcome.name = made.meta.name;
      if (!outcome.error) outcome.status = "indexed";
    }
    const indexedTo = {
      ...made.reading.end(made.meta),
      note: { ...made.reading.end(made.meta).note, ...made.notes },
    };
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

interface Making {
  record: SessionRecord;
  outcome: MetaOutcome;
  options: MetaOptions;
}

interface Made {
  /** Undefined where the present one stays. */
  meta: SessionMeta | undefined;
  notes: Notes;
  reading: MetaReading;
}

async function makeMeta(session: Session, { record, outcome, options }: Making): Promise<Made> {
  const { meta, problem } = record;
  const { settings, gaveUp, force = false, restMs = 0, leafId, now = () => new Date() } = options;
  const noted = readNotes(record);
  const isResting = now().getTime() - (noted.failedAt ?? Number.NEGATIVE_INFINITY) < restMs;
  const complete = isResting ? undefined : options.complete;
  if (problem) outcome.warning = `${metaFile(options.paths, session)} is not usable: ${problem}`;
  outcome.name = meta?.name;
  const rules = readRules({ ...settings, exclude: currentExclude(options.paths, settings.exclude) });
  const { clean, hasText } = rules;
  const byRules = meta?.model === RULES;
  const read = (wantsWhole: boolean) => readForMeta(session, { record, wantsWhole, leafId, rules });
  let reading = read(force || (meta !== undefined && isCircumstantial(meta.name)));
  const newUsers = reading.newUsers + (byRules ? (noted.unasked ?? 0) : 0);
  const notes: Notes = { ...noted, newUsers };
  outcome.newUsers = newUsers;
  const isEnough = newUsers >= settings.minNewUserMessages;
  // Until enough was said for a model, rules name the session.
  const asksModel =
    complete && (isEnough || force || (byRules && noted.unasked === undefined)) ? complete : undefined;
  // What a model wrote is not replaced by rules because the model is away.
  const mayByRules = !meta || byRules || (isEnough && gaveUp !== undefined);
  const isDue = asksModel !== undefined || force || (mayByRules && reading.fresh.some(isSpokenOrDone));
  const made = { meta: undefined, notes, reading };
  if (isDue && meta && !byRules && gaveUp) {
    fail(outcome, gaveUp);
    return made;
  }
  // What rules made is no beginning for a model to go on from.
  if (asksModel && byRules && !reading.isWhole) reading = read(true);
  if (!isDue || !reading.entries.some(isSpokenOrDone)) return { ...made, reading };

  await nameOrigin(session, reading, options);
  const material = { session, reading, clean, meta, outcome, options: { ...options, complete: asksModel } };
  const summary = await summarize(material);
  if (asksModel && !options.signal?.aborted)
    notes.failedAt = outcome.error === undefined ? undefined : now().getTime();
  if (!summary) return { ...made, reading };
  const titles = readTitles(session);
  // What a rule makes is no better than the host's title; what a model makes is.
  const given = titles.given ?? noted.given ?? (summary.model === RULES ? titles.title : undefined);
  const name = given === undefined || hasText(given) ? summary.name : given;
  // A model that was there and had too little to go by is asked once there is enough.
  notes.unasked = summary.model === RULES && complete && !asksModel ? newUsers : undefined;
  notes.newUsers = notes.unasked ?? 0;
  const { entries } = reading;
  return {
    notes,
    reading,
    meta: assembled(session, { ...summary, name: clean(name) }, { entries, meta, now: now() }),
  };
}

/** Names the session that this one goes on with before it, so that its name is there to be told. */
async function nameOrigin(
  session: Session,
  reading: MetaReading,
  { paths, settings, dryRun }: MetaOptions,
): Promise<void> {
  const origin = dryRun ? undefined : findOrigin(session, reading);
  if (!origin || readMeta(metaFile(paths, origin)).meta) return;
  // Not waited for: whoever holds it may be waiting for this one.
  await indexMeta(origin, { paths, settings, lockWaitMs: 0 });
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

/** Makes a session's meta when it is due, under its file's lock, and notes what came of it. */

import { SessionMemoryError } from "../base/errors.ts";
import { givenTitle } from "../sessions/discovery.ts";
import { parentFile } from "../sessions/listing.ts";
import {
  META_SCHEMA_VERSION,
  metaFile,
  type ReadMeta,
  RULES,
  readMeta,
  type SessionMeta,
  updateMeta,
} from "../sessions/meta.ts";
import { currentExclude, isExcluded } from "../sessions/unlisted.ts";
import { recordWritten } from "../store/written-files.ts";
import { readHead } from "../transcripts/head.ts";
import { readRules } from "../transcripts/rules.ts";
import type { Entry, Session } from "../transcripts/session.ts";
import {
  fileMark,
  keepMetaState,
  type MetaReading,
  type MetaState,
  metaStateKey,
  readForMeta,
  readMetaState,
  transcriptMark,
} from "./meta-looks.ts";
import { fail, isSpoken, type MetaOptions, type MetaOutcome, summarize } from "./meta-words.ts";
import { isCircumstantial, type Summary } from "./summarize.ts";

/** Another process may be waiting for its model. */
const LOCK_WAIT_MS = 120_000;
/** Returns whether the last look shows, without opening a file, that nothing is due. */
export function isKnownNotDue(session: Session, options: MetaOptions): boolean {
  const { state, paths, settings, complete, force = false } = options;
  if (!state || force) return false;
  if (state.transcript !== transcriptMark(session) || state.meta !== fileMark(metaFile(paths, session)))
    return false;
  if (state.byRules && complete && state.unasked === undefined) return false;
  const isModelMade = state.meta !== "" && !state.byRules;
  return state.newUsers < settings.minNewUserMessages || (isModelMade && !complete);
}

/**
 * Makes a session's meta file when it is due.
 *
 * A model's failure is an outcome, not an exception, and leaves the present file as it is; where there is none yet, one
 * is made by rule.
 */
export async function indexMeta(session: Session, options: MetaOptions): Promise<MetaOutcome> {
  const outcome: MetaOutcome = {
    sessionId: session.id,
    status: "not-due",
    name: undefined,
    usd: 0,
    model: RULES,
  };
  const { paths, settings } = options;
  const file = metaFile(paths, session);
  const making: Omit<Making, "current"> = { outcome, seen: {}, options };
  // Asked again under the lock: whoever held it may have been forgetting the session.
  const isOut = () => isExcluded(session, { paths, exclude: currentExclude(paths, settings.exclude) });
  const waitMs = options.lockWaitMs ?? LOCK_WAIT_MS;
  // Under the lock too: the file's content is ours only if it is what we last noted.
  const done = (written: SessionMeta | undefined, content: string) => {
    // pi's lie outside the state folder
    if (written && session.agent === "pi")
      recordWritten(paths, { path: file, content, sessionId: session.id });
    if (isOut()) return;
    if (written) outcome.name = written.name;
    if (written && !outcome.error) outcome.status = "indexed";
    const state = { key: metaStateKey(session), transcript: transcriptMark(session), meta: fileMark(file) };
    const { newUsers = 0, byRules = false, name, failedAt, unasked } = making.seen;
    const given = outcome.name === name ? undefined : outcome.name;
    keepMetaState(options.paths, { ...state, newUsers, byRules, name, given, failedAt, unasked });
    making.reading?.end(written);
  };
  const make = (current: ReadMeta) =>
    isOut() ? undefined : makeMeta(session, Object.assign(making, { current }));
  try {
    if (options.dryRun) await make(readMeta(file));
    else await updateMeta(file, { waitMs, done }, make);
  } catch (error) {
    if (!(error instanceof SessionMemoryError) && !isSystemError(error)) throw error;
    fail(outcome, error);
  }
  return outcome;
}

interface Making {
  current: ReadMeta;
  outcome: MetaOutcome;
  /** Filled in for the bookkeeping. */
  seen: Partial<MetaState>;
  reading?: MetaReading;
  options: MetaOptions;
}

async function makeMeta(session: Session, making: Making): Promise<SessionMeta | undefined> {
  const { current, outcome, seen, options } = making;
  const { meta, problem } = current;
  const { settings, gaveUp, force = false, restMs = 0, now = () => new Date() } = options;
  const noted = readMetaState(options.paths, metaStateKey(session));
  const isResting = now().getTime() - (noted?.failedAt ?? Number.NEGATIVE_INFINITY) < restMs;
  const complete = isResting ? undefined : options.complete;
  if (problem) outcome.warning = `${metaFile(options.paths, session)} is not usable: ${problem}`;
  outcome.name = meta?.name;
  const rules = readRules({ ...settings, exclude: currentExclude(options.paths, settings.exclude) });
  const { clean, hasText } = rules;
  const byRules = meta?.model === RULES;
  const read = (wantsWhole: boolean) => {
    making.reading = readForMeta(session, {
      ...{ meta, wantsWhole, byRules, rules },
      store: options.store,
      leafId: options.leafId,
    });
    return making.reading;
  };
  let reading = read(force || (meta !== undefined && isCircumstantial(meta.name)));
  const newUsers = reading.newUsers + (byRules ? (noted?.unasked ?? 0) : 0);
  const own = meta && noted?.name;
  Object.assign(seen, { newUsers, byRules, name: own, failedAt: noted?.failedAt, unasked: noted?.unasked });
  outcome.newUsers = newUsers;
  const isEnough = newUsers >= settings.minNewUserMessages;
  // Until enough was said for a model, rules name the session.
  const asksModel =
    complete && (isEnough || force || (byRules && noted?.unasked === undefined)) ? complete : undefined;
  // What a model wrote is not replaced by rules because the model is away.
  const mayByRules = !meta || byRules || (isEnough && gaveUp !== undefined);
  const isDue = asksModel !== undefined || force || (mayByRules && reading.fresh.some(isSpokenOrDone));
  if (isDue && meta && !byRules && gaveUp) {
    fail(outcome, gaveUp);
    return undefined;
  }
  // What rules made is no beginning for a model to go on from.
  if (asksModel && byRules && !reading.isWhole) reading = read(true);
  if (!isDue || !reading.entries.some(isSpokenOrDone)) return undefined;

  const material = { session, reading, clean, meta, outcome, options: { ...options, complete: asksModel } };
  const made = await summarize(material);
  if (asksModel && !options.signal?.aborted)
    seen.failedAt = outcome.error === undefined ? undefined : now().getTime();
  if (!made) return undefined;
  const given = givenName(session, meta, own);
  const name = given === undefined || hasText(given) ? made.name : given;
  // Our own word for it: as long as the file has another one, that is the user's.
  const isEdited = given !== undefined && given === meta?.name;
  const word = isEdited ? own : made.name;
  // A model that was there and had too little to go by is asked once there is enough.
  const unasked = made.model === RULES && complete && !asksModel ? newUsers : undefined;
  Object.assign(seen, { newUsers: unasked ?? 0, byRules: made.model === RULES, name: word, unasked });
  return assembled(session, { ...made, name: clean(name) }, { entries: reading.entries, meta, now: now() });
}

/** Returns a name that the user gave: in the host, or by editing the meta file. */
function givenName(
  session: Session,
  meta: SessionMeta | undefined,
  own: string | undefined,
): string | undefined {
  const title = givenTitle(session);
  if (title !== undefined) return title;
  return meta && own !== undefined && meta.name !== own ? meta.name : undefined;
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

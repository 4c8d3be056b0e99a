/** Observes one session into its ledger file, under a lock, resumably, backing off after failures; or plans that for a dry run. */

import { describeError, SessionMemoryError } from "../base/errors.ts";
import { withLock } from "../base/locks.ts";
import type { ObserveSettings, PathsWithRules, Settings } from "../config/config.ts";
import type { Entry, Session } from "../hosts/session.ts";
import { standingSentences } from "../language/standing.ts";
import { type Notes, noteTaker } from "../model/configured-model.ts";
import { currentExclusion } from "../sessions/gate.ts";
import { isStillVisible, visibleSessionAt } from "../sessions/sessions.ts";
import type { Store } from "../store/store.ts";
import { statUnpacked } from "../transcripts/files.ts";
import type { Rules } from "../transcripts/rules.ts";
import { readActiveBranch } from "../transcripts/tree.ts";
import { appendLedgerFile, ledgerFile, noteAttempt, readBackoff, readLedger } from "./ledger.ts";
import { foldLedger, type Ledger, type LedgerRecord } from "./observations.ts";
import { isStepDue, type ObserveOptions, type ObserveOutcome, observe } from "./observe.ts";
import { isReflectionDue, type ReflectOutcome, reflect } from "./reflect.ts";
import { keepStanding, standingFor } from "./standing-marks.ts";
import { readStanding } from "./standing-rules.ts";

/** The means to observe. */
type Means = Pick<ObserveOptions, "complete" | "signal" | "onStep">;

export interface SessionContext extends Means {
  paths: PathsWithRules;
  settings: Settings;
  /** The time to wait for another observer of this session. @default {0} */
  waitMs?: number | undefined;
}

/** The work on a session, in this order. */
export interface Steps {
  /** The part that is observed, and then reflected on if that is due. @default none */
  when?: ObserveOptions["when"];
  /** Reflects now, whatever the ledger's size, and keeps what the focus names. */
  reflecting?: { focus?: string | undefined } | undefined;
}

export interface SessionOutcome {
  /** `backing-off`: the last attempts failed. */
  status: "observed" | "nothing" | "failed" | "backing-off";
  observed?: ObserveOutcome | undefined;
  /** Left out where something else was to be done before. */
  reflected?: ReflectOutcome | undefined;
  reason?: string | undefined;
}

type Running = SessionMemoryState &
  Means &
  Steps &
  Pick<ObserveOptions, "append" | "rowIds" | "shouldStop"> & {
    /** True to keep nothing. @default {false} */
    isTrial?: boolean;
    /** Called between observing and reflecting. */
    onObserved?: (observed: ObserveOutcome) => void | Promise<void>;
  };

/**
 * Observes a session into its ledger file, and reflects on it. Two at once take turns: the second waits, and goes on from where
 * the first left off.
 *
 * @throws {SessionMemoryError} `BUSY` when it waited in vain, `VALIDATION_ERROR` for a session that config.json keeps out.
 */
export async function observeSession(
  session: Session,
  options: SessionContext & Steps,
): Promise<SessionOutcome> {
  const { paths, waitMs = 0 } = options;
  const file = ledgerFile(paths, session.id);
  const append = (record: LedgerRecord) => appendLedgerFile(file, record);
  return await withLock(`${file}.lock`, waitMs, () => {
    // Its last holder may have been `forget`.
    if (!isStillVisible(session, paths)) {
      const message = "Cannot observe: config.json keeps this session out";
      throw new SessionMemoryError("VALIDATION_ERROR", message, { hint: 'see "exclude" in config.json' });
    }
    return runSteps({ ...options, ...readSessionMemory(session, options), append });
  });
}

/** Keeps the standing rules of a session, and observes nothing. */
export async function keepRules(session: Session, options: MemoryOptions): Promise<void> {
  await keepStanding(readSessionMemory(session, options));
}

/** Keeps the standing rules of sessions that were indexed since a time: no hook may have followed them. */
export async function keepFound(
  db: Store,
  { since, ...options }: MemoryOptions & { since: string },
): Promise<void> {
  const rows = db.all(
    `SELECT s.file, r.text FROM index_state i JOIN own_sessions s ON s.number = i.session JOIN rows r ON r.session = s.number
       WHERE i.last_indexed >= ? AND r.who = 'user' AND r.tool IS NULL AND s.parent_id IS NULL`,
    since,
  );
  // rows may have lost what they were marked for
  const marked = new Set(readStanding(options.paths).marks.map(({ file }) => file));
  const telling = rows.filter(
    ({ file, text }) => marked.has(String(file)) || standingSentences(String(text)).length > 0,
  );
  for (const file of new Set(telling.map(({ file }) => String(file)))) {
    const session = visibleSessionAt(file, options.paths);
    if (session) await keepRules(session, options);
  }
}

/** Returns the calls that a model would get. */
export async function planSession(session: Session, options: SessionContext & Steps): Promise<Notes> {
  const { complete, notes } = noteTaker("plan", ({ prompt }) => answerTo(prompt));
  const state = readSessionMemory(session, options);
  await runSteps({ ...options, ...state, complete, append() {}, isTrial: true });
  return notes;
}

/** Observes a conversation, keeps its standing rules, notes a failure for the next attempt, and reflects where that is due. */
export async function runSteps(options: Running): Promise<SessionOutcome> {
  const { session, paths, when, reflecting, isTrial = false } = options;
  const reflectOn = (ledger: Ledger) =>
    reflect({ ...options, ...reflecting, ledger, force: reflecting !== undefined });
  if (!when) return { status: "nothing", reflected: await reflectOn(options.ledger) };
  const backoff = readBackoff(paths, session.id);
  const isBackingOff = backoff !== undefined && Date.now() < backoff.notBefore;
  if (when === "due" && (isBackingOff || !isDue(options))) {
    await keepStanding(options); // an explicit rule waits for no step
    return isBackingOff ? { status: "backing-off", reason: backoff.reason } : { status: "nothing" };
  }
  const note = (failure: string | undefined) => {
    if (!isTrial && (failure ?? backoff)) noteAttempt(paths, session.id, failure);
  };
  const standing = options.complete && (await standingFor(session, paths)).map(({ mark }) => mark);
  const observed = await observe({ ...options, standing, failures: backoff?.failures }).catch((error) => {
    note(describeError(error)); // what cannot be kept was paid for: the next turn does not pay again at once
    throw error;
  });
  const { failure: reason, ledger } = observed;
  note(reason);
  if (!isTrial) await keepStanding({ ...options, ledger });
  await options.onObserved?.(observed);
  const isNew = observed.steps > 0 || when === "again";
  const status = reason !== undefined ? "failed" : isNew ? "observed" : "nothing";
  const isStopped = options.shouldStop?.() || options.signal?.aborted;
  return { status, observed, reason, ...(!isStopped && { reflected: await reflectOn(ledger) }) };
}

function isDue({ entries, ledger, settings }: SessionMemoryState): boolean {
  const memory = foldLedger(ledger);
  const { mode, reflectorTokens } = settings;
  return (
    mode === "buffered" && (isStepDue(entries, memory, settings) || isReflectionDue(memory, reflectorTokens))
  );
}

/** Matches the first line that an observer's prompt asks about. */
const FIRST_LINE = /<new-conversation>\n\[(\d+)\]/g;

/** Answers in place of a model. A reflection that keeps nothing is refused, so it changes nothing. */
function answerTo(prompt: string): object {
  const sources = [...prompt.matchAll(FIRST_LINE)].map(([, line]) => Number(line));
  return { observations: sources.map((line) => ({ priority: "green", text: "observed", sources: [line] })) };
}

/** A session with everything that its memory is made of. */
export interface SessionMemoryState {
  session: Session;
  paths: PathsWithRules;
  /** The conversation with tool results. */
  entries: Entry[];
  ledger: Ledger;
  /** Damaged lines of the ledger file. */
  skipped: number;
  settings: ObserveSettings;
  /** IANA name. */
  timezone: string | undefined;
}

interface MemoryOptions {
  paths: PathsWithRules;
  settings: Settings;
  /** The row that the host is at, where that may be another than the file's last. */
  leafId?: string | undefined;
}

/** The largest transcript whose results are held whole; of a larger one their ends are, so that memory holds them. */
const LARGE_BYTES = 128 * 1024 * 1024;

/** Reads a session and its ledger, without the texts that config.json keeps out. */
export function readSessionMemory(
  session: Session,
  { paths, settings, leafId }: MemoryOptions,
): SessionMemoryState {
  const rules = currentExclusion(paths);
  const entries = readConversation(session, { leafId, rules });
  const { ledger, skipped } = readLedger(session, { paths, rules, entries, leafId });
  const { timezone } = settings;
  return { session, paths, entries, ledger, skipped, settings: settings.observe, timezone };
}

function readConversation(
  { file, parentId }: Session,
  { leafId, rules }: Pick<MemoryOptions, "leafId"> & { rules: Rules },
): Entry[] {
  if (file === "") return []; // the host deleted it, the ledger is left
  const results = (statUnpacked(file)?.size ?? 0) > LARGE_BYTES ? "ends" : true;
  return readActiveBranch(file, { rules, results, leafId, parentId });
}

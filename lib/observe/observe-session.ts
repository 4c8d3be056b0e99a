/** Observes one session into its ledger file, under a lock, resumably, backing off after failures; or plans that for a dry run. */

import { describeError, hasCode, SessionMemoryError } from "../base/errors.ts";
import { scrub } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import type { ObserveSettings, PathsWithRules, Settings } from "../config/config.ts";
import { statUnpacked } from "../hosts/packed.ts";
import type { Entry, Session } from "../hosts/session.ts";
import type { CompleteJson } from "../model/answers.ts";
import { type Notes, noteTaker } from "../model/configured-model.ts";
import { redactor } from "../redact/redact.ts";
import { currentExclusion } from "../sessions/gate.ts";
import { isStillVisible } from "../sessions/sessions.ts";
import type { Rules } from "../transcripts/rules.ts";
import { sessionCleaner } from "../transcripts/transcript.ts";
import { readActiveBranch } from "../transcripts/tree.ts";
import {
  appendLedgerFile,
  ledgerFile,
  noteAttempt,
  observeSettings,
  parseLedgerRecord,
  readBackoff,
  readLedger,
  redactLedger,
} from "./ledger.ts";
import { foldLedger, type Ledger, type LedgerRecord } from "./observations.ts";
import { isStepDue, type ObserveOptions, type ObserveOutcome, observe } from "./observe.ts";
import { isReflectionDue, type ReflectOutcome, reflect } from "./reflect.ts";
import { keepStanding, standingFor } from "./standing-marks.ts";

export interface SessionContext {
  paths: PathsWithRules;
  settings: Settings;
  /** The model. Without one, rules observe. */
  complete?: CompleteJson | undefined;
  signal?: AbortSignal | undefined;
  /** The time to wait for another observer of this session. @default {0} */
  waitMs?: number | undefined;
  /** @default {Date.now} */
  now?: (() => number) | undefined;
  /** Called before each step with the messages covered and to cover. */
  onStep?: ((done: number, total: number) => void) | undefined;
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
  reflected?: ReflectOutcome | undefined;
  reason?: string | undefined;
}

/**
 * Observes a session and reflects on it. Two at once take turns: the second waits, and goes on from where the first left off.
 *
 * @throws {SessionMemoryError} `BUSY` when it waited in vain, `VALIDATION_ERROR` for a session that config.json keeps out.
 */
export async function observeSession(
  session: Session,
  options: SessionContext & Steps,
): Promise<SessionOutcome> {
  const { paths, when, now = Date.now } = options;
  const backoff = readBackoff(paths, session.id);
  if (when === "due" && backoff && now() < backoff.notBefore)
    return { status: "backing-off", reason: backoff.reason };
  const append = (record: LedgerRecord) => appendLedgerFile(ledgerFile(paths, session.id), record);
  return await locked(session, options, async (state): Promise<SessionOutcome> => {
    if (when !== "due" || isDue(state)) return await takeSteps(state, { ...options, append, backoff });
    await keepStanding(session, { paths, ...state }); // an explicit rule waits for no step
    return { status: "nothing" };
  });
}

/** Takes the same steps without keeping anything, and returns what a model would have been sent. */
export async function planSession(session: Session, options: SessionContext & Steps): Promise<Notes> {
  const { complete, notes } = noteTaker("plan", ({ prompt }) => answerTo(prompt));
  const backoff = readBackoff(options.paths, session.id);
  const plan = { ...options, complete, backoff, append() {}, isPlan: true };
  await takeSteps(readSessionMemory(session, options), plan);
  return notes;
}

type Taking = SessionContext & Steps & Pick<RunOptions, "append" | "backoff" | "isPlan">;

async function takeSteps(state: SessionMemoryState, options: Taking): Promise<SessionOutcome> {
  const { session, entries, ledger } = state;
  const { paths, settings, when, reflecting, ...how } = options;
  const redact = redactor(settings.redact.extra);
  const context = { ...how, ledger, settings: state.settings, timezone: settings.timezone, redact };
  const made = when && (await runObserver(session, { ...context, paths, entries, when }));
  const { observed, reflected } = made ?? {};
  const { failure: reason, steps = 0 } = observed ?? {};
  const isNew = steps > 0 || when === "again";
  const status = reason !== undefined ? "failed" : isNew ? "observed" : "nothing";
  if (!reflecting) return { status, observed, reflected, reason };
  const before = (reflected ?? observed ?? state).ledger;
  const again = await reflect({ ...context, ...reflecting, ledger: before, force: true });
  return { status, observed, reflected: again, reason };
}

function isDue({ entries, ledger, settings }: SessionMemoryState): boolean {
  const memory = foldLedger(ledger);
  const { mode, reflectorTokens } = settings;
  return (
    mode === "buffered" && (isStepDue(entries, memory, settings) || isReflectionDue(memory, reflectorTokens))
  );
}

interface RunOptions extends Omit<ObserveOptions, "standing" | "failures"> {
  paths: PathsWithRules;
  /** The failed attempts so far. */
  backoff: ReturnType<typeof readBackoff>;
  /** True to keep nothing. @default {false} */
  isPlan?: boolean | undefined;
  /** @default {Date.now} */
  now?: (() => number) | undefined;
  /** Called between observing and reflecting. */
  onObserved?: ((observed: ObserveOutcome) => void | Promise<void>) | undefined;
}

/**
 * Observes a conversation into the ledger that `append` writes, keeps what is laid down in it, notes a failure for the next
 * attempt, and reflects where that is due.
 */
export async function runObserver(
  session: Session,
  { paths, backoff, isPlan = false, now = Date.now, onObserved, ...options }: RunOptions,
): Promise<{ observed: ObserveOutcome; reflected?: ReflectOutcome }> {
  const note = (failure: string | undefined) => {
    if (!isPlan) noteAttempt(paths, { sessionId: session.id, failure, now: now() });
  };
  const standing = options.complete ? await knownTo(session, paths) : undefined;
  const observed = await observe({ ...options, standing, failures: backoff?.failures }).catch((error) => {
    note(describeError(error)); // what cannot be kept was paid for: the next turn does not pay again at once
    throw error;
  });
  const { failure, ledger } = observed;
  if (failure !== undefined || backoff) note(failure);
  if (!isPlan) await keepStanding(session, { paths, entries: options.entries, ledger });
  await onObserved?.(observed);
  if (options.shouldStop?.() || options.signal?.aborted) return { observed };
  return { observed, reflected: await reflect({ ...options, ledger }) };
}

/** Returns the rules that a session's observer may name. */
async function knownTo(session: Session, paths: PathsWithRules) {
  return (await standingFor(session, paths)).map(({ mark: { id, words } }) => ({ id, words }));
}

async function locked<T>(
  session: Session,
  options: SessionContext,
  work: (state: SessionMemoryState) => Promise<T>,
): Promise<T> {
  const { paths, waitMs = 0 } = options;
  try {
    return await withLock(`${ledgerFile(paths, session.id)}.lock`, waitMs, () => {
      // Its last holder may have been `forget`.
      if (!isStillVisible(session, paths)) {
        const message = "Cannot observe: config.json keeps this session out";
        throw new SessionMemoryError("VALIDATION_ERROR", message, { hint: 'see "exclude" in config.json' });
      }
      return work(readSessionMemory(session, options));
    });
  } catch (error) {
    if (error instanceof SessionMemoryError && error.type === "BUSY") {
      const message = "Cannot observe: another observer is working on this session";
      throw new SessionMemoryError("BUSY", message, { recoverable: true, hint: "wait for it to end" });
    }
    if (hasCode(error, "ENOENT") && statUnpacked(session.file) === undefined) {
      const message = `Cannot read "${session.file}": it is gone`;
      throw new SessionMemoryError("NOT_FOUND", message, { cause: error });
    }
    throw error;
  }
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
  /** The conversation with tool results. */
  entries: Entry[];
  ledger: Ledger;
  /** Damaged lines of the ledger file. */
  skipped: number;
  settings: ObserveSettings;
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
  const rules = currentExclusion({ paths, settings });
  const entries = readConversation(session, { leafId, rules });
  const { ledger: stored, skipped } = readLedger(session, { paths, rules, entries, leafId });
  // The session's own file still holds what config.json excludes: it is left out here.
  const shown = rules.hasPatterns
    ? stored.flatMap((record) => parseLedgerRecord(scrub(record, rules.hasText).value) ?? [])
    : stored;
  const ledger = redactLedger(shown, sessionCleaner(session.file, rules));
  const observing = observeSettings(paths, settings.observe);
  return { session, entries, ledger, skipped, settings: observing };
}

function readConversation(
  { file, parentId }: Session,
  { leafId, rules }: Pick<MemoryOptions, "leafId"> & { rules: Rules },
): Entry[] {
  if (file === "") return []; // the host deleted it, the ledger is left
  const results = (statUnpacked(file)?.size ?? 0) > LARGE_BYTES ? "ends" : true;
  return readActiveBranch(file, { rules, results, leafId, parentId });
}

/** Observes one session into its ledger file, under a lock, resumably, backing off after failures; or plans it for a dry run. */

import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
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
import { copyDatabase } from "../store/store.ts";
import type { Rules } from "../transcripts/rules.ts";
import { sessionCleaner } from "../transcripts/transcript.ts";
import { readActiveBranch } from "../transcripts/tree.ts";
import {
  appendLedgerFile,
  ledgerFile,
  noteAttempt,
  OVERRIDES,
  observeSettings,
  parseLedgerRecord,
  readBackoff,
  readLedger,
  redactLedger,
} from "./ledger.ts";
import { foldLedger, type Ledger, type LedgerRecord } from "./observations.ts";
import { isStepDue, type ObserveOptions, type ObserveOutcome, observe, reobserve } from "./observe.ts";
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

export interface SessionOutcome {
  /** `backing-off`: the last attempts failed. */
  status: "observed" | "nothing" | "failed" | "backing-off";
  observed?: ObserveOutcome | undefined;
  reflected?: ReflectOutcome | undefined;
  reason?: string | undefined;
}

/**
 * Observes a session, and reflects when that is due. Two at once take turns: the second waits, and goes on from where
 * the first left off.
 *
 * @throws {SessionMemoryError} `BUSY` when it waited in vain, `VALIDATION_ERROR` for a session that config.json keeps out.
 */
export async function observeSession(
  session: Session,
  options: SessionContext & { when?: "due" | "all" | undefined },
): Promise<SessionOutcome> {
  const { paths, when = "due", now = Date.now } = options;
  const backoff = readBackoff(paths, session.id);
  if (when === "due" && backoff && now() < backoff.notBefore)
    return { status: "backing-off", reason: backoff.reason };
  return await locked(session, options, async (state): Promise<SessionOutcome> => {
    const { entries, ledger, settings } = state;
    if (when === "due") {
      const memory = foldLedger(ledger);
      const isDue = isStepDue(entries, memory, settings) || isReflectionDue(memory, settings.reflectorTokens);
      if (settings.mode !== "buffered" || !isDue) {
        // an explicit rule waits for no step
        await keepStanding(session, { paths, entries, ledger });
        return { status: "nothing" };
      }
    }
    const context = { ...makeContext(state, options), entries, backoff, when, now };
    const { observed, reflected } = await runObserver(session, { ...context, paths });
    const { failure } = observed;
    const status = failure !== undefined ? "failed" : observed.steps > 0 ? "observed" : "nothing";
    return { status, observed, reflected, reason: failure };
  });
}

interface RunOptions extends Omit<ObserveOptions, "standing"> {
  paths: PathsWithRules;
  /** The failed attempts so far. */
  backoff: ReturnType<typeof readBackoff>;
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
  { paths, backoff, now = Date.now, onObserved, ...options }: RunOptions,
): Promise<{ observed: ObserveOutcome; reflected?: ReflectOutcome }> {
  const standing = options.complete ? await knownTo(session, paths) : undefined;
  const observed = await observe({ ...options, standing, failures: backoff?.failures }).catch((error) => {
    // What cannot be kept was paid for: the next turn does not pay again at once.
    noteAttempt(paths, { sessionId: session.id, failure: describeError(error), now: now() });
    throw error;
  });
  const { failure, ledger } = observed;
  if (failure !== undefined || backoff) noteAttempt(paths, { sessionId: session.id, failure, now: now() });
  await keepStanding(session, { paths, entries: options.entries, ledger });
  await onObserved?.(observed);
  if (options.shouldStop?.() || options.signal?.aborted) return { observed };
  return { observed, reflected: await reflect({ ...options, ledger }) };
}

/** Returns the rules that a session's observer may name. */
async function knownTo(session: Session, paths: PathsWithRules) {
  return (await standingFor(session, paths)).map(({ mark: { id, words } }) => ({ id, words }));
}

/** Reflects on a session's ledger now, whatever its size. Throws as `observeSession` does. */
export async function reflectSession(
  session: Session,
  options: SessionContext & { focus?: string | undefined },
): Promise<ReflectOutcome> {
  return await locked(session, options, (state) =>
    reflect({ ...makeContext(state, options), force: true, focus: options.focus }),
  );
}

/** Observes a whole session again, and drops what its ledger held once that has succeeded. Throws as `observeSession` does. */
export async function reobserveSession(session: Session, options: SessionContext): Promise<SessionOutcome> {
  return await locked(session, options, async (state): Promise<SessionOutcome> => {
    const { paths } = options;
    const { entries } = state;
    const standing = options.complete ? await knownTo(session, paths) : undefined;
    const observed = await reobserve({ ...makeContext(state, options), entries, standing });
    await keepStanding(session, { paths, entries, ledger: observed.ledger });
    if (observed.failure !== undefined) return { status: "failed", observed, reason: observed.failure };
    noteAttempt(paths, { sessionId: session.id, failure: undefined, now: 0 });
    return { status: "observed", observed };
  });
}

function makeContext(
  { session, ledger, settings: observing }: SessionMemoryState,
  { paths, settings, complete, signal, onStep }: SessionContext,
) {
  const append = (record: LedgerRecord) => appendLedgerFile(ledgerFile(paths, session.id), record);
  const redact = redactor(settings.redact.extra);
  const { timezone } = settings;
  return { ledger, settings: observing, timezone, redact, append, complete, signal, onStep };
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

/** Runs work on a throw-away copy of a session's memory and returns what a model would have been sent. */
export async function planObserving(
  session: { id: string },
  paths: PathsWithRules,
  work: (context: { paths: PathsWithRules; complete: CompleteJson }) => Promise<unknown>,
): Promise<Notes> {
  const folder = mkdtempSync(join(tmpdir(), "session-memory-plan-"));
  try {
    for (const file of [ledgerFile(paths, session.id), join(paths.observations, OVERRIDES)]) {
      if (existsSync(file)) copyFileSync(file, join(folder, basename(file)));
    }
    const state = join(folder, "state.db");
    copyDatabase(paths.state, state);
    const { complete, notes } = noteTaker("plan", ({ prompt }) => answerTo(prompt));
    await work({ paths: { ...paths, observations: folder, state }, complete });
    return notes;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

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

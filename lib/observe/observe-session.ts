/** Observing one session into its ledger file: locked, resumable, backing off after failures. */

import { statSync } from "node:fs";
import { hasCode, SessionMemoryError } from "../base/errors.ts";
import { scrub } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import type { Paths, Settings } from "../config/config.ts";
import type { CompleteJson } from "../model/answers.ts";
import { compilePatterns, redact } from "../redact/redact.ts";
import { currentExclude, isKeptOut } from "../sessions/kept-out.ts";
import { type Rules, readRules } from "../transcripts/rules.ts";
import type { Entry, Session } from "../transcripts/session.ts";
import { readActiveBranch } from "../transcripts/transcript.ts";
import { type LeanConversation, readLean } from "./lean-conversation.ts";
import { appendLedgerFile, ledgerFile, readLedger } from "./ledger.ts";
import { parseLedgerRecord, redactLedger } from "./ledger-record.ts";
import { foldLedger, type Ledger, type LedgerRecord } from "./observations.ts";
import { isStepDue, type ObserveOutcome, type ObserveSettings, observe, observeAnew } from "./observe.ts";
import { type Backoff, noteAttempt, observeSettings, readBackoff } from "./observe-state.ts";
import { type ReflectOutcome, reflect } from "./reflect.ts";
import { isReflectionDue } from "./reflect-rules.ts";

export interface SessionContext {
  paths: Paths;
  settings: Settings;
  /** The model. Without one, rules observe. */
  complete?: CompleteJson | undefined;
  signal?: AbortSignal | undefined;
  /** How long to wait for another observer of this session. @default {0} */
  waitMs?: number | undefined;
  /** @default {Date.now} */
  now?: (() => number) | undefined;
  /** Told of each step: messages covered, and how many there are to cover. */
  onStep?: ((done: number, total: number) => void) | undefined;
}

/** A session with all that its memory is made of. */
export interface SessionMemoryState {
  session: Session;
  /** The conversation as it stands, tool results included. */
  entries: Entry[];
  ledger: Ledger;
  /** Lines of the ledger file that were no records. */
  skipped: number;
  /** False when the transcript is so large that its rest comes only when this much is covered. */
  isWhole: boolean;
  settings: ObserveSettings;
}

export interface SessionOutcome {
  /** `backing-off`: the last attempts failed; `busy`: another observer is at it; `excluded`: config.json says so. */
  status: "observed" | "nothing" | "failed" | "busy" | "backing-off" | "excluded";
  observed?: ObserveOutcome | undefined;
  reflected?: ReflectOutcome;
  reason?: string;
  /** Whether a huge transcript has more to observe. */
  isPartial?: boolean;
}

/** A transcript larger than this is read lean. */
const LEAN_BYTES = 128 * 1024 * 1024;

/**
 * Reads a session and its ledger, without the texts that config.json keeps out. `leafId`: the row that its host stands
 * at, where that may be another than the file's last.
 */
export function readSessionMemory(
  session: Session,
  { paths, settings, leafId }: Pick<SessionContext, "paths" | "settings"> & { leafId?: string | undefined },
): SessionMemoryState {
  const exclude = currentExclude(paths, settings.exclude);
  const rules = readRules({ ...settings, exclude });
  const hasPatterns = exclude.patterns.length > 0;
  const { entries, isWhole } = readConversation(session, { paths, rules, leafId });
  const { ledger: stored, skipped } = readLedger(session, { paths, entries, leafId });
  // What pi holds in its own file is not ours to take out there.
  const shown = hasPatterns
    ? stored.flatMap((record) => parseLedgerRecord(scrub(record, rules.hasText).value) ?? [])
    : stored;
  const ledger = redactLedger(shown, compilePatterns(settings.redact.extra));
  return { session, entries, ledger, skipped, isWhole, settings: observeSettings(paths, settings.observe) };
}

/** pi's huge files are images, which no entry holds; elsewhere they are text. */
function readConversation(
  session: Session,
  { paths, rules, leafId }: { paths: Paths; rules: Rules; leafId: string | undefined },
): LeanConversation {
  if (session.file === "") return { entries: [], isWhole: true }; // the host deleted it, the ledger is left
  const size = statSync(session.file).size;
  if (session.agent === "pi" || size <= LEAN_BYTES) {
    return {
      entries: readActiveBranch(session.file, { rules, results: true, leafId }).entries,
      isWhole: true,
    };
  }
  const { ledger } = readLedger(session, { paths, entries: [] });
  return readLean(session.file, { rules, covered: foldLedger(ledger).covered });
}

/**
 * Observes a session, and reflects when that is due. Two at once on one session: the second finds it `busy`, or waits
 * and goes on from where the first left off.
 */
export async function observeSession(
  session: Session,
  options: SessionContext & { when?: "due" | "all" | undefined; maxSteps?: number | undefined },
): Promise<SessionOutcome> {
  const { paths, settings, when = "due", now = Date.now } = options;
  if (isKeptOut(session, { paths, exclude: settings.exclude })) return { status: "excluded" };
  const backoff = readBackoff(paths, session.id);
  if (when === "due" && backoff && now() < backoff.notBefore)
    return { status: "backing-off", reason: backoff.reason };
  return await locked(session, options, async (): Promise<SessionOutcome> => {
    let outcome = await observeOnce(session, { ...options, when, backoff });
    while (outcome.isPartial && outcome.status === "observed") {
      const next = await observeOnce(session, { ...options, when, backoff });
      if (next.status === "nothing") break;
      outcome = { ...next, observed: added(outcome.observed, next.observed) };
    }
    return outcome;
  });
}

function added(
  before: ObserveOutcome | undefined,
  after: ObserveOutcome | undefined,
): ObserveOutcome | undefined {
  if (!before || !after) return after;
  return {
    ...after,
    steps: before.steps + after.steps,
    observations: before.observations + after.observations,
    tokens: before.tokens + after.tokens,
    usd: before.usd === null || after.usd === null ? null : before.usd + after.usd,
  };
}

type OnceOptions = SessionContext & {
  when: "due" | "all";
  maxSteps?: number | undefined;
  backoff: Backoff | undefined;
};

async function observeOnce(session: Session, options: OnceOptions): Promise<SessionOutcome> {
  const { paths, when, backoff, now = Date.now } = options;
  const state = readSessionMemory(session, options);
  const memory = foldLedger(state.ledger);
  const isDue = when === "all" || isStepDue(state.entries, memory, state.settings);
  if (!isDue && !isReflectionDue(memory, state.settings.reflectorTokens)) return { status: "nothing" };
  const context = {
    ...contextOf(state, options),
    failures: backoff?.failures,
    maxSteps: options.maxSteps,
    when,
  };
  const observed = await observe({ ...context, entries: state.entries });
  if (observed.failure !== undefined || backoff) {
    noteAttempt(paths, { sessionId: session.id, failure: observed.failure, now: now() });
  }
  const reflected = await reflect({ ...context, ledger: observed.ledger });
  const status = observed.failure !== undefined ? "failed" : observed.steps > 0 ? "observed" : "nothing";
  const isPartial = !state.isWhole && options.maxSteps === undefined;
  return {
    status,
    observed,
    reflected,
    isPartial,
    ...(observed.failure ? { reason: observed.failure } : {}),
  };
}

/** Reflects on a session's ledger now, whatever its size. */
export async function reflectSession(
  session: Session,
  options: SessionContext & { focus?: string | undefined },
): Promise<SessionOutcome> {
  return await locked(session, options, async (): Promise<SessionOutcome> => {
    const state = readSessionMemory(session, options);
    const reflected = await reflect({ ...contextOf(state, options), force: true, focus: options.focus });
    return { status: "observed", reflected };
  });
}

/**
 * An outcome that somebody waits for.
 *
 * @throws {SessionMemoryError} `BUSY` or, for a session that config.json keeps out, `VALIDATION_ERROR`.
 */
export function orThrow(outcome: SessionOutcome): SessionOutcome {
  if (outcome.status === "busy") {
    throw new SessionMemoryError("BUSY", "Cannot observe: another observer of this session is at it", {
      recoverable: true,
      hint: "wait for it to end",
    });
  }
  if (outcome.status === "excluded") {
    throw new SessionMemoryError("VALIDATION_ERROR", "Cannot observe: config.json keeps this session out", {
      hint: 'see "exclude" in config.json',
    });
  }
  return outcome;
}

/** Observes a whole session again, and drops what its ledger held once that has succeeded. */
export async function observeSessionAnew(session: Session, options: SessionContext): Promise<SessionOutcome> {
  return await locked(session, options, async (): Promise<SessionOutcome> => {
    const state = readSessionMemory(session, options);
    const observed = await observeAnew({ ...contextOf(state, options), entries: state.entries });
    if (observed.failure !== undefined) return { status: "failed", observed, reason: observed.failure };
    noteAttempt(options.paths, { sessionId: session.id, failure: undefined, now: 0 });
    return { status: "observed", observed };
  });
}

function contextOf(state: SessionMemoryState, { paths, settings, complete, signal, onStep }: SessionContext) {
  const patterns = compilePatterns(settings.redact.extra);
  const file = ledgerFile(paths, state.session.id);
  return {
    ledger: state.ledger,
    settings: state.settings,
    timezone: settings.timezone,
    redact: (text: string) => redact(text, patterns),
    append: (record: LedgerRecord) => appendLedgerFile(file, record),
    complete,
    signal,
    onStep,
  };
}

async function locked(
  session: Session,
  { paths, settings, waitMs = 0 }: SessionContext,
  work: () => Promise<SessionOutcome>,
): Promise<SessionOutcome> {
  // Asked under the lock: whoever held it may have been forgetting the session.
  const isOut = () => isKeptOut(session, { paths, exclude: currentExclude(paths, settings.exclude) });
  try {
    return await withLock(`${ledgerFile(paths, session.id)}.lock`, waitMs, () =>
      isOut() ? { status: "excluded" } : work(),
    );
  } catch (error) {
    if (error instanceof SessionMemoryError && error.type === "BUSY")
      return { status: "busy", reason: error.message };
    if (hasCode(error, "ENOENT")) {
      throw new SessionMemoryError("NOT_FOUND", `Cannot read "${session.file}": it is gone`, {
        cause: error,
      });
    }
    throw error;
  }
}

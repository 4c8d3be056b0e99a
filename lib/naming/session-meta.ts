/**
 * Makes a session's meta: whether it is due, what of the conversation is read for it, and whose words it is made of (a
 * model's where there is one, else the session's own by rule).
 */

import { SessionMemoryError } from "../base/errors.ts";
import { formatLocal } from "../base/time.ts";
import type { Paths, Settings } from "../config/config.ts";
import type { CompleteJson } from "../model/answers.ts";
import { oneLine } from "../redact/redact.ts";
import { givenTitle } from "../sessions/ends.ts";
import { currentExclude, isKeptOut } from "../sessions/kept-out.ts";
import {
  META_SCHEMA_VERSION,
  metaFile,
  type ReadMeta,
  RULES,
  type SessionMeta,
  updateMeta,
} from "../sessions/meta.ts";
import { parentFile } from "../sessions/parents.ts";
import { recordWritten } from "../store/written-files.ts";
import { tidyName } from "../transcripts/clean.ts";
import { readRules } from "../transcripts/rules.ts";
import type { Entry, Session } from "../transcripts/session.ts";
import { readActiveBranch, readHead } from "../transcripts/transcript.ts";
import { conversationText } from "./conversation.ts";
import { fail, type MetaOutcome } from "./meta-outcome.ts";
import {
  appendMetaState,
  fileMark,
  type MetaState,
  metaStateKey,
  readMetaState,
  transcriptMark,
} from "./meta-state.ts";
import { isCircumstantial, type Summary, summarizeByRule } from "./summarize.ts";

/** What a model reads of a conversation: about 12,000 tokens. */
const INPUT_MAX_BYTES = 48_000;
const PREVIOUS_MAX_CHARS = 4000;
/** Another process may be waiting for its model. */
const LOCK_WAIT_MS = 120_000;
const DESCRIPTION_CHARS = 300;
const SUMMARY_CHARS = 4000;
const TAG_CHARS = 40;
const TAGS_MAX = 5;

export interface MetaOptions {
  paths: Paths;
  settings: Pick<Settings, "minNewUserMessages" | "timezone" | "redact" | "exclude">;
  /** The model; without one the meta is made by rule. */
  complete?: CompleteJson | undefined;
  /** Whether it is made although it is not due. @default {false} */
  force?: boolean;
  /** The last look at this session, if any. */
  state?: MetaState | undefined;
  /** How long another process may hold the file. @default {120000} */
  lockWaitMs?: number;
  /** How long a session is left alone at which a model failed; for work that nobody waits for. @default {0} */
  restMs?: number;
  /** Why the model that there was is no longer asked: what it made before is kept. */
  gaveUp?: SessionMemoryError | undefined;
  signal?: AbortSignal | undefined;
  now?: () => Date;
}

/** Whether the last look tells without opening a file that nothing is due. */
export function isKnownNotDue(session: Session, options: MetaOptions): boolean {
  const { state, paths, settings, complete, force = false } = options;
  if (!state || force) return false;
  if (state.transcript !== transcriptMark(session) || state.meta !== fileMark(metaFile(paths, session)))
    return false;
  if (state.byRules && complete) return false;
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
  const seen: Partial<MetaState> = {};
  // Asked again under the lock: whoever held it may have been forgetting the session.
  const isOut = () => isKeptOut(session, { paths, exclude: currentExclude(paths, settings.exclude) });
  const waitMs = options.lockWaitMs ?? LOCK_WAIT_MS;
  // Under the lock too: what stands in the file is ours exactly when it is what we last noted.
  const done = (written: SessionMeta | undefined, content: string) => {
    // pi's lie outside the state folder
    if (written && session.agent === "pi")
      recordWritten(paths, { path: file, content, sessionId: session.id });
    if (isOut()) return;
    if (written) outcome.name = written.name;
    if (written && !outcome.error) outcome.status = "indexed";
    const state = { key: metaStateKey(session), transcript: transcriptMark(session), meta: fileMark(file) };
    const { newUsers = 0, byRules = false, name, failedAt } = seen;
    const given = outcome.name === name ? undefined : outcome.name;
    appendMetaState(options.paths.home, { ...state, newUsers, byRules, name, given, failedAt });
  };
  try {
    await updateMeta(file, { waitMs, done }, (current) =>
      isOut() ? undefined : makeMeta(session, { current, outcome, seen, options }),
    );
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
  options: MetaOptions;
}

async function makeMeta(
  session: Session,
  { current, outcome, seen, options }: Making,
): Promise<SessionMeta | undefined> {
  const { meta, problem } = current;
  const { settings, gaveUp, force = false, restMs = 0, now = () => new Date() } = options;
  const noted = readMetaState(options.paths.home, metaStateKey(session));
  const isResting = now().getTime() - (noted?.failedAt ?? Number.NEGATIVE_INFINITY) < restMs;
  const complete = isResting ? undefined : options.complete;
  if (problem) outcome.warning = `${metaFile(options.paths, session)} is not usable: ${problem}`;
  outcome.name = meta?.name;
  const rules = readRules({ ...settings, exclude: currentExclude(options.paths, settings.exclude) });
  const { clean, hasText } = rules;
  const { entries } = readActiveBranch(session.file, { rules });
  const fresh = newEntries(entries, meta);
  const newUsers = fresh.filter(({ kind }) => kind === "user").length;
  const byRules = meta?.model === RULES;
  const own = meta && noted?.name;
  Object.assign(seen, { newUsers, byRules, name: own, failedAt: noted?.failedAt });
  outcome.newUsers = newUsers;
  // What a model wrote is not replaced by rules because the model is away.
  const grew = newUsers >= settings.minNewUserMessages && (!meta || byRules || complete || gaveUp);
  const isDue = grew || (byRules && complete !== undefined) || force;
  if (isDue && meta && !byRules && gaveUp) {
    fail(outcome, gaveUp);
    return undefined;
  }
  if (!isDue || !entries.some(isSpoken)) return undefined;

  const material = { entries, fresh, clean, meta, outcome, options: { ...options, complete } };
  const made = await summarize(session, material);
  if (complete && !options.signal?.aborted)
    seen.failedAt = outcome.error === undefined ? undefined : now().getTime();
  if (!made) return undefined;
  const given = givenName(session, meta, own);
  const name = given === undefined || hasText(given) ? made.name : given;
  // Our own word for it: as long as the file has another one, that is the user's.
  const isEdited = given !== undefined && given === meta?.name;
  const word = isEdited ? own : made.name;
  Object.assign(seen, { newUsers: 0, byRules: made.model === RULES, name: word });
  return assembled(session, { ...made, name: clean(name) }, { entries, meta, now: now() });
}

interface Material {
  entries: Entry[];
  fresh: Entry[];
  clean: (text: string) => string;
  meta: SessionMeta | undefined;
  outcome: MetaOutcome;
  options: MetaOptions;
}

/** By the model, else by rule; undefined when the model failed and the present meta is kept. */
async function summarize(
  session: Session,
  material: Material,
): Promise<(Summary & { model: string }) | undefined> {
  const { complete } = material.options;
  if (complete) {
    try {
      return await byModel(complete, material);
    } catch (error) {
      if (!(error instanceof SessionMemoryError)) throw error;
      fail(material.outcome, error);
      if (material.meta) return undefined;
    }
  }
  return { ...byRule(session, material), model: RULES };
}

async function byModel(complete: CompleteJson, material: Material): Promise<Summary & { model: string }> {
  const { META_SYSTEM, metaAnswer, metaPrompt, metaUpdatePrompt } = await import("../model/prompts.ts");
  const { entries, fresh, clean, meta, outcome, options } = material;
  const goesOn = meta !== undefined && meta.model !== RULES && fresh.length < entries.length;
  const { text } = conversationText((goesOn ? fresh : entries).filter(isSpoken), {
    maxBytes: INPUT_MAX_BYTES,
  });
  const answer = await complete({
    feature: "meta",
    system: META_SYSTEM,
    prompt: goesOn ? metaUpdatePrompt(previousText(meta, clean), text) : metaPrompt(text),
    schema: metaAnswer,
    signal: options.signal,
  });
  Object.assign(outcome, { usd: answer.usd, usage: answer.usage, model: answer.model });
  const { name, description, summary, tags } = answer.value;
  return {
    name: tidyName(clean(name)),
    description: oneLine(clean(description), DESCRIPTION_CHARS),
    summary: clean(summary).slice(0, SUMMARY_CHARS).toWellFormed(),
    tags: [...new Set(tags.map((tag) => oneLine(clean(tag).toLowerCase(), TAG_CHARS)))].slice(0, TAGS_MAX),
    model: answer.model,
  };
}

function byRule(session: Session, { entries, meta, options }: Material): Summary {
  const at = entries.find((entry) => entry.at)?.at ?? session.updatedAt;
  const cwd = readHead(session.file)?.cwd ?? session.cwd;
  const where = {
    project: cwd?.split(/[\\/]/).findLast(Boolean) ?? session.agent,
    date: formatLocal(at, options.settings.timezone).slice(0, 10),
  };
  const made = summarizeByRule(entries, where);
  // A name that changed with each look would be no reference.
  const isKept = meta !== undefined && !isCircumstantial(meta.name) && !options.force;
  return { ...made, name: isKept ? meta.name : tidyName(made.name) };
}

/** A name that the user gave: in the host, or by editing the meta file. */
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
  { entries, meta, now }: { entries: Entry[]; meta: SessionMeta | undefined; now: Date },
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

/** The entries after the last one that the meta knows; all when it knows none of this branch. */
function newEntries(entries: Entry[], meta: SessionMeta | undefined): Entry[] {
  if (!meta) return entries;
  const line = /^line:(\d+)$/.exec(meta.lastIndexedLeafId)?.[1];
  if (line !== undefined) return entries.filter((entry) => entry.line > Number(line));
  const known = entries.findLastIndex(({ id }) => id === meta.lastIndexedLeafId);
  return entries.slice(known + 1);
}

function isSpoken({ kind, text }: Entry): boolean {
  return (kind === "user" || kind === "assistant" || kind === "summary") && text.trim() !== "";
}

function previousText(
  { name, description, summary, tags }: SessionMeta,
  clean: (text: string) => string,
): string {
  const text = `name: ${name}\ndescription: ${description}\nsummary: ${summary}\ntags: ${tags.join(", ")}`;
  return clean(text).slice(0, PREVIOUS_MAX_CHARS).toWellFormed();
}

/** The transcript went away while it was read, or the disk is full. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}

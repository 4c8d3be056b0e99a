/**
 * Resolves the `@@name` references of a prompt to what is known of those sessions.
 *
 * Runs on the prompt path: what a plain reference does not need is loaded on demand.
 */

import { sep } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { readJson } from "../base/files.ts";
import { isRecord, recordOf } from "../base/json.ts";
import { oneLine, onMachine, quote, quoteName } from "../base/text.ts";
import type { Paths, PathsWithRules, Settings } from "../config/config.ts";
import type { Session } from "../hosts/session.ts";
import type { CompleteJson } from "../model/answers.ts";
import { metaFile, readMeta, type SessionMeta } from "../sessions/meta.ts";
import { readTheirs } from "../sessions/pulled.ts";
import { readRecord } from "../sessions/record.ts";
import { findReferences, isLikeName, type Reference } from "../sessions/references.ts";
import { type Candidate, resolveSession } from "../sessions/resolve.ts";
import { visibleSessionAt } from "../sessions/sessions.ts";
import { type Rules, readRules } from "../transcripts/rules.ts";
import { askLine, choiceList, referenceBlock, sessionLines, shownName } from "./reference-block.ts";

const REFERENCES_MAX = 3; // promised: at most 3
/** Larger transcripts are not read while a prompt waits: for a name, and with every result for what is handed over. */
const [NAMED_BYTES, HANDED_BYTES] = [32 * 1024 * 1024, 4 * 1024 * 1024];
const LOCK_WAIT_MS = 200; // a prompt is waiting
/** The most characters of the rows that are found in place of an answer: a hit or two. */
const FOUND_MAX_CHARS = 1500;
/** The most characters of one of them. */
const FOUND_CHARS = 500;
const QUESTION_CHARS = 300;
const ANSWER_CHARS = 3000;
const EXCERPT_CHARS = 200;

/** The reference of a session that goes on with the work: it comes with what was decided and done, and what is open. */
const HAND_OVER = "last";

interface ReferenceOptions {
  paths: PathsWithRules;
  settings: Settings;
  cwd: string;
  /** The id of the session in which the prompt is written. */
  current?: string | undefined;
  /** Provides the model for `@@name: question`; called only for a question. */
  model?: (() => Promise<CompleteJson | undefined>) | undefined;
  /** The maximum length of the text. @default {9000} */
  maxChars?: number | undefined;
  /** True if the host has the tool `query_session`. @default {false} */
  hasTool?: boolean | undefined;
  /** Aborts questions that are still being answered. */
  signal?: AbortSignal | undefined;
}

interface ReferenceOutcome {
  reference: string;
  outcome: "resolved" | "ambiguous" | "not_found" | "over_limit";
  sessionId?: string;
  candidates?: Candidate[];
}

interface ReferenceContext {
  references: ReferenceOutcome[];
  /** The context block; empty when the prompt mentions no session. */
  text: string;
}

/** Resolves the references of a prompt. One that cannot be resolved becomes a line in the text, never a failure. */
export async function referenceContext(prompt: string, options: ReferenceOptions): Promise<ReferenceContext> {
  const references: ReferenceOutcome[] = [];
  const lines: string[] = [];
  const rules = readRules(options.paths);
  for (const reference of findReferences(prompt)) {
    const { written } = reference;
    if (references.length >= REFERENCES_MAX) {
      references.push({ reference: written, outcome: "over_limit" });
      const most = `at most ${REFERENCES_MAX} references of one prompt are`;
      lines.push(`${shownName(written)} was not followed: ${most}.`);
      continue;
    }
    const { outcome, lines: found } = await follow(reference, rules, options);
    if (outcome.outcome === "not_found" && isFileName(reference)) continue;
    const before = references.find(
      ({ sessionId }) => sessionId !== undefined && sessionId === outcome.sessionId,
    );
    const isNew = !before || reference.question !== undefined || reference.ancestors > 0;
    const [same, first = ""] = [outcome.reference, before?.reference].map((name = "") => shownName(name));
    lines.push(...(isNew ? found : [`${same} is the session of ${first}.`]));
    references.push(outcome);
  }
  return { references, text: referenceBlock(lines, options.maxChars) };
}

/** Returns whether a reference without quotes looks like a file's name: `README.md`. */
function isFileName({ written, name }: Reference): boolean {
  return !/["“]/.test(written) && /\.\p{L}\w{0,5}$/u.test(name);
}

interface Followed {
  outcome: ReferenceOutcome;
  lines: string[];
}

async function follow(reference: Reference, rules: Rules, options: ReferenceOptions): Promise<Followed> {
  const { written, name } = reference;
  try {
    const remarks: string[] = [];
    const session = resolveSession(name, {
      ...options,
      shared: true,
      sessionOnly: true,
      exact: isFileName(reference),
      remark: (text) => remarks.push(`- ${text}`),
    });
    const lines = await describeLines(session, reference, { ...options, rules });
    const outcome = { reference: written, outcome: "resolved", sessionId: session.id } as const;
    return { outcome, lines: [...lines, ...remarks] };
  } catch (error) {
    if (!(error instanceof SessionMemoryError)) throw error;
    const candidates = (error.details.candidates ?? []) as Candidate[];
    if (error.type === "USAGE") {
      const line = `${shownName(written)} was not followed: ${error.hint}.`;
      return { outcome: { reference: written, outcome: "not_found" }, lines: [line] };
    }
    if (error.type === "NOT_FOUND") return unknown(reference, candidates);
    if (error.type !== "AMBIGUOUS") throw error;
    const line = `${shownName(written)} may mean several sessions: ${choiceList(candidates)}. Use an id or a longer name.`;
    return { outcome: { reference: written, outcome: "ambiguous", candidates }, lines: [line] };
  }
}

/** Names only sessions that may really be meant. */
function unknown({ written, name }: Reference, all: Candidate[]): Followed {
  const candidates = all.filter((candidate) => isLikeName(name, candidate.name ?? candidate.id));
  const near = candidates.length > 0 ? `; near it: ${choiceList(candidates)}` : "";
  const line = `${shownName(written)} means no known session${near}.`;
  return { outcome: { reference: written, outcome: "not_found", candidates }, lines: [line] };
}

/** Returns the lines about a session and, where asked for, its ancestors; of one that somebody else shares only its own. */
async function describeLines(
  session: Session,
  { written, name, question, ancestors }: Reference,
  options: ReferenceOptions & { rules: Rules },
): Promise<string[]> {
  const style = { ...options.rules, timezone: options.settings.timezone };
  const answer = question === undefined ? [] : await answerLines(question, session, options);
  const isShared = session.owner !== undefined;
  const known = isShared ? readTheirs(session).meta : await findMeta(session, options);
  const lines = [...sessionLines({ written, session, meta: known }, style), ...answer];
  const asking = {
    hasModel: namesServer(options.paths),
    hasTool: options.hasTool ?? false,
    isVisited: !isShared && isVisited(session, options.paths),
  };
  const ask = askLine({ written, session }, asking);
  if (isShared) return [...lines, ask];
  if (name === HAND_OVER && question === undefined) {
    const { handoffLines, readHandedOver } = await import("./handoff.ts");
    const handed = readHandedOver(session, { ...options, maxBytes: HANDED_BYTES });
    lines.push(...handoffLines(handed));
  }
  const found = await findAncestors(session, ancestors, options);
  for (const [index, ancestor] of found.entries()) {
    const which = index === 0 ? "the session it came from" : `ancestor ${index + 1} of it`;
    const about = { written: `${written}, ${which},`, session: ancestor };
    lines.push(...sessionLines({ ...about, meta: await findMeta(ancestor, options) }, style));
  }
  if (found.length < ancestors) lines.push("- no earlier session that it came from is known");
  return [...lines, ask];
}

/** Returns whether only a command run in its folder knows a transcript. */
function isVisited({ file }: { file: string }, { visited }: Pick<Paths, "visited">): boolean {
  return visited !== undefined && file.startsWith(visited + sep);
}

/** Returns whether the `llm` block of config.json names a server: a program is not asked while a prompt waits. */
function namesServer({ config }: PathsWithRules): boolean {
  const { llm } = recordOf(readJson(config));
  return isRecord(llm) && llm.command === undefined;
}

/** Reads the meta file; a session without one is described by rule on the spot, unless it is only visited. */
async function findMeta(
  session: Session,
  { paths, settings }: ReferenceOptions,
): Promise<SessionMeta | undefined> {
  const file = metaFile(paths, session);
  const { meta, problem } = readMeta(file);
  // of a damaged file the record holds what it said
  const known = problem ? readRecord(paths, session).meta : meta;
  if (known || isVisited(session, paths) || session.size > NAMED_BYTES) return known;
  const { indexMeta } = await import("./session-meta.ts");
  await indexMeta(session, { paths, settings, force: true, lockWaitMs: LOCK_WAIT_MS });
  return readMeta(file).meta;
}

/** Asks the model, or else searches the session; a failure becomes a line, since a prompt must not wait for a broken model. */
async function answerLines(question: string, session: Session, options: ReferenceOptions): Promise<string[]> {
  const asked = `- asked: ${oneLine(question, QUESTION_CHARS)}`;
  try {
    const complete = await options.model?.();
    const answer = complete
      ? askModel(question, session, { ...options, complete })
      : search(question, session, options);
    return [asked, ...(await answer)];
  } catch (error) {
    if (!(error instanceof SessionMemoryError)) throw error;
    return [asked, `- not answered: ${oneLine(error.message, QUESTION_CHARS)}`];
  }
}

async function askModel(
  question: string,
  session: Session,
  { complete, paths, signal }: ReferenceOptions & { complete: CompleteJson },
): Promise<string[]> {
  const { querySession } = await import("./question.ts");
  const asked = { complete, paths, signal };
  const { answer, confidence, citations } = await querySession({ session }, question, asked);
  const file = quoteName(oneLine(session.file, 300));
  return [
    `- answer (confidence ${confidence}): ${quote(oneLine(answer, ANSWER_CHARS))}`,
    ...citations.map(({ line, excerpt }) => `- ${file}:${line} ${quote(oneLine(excerpt, EXCERPT_CHARS))}`),
  ];
}

const SPEAKERS = { user: "User", assistant: "Assistant", tool: "Tool" };

/** Finds the rows of a session that hold a question's words; no embedder is asked while a prompt waits. */
async function search(
  question: string,
  session: Session,
  { paths, settings, cwd, current, signal }: ReferenceOptions,
): Promise<string[]> {
  const { sessionSearch } = await import("../history/session-search.ts");
  const filters = { session: onMachine(session.id, session) };
  const request = { query: question, filters, maxChars: FOUND_MAX_CHARS, subagents: true };
  const withoutEmbedder = { ...settings, embedding: undefined };
  const config = { paths, settings: withoutEmbedder, currentSession: current, env: {}, ignored: [], cwd };
  const { results } = await sessionSearch(request, { config, signal });
  const rows = results.flatMap(({ lines }) => lines);
  if (rows.length === 0) return ["- not answered: nothing relevant found, and no model can be asked here"];
  const certainty = results.some(({ strength }) => strength === "strong") ? "" : " (nothing certain)";
  const said = ({ line, who, tool = SPEAKERS[who], text }: (typeof rows)[0]) =>
    `- L${line} ${tool}: ${quote(oneLine(text, FOUND_CHARS))}`;
  return [`- not answered by a model; rows that search finds in it${certainty}:`, ...rows.map(said)];
}

/** Returns the sessions that a session came from, nearest first. */
async function findAncestors(
  session: Session,
  count: number,
  { paths }: ReferenceOptions,
): Promise<Session[]> {
  if (count === 0) return [];
  const { parentFile } = await import("../sessions/listing.ts");
  const line = [session];
  while (line.length <= count) {
    const file = parentFile(line.at(-1) ?? session);
    const parent = file === undefined ? undefined : visibleSessionAt(file, paths);
    if (!parent || line.some((known) => known.file === parent.file)) break;
    line.push(parent);
  }
  return line.slice(1);
}

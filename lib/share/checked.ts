/**
 * Checks what comes from the hub: other people's words, written by programs that may be older than ours or not ours at all. Each
 * field is taken for what it should be or left out, cut to what is usual, and redacted by our own rules.
 */

import { type JsonRecord, recordOf } from "../base/json.ts";
import { oneLine, shortHash } from "../base/text.ts";
import type { Outcome, Row } from "../hosts/session.ts";
import { AGENTS } from "../sessions/hosts.ts";
import { CALL_KINDS, isBefore } from "../transcripts/rows.ts";
import { ownRules, type Rules } from "../transcripts/rules.ts";
import type { HubRow } from "./hub.ts";
import type { SharedSession } from "./hub-list.ts";
import { EXCHANGE_MAX_ROWS, NAME_MAX, type SharedExchange, TEXT_MAX, TEXTS_MAX } from "./wire.ts";

const SAID_MAX = 256 * 1024; // of a message more than any index keeps
/** The most files of one call; a patch has some dozens. */
const PATHS_MAX = 1000;
const UNKNOWN_TIME = "1970-01-01T00:00:00.000Z";

function text(value: unknown, max = TEXT_MAX): string {
  return typeof value === "string" ? value.slice(0, max).toWellFormed() : "";
}

function line(value: unknown): string {
  return oneLine(text(value), NAME_MAX);
}

/** Converts a row of the hub's list, which comes before anything of the session is read. */
export function toListed(row: HubRow, readAt: string): SharedSession {
  const owner = label(row.owner);
  const machine = label(row.machine);
  const id = sessionId(row.id);
  const project = oneLine(ownRules().clean(String(row.project)), 512);
  const updatedAt = toTime(row.updated_at, readAt);
  const numbers = [row.number, row.seq].map(Number);
  const faults = [
    numbers.every((number) => Number.isSafeInteger(number) && number >= 0) ? [] : ["a number out of range"],
    updatedAt === UNKNOWN_TIME ? ["no time"] : [],
    project === row.project ? [] : ["a project that is no address"],
  ].flat();
  return {
    storedId: `${owner}@${machine}:${id}`,
    owner,
    machine,
    agent: AGENTS.find((agent) => agent === row.agent) ?? "plain",
    id,
    number: numbers[0] ?? 0,
    origin: String(row.origin),
    project,
    seq: numbers[1] ?? 0,
    silentSeq: 0,
    updatedAt,
    chunks: -1,
    fault: faults[0],
  };
}

/** Returns an id fit to be printed; a session and its subagents come to the same. */
function sessionId(value: unknown): string {
  return String(value).replace(/[\p{Cc}\s]/gu, "_");
}

/** Returns a session's description as its copy keeps it. */
export function toDescription({ parent_id: parent, ...given }: HubRow, session: SharedSession, rules: Rules) {
  const row = rules.clean(given);
  const { owner, machine, project, updatedAt } = session;
  const meta = row.meta === null ? undefined : recordOf(row.meta);
  const [name, folder] = [line(row.name), line(row.folder)];
  return {
    seq: Number(row.seq),
    name: name === "" ? undefined : name,
    cwd: folder === "" ? project : `${project}/${folder}`,
    parentId: parent === null ? undefined : `${owner}@${machine}:${sessionId(parent)}`,
    startedAt: row.started_at === null ? undefined : toTime(row.started_at, updatedAt),
    meta: meta && {
      description: text(meta.description),
      summary: text(meta.summary),
      tags: textsIn(meta.tags).map(line),
    },
    observations: row.observations === null ? undefined : text(row.observations),
  };
}

/** Converts an exchange of the hub's; one without a hash is gone there, or over a limit. */
export function toExchange(row: HubRow, { updatedAt }: SharedSession, rules: Rules): SharedExchange {
  const { rows, topics } = recordOf(rules.clean(row.body));
  const exchange = { line: toCount(Number(row.line)), nth: toCount(Number(row.nth)) };
  let last = { ...exchange, nth: exchange.nth - 1 };
  const taken = listIn(rows, EXCHANGE_MAX_ROWS).flatMap((value): Row[] => {
    const fields = recordOf(value);
    const place = { line: toCount(fields.line), nth: toCount(fields.nth) };
    // rows go forward, and from the exchange's place on
    if (!isBefore(last, place)) return [];
    const found = toSharedRow(fields, { ...place, at: toTime(fields.at, updatedAt) });
    if (found) last = place;
    return found ? [found] : [];
  });
  const tags = listIn(topics, EXCHANGE_MAX_ROWS).map((given) =>
    Array.isArray(given) ? textsIn(given).map(line) : null,
  );
  return { ...exchange, rows: taken, topics: tags, hash: typeof row.hash === "string" ? row.hash : "" };
}

const OUTCOMES: readonly Outcome[] = ["done", "failed", "rejected", "running"];

/** Returns a row of the hub, checked; undefined for none that is known. */
function toSharedRow(
  { who, resultLine, kind, tool, target, paths, input, outcome, result, ...said }: JsonRecord,
  place: Pick<Row, "line" | "nth" | "at">,
): Row | undefined {
  if (who === "user" || who === "assistant") return { ...place, who, text: text(said.text, SAID_MAX) };
  if (who !== "tool") return undefined;
  return {
    ...place,
    who,
    resultLine: typeof resultLine === "number" ? toCount(resultLine) : undefined,
    kind: CALL_KINDS.find((known) => known === kind) ?? "other",
    tool: line(tool),
    target: text(target).replaceAll("\n", " "),
    paths: listIn(paths, PATHS_MAX).map((path) => text(path).replaceAll("\n", " ")),
    input: text(input),
    outcome: OUTCOMES.find((known) => known === outcome) ?? "unknown",
    result: text(result),
  };
}

/** Returns a role or machine for printing; a hash keeps one that had to be changed apart from others. */
function label(value: unknown): string {
  const name = String(value);
  const plain = name.replace(/[^\p{L}\p{N}._-]/gu, "_").slice(0, 64) || "_";
  return plain === name ? name : `${plain}~${shortHash(name).toString(36).slice(0, 4)}`;
}

/** Returns a time as ISO UTC, one after the latest that it can be as that: nothing is newer than when it was read. */
function toTime(value: unknown, latest: string): string {
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return time >= 0 ? new Date(Math.min(time, Date.parse(latest))).toISOString() : UNKNOWN_TIME;
}

function textsIn(value: unknown): string[] {
  return listIn(value, TEXTS_MAX).filter((item) => typeof item === "string");
}

/** Returns the first items of a list; none of another value. */
function listIn(value: unknown, max: number): unknown[] {
  return Array.isArray(value) ? value.slice(0, max) : [];
}

function toCount(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

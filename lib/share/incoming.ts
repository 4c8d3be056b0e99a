/**
 * Rows of the hub on their way into the replica. They are other people's words, written by programs that may be older
 * than ours or not ours at all: fields are checked and redacted by our rules here; what config.json excludes,
 * fetch-sessions.ts leaves out.
 */

import { recordOf, stringOf } from "../base/json.ts";
import { shortHash } from "../base/text.ts";
import { cleanMessages } from "../index/session-rows.ts";
import { oneLine, redact, redactor } from "../redact/redact.ts";
import { AGENTS } from "../transcripts/hosts.ts";
import type { Deed } from "../transcripts/session.ts";
import type { HubRow } from "./hub.ts";
import type { ChunkBody } from "./outgoing.ts";
import type { SharedSession } from "./replica.ts";
import { toDeed } from "./shared-rows.ts";

/** A session's description as the replica keeps it. */
export type IncomingSession = ReturnType<typeof toSession>;

/** A chunk as the replica keeps it; undefined content: it is gone. */
export interface IncomingChunk extends Omit<ChunkBody, "rows" | "deeds"> {
  session: number;
  idx: number;
  hash: Uint8Array | undefined;
  at: string;
  content: string;
  rowLines: string;
  deeds: (Deed & { at: string })[];
}

/** More of a text than any chunk of ours holds. */
const TEXT_MAX = 64 * 1024;
const NAME_MAX = 200; // ours have at most 80
const UNKNOWN_TIME = "1970-01-01T00:00:00.000Z";

export interface Cleaner {
  /** Redacts a text of several lines. */
  text: (value: unknown) => string;
  line: (value: unknown) => string;
}

/** Returns the redaction of what comes in, with the user's own patterns. */
export function cleaner(extra: readonly string[]): Cleaner {
  const redacted = redactor(extra);
  const text = (value: unknown) => (typeof value === "string" ? redacted(value.slice(0, TEXT_MAX)) : "");
  return { text, line: (value) => oneLine(text(value), NAME_MAX) };
}

/** Converts a row of the hub's list, which comes before anything of the session is read. */
export function toListed(row: HubRow): Omit<SharedSession, "heldSeq"> {
  const owner = label(row.owner);
  const machine = label(row.machine);
  const id = sessionId(row.id);
  return {
    storedId: `${owner}@${machine}:${id}`,
    owner,
    machine,
    agent: AGENTS.find((agent) => agent === row.agent) ?? "plain",
    id,
    number: Number(row.number),
    origin: String(row.origin),
    project: oneLine(redact(String(row.project)), 512),
    seq: Number(row.seq),
    updatedAt: timeOf(row.updated_at),
    chunks: Number(row.chunks),
  };
}

/** Returns an id fit to be printed; a session and its subagents come to the same. */
function sessionId(value: unknown): string {
  return String(value).replace(/[\p{Cc}\s]/gu, "_");
}

export function toSession(row: HubRow, { text, line }: Cleaner) {
  const meta = row.meta === null ? undefined : recordOf(row.meta);
  const name = line(row.name);
  return {
    number: Number(row.number),
    seq: Number(row.seq),
    name: name === "" ? undefined : name,
    folder: line(row.folder),
    parentId: row.parent_id === null ? undefined : sessionId(row.parent_id),
    startedAt: row.started_at === null ? undefined : timeOf(row.started_at),
    updatedAt: timeOf(row.updated_at),
    meta: meta && {
      description: text(meta.description),
      summary: text(meta.summary),
      tags: textsIn(meta.tags).map(line),
    },
    observations: row.observations === null ? undefined : text(row.observations),
  };
}

export function toChunk(row: HubRow, clean: Cleaner): IncomingChunk {
  const { text, line } = clean;
  const body = recordOf(row.body);
  const rowLines = stringOf(body.rows) ?? "";
  const said = cleanMessages({ content: stringOf(row.content)?.slice(0, TEXT_MAX) ?? "", rowLines }, text);
  return {
    session: Number(row.session),
    idx: Number(row.idx),
    hash: typeof row.hash === "string" ? Buffer.from(row.hash, "hex") : undefined,
    at: timeOf(row.at),
    content: said.content,
    header: text(body.header),
    tools: text(body.tools),
    rowLines: said.rowLines,
    deeds: (Array.isArray(body.deeds) ? body.deeds : []).map((deed) => toDeed(deed, clean)),
    speakers: textsIn(body.speakers).filter((speaker) => speaker === "user" || speaker === "assistant"),
    topics: textsIn(body.topics).map(line),
    decision: body.decision === true,
    action: body.action === true,
    first: count(body.first),
    last: count(body.last),
    exchange: count(body.exchange),
    tokens: count(body.tokens),
  };
}

/** Returns a role or machine for printing; a hash keeps one that had to be changed apart from others. */
function label(value: unknown): string {
  const name = String(value);
  const clean = name.replace(/[^\p{L}\p{N}._-]/gu, "_").slice(0, 64) || "_";
  return clean === name ? name : `${clean}~${shortHash(name).toString(36).slice(0, 4)}`;
}

function timeOf(value: unknown): string {
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? UNKNOWN_TIME : new Date(time).toISOString();
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

/**
 * Which of the own sessions are published, and each prepared to be sent: its chunks, name, summary and observations. All of
 * it is redacted again, home folders become `~`, and what config.json keeps out is left out, whatever the index holds.
 */

import { statSync } from "node:fs";
import { sha256, shortHash } from "../base/text.ts";
import type { Config } from "../config/config.ts";
import { cleanMessages } from "../index/session-rows.ts";
import { ledgerFile, readLedgerFile } from "../observe/ledger.ts";
import { renderObservations } from "../observe/render-observations.ts";
import { redactor } from "../redact/redact.ts";
import { metaFile, readMeta } from "../sessions/meta.ts";
import { findMachine } from "../sessions/places.ts";
import { directoryHere, folderInProject, projectDirectories, projectLookup } from "../sessions/project.ts";
import type { Row } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { type Exclusion, readExclusion } from "../transcripts/rules.ts";
import type { Agent } from "../transcripts/session.ts";
import { DOCUMENT_MAX_BYTES } from "./hub-schema.ts";
import { hubId, keyOf, sharedProject } from "./share-state.ts";
import {
  deedsByChunk,
  homeRemover,
  rootRemover,
  type SharedDeed,
  withoutForeignPaths,
} from "./shared-rows.ts";

/** A chunk as it is sent. */
export interface OutgoingChunk {
  idx: number;
  /** Hexadecimal, over all that follows. */
  hash: string;
  at: string;
  content: string;
  body: ChunkBody;
}

/** The fields of a chunk beside its time and words. */
export interface ChunkBody {
  speakers: string[];
  topics: string[];
  decision: boolean;
  action: boolean;
  first: number;
  last: number;
  exchange: number;
  tokens: number;
  header: string;
  tools: string;
  /** The start of each message and its line: `0:118 340:121`. */
  rows: string;
  deeds: SharedDeed[];
}

/** The metadata that a model or a rule made of a session. */
interface SharedMeta {
  description: string;
  summary: string;
  tags: string[];
}

export interface OutgoingSession {
  session: LocalSession;
  /** Its directory within its repository. */
  folder: string;
  name: string | undefined;
  lines: number;
  chunks: OutgoingChunk[];
  meta: SharedMeta | undefined;
  observations: string | undefined;
}

const HASH_BYTES = 16; // 128 bits: no two chunks meet
/** Leaves a quarter of the hub's limit for what stands beside the deeds, and for how PostgreSQL spaces JSON. */
const DEEDS_MAX_BYTES = 0.75 * DOCUMENT_MAX_BYTES;
const COLUMNS = `chunk_index, timestamp, speakers, topic_tags, has_decision, has_action, first_line, last_line,
  exchange_line, token_count, content, context_content, tools, row_lines`;

type Prepare = (store: Store, session: LocalSession) => OutgoingSession;

/** Returns a function that reads a session from the index in the form it may be sent. */
export function outgoing({ config, exclusion }: { config: Config; exclusion: Exclusion }): Prepare {
  const redacted = redactor(config.settings.redact.extra);
  const withoutHome = homeRemover(config.env.HOME || process.getBuiltinModule("node:os").homedir());
  const { hasText } = exclusion;
  return (store, session) => {
    const root = projectDirectories(session.cwd)[0] ?? session.cwd;
    const withoutRoot = rootRemover(root);
    const clean = (text: string) => withoutHome(withoutRoot(redacted(text)));
    const all = store.db
      .prepare(`SELECT ${COLUMNS} FROM session_chunks WHERE session_id = ? ORDER BY chunk_index`)
      .all(session.storedId);
    const rows = all.filter((row) => !hasText(`${row.context_content}\n${row.tools}`));
    const places = rows.map((row) => ({ idx: Number(row.chunk_index), first: Number(row.first_line) }));
    const deeds = deedsByChunk(store, { number: session.number, chunks: places }, { clean, hasText, root });
    return {
      session,
      folder: folderInProject(session.cwd) ?? "",
      lines: all.reduce((last, row) => Math.max(last, Number(row.last_line)), 0),
      chunks: rows.map((row) => toOutgoing(row, deeds.get(Number(row.chunk_index)) ?? [], clean)),
      ...readDerived(session, { config, clean, hasText }),
    };
  };
}

interface Rules {
  config: Config;
  clean: (text: string) => string;
  hasText: (text: string) => boolean;
}

function readDerived(
  session: LocalSession,
  { config, clean, hasText }: Rules,
): Pick<OutgoingSession, "name" | "meta" | "observations"> {
  const { hostId: id, agent } = session;
  const { meta } = readMeta(metaFile(config.paths, { id, agent }));
  const sent = (text: string) => (hasText(text) ? "" : clean(text));
  const name = sent(meta?.name ?? session.name ?? "");
  const { records } = readLedgerFile(ledgerFile(config.paths, id));
  // a character is at most four bytes
  const observations = renderObservations(records, { maxChars: DOCUMENT_MAX_BYTES / 4 });
  return {
    name: name === "" ? undefined : name,
    meta: meta && {
      description: sent(meta.description),
      summary: sent(meta.summary),
      tags: meta.tags.map(sent).filter((tag) => tag !== ""),
    },
    observations: observations
      ?.split("\n")
      .filter((line) => !hasText(line))
      .map(clean)
      .join("\n"),
  };
}

function toOutgoing(row: Row, deeds: SharedDeed[], clean: (text: string) => string): OutgoingChunk {
  const content = String(row.content);
  const context = String(row.context_content);
  const said = cleanMessages({ content, rowLines: String(row.row_lines) }, clean);
  const sent = {
    at: String(row.timestamp),
    content: said.content,
    body: {
      speakers: JSON.parse(String(row.speakers)) as string[],
      topics: (JSON.parse(String(row.topic_tags)) as string[]).map(clean),
      decision: row.has_decision === 1,
      action: row.has_action === 1,
      first: Number(row.first_line),
      last: Number(row.last_line),
      exchange: Number(row.exchange_line),
      tokens: Number(row.token_count),
      header: clean(context.slice(0, context.length - content.length)),
      tools: withoutForeignPaths(clean(String(row.tools))),
      rows: said.rowLines,
      deeds: firstWithin(deeds, DEEDS_MAX_BYTES),
    },
  };
  const hash = sha256().update(JSON.stringify(sent)).digest().subarray(0, HASH_BYTES);
  return { idx: Number(row.chunk_index), hash: Buffer.from(hash).toString("hex"), ...sent };
}

/** Returns the first of the deeds whose JSON takes some bytes at most. */
function firstWithin(deeds: readonly SharedDeed[], maxBytes: number): SharedDeed[] {
  let left = maxBytes;
  return deeds.filter((deed) => {
    left -= Buffer.byteLength(JSON.stringify(deed)) + 1;
    return left >= 0;
  });
}

/** A session on its way to the hub. */
export type LocalSession = NonNullable<ReturnType<typeof toLocalSession>>;

/** Raised when what is sent of a chunk changes. */
const FORMAT = 1;

/** Returns a hash of the configuration that decides what is sent. */
export function shareRules({ settings }: Pick<Config, "settings">): string {
  const { redact, exclude, share } = settings;
  return shortHash(JSON.stringify([FORMAT, redact.extra, exclude, share?.projects, share?.machine])).toString(
    36,
  );
}

/** Returns the sessions to be published, the newest first. */
export function localSessions(
  store: Store,
  { config, exclusion }: { config: Pick<Config, "paths" | "settings">; exclusion: Exclusion },
): LocalSession[] {
  const rules = shareRules(config);
  const lookup = projectLookup();
  const found = new Map<string, LocalSession>();
  for (const row of readRows(store)) {
    const session = toLocalSession(row, { config, exclusion, rules, lookup });
    if (session && !found.has(keyOf(session))) found.set(keyOf(session), session);
  }
  return [...found.values()];
}

interface Context {
  config: Pick<Config, "paths" | "settings">;
  exclusion: Exclusion;
  rules: string;
  lookup: ReturnType<typeof projectLookup>;
}

function toLocalSession(row: Row, { config, exclusion, rules, lookup }: Context) {
  const { paths, settings } = config;
  const cwd = textOf(row.cwd);
  const machine = findMachine(String(row.file), paths);
  const here = directoryHere({ cwd, machine });
  const project = here === undefined ? undefined : lookup.originAt(here);
  const shared = project === undefined ? undefined : sharedProject(project, settings.share?.projects ?? {});
  if (cwd === undefined || project === undefined || shared === undefined) return undefined;
  const storedId = String(row.id);
  const hostId = storedId.replace(/~[0-9a-f]{6}$/, "");
  const agent = String(row.agent) as Agent;
  const [parentId, name] = [textOf(row.parent_id), textOf(row.name)];
  if (exclusion.hasSession({ id: hostId, name, cwd, project: textOf(row.project), parentId }))
    return undefined;
  const beside = [metaFile(paths, { id: hostId, agent }), ledgerFile(paths, hostId)].map(stateOf);
  return {
    agent,
    id: hubId({ id: hostId, parentId }),
    /** The index's number of it, and the id that it has there, which differs where two files have one id. */
    number: Number(row.number),
    storedId,
    /** The host's id. */
    hostId,
    parentId,
    name,
    cwd,
    /** Its origin URL, the role that may read it, and the key of `share.projects` that it matches. */
    project,
    ...shared,
    /** The machine it is from, where its transcript is synced to this one. */
    machine,
    startedAt: textOf(row.started_at),
    updatedAt: String(row.updated_at),
    chunks: Number(row.chunk_count),
    /** Changes with everything that is sent of it. */
    signature: [rules, shared.audience, row.last_indexed, row.chunk_count, name ?? "", ...beside].join(" "),
  };
}

/** Reads sessions to share; those without an agent's own format are left out, since their ids mean nothing elsewhere. */
function readRows(store: Store): Row[] {
  return store.db
    .prepare(
      `SELECT number, id, agent, file, name, cwd, project, parent_id, started_at, updated_at, chunk_count, last_indexed
       FROM sessions JOIN index_state ON session_id = id
       WHERE agent <> 'plain' AND chunk_count > 0 ORDER BY updated_at DESC`,
    )
    .all();
}

/** Returns a test for published sessions that config.json excludes now, by the facts noted of them. */
export function publishedExclusion({ settings }: Pick<Config, "settings">) {
  const exclusion = readExclusion(settings.exclude);
  const { keyOf: projectOf } = projectLookup();
  return ({ id, name, cwd }: { id: string; name: string | undefined; cwd: string | undefined }) => {
    const [own = id, subagent] = id.split("/");
    const project = cwd === undefined ? undefined : projectOf(cwd);
    return exclusion.hasSession({ id: subagent ?? own, parentId: subagent && own, name, cwd, project });
  };
}

function stateOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat ? `${stat.size}:${Math.trunc(stat.mtimeMs)}` : "-";
}

function textOf(value: Row[string] | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

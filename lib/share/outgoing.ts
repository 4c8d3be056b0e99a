/**
 * Chooses this machine's sessions to publish, and prepares each to be sent: its exchanges, name, summary and observations. All of
 * it is redacted again, and what config.json excludes is left out, whatever the index holds. This machine's paths name people
 * and mean nothing elsewhere: home folders become `~`, and files of the project are named from its top.
 */

import { realpathSync, statSync } from "node:fs";
import { mapTexts } from "../base/json.ts";
import { escapePattern, sha256, shortHash } from "../base/text.ts";
import { systemTimezone } from "../base/time.ts";
import type { Config } from "../config/config.ts";
import type { Agent, Done, Row, Session, SessionKey } from "../hosts/session.ts";
import type { ChunkContext } from "../index/chunk.ts";
import { deriveExchange, withoutTexts } from "../index/derive.ts";
import { hostId } from "../index/index-state.ts";
import { readExchanges, type StoredExchange } from "../index/stored-rows.ts";
import { ledgerFile, readLedgerFile } from "../observe/ledger.ts";
import { renderObservations } from "../observe/render-observations.ts";
import type { Exclusion } from "../sessions/gate.ts";
import { folderNames } from "../sessions/hosts.ts";
import { metaFile, readMeta } from "../sessions/meta.ts";
import { findMachine } from "../sessions/places.ts";
import { folderInProject, projectDirectories, projectLookup, projectOrigin } from "../sessions/project.ts";
import { sessionKey } from "../sessions/record.ts";
import { type SqlRow, textOf } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { isOfFiles } from "../transcripts/rows.ts";
import { sessionCleaner } from "../transcripts/transcript.ts";
import { batchesBy } from "./hub.ts";
import { hubId, ofHub, ownMachine, sharedProject } from "./share-state.ts";
import {
  DOCUMENT_MAX_BYTES,
  EXCHANGE_MAX_ROWS,
  FOLDER_MAX,
  NAME_MAX,
  type SENT_COLUMNS,
  type SharedExchange,
  TEXT_MAX,
  TEXTS_MAX,
} from "./wire.ts";

/** An exchange on its way to the hub. */
export interface OutgoingExchange extends SharedExchange {
  /** The chunks that it has here. */
  chunks: number;
}

/** A session as it is sent: its row at the hub, and its exchanges. */
export type OutgoingSession = ReturnType<ReturnType<typeof outgoing>>;

const HASH_BYTES = 16; // 128 bits: no two exchanges meet
/** Leaves a quarter of the hub's limit for the blanks that PostgreSQL puts into JSON, and for the topics. */
const ROWS_MAX_BYTES = 0.75 * DOCUMENT_MAX_BYTES;

/** Returns a function that reads a session from the index in the form it may be sent. */
export function outgoing({ config, exclusion }: { config: Config; exclusion: Exclusion }) {
  const withoutHome = homeRemover(config.env.HOME || process.getBuiltinModule("node:os").homedir());
  const machine = ownMachine(config.settings.share ?? {});
  const { participants, timezone = systemTimezone() } = config.settings;
  const context = { firstIndex: 0, participants, timezone };
  return (store: Store, session: LocalSession) => {
    const redacted = sessionCleaner(session.file, exclusion);
    const withoutRoot = rootRemover(projectDirectories(session.cwd)[0] ?? session.cwd);
    const sent = <T>(value: T) => mapTexts(redacted(value), (text) => withoutHome(withoutRoot(text)));
    const stored = readExchanges(store, session.number);
    const kept = stored.flatMap((each) => withoutExcluded(each, { exclusion, context }));
    const exchanges = sent(kept).flatMap(toOutgoing);
    const folder = folderInProject(session.cwd) ?? "";
    const row = {
      agent: session.agent,
      id: session.id,
      machine: session.machine ?? machine,
      audience: session.audience,
      project: session.project,
      parent_id: session.parentId ?? null,
      folder: exclusion.hasText(folder) ? "" : sent(folder).slice(0, FOLDER_MAX).toWellFormed(),
      started_at: session.startedAt ?? null,
      updated_at: session.updatedAt,
      lines: stored.flatMap(({ rows }) => rows).findLast(({ who }) => who !== "tool")?.line ?? 0,
      chunks: exchanges.reduce((sum, { chunks }) => sum + chunks, 0),
      ...withinLimits(sent(readDerived(session, config, exclusion))),
    } satisfies Record<keyof typeof SENT_COLUMNS, unknown>;
    return { session, row, exchanges };
  };
}

/** Reads what was made of a session: its name, what a model or a rule said of it, its observations. */
function readDerived(
  { hostId: id, agent, ...session }: LocalSession,
  { paths }: Config,
  { hasText }: Exclusion,
) {
  const { meta } = readMeta(metaFile(paths, { id, agent }));
  const { records } = readLedgerFile(ledgerFile(paths, id));
  // a character is at most four bytes
  const observations = renderObservations(records, { maxChars: DOCUMENT_MAX_BYTES / 4 });
  const shown = (text: string) => (hasText(text) ? "" : text);
  return {
    name: shown(meta?.name ?? session.name ?? ""),
    meta: meta && {
      description: shown(meta.description),
      summary: shown(meta.summary),
      tags: meta.tags.filter((tag) => !hasText(tag)),
    },
    observations: observations?.split("\n").filter((line) => !hasText(line)),
  };
}

function withinLimits({ name, meta, observations }: ReturnType<typeof readDerived>) {
  const line = (given: string) => given.slice(0, NAME_MAX).toWellFormed();
  return {
    name: line(name) || null,
    meta: meta
      ? {
          description: withinBytes(meta.description, TEXT_MAX),
          summary: withinBytes(meta.summary, TEXT_MAX),
          tags: meta.tags.flatMap((tag) => line(tag) || []).slice(0, TEXTS_MAX),
        }
      : null,
    observations: observations ? withinBytes(observations.join("\n"), DOCUMENT_MAX_BYTES) : null,
  };
}

/** The most bytes of a UTF-16 unit in JSON: `\u0000`. */
const UNIT_MAX_BYTES = 6;

/** Returns the beginning of a text whose JSON takes some bytes at most. */
function withinBytes(text: string, max: number): string {
  let cut = text;
  while (cut.length * UNIT_MAX_BYTES > max) {
    const bytes = Buffer.byteLength(JSON.stringify(cut));
    if (bytes <= max) break;
    cut = cut.slice(0, Math.floor((cut.length * max) / bytes) - 1).toWellFormed();
  }
  return cut;
}

type KeptExchange = Pick<StoredExchange, "line" | "nth" | "topics"> & { rows: readonly Row[] };

/** Returns an exchange without the rows that config.json keeps out; none where nothing is left that was said. */
function withoutExcluded(
  exchange: StoredExchange,
  { exclusion: rules, context }: { exclusion: Exclusion; context: ChunkContext },
): KeptExchange[] {
  const kept = withoutTexts(exchange.rows, rules.hasText);
  // a pattern may reach over several rows
  const rows = rules.hasPatterns ? deriveExchange(kept, { ...context, rules }).rows : kept;
  return rows.every(({ who }) => who === "tool") ? [] : [{ ...exchange, rows }];
}

/** Converts a redacted exchange, to several where it is too long for one. */
function toOutgoing({ line, nth, topics, rows }: KeptExchange): OutgoingExchange[] {
  const given = topics.map((tags) => tags?.slice(0, TEXTS_MAX) ?? null);
  const parts = partsWithin(rows.map(toShared));
  return parts.map((part, i) => {
    const place = i === 0 ? { line, nth } : { line: part[0]?.line ?? line, nth: part[0]?.nth ?? nth };
    const sent = {
      ...place,
      rows: part,
      topics: parts.length === 1 && given.some(Boolean) ? given : undefined,
    };
    const hash = sha256().update(JSON.stringify(sent)).digest().subarray(0, HASH_BYTES);
    return { ...sent, hash: Buffer.from(hash).toString("hex"), chunks: i === 0 ? topics.length : 0 };
  });
}

/** Parts rows so that the hub takes each part. */
function partsWithin(rows: readonly Row[]): Row[][] {
  const weigh = (row: Row) => Buffer.byteLength(JSON.stringify(row)) + 1;
  return [...batchesBy(rows, { max: ROWS_MAX_BYTES, weigh })].flatMap((part) => [
    ...batchesBy(part, { max: EXCHANGE_MAX_ROWS, weigh: () => 1 }),
  ]);
}

/** Returns a row as it is sent. */
function toShared(row: Row): Row {
  if (row.who === "tool") return toSharedCall(row);
  const { line, nth, at, who, text } = row;
  return { line, nth, at, who, text: withinBytes(text, ROWS_MAX_BYTES) };
}

function toSharedCall(deed: Done): Done {
  const { line, nth, at, who, resultLine, kind, tool, outcome, result } = deed;
  const isFile = isOfFiles(deed);
  const files = isFile ? [deed.target, ...deed.paths].filter((path) => path.startsWith("/")) : [];
  return {
    line,
    nth,
    at,
    who,
    resultLine,
    kind,
    tool,
    target: isFile ? withoutFolders(deed.target) : deed.target,
    paths: deed.paths.map(withoutFolders),
    // the arguments repeat the path
    input: files.reduce((text, path) => text.replaceAll(path, withoutFolders(path)), deed.input),
    outcome,
    result,
  };
}

/** A session on its way to the hub, under the id that it has there. */
export type LocalSession = NonNullable<ReturnType<typeof toLocalSession>>;

/** Raised when what is sent of an exchange changes. */
const FORMAT = 2;

/** Returns a hash of the configuration that decides what is sent. */
export function shareRules({ settings }: Pick<Config, "settings">): string {
  const { redact, exclude, share } = settings;
  return shortHash(JSON.stringify([FORMAT, redact.extra, exclude, share?.projects, share?.machine])).toString(
    36,
  );
}

/** Returns the keys of sessions for which the index holds nothing to send, or no directory that names a project. */
export function emptiedSessions(store: Store): SessionKey[] {
  return store
    .all(`SELECT id, agent, parent_id FROM own_sessions JOIN index_state ON session_id = id
     WHERE (chunk_count = 0 OR cwd IS NULL) AND (status = 'complete' OR source_gone = 1)`)
    .map(({ id, agent, parent_id }) => ({
      agent: String(agent),
      id: hubId({ id: hostId(String(id)), parentId: textOf(parent_id) }),
    }));
}

/**
 * Returns the sessions to be published, the newest first; those without an agent's own format are left out, since their
 * ids mean nothing elsewhere.
 */
export function localSessions({
  store,
  config,
  exclusion,
}: {
  store: Store;
  config: Pick<Config, "paths" | "settings">;
  exclusion: Exclusion;
}): LocalSession[] {
  const context = { config, exclusion, rules: shareRules(config), lookup: projectLookup(config.paths) };
  const found = new Map<string, LocalSession>();
  for (const row of store.all(`SELECT number, id, agent, file, name, cwd, project, parent_id, started_at, updated_at, chunk_count, last_indexed
     FROM own_sessions JOIN index_state ON session_id = id
     WHERE agent <> 'plain' AND chunk_count > 0 ORDER BY updated_at DESC`)) {
    const session = toLocalSession(row, context);
    if (session && !found.has(sessionKey(session))) found.set(sessionKey(session), session);
  }
  return [...found.values()];
}

interface Context {
  config: Pick<Config, "paths" | "settings">;
  exclusion: Exclusion;
  rules: string;
  lookup: ReturnType<typeof projectLookup>;
}

function toLocalSession(row: SqlRow, { config, exclusion, rules, lookup }: Context) {
  const { paths, settings } = config;
  const [cwd, parentId, name] = [row.cwd, row.parent_id, row.name].map(textOf);
  const machine = findMachine(String(row.file), paths);
  const id = hostId(String(row.id));
  const project = projectOrigin({ id: parentId ?? id, cwd, machine }, lookup);
  const shared = project === undefined ? undefined : sharedProject(project, settings.share?.projects ?? {});
  if (cwd === undefined || project === undefined || shared === undefined) return undefined;
  const agent = row.agent as Agent;
  if (!exclusion.admits({ id, name, cwd, project: textOf(row.project), parentId })) return undefined;
  const beside = [metaFile(paths, { id, agent }), ledgerFile(paths, id)].map(describeState);
  return {
    agent,
    id: hubId({ id, parentId }),
    /** The index's number of it. */
    number: Number(row.number),
    hostId: id,
    file: String(row.file),
    parentId,
    name,
    cwd,
    /** The URL of its repository's origin, the key of `share.projects` that matches it, and the role that may read it. */
    project,
    ...shared,
    machine,
    startedAt: textOf(row.started_at),
    updatedAt: String(row.updated_at),
    chunks: Number(row.chunk_count),
    /** Changes with everything that is sent of it. */
    signature: [rules, shared.audience, row.last_indexed, row.chunk_count, name ?? "", ...beside].join(" "),
  };
}

/** Returns a test for published sessions that config.json excludes now, by the facts noted of them. */
export function publishedExclusion({ admits }: Exclusion) {
  return ({ id, name, cwd }: Pick<Session, "id" | "name" | "cwd">) => !admits({ ...ofHub(id), name, cwd });
}

function describeState(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat ? `${stat.size}:${Math.trunc(stat.mtimeMs)}` : "-";
}

/** Returns a cleaned path; outside of project and home only its name is left. */
function withoutFolders(path: string): string {
  return path.replace(/^\/(?:.*\/)?/, "…/");
}

/** A home in another system's or user's usual place, also in JSON, in a URL, and as hosts make folder names of it. */
const USUAL = [
  String.raw`(?<![\w.~-])(?:\\?/)(?:home|Users)(?:\\?/)[\w.@-]+`,
  String.raw`(?<![\w])[A-Za-z]:(?:\\{1,2}|/)Users(?:\\{1,2}|/)[\w.@-]+`,
  String.raw`(?<![\w])-(?:home|Users)-[A-Za-z0-9]+(?=-|$|[^\w-])`,
];

/** Makes a function that puts `~` in place of home folders: the user's own, wherever it is, and usual ones. */
function homeRemover(home: string): (text: string) => string {
  const own = [...new Set([home, realPath(home)])].filter((path) => path.length > 1);
  const names = own.flatMap((path) => [path, ...folderNames(path)].map(escaped));
  const pattern = new RegExp([...names.map((name) => `${name}(?![\\w])`), ...USUAL].join("|"), "g");
  return (text) => text.replace(pattern, "~");
}

/** Makes a function that names what lies below a directory from there: `src/a.ts`, and `.` for itself. */
function rootRemover(root: string): (text: string) => string {
  const paths = [...new Set([root, realPath(root)])].map(escaped).join("|");
  const pattern = new RegExp(`(?:${paths})(?:/(?=[\\w.@-])|(?![\\w/-]))`, "g");
  return (text) => text.replace(pattern, (match) => (match.endsWith("/") ? "" : "."));
}

function escaped(path: string): string {
  return escapePattern(path).replaceAll("/", String.raw`\\?/`);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/**
 * Chooses this machine's sessions to publish, and prepares each to be sent: its chunks, name, summary and observations. All of
 * it is redacted again, and what config.json excludes is left out, whatever the index holds. This machine's paths name people
 * and mean nothing elsewhere: home folders become `~`, and files of the project are named from its top.
 */

import { realpathSync, statSync } from "node:fs";
import { sha256, shortHash } from "../base/text.ts";
import type { Config } from "../config/config.ts";
import { contentOf, headerText } from "../index/chunk-text.ts";
import { hostId } from "../index/index-state.ts";
import { type ChunkText, readChunkTexts, readDone, type Stored } from "../index/stored-rows.ts";
import { ledgerFile, readLedgerFile } from "../observe/ledger.ts";
import { renderObservations } from "../observe/render-observations.ts";
import { metaFile, readMeta } from "../sessions/meta.ts";
import { findMachine } from "../sessions/places.ts";
import { folderInProject, projectDirectories, projectLookup, projectOrigin } from "../sessions/project.ts";
import { type SqlRow, textOf } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { rowTexts } from "../transcripts/calls.ts";
import { folderNames } from "../transcripts/hosts.ts";
import { type Exclusion, readExclusion, readRules } from "../transcripts/rules.ts";
import type { Agent, Done } from "../transcripts/session.ts";
import { isOfFiles } from "../transcripts/tool-call.ts";
import { sessionCleaner } from "../transcripts/transcript.ts";
import { CHUNK_MAX_BYTES, CHUNK_MAX_DEEDS, DOCUMENT_MAX_BYTES } from "./hub-schema.ts";
import { hubId, keyOf, ofHub, ownMachine, type SessionKey, sharedProject } from "./share-state.ts";

/** A deed as it is sent. */
type SharedDeed = ReturnType<typeof toShared>;

/** The fields of a chunk beside its time and words. */
interface ChunkBody {
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

export type OutgoingChunk = ReturnType<typeof toOutgoing>;

/** A session as it is sent: its row at the hub, and its chunks. */
export type OutgoingSession = ReturnType<ReturnType<typeof outgoing>>;

const HASH_BYTES = 16; // 128 bits: no two chunks meet
/** Leaves a quarter of the hub's limit for the blanks that PostgreSQL puts into JSON. */
const BODY_MAX_BYTES = 0.75 * DOCUMENT_MAX_BYTES;
/** The most bytes of a text beside the words: readers take no more of one. */
const TEXT_MAX_BYTES = 64 * 1024;
const NAME_MAX = 200; // readers take no more
const FOLDER_MAX = 4096; // the hub takes no more
/** The most tags of a session and topics of a chunk; readers take no more. */
const TEXTS_MAX = 100;

/** Decides how a text is sent, and which are not. */
interface Sending {
  clean: (text: string) => string;
  hasText: (text: string) => boolean;
}

/** Returns a function that reads a session from the index in the form it may be sent. */
export function outgoing({ config, exclusion }: { config: Config; exclusion: Exclusion }) {
  const rules = readRules(config.settings);
  const withoutHome = homeRemover(config.env.HOME || process.getBuiltinModule("node:os").homedir());
  const machine = ownMachine(config.settings.share ?? {});
  const { hasText } = exclusion;
  return (store: Store, session: LocalSession) => {
    const redacted = sessionCleaner(session.file, rules);
    const withoutRoot = rootRemover(projectDirectories(session.cwd)[0] ?? session.cwd);
    const sending: Sending = { clean: (text) => withoutHome(withoutRoot(redacted(text))), hasText };
    const all = store.db
      .prepare(
        `SELECT c.*, e.line AS exchange_line FROM chunks c JOIN exchanges e ON e.id = c.exchange
         WHERE c.session = ? ORDER BY chunk_index`,
      )
      .all(session.number);
    const texts = readChunkTexts(
      store,
      all.map(({ id }) => Number(id)),
    );
    const byId = new Map(texts.map((text) => [text.id, text]));
    const found = all.flatMap((row) => {
      const text = byId.get(Number(row.id));
      return text && !isOut(text, hasText) ? [{ row, text }] : [];
    });
    const rows = found.map(({ row }) => row);
    const deeds = deedsByChunk(readDone(store, session.number), rows, sending);
    const chunks = found.map(({ row, text }) =>
      toOutgoing(row, text, { deeds: deeds.get(row) ?? [], clean: sending.clean }),
    );
    const row = {
      agent: session.agent,
      id: session.id,
      machine: session.machine ?? machine,
      audience: session.audience,
      project: session.project,
      parent_id: session.parentId ?? null,
      folder: sent(folderInProject(session.cwd) ?? "", sending)
        .slice(0, FOLDER_MAX)
        .toWellFormed(),
      started_at: session.startedAt ?? null,
      updated_at: session.updatedAt,
      lines: all.reduce((last, { last_line }) => Math.max(last, Number(last_line)), 0),
      chunks: chunks.length,
      ...readDerived(session, config, sending),
    };
    return { session, row, chunks };
  };
}

/** Reads what was made of a session: its name, what a model or a rule said of it, its observations. */
function readDerived({ hostId: id, agent, ...session }: LocalSession, config: Config, sending: Sending) {
  const { clean, hasText } = sending;
  const { meta } = readMeta(metaFile(config.paths, { id, agent }));
  const text = (given: string) => withinBytes(sent(given, sending), TEXT_MAX_BYTES);
  const line = (given: string) => sent(given, sending).slice(0, NAME_MAX).toWellFormed();
  const { records } = readLedgerFile(ledgerFile(config.paths, id));
  // a character is at most four bytes
  const observations = renderObservations(records, { maxChars: DOCUMENT_MAX_BYTES / 4 });
  const lines = observations?.split("\n").filter((line) => !hasText(line));
  return {
    name: line(meta?.name ?? session.name ?? "") || null,
    meta: meta
      ? {
          description: text(meta.description),
          summary: text(meta.summary),
          tags: meta.tags.flatMap((tag) => line(tag) || []).slice(0, TEXTS_MAX),
        }
      : null,
    observations: lines ? withinBytes(lines.map(clean).join("\n"), DOCUMENT_MAX_BYTES) : null,
  };
}

/** Returns a text as it is sent: cleaned, and nothing of one that is kept out. */
function sent(text: string, { clean, hasText }: Sending): string {
  return hasText(text) ? "" : clean(text);
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

/** Returns whether a chunk holds a text that is kept out. */
function isOut({ header, rows, tools }: ChunkText, hasText: (text: string) => boolean): boolean {
  return hasText(`${headerText(header)}${contentOf(rows)}\n${tools}`);
}

function toOutgoing(
  row: SqlRow,
  text: ChunkText,
  { deeds, clean }: { deeds: readonly SharedDeed[]; clean: (text: string) => string },
) {
  const said = text.rows.map((each) => ({ ...each, text: clean(each.text) }));
  const body: Omit<ChunkBody, "deeds"> = {
    speakers: JSON.parse(String(row.speakers)) as string[],
    topics: (JSON.parse(String(row.topic_tags)) as string[]).slice(0, TEXTS_MAX).map(clean),
    decision: row.has_decision === 1,
    action: row.has_action === 1,
    first: Number(row.first_line),
    last: Number(row.last_line),
    exchange: Number(row.exchange_line),
    tokens: Number(row.token_count),
    header: withinBytes(clean(headerText(text.header)), TEXT_MAX_BYTES),
    // one call a line: its tool and what it was called with
    tools: withinBytes(
      clean(String(row.tools)).replace(
        /^(\S+) (\/\S+)$/gm,
        (_, tool, path) => `${tool} ${withoutFolders(path)}`,
      ),
      TEXT_MAX_BYTES,
    ),
    rows: said
      .map(({ line }, i) => `${contentOf(said.slice(0, i)).length + (i === 0 ? 0 : 1)}:${line}`)
      .join(" "),
  };
  const room = BODY_MAX_BYTES - Buffer.byteLength(JSON.stringify(body));
  const sent = {
    at: String(row.timestamp),
    content: withinBytes(contentOf(said), CHUNK_MAX_BYTES),
    body: { ...body, deeds: firstWithin(deeds.slice(0, CHUNK_MAX_DEEDS), room) } satisfies ChunkBody,
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

/** Returns the deeds of a session by the chunk that they go with: the last one that begins before them. */
function deedsByChunk(
  deeds: readonly Stored<Done>[],
  chunks: readonly SqlRow[],
  sending: Sending,
): Map<SqlRow, SharedDeed[]> {
  const byChunk = new Map<SqlRow, SharedDeed[]>(chunks.map((chunk) => [chunk, []]));
  let at = 0;
  for (const deed of deeds) {
    while (Number(chunks[at + 1]?.first_line ?? Number.POSITIVE_INFINITY) <= deed.line) at++;
    const chunk = chunks[at];
    if (chunk && !rowTexts(deed).some(sending.hasText)) byChunk.get(chunk)?.push(toShared(deed, sending));
  }
  return byChunk;
}

function toShared(deed: Stored<Done>, { clean }: Sending) {
  const { line, resultLine = null, at, kind, outcome } = deed;
  const isFile = isOfFiles(deed);
  const placed = (path: string) => withoutFolders(clean(path));
  const files = isFile ? [deed.target, ...deed.paths].filter((path) => path.startsWith("/")) : [];
  // the arguments repeat the path
  const input = files.reduce((text, path) => text.replaceAll(path, placed(path)), deed.input);
  return {
    line,
    resultLine,
    at,
    kind,
    tool: clean(deed.tool),
    target: isFile ? placed(deed.target) : clean(deed.target),
    paths: deed.paths.map(placed),
    input: clean(input),
    outcome,
    result: clean(deed.result),
  };
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

/** Returns the keys of sessions of which the index holds nothing that could be sent, or no directory that names a project. */
export function emptiedSessions(store: Store): SessionKey[] {
  const rows = store.db.prepare(
    `SELECT id, agent, parent_id FROM sessions JOIN index_state ON session_id = id
     WHERE (chunk_count = 0 OR cwd IS NULL) AND (status = 'complete' OR source_gone = 1)`,
  );
  return rows.all().map(({ id, agent, parent_id }) => ({
    agent: String(agent),
    id: hubId({ id: hostId(String(id)), parentId: textOf(parent_id) }),
  }));
}

/**
 * Returns the sessions to be published, the newest first; those without an agent's own format are left out, since their
 * ids mean nothing elsewhere.
 */
export function localSessions(
  store: Store,
  { config, exclusion }: { config: Pick<Config, "paths" | "settings">; exclusion: Exclusion },
): LocalSession[] {
  const context = { config, exclusion, rules: shareRules(config), lookup: projectLookup(config.paths) };
  const rows = store.db.prepare(
    `SELECT number, id, agent, file, name, cwd, project, parent_id, started_at, updated_at, chunk_count, last_indexed
     FROM sessions JOIN index_state ON session_id = id
     WHERE agent <> 'plain' AND chunk_count > 0 ORDER BY updated_at DESC`,
  );
  const found = new Map<string, LocalSession>();
  for (const row of rows.all()) {
    const session = toLocalSession(row, context);
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

function toLocalSession(row: SqlRow, { config, exclusion, rules, lookup }: Context) {
  const { paths, settings } = config;
  const [cwd, parentId, name] = [row.cwd, row.parent_id, row.name].map(textOf);
  const machine = findMachine(String(row.file), paths);
  const storedId = String(row.id);
  const id = hostId(storedId);
  const project = projectOrigin({ id: parentId ?? id, cwd, machine }, lookup);
  const shared = project === undefined ? undefined : sharedProject(project, settings.share?.projects ?? {});
  if (cwd === undefined || project === undefined || shared === undefined) return undefined;
  const agent = row.agent as Agent;
  if (exclusion.hasSession({ id, name, cwd, project: textOf(row.project), parentId })) return undefined;
  const beside = [metaFile(paths, { id, agent }), ledgerFile(paths, id)].map(stateOf);
  return {
    agent,
    id: hubId({ id, parentId }),
    /** The index's number of it, and the id that it has there, which differs where two files have one id. */
    number: Number(row.number),
    storedId,
    /** The host's id. */
    hostId: id,
    file: String(row.file),
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

/** Returns a test for published sessions that config.json excludes now, by the facts noted of them. */
export function publishedExclusion({ paths, settings }: Pick<Config, "paths" | "settings">) {
  const exclusion = readExclusion(settings.exclude);
  const { keyOf: projectOf } = projectLookup(paths);
  return ({ id, name, cwd }: { id: string; name: string | undefined; cwd: string | undefined }) => {
    const project = cwd === undefined ? undefined : projectOf(cwd);
    return exclusion.hasSession({ ...ofHub(id), name, cwd, project });
  };
}

function stateOf(file: string): string {
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
  return path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("/", String.raw`\\?/`);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/**
 * Takes over what only the index of an earlier version holds, `memory.db`: vectors and topics that were paid for, and sessions whose
 * transcript is gone, which become copies. The file itself is left to the version that wrote it, until nothing has used it for
 * thirty days or something is forgotten.
 */

import { basename, join } from "node:path";
import { writeRowCopy } from "../archive/row-copy.ts";
import { changedAt, hasContent, isFile, namesIn, readText, statPath, whyUnwritable } from "../base/files.ts";
import { shortDigest } from "../base/text.ts";
import type { Config, Paths, PathsWithRules } from "../config/config.ts";
import type { Row } from "../hosts/session.ts";
import { keepCopyList } from "../sessions/copy-list.ts";
import { filesLike } from "../sessions/found.ts";
import { currentExclusion, type Exclusion } from "../sessions/gate.ts";
import { hostFolders } from "../sessions/hosts.ts";
import { archivePlace } from "../sessions/places.ts";
import { isOfVersion } from "../store/carry-over.ts";
import { keepPaid, today } from "../store/paid.ts";
import { openDatabase, type SqlDatabase, type SqlValue } from "../store/sqlite.ts";
import { isUnused, otherIndexes, readFact, removeDatabase, type Store, writeFact } from "../store/store.ts";
import { rowTexts } from "../transcripts/calls.ts";
import { statUnpacked } from "../transcripts/files.ts";
import { makeKeys } from "../transcripts/forgotten.ts";
import { rulesVersion, shownText } from "../transcripts/rules.ts";
import { openIndex } from "./freshness.ts";
import { hostId, toIndexedSession } from "./index-state.ts";
import { ROW_COLUMNS, toStored } from "./stored-rows.ts";

/** The version whose index is read. An older one is left to the release that wrote it. */
const FORMER_VERSION = 5;
/** The state of the file when it was last read. */
const TAKEN_FACT = "former_index";
/** A hash of exclusions and redaction: where it changes, other versions' files may hold rows that have to go. */
const RULES_FACT = "former_rules";

interface Taking extends Pick<Config, "paths"> {
  /** Only what was paid for is taken over, into an index that is thrown away. @default {false} */
  dryRun?: boolean;
}

/** Takes over what is new in the earlier index, and removes it where nothing uses it any more. */
export function takeFormerIndex(store: Store, { paths, dryRun }: Taking): void {
  const { former } = paths;
  if (paths.transcripts.length > 0 || !hasContent(former)) return;
  const state = describe(former);
  if (readFact(store, TAKEN_FACT) !== state) {
    const from = openFormer(former);
    if (from === undefined) return;
    try {
      takePaid(from, store);
      if (!dryRun) takeSessions(from, paths);
    } finally {
      from.close();
    }
    writeFact(store, TAKEN_FACT, state);
  }
  if (dryRun) return;
  const rules = describeRules(paths);
  const isChanged = ![rules, undefined].includes(readFact(store, RULES_FACT));
  if (isChanged) for (const index of otherIndexes(paths)) removeDatabase(index);
  if (isChanged || isUnused(former, new Date())) removeDatabase(former);
  writeFact(store, RULES_FACT, rules);
}

/** Takes over the earlier index for a command that looks for a session, if it may write. */
export function lookInFormerIndex(paths: Config["paths"]): void {
  if (!hasContent(paths.former) || whyUnwritable(paths.home) !== undefined) return;
  const store = openIndex(paths.database, paths.rules);
  try {
    takeFormerIndex(store, { paths });
  } finally {
    store.close();
  }
}

/** Removes other versions' indexes at once, after what only they hold was taken over: something is forgotten that may be in them. */
export function removeOtherIndexes(store: Store, taking: Taking): void {
  takeFormerIndex(store, taking);
  for (const index of [taking.paths.former, ...otherIndexes(taking.paths)]) removeDatabase(index);
}

function describeRules({ rules: { redact, exclude } }: PathsWithRules): string {
  const { sessions, projects, patterns } = exclude;
  const rules = [redact.extra, sessions, projects, patterns].map((list) => [...list].sort());
  return shortDigest(JSON.stringify(rules));
}

/** A log without a page is what a reader leaves for a while: it says nothing of the file. */
function describe(file: string): string {
  return ["", "-wal"]
    .map((part) => statPath(file + part))
    .map((stat) => (stat && stat.size > 0 ? `${stat.size} ${changedAt(stat)}` : ""))
    .join();
}

/** Opens the earlier index; undefined where it is of another version or cannot be read. */
function openFormer(path: string): SqlDatabase | undefined {
  let db: SqlDatabase | undefined;
  try {
    db = openDatabase(path, { create: false });
    if (isOfVersion(db, FORMER_VERSION)) return db;
  } catch {
    // damaged: what it holds is lost, as it was to its own version
  }
  db?.close();
  return undefined;
}

/** Returns whether there is an earlier index that cannot be read here: damaged, or of a release before. */
export function unreadFormerIndex({ former }: Paths): boolean {
  if (!hasContent(former)) return false;
  const db = openFormer(former);
  db?.close();
  return db === undefined;
}

/** The places of copies of this package: as a plugin, below a host's home, and as set-up installs it. */
const AS_PLUGIN = "plugins/cache/*/session-memory/*";
const INSTALLED = "($XDG_DATA_HOME|~/.local/share)";

/** No file of code is larger. */
const CODE_MAX = 16 * 1024 * 1024;

/** Returns the installed copies of this package that are older than row keys: forgotten rows come back where one of them runs. */
export function olderInstalls(paths: Pick<Paths, "expand" | "paid">): string[] {
  const plugins = hostFolders(paths).flatMap((folder) => filesLike(folder, AS_PLUGIN.split("/")));
  const folders = [...plugins, join(paths.expand(INSTALLED), "session-memory", "package")];
  return folders.filter((folder) => {
    const bundled = namesIn(join(folder, "dist")).map((name) => join(folder, "dist", name));
    const files = [join(folder, "lib", "config", "config.ts"), ...bundled].filter(isFile);
    return files.length > 0 && !files.some((file) => readText(file, CODE_MAX).includes(basename(paths.paid)));
  });
}

/** Copies vectors and topics, by the hash of their words, with the sessions of the chunks that have them. */
function takePaid(from: SqlDatabase, db: Store): void {
  const vectors = `SELECT content_hash, model, dimensions, embedding FROM (
     SELECT content_hash, embedder, embedding FROM chunks WHERE embedder IS NOT NULL
     UNION SELECT content_hash, embedder, embedding FROM vector_cache)
   JOIN embedders ON embedders.id = embedder`;
  const topics = "SELECT content_hash, topics, model FROM topic_cache";
  if ((from.get(vectors) ?? from.get(topics)) === undefined) return;
  keepPaid(db, db.path);
  const copy = (rows: string, into: string, ...more: SqlValue[]) => {
    for (const row of from.iterate(rows)) {
      const values = [...Object.values(row), ...more];
      db.run(`INSERT OR IGNORE INTO ${into} VALUES (${values.map(() => "?").join(", ")})`, ...values);
    }
  };
  db.transaction(() => {
    copy("SELECT model, dimensions FROM embedders", "embedders (model, dimensions)");
    copy(vectors, "paid.vectors", today());
    copy(topics, "paid.topics", today());
    const holders =
      "SELECT DISTINCT c.content_hash, s.id FROM chunks c JOIN sessions s ON s.number = c.session";
    for (const { content_hash = null, id } of from.iterate(holders))
      db.run("INSERT OR IGNORE INTO paid.holders VALUES (?, ?)", content_hash, hostId(String(id)));
  });
}

/** Writes the copies of sessions whose transcript is gone, redacted and without what is excluded now. */
function takeSessions(from: SqlDatabase, paths: PathsWithRules): void {
  const rules = currentExclusion(paths);
  const note = { rules: rulesVersion(paths), modified: "", size: 0 };
  const sessions = from.all("SELECT * FROM sessions ORDER BY number");
  const rows = from.prepare(`SELECT ${ROW_COLUMNS} FROM rows r WHERE r.session = ? ORDER BY r.line, r.nth`);
  for (const stored of sessions) {
    const { number, id: storedId, file, ...facts } = toIndexedSession(stored);
    const id = hostId(storedId);
    const [name, cwd, project] = [facts.name, facts.cwd, facts.project].map((fact) => shownText(fact, rules));
    const session = { ...facts, id, name, cwd, project };
    const target = archivePlace(paths, session);
    if (
      statUnpacked(file) ||
      statUnpacked(target) ||
      !rules.admits({ ...facts, id }) ||
      !rules.admits(session)
    )
      continue;
    const shown = rows.all(number).flatMap((row) => keptRow(toStored(row), session.agent, rules) ?? []);
    if (shown.length === 0) continue;
    const [startedAt, updatedAt] = [stored.started_at, stored.updated_at].map((time) => time && String(time));
    writeRowCopy(target, {
      session: {
        ...session,
        startedAt: startedAt || undefined,
        updatedAt: updatedAt || new Date().toISOString(),
      },
      rows: shown,
      note,
    });
  }
  keepCopyList(paths);
}

/** Returns a row as it may be kept; undefined for one that is forgotten or holds an excluded text. */
function keptRow(row: Row, agent: string, rules: Exclusion): Row | undefined {
  const { hasText, isForgotten } = rules;
  const text = row.who === "tool" ? "" : row.text;
  const keys = isForgotten && makeKeys({ kind: row.who, at: row.at, text }, agent, rules);
  if (keys && isForgotten(keys.time) && (row.who === "tool" || keys.words().some(isForgotten)))
    return undefined;
  const shown = rules.clean(row);
  return rowTexts(shown).some(hasText) || rowTexts(row).some(hasText) ? undefined : shown;
}

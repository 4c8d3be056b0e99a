/** The sessions of the index that are to be published: of projects that config.json shares, and of nobody's exclusion. */

import { statSync } from "node:fs";
import { shortHash } from "../base/hash.ts";
import type { Config } from "../config/config.ts";
import { ledgerFile } from "../observe/ledger.ts";
import { metaFile } from "../sessions/meta.ts";
import { machineOf } from "../sessions/places.ts";
import { folderInProject, origins, projectKeys } from "../sessions/project.ts";
import type { Row } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { type Exclusion, readExclusion } from "../transcripts/rules.ts";
import type { Agent } from "../transcripts/session.ts";
import { hubId, keyOf, type SessionKey } from "./share-state.ts";
import { sharedProject } from "./shared-projects.ts";

/** A session on its way to the hub. */
export interface LocalSession extends SessionKey {
  agent: Agent;
  /** The index's number of it. */
  number: number;
  /** The id that the index has it under, which differs where two files have one id. */
  storedId: string;
  /** The host's id. */
  hostId: string;
  parentId: string | undefined;
  file: string;
  name: string | undefined;
  cwd: string;
  /** Its origin URL, and the role that may read it. */
  project: string;
  audience: string;
  /** The key of `share.projects` that it matches. */
  pattern: string;
  /** The machine it is from, where its transcript is synced to this one. */
  machine: string | undefined;
  startedAt: string | undefined;
  updatedAt: string;
  chunks: number;
  /** Changes with everything that is sent of it. */
  signature: string;
}

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
  const originAt = origins();
  const found = new Map<string, LocalSession>();
  for (const row of readRows(store)) {
    const session = toLocalSession(row, { config, exclusion, rules, originAt });
    if (session && !found.has(keyOf(session))) found.set(keyOf(session), session);
  }
  return [...found.values()];
}

interface Context {
  config: Pick<Config, "paths" | "settings">;
  exclusion: Exclusion;
  rules: string;
  originAt: (directory: string) => string | undefined;
}

function toLocalSession(row: Row, { config, exclusion, rules, originAt }: Context): LocalSession | undefined {
  const { paths, settings } = config;
  const cwd = textOf(row.cwd);
  const project = cwd === undefined ? undefined : originAt(cwd);
  const shared = project === undefined ? undefined : sharedProject(project, settings.share?.projects ?? {});
  if (cwd === undefined || project === undefined || shared === undefined) return undefined;
  const storedId = String(row.id);
  const hostId = storedId.replace(/~[0-9a-f]{6}$/, "");
  const agent = String(row.agent) as Agent;
  const [parentId, name] = [textOf(row.parent_id), textOf(row.name)];
  if (exclusion.hasSession({ id: hostId, name, cwd, project: textOf(row.project), parentId }))
    return undefined;
  const beside = [metaFile(paths, { id: hostId, agent }), ledgerFile(paths, hostId)].map(stateOf);
  const { audience, pattern } = shared;
  return {
    agent,
    id: hubId({ id: hostId, parentId }),
    number: Number(row.number),
    storedId,
    hostId,
    parentId,
    file: String(row.file),
    name,
    cwd,
    project,
    audience,
    pattern,
    machine: machineOf(String(row.file), paths),
    startedAt: textOf(row.started_at),
    updatedAt: String(row.updated_at),
    chunks: Number(row.chunk_count),
    signature: [rules, audience, row.last_indexed, row.chunk_count, name ?? "", ...beside].join(" "),
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

/** Returns a session's directory within its repository. */
export function folderOf({ cwd }: Pick<LocalSession, "cwd">): string {
  return folderInProject(cwd) ?? "";
}

/** Returns a test for published sessions that config.json excludes now, by the facts noted of them. */
export function publishedExclusion({ settings }: Pick<Config, "settings">) {
  const exclusion = readExclusion(settings.exclude);
  const projectOf = projectKeys();
  return ({ id, name, cwd }: { id: string; name: string | undefined; cwd: string | undefined }) => {
    const [own = id, subagent] = id.split("/");
    const project = cwd === undefined ? undefined : projectOf(cwd);
    return exclusion.hasSession({ id: subagent ?? own, parentId: subagent && own, name, cwd, project });
  };
}

function stateOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat ? `${stat.size}:${Math.round(stat.mtimeMs)}` : "-";
}

function textOf(value: Row[string] | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

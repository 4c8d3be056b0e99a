/** Reads the name of one session: Volute's, its meta file's, or its host's title. */

import { readJson } from "../base/files.ts";
import { recordOf, stringOf } from "../base/json.ts";
import type { Paths } from "../config/config.ts";
import { rulesOf } from "../transcripts/rules.ts";
import type { Session } from "../transcripts/session.ts";
import { cleanName, hostTitle } from "./ends.ts";
import { metaFile } from "./meta.ts";
import { foldName } from "./name-match.ts";

/** The identity of a session in its meta file. */
export interface MetaName {
  id: string;
  name?: string | undefined;
  sessionFile?: string | undefined;
  cwd?: string | undefined;
  updatedAt?: string | undefined;
}

/** Returns a session's name, redacted; undefined when nobody gave it one, or when the name is excluded. */
export function nameOf(session: Session, paths: Paths): string | undefined {
  const name = givenName(session, paths);
  const { hasText, clean } = rulesOf(paths);
  return name === undefined || hasText(name) ? undefined : clean(name);
}

/** Returns a session's name as it was given. */
export function givenName(session: Session, paths: Paths): string | undefined {
  return session.name ?? readMetaName(metaFile(paths, session))?.name ?? hostTitle(session);
}

/** Reads the identity in a meta file; undefined when it is missing or corrupt. */
export function readMetaName(file: string): MetaName | undefined {
  const record = recordOf(readJson(file));
  const id = stringOf(record.sessionId);
  if (id === undefined) return undefined;
  return {
    id,
    name: cleanName(record.name),
    sessionFile: stringOf(record.sessionFile),
    cwd: stringOf(record.cwd),
    updatedAt: stringOf(record.updatedAt),
  };
}

/** Whether the files still have the name that was found. */
export function isCalled(session: Session, wanted: string, paths: Paths): boolean {
  const folded = foldName(wanted);
  const isSame = (name: string | undefined) => name !== undefined && foldName(name) === folded;
  const inMeta = () => readMetaName(metaFile(paths, session))?.name;
  return isSame(session.name) || isSame(inMeta()) || isSame(hostTitle(session));
}

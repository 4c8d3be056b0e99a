/**
 * The repository that a session works in, by its normalised origin URL: what the same project is called on every
 * machine, where its directory is another one or not there at all.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Session } from "../transcripts/session.ts";
import { headOf } from "./discovery.ts";
import { remoteOf } from "./project.ts";
import { normalizeRemote } from "./remote.ts";

const HOME = /^(?:\/home\/[^/]+|\/Users\/[^/]+|\/root|[A-Za-z]:[/\\]Users[/\\][^/\\]+)(?=[/\\]|$)/;

/** The origin of the repository that holds a directory. */
export function originOf(directory: string): string | undefined {
  const remote = remoteOf(directory);
  return remote === undefined ? undefined : normalizeRemote(remote);
}

/** Remembers origins, for callers that ask about the same few directories many times. */
export function origins(): (directory: string) => string | undefined {
  const known = new Map<string, string | undefined>();
  return (directory) => {
    if (!known.has(directory)) known.set(directory, originOf(directory));
    return known.get(directory);
  };
}

/** The origin of a session's repository: as its host noted it, else by its directory. */
export function sessionOrigin(
  session: Pick<Session, "file" | "cwd" | "machine">,
  originAt: (directory: string) => string | undefined = originOf,
): string | undefined {
  const head = session.cwd === undefined ? headOf(session.file) : undefined;
  const noted = head?.remote === undefined ? undefined : normalizeRemote(head.remote);
  if (noted !== undefined) return noted;
  const cwd = session.cwd ?? head?.cwd;
  if (cwd === undefined) return undefined;
  return originAt(session.machine === undefined ? cwd : directoryHere(cwd));
}

/** Where another machine's directory is on this one: at the same place, or at the same place below the user's home. */
function directoryHere(cwd: string): string {
  if (existsSync(cwd)) return cwd;
  const home = HOME.exec(cwd)?.[0];
  if (home === undefined) return cwd;
  return join(process.getBuiltinModule("node:os").homedir(), cwd.slice(home.length).replaceAll("\\", "/"));
}

/** Finds every transcript: in the places of hosts, and our copies of what is there no more, or in no file of lines. */

import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { namesIn } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import type { Host } from "../hosts/host.ts";
import { HOSTS } from "../hosts/hosts.ts";
import type { Session } from "../hosts/session.ts";
import { ownCopies } from "./copy-list.ts";
import { type FindOptions, givenTranscripts, hostedTranscripts, type TranscriptFile } from "./places.ts";

/** Returns every file that is a transcript by place and name, or may be one by content. */
export function findTranscripts(
  paths: Paths,
  options: Omit<FindOptions, "directory" | "recent"> = {},
): TranscriptFile[] {
  if (paths.transcripts.length > 0) return givenTranscripts(paths.transcripts);
  const found = hostedTranscripts(paths, options);
  return [...found, ...copiesAlone(paths, { found, options })];
}

/** Returns our copies of own sessions that pass a test; without one all of them. */
export function archivedTranscripts(
  paths: Paths,
  isWanted?: (session: Pick<Session, "agent" | "id">) => boolean,
): TranscriptFile[] {
  // what a host still keeps in a store is not archived: it goes on with it
  const kept = new Set(HOSTS.filter((host) => listStores(host, paths).length > 0).map(({ agent }) => agent));
  return ownCopies(paths, isWanted).map(({ file, agent, id, parentId, from }) => ({
    file,
    agent,
    id,
    parentId,
    subagent: parentId !== undefined,
    archived: !(from === "store" && kept.has(agent)) || undefined,
  }));
}

/** Returns the copies of sessions that go on in the stores of their hosts. */
export function storedTranscripts(paths: Paths): TranscriptFile[] {
  if (paths.transcripts.length > 0) return [];
  return archivedTranscripts(paths).filter(({ archived }) => !archived);
}

/** Returns the databases and documents that a host keeps sessions in. */
export function listStores({ home, store }: Host, { expand }: Paths): string[] {
  return store ? filesLike(expand(home), store.files.split("/")) : [];
}

/** Returns the files of a path in which `*` stands for any name, or the beginning of one. */
export function filesLike(folder: string, [name = "", ...rest]: readonly string[]): string[] {
  const names = name.startsWith("*")
    ? namesIn(folder).filter((each) => each.endsWith(name.slice(1)))
    : [name];
  const places = names.map((each) => join(folder, each));
  return rest.length > 0
    ? places.flatMap((place) => filesLike(place, rest))
    : places.filter((place) => existsSync(place));
}

/** Returns our copies of sessions whose hosts have no transcript of them. */
function copiesAlone(
  paths: Paths,
  { found, options }: { found: readonly TranscriptFile[]; options: FindOptions },
): TranscriptFile[] {
  const { agent, subagents } = options;
  const key = (agent?: string, id?: string) => `${agent}:${id}`;
  const there = new Set(found.map(({ agent, id, file }) => key(agent, id ?? basename(file, ".jsonl"))));
  const copies = archivedTranscripts(
    paths,
    (copy) => (agent === undefined || copy.agent === agent) && !there.has(key(copy.agent, copy.id)),
  );
  return copies.filter((copy) => subagents || !copy.subagent);
}

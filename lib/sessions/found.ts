/** Finds every transcript: in the places of hosts, and our copies of what is there no more, or in no file of lines. */

import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { namesIn } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import type { Host } from "../hosts/host.ts";
import { HOSTS } from "../hosts/hosts.ts";

import { toldCopies } from "./copy-list.ts";
import {
  type FindOptions,
  formerCopies,
  givenTranscripts,
  hostedTranscripts,
  type TranscriptFile,
} from "./places.ts";

/** Returns every file that is a transcript by place and name, or may be one by content. */
export function findTranscripts(
  paths: Paths,
  options: Omit<FindOptions, "directory" | "recent"> = {},
): TranscriptFile[] {
  if (paths.transcripts.length > 0) return givenTranscripts(paths.transcripts);
  const found = hostedTranscripts(paths, options);
  return [...found, ...copiesAlone(paths, { found, options })];
}

/** Returns every copy of ours of an own session, those of an earlier version last. */
export function archivedTranscripts(paths: Paths): TranscriptFile[] {
  // what a host still keeps in a store is not archived: it goes on with it
  const kept = new Set(HOSTS.filter((host) => listStores(host, paths).length > 0).map(({ agent }) => agent));
  const isArchived = (agent = "", isOfStore = false) => !(isOfStore && kept.has(agent)) || undefined;
  const own = [...toldCopies(paths)].filter(([, { owner }]) => owner === undefined);
  const listed = own.map(([file, { agent, id, parentId, from }]) => ({
    file,
    agent,
    id,
    parentId,
    subagent: parentId !== undefined,
    archived: isArchived(agent, from === "store"),
  }));
  const former = formerCopies(paths).map((copy) => ({
    ...copy,
    archived: isArchived(copy.agent, !copy.file.startsWith(paths.archive)),
  }));
  return [...listed, ...former];
}

/** Returns the copies of sessions that go on in the stores of their hosts. */
export function storedTranscripts(paths: Paths): TranscriptFile[] {
  if (paths.transcripts.length > 0) return [];
  return firstOfEach(archivedTranscripts(paths).filter(({ archived }) => !archived));
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

/** Returns the first transcript of each session. */
export function firstOfEach(
  transcripts: readonly TranscriptFile[],
  there = new Set<string>(),
): TranscriptFile[] {
  return transcripts.filter(({ agent, id, file }) => {
    const key = `${agent}:${id ?? basename(file, ".jsonl")}`;
    const isFirst = !there.has(key);
    there.add(key);
    return isFirst;
  });
}

/** Returns our copies of sessions whose hosts have no transcript of them. */
function copiesAlone(
  paths: Paths,
  { found, options }: { found: readonly TranscriptFile[]; options: FindOptions },
): TranscriptFile[] {
  const { agent, subagents } = options;
  const isWanted = (copy: TranscriptFile) =>
    (agent === undefined || copy.agent === agent) && (subagents || !copy.subagent);
  const copies = archivedTranscripts(paths).filter(isWanted);
  if (copies.length === 0) return [];
  const there = new Set<string>();
  firstOfEach(found, there);
  return firstOfEach(copies, there);
}

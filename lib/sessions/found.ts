/** Finds every transcript: in the places of hosts, and our copies of what is there no more. */

import { basename } from "node:path";
import type { Paths } from "../config/config.ts";
import { listedCopies } from "./copy-list.ts";
import {
  type FindOptions,
  formerCopies,
  givenTranscripts,
  hostedTranscripts,
  promptTranscripts,
  type TranscriptFile,
} from "./places.ts";

/** Returns every file that is a transcript by place and name, or may be one by content. */
export function findTranscripts(paths: Paths, options: Omit<FindOptions, "recent"> = {}): TranscriptFile[] {
  if (paths.transcripts.length > 0) return givenTranscripts(paths.transcripts);
  const found = hostedTranscripts(paths, options);
  return [...found, ...archivedAlone(paths, { found, options })];
}

/** Returns every copy of ours of a transcript, those of an earlier version last. */
export function archivedTranscripts(paths: Pick<Paths, "copies" | "archive">): TranscriptFile[] {
  return [...listedCopies(paths), ...formerCopies(paths)];
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

/** Returns our copies of transcripts that are in no place of their hosts any more, or the prompts that are left of one. */
function archivedAlone(
  paths: Paths,
  { found, options }: { found: readonly TranscriptFile[]; options: FindOptions },
): TranscriptFile[] {
  const { agent, directory, subagents } = options;
  const isWanted = (copy: TranscriptFile) =>
    (agent === undefined || copy.agent === agent) && (subagents || !copy.subagent);
  // the first of two copies of a session has more
  const copies = [...archivedTranscripts(paths), ...promptTranscripts(paths)].filter(isWanted);
  if (copies.length === 0) return [];
  // A session of another folder belongs to another project, yet its transcript is there.
  const all = directory === undefined ? found : hostedTranscripts(paths, { agent, subagents });
  const there = new Set<string>();
  firstOfEach(all, there);
  return firstOfEach(copies, there);
}

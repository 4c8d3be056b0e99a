/** Others' sessions as a reader shows its own: described, and step by step from the replica. */

import type { Paths } from "../config/config.ts";
import { storedSteps } from "../index/held-sessions.ts";
import { META_SCHEMA_VERSION, type SessionMeta } from "../sessions/meta.ts";
import { withShared } from "../store/replica.ts";
import type { Agent, Session } from "../transcripts/session.ts";
import { pickSteps, type Step } from "../transcripts/steps.ts";
import type { FoundShared } from "./shared-lookup.ts";

/** Returns a shared session in the shape of one whose transcript is here. */
export function asSession({ reference, agent, name, cwd, startedAt, updatedAt }: FoundShared): Session {
  const common = { name, cwd, startedAt, updatedAt, modifiedAt: updatedAt };
  return { id: reference, agent: agent as Agent, file: "", size: 0, ...common };
}

/** Reads the metadata that its owner's machine made; undefined where it made none. */
export function metaOfShared(shared: FoundShared): SessionMeta | undefined {
  const { reference, name, cwd, startedAt, updatedAt, description, summary, tags, observations } = shared;
  if (description === "" && summary === "" && observations === undefined) return undefined;
  return {
    schemaVersion: META_SCHEMA_VERSION,
    sessionId: reference,
    sessionFile: "",
    name: name ?? reference,
    description,
    summary: summary === "" ? (observations ?? "") : summary,
    tags,
    cwd,
    createdAt: startedAt ?? updatedAt,
    updatedAt,
    model: "shared",
    lastIndexedLeafId: "",
  };
}

/** Returns the steps that are asked for: the last ones, or those at some lines with a few beside them. */
export function readSharedSteps(
  { reference }: FoundShared,
  asked: Parameters<typeof pickSteps>[1],
  paths: Pick<Paths, "shared">,
): Step[] {
  return pickSteps(withShared(paths, (replica) => storedSteps(replica, reference)) ?? [], asked);
}

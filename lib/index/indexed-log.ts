/** Sessions as the index holds them: what is left to read when the host has deleted a transcript. */

import { existsSync } from "node:fs";
import type { Paths } from "../config/config.ts";
import { assertNotExcluded } from "../sessions/unlisted.ts";
import { openStore, type Store } from "../store/store.ts";
import { rulesOf } from "../transcripts/rules.ts";
import type { Session } from "../transcripts/session.ts";
import type { Step } from "../transcripts/steps.ts";
import { type HeldSession, heldSessions } from "./held-sessions.ts";
import { storedSteps } from "./stored-steps.ts";

const PREFIX_MIN = 4;

/** Returns whether a session's transcript is no longer there. */
export function isGone({ file }: Pick<Session, "file">): boolean {
  return file === "" || !existsSync(file);
}

/**
 * The session without a transcript that a reference means: by id, the beginning of its id, or the transcript's path.
 *
 * @throws {SessionMemoryError} `NOT_FOUND` for an excluded one.
 */
export function findGone(reference: string, paths: Paths): Session | undefined {
  const wanted = reference.toLowerCase();
  const gone = withIndex(paths, heldSessions)?.filter(isGone) ?? [];
  const exact = gone.filter(({ id, file }) => id.toLowerCase() === wanted || file === reference);
  const byPrefix = gone.filter(
    ({ id }) => wanted.length >= PREFIX_MIN && id.toLowerCase().startsWith(wanted),
  );
  const [held, ...others] = exact.length > 0 ? exact : byPrefix;
  if (!held || others.some(({ id }) => id !== held.id)) return undefined;
  const session = sessionOf(held);
  assertNotExcluded(session, paths);
  return session;
}

function sessionOf({ id, agent, file, name, cwd, parentId, updatedAt }: HeldSession): Session {
  return { id, agent, file, name, cwd, parentId, updatedAt, modifiedAt: updatedAt, size: 0 };
}

/** Reads a session's indexed steps in the order of their lines; undefined when the index has none. */
export function readIndexedSteps(id: string, paths: Paths): Step[] | undefined {
  const steps = withIndex(paths, (store) =>
    heldSessions(store)
      .filter((held) => held.id === id)
      .flatMap(({ storedId }) => storedSteps(store, storedId)),
  );
  if (!steps || steps.length === 0) return undefined;
  const { hasEntry } = rulesOf(paths);
  return steps.filter(({ entry }) => !hasEntry(entry));
}

function withIndex<T>({ database }: Paths, work: (store: Store) => T): T | undefined {
  if (!existsSync(database)) return undefined;
  const store = openStore(database);
  try {
    return work(store);
  } finally {
    store.close();
  }
}

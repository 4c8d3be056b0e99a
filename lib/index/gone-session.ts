/** References to sessions whose transcript the host may have deleted. SQLite is loaded only where it has. */

import { existsSync } from "node:fs";
import { SessionMemoryError } from "../base/errors.ts";
import type { Paths } from "../config/config.ts";
import { type LineRange, placeIn } from "../sessions/references.ts";
import type { Session } from "../transcripts/session.ts";
import type { Step } from "../transcripts/steps.ts";

export interface IndexedPlace {
  session: Session;
  lines: LineRange | undefined;
  /** The session as the index has it; undefined when its transcript exists or the index has nothing. */
  indexed?: Step[] | undefined;
}

/**
 * Resolves a reference, with the indexed steps of a session whose transcript is gone; falls back to a
 * session that only the index knows.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` or `NOT_FOUND`.
 */
export async function orIndexed<T extends object>(
  reference: string,
  paths: Paths,
  resolve: () => T | Omit<IndexedPlace, "indexed">,
): Promise<T | IndexedPlace> {
  try {
    const found = resolve();
    if (!("session" in found) || existsSync(found.session.file)) return found;
    const { readIndexedSteps } = await import("./indexed-log.ts");
    return { ...found, indexed: readIndexedSteps(found.session.id, paths) };
  } catch (error) {
    const isUnknown = error instanceof SessionMemoryError && error.type === "NOT_FOUND";
    if (!isUnknown || error.details.isExcluded) throw error;
    const { findGone, readIndexedSteps } = await import("./indexed-log.ts");
    const { session: named, lines } = placeIn(reference) ?? { session: reference, lines: undefined };
    const session = findGone(named, paths);
    const indexed = session && readIndexedSteps(session.id, paths);
    if (!session || !indexed) throw error;
    return { session, lines, indexed };
  }
}

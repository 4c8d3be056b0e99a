/** Measures how far the index is behind the transcripts, by sizes and times alone. */

import { existsSync } from "node:fs";
import { sha256 } from "../base/hash.ts";
import type { Settings } from "../config/config.ts";
import type { Session } from "../transcripts/session.ts";
import type { IndexedFile } from "./index-state.ts";

/** The sessions and bytes that are not in the index yet. */
export interface Behind {
  sessions: number;
  bytes: number;
}

/** The facts about an indexed session that show whether it is behind. */
type ReadState = Pick<
  IndexedFile,
  "file" | "size" | "modified" | "recipe" | "sourceGone" | "status" | "cursor"
>;

/** Changed when chunks made before would be made otherwise now and should be. */
const CHUNK_RECIPE = "exchanges-4";

/**
 * Returns the recipe by which chunks are made. The user's own patterns are a part, since a text stored without them
 * would keep what they hide; time zone and names are not, since a journey should not cost a new index.
 */
export function indexRecipe({ redact, exclude }: Pick<Settings, "redact" | "exclude">): string {
  const own = JSON.stringify([redact.extra, exclude.patterns]);
  const isPlain = redact.extra.length === 0 && exclude.patterns.length === 0;
  return isPlain ? CHUNK_RECIPE : `${CHUNK_RECIPE} ${sha256().update(own).digest("hex").slice(0, 16)}`;
}

/** Returns whether a session's file is as it was when it was read to its end. */
export function isCurrent(known: ReadState, session: Session, recipe: string): boolean {
  return (
    known.size === session.size &&
    known.modified === session.modifiedAt &&
    known.file === session.file &&
    known.recipe === recipe &&
    !known.sourceGone
  );
}

/** Measures what is missing from the index for these sessions. */
export function measureBehind(
  sessions: readonly Session[],
  known: ReadonlyMap<string, ReadState>,
  recipe: string,
): Behind {
  const behind: Behind = { sessions: 0, bytes: 0 };
  for (const session of sessions) {
    const state = known.get(session.id);
    if (state && (isCurrent(state, session, recipe) || state.status === "failed")) continue;
    behind.sessions++;
    behind.bytes += unreadBytes(session, state);
  }
  return behind;
}

/** Bytes of a session behind its cursor, or all of them where the file has become another. */
export function unreadBytes(session: Session, known: ReadState | undefined): number {
  const read = known?.cursor.offset ?? 0;
  return session.size >= read ? session.size - read : session.size;
}

/**
 * The id under which the index holds a session: the host's, unless another file has it already and is still there
 * (two plain folders with files of one name).
 */
export function storedId(known: ReadonlyMap<string, IndexedFile>, session: Session): string {
  const other = known.get(session.id);
  if (!other || other.file === session.file || !existsSync(other.file)) return session.id;
  const mark = sha256().update(session.file).digest("hex").slice(0, 6);
  return `${session.id}~${mark}`;
}

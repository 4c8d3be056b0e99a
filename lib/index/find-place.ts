/** Finds what a reference to a session means, also where only the index of an earlier version still holds it. */

import { SessionMemoryError } from "../base/errors.ts";
import { hasContent } from "../base/files.ts";
import { quoted, shortId } from "../base/text.ts";
import { type Place, type ResolveContext, resolvePlace } from "../sessions/resolve.ts";
import { statUnpacked } from "../transcripts/files.ts";

/**
 * Returns what a reference means: a session with a transcript or a copy, or one that others share.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` or `NOT_FOUND`.
 */
export async function findPlace(reference: string, context: ResolveContext): Promise<Place> {
  const { paths } = context;
  if (hasContent(paths.former) && !isThere(reference, context))
    (await import("./former-index.ts")).lookInFormerIndex(paths);
  const place = resolvePlace(reference, { ...context, shared: true });
  if (statUnpacked(place.session.file)) return place;
  const id = shortId(place.session.id);
  throw new SessionMemoryError(
    "NOT_FOUND",
    `Cannot read ${id}: its transcript is gone, and there is no copy of it`,
    {
      hint: `session-memory search --session ${quoted(id)} "<question>" finds what the index still holds of it`,
    },
  );
}

/** Returns whether a transcript or a copy of one's own is exactly meant. */
function isThere(reference: string, context: ResolveContext): boolean {
  try {
    const { session } = resolvePlace(reference, { ...context, exact: true, remark: undefined });
    return statUnpacked(session.file) !== undefined;
  } catch {
    return false;
  }
}

/** Finds what a reference to a session means, and opens no index where a transcript answers. */

import { hasContent } from "../base/files.ts";
import { statUnpacked } from "../hosts/packed.ts";
import type { LineRange, Session } from "../hosts/session.ts";
import { type ResolveContext, resolvePlace, type Shared } from "../sessions/resolve.ts";

/** A session of this machine or another's that a reference means, and lines of it. */
export interface Place {
  session: Session;
  lines: LineRange[] | undefined;
  /** The facts that its owner shares. */
  shared?: Shared;
}

/**
 * Returns what a reference means: a session with a transcript or a copy, or one that others share.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` or `NOT_FOUND`.
 */
export async function findPlace(reference: string, context: ResolveContext): Promise<Place> {
  return findTranscript(reference, context) ?? (await findStored(reference, context));
}

/** Returns the place in a transcript that a reference means; undefined where others might have what it means. */
function findTranscript(reference: string, context: ResolveContext): Place | undefined {
  const remarks: string[] = [];
  let isAsked = false;
  const held = () => {
    isAsked = true;
    return [];
  };
  try {
    const { session, lines } = resolvePlace(reference, {
      ...context,
      held,
      remark: (text) => remarks.push(text),
    });
    if (isAsked || !statUnpacked(session.file)) return undefined;
    for (const remark of remarks) context.remark?.(remark);
    return { session, lines };
  } catch (error) {
    if (isAsked) return undefined;
    throw error;
  }
}

/** SQLite, and all that reads others' sessions, is loaded only here. */
async function findStored(reference: string, context: ResolveContext): Promise<Place> {
  const { findStoredPlace } = await import("./shared-sessions.ts");
  if (hasContent(context.paths.former))
    (await import("../index/former-index.ts")).lookInFormerIndex(context.paths);
  return findStoredPlace(reference, context);
}

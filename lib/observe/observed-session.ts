/** The session whose observations are meant: by its transcript, or by its ledger alone when the host has deleted that. */

import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import type { Paths } from "../config/config.ts";
import { refuseKeptOut } from "../sessions/kept-out.ts";
import { type ResolveContext, resolveSession } from "../sessions/resolve.ts";
import { describeSession } from "../sessions/sessions.ts";
import type { Session } from "../transcripts/session.ts";
import { fileStem } from "./ledger.ts";

/** Shorter beginnings of ids are too likely to be words. */
const PREFIX_MIN = 4;

/**
 * The session that a reference means, described. Where only its ledger is left its `file` is empty.
 *
 * @throws {SessionMemoryError} `AMBIGUOUS` or `NOT_FOUND`, with `details.candidates`.
 */
export function observedSession(reference: string, context: ResolveContext): Session {
  try {
    return describeSession(resolveSession(reference, context), context.paths);
  } catch (error) {
    const isUnknown =
      error instanceof SessionMemoryError && error.type === "NOT_FOUND" && !error.details.isExcluded;
    const left = isUnknown ? ledgerSession(context.paths, reference) : undefined;
    if (!left) throw error;
    return left;
  }
}

/** By its id, or four characters and more of its beginning. */
function ledgerSession(paths: Paths, reference: string): Session | undefined {
  if (reference.length < PREFIX_MIN || !existsSync(paths.observations)) return undefined;
  const stems = readdirSync(paths.observations).flatMap((name) => /^(.+)\.jsonl$/.exec(name)?.[1] ?? []);
  const wanted = fileStem(reference);
  const fitting = stems.filter((stem) => stem.startsWith(wanted));
  const stem =
    stems.find((candidate) => candidate === wanted) ?? (fitting.length === 1 ? fitting[0] : undefined);
  if (stem === undefined) return undefined;
  const { mtime } = statSync(join(paths.observations, `${stem}.jsonl`));
  const session: Session = { id: stem, agent: "plain", file: "", updatedAt: mtime.toISOString(), size: 0 };
  refuseKeptOut(session, paths);
  return session;
}

/** Gives the ledger of a session that is gone on with: as it is stored, else as rules observe it. */

import type { Paths, PathsWithRules, Settings } from "../config/config.ts";
import type { Session } from "../hosts/session.ts";
import { readRules } from "../transcripts/rules.ts";
import { sessionCleaner } from "../transcripts/transcript.ts";
import { readLedger, redactLedger } from "./ledger.ts";
import type { Ledger } from "./observations.ts";

/** A larger session that nobody observed would hold up the prompt. */
const READ_BYTES_MAX = 4 * 1024 * 1024;

/** Returns a session's ledger as it is stored, redacted. */
export function storedLedger(
  session: Pick<Session, "id" | "agent" | "file">,
  { paths, settings }: { paths: Pick<Paths, "observations">; settings: Pick<Settings, "redact" | "exclude"> },
): Ledger {
  const rules = readRules(settings);
  const { ledger } = readLedger(session, { paths, rules, entries: [] });
  return ledger.length === 0 ? [] : redactLedger(ledger, sessionCleaner(session.file, rules));
}

/** Returns a session's ledger; of one that nobody observed, the one that rules make now. */
export async function handedLedger(
  session: Session,
  options: { paths: PathsWithRules; settings: Settings },
): Promise<Ledger> {
  const stored = storedLedger(session, options);
  if (stored.length > 0 || session.size > READ_BYTES_MAX) return stored;
  const { tryOut } = await import("./observe-session.ts");
  const { observed } = await tryOut(session, { ...options, when: "all" });
  return observed?.ledger ?? [];
}

/** Gives the ledger of a session that is gone on with: as it is stored, else as rules observe it here and now. */

import type { Paths, Settings } from "../config/config.ts";
import type { Session } from "../hosts/session.ts";
import { readRules } from "../transcripts/rules.ts";
import { sessionCleaner } from "../transcripts/transcript.ts";
import { readActiveBranch } from "../transcripts/tree.ts";
import { readLedger, redactLedger } from "./ledger.ts";
import type { Ledger } from "./observations.ts";

interface LedgerOptions {
  paths: Pick<Paths, "observations">;
  settings: Pick<Settings, "redact" | "exclude" | "observe">;
}

/** A larger session that nobody observed would hold up the prompt. */
const OBSERVED_BYTES_MAX = 4 * 1024 * 1024;

/** Returns a session's ledger as it is stored, redacted. */
export function storedLedger(session: Session, { paths, settings }: LedgerOptions): Ledger {
  const rules = readRules(settings);
  const { ledger } = readLedger(session, { paths, rules, entries: [] });
  return ledger.length === 0 ? [] : redactLedger(ledger, sessionCleaner(session.file, rules));
}

/** Returns a session's ledger; of one that nobody observed, what rules observe, which is not stored. */
export async function handedLedger(session: Session, options: LedgerOptions): Promise<Ledger> {
  const ledger = storedLedger(session, options);
  if (ledger.length > 0 || session.size > OBSERVED_BYTES_MAX) return ledger;
  const { settings } = options;
  const rules = readRules(settings);
  const { file, parentId } = session;
  const entries = readActiveBranch(file, { rules, results: true, parentId });
  const { observe } = await import("./observe.ts");
  const observing = { ledger, entries, settings: settings.observe, timezone: "UTC", redact: rules.clean };
  return (await observe({ ...observing, when: "all", append: () => {} })).ledger;
}

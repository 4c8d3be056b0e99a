/** Gives the ledger of a session that is handed over: as it is stored, else as rules observe it here and now. */

import type { Paths, Settings } from "../config/config.ts";
import type { Row, Session } from "../hosts/session.ts";
import { readRules } from "../transcripts/rules.ts";
import { sessionCleaner } from "../transcripts/transcript.ts";
import { readActiveBranch } from "../transcripts/tree.ts";
import { readLedger, redactLedger } from "./ledger.ts";
import type { Ledger } from "./observations.ts";
import { observe, observeRows } from "./observe.ts";

interface LedgerOptions {
  paths: Pick<Paths, "observations">;
  settings: Pick<Settings, "redact" | "exclude" | "observe">;
  /** The conversation, where it is read already. @default its active branch */
  rows?: readonly Row[] | undefined;
  /** A larger session that nobody observed has no ledger. @default no limit */
  maxBytes?: number | undefined;
}

/** Returns a session's ledger; of one that nobody observed, what rules observe, which is not stored. */
export async function handedLedger(
  session: Session,
  { paths, settings, rows, maxBytes = Number.POSITIVE_INFINITY }: LedgerOptions,
): Promise<Ledger> {
  const rules = readRules(settings);
  const { ledger } = readLedger(session, { paths, rules, entries: [] });
  if (ledger.length > 0) return redactLedger(ledger, sessionCleaner(session.file, rules));
  if (session.size > maxBytes) return [];
  const writing = { timezone: "UTC", redact: rules.clean };
  if (rows) return [observeRows(rows, writing)];
  const { file, parentId } = session;
  const entries = readActiveBranch(file, { rules, results: true, parentId });
  const observing = { ...writing, ledger, entries, settings: settings.observe };
  return (await observe({ ...observing, when: "all", append: () => {} })).ledger;
}

/** A ledger as it may be shown today. */

import { redact } from "../redact/redact.ts";
import type { Ledger, LedgerRecord } from "./observations.ts";

/**
 * A ledger without what config.json redacts by now: its own patterns may be newer than what was noted. All else was
 * redacted before it was stored.
 */
export function redactLedger(ledger: Ledger, patterns: readonly RegExp[]): Ledger {
  if (patterns.length === 0) return ledger;
  const clean = (text: string) => redact(text, patterns);
  return ledger.map((record): LedgerRecord => {
    if (record.kind === "dropped") return record;
    const observations = record.observations.map((item) => ({ ...item, text: clean(item.text) }));
    if (record.kind === "reflected" || !record.files) return { ...record, observations };
    const { read, modified } = record.files;
    return { ...record, observations, files: { read: read.map(clean), modified: modified.map(clean) } };
  });
}

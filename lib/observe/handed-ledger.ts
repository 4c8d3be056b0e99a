/** Gives the ledger of a session that is gone on with: as it is stored, else its account as one. */

import type { Paths, Settings } from "../config/config.ts";
import type { Session } from "../hosts/session.ts";
import { type Rules, readRules } from "../transcripts/rules.ts";
import { sessionCleaner } from "../transcripts/transcript.ts";
import { readLedger, redactLedger } from "./ledger.ts";
import { asLine, COMMITTED, type Ledger, type Priority } from "./observations.ts";

interface LedgerOptions {
  paths: Pick<Paths, "observations">;
  settings: Pick<Settings, "redact" | "exclude">;
}

/** A larger session that nobody observed would hold up the prompt. */
const READ_BYTES_MAX = 4 * 1024 * 1024;

/** Returns a session's ledger as it is stored, redacted. */
export function storedLedger(session: Session, { paths, settings }: LedgerOptions): Ledger {
  const rules = readRules(settings);
  const { ledger } = readLedger(session, { paths, rules, entries: [] });
  return ledger.length === 0 ? [] : redactLedger(ledger, sessionCleaner(session.file, rules));
}

/** Returns a session's ledger; of one that nobody observed, what its account says. */
export async function handedLedger(session: Session, options: LedgerOptions): Promise<Ledger> {
  const ledger = storedLedger(session, options);
  if (ledger.length > 0 || session.size > READ_BYTES_MAX) return ledger;
  return await accountLedger(session, readRules(options.settings));
}

async function accountLedger({ file, parentId, cwd }: Session, rules: Rules): Promise<Ledger> {
  const [{ isJudged, makeAccount }, { toRows }, { readActiveBranch }] = await Promise.all([
    import("../account/account.ts"),
    import("../transcripts/calls.ts"),
    import("../transcripts/tree.ts"),
  ]);
  const rows = toRows(readActiveBranch(file, { rules, results: isJudged, parentId }));
  const { asked, decided, forbidden, commits, edited } = makeAccount(rows, { cwd });
  const last = rows.findLast(({ who }) => who === "user");
  const note = (priority: Priority, text: string, kind?: "rule" | "thread") => ({
    ...{ priority, text: asLine(text) },
    ...(kind && { [kind]: true as const }),
  });
  const notes = [
    ...[...decided, ...forbidden].map(({ text }) => note("red", `User: ${text}`, "rule")),
    ...asked.filter((row) => row === last).map(({ text }) => note("yellow", `User: ${text}`, "thread")),
    ...commits.map((subject) => note("yellow", COMMITTED + subject)),
  ];
  const observations = notes.map((each, at) => ({ id: String(at), at: null, sources: [], ...each }));
  const files = { read: [], modified: edited };
  return [{ kind: "observed", observations, coversTo: 0, covers: "", by: "rules", files }];
}

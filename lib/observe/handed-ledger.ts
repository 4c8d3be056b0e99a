/** Gives the ledger of a session that is gone on with: as it is stored, else as rules observe it. */

import type { PathsWithRules, Settings } from "../config/config.ts";
import type { Session } from "../hosts/session.ts";
import { readRules } from "../transcripts/rules.ts";
import { readLedger } from "./ledger.ts";
import type { Ledger } from "./observations.ts";

/** A larger session that nobody observed would hold up the prompt. */
const READ_BYTES_MAX = 4 * 1024 * 1024;

/** Returns a session's ledger; of one that nobody observed, the one that rules make now. */
export async function handedLedger(
  session: Session,
  options: { paths: PathsWithRules; settings: Settings },
): Promise<Ledger> {
  const { ledger } = readLedger(session, { ...options, rules: readRules(options.settings) });
  if (ledger.length > 0 || session.size > READ_BYTES_MAX) return ledger;
  const { tryOut } = await import("./observe-session.ts");
  const { observed } = await tryOut(session, { ...options, when: "all" });
  return observed?.ledger ?? [];
}

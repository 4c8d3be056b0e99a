/** Takes observations out of the ledgers: those of sessions, or those that hold a text. */

import { join } from "node:path";
import { namesIn, readIfExists, remove, replaceFile } from "../base/files.ts";
import { parseRecord, scrub } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import { type ForgetIn, type Forgetting, isForgotten, WRITER_WAIT_MS } from "../store/forgetting.ts";
import { fileStem, readLedgerFile } from "./ledger.ts";
import { forgetBackoffs } from "./observe-state.ts";

/** Forgets in each ledger under the lock of those who write it, and returns how many it was found in. */
export async function forgetLedgers(
  forgetting: Forgetting,
  { paths, dryRun }: ForgetIn,
): Promise<{ ledgers: number; observations: number }> {
  const counts = { ledgers: 0, observations: 0 };
  const all = namesIn(paths.observations).filter((name) => name.endsWith(".jsonl"));
  const stems = "ids" in forgetting ? [...forgetting.ids].map(fileStem) : undefined;
  const names = stems ? all.filter((name) => stems.includes(name.slice(0, -".jsonl".length))) : all;
  for (const name of names) {
    const file = join(paths.observations, name);
    const before = countObservations(file);
    if ("hasText" in forgetting) {
      const gone = await scrubLedger(file, forgetting.hasText, dryRun);
      counts.observations += gone;
      if (gone > 0) counts.ledgers++;
      continue;
    }
    counts.ledgers++;
    counts.observations += before;
    if (!dryRun) await withLock(`${file}.lock`, WRITER_WAIT_MS, () => remove(file));
  }
  if (!dryRun) forgetBackoffs(paths, ({ sessionId, reason }) => isForgotten(forgetting, sessionId, [reason]));
  return counts;
}

function countObservations(file: string): number {
  const { records } = readLedgerFile(file);
  return records.reduce(
    (sum, record) => sum + ("observations" in record ? record.observations.length : 0),
    0,
  );
}

/** Leaves the records, so that what they cover is not observed again. Returns how many parts went. */
async function scrubLedger(
  file: string,
  hasText: (text: string) => boolean,
  dryRun: boolean,
): Promise<number> {
  const scrubbed = () => {
    let removed = 0;
    const lines = (readIfExists(file) ?? "").split("\n").filter(Boolean);
    const kept = lines.flatMap((line) => {
      const record = parseRecord(line);
      if (!record) return hasText(line) ? [] : [line];
      const result = scrub(record, hasText);
      removed += result.removed;
      return [result.removed > 0 ? JSON.stringify(result.value) : line];
    });
    return { removed, text: kept.map((line) => `${line}\n`).join("") };
  };
  if (dryRun || scrubbed().removed === 0) return scrubbed().removed;
  return await withLock(`${file}.lock`, WRITER_WAIT_MS, () => {
    const { removed, text } = scrubbed();
    replaceFile(file, text);
    return removed;
  });
}

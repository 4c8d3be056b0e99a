/** Tells work under way whether something was forgotten since it began: what it has at hand may be just that. */

import { readFact, type Store, writeFact } from "./store.ts";

const FACT = "forgotten";

/** Changes with everything that is forgotten. */
export function forgottenSoFar(store: Store): string | undefined {
  return readFact(store, FACT);
}

/** Notes that something is forgotten, in the transaction that removes it. */
export function noteForgotten(store: Store): void {
  writeFact(store, FACT, String(Number(forgottenSoFar(store) ?? 0) + 1));
}

/** Whether a chunk is still the one it was. */
export function isStillThere(store: Store, { id, hash }: { id: number; hash: Uint8Array }): boolean {
  const row = store.db
    .prepare("SELECT 1 FROM session_chunks WHERE id = ? AND content_hash = ?")
    .get(id, hash);
  return row !== undefined;
}

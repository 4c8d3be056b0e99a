/** Lets running work detect that something was forgotten since it started: it may hold that very data in memory. */

import { readFact, type Store, writeFact } from "./store.ts";

const FACT = "forgotten";

/** Returns a counter that changes each time something is forgotten. */
export function forgottenSoFar(store: Store): string | undefined {
  return readFact(store, FACT);
}

/** Increments the counter; call it in the transaction that removes the data. */
export function noteForgotten(store: Store): void {
  writeFact(store, FACT, String(Number(forgottenSoFar(store) ?? 0) + 1));
}

/** Returns whether a chunk still has the same content. */
export function isStillThere(store: Store, { id, hash }: { id: number; hash: Uint8Array }): boolean {
  const row = store.db
    .prepare("SELECT 1 FROM session_chunks WHERE id = ? AND content_hash = ?")
    .get(id, hash);
  return row !== undefined;
}

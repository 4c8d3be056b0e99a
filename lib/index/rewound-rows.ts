/** The lines of a session that were taken back, as the index stores them. */

import type { Store } from "../store/store.ts";
import type { LineSpan } from "../transcripts/session.ts";

/** Reads the lines of a session that were taken back, in order. */
export function rewoundLines(store: Store, session: number): LineSpan[] {
  return store.db
    .prepare("SELECT first_line, last_line FROM rewound WHERE session = ? ORDER BY first_line")
    .all(session)
    .map(({ first_line, last_line }) => [Number(first_line), Number(last_line)]);
}

/** Replaces the lines of a session that were taken back. */
export function updateRewound(store: Store, session: number, spans: readonly LineSpan[]): void {
  removeRewound(store, session);
  const insert = store.db.prepare("INSERT INTO rewound (session, first_line, last_line) VALUES (?, ?, ?)");
  for (const [first, last] of spans) insert.run(session, first, last);
}

/** Forgets which lines of a session were taken back. */
export function removeRewound({ db }: Store, session: number): void {
  db.prepare("DELETE FROM rewound WHERE session = ?").run(session);
}

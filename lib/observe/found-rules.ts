/** Finds what users laid down in sessions that no hook followed, once these are indexed. */

import type { PathsWithRules, Settings } from "../config/config.ts";
import { standingSentences } from "../language/standing.ts";
import { visibleSessionAt } from "../sessions/sessions.ts";
import type { Store } from "../store/store.ts";
import { keepRules } from "./observe-session.ts";

/** Keeps what was laid down in sessions that were indexed since a time. */
export async function keepFound(
  { db }: Store,
  { paths, settings, since }: { paths: PathsWithRules; settings: Settings; since: string },
): Promise<void> {
  const rows = db
    .prepare(
      `SELECT s.file, r.text FROM index_state i JOIN own_sessions s ON s.number = i.session JOIN rows r ON r.session = s.number
       WHERE i.last_indexed >= ? AND r.who = 'user' AND r.tool IS NULL AND s.parent_id IS NULL`,
    )
    .all(since);
  const telling = rows.filter(({ text }) => standingSentences(String(text)).length > 0);
  for (const file of new Set(telling.map(({ file }) => String(file)))) {
    const session = visibleSessionAt(file, paths);
    if (session) await keepRules(session, { paths, settings });
  }
}

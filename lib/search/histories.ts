/** Finds what was done with a file, an error or a command, in the sessions that match all of those asked for. */

import type { Store } from "../store/store.ts";
import { type ChunkFilter, filterSelect } from "./candidates.ts";
import { commandHistory } from "./command-history.ts";
import { errorHistory } from "./error-history.ts";
import { fileHistory } from "./file-history.ts";
import type { Find, FindScope } from "./finds.ts";
import { markRewound } from "./rows.ts";

/** The deeds to look for. */
interface Asked {
  file?: string | undefined;
  error?: string | undefined;
  command?: string | undefined;
}

/** Finds what was done: of the first thing asked for, in the sessions that have the others too. */
export function findDeeds(store: Store, { file, error, command }: Asked, scope: FindScope): Find[] {
  const searches = [
    ...(error === undefined ? [] : [(within: FindScope) => errorHistory(store, error, within)]),
    ...(file === undefined ? [] : [(within: FindScope) => fileHistory(store, file, within)]),
    ...(command === undefined ? [] : [(within: FindScope) => commandHistory(store, command, within)]),
  ];
  const [first, ...others] = searches;
  let within = scope;
  for (const search of others) within = { ...within, among: sessionsOf(search(within)) };
  const finds = first?.(within) ?? [];
  for (const { rows, session } of finds) markRewound(rows, store, session.number);
  return finds;
}

/** Returns the ids of the sessions of finds. */
export function sessionsOf(finds: readonly Find[]): string[] {
  return [...new Set(finds.flatMap(({ session, elsewhere = [] }) => [session.id, ...elsewhere]))];
}

/** Converts a filter to a scope: its times, and the sessions with any chunk that passes it. */
export function scopeOf(
  store: Store,
  { session, among, agent, project, subagents, after, before }: ChunkFilter,
  rest: Pick<FindScope, "cwd" | "clean">,
): FindScope {
  const { sql, values, isOpen } = filterSelect({ session, among, agent, project, subagents: true });
  const ids = isOpen
    ? undefined
    : store.db
        .prepare(`SELECT DISTINCT session_id FROM session_chunks WHERE id IN (${sql})`)
        .all(values)
        .map(({ session_id }) => String(session_id));
  return { ...rest, among: ids, subagents: subagents === true || session !== undefined, after, before };
}

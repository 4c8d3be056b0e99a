/** What was done with a file, an error or a command, in the sessions that all of those asked for have in common. */

import type { Store } from "../store/store.ts";
import { commandHistory } from "./command-history.ts";
import { errorHistory } from "./error-history.ts";
import { fileHistory } from "./file-history.ts";
import type { Find, FindScope } from "./finds.ts";

/** What is asked for by what was done. */
interface Asked {
  file?: string | undefined;
  error?: string | undefined;
  command?: string | undefined;
}

/** Whether anything is asked for by what was done. */
export function asksForDeeds({ file, error, command }: Asked): boolean {
  return file !== undefined || error !== undefined || command !== undefined;
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
  return first?.(within) ?? [];
}

/** The ids of the sessions of finds. */
function sessionsOf(finds: readonly Find[]): string[] {
  return [...new Set(finds.flatMap(({ session, elsewhere = [] }) => [session.id, ...elsewhere]))];
}

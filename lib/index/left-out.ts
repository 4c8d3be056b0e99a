/**
 * Removes what older rules let into the main index and today's leave out: given transcripts, which now have an index of
 * their own, and our own commands. Done once; sessions with a transcript are read again anyway, by their recipe.
 */

import { existsSync } from "node:fs";
import { join, sep } from "node:path";
import type { Paths } from "../config/config.ts";
import type { Store } from "../store/store.ts";
import { withoutOwnCommands } from "../transcripts/own-commands.ts";
import { putTools, removeSession } from "./chunk-rows.ts";
import { markErase } from "./forget-rows.ts";
import { type HeldSession, heldSessions } from "./held-sessions.ts";
import { hasLeftOut, noteLeftOut } from "./stale.ts";

/** Removes it, once; quick where there is none. */
export function removeLeftOut(store: Store, paths: Paths): void {
  if (!hasLeftOut(store, paths)) return;
  store.db.transaction(() => {
    let changed = 0;
    for (const session of heldSessions(store)) {
      const isThere = existsSync(session.file);
      if (isThere && !isPlaced(session.file, paths)) {
        removeSession(store, { number: session.number, id: session.storedId });
        changed++;
      } else if (!isThere) changed += removeOwnCommands(store, session);
    }
    if (changed > 0) markErase(store);
    noteLeftOut(store);
  });
}

/** Returns whether a transcript lies where a host keeps its own, or where the user's settings say. */
function isPlaced(file: string, { claude, pi, piSessions, codex, openclaw, synced }: Paths): boolean {
  const places = [
    join(claude, "projects"),
    join(pi, "sessions"),
    ...(piSessions === undefined ? [] : [piSessions]),
    codex,
    openclaw,
    ...synced.map(({ path }) => path),
  ];
  return (
    file.includes(`${sep}.volute${sep}`) ||
    places.some((place) => file.startsWith(`${place.replace(/[/\\]+$/, "")}${sep}`))
  );
}

/** Removes own commands from the chunks of a session without a transcript, which cannot be read again. */
function removeOwnCommands(store: Store, { storedId, cwd = "/" }: HeldSession): number {
  const rows = store.db
    .prepare("SELECT id, tools FROM session_chunks WHERE session_id = ? AND tools != ''")
    .all(storedId);
  let changed = 0;
  for (const { id, tools } of rows) {
    const before = String(tools);
    const after = before
      .split("\n")
      .flatMap((line) => withoutOwn(line, cwd) ?? [])
      .join("\n");
    if (after === before) continue;
    putTools(store, Number(id), after);
    changed++;
  }
  return changed;
}

function withoutOwn(line: string, cwd: string): string | undefined {
  const [, tool = "", command = ""] = /^(\S+ )?([\s\S]*)$/.exec(line) ?? [];
  const kept = withoutOwnCommands(command, cwd);
  return kept === undefined ? undefined : tool + kept;
}

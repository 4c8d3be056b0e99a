/** Says how earlier sessions ended the errors of a command, each once a session: for the few errors that the index holds. */

import { DAY_MS } from "../base/time.ts";
import type { PathsWithRules } from "../config/config.ts";
import { describeSeen, seenBefore } from "../history/seen-before.ts";
import { isRedactedBy } from "../index/freshness.ts";
import { matchProject } from "../index/own-project.ts";
import { hiddenSessions } from "../search/search-filters.ts";
import { findMachine } from "../sessions/places.ts";
import { readOrigin } from "../sessions/project.ts";
import { mayShowShared, sharedBy, shortReference } from "../sessions/pulled.ts";
import { withState } from "../store/state.ts";
import { openStore, type Store } from "../store/store.ts";
import { readRules } from "../transcripts/rules.ts";
import type { ReportedFailure, SeenSources } from "./seen.ts";

/** The days for which it is remembered what a session was told. */
const REMEMBERED_DAYS = 30;

/** Returns what a session was not told yet; undefined if it was told all that is known. */
export async function newlySeen(
  { output, ...failed }: ReportedFailure,
  { paths, settings, now }: Required<SeenSources>,
): Promise<string | undefined> {
  const store = openStore(paths.database, { create: false });
  try {
    if (!isRedactedBy(store, settings)) return undefined;
    const cleaned = { ...failed, output: readRules(paths).clean(output) };
    const isHidden = await hiddenSessions(store, { settings, paths, own: !mayShowShared(paths, now) });
    const about = { now, isHidden, ...sessionFacts(failed.cwd, paths) };
    return withState(paths, (state) => {
      const seen = seenBefore(store, cleaned, { ...about, said: saidTo(state, failed.viewer) });
      const { text, shown } = describeSeen(seen);
      return text !== "" && claim(state, failed.viewer, shown, now) ? text : undefined;
    });
  } finally {
    store.close();
  }
}

/** Returns what tells whose a session is, seen from a folder, and what names it. */
function sessionFacts(
  cwd: string | undefined,
  paths: PathsWithRules,
): Pick<Parameters<typeof seenBefore>[2], "originOf" | "nameOf"> {
  const [isOwn, origin] = cwd === undefined ? [] : [matchProject(cwd, paths), readOrigin(cwd)];
  return {
    originOf: (session) => {
      const owner = sharedBy(session)?.owner ?? "";
      // a path in another person's row names no file of this machine
      const isSame = origin !== undefined && session.project === origin;
      return { owner, isHere: owner === "" ? isOwn?.(session) === true : isSame };
    },
    nameOf: (session) => shortReference({ ...session, machine: findMachine(session.file, paths) }),
  };
}

/** Reads the keys of the errors that a session was informed about. */
function saidTo(db: Store, viewer: string): Set<number> {
  const rows = db.all("SELECT key FROM seen_before WHERE viewer = ?", viewer);
  return new Set(rows.map(({ key }) => Number(key)));
}

const INSERT_SEEN = "INSERT OR IGNORE INTO seen_before (viewer, key, at) VALUES (?, ?, ?)";

/** Records what a session is informed about; returns false if another hook has done so at the same moment. */
function claim(db: Store, viewer: string, keys: readonly number[], now: Date): boolean {
  const before = new Date(now.getTime() - REMEMBERED_DAYS * DAY_MS).toISOString();
  return db.transaction(() => {
    db.run("DELETE FROM seen_before WHERE at < ?", before);
    return keys.filter((key) => db.run(INSERT_SEEN, viewer, key, now.toISOString()).changes === 1).length > 0;
  });
}

/** Says how the sessions of hits are shown: by which name and id, at which place, and how they are resumed. */

import type { Config, Paths } from "../config/config.ts";
import { hasNamesake, hostId, type IndexedSession } from "../index/index-state.ts";
import { uniquePrefix } from "../search/corpus.ts";
import { type Hit, type HitStyle, readLoss } from "../search/hit.ts";
import { readName } from "../sessions/meta.ts";
import { archivePlace, findMachine } from "../sessions/places.ts";
import { sharedBy } from "../sessions/pulled.ts";
import { readRepositories } from "../store/repositories.ts";
import type { Store } from "../store/store.ts";
import { hasPromptsAlone, statUnpacked } from "../transcripts/files.ts";
import { readRules, shownText } from "../transcripts/rules.ts";

/** Returns how sessions are shown. */
export function makeStyle(store: Store, { settings, paths }: Config): HitStyle {
  const rules = readRules(paths);
  return {
    // its meta file's, else its host's as it was when it was indexed: no transcript is opened
    nameOf: oncePerSession((session) => {
      const given = sharedBy(session) ? undefined : readName(session, paths);
      return shownText(given ?? session.name, rules);
    }),
    shortId: oncePerSession((session) => {
      if (hasNamesake(store, session.id)) return session.file;
      const machine = findMachine(session.file, paths);
      const owner = session.id.length - (sharedBy(session) ?? session).id.length;
      return `${uniquePrefix(store, session.id, owner)}${machine === undefined ? "" : `@${machine}`}`;
    }),
    originAt: (path) => readRepositories(paths.repositories).get(path)?.at(-1)?.origin,
    timezone: settings.timezone,
    participants: settings.participants,
  };
}

/** Returns a function that asks another one once for each session. */
function oncePerSession<T>(ask: (session: IndexedSession) => T): (session: IndexedSession) => T {
  const known = new Map<string, T>();
  return (session) => {
    const key = `${session.id} ${session.file}`;
    if (!known.has(key)) known.set(key, ask(session));
    return known.get(key) as T;
  };
}

/** Returns a hit with our copy of its session where its transcript is gone: the index may not know of that yet. */
export function located(hit: Hit, paths: Paths): Hit {
  const { session } = hit;
  if (paths.transcripts.length > 0 || sharedBy(session) || statUnpacked(session.file)) return hit;
  const file = archivePlace(paths, { agent: session.agent, id: hostId(session.id) });
  // what the index holds of a session is more than its prompts
  if (!statUnpacked(file) || hasPromptsAlone(file)) return hit;
  return { ...hit, session: { ...session, file, sourceGone: false } };
}

/** Returns a function that gives the command which resumes a hit's session, where it can be resumed. */
export async function resumeCommands(paths: Config["paths"]): Promise<(hit: Hit) => string | undefined> {
  const [{ commandToGoOn }, { sessionAt }] = await Promise.all([
    import("../sessions/listing.ts"),
    import("../sessions/sessions.ts"),
  ]);
  return (hit) => {
    const { file } = hit.session;
    const session = sharedBy(hit.session) || readLoss(hit).isGone ? undefined : sessionAt(file, paths);
    return session && commandToGoOn({ ...session, machine: findMachine(file, paths) });
  };
}

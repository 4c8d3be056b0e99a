/** What is new for a session in the agents' own places, or in the folders given in place of them. */

import type { Paths, Settings } from "../config/config.ts";
import { newestCopies, sessionOf } from "../sessions/discovery.ts";
import { nameOf } from "../sessions/session-name.ts";
import { inProjectOf } from "../sessions/sessions.ts";
import { readHead } from "../transcripts/head.ts";
import type { Session } from "../transcripts/session.ts";
import { type Look, type Looker, takeLook } from "./look.ts";
import { type Updates, updatesOf } from "./updates.ts";

export interface UpdateOptions {
  paths: Paths;
  settings: Pick<Settings, "activity" | "exclude" | "redact">;
  /** The session that looks. */
  current: Looker;
  /** @default {settings.activity.scope} */
  scope?: "project" | "all" | undefined;
  /** @default {settings.activity.maxChars} */
  maxChars?: number | undefined;
  /** Only what is newer, whatever was told before; nothing is marked then. */
  since?: Date | undefined;
  /** Milliseconds. @default now */
  now?: number | undefined;
  /** Milliseconds: what is not read by then is left for the next look. @default never */
  deadline?: number | undefined;
  /** A look that was taken already. */
  look?: Look | undefined;
}

/** What is new in the other sessions. Nothing counts as told before `commit()`. */
export function readUpdates(options: UpdateOptions): Updates {
  const { paths, settings, current, since, now } = options;
  const scope = options.scope ?? settings.activity.scope;
  const look =
    options.look ?? takeLook({ paths, looker: current, scope, now, changedAfter: since?.getTime() });
  const isGiven = paths.transcripts.length > 0;
  const isInProject = scope === "all" ? () => true : inProjectOf(current.cwd, current.cwd);
  const sessions = newestCopies(look.changed.flatMap(({ found }) => sessionOf(found) ?? [])).filter(
    (session) =>
      session.parentId === undefined &&
      session.id !== current.id &&
      // A folder that was named by hand counts as the project's where the files do not say.
      (isInProject(session) || (isGiven && readHead(session.file)?.cwd === undefined)),
  );
  const describe = (session: Session) => ({ ...session, name: nameOf(session, paths) });
  const maxChars = options.maxChars ?? settings.activity.maxChars;
  return updatesOf(
    { ...look, sessions, describe },
    { settings, maxChars, since, deadline: options.deadline },
  );
}

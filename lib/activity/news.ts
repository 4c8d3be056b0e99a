/** Reads the news of other sessions from the agents' own places, or from the folders given instead. */

import type { Paths, Settings } from "../config/config.ts";
import { newestCopies, sessionOf } from "../sessions/discovery.ts";
import { originOf } from "../sessions/origin.ts";
import { nameOf } from "../sessions/session-name.ts";
import { inProjectOf } from "../sessions/sessions.ts";
import { readHead } from "../transcripts/head.ts";
import type { Session } from "../transcripts/session.ts";
import { type Look, takeLook, type Viewer } from "./look.ts";
import { readSharedNews, type SharedLook } from "./shared-news.ts";
import { type Updates, updatesOf } from "./updates.ts";

export interface UpdateOptions {
  paths: Paths;
  settings: Pick<Settings, "activity" | "exclude" | "redact">;
  /** The session that looks. */
  current: Viewer;
  /** @default {settings.activity.scope} */
  scope?: "project" | "all" | undefined;
  /** @default {settings.activity.maxChars} */
  maxChars?: number | undefined;
  /** Only newer activity counts, whatever was seen before; nothing is marked then. */
  since?: Date | undefined;
  /** Milliseconds. @default now */
  now?: number | undefined;
  /** Milliseconds since the epoch: the rest is left for the next look. @default never */
  deadline?: number | undefined;
  /** A look already taken. */
  look?: Look | undefined;
}

/** Reads what is new in other sessions. Nothing counts as seen before `commit()`. */
export function readUpdates(options: UpdateOptions): Updates {
  const { paths, settings, current, since, now } = options;
  const scope = options.scope ?? settings.activity.scope;
  const look =
    options.look ?? takeLook({ paths, viewer: current, scope, now, changedAfter: since?.getTime() });
  const isGiven = paths.transcripts.length > 0;
  const isInProject = scope === "all" ? () => true : inProjectOf(current.cwd, current.cwd);
  const sessions = newestCopies(look.changed.flatMap(({ found }) => sessionOf(found) ?? [])).filter(
    (session) =>
      session.parentId === undefined &&
      session.id !== current.id &&
      // A folder named by hand counts as the project's where the files do not say.
      (isInProject(session) || (isGiven && readHead(session.file)?.cwd === undefined)),
  );
  const describe = (session: Session) => ({ ...session, name: nameOf(session, paths) });
  const maxChars = options.maxChars ?? settings.activity.maxChars;
  const shared = (look: Omit<SharedLook, "cwd" | "origin">) =>
    since === undefined
      ? readSharedNews(paths, {
          ...look,
          cwd: current.cwd,
          origin: scope === "all" ? undefined : (originOf(current.cwd) ?? ""),
        })
      : [];
  return updatesOf(
    { ...look, sessions, describe, shared },
    { settings, maxChars, since, deadline: options.deadline },
  );
}

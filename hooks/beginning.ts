/** The words told to a session when it begins, and again after a compaction, which took them. */

import { statPath } from "../lib/base/files.ts";
import type { Session } from "../lib/hosts/session.ts";
import { hasPulled } from "../lib/sessions/places.ts";
import type { Asked } from "./asked.ts";
import { logFailure } from "./hook.ts";

/** Returns the line on the project's last session, unless it is told of others already. */
export async function welcomeFor({ session, paths, settings, isTold }: Asked): Promise<string | undefined> {
  const { welcome, digest, maxChars } = settings.activity;
  if (!welcome || isTold) return undefined;
  const { welcomeLine } = await import("../lib/naming/welcome.ts");
  const last = await sharedLast(session.cwd, paths);
  return welcomeLine(paths, { ...session, last, hasDigest: digest && maxChars > 0 });
}

/** Returns the session of the project that others went on with last. SQLite is loaded only where anybody shares. */
async function sharedLast(cwd: string, paths: Asked["paths"]) {
  if (!hasPulled(paths)) return undefined;
  const { sharedSessions } = await import("../lib/sessions/pulled.ts");
  const { readOrigin } = await import("../lib/sessions/project.ts");
  const origin = readOrigin(cwd);
  const isMeant = ({ project, parentId }: Session) => project === origin && parentId === undefined;
  return origin === undefined ? undefined : sharedSessions(paths).find(isMeant);
}

/** Returns the standing rules of a session's project, since a time if one is named; a failure leaves what else is said. */
export async function rulesFor(
  { session, paths, settings: { activity, timezone } }: Pick<Asked, "session" | "paths" | "settings">,
  since?: string,
): Promise<string | undefined> {
  if (!activity.rules || !statPath(paths.state)) return undefined;
  try {
    const { standingText } = await import("../lib/observe/standing-rules.ts");
    return await standingText({ ...session, since }, { paths, timezone });
  } catch (error) {
    await logFailure(paths, "rules", error, { session: session.id });
    return undefined;
  }
}

/** The words told to a session when it begins, and again after a compaction, which took them. */

import { statPath } from "../lib/base/files.ts";
import type { PathsWithRules, Settings } from "../lib/config/config.ts";
import type { Viewer } from "../lib/hosts/session.ts";
import type { Asked } from "./asked.ts";
import { logFailure } from "./hook.ts";

/** Returns the line on the project's last session, unless it is told of others already, and the standing rules. */
export async function makeBeginning(
  session: Viewer,
  paths: PathsWithRules,
  settings: Settings,
  isTold = false,
): Promise<string | undefined> {
  const welcomes = settings.activity.welcome && !isTold;
  const line = welcomes ? await welcomeFor(session, paths, settings) : undefined;
  return joined([line, await rulesFor(session, paths, settings)]);
}

/** Returns what was observed before a compaction, and the standing rules, unless they are left for a prompt. */
export async function makeCompacted(
  { session, paths, settings }: Pick<Asked, "session" | "paths" | "settings">,
  isLeft: boolean,
): Promise<string | undefined> {
  const { describeObserved } = await import("./observed.ts");
  const rules = isLeft ? undefined : await rulesFor(session, paths, settings);
  return joined([describeObserved(session, paths, settings), rules]);
}

async function welcomeFor(
  session: Viewer,
  paths: PathsWithRules,
  { activity: { digest, maxChars } }: Settings,
): Promise<string | undefined> {
  const { welcomeLine } = await import("../lib/naming/welcome.ts");
  const hasDigest = digest && maxChars > 0;
  return welcomeLine(paths, { ...session, last: await sharedLast(session.cwd, paths), hasDigest });
}

/** Returns the session of the project that others went on with last. SQLite is loaded only where anybody shares. */
async function sharedLast(cwd: string, paths: PathsWithRules) {
  if (!statPath(paths.shared)) return undefined;
  const [{ newestShared }, { readOrigin }] = await Promise.all([
    import("../lib/share/shared-sessions.ts"),
    import("../lib/sessions/project.ts"),
  ]);
  const project = readOrigin(cwd);
  return project === undefined ? undefined : newestShared(paths, project);
}

/** Returns the standing rules that hold in a session's project; a failure leaves what else is said. */
export async function rulesFor(
  session: Viewer & { since?: string | undefined },
  paths: PathsWithRules,
  { activity, timezone }: Settings,
): Promise<string | undefined> {
  if (!activity.rules || !statPath(paths.state)) return undefined;
  try {
    const { standingText } = await import("../lib/observe/standing-rules.ts");
    return await standingText(session, { paths, timezone });
  } catch (error) {
    await logFailure(paths, "rules", error, { session: session.id });
    return undefined;
  }
}

function joined(texts: readonly (string | undefined)[]): string | undefined {
  return texts.filter((text) => text !== undefined && text !== "").join("\n\n") || undefined;
}

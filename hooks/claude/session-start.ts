/**
 * Claude Code's SessionStart: a line on the project's last session when one begins, and this session's own
 * observations after a compaction; what others share, and sessions not yet indexed or named, are read in the background.
 * A resumed or forked session has what it was given before: nothing.
 */

import { logEvent, writeFully } from "../../lib/base/output.ts";
import { requireSettings } from "../prompt.ts";
import { startBeginning } from "../start-background.ts";
import { type HookCall, runHook } from "./hook.ts";

/** The client truncates longer output. */
const CONTEXT_MAX_CHARS = 10_000;

await runHook("session-start", async (call) => {
  if (call.cause !== "compact") startBeginning(call.session.cwd, call.env);
  const text = await contextOf(call);
  if (text === undefined) return;
  const { paths, session } = call;
  const hookSpecificOutput = { hookEventName: "SessionStart", additionalContext: text };
  const ok = writeFully(`${JSON.stringify({ hookSpecificOutput })}\n`);
  logEvent(paths.log, { event: "injected", ok, session: session.id, text });
});

async function contextOf({ env, session, cause, ...call }: HookCall): Promise<string | undefined> {
  const { paths, settings } = requireSettings(call.paths, { env, transcript: session.file });
  if (cause === "compact") {
    const { observationsOf } = await import("./observations.ts");
    return observationsOf({ paths, settings, session, maxChars: CONTEXT_MAX_CHARS });
  }
  if ((cause !== "startup" && cause !== "clear") || !settings.activity.welcome) return undefined;
  const { welcomeLine } = await import("../../lib/naming/welcome.ts");
  return welcomeLine({ paths, session });
}

/**
 * Claude Code's SessionStart: a line on the project's last session when one begins, this session's own observations after
 * a compaction, and at both what the user laid down in the project; what others share, and sessions not yet indexed or named, are read in the background.
 * A resumed or forked session has what it was given before: nothing.
 */

import { existsSync } from "node:fs";
import { logEvent, writeFully } from "../../lib/base/output.ts";
import { ROOT } from "../../lib/base/runtime.ts";
import type { Paths } from "../../lib/config/config.ts";
import { findHost, type HookCall, readRecorded, requireSettings, runHook, startBeginning } from "../hook.ts";

await runHook("session-start", async (call) => {
  const { id, file, cwd } = readRecorded(call.input);
  if (call.input.source !== "compact") await startBeginning(findHost(file), { cwd, env: call.env });
  const text = await gatherContext(call);
  const word = await findWord(call);
  const systemMessage = lackOfPackages(call.paths) ?? word?.text;
  if (text === undefined && systemMessage === undefined) return;
  const hookSpecificOutput = text && { hookEventName: "SessionStart", additionalContext: text };
  const ok = writeFully(`${JSON.stringify({ systemMessage, hookSpecificOutput })}\n`);
  if (text !== undefined) logEvent(call.paths.log, { event: "injected", ok, session: id, text });
  if (ok && systemMessage === word?.text) word?.shown();
});

/** Returns what to run in a clone without the packages that read config.json: what follows would fail unseen. */
function lackOfPackages({ config }: Paths): string | undefined {
  if (!existsSync(config)) return undefined;
  try {
    import.meta.resolve("zod");
    return undefined;
  } catch {
    return `session-memory keeps nothing yet: its packages are not installed (bun install --cwd ${ROOT})`;
  }
}

/** Returns the day's word to the person who starts Claude Code; Codex shows none. */
async function findWord({ env, input, paths: places }: HookCall) {
  const { file } = readRecorded(input);
  const { paths, settings } = requireSettings(places, { env, transcript: file });
  if (input.source !== "startup" || findHost(file) !== "claude" || !settings.activity.daily) return undefined;
  const { dailyWord } = await import("../../lib/activity/daily.ts");
  return dailyWord(paths, { timezone: settings.timezone, now: new Date() });
}

async function gatherContext({ env, input, paths: places }: HookCall): Promise<string | undefined> {
  const session = readRecorded(input);
  const { paths, settings } = requireSettings(places, { env, transcript: session.file });
  const isCompacted = input.source === "compact";
  if (!isCompacted && input.source !== "startup" && input.source !== "clear") return undefined;
  const { makeBeginning, makeCompacted } = await import("../beginning.ts");
  return isCompacted ? makeCompacted(session, paths, settings) : makeBeginning(session, paths, settings);
}

/**
 * Claude Code's PostToolUseFailure of a shell command: what ended the same error in earlier sessions. Always exits 0.
 */

import { seenText } from "../../lib/activity/seen.ts";
import { isRecord, stringOf } from "../../lib/base/json.ts";
import { readSession, requireSettings, runHook } from "../hook.ts";

await runHook("post-tool-use-failure", async ({ env, input, paths: places }) => {
  const { id, file, cwd } = readSession(input);
  const command = isRecord(input.tool_input) ? stringOf(input.tool_input.command) : undefined;
  if (command === undefined || input.is_interrupt === true) return;
  const { paths, settings } = requireSettings(places, { env, transcript: file });
  const text = await seenText(
    {
      sessionId: id,
      viewer: stringOf(input.agent_id) ?? id,
      cwd,
      command,
      output: stringOf(input.error) ?? "",
    },
    { paths, settings },
  );
  if (text === undefined) return;
  const { logEvent, writeFully } = await import("../../lib/base/output.ts");
  const hookSpecificOutput = { hookEventName: "PostToolUseFailure", additionalContext: text };
  const ok = writeFully(`${JSON.stringify({ hookSpecificOutput })}\n`);
  logEvent(paths.log, { event: "injected", ok, session: id, text });
});

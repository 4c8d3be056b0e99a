/**
 * Claude Code's PostToolUseFailure and Codex's PostToolUse of a shell command: what ended the same error in earlier
 * sessions. Always exits 0.
 */

import { readSession, requireSettings, runHook } from "../hook.ts";
import { answerFailure, readFailure } from "../prompt-answer.ts";

await runHook("post-tool-use-failure", async ({ env, input, paths: places }) => {
  const failed = readFailure(input);
  if (!failed) return;
  const { text, delivered } = await answerFailure(
    failed,
    requireSettings(places, { env, transcript: readSession(input).file }),
  );
  if (text === undefined) return;
  const { writeFully } = await import("../../lib/base/output.ts");
  const hookSpecificOutput = { hookEventName: input.hook_event_name, additionalContext: text };
  if (writeFully(`${JSON.stringify({ hookSpecificOutput })}\n`)) delivered();
});

/**
 * Claude Code's PostToolUseFailure and Codex's PostToolUse of a shell command: what ended the same error in earlier
 * sessions. Always exits 0.
 */

import { stringOf } from "../../lib/base/json.ts";
import { printAnswer, readAsked, runHook } from "../hook.ts";
import { answerMoment } from "../moments.ts";
import { readFailure } from "../prompt-answer.ts";

await runHook("post-tool-use-failure", async (call) => {
  const failure = readFailure(call.input);
  if (!failure) return;
  const answer = await answerMoment("failure", { ...readAsked(call), failure });
  await printAnswer(answer, stringOf(call.input.hook_event_name) ?? "PostToolUseFailure");
});

/**
 * Claude Code's and Codex's UserPromptSubmit: gives the model what other sessions did since the last prompt, and what is known
 * of the sessions that the prompt mentions.
 *
 * Runs before every prompt: without news it loads little more than lib/activity/look.ts. Always exits 0.
 */

import { printAnswer, readAsked, readPrompt, runHook } from "../hook.ts";
import { answerMoment } from "../moments.ts";

await runHook("user-prompt-submit", async (call) => {
  const prompt = readPrompt(call.input);
  if (!prompt) return;
  const isTyped = async () => {
    const { STARTED_BY_PROGRAM } = await import("../../lib/hosts/claude.ts");
    return !STARTED_BY_PROGRAM.test(call.env.CLAUDE_CODE_ENTRYPOINT ?? "");
  };
  await printAnswer(
    await answerMoment("prompt", { ...readAsked(call), text: prompt.text, isTyped }),
    "UserPromptSubmit",
  );
});

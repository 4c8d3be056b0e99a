/**
 * Claude Code's UserPromptSubmit: gives the model what other sessions did since the last prompt, and what is known of the
 * sessions that the prompt mentions.
 *
 * Runs before every prompt: without news it loads little more than lib/activity/look.ts. Always exits 0.
 */

import { isDue, type Look, lookForDigest } from "../../lib/activity/look.ts";
import type { Environment, PathsWithRules, Settings } from "../../lib/config/config.ts";
import { type Prompt, readPrompt, requireSettings, runHook } from "../hook.ts";

await runHook("user-prompt-submit", async ({ env, input, paths: places }) => {
  const prompt = readPrompt(input);
  if (!prompt) return;
  const { paths, settings } = requireSettings(places, { env, transcript: prompt.session.file });
  const look = lookForDigest({ paths, viewer: prompt.session, activity: settings.activity });
  if (look?.mayHaveShared || (look && look.changed.length > 0) || prompt.text.includes("@@"))
    await answer(prompt, look, { env, paths, settings });
  else if (look && isDue(look)) (await import("../../lib/activity/cursors.ts")).saveCursors(look);
});

interface Answering {
  env: Environment;
  paths: PathsWithRules;
  settings: Settings;
}

/** Loads only the modules that this answer needs. */
async function answer(
  prompt: Prompt,
  look: Look | undefined,
  { env, paths, settings }: Answering,
): Promise<void> {
  const { answerPrompt, findModel } = await import("../prompt-answer.ts");
  const { writeFully } = await import("../../lib/base/output.ts");
  const model = findModel(env, prompt.session);
  const { text, delivered } = await answerPrompt(prompt, look, { paths, settings, model });
  const hookSpecificOutput = { hookEventName: "UserPromptSubmit", additionalContext: text };
  if (text !== undefined && !writeFully(`${JSON.stringify({ hookSpecificOutput })}\n`)) return;
  delivered();
}

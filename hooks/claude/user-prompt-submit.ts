/**
 * Claude Code's UserPromptSubmit: gives the model what other sessions did since the last prompt, what is known of the
 * sessions that the prompt mentions, and, if the user wants that, offers a title.
 *
 * Runs before every prompt: without news it loads little more than lib/activity/look.ts. Always exits 0.
 */

import { readFileSync } from "node:fs";
import { isDue, type Look, takeLook } from "../../lib/activity/look.ts";
import { recordOf } from "../../lib/base/json.ts";
import { type Environment, type Paths, resolvePaths, type Settings } from "../../lib/config/config.ts";
import { hookEnvironment } from "../../lib/config/environment.ts";
import { type Prompt, readPrompt, requireSettings } from "../prompt.ts";

const STDIN = 0;

async function main(): Promise<void> {
  if (process.env.SESSION_MEMORY_DISABLE === "1") return;
  const { env, ignored } = hookEnvironment();
  const places = resolvePaths(env);
  try {
    if (ignored.length > 0) await log(places, `ignored from this folder's .env: ${ignored.join(", ")}`);
    const input = recordOf(JSON.parse(readFileSync(STDIN, "utf8")));
    const prompt = readPrompt(input);
    if (!prompt) return;
    const { paths, settings } = requireSettings(places, { env, transcript: prompt.session.file });
    const look = takeLook({ paths, viewer: prompt.session, scope: settings.activity.scope });
    const isUntitled = settings.titles && !input.session_title;
    if (look.changed.length > 0 || look.mayHaveShared || isUntitled || prompt.text.includes("@@"))
      await answer(prompt, look, { env, paths, settings, isUntitled });
    else if (isDue(look)) (await import("../../lib/activity/cursors.ts")).saveCursors(look);
  } catch (error) {
    await log(places, error);
  }
}

interface Answering {
  env: Environment;
  paths: Paths;
  settings: Settings;
  /** Whether the host has no title for the session. */
  isUntitled: boolean;
}

/** Loads only the modules that this answer needs. */
async function answer(
  prompt: Prompt,
  look: Look,
  { env, paths, settings, isUntitled }: Answering,
): Promise<void> {
  const { answerPrompt, modelOf } = await import("../prompt-answer.ts");
  const model = modelOf(env, prompt.session);
  const { text, delivered } = await answerPrompt(prompt, look, { paths, settings, model });
  const title = isUntitled ? (await import("./title.ts")).titleFor(prompt, { paths, settings }) : undefined;
  const said = {
    ...(text === undefined ? {} : { additionalContext: text }),
    ...(title === undefined ? {} : { sessionTitle: title }),
  };
  const output = { hookSpecificOutput: { hookEventName: "UserPromptSubmit", ...said } };
  const { writeFully } = await import("../../lib/base/output.ts");
  if (Object.keys(said).length > 0 && !writeFully(`${JSON.stringify(output)}\n`)) return;
  delivered();
  if (title === undefined) return;
  const { logEvent } = await import("../../lib/base/output.ts");
  logEvent(paths.log, { event: "title", ok: true, session: prompt.session.id, title });
}

async function log(paths: Paths, error: unknown): Promise<void> {
  const { logFailure } = await import("../failure.ts");
  logFailure(paths, "user-prompt-submit", error);
}

await main();

/**
 * Claude Code's UserPromptSubmit: hands the model what the other sessions did since this one's last prompt, what is
 * known of those that the prompt mentions, and, where the user wants that, a title.
 *
 * Runs before every prompt: with nothing to say it loads no more than lib/activity/look.ts. Exits 0 whatever happens.
 */

import { readFileSync } from "node:fs";
import { isDue, takeLook } from "../../lib/activity/look.ts";
import { recordOf } from "../../lib/base/json.ts";
import { hookEnvironment, type Paths, resolvePaths } from "../../lib/config/config.ts";
import { readPrompt, requireSettings } from "../prompt.ts";

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
    const look = takeLook({ paths, looker: prompt.session, scope: settings.activity.scope });
    const context = look.changed.length > 0 ? await import("../prompt-context.ts") : undefined;
    const activity = context?.promptContext(look, { paths, settings });
    const isUntitled = settings.titles && !input.session_title;
    const title = isUntitled ? (await import("./title.ts")).titleFor(prompt, { paths, settings }) : undefined;
    if (activity || title !== undefined || prompt.text.includes("@@"))
      await (await import("./prompt-answer.ts")).tell({ env, paths, settings, prompt, activity, title });
    else if (isDue(look)) (await import("../../lib/activity/settle.ts")).settle(look);
  } catch (error) {
    await log(places, error);
  }
}

async function log(paths: Paths, error: unknown): Promise<void> {
  const { logFailure } = await import("../failure.ts");
  logFailure(paths, "user-prompt-submit", error);
}

await main();

/**
 * Claude Code's UserPromptSubmit: hands the model what the other sessions did since this one's last prompt.
 *
 * Runs before every prompt, so with nothing new it loads no more than lib/look.ts, and on any failure it is silent.
 */

import { readFileSync } from "node:fs";
import { hookEnvironment, type Paths, resolvePaths, type Settings } from "../../lib/config.ts";
import { isDue, type Look, takeLook } from "../../lib/look.ts";
import { readPrompt, requireSettings } from "../prompt.ts";

const EVENT = "UserPromptSubmit";
const STDIN = 0;

async function main(): Promise<void> {
  if (process.env.SESSION_MEMORY_DISABLE === "1") return;
  const { env, ignored } = hookEnvironment();
  const paths = resolvePaths(env);
  try {
    if (ignored.length > 0) await log(paths, `ignored from this folder's .env: ${ignored.join(", ")}`);
    const settings = requireSettings(paths);
    const prompt = readPrompt(JSON.parse(readFileSync(STDIN, "utf8")));
    if (!prompt) return;
    const look = takeLook({ paths, looker: prompt.session, scope: settings.activity.scope });
    if (look.changed.length > 0) await tell(look, { paths, settings });
    else if (isDue(look)) (await import("../../lib/settle.ts")).settle(look);
  } catch (error) {
    await log(paths, error);
  }
}

async function tell(look: Look, options: { paths: Paths; settings: Settings }): Promise<void> {
  const { promptContext } = await import("../prompt-context.ts");
  const { handOver } = await import("../../lib/hand-over.ts");
  const { text, delivered } = promptContext(look, options);
  const output = { hookSpecificOutput: { hookEventName: EVENT, additionalContext: text } };
  if (text === undefined || handOver(`${JSON.stringify(output)}\n`)) delivered();
}

async function log(paths: Paths, error: unknown): Promise<void> {
  const { logFailure } = await import("../failure.ts");
  logFailure(paths, "user-prompt-submit", error);
}

await main();

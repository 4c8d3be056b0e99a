/**
 * Claude Code's UserPromptSubmit: hands the model what the other sessions did since this one's last prompt, and what is
 * known of those that the prompt mentions.
 *
 * Runs before every prompt, so with nothing to say it loads no more than lib/look.ts, and on any failure it is silent.
 */

import { readFileSync } from "node:fs";
import {
  type Environment,
  hookEnvironment,
  type Paths,
  resolvePaths,
  type Settings,
} from "../../lib/config.ts";
import { isDue, type Look, takeLook } from "../../lib/look.ts";
import { type Prompt, readPrompt, requireSettings } from "../prompt.ts";

const EVENT = "UserPromptSubmit";
const STDIN = 0;
/** Claude Code puts anything longer than 10,000 characters into a file. */
const OUTPUT_MAX_CHARS = 9990;

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
    if (look.changed.length > 0 || prompt.text.includes("@@"))
      await tell(look, { env, paths, settings, prompt });
    else if (isDue(look)) (await import("../../lib/settle.ts")).settle(look);
  } catch (error) {
    await log(paths, error);
  }
}

interface Telling {
  env: Environment;
  paths: Paths;
  settings: Settings;
  prompt: Prompt;
}

/** Loads what is needed for what there is to say, and no more. */
async function tell(look: Look, { env, paths, settings, prompt }: Telling): Promise<void> {
  const context = look.changed.length > 0 ? await import("../prompt-context.ts") : undefined;
  const activity = context?.promptContext(look, { paths, settings });
  const references = prompt.text.includes("@@") ? await import("../prompt-references.ts") : undefined;
  const maxChars = OUTPUT_MAX_CHARS - (activity?.text?.length ?? 0);
  const mentioned = await references?.promptReferences(prompt, { env, paths, settings, maxChars });
  const text = [activity?.text, mentioned].filter((part) => part !== undefined).join("\n\n");
  const { handOver } = await import("../../lib/hand-over.ts");
  const output = { hookSpecificOutput: { hookEventName: EVENT, additionalContext: text } };
  if (text !== "" && !handOver(`${JSON.stringify(output)}\n`)) return;
  activity?.delivered();
  if (mentioned !== undefined) references?.logReferences(paths, prompt, mentioned);
}

async function log(paths: Paths, error: unknown): Promise<void> {
  const { logFailure } = await import("../failure.ts");
  logFailure(paths, "user-prompt-submit", error);
}

await main();

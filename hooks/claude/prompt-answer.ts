/** What Claude Code's UserPromptSubmit has to say, put together and handed over. Loaded only where there may be something. */

import { logEvent } from "../../lib/base/log.ts";
import { handOver } from "../../lib/base/output.ts";
import type { Environment, Paths, Settings } from "../../lib/config/config.ts";
import type { Prompt } from "../prompt.ts";
import type { PromptContext } from "../prompt-context.ts";

const EVENT = "UserPromptSubmit";
/** Claude Code puts anything longer than 10,000 characters into a file. */
const OUTPUT_MAX_CHARS = 9990;

interface Telling {
  env: Environment;
  paths: Paths;
  settings: Settings;
  prompt: Prompt;
  activity?: PromptContext | undefined;
  /** For the session, which has none. */
  title?: string | undefined;
}

/** Loads what is needed for what there is to say, and no more. */
export async function tell({ env, paths, settings, prompt, activity, title }: Telling): Promise<void> {
  const references = prompt.text.includes("@@") ? await import("../prompt-references.ts") : undefined;
  const maxChars = OUTPUT_MAX_CHARS - (activity?.text?.length ?? 0);
  const mentioned = await references?.promptReferences(prompt, { env, paths, settings, maxChars });
  const text = [activity?.text, mentioned].filter((part) => part !== undefined).join("\n\n");
  const said = {
    ...(text === "" ? {} : { additionalContext: text }),
    ...(title === undefined ? {} : { sessionTitle: title }),
  };
  const output = { hookSpecificOutput: { hookEventName: EVENT, ...said } };
  if (Object.keys(said).length > 0 && !handOver(`${JSON.stringify(output)}\n`)) return;
  activity?.delivered();
  if (title !== undefined)
    logEvent(paths.log, { event: "title", ok: true, session: prompt.session.id, title });
  if (mentioned !== undefined) references?.logReferences(paths, prompt, mentioned);
}

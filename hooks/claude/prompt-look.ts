/**
 * What Claude Code's UserPromptSubmit does when a glance does not: hands the model what the other sessions did since
 * this one's last prompt, what is known of those that the prompt mentions, and, where the user wants that, a title.
 *
 * With nothing to say it loads no more than lib/look.ts, and on any failure it is silent.
 */

import {
  type Environment,
  hookEnvironment,
  type Paths,
  resolvePaths,
  type Settings,
} from "../../lib/config.ts";
import { circumstancesOf, cursorPath, type Glance, glanceFile } from "../../lib/glance.ts";
import { recordOf } from "../../lib/json.ts";
import { isDue, type Look, takeLook } from "../../lib/look.ts";
import { beginWitness, endWitness } from "../../lib/witness.ts";
import { type Prompt, readPrompt, requireSettings } from "../prompt.ts";
import type { PromptContext } from "../prompt-context.ts";

const EVENT = "UserPromptSubmit";
/** Claude Code puts anything longer than 10,000 characters into a file. */
const OUTPUT_MAX_CHARS = 9990;

/** Looks at the other sessions and answers the host. Never throws. */
export async function answerPrompt(stdin: string): Promise<void> {
  const { env, ignored } = hookEnvironment();
  const paths = resolvePaths(env);
  try {
    if (ignored.length > 0) await log(paths, `ignored from this folder's .env: ${ignored.join(", ")}`);
    const input = recordOf(JSON.parse(stdin));
    const prompt = readPrompt(input);
    if (!prompt) return;
    beginWitness([paths.config, cursorPath(paths.cursors, prompt.session.id)]);
    const settings = requireSettings(paths);
    const look = takeLook({ paths, looker: prompt.session, scope: settings.activity.scope });
    const context = look.changed.length > 0 ? await import("../prompt-context.ts") : undefined;
    const activity = context?.promptContext(look, { paths, settings });
    const answers = endWitness();
    const isUntitled = settings.titles && !input.session_title;
    const title = isUntitled ? (await import("./title.ts")).titleFor(prompt, { paths, settings }) : undefined;
    if (title !== undefined || prompt.text.includes("@@") || (activity && !activity.isForeign))
      await tell({ env, paths, settings, prompt, activity, title });
    else if (answers && !isUntitled && look.marks?.has(look.looker.id)) {
      const circumstances = circumstancesOf(input, { env, cwd: () => process.cwd() }, look.now);
      await keep({ circumstances, at: look.now, answers }, look);
    } else if (isDue(look)) (await import("../../lib/settle.ts")).settle(look);
  } catch (error) {
    await log(paths, error);
  }
}

interface Telling {
  env: Environment;
  paths: Paths;
  settings: Settings;
  prompt: Prompt;
  activity: PromptContext | undefined;
  /** For the session, which has none. */
  title: string | undefined;
}

/** Loads what is needed for what there is to say, and no more. */
async function tell({ env, paths, settings, prompt, activity, title }: Telling): Promise<void> {
  const references = prompt.text.includes("@@") ? await import("../prompt-references.ts") : undefined;
  const maxChars = OUTPUT_MAX_CHARS - (activity?.text?.length ?? 0);
  const mentioned = await references?.promptReferences(prompt, { env, paths, settings, maxChars });
  const text = [activity?.text, mentioned].filter((part) => part !== undefined).join("\n\n");
  const { handOver } = await import("../../lib/hand-over.ts");
  const said = {
    ...(text === "" ? {} : { additionalContext: text }),
    ...(title === undefined ? {} : { sessionTitle: title }),
  };
  const output = { hookSpecificOutput: { hookEventName: EVENT, ...said } };
  if (Object.keys(said).length > 0 && !handOver(`${JSON.stringify(output)}\n`)) return;
  activity?.delivered();
  if (mentioned !== undefined) references?.logReferences(paths, prompt, mentioned);
}

/** In place of a mark of the looking session itself: from here on its edits count as made since it looked. */
async function keep(glance: Glance, { cursors }: Look): Promise<void> {
  const { replaceFile } = await import("../../lib/files.ts");
  replaceFile(glanceFile(cursors.path), JSON.stringify(glance), { durable: false });
}

async function log(paths: Paths, error: unknown): Promise<void> {
  const { logFailure } = await import("../failure.ts");
  logFailure(paths, "user-prompt-submit", error);
}

/**
 * What Claude Code's UserPromptSubmit does when a glance does not: hands the model what the other sessions did since
 * this one's last prompt, what is known of those that the prompt mentions, and, where the user wants that, a title.
 *
 * With nothing to say it loads no more than lib/activity/look.ts, and on any failure it is silent.
 */

import { isDue, type Look, takeLook } from "../../lib/activity/look.ts";
import { recordOf } from "../../lib/base/json.ts";
import { hookEnvironment, type Paths, resolvePaths } from "../../lib/config/config.ts";
import { circumstancesOf, cursorPath, type Glance, glanceFile } from "../../lib/sessions/glance.ts";
import { beginWitness, endWitness } from "../../lib/sessions/witness.ts";
import { readPrompt, requireSettings } from "../prompt.ts";

/** Looks at the other sessions and answers the host. Never throws. */
export async function answerByLook(stdin: string): Promise<void> {
  const { env, ignored } = hookEnvironment();
  const places = resolvePaths(env);
  try {
    if (ignored.length > 0) await log(places, `ignored from this folder's .env: ${ignored.join(", ")}`);
    const input = recordOf(JSON.parse(stdin));
    const prompt = readPrompt(input);
    if (!prompt) return;
    beginWitness([places.config, cursorPath(places.cursors, prompt.session.id)]);
    const { paths, settings } = requireSettings(places, { env, transcript: prompt.session.file });
    const look = takeLook({ paths, looker: prompt.session, scope: settings.activity.scope });
    const context = look.changed.length > 0 ? await import("../prompt-context.ts") : undefined;
    const activity = context?.promptContext(look, { paths, settings });
    const answers = endWitness();
    const isUntitled = settings.titles && !input.session_title;
    const title = isUntitled ? (await import("./title.ts")).titleFor(prompt, { paths, settings }) : undefined;
    if (title !== undefined || prompt.text.includes("@@") || (activity && !activity.isForeign))
      await (await import("./prompt-answer.ts")).tell({ env, paths, settings, prompt, activity, title });
    else if (answers && !isUntitled && look.marks?.has(look.looker.id)) {
      const circumstances = circumstancesOf(input, { env, cwd: () => process.cwd() }, look.now);
      await keep({ circumstances, at: look.now, answers: answers() }, look);
    } else if (isDue(look)) (await import("../../lib/activity/settle.ts")).settle(look);
  } catch (error) {
    await log(places, error);
  }
}

/** In place of a mark of the looking session itself: from here on its edits count as made since it looked. */
async function keep(glance: Glance, { cursors }: Look): Promise<void> {
  const { replaceFile } = await import("../../lib/base/files.ts");
  replaceFile(glanceFile(cursors.path), JSON.stringify(glance), { durable: false });
}

async function log(paths: Paths, error: unknown): Promise<void> {
  const { logFailure } = await import("../failure.ts");
  logFailure(paths, "user-prompt-submit", error);
}

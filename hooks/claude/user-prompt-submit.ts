/**
 * Claude Code's UserPromptSubmit: gives the model what other sessions did since the last prompt, what is known of the
 * sessions that the prompt mentions, and, if the user wants that, offers a title.
 *
 * Runs before every prompt: without news it loads little more than lib/activity/look.ts. Always exits 0.
 */

import { isDue, type Look, takeLook } from "../../lib/activity/look.ts";
import { statOf } from "../../lib/base/files.ts";
import type { Environment, Paths, Settings } from "../../lib/config/config.ts";
import { isOfCodex, type Prompt, readPrompt, requireSettings, runHook } from "../hook.ts";

const TITLE_CHARS = 100;

await runHook("user-prompt-submit", async ({ env, input, paths: places }) => {
  const prompt = readPrompt(input);
  if (!prompt) return;
  const { paths, settings } = requireSettings(places, { env, transcript: prompt.session.file });
  const look = takeLook({ paths, viewer: prompt.session, scope: settings.activity.scope });
  // Codex takes no title, and refuses an answer with one.
  const isUntitled = settings.titles && !input.session_title && !isOfCodex(prompt.session.file);
  if (look.changed.length > 0 || look.mayHaveShared || isUntitled || prompt.text.includes("@@"))
    await answer(prompt, look, { env, paths, settings, isUntitled });
  else if (isDue(look)) (await import("../../lib/activity/cursors.ts")).saveCursors(look);
});

interface Answering {
  env: Environment;
  paths: Paths;
  settings: Settings;
  /** True if the host has no title for the session. */
  isUntitled: boolean;
}

/** Loads only the modules that this answer needs. */
async function answer(
  prompt: Prompt,
  look: Look,
  { env, paths, settings, isUntitled }: Answering,
): Promise<void> {
  const { answerPrompt, modelOf } = await import("../prompt-answer.ts");
  const { logEvent, writeFully } = await import("../../lib/base/output.ts");
  const model = modelOf(env, prompt.session);
  const { text, delivered } = await answerPrompt(prompt, look, { paths, settings, model });
  const title = isUntitled ? await titleFor(prompt, paths, settings) : undefined;
  const said = {
    ...(text === undefined ? {} : { additionalContext: text }),
    ...(title === undefined ? {} : { sessionTitle: title }),
  };
  const output = { hookSpecificOutput: { hookEventName: "UserPromptSubmit", ...said } };
  if (Object.keys(said).length > 0 && !writeFully(`${JSON.stringify(output)}\n`)) return;
  delivered();
  if (title === undefined) return;
  logEvent(paths.log, { event: "title", ok: true, session: prompt.session.id, title });
}

/** Returns the name in the meta file; undefined for one that is only place and date, and where a title is set. */
async function titleFor(
  { session: { id, file } }: Prompt,
  paths: Paths,
  { redact }: Settings,
): Promise<string | undefined> {
  const [{ isCircumstantial }, { oneLine, redactor }, { givenTitle }, { metaFile, readMeta }] =
    await Promise.all([
      import("../../lib/naming/summarize.ts"),
      import("../../lib/redact/redact.ts"),
      import("../../lib/sessions/discovery.ts"),
      import("../../lib/sessions/meta.ts"),
    ]);
  const { meta } = readMeta(metaFile(paths, { id, agent: "claude" }));
  const size = file === undefined ? undefined : statOf(file)?.size;
  // Not every version of the client sends the title with the hook's input.
  const isTitled = file && size !== undefined && givenTitle({ agent: "claude", file, size }) !== undefined;
  if (!meta || isCircumstantial(meta.name) || isTitled) return undefined;
  return oneLine(redactor(redact.extra)(meta.name), TITLE_CHARS) || undefined;
}

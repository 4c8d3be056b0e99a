/** What the `@@` references of a prompt mean, for hosts that hand a prompt over as text. Loaded only for a prompt with one. */

import { logEvent } from "../lib/base/log.ts";
import { type Environment, loadConfig, type Paths, type Settings } from "../lib/config/config.ts";
import { hasReference } from "../lib/sessions/references.ts";
import { logFailure } from "./failure.ts";
import type { Prompt } from "./prompt.ts";

/** Longer a prompt is not held up. Claude Code gives a hook 30 s, and drops everything it was to say after that. */
export const QUESTION_MS = 20_000;

export interface ReferenceSources {
  env: Environment;
  paths: Paths;
  settings: Settings;
  /** How much there is room for. */
  maxChars: number;
}

/** What the prompt is told of the sessions it mentions; undefined when it mentions none or nothing could be told. */
export async function promptReferences(
  { text, session }: Prompt,
  { env, paths, settings, maxChars }: ReferenceSources,
): Promise<string | undefined> {
  if (!hasReference(text)) return undefined;
  const cwd = session.cwd ?? process.cwd();
  try {
    const { referenceContext } = await import("../scripts/session-reference.ts");
    const context = await referenceContext(text, {
      paths,
      settings,
      cwd,
      current: session.id,
      maxChars,
      model: async () => {
        const { configuredModel } = await import("../lib/model/configured-model.ts");
        return configuredModel(await loadConfig(env, cwd));
      },
      signal: AbortSignal.timeout(QUESTION_MS),
    });
    return context.text || undefined;
  } catch (error) {
    logFailure(paths, "prompt-references", error);
    return undefined;
  }
}

/** Notes that the host has been told. */
export function logReferences(paths: Paths, { session }: Prompt, text: string): void {
  logEvent(paths.log, { event: "injected", ok: true, session: session.id, text });
}

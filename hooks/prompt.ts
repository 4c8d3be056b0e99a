/** A host's UserPromptSubmit input, and the settings it is answered by. On the path of a silent look. */

import type { Looker } from "../lib/activity/look.ts";
import { isRecord, stringOf } from "../lib/base/json.ts";
import { type Environment, type Paths, type Settings, withFolders } from "../lib/config/config.ts";
import { readHookSettings } from "../lib/config/hook-settings.ts";

export interface Prompt {
  /** The session it is written in. */
  session: Looker;
  text: string;
}

/** Such a prompt is the host's own: nobody typed it. */
const NOT_TYPED = "<task-notification>";

/** Reads the input; undefined for a prompt that no person wrote. */
export function readPrompt(input: unknown): Prompt | undefined {
  const id = isRecord(input) ? stringOf(input.session_id) : undefined;
  if (!isRecord(input) || id === undefined) {
    throw new Error("Cannot tell which session is looking: the input has no session_id");
  }
  const text = stringOf(input.prompt) ?? "";
  if (text.trimStart().startsWith(NOT_TYPED)) return undefined;
  const cwd = stringOf(input.cwd) ?? process.cwd();
  return { session: { id, file: stringOf(input.transcript_path), cwd }, text };
}

/** The settings that a hook goes by, and the places that it may read for the session whose transcript is given. */
export function requireSettings(
  places: Paths,
  { env, transcript }: { env: Environment; transcript: string | undefined },
): { settings: Settings; paths: Paths } {
  const settings = readHookSettings(places);
  if (!settings) throw new Error(`Cannot use "${places.config}": scripts/health.ts says why`);
  return { settings, paths: withFolders(places, { settings, env, transcript }) };
}

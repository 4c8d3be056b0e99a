/** Reads a host's UserPromptSubmit input and the settings. Runs before every prompt. */

import type { Viewer } from "../lib/activity/look.ts";
import { isRecord, stringOf } from "../lib/base/json.ts";
import {
  defaultSettings,
  type Environment,
  type Paths,
  type Settings,
  withFolders,
} from "../lib/config/config.ts";
import { readHookSettings } from "../lib/config/config-file.ts";

export interface Prompt {
  /** The session in which it is written. */
  session: Viewer;
  text: string;
}

/** Begins prompts that the host writes itself. */
const NOT_TYPED = "<task-notification>";

/** Reads the input; undefined for a prompt of the host's own. */
export function readPrompt(input: unknown): Prompt | undefined {
  const id = isRecord(input) ? stringOf(input.session_id) : undefined;
  if (!isRecord(input) || id === undefined) {
    throw new Error("Cannot identify the session: the input has no session_id");
  }
  const text = stringOf(input.prompt) ?? "";
  if (text.trimStart().startsWith(NOT_TYPED)) return undefined;
  const cwd = stringOf(input.cwd) ?? process.cwd();
  return { session: { id, file: stringOf(input.transcript_path), cwd }, text };
}

/** Reads the settings, and the places that may be read for the session with this transcript. */
export function requireSettings(
  places: Paths,
  { env, transcript }: { env: Environment; transcript: string | undefined },
): { settings: Settings; paths: Paths } {
  const settings = readHookSettings(places.config, defaultSettings());
  if (!settings) throw new Error(`Cannot use "${places.config}": scripts/health.ts says why`);
  return { settings, paths: withFolders(places, { settings, env, transcript }) };
}

/**
 * For programs that run agents through the Agent SDK: adds what other sessions did, and what is known of the sessions
 * that the prompt mentions, to each prompt.
 *
 *     query({ prompt, options: { hooks: { UserPromptSubmit: [{ hooks: [userPromptSubmit()] }] } } })
 */

import { takeLook } from "../lib/activity/look.ts";
import { type Environment, type Paths, resolvePaths, type Settings } from "../lib/config/config.ts";
import { currentDirectory, trustedEnvironment } from "../lib/config/environment.ts";
import { logFailure, readPrompt, requireSettings } from "./hook.ts";
import { answerPrompt, modelOf } from "./prompt-answer.ts";

export interface UserPromptSubmitOptions {
  /** @default {process.env} */
  env?: Environment;
  /** Which sessions count. @default {activity.scope of config.json} */
  scope?: "project" | "all";
  /** The maximum length of the digest in characters. @default {activity.maxChars of config.json} */
  maxChars?: number;
}

/** The output of a callback; an empty one changes nothing. */
export interface HookOutput {
  hookSpecificOutput?: { hookEventName: "UserPromptSubmit"; additionalContext: string };
}

/** An SDK callback: hook input, tool use id, abort signal. */
export type HookCallback = (
  input: unknown,
  toolUseId?: string,
  context?: { signal?: AbortSignal },
) => Promise<HookOutput>;

const HOOK = "agent-sdk";

/** Returns the callback for `hooks.UserPromptSubmit` in the SDK's options. It never rejects. */
export function userPromptSubmit(options: UserPromptSubmitOptions = {}): HookCallback {
  return async (input, _toolUseId, context) => {
    const { env, ignored } = trustedEnvironment(options.env ?? process.env, currentDirectory());
    if (env.SESSION_MEMORY_DISABLE === "1") return {};
    const paths = resolvePaths(env);
    try {
      if (ignored.length > 0)
        await logFailure(paths, HOOK, `ignored from this folder's .env: ${ignored.join(", ")}`);
      return await answer(input, { env, paths, options, signal: context?.signal });
    } catch (error) {
      await logFailure(paths, HOOK, error);
      return {};
    }
  };
}

interface Answering {
  env: Environment;
  paths: Paths;
  options: UserPromptSubmitOptions;
  signal: AbortSignal | undefined;
}

async function answer(
  input: unknown,
  { env, paths: places, options, signal }: Answering,
): Promise<HookOutput> {
  const prompt = readPrompt(input);
  if (!prompt) return {};
  const { paths, ...read } = requireSettings(places, { env, transcript: prompt.session.file });
  const settings = withOptions(read.settings, options);
  const look = takeLook({ paths, viewer: prompt.session, scope: settings.activity.scope });
  const model = modelOf(env, prompt.session);
  const { text, delivered } = await answerPrompt(prompt, look, { paths, settings, model });
  // The SDK takes the text within this turn of the event loop, unless the call was aborted.
  setImmediate(() => {
    if (!signal?.aborted) delivered();
  });
  if (text === undefined) return {};
  return { hookSpecificOutput: { hookEventName: "UserPromptSubmit", additionalContext: text } };
}

function withOptions(settings: Settings, { scope, maxChars }: UserPromptSubmitOptions): Settings {
  const { activity } = settings;
  return {
    ...settings,
    activity: { ...activity, scope: scope ?? activity.scope, maxChars: maxChars ?? activity.maxChars },
  };
}

/**
 * For programs that run agents through the Agent SDK: adds to each prompt what other sessions did, and what is known of the
 * sessions that the prompt mentions.
 *
 *     query({ prompt, options: { hooks: { UserPromptSubmit: [{ hooks: [userPromptSubmit()] }] } } })
 */

import { takeLook } from "../lib/activity/look.ts";
import {
  currentDirectory,
  type Environment,
  type PathsWithRules,
  resolvePaths,
  trustedEnvironment,
} from "../lib/config/config.ts";
import { logFailure, readPrompt, requireSettings } from "./hook.ts";
import { answerPrompt, type Injection, modelOf } from "./prompt-answer.ts";

export interface UserPromptSubmitOptions {
  /** @default {process.env} */
  env?: Environment;
  /** Which sessions count. @default {activity.scope of config.json} */
  scope?: "project" | "all";
  /** The maximum length of the digest in characters. @default {activity.maxChars of config.json} */
  maxChars?: number;
}

/** The output of the callback; an empty one changes nothing. */
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
      const { text, delivered } = await answer(input, { ...options, env, paths });
      // The SDK takes the text within this turn of the event loop, unless the call was aborted.
      setImmediate(() => {
        if (!context?.signal?.aborted) delivered();
      });
      if (text === undefined) return {};
      return { hookSpecificOutput: { hookEventName: "UserPromptSubmit", additionalContext: text } };
    } catch (error) {
      await logFailure(paths, HOOK, error);
      return {};
    }
  };
}

async function answer(
  input: unknown,
  options: UserPromptSubmitOptions & { env: Environment; paths: PathsWithRules },
): Promise<Injection> {
  const prompt = readPrompt(input);
  if (!prompt) return { text: undefined, delivered() {} };
  const { env } = options;
  const { paths, settings } = requireSettings(options.paths, { env, transcript: prompt.session.file });
  const { scope = settings.activity.scope, maxChars = settings.activity.maxChars } = options;
  const look = takeLook({ paths, viewer: prompt.session, scope });
  const activity = { ...settings.activity, scope, maxChars };
  const model = modelOf(env, prompt.session);
  return await answerPrompt(prompt, look, { paths, settings: { ...settings, activity }, model });
}

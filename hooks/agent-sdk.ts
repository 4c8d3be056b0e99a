/**
 * For programs that run agents through the Agent SDK: adds what the user laid down in earlier sessions, what others did, and what is known of the sessions
 * that the prompt mentions, to each prompt; and at a failing command how earlier sessions ended its error.
 *
 *     query({ prompt, options: { hooks: {
 *       UserPromptSubmit: [{ hooks: [userPromptSubmit()] }],
 *       PostToolUseFailure: [{ matcher: "Bash|PowerShell", hooks: [postToolUseFailure()] }],
 *     } } })
 */

import { lookForDigest, type Viewer } from "../lib/activity/look.ts";
import { statPath } from "../lib/base/files.ts";
import { recordOf } from "../lib/base/json.ts";
import {
  currentDirectory,
  type Environment,
  type PathsWithRules,
  resolvePaths,
  trustedEnvironment,
} from "../lib/config/config.ts";
import { rulesFor } from "./beginning.ts";
import { logFailure, readPrompt, readSession, requireSettings } from "./hook.ts";
import {
  answerFailure,
  answerPrompt,
  findModel,
  type Injection,
  injection,
  readFailure,
} from "./prompt-answer.ts";

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
  hookSpecificOutput?: { hookEventName: Event; additionalContext: string };
}

type Event = "UserPromptSubmit" | "PostToolUseFailure";

/** An SDK callback: hook input, tool use id, abort signal. */
export type HookCallback = (
  input: unknown,
  toolUseId?: string,
  context?: { signal?: AbortSignal },
) => Promise<HookOutput>;

const HOOK = "agent-sdk";
const ABOUT = { source: "claude" };

/** Returns the callback for `hooks.UserPromptSubmit` in the SDK's options. It never rejects. */
export function userPromptSubmit({ env: given, ...options }: UserPromptSubmitOptions = {}): HookCallback {
  const begun = new Set<string>();
  return callback("UserPromptSubmit", given, async (input, env, places) => {
    const prompt = readPrompt(input);
    if (!prompt) return undefined;
    const { paths, settings } = requireSettings(places, { env, transcript: prompt.session.file });
    const activity = { ...settings.activity, ...options };
    const look = lookForDigest({ paths, viewer: prompt.session, activity });
    const model = findModel(env, prompt.session);
    const { id } = prompt.session;
    const rules =
      begun.has(id) || !begins(prompt.session) ? undefined : await rulesFor(prompt.session, paths, settings);
    const answer = await answerPrompt(prompt, look, { paths, settings: { ...settings, activity }, model });
    const told = both(injection(rules, id, paths), answer);
    const delivered = () => {
      begun.add(id);
      told.delivered();
    };
    return { ...told, delivered };
  });
}

/** Returns whether a session begins with this prompt: callbacks hear of no start, and nothing is written before the first. */
function begins({ file }: Viewer): boolean {
  return file === undefined || !statPath(file)?.size;
}

function both(first: Injection, second: Injection): Injection {
  const texts = [first.text, second.text].filter((text) => text !== undefined);
  return {
    text: texts.length > 0 ? texts.join("\n\n") : undefined,
    delivered() {
      first.delivered();
      second.delivered();
    },
  };
}

/** Returns the callback for `hooks.PostToolUseFailure` in the SDK's options. It never rejects. */
export function postToolUseFailure({ env: given }: { env?: Environment } = {}): HookCallback {
  return callback("PostToolUseFailure", given, async (input, env, places) => {
    const failed = readFailure(recordOf(input));
    if (!failed) return undefined;
    return await answerFailure(failed, requireSettings(places, { env, transcript: readSession(input).file }));
  });
}

function callback(
  hookEventName: Event,
  given: Environment = process.env,
  work: (input: unknown, env: Environment, paths: PathsWithRules) => Promise<Injection | undefined>,
): HookCallback {
  return async (input, _toolUseId, context) => {
    const { env, ignored } = trustedEnvironment(given, currentDirectory());
    if (env.SESSION_MEMORY_DISABLE === "1") return {};
    const paths = resolvePaths(env);
    try {
      if (ignored.length > 0)
        await logFailure(paths, HOOK, `ignored from this folder's .env: ${ignored.join(", ")}`, ABOUT);
      const answer = await work(input, env, paths);
      if (!answer) return {};
      // The SDK takes the text within this turn of the event loop, unless the call was aborted.
      setImmediate(() => {
        if (!context?.signal?.aborted) answer.delivered();
      });
      const { text } = answer;
      return text === undefined ? {} : { hookSpecificOutput: { hookEventName, additionalContext: text } };
    } catch (error) {
      await logFailure(paths, HOOK, error, ABOUT);
      return {};
    }
  };
}

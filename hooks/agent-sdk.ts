/**
 * For programs that run agents through the Agent SDK: adds what the user laid down in earlier sessions, what others did, and what is known of the sessions
 * that the prompt mentions, to each prompt; and at a failing command how earlier sessions ended its error.
 *
 *     query({ prompt, options: { hooks: {
 *       UserPromptSubmit: [{ hooks: [userPromptSubmit()] }],
 *       PostToolUseFailure: [{ matcher: "Bash|PowerShell", hooks: [postToolUseFailure()] }],
 *     } } })
 */

import { statPath } from "../lib/base/files.ts";
import type { Environment } from "../lib/config/config.ts";
import type { Viewer } from "../lib/hosts/session.ts";
import type { Answer } from "./asked.ts";
import { type HookCall, readAsked, readPrompt, runHook, together } from "./hook.ts";
import { answerMoment, tellRules } from "./moments.ts";
import { readFailure } from "./prompt-answer.ts";

export interface UserPromptSubmitOptions {
  /** @default {process.env} */
  env?: Environment;
  /** The sessions that count. @default {activity.scope of config.json} */
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
const HOST = "claude";

/** Returns the callback for `hooks.UserPromptSubmit` in the SDK's options. It never rejects. */
export function userPromptSubmit({ env: given, ...options }: UserPromptSubmitOptions = {}): HookCallback {
  const begun = new Set<string>();
  return callback("UserPromptSubmit", given, async (call) => {
    const text = readPrompt(call.input);
    if (text === undefined) return undefined;
    const asked = { ...readAsked(call, HOST), text };
    asked.settings = { ...asked.settings, activity: { ...asked.settings.activity, ...options } };
    const { session } = asked;
    const isBegun = begun.has(session.id) || !begins(session);
    const rules = isBegun ? undefined : await tellRules(asked);
    const told = await answerMoment("prompt", asked);
    return together(rules, told, { delivered: () => begun.add(session.id) });
  });
}

/** Returns whether a session begins with this prompt: callbacks hear of no start, and nothing is written before the first. */
function begins({ file }: Viewer): boolean {
  return file === undefined || !statPath(file)?.size;
}

/** Returns the callback for `hooks.PostToolUseFailure` in the SDK's options. It never rejects. */
export function postToolUseFailure({ env: given }: { env?: Environment } = {}): HookCallback {
  return callback("PostToolUseFailure", given, async (call) => {
    const failure = readFailure(call.input);
    return failure && answerMoment("failure", { ...readAsked(call, HOST), failure });
  });
}

function callback(
  hookEventName: Event,
  env: Environment = process.env,
  work: (call: HookCall) => Promise<Answer | undefined>,
): HookCallback {
  return async (input, _toolUseId, context) => {
    const answer = await runHook(HOOK, work, { host: HOST, env, read: () => input });
    if (!answer) return {};
    // The SDK takes the text within this turn of the event loop, unless the call was aborted.
    setImmediate(() => {
      if (!context?.signal?.aborted) answer.delivered();
    });
    const { text } = answer;
    return text === undefined ? {} : { hookSpecificOutput: { hookEventName, additionalContext: text } };
  };
}

/** Before the model sees a prompt: what the other sessions did, and what its `@@` references mean. */

import { type Look, takeLook } from "../../lib/activity/look.ts";
import { logEvent } from "../../lib/base/log.ts";
import type { Config, Paths } from "../../lib/config/config.ts";
import { promptContext } from "../prompt-context.ts";
import { QUESTION_MS } from "../prompt-references.ts";
import type { PiContext } from "./api.ts";
import { hostModel, on, type PiState, pathsOf } from "./state.ts";

/** Registers the two messages. pi keeps each as an entry of its own and sends it after the user's words. */
export function registerPrompt(state: PiState, config: Config): void {
  const { settings } = config;
  let deliver = () => {};
  on(state, "before_agent_start", (_, context) => {
    const paths = pathsOf(config, context);
    const { text, delivered } = promptContext(look(paths, config, context), { paths, settings });
    deliver = delivered;
    return text === undefined ? undefined : message("session-update", text);
  });
  // pi has stored the message by the time the agent starts: from then on it counts as told.
  on(state, "agent_start", () => {
    deliver();
    deliver = () => {};
  });
  on(state, "before_agent_start", async ({ prompt = "" }, context) => {
    if (!prompt.includes("@@")) return undefined;
    const { referenceContext } = await import("../../scripts/session-reference.ts");
    const current = context.sessionManager.getSessionId();
    const paths = pathsOf(config, context);
    const { text } = await referenceContext(prompt, {
      paths,
      settings,
      cwd: context.cwd,
      current,
      model: async () => hostModel(state, context),
      signal: AbortSignal.timeout(QUESTION_MS),
    });
    if (text === "") return undefined;
    logEvent(paths.log, { event: "injected", ok: true, session: current, text });
    return message("session-reference", text);
  });
}

function look(paths: Paths, { settings }: Config, { sessionManager, cwd }: PiContext): Look {
  const looker = { id: sessionManager.getSessionId(), file: sessionManager.getSessionFile(), cwd };
  return takeLook({ paths, looker, scope: settings.activity.scope });
}

function message(customType: string, content: string) {
  return { message: { customType, content, display: true } };
}

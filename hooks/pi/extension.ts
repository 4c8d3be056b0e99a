/**
 * session-memory in pi: reports to each prompt what other sessions did, indexes and names sessions after a turn, and
 * keeps observations of the conversation that replace it when it is compacted.
 *
 * Loaded by index.ts.
 */

import { takeLook } from "../../lib/activity/look.ts";
import type { Config } from "../../lib/config/config.ts";
import { activityOf, referencesIn } from "../prompt-answer.ts";
import type { PiApi, PiContext } from "./api.ts";
import { registerObservationCommands, registerTools } from "./commands.ts";
import { registerIndexing, registerMeta } from "./indexing.ts";
import { namingModel } from "./models.ts";
import { registerObservations } from "./observations.ts";
import { on, type PiState, pathsOf, startState } from "./state.ts";

export async function register(pi: PiApi): Promise<void> {
  const state = await startState(pi);
  if (!state.config) return;
  registerPrompt(state, state.config);
  registerIndexing(state, state.config);
  registerMeta(state, state.config);
  registerObservations(state, state.config);
  registerObservationCommands(state, state.config);
  registerTools(state, state.config);
}

/** Registers the two messages. pi stores each as an entry of its own and sends it after the user's words. */
export function registerPrompt(state: PiState, config: Config): void {
  const { settings } = config;
  let deliver = () => {};
  on(state, "before_agent_start", async (_, context) => {
    const paths = pathsOf(config, context);
    const look = takeLook({ paths, viewer: sessionIn(context), scope: settings.activity.scope });
    const { text, delivered } = await activityOf(look, { paths, settings });
    deliver = delivered;
    return message("session-update", text);
  });
  // pi has stored the message by the time the agent starts.
  on(state, "agent_start", () => {
    deliver();
    deliver = () => {};
  });
  on(state, "before_agent_start", async ({ prompt = "" }, context) => {
    const paths = pathsOf(config, context);
    const model = async () => namingModel(config, context);
    const mention = { text: prompt, session: sessionIn(context) };
    const { text, delivered } = await referencesIn(mention, { paths, settings, model });
    delivered();
    return message("session-reference", text);
  });
}

function sessionIn({ sessionManager, cwd }: PiContext) {
  return { id: sessionManager.getSessionId(), file: sessionManager.getSessionFile(), cwd };
}

function message(customType: string, content: string | undefined) {
  return content === undefined ? undefined : { message: { customType, content, display: true } };
}

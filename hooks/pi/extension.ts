/**
 * session-memory in pi: adds to each prompt what other sessions did, and to a command that failed how they ended its error;
 * indexes and names the session after each turn; and keeps observations that replace the conversation when it is compacted.
 *
 * Loaded by index.ts.
 */

import { takeLook } from "../../lib/activity/look.ts";
import { recordOf } from "../../lib/base/json.ts";
import { activityOf, answerFailure, referencesIn } from "../prompt-answer.ts";
import type { PiApi, PiContext } from "./api.ts";
import { registerObservationCommands, registerTools } from "./commands.ts";
import { registerIndexing, registerMeta } from "./indexing.ts";
import { namingModel, promptModel } from "./models.ts";
import { registerObservations } from "./observations.ts";
import { loadState, on, type PiState, pathsOf } from "./state.ts";

export async function register(pi: PiApi): Promise<void> {
  const state = await loadState(pi);
  if (!state) return;
  registerPrompt(state);
  registerFailures(state);
  registerIndexing(state);
  registerMeta(state);
  registerObservations(state);
  registerObservationCommands(state);
  registerTools(state);
}

/** Registers the two messages. pi stores each as an entry of its own and sends it after the user's words. */
export function registerPrompt(state: PiState): void {
  const { config } = state;
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
    const model = async () => promptModel(config, context);
    const mention = { text: prompt, session: sessionIn(context) };
    const hasTool = namingModel(config, context) !== undefined;
    const { text, delivered } = await referencesIn(mention, { paths, settings, model, hasTool });
    delivered();
    return message("session-reference", text);
  });
}

/** Registers the message about a command that failed. It comes after the tool's results and leaves them unchanged. */
function registerFailures(state: PiState): void {
  const { config } = state;
  on(state, "tool_result", async ({ toolName, input, content = [], isError }, context) => {
    const { command } = recordOf(input);
    if (toolName !== "bash" || isError !== true || typeof command !== "string") return;
    const { id, cwd } = sessionIn(context);
    const output = content.map(({ text = "" }) => text).join("\n");
    const { text, delivered } = await answerFailure(
      { sessionId: id, viewer: id, cwd, command, output },
      { paths: pathsOf(config, context), settings: config.settings },
    );
    if (text === undefined || !state.pi.sendMessage) return;
    state.pi.sendMessage({ customType: "seen-before", content: text, display: true }, { deliverAs: "steer" });
    delivered();
  });
}

function sessionIn({ sessionManager, cwd }: PiContext) {
  return { id: sessionManager.getSessionId(), file: sessionManager.getSessionFile(), cwd };
}

function message(customType: string, content: string | undefined) {
  return content === undefined ? undefined : { message: { customType, content, display: true } };
}

/**
 * session-memory in pi: reports to each prompt what other sessions did, indexes and names sessions after a turn, and
 * keeps observations of the conversation that replace it when it is compacted.
 *
 * Loaded by index.ts.
 */

import type { PiApi } from "./api.ts";
import { registerObservationCommands } from "./commands.ts";
import { registerIndexing } from "./indexing.ts";
import { registerMeta } from "./meta.ts";
import { registerObservations } from "./observations.ts";
import { registerPrompt } from "./prompt.ts";
import { startState } from "./state.ts";
import { registerTools } from "./tools.ts";

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

/** Claude Code's and Codex's Stop: starts the work due after a turn in the background, and exits. */

import { readAsked, readRecorded, runHook } from "../hook.ts";
import { answerMoment } from "../moments.ts";

await runHook("stop", async (call) => {
  readRecorded(call.input);
  await answerMoment("turn", readAsked(call));
});

/** Claude Code's SessionEnd: starts the work due after a session in the background, and exits before the client does. */

import { readAsked, readRecorded, runHook } from "../hook.ts";
import { answerMoment } from "../moments.ts";

await runHook("session-end", async (call) => {
  readRecorded(call.input);
  // A cleared session is saved as a note.
  await answerMoment("end", { ...readAsked(call), isCleared: call.input.reason === "clear" });
});

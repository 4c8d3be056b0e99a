/** Claude Code's SessionEnd: starts the work due after a session in the background, and exits before the client does. */

import { runHook, startAfterTurn } from "../hook.ts";

// A cleared session is saved as a note.
await runHook("session-end", (call) =>
  startAfterTurn(call, ["--end", ...(call.input.reason === "clear" ? ["--save"] : [])]),
);

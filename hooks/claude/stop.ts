/** Claude Code's Stop: starts the work due after a turn in the background, and exits. */

import { runHook, startAfterTurn } from "../hook.ts";

await runHook("stop", (call) => startAfterTurn(call));

/** Claude Code's Stop: starts the work due after a turn in the background, and exits. */

import { startAfterTurn } from "./after-turn.ts";

await startAfterTurn("stop");

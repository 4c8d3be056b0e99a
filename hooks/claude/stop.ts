/** Claude Code's Stop: starts what is due after a turn in the background, and is gone. */

import { startAfterTurn } from "./after-turn.ts";

await startAfterTurn("stop");

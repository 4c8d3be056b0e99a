/** Claude Code's SessionEnd: starts what is due after a session in the background, and is gone before the client is. */

import { startAfterTurn } from "./after-turn.ts";

await startAfterTurn("session-end");

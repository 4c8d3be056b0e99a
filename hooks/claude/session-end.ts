/** Claude Code's SessionEnd: starts the work due after a session in the background, and exits before the client does. */

import { startAfterTurn } from "./after-turn.ts";

await startAfterTurn("session-end");

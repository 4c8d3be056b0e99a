/** Hands the session to hooks/background.ts, on Stop and SessionEnd. */

import { startBackground } from "../start-background.ts";
import { runHook } from "./hook.ts";

/** Starts the background work for the hook's session. */
export async function startAfterTurn(name: "stop" | "session-end"): Promise<void> {
  await runHook(name, ({ env, session, cause }) => {
    // A cleared session is saved as a note.
    const flags = name === "session-end" && cause === "clear" ? ["--save"] : [];
    if (!startBackground({ ...session, source: "claude", flags }, env)) {
      throw new Error("Cannot start background work: no bun, node >= 22.18 or deno found");
    }
  });
}

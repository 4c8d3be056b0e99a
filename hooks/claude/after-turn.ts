/** What Stop and SessionEnd do alike: hand the session to hooks/background.ts. */

import { startBackground } from "../start-background.ts";
import { runHook } from "./hook.ts";

/** Starts the background work of the session that the hook was called for. */
export async function startAfterTurn(name: "stop" | "session-end"): Promise<void> {
  await runHook(name, ({ env, session, cause }) => {
    // What `/clear` leaves behind is saved as a note.
    const flags = name === "session-end" && cause === "clear" ? ["--save"] : [];
    if (!startBackground({ ...session, source: "claude", flags }, env)) {
      throw new Error("Cannot start background work: no bun, node >= 22.18 or deno found");
    }
  });
}

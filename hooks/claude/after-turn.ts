/** What Stop and SessionEnd do alike: hand the session to hooks/background.ts. */

import { startDetached } from "../../lib/base/runtime.ts";
import { runHook } from "./hook.ts";

/** Starts the background work of the session that the hook was called for. */
export async function startAfterTurn(name: "stop" | "session-end"): Promise<void> {
  await runHook(name, ({ env, session: { id, file, cwd }, cause }) => {
    const args = ["--session", id, "--file", file, "--cwd", cwd];
    // What `/clear` leaves behind is saved as a note.
    if (name === "session-end" && cause === "clear") args.push("--save");
    if (!startDetached("hooks/background.ts", args, { env, cwd })) {
      throw new Error("Cannot start background work: no bun, node >= 22.18 or deno found");
    }
  });
}

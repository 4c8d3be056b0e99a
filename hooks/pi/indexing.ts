/** Brings the search index up to date after a turn: in a process of its own, or in small slices where none can be started. */

import type { Config } from "../../lib/config.ts";
import { startDetached } from "../../lib/runtime.ts";
import type { PiContext } from "./api.ts";
import { afterTurn, currentSession, inBackground, on, type PiState } from "./state.ts";

/** Longer slices would be felt while typing. */
const SLICE_MS = 20;
const PAUSE_MS = 50;

/** Registers the work after a turn, and the note that `/new` leaves behind. */
export function registerIndexing(state: PiState, config: Config): void {
  afterTurn(state, "indexing", (context) => {
    const file = context.sessionManager.getSessionFile();
    if (file === undefined) return;
    const args = [
      "--session",
      context.sessionManager.getSessionId(),
      "--file",
      file,
      "--cwd",
      context.cwd,
      "--index-only",
    ];
    if (startDetached("hooks/background.ts", args, { env: config.env, cwd: context.cwd })) return;
    inBackground(state, "indexing", async () => {
      const session = currentSession(context);
      if (!session) return;
      const { indexSessions } = await import("../../lib/indexing/indexing.ts");
      const { currentExclude } = await import("../../lib/sessions/kept-out.ts");
      const { openStore } = await import("../../lib/store.ts");
      const store = openStore(config.paths.database, { create: true });
      try {
        for (let left = 1; left > 0 && !state.abort.signal.aborted; ) {
          const report = await indexSessions({
            store,
            sessions: [session],
            settings: config.settings,
            excludeNow: () => currentExclude(config.paths, config.settings.exclude),
            deadlineMs: SLICE_MS,
          });
          left = report.sessions === 0 ? 0 : report.left;
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        }
      } finally {
        store.close();
      }
    });
  });
  on(state, "session_shutdown", ({ reason }, context) => {
    if (reason === "new") startWork(config, context, ["--save"]);
  });
}

/** Starts hooks/background.ts for the present session; false when there is nothing to run it on. */
function startWork({ env }: Config, { sessionManager, cwd }: PiContext, flags: string[]): boolean {
  const file = sessionManager.getSessionFile();
  if (file === undefined) return true;
  const about = ["--session", sessionManager.getSessionId(), "--file", file, "--cwd", cwd, "--source", "pi"];
  return startDetached("hooks/background.ts", [...about, "--index-only", ...flags], { env, cwd });
}

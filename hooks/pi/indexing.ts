/** Brings the search index up to date after a turn: in a process of its own, or in small slices where none can be started. */

import type { Config } from "../../lib/config/config.ts";
import { startBackground, startBeginning } from "../start-background.ts";
import type { PiContext } from "./api.ts";
import { afterTurn, currentSession, inBackground, on, type PiState } from "./state.ts";

/** Longer slices would be felt while typing. */
const SLICE_MS = 20;
const PAUSE_MS = 50;

/** Registers the work after a turn, and the note that `/new` leaves behind. */
export function registerIndexing(state: PiState, config: Config): void {
  let isSlicing = false;
  afterTurn(state, "indexing", (context) => {
    if (isSlicing || startWork(config, context, [])) return;
    isSlicing = true;
    inBackground(state, "indexing", async () => {
      try {
        await indexInSlices(state, config, context);
      } finally {
        isSlicing = false;
      }
    });
  });
  on(state, "session_start", (_, { cwd }) => startBeginning(cwd, config.env));
  on(state, "session_shutdown", ({ reason }, context) => {
    if (reason === "new") startWork(config, context, ["--save"]);
  });
}

/** Starts hooks/background.ts for the present session; false when there is nothing to run it on. */
function startWork({ env }: Config, { sessionManager, cwd }: PiContext, flags: string[]): boolean {
  const file = sessionManager.getSessionFile();
  if (file === undefined) return true;
  const session = { id: sessionManager.getSessionId(), file, cwd };
  return startBackground({ ...session, source: "pi", flags: ["--index-only", ...flags] }, env);
}

/** Indexes the present session in pi's own process, a little at a time. */
async function indexInSlices(state: PiState, config: Config, context: PiContext): Promise<void> {
  const session = currentSession(context);
  if (!session) return;
  const { paths, settings } = config;
  const [{ indexSessions }, { currentExclude }, { openStore }] = await Promise.all([
    import("../../lib/index/indexing.ts"),
    import("../../lib/sessions/unlisted.ts"),
    import("../../lib/store/store.ts"),
  ]);
  const store = openStore(paths.database, { create: true });
  const excludeNow = () => currentExclude(paths, settings.exclude);
  try {
    for (let left = 1; left > 0 && !state.abort.signal.aborted; ) {
      const report = await indexSessions({
        store,
        sessions: [session],
        settings,
        excludeNow,
        deadlineMs: SLICE_MS,
      });
      left = report.sessions === 0 ? 0 : report.left;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  } finally {
    store.close();
  }
}

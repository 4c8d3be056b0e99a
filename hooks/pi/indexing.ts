/**
 * Indexes the session after each turn, in a process of its own or in small slices when none can be started, and names it when
 * that is due or requested (meta file, status line with the cost, telemetry entry).
 */

import { describeError } from "../../lib/base/errors.ts";
import { findRuntime, withOwnRuntime } from "../../lib/base/runtime.ts";
import type { Config } from "../../lib/config/config.ts";
import type { MetaOutcome } from "../../lib/naming/meta-words.ts";
import { logFailure, startBackground, startBeginning } from "../hook.ts";
import type { PiContext } from "./api.ts";
import { namingModel, namingModelName } from "./models.ts";
import { afterTurn, currentSession, on, type PiState, showStatus } from "./state.ts";

/** Longer slices would be noticed while typing. */
const SLICE_MS = 20;
const PAUSE_MS = 50; // keys that are typed come first
const TELEMETRY = "session-index:index";
/** The pause before a model that failed to name a session is asked again. */
const MODEL_REST_MS = 30 * 60_000;
/** Rules read the whole session, and one that has hardly grown gets nearly the same summary. */
const GROWTH_SHARE = 0.05;

/** Registers the indexing after a turn, and the note that `/new` leaves behind. */
export function registerIndexing(state: PiState, config: Config): void {
  let canStart: boolean | undefined;
  afterTurn(state, "indexing", async (context) => {
    canStart ??= findRuntime({ env: withOwnRuntime(config.env), cwd: context.cwd }) !== undefined;
    if (canStart) await startWork(config, context, []);
    else await indexInSlices(state, config, context);
  });
  on(state, "session_start", (_, { cwd }) => startBeginning(cwd, config.env));
  on(state, "session_shutdown", async ({ reason }, context) => {
    if (reason === "new") await startWork(config, context, ["--save"]);
  });
}

/** Starts hooks/background.ts for the present session, if it has a file. */
async function startWork(
  { env }: Config,
  { sessionManager, cwd }: PiContext,
  flags: string[],
): Promise<void> {
  const file = sessionManager.getSessionFile();
  if (file === undefined) return;
  const session = { id: sessionManager.getSessionId(), file, cwd };
  await startBackground(session, "pi", { flags: ["--index-only", ...flags], env });
}

/** Indexes the present session in pi's own process, a little at a time. */
async function indexInSlices(state: PiState, { paths, settings }: Config, context: PiContext): Promise<void> {
  const session = await currentSession(context);
  if (!session) return;
  const [{ indexSessions }, { openIndex }] = await Promise.all([
    import("../../lib/index/indexing.ts"),
    import("../../lib/index/freshness.ts"),
  ]);
  const store = await openIndex(paths.database, settings);
  const slice = { store, sessions: [session], settings, home: paths.home, deadlineMs: SLICE_MS };
  try {
    for (let left = 1; left > 0 && !state.abort.signal.aborted; ) {
      const report = await indexSessions(slice);
      left = report.sessions === 0 ? 0 : report.left;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  } finally {
    store.close();
  }
}

interface Looked {
  users: number;
  size: number;
}

/** Registers the command and the naming after a turn. */
export function registerMeta(state: PiState, config: Config): void {
  /** The state of each session when it was last read; it is not read again before it has grown enough. */
  const looks = new Map<string, Looked>();
  afterTurn(state, "meta", async (context) => {
    const users = userMessages(context);
    const session = await currentSession(context);
    if (!session) return;
    const last = looks.get(session.id);
    const { size } = session;
    if (last && !isMetaDue(last, { users, size }, { config, context })) return;
    const outcome = await makeMeta({ state, config, context, force: false });
    looks.set(session.id, { users: users - (outcome?.newUsers ?? 0), size });
  });
  state.pi.registerCommand(config.settings.commandName, {
    description: "Name and summarise this session now",
    async handler(_, context) {
      await context.waitForIdle();
      try {
        const outcome = await makeMeta({ state, config, context, force: true });
        if (!outcome) context.ui.notify("This session is not kept: there is nothing to index", "warning");
      } catch (error) {
        await logFailure(config.paths, "pi.meta", error);
        const { redact } = await import("../../lib/redact/redact.ts");
        context.ui.notify(`Cannot index this session: ${redact(describeError(error))}`, "error");
      }
    },
  });
}

/** Returns whether there are enough new messages for a model; without a model, whether the session has grown enough. */
function isMetaDue(
  last: Looked,
  now: Looked,
  { config, context }: { config: Config; context: PiContext },
): boolean {
  if (now.users - last.users >= config.settings.minNewUserMessages) return true;
  return !namingModel(config, context) && now.size - last.size > now.size * GROWTH_SHARE;
}

interface Making {
  state: PiState;
  config: Config;
  context: PiContext;
  force: boolean;
}

/** Makes the session's meta when it is due, and reports it; undefined for a session that is not kept. */
async function makeMeta({ state, config, context, force }: Making): Promise<MetaOutcome | undefined> {
  const session = await currentSession(context);
  if (!session) return undefined;
  const { paths, settings } = config;
  const { signal } = state.abort;
  // After /tree the last row of the file may be of a branch that was left.
  const leafId = context.sessionManager.getLeafId() ?? undefined;
  const complete = namingModel(config, context);
  const { indexMeta } = await import("../../lib/naming/session-meta.ts");
  const restMs = force ? 0 : MODEL_REST_MS;
  const outcome = await indexMeta(session, { paths, settings, complete, force, restMs, signal, leafId });
  if (outcome.warning) {
    await logFailure(paths, "pi.meta", outcome.warning);
    context.ui.notify(outcome.warning, "warning");
  }
  if (outcome.status === "not-due") return outcome;
  const { usage, error } = outcome;
  // The rule-based update after each turn costs nothing and is no news.
  if (force || usage !== undefined || error !== undefined)
    await reportMeta(outcome, session.id, { state, config, context });
  return outcome;
}

/** Writes the telemetry entry and shows the cost. */
async function reportMeta(
  { status, name, model, usd, usage, error }: MetaOutcome,
  sessionId: string,
  { state, config, context }: Omit<Making, "force">,
): Promise<void> {
  state.pi.appendEntry(TELEMETRY, {
    success: status === "indexed",
    sessionId,
    // A failed attempt names the model that failed.
    model: error === undefined ? model : (namingModelName(config, context) ?? model),
    timestamp: new Date().toISOString(),
    ...(usage ? { usage } : {}),
    ...(error === undefined ? {} : { error }),
  });
  const { formatCost } = await import("../../lib/model/spend.ts");
  const cost = usage ? formatCost(usd, usage.input + usage.output) : "$0.0000";
  const remark = error === undefined ? `indexed "${name}" (${cost})` : `indexing failed: ${error}`;
  showStatus(context, remark, { config });
}

function userMessages({ sessionManager }: PiContext): number {
  return sessionManager
    .getBranch()
    .filter((entry) => entry.type === "message" && entry.message?.role === "user").length;
}

/** Names the session when that is due or asked for: meta file, status line with the cost, telemetry entry. */

import { describeError } from "../../lib/base/errors.ts";
import { logEvent } from "../../lib/base/output.ts";
import type { Config } from "../../lib/config/config.ts";
import { formatCost } from "../../lib/model/spend.ts";
import type { MetaOutcome } from "../../lib/naming/meta-words.ts";
import { redact } from "../../lib/redact/redact.ts";
import type { PiContext } from "./api.ts";
import { namingModel, namingModelName } from "./models.ts";
import { afterTurn, currentSession, inBackground, type PiState } from "./state.ts";
import { showStatus } from "./status.ts";

const TELEMETRY = "session-index:index";
/** A model that failed at naming a session is not asked for it again after each turn. */
const MODEL_REST_MS = 30 * 60_000;

/** Rules read the whole session: one that has hardly grown has hardly another summary. */
const GROWTH_SHARE = 0.05;

/** Registers the command and the work after a turn. */
export function registerMeta(state: PiState, config: Config): void {
  const { settings } = config;
  /** Each session at its last look: reading it again before there is enough that is new is in vain. */
  const looks = new Map<string, { users: number; size: number }>();
  let isRunning = false;
  afterTurn(state, "meta", (context) => {
    const session = currentSession(context);
    if (isRunning || !session) return;
    const users = userMessages(context);
    const look = looks.get(session.id);
    if (look && !isMetaDue(look, { users, size: session.size }, { config, context })) return;
    isRunning = true;
    inBackground(state, "meta", async () => {
      try {
        const outcome = await makeMeta({ state, config, context, force: false });
        looks.set(session.id, { users: users - (outcome?.newUsers ?? 0), size: session.size });
      } finally {
        isRunning = false;
      }
    });
  });
  state.pi.registerCommand(settings.commandName, {
    description: "Name and summarise this session now",
    async handler(_, context) {
      await context.waitForIdle();
      try {
        const outcome = await makeMeta({ state, config, context, force: true });
        if (!outcome) context.ui.notify("This session is not kept: there is nothing to index", "warning");
      } catch (error) {
        const reason = redact(describeError(error));
        logEvent(config.paths.log, { event: "hook.pi.meta", ok: false, error: reason });
        context.ui.notify(`Cannot index this session: ${reason}`, "error");
      }
    },
  });
}

/** Returns whether there is enough for a model; without one, whether the session has grown enough. */
function isMetaDue(
  look: { users: number; size: number },
  now: { users: number; size: number },
  { config, context }: { config: Config; context: PiContext },
): boolean {
  if (now.users - look.users >= config.settings.minNewUserMessages) return true;
  if (namingModel(config, context)) return false;
  return now.size - look.size > now.size * GROWTH_SHARE;
}

interface Making {
  state: PiState;
  config: Config;
  context: PiContext;
  force: boolean;
}

/** Makes the session's meta when it is due, and says so; undefined for a session that is not kept. */
async function makeMeta({ state, config, context, force }: Making): Promise<MetaOutcome | undefined> {
  const session = currentSession(context);
  if (!session) return undefined;
  const [{ indexMeta }, { isCircumstantial }] = await Promise.all([
    import("../../lib/naming/session-meta.ts"),
    import("../../lib/naming/summarize.ts"),
  ]);
  const { paths, settings } = config;
  const complete = namingModel(config, context);
  const { signal } = state.abort;
  const restMs = force ? 0 : MODEL_REST_MS;
  // After /tree the last row of the file may be of a branch that was left.
  const leafId = context.sessionManager.getLeafId() ?? undefined;
  const outcome = await indexMeta(session, { paths, settings, complete, force, restMs, signal, leafId });
  if (outcome.warning) {
    logEvent(paths.log, { event: "hook.pi.meta", ok: false, error: outcome.warning });
    context.ui.notify(outcome.warning, "warning");
  }
  if (outcome.status === "not-due") return outcome;
  const { name, usd, usage, error, model } = outcome;
  offerTitle(outcome, { state, config, context, isCircumstantial });
  // The rule-based update after each turn costs nothing and is no news.
  if (!force && usage === undefined && error === undefined) return outcome;
  state.pi.appendEntry(TELEMETRY, {
    success: outcome.status === "indexed",
    sessionId: session.id,
    // A failed attempt names the model that failed.
    model: error === undefined ? model : (namingModelName(config, context) ?? model),
    timestamp: new Date().toISOString(),
    ...(usage ? { usage } : {}),
    ...(error === undefined ? {} : { error }),
  });
  const cost = usage ? formatCost(usd, usage.input + usage.output) : "$0.0000";
  const remark = error === undefined ? `indexed "${name}" (${cost})` : `indexing failed: ${error}`;
  showStatus(context, remark, { config });
  return outcome;
}

function offerTitle(
  { name }: MetaOutcome,
  {
    state,
    config,
    context,
    isCircumstantial,
  }: Omit<Making, "force"> & { isCircumstantial: (name: string) => boolean },
): void {
  const { sessionManager } = context;
  if (config.settings.titles && name && !isCircumstantial(name) && !sessionManager.getSessionName?.())
    state.pi.setSessionName?.(name);
}

function userMessages({ sessionManager }: PiContext): number {
  return sessionManager
    .getBranch()
    .filter((entry) => entry.type === "message" && entry.message?.role === "user").length;
}

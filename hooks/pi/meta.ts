/** Names the session when that is due or asked for: meta file, status line with the cost, telemetry entry. */

import { describeError } from "../../lib/base/errors.ts";
import { logEvent } from "../../lib/base/log.ts";
import type { Config } from "../../lib/config/config.ts";
import { formatCost } from "../../lib/model/spend.ts";
import type { MetaOutcome } from "../../lib/naming/meta-words.ts";
import { redact } from "../../lib/redact/redact.ts";
import type { PiContext } from "./api.ts";
import { afterTurn, currentSession, hostModel, inBackground, modelName, type PiState } from "./state.ts";
import { showStatus } from "./status.ts";

const TELEMETRY = "session-index:index";
/** A model that failed at naming a session is not asked for it again after each turn. */
const MODEL_REST_MS = 30 * 60_000;

/** Registers the command and the work after a turn. */
export function registerMeta(state: PiState, config: Config): void {
  const { settings } = config;
  /** User messages of each session at the last look: reading it again before there are enough new ones is in vain. */
  const looked = new Map<string, number>();
  let isRunning = false;
  afterTurn(state, "meta", (context) => {
    const id = context.sessionManager.getSessionId();
    const users = userMessages(context);
    const isSeen = users - (looked.get(id) ?? 0) < settings.minNewUserMessages;
    if (isRunning || (looked.has(id) && isSeen)) return;
    isRunning = true;
    inBackground(state, "meta", async () => {
      try {
        const outcome = await makeMeta({ state, config, context, force: false });
        looked.set(id, outcome?.status === "not-due" ? users - (outcome.newUsers ?? 0) : users);
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
  const complete = hostModel(state, context);
  const { signal } = state.abort;
  const restMs = force ? 0 : MODEL_REST_MS;
  const outcome = await indexMeta(session, { paths, settings, complete, force, restMs, signal });
  if (outcome.warning) {
    logEvent(paths.log, { event: "hook.pi.meta", ok: false, error: outcome.warning });
    context.ui.notify(outcome.warning, "warning");
  }
  if (outcome.status === "not-due") return outcome;
  const { name, usd, usage, error, model } = outcome;
  state.pi.appendEntry(TELEMETRY, {
    success: outcome.status === "indexed",
    sessionId: session.id,
    // A failed attempt tells which model failed.
    model: error === undefined ? model : (modelName(state, context) ?? model),
    timestamp: new Date().toISOString(),
    ...(usage ? { usage } : {}),
    ...(error === undefined ? {} : { error }),
  });
  const cost = usage ? formatCost(usd, usage.input + usage.output) : "$0.0000";
  const remark = error === undefined ? `indexed "${name}" (${cost})` : `indexing failed: ${error}`;
  showStatus(context, remark, { config });
  if (settings.titles && name && !isCircumstantial(name) && !context.sessionManager.getSessionName?.())
    state.pi.setSessionName?.(name);
  return outcome;
}

function userMessages({ sessionManager }: PiContext): number {
  return sessionManager
    .getBranch()
    .filter((entry) => entry.type === "message" && entry.message?.role === "user").length;
}

/**
 * session-memory in pi: adds to each prompt what other sessions did, and to a command that failed how they ended its error;
 * indexes and names the session after each turn; and keeps observations that replace the conversation when it is compacted.
 *
 * Loaded by session-memory/index.ts.
 */

import { recordOf } from "../../lib/base/json.ts";
import { findRuntime, withOwnRuntime } from "../../lib/base/runtime.ts";
import type { Config } from "../../lib/config/config.ts";
import type { Session } from "../../lib/hosts/session.ts";
import type { MetaOutcome } from "../../lib/naming/meta-words.ts";
import type { Answer, Asked } from "../asked.ts";
import { BEGIN, logFailure, startBackground } from "../hook.ts";
import { answerMoment, lookAround, tellRules } from "../moments.ts";
import { tellActivity, tellReferences } from "../prompt-answer.ts";
import type { PiApi, PiContext, PiEvent } from "./api.ts";
import { registerCommand, registerObservationCommands, registerTools } from "./commands.ts";
import { namingModel, promptModel } from "./models.ts";
import { registerObservations } from "./observations.ts";
import {
  afterTurn,
  currentSession,
  loadState,
  on,
  type PiState,
  pathsFor,
  shownRows,
  showStatus,
  type Work,
} from "./state.ts";

/** A key that is typed meanwhile waits so long: a frame of a terminal at 50 Hz. */
const SLICE_MS = 20;
const PAUSE_MS = 50; // keys that are typed come first
/** The most slices in a row that index nothing, each twice as long as the last: a long exchange takes more than one, and some files cannot be read. */
const IDLE_MAX = 9;
const TELEMETRY = "session-index:index";

export async function register(pi: PiApi): Promise<void> {
  const state = await loadState(pi);
  if (!state) return;
  registerPrompt(state);
  on(state, {
    tool_result: tellSeen,
    session_start: ({ config }, context) => startBackground(askedIn(config, context), BEGIN),
    session_shutdown: saveLeft,
  });
  afterTurn(state, "indexing", indexTurn());
  registerMeta(state);
  registerObservations(state);
  registerObservationCommands(state);
  registerTools(state);
}

type Tell = (asked: Asked, context: PiContext, config: Config) => Promise<Answer | undefined>;

/** Registers the messages by their types. pi stores each as an entry of its own and sends it after the user's words. */
export function registerPrompt(state: PiState): void {
  const messages: Record<string, Tell> = {
    [RULES]: rulesTeller(),
    "session-update": async (asked) => tellActivity(asked, lookAround(asked)),
    "session-reference": async (asked, context, config) => {
      const model = async () => promptModel(config, context);
      const hasTool = namingModel(config, context) !== undefined;
      return tellReferences({ ...asked, model, hasTool });
    },
  };
  for (const [customType, tell] of Object.entries(messages)) {
    let told: Answer | undefined;
    on(state, {
      async before_agent_start({ config }, context, { prompt = "" }) {
        told = await tell({ ...askedIn(config, context), text: prompt }, context, config);
        if (told?.text !== undefined) return { message: { customType, content: told.text, display: true } };
      },
      // pi has stored the message by the time the agent starts.
      agent_start() {
        told?.delivered();
        told = undefined;
      },
    });
  }
}

const RULES = "standing-rules";

/** Returns what tells the standing rules at a session's first prompt, and again once a compaction took them. */
function rulesTeller(): Tell {
  let known: string | undefined;
  return async (asked, context) => {
    const rows = shownRows(context);
    const time = `${asked.session.id} ${rows[0]?.id ?? ""}`;
    if (known === time) return undefined;
    const isFirst = known === undefined;
    known = time;
    const isTold = rows.some(({ customType }) => customType === RULES);
    // a session that goes on hears what was laid down since its last row
    const since = isTold && isFirst ? rows.at(-1)?.timestamp : undefined;
    return isTold && since === undefined ? undefined : await tellRules(asked, since);
  };
}

/** Tells of a command that failed. The message comes after the tool's results and leaves them unchanged. */
async function tellSeen(
  { config, pi }: PiState,
  context: PiContext,
  { toolName, input, content = [], isError }: PiEvent,
): Promise<void> {
  const { command } = recordOf(input);
  if (toolName !== "bash" || isError !== true || typeof command !== "string") return;
  const asked = askedIn(config, context);
  const { id, cwd } = asked.session;
  const output = content.map(({ text = "" }) => text).join("\n");
  const failure = { sessionId: id, viewer: id, cwd, command, output };
  const { text, delivered } = (await answerMoment("failure", { ...asked, failure })) ?? {};
  if (text === undefined || !pi.sendMessage) return;
  pi.sendMessage({ customType: "seen-before", content: text, display: true }, { deliverAs: "steer" });
  delivered?.();
}

/** Returns the facts that every moment of the present session shares. */
function askedIn(config: Config, context: PiContext): Asked {
  const { sessionManager, cwd } = context;
  const session = { id: sessionManager.getSessionId(), file: sessionManager.getSessionFile(), cwd };
  const { env, settings } = config;
  return { host: "pi", session, env, paths: pathsFor(config, context), settings };
}

/** Saves the session that `/new` leaves behind as a note. */
async function saveLeft({ config }: PiState, context: PiContext, { reason }: PiEvent): Promise<void> {
  if (reason === "new") await startBackground(askedIn(config, context), "--index-only", "--save", "/new");
}

function indexTurn(): Work {
  let canStart: boolean | undefined;
  return async (state, context) => {
    const { config } = state;
    canStart ??= findRuntime({ env: withOwnRuntime(config.env), cwd: context.cwd }) !== undefined;
    if (canStart) await startBackground(askedIn(config, context), "--index-only");
    else await indexInSlices(state, context);
  };
}

/** Indexes the present session in pi's own process, a little at a time. */
async function indexInSlices({ config, abort }: PiState, context: PiContext): Promise<void> {
  const session = await currentSession(context);
  if (!session) return;
  const { paths, settings } = config;
  const { indexSessions } = await import("../../lib/index/indexing.ts");
  const { withIndex } = await import("../../lib/index/freshness.ts");
  await withIndex(config, async (store) => {
    const slice = { store, sessions: [session], settings, paths };
    let idle = 0;
    for (let left = 1; left > 0 && idle < IDLE_MAX && !abort.signal.aborted; ) {
      const report = await indexSessions({ ...slice, deadlineMs: SLICE_MS * 2 ** idle });
      idle = report.sessions === 0 ? idle + 1 : 0;
      left = report.left;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  });
}

/** Registers the command and the naming after a turn. */
export function registerMeta(state: PiState): void {
  const { settings } = state.config;
  /** The user messages that each session had when it was last read: reading it holds up pi's terminal. */
  const known = new Map<string, number>();
  afterTurn(state, "meta", async (_, context) => {
    const session = await currentSession(context);
    if (!session) return;
    const rows = context.sessionManager.getBranch();
    const users = rows.filter(({ type, message }) => type === "message" && message?.role === "user").length;
    const last = known.get(session.id);
    if (last !== undefined && users - last < settings.minNewUserMessages) return;
    const { newUsers = 0 } = await makeMetaInPi(session, { state, context, force: false });
    known.set(session.id, users - newUsers);
  });
  registerCommand(state, {
    name: settings.commandName,
    description: "Name and summarise this session now",
    async run({ context }) {
      await context.waitForIdle();
      const session = await currentSession(context);
      if (!session) return "This session is not kept: there is nothing to index";
      await makeMetaInPi(session, { state, context, force: true });
      return undefined;
    },
  });
}

/** Makes the session's meta when it is due; reports it in a telemetry entry and in the status line, with the cost. */
async function makeMetaInPi(
  session: Session,
  { state, context, force }: { state: PiState; context: PiContext; force: boolean },
): Promise<MetaOutcome> {
  const { config, abort, pi } = state;
  const { indexMeta } = await import("../../lib/naming/session-meta.ts");
  const asked = namingModel(config, context);
  const outcome = await indexMeta(session, {
    paths: config.paths,
    settings: config.settings,
    complete: asked?.complete,
    force,
    rests: !force,
    signal: abort.signal,
    // After /tree the last row of the file may be of a branch that was left.
    leafId: context.sessionManager.getLeafId() ?? undefined,
  });
  const { status, name, model, usd, usage, error, warning } = outcome;
  if (warning) {
    await logFailure(config.paths, "pi.meta", warning);
    context.ui.notify(warning, "warning");
  }
  // The rule-based update after each turn costs nothing and is not worth a word.
  if (status === "not-due" || !(force || usage || error !== undefined)) return outcome;
  pi.appendEntry(TELEMETRY, {
    success: status === "indexed",
    sessionId: session.id,
    // A failed attempt names the model that failed.
    model: error === undefined ? model : (asked?.name ?? model),
    timestamp: new Date().toISOString(),
    usage,
    error,
  });
  const { formatCost } = await import("../../lib/model/spend.ts");
  const cost = usage ? formatCost(usd, usage.input + usage.output) : "$0.0000";
  const text = error === undefined ? `indexed "${name}" (${cost})` : `indexing failed: ${error}`;
  showStatus(state, context, { text });
  return outcome;
}

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
import { logFailure, startBackground, startBeginning } from "../hook.ts";
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
  registerFailures(state);
  registerIndexing(state);
  registerMeta(state);
  registerObservations(state);
  registerObservationCommands(state);
  registerTools(state);
}

/** Registers the messages. pi stores each as an entry of its own and sends it after the user's words. */
export function registerPrompt(state: PiState): void {
  const { config } = state;
  addToPrompt(state, RULES, rulesTeller(config));
  addToPrompt(state, "session-update", async (_, context) => {
    const asked = askedIn(config, context);
    return await tellActivity(asked, lookAround(asked));
  });
  addToPrompt(state, "session-reference", async ({ prompt = "" }, context) => {
    const model = async () => promptModel(config, context);
    const hasTool = namingModel(config, context) !== undefined;
    return await tellReferences({ ...askedIn(config, context), text: prompt, model, hasTool });
  });
}

function addToPrompt(
  state: PiState,
  customType: string,
  tell: (event: PiEvent, context: PiContext) => Promise<Answer | undefined>,
): void {
  let told: Answer | undefined;
  on(state, "before_agent_start", async (event, context) => {
    told = await tell(event, context);
    if (told?.text !== undefined) return { message: { customType, content: told.text, display: true } };
  });
  // pi has stored the message by the time the agent starts.
  on(state, "agent_start", () => {
    told?.delivered();
    told = undefined;
  });
}

const RULES = "standing-rules";

/** Returns what tells the standing rules at a session's first prompt, and again once a compaction took them. */
function rulesTeller(config: Config) {
  let asked: string | undefined;
  return async (_: PiEvent, context: PiContext) => {
    const rows = shownRows(context);
    const time = `${sessionIn(context).id} ${rows[0]?.id ?? ""}`;
    if (asked === time) return undefined;
    const isFirst = asked === undefined;
    asked = time;
    const isTold = rows.some(({ customType }) => customType === RULES);
    // a session that goes on hears what was laid down since its last row
    const since = isTold && isFirst ? rows.at(-1)?.timestamp : undefined;
    return isTold && since === undefined ? undefined : await tellRules(askedIn(config, context), since);
  };
}

/** Registers the message about a command that failed. It comes after the tool's results and leaves them unchanged. */
function registerFailures(state: PiState): void {
  const { config } = state;
  on(state, "tool_result", async ({ toolName, input, content = [], isError }, context) => {
    const { command } = recordOf(input);
    if (toolName !== "bash" || isError !== true || typeof command !== "string") return;
    const { id, cwd } = sessionIn(context);
    const output = content.map(({ text = "" }) => text).join("\n");
    const failure = { sessionId: id, viewer: id, cwd, command, output };
    const answer = await answerMoment("failure", { ...askedIn(config, context), failure });
    const { text, delivered } = answer ?? {};
    if (text === undefined || !state.pi.sendMessage) return;
    state.pi.sendMessage({ customType: "seen-before", content: text, display: true }, { deliverAs: "steer" });
    delivered?.();
  });
}

function sessionIn({ sessionManager, cwd }: PiContext) {
  return { id: sessionManager.getSessionId(), file: sessionManager.getSessionFile(), cwd };
}

/** Returns the facts that every moment of the present session shares. */
function askedIn(config: Config, context: PiContext): Asked {
  const { env, settings } = config;
  return { host: "pi", session: sessionIn(context), env, paths: pathsFor(config, context), settings };
}

/** Registers the indexing after a turn, and the note that `/new` leaves behind. */
function registerIndexing(state: PiState): void {
  const { config } = state;
  const startWork = (context: PiContext, ...flags: string[]) =>
    startBackground(askedIn(config, context), "--index-only", ...flags);
  let canStart: boolean | undefined;
  afterTurn(state, "indexing", async (context) => {
    canStart ??= findRuntime({ env: withOwnRuntime(config.env), cwd: context.cwd }) !== undefined;
    if (canStart) await startWork(context);
    else await indexInSlices(state, context);
  });
  on(state, "session_start", (_, context) => startBeginning(askedIn(config, context)));
  on(state, "session_shutdown", async ({ reason }, context) => {
    if (reason === "new") await startWork(context, "--save", "/new");
  });
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
  afterTurn(state, "meta", async (context) => {
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

#!/usr/bin/env bun

/**
 * Keeps observations of a session, and renders them in place of its raw history.
 *
 * Observes by rule; by a model where config.json names one.
 *
 * @module
 */

import { SessionMemoryError } from "../lib/base/errors.ts";
import { fit } from "../lib/base/fit.ts";
import { counted } from "../lib/base/text.ts";
import {
  ANY_WORDS,
  choice,
  each,
  filled,
  integer,
  note,
  type Run,
  runScript,
  startProgress,
  texts,
  toggle,
  usageError,
  warn,
} from "../lib/cli.ts";
import type { Session } from "../lib/hosts/session.ts";
import { configuredModel } from "../lib/model/configured-model.ts";
import { pricePlan } from "../lib/model/spend.ts";
import { ledgersHeld } from "../lib/observe/ledger.ts";
import type { ObserveOutcome } from "../lib/observe/observe.ts";
import {
  observeSession,
  planSession,
  readSessionMemory,
  type SessionContext,
  type SessionMemoryState,
  type SessionOutcome,
  type Steps,
} from "../lib/observe/observe-session.ts";
import {
  type ObservationStatus,
  observationStatus,
  recallObservation,
  statusText,
  viewLines,
} from "../lib/observe/observe-view.ts";
import type { ReflectOutcome } from "../lib/observe/reflect.ts";
import { renderObservations } from "../lib/observe/render-observations.ts";
import { parseChanges, setObserving } from "../lib/observe/set-observing.ts";
import { readTheirs, sharedBy } from "../lib/sessions/pulled.ts";
import { resolveSession } from "../lib/sessions/resolve.ts";
import { statUnpacked } from "../lib/transcripts/files.ts";

const USAGE = `\
Usage: session-memory observe-compact <session> [actions] [options]

<session>: id, unique start of an id (4+), name, part of a name, transcript path, "last"; with --render another's alice@desk:<id>.
Several actions run in the order observe, reflect, render. With none: --status.

Actions:
  --observe           Observe all that is new      --rebuild  Observe all again, from the start
  --reflect [focus]   Condense the observations, keeping what the focus names
  --render            Print what replaces the raw history
  --status            Tokens, thresholds, mode, what is covered
  --view obs|raw      Print the observations, or the conversation not yet observed
  --recall <id>       Print an observation and its transcript lines
  --dump              Print the ledger's records

Options:
  --max-chars <n>     Limit of --render (default: none)   --lines <n>  Limit of --view (default: 160)
  --mode <m>          buffered or blocking; saved for all sessions
  --set <key=value>   Keep observerTokens, reflectorTokens, retainTokens, stepTokens, auto, early or rules
  --sessions <path>   Read this file or folder instead of the agents' own (repeatable)
  --dry-run           What --observe, --rebuild, --reflect would send and its price; send nothing
  --json, --quiet     One JSON document; no remarks on stderr

Examples:
  session-memory observe-compact last --observe --render
  session-memory observe-compact discord --recall k3f9a2
`;

/** The time to wait for another observer of the same session. */
const WAIT_MS = 30_000;

const FLAGS = {
  ...each(toggle, "observe", "reflect", "render", "status", "dump", "rebuild", "dryRun"),
  maxChars: integer({ min: 200 }),
  view: choice(["obs", "raw"]),
  lines: integer({ min: 1 }),
  mode: choice(["buffered", "blocking"]),
  recall: filled,
  set: texts,
};

/** The results, one property per action, in the order they ran. */
interface Output {
  session: Pick<Session, "id" | "agent" | "file"> & {
    name: string | null;
    from?: { owner: string; machine: string };
  };
  settings?: ObservationStatus["settings"];
  observed?: Omit<ObserveOutcome, "ledger"> & Pick<SessionOutcome, "status">;
  reflected?: Omit<ReflectOutcome, "ledger">;
  rendered?: string | null;
  status?: ObservationStatus;
  view?: string[];
  recalled?: ReturnType<typeof recallObservation>;
  records?: readonly unknown[];
}

type Input = ReturnType<typeof parseInput>;

function parseInput({ args, values, words }: Run<typeof FLAGS>) {
  const { mode, set = [], lines = 160, ...asked } = values;
  const { reflect, render, dump, rebuild, recall, view, dryRun } = values;
  const changes = { ...Object.fromEntries(set.map(parsePair)), ...(mode && { mode }) };
  const observe = values.observe || (dryRun && !reflect && !rebuild);
  const isAsked = observe || reflect || render || dump || rebuild || (view ?? recall) !== undefined;
  const status = values.status || (!isAsked && Object.keys(changes).length === 0);
  return { ...asked, ...splitFocus(args, words, reflect), observe, changes, lines, status };
}

/** Splits off the word after `--reflect` as its focus, unless it is the only word and so the session. */
function splitFocus(args: readonly string[], words: readonly string[], isReflecting: boolean) {
  const after = args[args.indexOf("--reflect") + 1] ?? "";
  const focus = isReflecting && words.length === 2 && words.includes(after) ? after : undefined;
  const left = focus === undefined ? words : words.toSpliced(words.lastIndexOf(focus), 1);
  const [reference, other] = left;
  if (reference === undefined) throw usageError("Expected a session", 'name one; "last" is the most recent');
  if (other !== undefined)
    throw usageError(`Cannot use argument "${other}": one too many`, "quote words that belong together");
  return { reference, focus };
}

function parsePair(pair: string): [string, string] {
  const at = pair.indexOf("=");
  if (at < 1)
    throw usageError(`Cannot use --set "${pair}": expected key=value`, "try --set retainTokens=4000");
  return [pair.slice(0, at), pair.slice(at + 1)];
}

/** Returns what is done before anything is shown; of a session whose transcript is gone there is nothing to observe again. */
function stepsOf({ observe, rebuild, reflect, focus }: Input, { file }: Session): Steps {
  if (rebuild && file === "") {
    const message = "Cannot rebuild: the transcript is gone, its ledger is all there is";
    throw new SessionMemoryError("NOT_FOUND", message, { hint: "see it with --render" });
  }
  return {
    when: rebuild ? "again" : observe ? "all" : undefined,
    reflecting: reflect ? { focus } : undefined,
  };
}

/** Runs the actions in their order. */
async function run(input: Input, session: Session, context: SessionContext): Promise<Partial<Output>> {
  const steps = stepsOf(input, session);
  const done: Partial<Output> = {};
  if (steps.when ?? steps.reflecting) {
    const { status, observed, reflected } = await observeSession(session, { ...context, ...steps });
    if (observed) done.observed = { ...withoutLedger(observed), status };
    if (steps.reflecting && reflected) done.reflected = withoutLedger(reflected);
  }
  return { ...done, ...look(input, readSessionMemory(session, context), context) };
}

function withoutLedger<T extends { ledger: unknown }>({ ledger: _, ...outcome }: T): Omit<T, "ledger"> {
  return outcome;
}

/** Shows what the owner of a shared session observed: a text that is not ours to change. */
function lookAtShared(
  input: Input,
  session: Session,
  { owner, machine }: { owner: string; machine: string },
) {
  const { observe, rebuild, reflect, dump, recall, view } = input;
  if (observe || rebuild || reflect || dump || (view ?? recall) !== undefined) {
    const message = `Cannot observe "${session.id}": ${owner}@${machine} does, and shares the result`;
    throw new SessionMemoryError("VALIDATION_ERROR", message, { hint: "see it with --render" });
  }
  const { observations } = readTheirs(session);
  return { rendered: observations ? fitLines(observations, input.maxChars) : null };
}

/** Returns the first lines of a text that fit, and a last one with the number of the others. */
function fitLines(text: string, maxChars = Number.POSITIVE_INFINITY): string {
  // an empty line stays with the one behind it
  const blocks = text.split(/(?<!\n)\n/).map((line, rank) => ({ rank, forms: [[line]] }));
  const gap = (count: number) => [`(${counted(count, "more line")} left out)`];
  return fit(blocks, { maxChars: maxChars + 1, gap }).join("\n");
}

/** Performs the actions that only read. */
function look(input: Input, state: SessionMemoryState, { settings }: SessionContext): Partial<Output> {
  const { render, status, view, recall: id, dump, lines, maxChars } = input;
  const { ledger, skipped } = state;
  if (skipped > 0) warn(`${skipped} damaged lines in the ledger skipped`);
  return {
    ...(render && { rendered: renderObservations(ledger, { maxChars }) ?? null }),
    ...(status && { status: observationStatus(state, settings.llm?.model ?? "rules") }),
    ...(view && { view: viewLines(state, [view], settings).slice(-lines) }),
    ...(id !== undefined && { recalled: recallObservation(state, id, settings) }),
    ...(dump && { records: ledger }),
  };
}

function formatOutput({ rendered, status, view = [], recalled, records = [] }: Output): string[] {
  const texts = [rendered, status && statusText(status), ...view, recalled?.text];
  const lines = records.map((record) => JSON.stringify(record));
  return [...texts.filter((text) => typeof text === "string"), ...lines];
}

function remarkOn({ observed, reflected, rendered, view }: Output, set: readonly string[]): void {
  if (set.length > 0) note(`set: ${set.join(", ")}`);
  if (observed) note(`${observed.status}: ${observed.observations} observations in ${observed.steps} steps`);
  if (reflected) {
    const { dropped, tokens, note: remark } = reflected;
    const condensed = `${dropped} dropped, ${tokens.before} → ${tokens.after} tokens`;
    note(`reflected: ${condensed}${remark ? `; ${remark}` : ""}`);
  }
  if (rendered === null) note("nothing is observed yet");
  if (view?.length === 0) note("nothing to view: nothing is observed yet (obs), or all of it is (raw)");
}

/** Later steps are sent with what the model noted in earlier ones, which is not known: their tokens are an estimate. */
async function makePlan(
  input: Input,
  session: Session,
  context: SessionContext,
): Promise<{ plan: object; line: string }> {
  const { llm } = context.settings;
  const steps = stepsOf(input, session);
  const { calls, tokens } = llm
    ? await planSession(session, { ...context, ...steps })
    : { calls: 0, tokens: { input: 0, output: 0 } };
  const { text, ...plan } = pricePlan(context, { kind: "chat", model: "", ...llm }, tokens);
  return {
    plan: { calls, ...plan, host: llm ? plan.host : null },
    line: llm ? `${counted(calls, "call")} to ${text}` : "nothing would be sent: no llm in config.json",
  };
}

/** Returns the session that a reference means, whose transcript may be gone: its ledger is left, or another shares what was observed. */
function findObserved(reference: string, asking: Run<typeof FLAGS>["asking"]): Session {
  const session = resolveSession(reference, {
    ...asking,
    subagents: true,
    shared: true,
    held: (wanted) => ledgersHeld(asking.paths, wanted),
  });
  return statUnpacked(session.file) ? session : { ...session, file: "" };
}

async function main(asked: Run<typeof FLAGS>): Promise<void> {
  const { paths, asking, show } = asked;
  const input = parseInput(asked);
  const { observe, rebuild, reflect, dryRun, changes } = input;
  const settings = {
    ...asked.settings,
    observe: { ...asked.settings.observe, ...parseChanges(changes) },
  };
  const session = findObserved(input.reference, asking);
  const shared = sharedBy(session);
  const progress = startProgress("observed");
  const context: SessionContext = {
    paths,
    settings,
    waitMs: WAIT_MS,
    onStep: progress.update,
    complete: observe || rebuild || reflect ? await configuredModel(asked) : undefined,
  };
  if (!shared && session.file === "") note("the transcript is gone, its observations are left");
  if (!shared && dryRun) {
    const { plan, line } = await makePlan(input, session, context).finally(progress.end);
    return void show(plan, [line]);
  }
  const set = Object.entries(changes).map(([key, value]) => `${key}=${value}`);
  if (set.length > 0) await setObserving(paths, changes);
  const { id, name = null, agent, file } = session;
  const from = shared && { owner: shared.owner, machine: shared.machine };
  const output: Output = {
    session: { id: shared?.id ?? id, name, agent, ...(from ? { file: "", from } : { file }) },
    ...(shared ? lookAtShared(input, session, shared) : await run(input, session, context)),
    ...(set.length > 0 && { settings: settings.observe }),
  };
  progress.end();
  if (!input.json) remarkOn(output, set);
  const { error, ...observed } = output.observed ?? {};
  show({ ...output, ...(output.observed && { observed }) }, formatOutput(output));
  if (error) throw error;
  const failure = output.observed?.failure;
  if (failure) throw new SessionMemoryError("MODEL_FAILED", failure, { hint: "run it again later" });
}

if (import.meta.main)
  await runScript({ usage: USAGE, flags: FLAGS, words: ANY_WORDS, readsAnyVolute: true }, main);

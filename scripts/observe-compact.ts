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
  choiceFlag,
  integerFlag,
  note,
  type Run,
  runScript,
  startProgress,
  switches,
  texts,
  usageError,
  warn,
} from "../lib/cli.ts";
import type { Session } from "../lib/hosts/session.ts";
import { configuredModel } from "../lib/model/configured-model.ts";
import { pricePlan } from "../lib/model/spend.ts";
import { parseChanges, setObserveSettings } from "../lib/observe/ledger.ts";
import { foldLedger } from "../lib/observe/observations.ts";
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
  type Recalled,
  rawLines,
  recallObservation,
  statusText,
} from "../lib/observe/observe-view.ts";
import type { ReflectOutcome } from "../lib/observe/reflect.ts";
import { observationLines, renderObservations } from "../lib/observe/render-observations.ts";
import type { Shared } from "../lib/sessions/resolve.ts";
import { findObserved } from "../lib/share/shared-sessions.ts";

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
  ...switches("observe", "reflect", "render", "status", "dump", "rebuild", "dry-run"),
  ...texts("max-chars", "view", "lines", "mode", "recall"),
  set: { type: "string", multiple: true },
} as const;

/** The results, one property per action, in the order they ran. */
interface Output {
  session: {
    id: string;
    name: string | null;
    agent: string;
    file: string;
    from?: Pick<Shared, "owner" | "machine">;
  };
  settings?: ObservationStatus["settings"];
  observed?: Omit<ObserveOutcome, "ledger"> & Pick<SessionOutcome, "status">;
  reflected?: Omit<ReflectOutcome, "ledger">;
  rendered?: string | null;
  status?: ObservationStatus;
  view?: string[];
  recalled?: Recalled;
  records?: readonly unknown[];
}

type Input = ReturnType<typeof parseInput>;

function parseInput({ args, values, words }: Run<typeof FLAGS>) {
  const mode = choiceFlag("--mode", values.mode, ["buffered", "blocking"] as const);
  const changes = { ...Object.fromEntries((values.set ?? []).map(parsePair)), ...(mode ? { mode } : {}) };
  const view = choiceFlag("--view", values.view, ["obs", "raw"] as const);
  const { reflect, render, dump, rebuild, recall, json, "dry-run": dryRun, "max-chars": maxChars } = values;
  const observe = values.observe || (dryRun && !reflect && !rebuild);
  const actions = [observe, reflect, render, dump, rebuild, view !== undefined, recall !== undefined];
  return {
    ...splitFocus(args, words, reflect),
    ...{ observe, reflect, render, dump, rebuild, view, recall, dryRun, json, changes },
    status: values.status || (!actions.includes(true) && Object.keys(changes).length === 0),
    maxChars: integerFlag("--max-chars", maxChars, undefined, { min: 200 }),
    lines: integerFlag("--lines", values.lines, 160, { min: 1 }),
  };
}

/** Splits off the word after `--reflect` as its focus, unless it is the only word and so the session. */
function splitFocus(
  args: readonly string[],
  words: readonly string[],
  isReflecting: boolean,
): { reference: string; focus: string | undefined } {
  const after = args[args.indexOf("--reflect") + 1];
  const focus =
    isReflecting && words.length === 2 && after !== undefined && words.includes(after) ? after : undefined;
  const left = focus === undefined ? [...words] : words.toSpliced(words.lastIndexOf(focus), 1);
  if (left.length === 0) throw usageError("Expected a session", 'name one; "last" is the most recent');
  if (left.length > 1) {
    throw usageError(`Cannot use argument "${left[1]}": one too many`, "quote words that belong together");
  }
  return { reference: left[0] ?? "", focus };
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
async function run(input: Input, session: Session, context: SessionContext): Promise<Output> {
  const { id, name = null, agent, file } = session;
  const output: Output = { session: { id, name, agent, file } };
  const steps = stepsOf(input, session);
  if (steps.when ?? steps.reflecting) {
    const { status, observed, reflected } = await observeSession(session, { ...context, ...steps });
    if (observed) output.observed = { ...withoutLedger(observed), status };
    if (steps.reflecting && reflected) output.reflected = withoutLedger(reflected);
  }
  return { ...output, ...look(input, readSessionMemory(session, context), context) };
}

function withoutLedger<T extends { ledger: unknown }>({ ledger: _, ...outcome }: T): Omit<T, "ledger"> {
  return outcome;
}

/** Shows what the owner of a shared session observed: a text that is not ours to change. */
function lookAtShared(input: Input, { session, shared }: { session: Session; shared: Shared }): Output {
  const { name = null, agent } = session;
  const { id, owner, machine, observations } = shared;
  const { observe, rebuild, reflect, dump, recall, view } = input;
  if (observe || rebuild || reflect || dump || (view ?? recall) !== undefined) {
    const message = `Cannot observe "${session.id}": ${owner}@${machine} does, and shares the result`;
    throw new SessionMemoryError("VALIDATION_ERROR", message, { hint: "see it with --render" });
  }
  const rendered = observations ? fitLines(observations, input.maxChars) : null;
  return { session: { id, name, agent, file: "", from: { owner, machine } }, rendered };
}

/** Returns the first whole lines of a text that fit, and a last one with the number of the others. */
function fitLines(text: string, maxChars = Number.POSITIVE_INFINITY): string {
  const blocks = text.split(/\n(?=.)/).map((line, rank) => ({ rank, forms: [[line]] }));
  const gap = (count: number) => [`(${counted(count, "more line")} left out)`];
  return fit(blocks, { maxChars: maxChars + 1, gap }).join("\n");
}

/** Performs the actions that only read. */
function look(input: Input, state: SessionMemoryState, context: SessionContext): Partial<Output> {
  const output: Partial<Output> = {};
  const { timezone, participants } = context.settings;
  const style = { timezone, participants };
  if (state.skipped > 0) warn(`${state.skipped} damaged lines in the ledger skipped`);
  if (input.render) output.rendered = renderObservations(state.ledger, { maxChars: input.maxChars }) ?? null;
  if (input.status) output.status = observationStatus(state, context);
  if (input.view === "obs") output.view = observationLines(foldLedger(state.ledger)).slice(-input.lines);
  if (input.view === "raw") output.view = rawLines(state, style).slice(-input.lines);
  if (input.recall !== undefined) {
    output.recalled = recallObservation(state, { id: input.recall, ...style });
  }
  if (input.dump) output.records = state.ledger;
  return output;
}

function formatOutput({ rendered, status, view, recalled, records }: Output): string[] {
  return [
    ...(typeof rendered === "string" ? [rendered] : []),
    ...(status ? [statusText(status)] : []),
    ...(view ?? []),
    ...(recalled ? [recalled.text] : []),
    ...(records ?? []).map((record) => JSON.stringify(record)),
  ];
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

async function main(asked: Run<typeof FLAGS>): Promise<void> {
  const input = parseInput(asked);
  const { config, asking, show } = asked;
  const { paths, settings } = config;
  parseChanges(input.changes);
  const found = await findObserved(input.reference, { ...asking, subagents: true });
  const progress = startProgress("observed");
  const needsModel = input.observe || input.rebuild || input.reflect;
  const context: SessionContext = {
    ...{ paths, settings, waitMs: WAIT_MS, onStep: progress.update },
    complete: needsModel ? await configuredModel(config) : undefined,
  };
  if (!found.shared) {
    if (found.session.file === "") note("the transcript is gone, its observations are left");
    if (input.dryRun) {
      const { plan, line } = await makePlan(input, found.session, context).finally(progress.end);
      return void show(plan, [line]);
    }
  }
  const set = Object.entries(input.changes).map(([key, value]) => `${key}=${value}`);
  const changed =
    set.length > 0
      ? setObserveSettings(paths, { settings: settings.observe, changes: input.changes })
      : undefined;
  const output = found.shared
    ? lookAtShared(input, { ...found, shared: found.shared })
    : await run(input, found.session, context);
  progress.end();
  if (changed) output.settings = changed;
  if (!input.json) remarkOn(output, set);
  show(output, formatOutput(output));
  const failure = output.observed?.failure;
  if (failure) throw new SessionMemoryError("MODEL_FAILED", failure, { hint: "run it again later" });
}

if (import.meta.main) await runScript({ usage: USAGE, flags: FLAGS, readsAnyVolute: true }, main);

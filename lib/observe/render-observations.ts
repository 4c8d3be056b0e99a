/**
 * Renders a ledger as the Markdown that replaces raw history, by the ledger alone; and completes what is not observed yet when
 * a host compacts.
 *
 * Without a limit, `## Observations` only grows at its end between two reflections, so a prompt cache that holds the
 * earlier rendering stays valid up to there.
 */

import { fit } from "../base/fit.ts";
import { countPoints } from "../base/output.ts";
import { counted, truncate } from "../base/text.ts";
import type { ObserveSettings } from "../config/config.ts";
import type { Entry } from "../hosts/session.ts";
import {
  foldLedger,
  isOpen,
  type Ledger,
  type Memory,
  type Observation,
  observationLine,
  openThreads,
  uncovered,
} from "./observations.ts";
import type { ObserveContext, ObserveOptions } from "./observe.ts";

interface RenderOptions {
  /** Code points of the whole rendering. @default no limit */
  maxChars?: number | undefined;
  /** Only what stems from lines after this one: the part of an abandoned branch. */
  afterLine?: number | undefined;
  /** Files of earlier summaries, as `<read-files>` and `<modified-files>` of their text name them. */
  earlier?: { read: readonly string[]; modified: readonly string[] } | undefined;
  /** Only what the next request needs beside a host's own summary: no files that were read, no empty or general notes. */
  isBrief?: boolean;
}
/** Enough of a request to recognise it, and of what is open to begin with: all of it is above. */
const THREADS = { chars: 120, most: 12 };
/** With a limit, each kind of note beside the observations gets at most this share of it. */
const SIDE_SHARE = 0.15;

/** Renders a ledger; undefined when there is nothing to say, which must never replace anything. */
export function renderObservations(ledger: Ledger, options: RenderOptions = {}): string | undefined {
  const memory = foldLedger(ledger);
  const { afterLine, maxChars } = options;
  const isShown = ({ sources }: Observation) =>
    afterLine === undefined || sources.some((line) => line > afterLine);
  const shown = memory.observations.filter(isShown);
  if (shown.length === 0) return undefined;
  if (afterLine !== undefined) {
    const part = ledger.filter((record) => record.kind === "observed" && record.coversTo > afterLine);
    memory.files = foldLedger(part).files;
  }
  const notes = sideNotes(memory, openThreads(memory).filter(isShown), options.earlier);
  const sides = options.isBrief ? notes.filter(isNeededNext) : notes;
  const whole = join([observationsSection(shown), ...sides.map(sideText)]);
  const fits = (text: string) => maxChars === undefined || countPoints([text]) - 1 <= maxChars;
  if (maxChars === undefined || fits(whole)) return whole;
  const cut = sides.map((side) => fitSide(side, Math.floor(maxChars * SIDE_SHARE)));
  const worth = (item: Observation) => WORTH.indexOf(isOpen(item, memory) ? "open" : item.priority);
  const ranked = shown.toReversed().toSorted((a, b) => worth(a) - worth(b));
  const leftOut = (missing: number) =>
    missing > 0 ? `(${counted(missing, "more observation")} left out here)` : "";
  const withMost = (count: number) => {
    const kept = new Set(ranked.slice(0, count));
    const section = observationsSection(shown.filter((item) => kept.has(item)));
    return join([section, ...cut, leftOut(shown.length - count)]);
  };
  let [least, most] = [0, shown.length];
  while (least < most) {
    // all of them first, which take no line on what is left out
    const count = most === shown.length ? most : Math.ceil((least + most) / 2);
    if (fits(withMost(count))) least = count;
    else most = count - 1;
  }
  return least > 0 ? withMost(least) : leftOut(shown.length);
}

/** Returns the lines of the observations alone. */
export function observationLines(memory: Memory): string[] {
  return memory.observations.length === 0 ? [] : observationsSection(memory.observations).split("\n");
}

/** Returns the paths in the `<read-files>` and `<modified-files>` tags of a rendering. */
function filesIn(text: string): { read: string[]; modified: string[] } {
  const lines = (tag: string) =>
    (new RegExp(`<${tag}>\n([\\s\\S]*?)\n</${tag}>`).exec(text)?.[1] ?? "").split("\n").filter(Boolean);
  return { read: lines("read-files"), modified: lines("modified-files") };
}

const join = (sections: string[]): string => sections.filter(Boolean).join("\n\n");

function observationsSection(observations: readonly Observation[]): string {
  let group: string | undefined;
  let text = "## Observations";
  for (const observation of observations) {
    const heading = groupHeading(observation);
    if (heading !== group) text += `\n\n${heading}`;
    group = heading;
    text += `\n${observationLine(observation)}`;
  }
  return text;
}

function groupHeading({ local }: Observation): string {
  return local ? `### ${local.slice(0, 10)} (${local.slice(17)})` : "### undated";
}

/** A section or tag beside the observations. */
interface Side {
  opening: string;
  lines: string[];
}

function sideNotes(
  { files }: Memory,
  threads: readonly Observation[],
  earlier: RenderOptions["earlier"],
): Side[] {
  const modified = new Set([...(earlier?.modified ?? []), ...files.modified]);
  const read = [...(earlier?.read ?? []), ...files.read].filter((path) => !modified.has(path));
  return [
    { opening: "## Open Threads", lines: threadLines(threads) },
    { opening: "## Next Action Bias", lines: [threads.length > 0 ? GO_ON : NO_KNOWN] },
    // by UTF-16 units, so that no machine's locale changes the order
    { opening: "<read-files>", lines: [...new Set(read)].sort() },
    { opening: "<modified-files>", lines: [...modified].sort() },
  ];
}

function isNeededNext({ opening, lines }: Side): boolean {
  return opening === "<modified-files>" || (opening === "## Open Threads" && lines[0] !== NO_THREAD);
}

const NO_THREAD = "- none";
/** A dialog may wait, or the last thing that was asked for have failed. */
const NO_KNOWN = "- No request is noted as open: go by the last messages";
/** By rule a request is mostly settled by the user's next one: the answer may already be there. */
const GO_ON = "- Go on with the last open thread, unless it was answered since";

function threadLines(threads: readonly Observation[]): string[] {
  if (threads.length === 0) return [NO_THREAD];
  const lines = threads
    .slice(-THREADS.most)
    .map(({ text, id }) => `- ${truncate(text.replace(/^(?:User|Request): /, ""), THREADS.chars)} [${id}]`);
  const older = threads.length - THREADS.most;
  return older > 0 ? [`- ${older} older ones among the lines above`, ...lines] : lines;
}

function sideText({ opening, lines }: Side): string {
  const closing = isTag(opening) ? [opening.replace("<", "</")] : [];
  return lines.length === 0 ? "" : [opening, ...lines, ...closing].join("\n");
}

function isTag(opening: string): boolean {
  return opening.startsWith("<");
}

/** The order in which lines are kept; each kind from its newest. */
const WORTH = ["open", "red", "yellow", "green"];

/** Returns a side note cut to whole lines: of paths the first, of other lines the last. */
function fitSide(side: Side, room: number): string {
  const around = countPoints([sideText({ ...side, lines: [""] })]) - 1;
  const order = isTag(side.opening) ? 1 : -1;
  const blocks = side.lines.map((line, at) => ({ rank: order * at, forms: [[line]] }));
  const lines = fit(blocks, { maxChars: room - around, gap: (count) => [`(${count} more)`] });
  return lines.some((line) => side.lines.includes(line)) ? sideText({ ...side, lines }) : "";
}

/** Returns a line for a host's own summariser, and the user who sees it, that the observations follow; undefined without any. */
export function observationsToCome(ledger: Ledger): string | undefined {
  const memory = foldLedger(ledger);
  if (memory.observations.length === 0) return undefined;
  const open = openThreads(memory).length;
  const what = `${counted(memory.observations.length, "observation")}${open > 0 ? ` (${open} open)` : ""}`;
  return `session-memory adds ${what} of this conversation after the summary; they replace none of it.`;
}

/** Grows when `details` changes its meaning. */
export const COMPACTION_SCHEMA_VERSION = 1;

/** In buffered mode a longer backlog is not waited for: the host writes its own summary. */
const GAP_STEPS_MAX = 6;

interface CompactionOptions extends ObserveContext {
  /** The whole conversation with tool results. */
  entries: readonly Entry[];
  /** Ids of the rows that stay raw: those from `firstKeptEntryId` on. */
  keptIds?: ReadonlySet<string> | undefined;
  /** Only lines after this one: an abandoned branch, from its fork. */
  afterLine?: number | undefined;
  /** The summary before this one: the files it names are carried on. */
  previousSummary?: string | undefined;
  /** Milliseconds that a host waits for a model. @default no limit */
  timeoutMs?: number | undefined;
  /** Called when lines are not observed yet. */
  onGap?: (() => void) | undefined;
}

/**
 * Returns the observations in place of everything but the kept rows; undefined when they do not cover it, or there are
 * none: then the host's own summary is better.
 *
 * In buffered mode the steps have run before, and this only renders. The uncovered rest is observed now, by the
 * model, or by rule when `settings.rules` allows it.
 */
export async function compactionSummary(options: CompactionOptions) {
  const { entries, keptIds, afterLine = 0, settings, complete, timeoutMs, previousSummary = "" } = options;
  const { observe } = await import("./observe.ts"); // hooks that only render do not load it
  const firstKept = keptIds && entries.find(({ id }) => id !== undefined && keptIds.has(id));
  if (keptIds && !firstKept) return undefined; // what was read is not the conversation that the host compacts
  const keptFrom = firstKept?.line ?? Number.POSITIVE_INFINITY;
  const isAsked = ({ line }: Entry) => line > afterLine && line < keptFrom;
  let { ledger } = options;
  const close = async (how: Partial<ObserveOptions>) => {
    ({ ledger } = await observe({ ...options, ...how, ledger, when: "all", isAsked }));
  };
  const hasGap = () => uncovered(entries, foldLedger(ledger)).some(isAsked);
  // A late record may describe a branch that was abandoned meanwhile: it must not count for this one.
  await close({ maxSteps: 0 });
  const limit = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  if (hasGap() && complete) {
    options.onGap?.();
    const signal = AbortSignal.any([options.signal, limit].filter((each) => each !== undefined));
    await close({ signal, maxSteps: settings.mode === "blocking" ? undefined : GAP_STEPS_MAX });
  }
  // A model that hangs would hang the host's own summary too: what it observed before, and rules for the rest.
  const isCutShort = limit?.aborted === true && foldLedger(ledger).observations.length > 0;
  if (hasGap() && (settings.rules || isCutShort)) await close({ complete: undefined });
  if (hasGap() || options.signal?.aborted) return undefined;
  const earlier = filesIn(previousSummary);
  const summary = renderObservations(ledger, afterLine > 0 ? { earlier, afterLine } : { earlier });
  if (summary === undefined) return undefined;
  const { read: readFiles, modified: modifiedFiles } = filesIn(summary);
  const { observations, coversTo } = foldLedger(ledger);
  const counts = { observations: observations.length, coversTo };
  const details = { schemaVersion: COMPACTION_SCHEMA_VERSION, readFiles, modifiedFiles, ...counts };
  return { summary, ledger, details };
}

/** Returns whether a host should compact early: the raw part has reached observer plus retained tail. */
export function isCompactionDue(rawTokens: number, settings: ObserveSettings): boolean {
  const isOn = settings.auto && settings.mode === "buffered" && settings.early !== "no";
  return isOn && rawTokens >= settings.observerTokens + settings.retainTokens;
}

/**
 * Renders a ledger as the Markdown that replaces raw history; a function of the ledger alone.
 *
 * Without a limit, `## Observations` only grows at its end between two reflections, so a prompt cache that holds the
 * earlier rendering stays valid up to there.
 */

import { OWN_LABEL, truncate } from "../base/text.ts";
import {
  foldLedger,
  isOpen,
  type Ledger,
  type Memory,
  type Observation,
  observationLine,
  openThreads,
} from "./observations.ts";

export interface RenderOptions {
  /** UTF-16 units of the whole rendering. @default no limit */
  maxChars?: number | undefined;
  /** Only what stems from lines after this one: the part of an abandoned branch. */
  afterLine?: number | undefined;
  /** Files of earlier summaries, as `<read-files>` and `<modified-files>` of their text name them. */
  earlier?: { read: readonly string[]; modified: readonly string[] } | undefined;
}

/** Enough of a request to recognise it; its full text is above. */
const THREAD_CHARS = 120;
const THREADS_MAX = 12;
/** With a limit, each kind of note beside the observations gets at most this share of it. */
const SIDE_SHARE = 0.15;

/** Renders a ledger; undefined when there is nothing to say, which must never replace anything. */
export function renderObservations(ledger: Ledger, options: RenderOptions = {}): string | undefined {
  const memory = foldLedger(ledger);
  const { afterLine } = options;
  if (afterLine !== undefined) {
    const part = ledger.filter((record) => record.kind === "observed" && record.coversTo > afterLine);
    memory.files = foldLedger(part).files;
  }
  return renderMemory(memory, options);
}

/** Renders what a ledger adds up to. */
export function renderMemory(memory: Memory, options: RenderOptions = {}): string | undefined {
  const { afterLine } = options;
  const shown =
    afterLine === undefined
      ? memory.observations
      : memory.observations.filter(({ sources }) => sources.some((line) => line > afterLine));
  if (shown.length === 0) return undefined;
  const sides = sideNotes(memory, options);
  const { maxChars } = options;
  const whole = join([observationsSection(shown), ...sides.map(sideText)]);
  if (maxChars === undefined || whole.length <= maxChars) return whole;
  return renderWithin(maxChars, { shown, sides, memory });
}

/** Returns the lines of the observations alone. */
export function observationLines(memory: Memory): string[] {
  return memory.observations.length === 0 ? [] : observationsSection(memory.observations).split("\n");
}

/** Returns the paths in the `<read-files>` and `<modified-files>` tags of a rendering. */
export function filesIn(text: string): { read: string[]; modified: string[] } {
  const lines = (tag: string) =>
    (new RegExp(`<${tag}>\n([\\s\\S]*?)\n</${tag}>`).exec(text)?.[1] ?? "").split("\n").filter(Boolean);
  return { read: lines("read-files"), modified: lines("modified-files") };
}

function join(sections: string[]): string {
  return sections.filter(Boolean).join("\n\n");
}

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
  closing: string;
}

function sideNotes(memory: Memory, { afterLine, earlier }: RenderOptions): Side[] {
  const threads = openThreads(memory).filter(
    ({ sources }) => afterLine === undefined || sources.some((line) => line > afterLine),
  );
  const modified = new Set([...(earlier?.modified ?? []), ...memory.files.modified]);
  const read = [...(earlier?.read ?? []), ...memory.files.read].filter((path) => !modified.has(path));
  return [
    { opening: "## Open Threads", lines: threadLines(threads), closing: "" },
    { opening: "## Next Action Bias", lines: nextLines(memory, threads), closing: "" },
    { opening: "<read-files>", lines: paths(read), closing: "</read-files>" },
    { opening: "<modified-files>", lines: paths(modified), closing: "</modified-files>" },
  ];
}

/** Sorts by UTF-16 units, so that no machine's locale changes the order. */
function paths(all: Iterable<string>): string[] {
  return [...new Set(all)].sort();
}

function threadLines(threads: readonly Observation[]): string[] {
  if (threads.length === 0) return ["- none"];
  const lines = threads
    .slice(-THREADS_MAX)
    .map(({ text, id }) => `- ${truncate(withoutSpeaker(text), THREAD_CHARS)} [${id}]`);
  const older = threads.length - THREADS_MAX;
  return older > 0 ? [`- ${older} older ones among the 🔴 above`, ...lines] : lines;
}

function nextLines(memory: Memory, threads: readonly Observation[]): string[] {
  const thread = threads.at(-1);
  const last = memory.observations.at(-1);
  if (!thread) return ["- Nothing asked for is left open: wait for the user"];
  // Only the user's next words settle a request by rule: the answer may already be there.
  const unless = last && last !== thread ? ", unless the last observation settles it" : "";
  return [`- Go on with the last open thread${unless}`];
}

function withoutSpeaker(text: string): string {
  return text.replace(/^(?:User|Request): /, "");
}

function sideText({ opening, lines, closing }: Side): string {
  if (lines.length === 0) return "";
  return [opening, ...lines, ...(closing ? [closing] : [])].join("\n");
}

/** Whole lines in order of worth: what is open, what to do next, what was changed, then newest first by priority. */
function renderWithin(
  maxChars: number,
  { shown, sides, memory }: { shown: readonly Observation[]; sides: Side[]; memory: Memory },
): string | undefined {
  const chosen = new Set<Observation>(); // in the order of worth
  const opened = new Set<string>();
  let left = maxChars - "## Observations\n".length - leftOutLine(shown.length).length - 2;
  const take = (observations: readonly Observation[]) => {
    for (const observation of observations) {
      const heading = groupHeading(observation);
      const cost = observationLine(observation).length + 1 + (opened.has(heading) ? 0 : heading.length + 2);
      if (cost > left) continue;
      left -= cost;
      opened.add(heading);
      chosen.add(observation);
    }
  };
  const newest = shown.toReversed();
  take(newest.filter((observation) => isOpen(observation, memory)));
  const notes = sides.map((side) => {
    const fitted = fitSide(side, Math.min(left, Math.floor(maxChars * SIDE_SHARE)));
    left -= fitted.length;
    return fitted;
  });
  for (const priority of ["red", "yellow", "green"] as const) {
    take(newest.filter((observation) => observation.priority === priority && !chosen.has(observation)));
  }
  for (;;) {
    if (chosen.size === 0) return undefined;
    const kept = shown.filter((observation) => chosen.has(observation));
    const missing = shown.length - kept.length;
    const text = join([
      observationsSection(kept),
      ...notes.map((note) => note.trim()),
      missing > 0 ? leftOutLine(missing) : "",
    ]);
    if (text.length <= maxChars) return text;
    // A day's heading repeats where another zone's lines separate it: then the least valuable line goes.
    for (const least of [...chosen].slice(-1)) chosen.delete(least);
  }
}

function leftOutLine(count: number): string {
  return `(${count} more observation${count === 1 ? "" : "s"} left out here)`;
}

/** Returns a side note cut to whole lines, with the two characters that part it from what comes before. */
function fitSide(side: Side, room: number): string {
  const whole = sideText(side);
  if (whole === "") return "";
  if (whole.length + 2 <= room) return `\n\n${whole}`;
  const lines: string[] = [];
  let left = room - 2 - side.opening.length - side.closing.length - 2 - `(${side.lines.length} more)`.length;
  for (const line of side.opening.startsWith("<") ? side.lines : side.lines.toReversed()) {
    if (line.length + 1 > left) continue;
    left -= line.length + 1;
    lines.push(line);
  }
  if (lines.length === 0) return "";
  if (!side.opening.startsWith("<")) lines.reverse();
  const more = `(${side.lines.length - lines.length} more)`;
  return `\n\n${sideText({ ...side, lines: [...lines, more] })}`;
}

/** Returns instructions for a host's own summariser on what to keep; undefined when there is nothing. */
export function observationsToKeep(ledger: Ledger, { maxChars }: { maxChars: number }): string | undefined {
  const lead =
    "These notes on the session were taken while it ran. The summary must keep every open 🔴 line word for word, the open threads and the modified files.\n\n";
  return led(lead, { ledger, maxChars, foot: "" });
}

/** Returns the notes for the model after a compaction, and how to look up more; undefined when there are none. */
export function observationsAfterCompaction(
  ledger: Ledger,
  { maxChars, lookUp }: { maxChars: number; lookUp: string },
): string | undefined {
  const lead = `[Session Observations] ${OWN_LABEL}\n\n`;
  return led(lead, { ledger, maxChars, foot: lookUp ? `\n\n${lookUp}` : "" });
}

function led(
  lead: string,
  { ledger, maxChars, foot }: { ledger: Ledger; maxChars: number; foot: string },
): string | undefined {
  const rendered = renderObservations(ledger, { maxChars: maxChars - lead.length - foot.length });
  return rendered === undefined ? undefined : `${lead}${rendered}${foot}`;
}

/**
 * Replays what sessions did to a file, to find which of them wrote some of its lines. The index says where a session touched
 * the file; the whole of what was written there is read from its transcript where the index keeps a part of it only.
 */

import { isAbsolute } from "node:path";
import { baseName } from "../base/text.ts";
import type { CallKind, Done, Entry, ToolCall } from "../hosts/session.ts";
import { toRows } from "../transcripts/calls.ts";
import { shellWords } from "../transcripts/command-lines.ts";
import { statUnpacked } from "../transcripts/files.ts";
import type { Rules } from "../transcripts/rules.ts";
import { readEntries } from "../transcripts/transcript.ts";
import { isSameFile, type Touched } from "./file-history.ts";

/** Something that a session did to the file, by which a line may have come into it. */
export interface Change extends Touched {
  /** True if the conversation went on from a row before it. */
  isRewound: boolean;
}

/** The possible writers of a line. */
export interface Trace {
  /** The changes that may have written the line; a single one is certain. */
  writers: Change[];
  /** `certain`: each of `writers` wrote one that still stands. `before`: it stood there when a session first saw it. */
  how: "certain" | "possible" | "before" | "nowhere";
}

interface ReplayOptions {
  /** Every name of the file. */
  names: readonly string[];
  rules: Rules;
}

/** Returns the form in which a line is compared: new indentation alone does not make a line new. */
export function lineKey(line: string): string {
  return line.trim();
}

/** Replays changes in the order of time; returns who wrote each of some lines, given by their keys. */
export function replay(
  changes: readonly Change[],
  keys: ReadonlySet<string>,
  options: ReplayOptions,
): Map<string, Trace> {
  const read = wholeRows(changes, keys, options);
  const lines = new Map([...keys].map((key) => [key, newLine()]));
  for (const change of changes) {
    const { row, wasSeen } = read(change);
    const effect = row && readEffect(row, options.names);
    for (const [key, line] of lines) {
      if (effect && !change.isUnsure) applyTo(line, { change, effect, key, wasSeen: () => wasSeen(key) });
      else if (change.how === "edited" && effect?.added.includes(key) !== false) line.unread.push(change);
    }
  }
  return new Map([...lines].map(([key, line]) => [key, toTrace(line)]));
}

/** The state of a line while its file's changes are replayed. */
interface LineState {
  /** The number of times it stands in the file; undefined if it was not seen. */
  count: number | undefined;
  /** The possible writers of the line as it stands; `undefined` is a writer outside the changes. */
  writers: (Change | undefined)[];
  isCertain: boolean;
  /** The writers of a line that was removed since. */
  removed: Change[];
  /** Changes that the index keeps in part after their transcript is gone, or that may concern another file. */
  unread: Change[];
}

function newLine(): LineState {
  return { count: undefined, writers: [], isCertain: true, removed: [], unread: [] };
}

function toTrace({ count, writers, isCertain, removed, unread }: LineState): Trace {
  const known = writers.filter((writer) => writer !== undefined);
  if (count && isCertain && writers.length === 1)
    return known.length === 1
      ? { writers: known, how: "certain" }
      : { writers: unread, how: ifAny(unread, "before") };
  const possible = [...new Set([...known, ...removed, ...unread])];
  return { writers: possible, how: ifAny(possible, "nowhere") };
}

function ifAny(changes: readonly Change[], otherwise: Trace["how"]): Trace["how"] {
  return changes.length > 0 ? "possible" : otherwise;
}

/** The effect of a call on the lines of the file. */
interface Effect {
  added: readonly string[];
  removed: readonly string[];
  /** Lines of a diff that stay. */
  kept: readonly string[];
  /** True if `added` is the whole file from then on. */
  isWhole?: boolean;
  /** True if it only holds these lines, and may have written them. */
  isPossible?: boolean;
}

interface Application {
  change: Change;
  effect: Effect;
  key: string;
  /** Returns whether the session had seen the line in the file before. */
  wasSeen: () => boolean;
}

function applyTo(line: LineState, { change, effect, key, wasSeen }: Application): void {
  const { isWhole = false, isPossible = false } = effect;
  const count = (lines: readonly string[]) => lines.filter((each) => each === key).length;
  const [added, removed, kept] = [count(effect.added), count(effect.removed), count(effect.kept)];
  if (isWhole && added === 0) empty(line);
  else if (isWhole || isPossible) {
    if (added === 0 || line.count) return;
    if (line.count === undefined && wasSeen()) Object.assign(line, { count: 1, writers: [undefined] });
    else Object.assign(line, { count: 1, writers: [change], isCertain: !isPossible });
  } else if (added > removed) {
    if (line.count === undefined && wasSeen()) Object.assign(line, { count: 1, writers: [undefined] });
    add(line, change);
  } else if (added < removed) {
    const { count = 1 } = line;
    if (count <= 1) empty(line);
    else line.count = count - 1;
  } else if (added + kept > 0 && !line.count) Object.assign(line, { count: 1, writers: [undefined] });
}

function add(line: LineState, change: Change): void {
  const standing = line.writers.filter((writer) => writer === undefined || !writer.isRewound);
  line.count = line.count ? standing.length + 1 : 1;
  line.writers = [...standing, change];
  line.isCertain = true;
}

function empty(line: LineState): void {
  line.removed.push(...line.writers.filter((writer) => writer !== undefined));
  Object.assign(line, { count: 0, writers: [], isCertain: true });
}

/** Returns what a call did to a file that has these names. */
function readEffect(row: Done, names: readonly string[]): Effect {
  const text = row.patch ?? (row.input || row.target);
  if (row.kind === "command") return commandEffect(text, names);
  if (row.kind === "write" && row.patch === undefined)
    return { added: text.split("\n").map(lineKey), removed: [], kept: [], isWhole: true };
  return diffEffect(text, names);
}

/** A line of a patch that says which file follows. */
const PATCHED = /^\*\*\* (?:Update File|Add File|Delete File|Move to): (.+)$/;

function diffEffect(diff: string, names: readonly string[]): Effect {
  const lines: Record<"+" | "-" | " ", string[]> = { "+": [], "-": [], " ": [] };
  let isOurs = true;
  for (const line of diff.split("\n")) {
    const path = PATCHED.exec(line)?.[1]?.trim();
    if (path !== undefined) isOurs = isNamed(path, names);
    const sign = line[0] as "+" | "-" | " ";
    if (isOurs && path === undefined) lines[sign]?.push(lineKey(line.slice(1)));
  }
  return { added: lines["+"], removed: lines["-"], kept: lines[" "] };
}

function isNamed(path: string, names: readonly string[]): boolean {
  return names.some((name) => isSameFile(path, name));
}

/** A here-document, up to the line that ends it: `cat > notes.md <<'EOF'`. */
const HEREDOC = /^(.*?)<<-?[ \t]*(["']?)(\w+)\2(.*)\n([\s\S]*?)\n[ \t]*\3[ \t]*$/gm;

/** Returns the writes of a command: a text into the file, a patch, or lines with an unknown fate. */
function commandEffect(command: string, names: readonly string[]): Effect {
  if (command.includes("*** Begin Patch")) return diffEffect(command, names);
  for (const [, before = "", , , after = "", body = ""] of command.matchAll(HEREDOC)) {
    const sign = redirection(`${before} ${after}`, names);
    const added = body.split("\n").map(lineKey);
    if (sign !== undefined) return { added, removed: [], kept: [], isWhole: sign === ">" };
  }
  return { added: command.split("\n").map(lineKey), removed: [], kept: [], isPossible: true };
}

/** Returns how a command line writes to the file: `>` over it, `>>` behind it. */
function redirection(line: string, names: readonly string[]): ">" | ">>" | undefined {
  const words = shellWords(line.replace(/>>?/g, " $& "));
  const named = words.findIndex(
    (word) => names.includes(word.replace(/^\.\//, "")) || (isAbsolute(word) && isNamed(word, names)),
  );
  if (named === -1) return undefined;
  if (words.includes("tee")) return words.includes("-a") ? ">>" : ">";
  const sign = words[named - 1];
  return sign === ">" || sign === ">>" ? sign : undefined;
}

interface WholeRow {
  /** Undefined where the index keeps a part of it and no transcript is left. */
  row: Done | undefined;
  /** Returns whether the session saw a line in the file before. */
  wasSeen: (key: string) => boolean;
}

/** The end of an input that the index cut short. */
const CUT = "…";

/** Returns a function that reads the whole row of a change; each transcript is opened once, and only where the index cut it. */
function wholeRows(
  changes: readonly Change[],
  keys: ReadonlySet<string>,
  { names, rules }: ReplayOptions,
): (change: Change) => WholeRow {
  const baseNames = names.map(baseName);
  const bySession = Map.groupBy(changes, ({ session }) => session.file);
  const files = new Map<string, ReturnType<typeof readRows>>();
  const rowsIn = (file: string) => {
    if (!files.has(file))
      files.set(file, readRows(file, { rules, keys, baseNames, changes: bySession.get(file) ?? [] }));
    return files.get(file);
  };
  return ({ deed, session: { file } }) => {
    const isCut = deed.input.endsWith(CUT);
    // the host keeps the patch of an overwritten file, the index only its new content
    const read = isCut || deed.kind === "write" ? rowsIn(file) : undefined;
    const whole = read?.rows.find(({ line, nth }) => line === deed.line && nth === deed.nth);
    const wasSeen = (key: string) => (rowsIn(file)?.seen.get(key) ?? Number.POSITIVE_INFINITY) < deed.line;
    return { row: whole ?? (isCut ? undefined : deed), wasSeen };
  };
}

/** The prefixes of file lines in tools' output. */
const LINE_NUMBER = /^\s*\d+(?:→|\t|[:|-] ?)/;

/** The calls whose results show a file's content. */
const LOOKS: ReadonlySet<CallKind> = new Set(["read", "command", "search"]);

interface ReadingOptions extends Pick<ReplayOptions, "rules"> {
  keys: ReadonlySet<string>;
  /** Names of the file without folders. */
  baseNames: readonly string[];
  changes: readonly Change[];
}

/** Reads the rows of changes from a transcript, and which keys the session saw in the file before the last of them. */
function readRows(
  file: string,
  { rules, keys, baseNames, changes }: ReadingOptions,
): { rows: Done[]; seen: Map<string, number> } | undefined {
  if (!statUnpacked(file)) return undefined;
  const wanted = new Set(changes.map(({ deed }) => deed.line));
  const last = Math.max(...changes.map(({ deed }) => deed.resultLine ?? deed.line));
  const seen = new Map<string, number>();
  const kept: Entry[] = [];
  const [wantedCalls, looks] = [new Set<string>(), new Set<string>()];
  const progress = { offset: 0, line: 0, skipped: 0 };
  const isLook = ({ kind, target }: ToolCall) =>
    LOOKS.has(kind) && baseNames.some((name) => target.includes(name));
  const results = (call: ToolCall, line: number) => wanted.has(line) || isLook(call);
  const options = { rules, results, unterminated: "accept", progress } as const;
  for (const entry of readEntries(file, { ...options, isOver: () => progress.line >= last })) {
    const { kind, callId = "", tool } = entry;
    if (tool && isLook(tool)) looks.add(callId);
    if (kind === "result" && looks.has(callId))
      for (const key of keysIn(entry.text, keys)) if (!seen.has(key)) seen.set(key, entry.line);
    if (tool && wanted.has(entry.line)) wantedCalls.add(callId);
    if ((tool || kind === "result") && wantedCalls.has(callId)) kept.push(entry);
  }
  return { rows: toRows(kept).filter((row) => row.who === "tool"), seen };
}

function keysIn(text: string, keys: ReadonlySet<string>): string[] {
  return text
    .split("\n")
    .map((line) => lineKey(line.replace(LINE_NUMBER, "")))
    .filter((key) => keys.has(key));
}

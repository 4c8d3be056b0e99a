/**
 * Checks tool calls with their results: an answer counts if its call was a question to the user, our own commands are left
 * out with their output, and long results are cut to their ends. The rest becomes rows.
 */

import { join } from "node:path";
import { errorLines } from "../base/error-lines.ts";
import { namesIn } from "../base/files.ts";
import { ROOT } from "../base/runtime.ts";
import { escapePattern, takeEnd, takeStart } from "../base/text.ts";
import type { Head, RawEntry, Results } from "../hosts/format.ts";
import { HOSTS } from "../hosts/hosts.ts";
import type { Done, Entry, Row, Said, ToolCall } from "../hosts/session.ts";
import type { RawCall } from "../hosts/tool-call.ts";
import { commitLines, readOutcome } from "./outcome.ts";
import { isChange, onlyChanges } from "./rows.ts";

/** Sessions have thousands of calls; a result follows its call closely. */
const CALLS_HELD = 512;

/** The facts of a call that its result needs. */
interface HeldCall {
  /** Without its input, which may be large. */
  tool: ToolCall;
  isOurs: boolean;
  isWanted: boolean;
}

const OWN_TOOLS = new Set(HOSTS.flatMap(({ ownTools = [] }) => ownTools));
/** A folder of ours: this one, or a copy elsewhere. */
const FOLDER = `(?:session-memory[\\w.@-]*|${escapePattern(ROOT)})`;
/** The first words of our scripts' names, with the second name of `embed` that none of them begins with. */
const SCRIPTS = [...namesIn(join(ROOT, "scripts")), "chunk"]
  .flatMap((name) => /^\w+/.exec(name) ?? [])
  .join("|");
const OWN_COMMAND = new RegExp(
  [
    // Our bin: by its path, or where a command can begin.
    String.raw`bin[/\\]session-memory(?:\.js)?(?![\w./@-])`,
    String.raw`(?:^|[;&|({"'${"`"}])\s*(?:[\w=./~-]+ +)*session-memory +["']?(?:${SCRIPTS})\b`,
    // A script below a folder of ours: by its path, or run by a relative one after the folder was named.
    String.raw`${FOLDER}(?:["']?[/\\][^\s"']*)?[/\\](?:scripts|hooks)[/\\][\w-]+\.[jt]s\b`,
    String.raw`${FOLDER}["']?[/\\]?(?:[\s;&)][\s\S]{0,300}?)?\b(?:bun|node|deno)\b[^;&|\n]{0,200}?[\s}"'/]scripts/[\w-]+\.ts\b`,
  ].join("|"),
  "m",
);
/** The longest text; a longer one is data. */
const COMMAND_READ_MAX = 4000;

/**
 * Makes a check for raw entries, given in file order. It returns the entry that counts, with the texts that are wanted of it,
 * and undefined for our own commands and what they print. A result without its call asks for the calls shortly before the
 * first entry, each part of them once.
 */
export function callCheck(
  head: Head,
  results: Results,
  callsBefore: () => Iterable<RawEntry[]> = () => [],
): (raw: RawEntry) => Entry | undefined {
  const calls = heldCalls(head, results, callsBefore);
  return (raw) => {
    const { callId, tool, kind } = raw;
    if (kind === "result" && results === false) return undefined;
    if (!tool) return callId === undefined ? raw : ofCall(raw, calls.find(callId), results);
    const { isOurs, isWanted } = calls.take(raw, tool);
    if (isOurs) return undefined;
    const input = isWanted ? tool.readInput() : undefined;
    const kept = input && results === "ends" ? keepEnds(input, { head: HEAD_CHARS }) : input;
    return { ...raw, tool: { ...tool, input: kept } };
  };
}

/** Holds the last calls until their results come. */
function heldCalls({ cwd = "/" }: Head, results: Results, callsBefore: () => Iterable<RawEntry[]>) {
  const calls = new Map<string, HeldCall>();
  const take = ({ callId, line, workdir = cwd }: RawEntry, tool: RawCall): HeldCall => {
    const { name, kind, target, paths } = tool;
    const isWanted = typeof results === "function" ? results(tool, line) : results !== false;
    const call = { tool: { name, target, kind, paths }, isOurs: isOwnCall(tool, workdir), isWanted };
    if (callId !== undefined) calls.set(callId, call);
    if (calls.size > CALLS_HELD) calls.delete(calls.keys().next().value ?? "");
    return call;
  };
  let before: Iterator<RawEntry[]> | undefined;
  const find = (callId: string) => {
    while (!calls.has(callId)) {
      before ??= callsBefore()[Symbol.iterator]();
      const { value, done } = before.next();
      if (done) break;
      for (const raw of value) if (raw.tool && !calls.has(raw.callId ?? "")) take(raw, raw.tool);
    }
    return calls.get(callId);
  };
  return { take, find };
}

/** Returns what counts of a row that belongs to a call: a result, or an answer of the user's. */
function ofCall(raw: RawEntry, call: HeldCall | undefined, results: Results): Entry | undefined {
  if (raw.settle) {
    const text = call ? raw.settle(call.tool) : "";
    return text === "" ? undefined : { ...raw, text };
  }
  if (call?.isOurs) return undefined;
  const entry = call && isChange(call.tool) ? { ...raw, edit: call.tool } : raw;
  if (entry.kind !== "result") return entry;
  if (results === "ends") return resultEnds(entry, call?.tool.kind === "command");
  return call?.isWanted === false
    ? { ...entry, text: entry.isError ? entry.text : "", patch: undefined }
    : entry;
}

/** Returns a result's ends, and a command's error lines between them. */
function resultEnds(entry: Entry, isOutput: boolean): Entry {
  const kept = entry.isError ? { head: HEAD_CHARS, tail: TAIL_CHARS } : { tail: DONE_CHARS };
  const text = keepEnds(entry.text, { ...kept, withErrors: isOutput });
  const patch =
    entry.patch === undefined ? undefined : keepEnds(onlyChanges(entry.patch), { head: HEAD_CHARS });
  return { ...entry, text, patch };
}

/** Returns whether a call is one of ours: what it prints is a copy of what is indexed already. */
function isOwnCall({ name, kind, readInput }: RawCall, cwd: string): boolean {
  return OWN_TOOLS.has(name) || (kind === "command" && isOwnCommand(readInput(), cwd));
}

/** Returns whether a command line names our bin or a script of ours. */
export function isOwnCommand(command: string, cwd: string): boolean {
  return OWN_COMMAND.test(`${cwd}\n${command.slice(0, COMMAND_READ_MAX)}`);
}

// The ends of long texts are cut before they are redacted, so that no secret is cut: at words, never inside a key.

/** Far more than is kept of either end, since redaction shortens. */
const HEAD_CHARS = 2500;
const TAIL_CHARS = 1200; // twice what is kept of a failing end
/** Less is kept of a successful result. */
const DONE_CHARS = 700;
/** A cut is moved by at most this many characters to the end of a word. */
const WORD_MAX = 8000;
/** Secrets of many lines: only their first line gives them away. */
const MANY_LINES = /PRIVATE KEY|Private-Lines/;
const BETWEEN_WORDS = /[\s"'`,;<>()[\]{}]/;

/** Returns one end of a text or both, at words and on lines of their own, with its error lines where they are wanted. */
function keepEnds(
  text: string,
  { head = 0, tail = 0, withErrors = false }: { head?: number; tail?: number; withErrors?: boolean },
): string {
  if (text.length <= 2 * Math.max(head, tail) || MANY_LINES.test(text)) return text;
  const [to, from] = [head && wordEnd(text, head), tail ? wordStart(text, text.length - tail) : text.length];
  if (to >= from) return text;
  const [first, last] = [text.slice(0, to), text.slice(from)];
  const between = [first && last && "…", ...(withErrors ? keptLines(text, first, last) : [])];
  return copyText([first, ...between, last].filter((part) => part !== "").join("\n"));
}

/** The most error lines kept of an output, and the longest one: a longer line is data, not a message. */
const ERRORS_KEPT = 8;
const ERROR_CHARS = 200; // a line of a terminal, twice

/** Returns a command's error lines and commits that none of its ends holds whole, each with a mark of what is left out behind it. */
function keptLines(text: string, ...ends: readonly string[]): string[] {
  const errors = errorLines(text, { orAll: false, maxChars: ERROR_CHARS, max: ERRORS_KEPT });
  const lines = [
    ...commitLines(text)
      .slice(0, ERRORS_KEPT)
      .map((line) => line.slice(0, ERROR_CHARS)),
    ...errors,
  ];
  return lines.filter((line) => !ends.some((end) => end.includes(line))).flatMap((line) => [line, "…"]);
}

function wordEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && at - from < WORD_MAX && !BETWEEN_WORDS.test(text[at] ?? "")) at++;
  return at;
}

function wordStart(text: string, from: number): number {
  let at = from;
  while (at > 0 && from - at < WORD_MAX && !BETWEEN_WORDS.test(text[at - 1] ?? "")) at--;
  return at;
}

/** Copies a text: a slice would keep the whole string in memory. */
function copyText(text: string): string {
  return Buffer.from(text, "utf16le").toString("utf16le");
}

/** Characters kept of an input. */
const COMMAND_MAX = 1000; // promised
const EDIT_MAX = 1500; // promised; of a plan as much: it is what was decided
const INPUT_MAX = 600; // queries and addresses are shorter
const TARGET_MAX = 300; // a path, or the first line of a command
/** Characters kept of a result: both ends of a failing one, the end of any other. */
const FAILED_MAX = 600;
const DONE_MAX = 300; // what went well says little more than that
const PATHS_MAX = 50; // a patch of more files is a reformatting
const NAME_MAX = 80; // of a tool: an MCP server's and its own
/** Asking the user is nothing done: question and answer are in the user's own row. */
const ASKING = /^(?:AskUserQuestion|request_user_input|question|questionnaire)$/;

/** Returns what was said and done, each call with its result; a result without its call is left out. */
export function toRows(entries: readonly Entry[]): Row[] {
  const results = resultsByCall(entries);
  return entries.filter(({ kind }) => kind !== "result").map((entry) => toRow(entry, results.get(entry)));
}

/** A row that is known as far as entries were read. */
export interface ReadRow {
  row: Row;
  /** The byte behind its line, or behind that of its result. */
  end: number;
  /** True if it belongs to the message of the row before it. */
  goesOn?: true;
}

/**
 * Yields the rows of entries, an edit when its result comes. One without a result is still running, unless no call has one: some
 * hosts write no results.
 */
export function* rowsWhenKnown(entries: Iterable<Entry>): Generator<ReadRow> {
  const open = new Map<string, Entry>();
  let isAnswered = false;
  let lastId: string | undefined;
  const read = (entry: Entry, result?: Entry): ReadRow => {
    const goesOn = isMessage(entry) && entry.id !== undefined && entry.id === lastId;
    if (isMessage(entry)) lastId = entry.id;
    const end = Math.max(entry.end, result?.end ?? 0);
    return { end, row: toRow(entry, result), ...(goesOn && { goesOn }) };
  };
  for (const entry of entries) {
    const { callId = "", kind, tool, edit } = entry;
    if (callId && tool && isChange(tool)) open.set(callId, entry);
    else if (kind !== "result") yield read(entry);
    else {
      isAnswered ||= callId !== "";
      open.delete(callId);
      if (edit) yield read({ ...entry, tool: edit }, entry);
    }
  }
  for (const call of open.values()) yield read(call, isAnswered ? { ...call, state: "running" } : undefined);
}

/** Returns whether an entry is something that the user or the assistant said. */
export function isMessage({ kind }: Entry): boolean {
  return kind === "user" || kind === "assistant";
}

/** Returns the row of what was said, or of a call with its result. */
function toRow(entry: Entry, result?: Entry): Row {
  return entry.tool ? doneRow(entry, entry.tool, result) : saidRow(entry);
}

/** Returns the last result of each call: hosts use an id again, so it is that of the call before it. */
function resultsByCall(entries: readonly Entry[]): Map<Entry, Entry> {
  const results = new Map<Entry, Entry>();
  const open = new Map<string, Entry>(); // calls, and results that came before theirs
  for (const entry of entries) {
    const { callId, kind, tool } = entry;
    if (callId === undefined || (!tool && kind !== "result")) continue;
    const other = open.get(callId);
    if (tool && other && !other.tool) results.set(entry, other);
    if (!tool && other?.tool) results.set(other, entry);
    else open.set(callId, entry);
  }
  return results;
}

function saidRow({ line, nth, at, kind, callId, typed, text }: Entry): Said {
  return {
    line,
    nth,
    at,
    who: kind as Said["who"],
    isAnswer: callId !== undefined || undefined,
    typed,
    text,
  };
}

function doneRow({ line, nth, at }: Entry, call: ToolCall, result: Entry | undefined): Done {
  const { name: tool, kind, target, paths, input = "" } = call;
  return {
    line,
    nth,
    at,
    who: "tool",
    tool,
    kind,
    target,
    paths,
    input: input === target ? "" : input,
    outcome: readOutcome(result),
    result: result?.text ?? "",
    resultLine: result?.line,
    patch: result?.patch,
  };
}

/** Returns every text of a row that is a user's, a model's or a tool's. */
export function rowTexts(row: Row): string[] {
  return row.who === "tool" ? [row.target, ...row.paths, row.input, row.result, row.patch ?? ""] : [row.text];
}

/** Returns whether a call only asks the user something. */
export function isAsking({ tool }: Done): boolean {
  return ASKING.test(tool);
}

/** Returns a call cut to what is worth keeping of it. */
export function keptCall(row: Done): Done {
  const { kind, outcome, paths } = row;
  const target = cutHead(kind === "command" ? commandLine(row) : row.target, TARGET_MAX);
  const input = keptInput(row);
  return {
    ...row,
    tool: cutHead(row.tool, NAME_MAX),
    target,
    paths: paths.slice(0, PATHS_MAX),
    input: input === target ? "" : input,
    result: outcome === "rejected" ? "" : keptResult(row.result, row),
    patch: undefined,
  };
}

/** Returns a command's first line, which is kept as its target; the rest is in the input. */
function commandLine({ input, target }: Done): string {
  return (input || target).trim().split("\n", 1)[0] ?? target;
}

function keptInput({ tool, kind, input, target, patch }: Done): string {
  const whole = input || target;
  if (kind === "edit") return cutHead(onlyChanges(patch ?? whole) || whole, EDIT_MAX);
  const isWhole = kind === "write" || tool === "ExitPlanMode";
  return cutHead(whole, isWhole ? EDIT_MAX : kind === "command" ? COMMAND_MAX : INPUT_MAX);
}

function keptResult(whole: string, { kind, outcome }: Done): string {
  const text = whole.trim();
  const hasFailed = outcome === "failed";
  if (text.length <= (hasFailed ? 2 * FAILED_MAX : DONE_MAX)) return text;
  const head = hasFailed ? [cutHead(text, FAILED_MAX)] : [];
  const tail = cutTail(text, hasFailed ? FAILED_MAX : DONE_MAX);
  return [...head, ...(kind === "command" ? keptLines(text, ...head, tail) : []), tail].join("\n");
}

/** Shortens a text to `max` UTF-16 units without splitting a character, marked with an ellipsis. */
function cutHead(text: string, max: number): string {
  const whole = text.trim();
  if (whole.length <= max) return whole;
  return `${takeStart(whole, max - 1)}…`;
}

function cutTail(text: string, max: number): string {
  if (text.length <= max) return text;
  return `…${takeEnd(text, max - 1)}`;
}

/** The distance at which a result's call is looked for: calls of one message end in any order, but soon. */
export const CALL_LINES_MAX = 300;

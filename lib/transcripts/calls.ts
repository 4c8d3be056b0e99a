/**
 * Checks tool calls with their results: an answer counts if its call was a question to the user, our own commands are left
 * out with their output, and long results are cut to their ends. What is left becomes deeds.
 */

import { resolve } from "node:path";
import { shortHash } from "../base/text.ts";
import { errorLines } from "./error-lines.ts";
import type { Head, RawEntry, Results } from "./format.ts";
import type { Deed, DeedKind, DeedOutcome, Entry, ToolCall } from "./session.ts";
import { deedKind, onlyChanges } from "./tool-call.ts";

/** Sessions have thousands of calls; a result follows its call closely. */
const CALLS_HELD = 512;

/** What a result asks of its call. */
interface Call {
  /** Without its input, which may be large; of a call that is no question, without its target too. */
  tool: ToolCall;
  isOurs: boolean;
}

/** Tools that only our own extension registers. */
const OWN_TOOLS = /^(?:session_search|query_session|recall_observation)$/;
/** A folder of ours: this one, or a copy elsewhere. */
const FOLDER = `(?:session-memory[\\w.@-]*|${resolve(import.meta.dirname, "..", "..").replace(/[.*+?^${}()|[\]\\]/g, "\\$&")})`;
const SCRIPTS =
  "activity|chunk|embed|forget|handoff|health|index|observe|query|report|save|search|session|setup|share|status";
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
/** What is longer is data. */
const COMMAND_READ_MAX = 4000;

/**
 * Makes what raw entries are passed through in file order: none for one that does not count. The calls shortly before the
 * first entry are asked for when one is missed.
 */
export function callCheck(
  { cwd = "/" }: Pick<Head, "cwd">,
  results: Results,
  callsBefore: () => Iterable<RawEntry> = () => [],
): (raw: RawEntry) => Entry | undefined {
  const calls = new Map<number, Call>();
  const take = ({ callId, workdir = cwd }: RawEntry, tool: ToolCall) => {
    const isOurs = isOwnCall(tool, workdir);
    if (callId === undefined) return isOurs;
    const { name, action } = tool;
    const target = action === "other" ? tool.target : "";
    calls.set(shortHash(callId), { tool: { name, target, action, paths: [] }, isOurs });
    if (calls.size > CALLS_HELD) calls.delete(calls.keys().next().value ?? 0);
    return isOurs;
  };
  let before = callsBefore;
  const find = (callId: string) => {
    const key = shortHash(callId);
    if (!calls.has(key)) {
      const earlier = before();
      before = () => [];
      for (const raw of earlier) if (raw.tool && !calls.has(shortHash(raw.callId ?? ""))) take(raw, raw.tool);
    }
    return calls.get(key);
  };
  return (raw) => {
    const { callId, tool, settle } = raw;
    if (tool) return take(raw, tool) ? undefined : callEntry(raw, tool, results);
    if (callId === undefined) return raw;
    const call = find(callId);
    if (settle) {
      const text = call ? settle(call.tool) : "";
      return text === "" ? undefined : { ...raw, text };
    }
    if (call?.isOurs) return undefined;
    return results === "ends" ? resultEnds(raw, call?.tool.action === "run") : raw;
  };
}

/** Cuts a result to its ends, and a command's to its error lines between them. */
function resultEnds(entry: Entry, isOutput: boolean): Entry {
  if (entry.kind !== "result") return entry;
  const kept = entry.isError ? { head: HEAD_CHARS, tail: TAIL_CHARS } : { tail: DONE_CHARS };
  entry.text = keepEnds(entry.text, { ...kept, withErrors: isOutput });
  if (entry.patch !== undefined) entry.patch = keepEnds(onlyChanges(entry.patch), { head: HEAD_CHARS });
  return entry;
}

/** Returns whether a call is one of ours: what it prints is a copy of what is indexed already. */
function isOwnCall(tool: ToolCall, cwd: string): boolean {
  return OWN_TOOLS.test(tool.name) || (tool.action === "run" && isOwnCommand(tool.input ?? tool.target, cwd));
}

/** Returns whether a command line names our bin or a script of ours. */
export function isOwnCommand(command: string, cwd: string): boolean {
  return OWN_COMMAND.test(`${cwd}\n${command.slice(0, COMMAND_READ_MAX)}`);
}

function callEntry(entry: Entry, tool: ToolCall, results: Results): Entry {
  if (!results) tool.input = undefined;
  else if (results === "ends") tool.input = keepEnds(tool.input ?? "", { head: HEAD_CHARS });
  return entry;
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
  const between = [first && last && "…", ...(withErrors ? keptErrors(text, first, last) : [])];
  return copyText([first, ...between, last].filter((part) => part !== "").join("\n"));
}

/** Of an output's error lines so many are kept, none of them longer: what is longer is data. */
const ERRORS_KEPT = 8;
const ERROR_CHARS = 200; // a line of a terminal, twice

/** Returns the error lines of a text that none of its ends holds whole, each with a mark of what is left out behind it. */
function keptErrors(text: string, ...ends: readonly string[]): string[] {
  const lines = errorLines(text, { orAll: false, maxChars: ERROR_CHARS, max: ERRORS_KEPT });
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
/** Asking the user is no deed: question and answer are in the user's own entry. */
const ASKING = /^(?:AskUserQuestion|request_user_input|question|questionnaire)$/;

/** Returns the deeds of entries that were read with their results, in call order. */
export function deedsIn(entries: readonly Entry[]): Deed[] {
  const results = resultsById(entries);
  return entries.flatMap((entry) => {
    if (!entry.tool || ASKING.test(entry.tool.name)) return [];
    const result = entry.callId === undefined ? undefined : results.get(entry.callId);
    return [toDeed(entry, entry.tool, result)];
  });
}

/** Returns the results among entries by the id of their call. */
export function resultsById(entries: readonly Entry[]): Map<string, Entry> {
  const results = new Map<string, Entry>();
  for (const entry of entries) {
    if (entry.kind === "result" && entry.callId !== undefined) results.set(entry.callId, entry);
  }
  return results;
}

function toDeed(entry: Entry, tool: ToolCall, result: Entry | undefined): Deed {
  const kind = deedKind(tool.name, tool.action);
  const outcome = outcomeOf(result);
  const target = cutHead(firstLine(tool), TARGET_MAX);
  const input = keptInput(tool, { kind, patch: result?.patch });
  return {
    line: entry.line,
    resultLine: result?.line,
    at: entry.at,
    kind,
    tool: cutHead(tool.name, 80),
    target,
    paths: tool.paths.slice(0, PATHS_MAX),
    input: input === target ? "" : input,
    outcome,
    result: outcome === "rejected" ? "" : keptResult(result?.text ?? "", { kind, outcome }),
  };
}

export function outcomeOf(result: Entry | undefined): DeedOutcome {
  if (!result) return "unknown";
  return result.state ?? (result.isError ? "failed" : "done");
}

/** Returns a command's first line as its target; the rest is in the input. */
function firstLine(tool: ToolCall): string {
  if (tool.action !== "run") return tool.target;
  return tool.input?.trim().split("\n", 1)[0] ?? tool.target;
}

function keptInput(tool: ToolCall, { kind, patch }: { kind: DeedKind; patch: string | undefined }): string {
  const input = () => tool.input ?? tool.target;
  if (kind === "edit") return cutHead(onlyChanges(patch ?? input()) || input(), EDIT_MAX);
  const isWhole = kind === "write" || tool.name === "ExitPlanMode";
  return cutHead(input(), isWhole ? EDIT_MAX : kind === "command" ? COMMAND_MAX : INPUT_MAX);
}

function keptResult(whole: string, { kind, outcome }: Pick<Deed, "kind" | "outcome">): string {
  const text = whole.trim();
  const hasFailed = outcome === "failed";
  if (text.length <= (hasFailed ? 2 * FAILED_MAX : DONE_MAX)) return text;
  const head = hasFailed ? [cutHead(text, FAILED_MAX)] : [];
  const tail = cutTail(text, hasFailed ? FAILED_MAX : DONE_MAX);
  return [...head, ...(kind === "command" ? keptErrors(text, ...head, tail) : []), tail].join("\n");
}

/** Shortens a text to `max` UTF-16 units without splitting a character, marked with an ellipsis. */
function cutHead(text: string, max: number): string {
  const whole = text.trim();
  if (whole.length <= max) return whole;
  return `${whole.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

function cutTail(text: string, max: number): string {
  if (text.length <= max) return text;
  return `…${text.slice(1 - max).replace(/^[\udc00-\udfff]/, "")}`;
}

/** How far back a result's call is looked for: calls of one message come back in any order, but soon. */
export const CALL_LINES_MAX = 300;

/**
 * Our own commands in a session's command lines: what they print is a copy of what is indexed already, and an agent
 * that searched would find its own search first.
 *
 * Ours is a program file under our root or in a folder with our package.json, and our bin.
 */

import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { isRecord } from "../base/json.ts";

const ROOT = resolve(import.meta.dirname, "..", "..");
const NAME = "session-memory";
/** No other command line can start anything of ours. */
const MAY_BE_OURS = /session-memory|\.[cm]?[jt]s\b|\b(?:npx|bunx)\b/;
/** Tools that only our own extension registers. */
export const OWN_TOOLS = /^(?:session_search|query_session|recall_observation)$/;

const RUNTIMES = /^(?:bun|node|deno|tsx|ts-node|bunx|npx|pnpx)(?:\.exe)?$/;
const SHELLS = /^(?:ba|z|da|k|fi)?sh$/;
/** Programs that run the one named after them, with how many words of theirs come between. */
const WRAPPERS: Record<string, number> = {
  command: 0,
  doas: 0,
  env: 0,
  exec: 0,
  gtimeout: 1,
  nice: 0,
  nohup: 0,
  stdbuf: 0,
  sudo: 0,
  time: 0,
  timeout: 1,
  watch: 0,
  xargs: 0,
};
const CODE_FILE = /\.[cm]?[jt]sx?$/;
/** A copy of ours that is no longer there, such as an old version in a plugin cache. */
const GONE_COPY =
  /(?:^|[/\\])session-memory(?:@[^/\\]*)?[/\\](?:[^/\\]+[/\\]){0,3}(?:scripts|hooks)[/\\][^/\\]+\.ts$/;
const SKILL_FOLDER =
  /^\$\{?CLAUDE_(?:SKILL_DIR\}?[/\\]\.\.[/\\]\.\.|PLUGIN_ROOT\}?)[/\\]scripts[/\\][\w-]+\.ts$/;
/** What is left when a loop or a condition around our command is taken apart, or what only prepares one. */
const FRAME =
  /^(?:for|while|until|if|elif|do|done|then|else|fi|case|esac|cd|pushd|popd|export|set|\w+=\S*)(?:\s|$)|^[{}()]*$/;
const PACKAGE_MAX_BYTES = 1024 * 1024;

/**
 * Returns a command line without our own commands; undefined when nothing else is in it.
 *
 * @param cwd where it was run
 */
export function withoutOwnCommands(command: string, cwd: string): string | undefined {
  if (!MAY_BE_OURS.test(command)) return command;
  const scope: Scope = { cwd, variables: new Map() };
  const kept: ShellPart[] = [];
  const written = new Set<string>();
  let isAnyOurs = false;
  for (const pipeline of pipelines(shellParts(command))) {
    const words = pipeline.flatMap((part) => shellWords(part.text));
    const readsOurs = words.some((word) => written.has(word.replace(/^(?:\d?[<>]+|--?[\w-]+=)|\)+$/g, "")));
    if (readsOurs || pipeline.some((part) => isOurs(part.text, scope))) {
      isAnyOurs = true;
      for (const part of pipeline) for (const file of writtenBy(shellWords(part.text))) written.add(file);
    } else kept.push(...pipeline);
  }
  if (!isAnyOurs) return command;
  if (kept.every(({ text }) => FRAME.test(text))) return undefined;
  return joined(kept);
}

/** Returns the files that a command writes its output into: by redirection, or as `tee`. */
function writtenBy(words: readonly string[]): string[] {
  const files = words.flatMap((word, i) => {
    const [, file] = /^(?:[12&]?>>?)(?!&)(.*)$/.exec(word) ?? [];
    return file === undefined ? [] : [file || (words[i + 1] ?? "")];
  });
  if (words[0] === "tee") files.push(...words.slice(1).filter((word) => !/^[-<>]/.test(word)));
  return files.filter((file) => file !== "/dev/null" && file !== "");
}

/** Directory and variables as far as a command line sets them. */
interface Scope {
  cwd: string;
  variables: Map<string, string>;
}

function pipelines(parts: readonly ShellPart[]): ShellPart[][] {
  const found: ShellPart[][] = [];
  for (const [i, part] of parts.entries()) {
    if (parts[i - 1]?.separator === "|") found.at(-1)?.push(part);
    else found.push([part]);
  }
  return found;
}

function joined(parts: readonly ShellPart[]): string {
  const spaced = (separator: string) =>
    separator === "\n" ? "\n" : separator === ";" ? "; " : ` ${separator} `;
  return parts
    .map(({ text, separator }, i) => (i === parts.length - 1 ? text : text + spaced(separator)))
    .join("");
}

function isOurs(text: string, scope: Scope): boolean {
  if (substitutions(text).some((inner) => inner.split("\n").length < 50 && startsOurs(inner, scope)))
    return true;
  return programIsOurs(
    shellWords(text.replace(/^(?:(?:do|then|else|if|while|until|!|time|\{)\s+)+/, "")),
    scope,
  );
}

function startsOurs(command: string, scope: Scope): boolean {
  const inner: Scope = { cwd: scope.cwd, variables: new Map(scope.variables) };
  return shellParts(command).some(({ text }) => isOurs(text, inner));
}

function programIsOurs(words: readonly string[], scope: Scope): boolean {
  let at = 0;
  for (; at < words.length; at++) {
    const assigned = /^(\w+)=([\s\S]*)$/.exec(words[at] ?? "");
    if (!assigned) break;
    scope.variables.set(assigned[1] ?? "", expand(assigned[2] ?? "", scope));
  }
  const program = words[at];
  if (program === undefined) return false;
  const name = baseName(expand(program, scope));
  const rest = words.slice(at + 1);
  if (name === "cd" || name === "pushd") {
    scope.cwd = resolve(scope.cwd, expand(rest.find((word) => !word.startsWith("-")) ?? "~", scope));
    return false;
  }
  if (name === NAME) return true;
  if (name === "eval") return startsOurs(rest.join(" "), scope);
  if (SHELLS.test(name)) {
    const inline = rest.findIndex((word) => /^-[a-z]*c$/.test(word));
    return inline === -1 ? false : startsOurs(rest[inline + 1] ?? "", scope);
  }
  const between = WRAPPERS[name];
  if (between !== undefined) {
    const inner = rest.findIndex((word) => !word.startsWith("-") && !/^\d/.test(word));
    return inner !== -1 && programIsOurs(rest.slice(between > 0 ? Math.max(inner, between) : inner), scope);
  }
  if (RUNTIMES.test(name)) return rest.some((word, i) => isRunByRuntime(word, rest.slice(0, i), scope));
  return CODE_FILE.test(name) && isOurFile(program, scope);
}

/** Returns whether a word is the file a runtime runs: the first code file; flags and their values come before it. */
function isRunByRuntime(word: string, before: readonly string[], scope: Scope): boolean {
  if (before.some((earlier) => !earlier.startsWith("-") && CODE_FILE.test(earlier))) return false;
  if (baseName(word) === NAME && before.every((earlier) => earlier.startsWith("-") || earlier === "x"))
    return true;
  return !word.startsWith("-") && CODE_FILE.test(word) && isOurFile(word, scope);
}

function isOurFile(word: string, scope: Scope): boolean {
  if (SKILL_FOLDER.test(word)) return true;
  const path = resolve(scope.cwd, expand(word, scope));
  if (path.startsWith(ROOT + sep)) return !path.slice(ROOT.length).includes(`${sep}node_modules${sep}`);
  const folder = dirname(path);
  const name = packageName(folder);
  return name === undefined ? GONE_COPY.test(path) : name === NAME;
}

const packages = new Map<string, string | undefined>();

/** Returns the name in the nearest package.json above; undefined when there is none. */
function packageName(folder: string): string | undefined {
  if (packages.has(folder)) return packages.get(folder);
  const parent = dirname(folder);
  const name = nameIn(join(folder, "package.json")) ?? (parent === folder ? undefined : packageName(parent));
  packages.set(folder, name);
  return name;
}

function nameIn(file: string): string | undefined {
  try {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (!stat?.isFile() || stat.size > PACKAGE_MAX_BYTES) return undefined;
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isRecord(value) && typeof value.name === "string" ? value.name : "";
  } catch {
    return undefined; // not readable or not JSON: it names nothing
  }
}

function expand(word: string, { variables }: Scope): string {
  const known = word.replace(/\$\{?(\w+)\}?/g, (whole, name: string) => variables.get(name) ?? whole);
  if (!/^~(?=$|\/)/.test(known)) return known;
  return join(process.getBuiltinModule("node:os").homedir(), known.slice(1));
}

function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

/** One command of a line and the separator after it. */
interface ShellPart {
  text: string;
  separator: string;
}

/** A longer line is data: it is left in one part. */
const READ_MAX = 20_000;
const SEPARATORS = ["&&", "||", "|&", ";;", ";", "|", "\n", "&"];

/** Splits a line into commands. Quotes, parentheses and here-documents stay with their command. */
export function shellParts(line: string): ShellPart[] {
  if (line.length > READ_MAX) return [{ text: line, separator: "" }];
  const parts: ShellPart[] = [];
  let start = 0;
  let depth = 0;
  for (let at = 0; at < line.length; ) {
    const skipped = skipQuoted(line, at);
    if (skipped > at) {
      at = skipped;
      continue;
    }
    const character = line[at];
    if (character === "(") depth++;
    if (character === ")") depth = Math.max(0, depth - 1);
    const separator = depth === 0 ? SEPARATORS.find((each) => line.startsWith(each, at)) : undefined;
    if (separator === undefined) {
      at++;
      continue;
    }
    parts.push({ text: line.slice(start, at).trim(), separator: separator === "|&" ? "|" : separator });
    at += separator.length;
    start = at;
  }
  parts.push({ text: line.slice(start).trim(), separator: "" });
  return parts.filter(({ text }) => text !== "");
}

/** Splits a command into words, without their quotes. */
export function shellWords(command: string): string[] {
  const words: string[] = [];
  for (const [word] of command
    .slice(0, READ_MAX)
    .matchAll(/(?:"(?:[^"\\]|\\[\s\S])*"|'[^']*'|\\[\s\S]|[^\s"'\\])+/g)) {
    words.push(unquoted(word));
  }
  return words;
}

/** Returns what a command runs inside parentheses, `$(…)` or backticks. */
function substitutions(command: string): string[] {
  const found: string[] = [];
  for (const [, inner] of command.matchAll(/`([^`]*)`/g)) if (inner) found.push(inner);
  for (let at = command.indexOf("("); at !== -1; at = command.indexOf("(", at + 1)) {
    const before = command[at - 1];
    if (before !== undefined && before !== "$" && before !== "<" && !/\s/.test(before)) continue;
    const end = closing(command, at);
    if (end !== -1) found.push(command.slice(at + 1, end));
    if (found.length >= 20) break;
  }
  return found;
}

function closing(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === "(") depth++;
    else if (text[at] === ")" && --depth === 0) return at;
  }
  return -1;
}

/** Returns where a quotation or here-document that begins here ends, or `at` itself. */
function skipQuoted(line: string, at: number): number {
  const character = line[at];
  if (character === "\\") return at + 2;
  if (character === "'" || character === "`") return line.indexOf(character, at + 1) + 1 || line.length;
  if (character === '"') {
    for (let end = at + 1; end < line.length; end++) {
      if (line[end] === "\\") end++;
      else if (line[end] === '"') return end + 1;
    }
    return line.length;
  }
  if (character === "<" && line.startsWith("<<", at) && line[at + 2] !== "<")
    return hereDocumentEnd(line, at);
  if (character === ">" && line[at + 1] === "&") return at + 2;
  if (character === "&" && line[at + 1] === ">") return at + 2;
  return at;
}

function hereDocumentEnd(line: string, at: number): number {
  const mark = /^<<-?\s*["']?([\w-]+)["']?/.exec(line.slice(at, at + 80));
  if (!mark) return at;
  const end = new RegExp(`\\n\\s*${mark[1]}\\s*(?=\\n|$)`).exec(line.slice(at));
  return end ? at + end.index + end[0].length : at + mark[0].length;
}

function unquoted(word: string): string {
  return word.replace(/"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'|\\([\s\S])/g, (_, double, single, escaped) =>
    double === undefined ? (single ?? escaped ?? "") : double.replace(/\\(["\\$`])/g, "$1"),
  );
}

/** A shell command line taken apart as far as telling its commands needs: quotes, separators, here-documents. */

/** One command of a line and the separator after it. */
export interface ShellPart {
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
    const separator = depth === 0 ? separatorAt(line, at) : undefined;
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
export function substitutions(command: string): string[] {
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
  if (character === "'" || character === "`") return endOf(line, at, character);
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

function endOf(line: string, at: number, quote: string): number {
  const end = line.indexOf(quote, at + 1);
  return end === -1 ? line.length : end + 1;
}

function hereDocumentEnd(line: string, at: number): number {
  const mark = /^<<-?\s*["']?([\w-]+)["']?/.exec(line.slice(at, at + 80));
  if (!mark) return at;
  const end = new RegExp(`\\n\\s*${mark[1]}\\s*(?=\\n|$)`).exec(line.slice(at));
  return end ? at + end.index + end[0].length : at + mark[0].length;
}

function separatorAt(line: string, at: number): string | undefined {
  return SEPARATORS.find((separator) => line.startsWith(separator, at));
}

function unquoted(word: string): string {
  return word.replace(/"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'|\\([\s\S])/g, (_, double, single, escaped) =>
    double === undefined ? (single ?? escaped ?? "") : double.replace(/\\(["\\$`])/g, "$1"),
  );
}

/**
 * Finds `@@name` references in a prompt, and tells them from addresses, code and diffs.
 *
 * Pure, and fast for prompts without any, which is nearly all of them.
 */

/** One mention of a session. */
export interface Reference {
  /** As written in the prompt, with `@@`, without the question. */
  written: string;
  /** The name or id to resolve. */
  name: string;
  /** `~2`: the number of ancestors to include. */
  ancestors: number;
  /** `@@name: question`. */
  question: string | undefined;
}

const NAME_MAX_CHARS = 120;
const QUESTION_MAX_CHARS = 1000;
const ANCESTORS_MAX = 9;
/** How much text on either side of a reference is examined. */
const AROUND_CHARS = 1200;

/**
 * At the start of a line or after white space or an opening mark. A name in quotes is anything on one line; else it
 * begins with a letter or digit and ends on one. Its generation and question follow directly.
 */
const REFERENCE =
  /(?<=^|[\s([{,;“„«—–]|(?<!=)["'])@@(?:"([^"\n]{1,120})"|“([^”\n]{1,120})”|([\p{L}\p{N}](?:[\p{L}\p{N}._-]*[\p{L}\p{N}_])?))(?:~(\d{1,3}))?(?![\p{L}\p{N}@/\\])/gu;

/** What follows a variable in code, never a name in a sentence. */
const CODE_AFTER = /^\s*(?:[-+*/|&]{0,2}=(?!=)|\+\+|--|<<|=>|==)|^(?:\(|\[|::|\.\w+[(=])/;
/** Server variables: `SELECT @@version`, `SET @@session.sql_mode`. */
const SQL_BEFORE = /(?:^|[\s;(])(?:SELECT|SET|PRINT|DECLARE|RETURN|WHERE|IF|WHILE|AND|OR)\s[^\n]*$/;
const SQL_NAME =
  /^(?:global|session|identity|rowcount|error|version|trancount|fetch_status|servername|spid|sql_mode)(?:\.|$)/i;
/** `def x`, `end`, a comment: a line of Ruby or the like beside the variable. */
const CODE_LINE = /^\s*(?:def|class|module|attr_\w+|return|puts|unless|end)\b|[;{}]\s*$/;

/** Whether a prompt mentions any session. */
export function hasReference(prompt: string): boolean {
  return findReferences(prompt).length > 0;
}

/** Returns the references of a prompt in order, each once. */
export function findReferences(prompt: string): Reference[] {
  if (!prompt.includes("@@")) return [];
  const text = withoutCode(prompt);
  const found = new Map<string, Reference>();
  for (const match of text.matchAll(REFERENCE)) {
    const [whole, quoted, curly, bare = ""] = match;
    const after = text.slice(match.index + whole.length, match.index + whole.length + AROUND_CHARS);
    const before = text.slice(Math.max(0, match.index - AROUND_CHARS), match.index);
    if (isCode(before, { name: bare, after })) continue;
    // As it was written: what looks like code inside quotes is part of the name.
    const written = prompt.slice(match.index, match.index + whole.length);
    const inQuotes = quoted ?? curly;
    const name = (inQuotes === undefined ? bare : written.slice(3, 3 + inQuotes.length)).trim();
    if (name === "" || name.length > NAME_MAX_CHARS) continue;
    const reference = {
      written,
      name,
      ancestors: Math.min(Number(match[4] ?? 0), ANCESTORS_MAX),
      question: questionIn(after),
    };
    const key = `${name.toLowerCase()}~${reference.ancestors}:${reference.question ?? ""}`;
    if (!found.has(key)) found.set(key, reference);
  }
  return [...found.values()];
}

/** Blanks out code and diffs, keeping positions. */
function withoutCode(prompt: string): string {
  const blank = (code: string) => code.replace(/[^\n]/g, " ");
  return prompt
    .replace(/^[ \t]*(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^[ \t]*\1[`~]*[ \t]*$|(?![\s\S]))/gm, blank)
    .replace(/(`{1,2})(?!`)[^\n]*?[^`\n]\1(?!`)/g, blank)
    .replace(/^(?: {4,}|\t)(?![-*+•]|\d+[.)]).*$/gm, blank)
    .replace(/^[ +-]?@@+ -\d[^\n]*/gm, blank);
}

function isCode(before: string, { name, after }: { name: string; after: string }): boolean {
  const line = before.slice(before.lastIndexOf("\n") + 1);
  const rest = after.split("\n", 1)[0] ?? "";
  if (name !== "" && CODE_AFTER.test(rest)) return true;
  if (SQL_BEFORE.test(line) && SQL_NAME.test(name)) return true;
  return CODE_LINE.test(`${line}@@${name}${rest}`);
}

/** Returns the text after `: ` up to the end of the line or the next reference. */
function questionIn(after: string): string | undefined {
  const match = /^:[ \t]+([^\n]+)/.exec(after);
  const question = match?.[1]?.split(/\s@@(?=["“\p{L}\p{N}])/u)[0]?.trim();
  return question ? question.slice(0, QUESTION_MAX_CHARS).toWellFormed() : undefined;
}

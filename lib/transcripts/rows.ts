/** Answers what every room asks of rows: which one comes first, and of a call whether it changes files, how much, and its commit. */

import type { Done, Row } from "../hosts/session.ts";
import { isChange } from "../hosts/tool-call.ts";

export { CALL_KINDS, isChange, toolName } from "../hosts/tool-call.ts";

/** Returns whether a row stands before another one of its session. */
export function isBefore(row: Pick<Row, "line" | "nth">, other: Pick<Row, "line" | "nth">): boolean {
  return row.line < other.line || (row.line === other.line && row.nth < other.nth);
}

/** Returns whether a call is about files: its target is a path, and its result, where it went well, what they hold. */
export function isOfFiles({ kind }: Done): boolean {
  return isChange({ kind }) || kind === "read" || kind === "search";
}

/** Counts the lines that a diff adds and removes. */
export function countChanges(diff: string): { added: number; removed: number } {
  const count = (sign: RegExp) => diff.match(sign)?.length ?? 0;
  return { added: count(/^\+(?!\+\+ )/gm), removed: count(/^-(?!-- )/gm) };
}

/** Returns only the added and removed lines of a diff. */
export function onlyChanges(diff: string): string {
  return diff
    .split("\n")
    .filter((line) => /^(?:[+-](?!(?:\+\+|--) )|\*\*\* (?:Update|Add|Delete|Move))/.test(line))
    .join("\n");
}

/** Characters of a command line that hold a commit's subject, and of that. */
const COMMIT_READ = 4000;
const COMMIT_CHARS = 100; // git itself asks for 72

/** Returns whether a command line holds a `git commit`. */
export function namesCommit(command: string): boolean {
  return /\bgit\b[^\n;&|]*\bcommit\b/.test(command.slice(0, COMMIT_READ));
}

/** Returns the message of a `git commit`. */
export function commitMessage(command: string): string | undefined {
  const start = command.slice(0, COMMIT_READ);
  if (!namesCommit(start)) return undefined;
  // Targets are on one line: the subject ends where the body's list or blank line would begin.
  const heredoc = /<<-?\s*['"]?\w+['"]?\s+(.+)/s.exec(start);
  const quoted = /\s-[a-z]*m\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')/.exec(start);
  const message = heredoc?.[1] ?? quoted?.[1] ?? quoted?.[2];
  return message
    ?.split(/\n| - | {2}|EOF| Co-Authored-By/)[0]
    ?.trim()
    .slice(0, COMMIT_CHARS);
}

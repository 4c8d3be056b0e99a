/** What a shell command was and how it ended, judged by its line and its output. */

import { truncate } from "../base/text.ts";

const COMMAND_CHARS = 80;
const LINE_CHARS = 160;
const COMMIT_CHARS = 100;
const TOTAL_CHARS = 60;
/** A script pasted into a command says what it does at its beginning; what a command printed, at its end. */
const COMMAND_READ_CHARS = 4000;
const OUTPUT_READ_CHARS = 20_000;

/** Commands whose ending is a fact of the project: tests, builds, releases, version control. */
const NOTABLE =
  /\b(?:tests?|spec|jest|vitest|pytest|mocha|playwright|check|lint|eslint|biome|ruff|mypy|tsc|typecheck|build|compile|make|cmake|cargo|gradle|mvn|dotnet|deploy|publish|release|migrate|migration|docker|kubectl|terraform|helm|systemctl|install|npm (?:i|ci|run)|git (?:commit|push|merge|rebase|tag|revert|reset|cherry-pick|stash))\b/;

const LOOKING =
  /^(?:sudo )?(?:e?grep|rg|ag|ls|find|fd|cat|bat|head|tail|sed -n|wc|which|type|test|\[|diff|echo|printf|pwd|stat|file|tree|du|df|jq|awk|sort|mkdir|cp|mv|touch|git (?:status|diff|log|show|branch|ls-files|grep|blame))\b/;

const FAILED =
  /(?:exited with code|exit(?:ed)?(?: code| status)?:?|returned) [1-9]\d*|\b[1-9]\d* (?:fail(?:ed|ures?|ing)?|errors?)\b|^(?:FAIL|FAILED|npm ERR!|error(?:\[\w+\])?:|fatal:|Traceback)/im;

/** What names a failure, and what only may. */
const STRONG_ERROR = /\b(?:\w*error|failed|failure|\w*exception|fatal|panic|FAIL)\b/i;
const ERROR_LINE =
  /error|fail|exception|cannot|can't|could not|couldn't|not found|denied|refused|rejected|ignored|conflict|forbidden|fatal|panic|unexpected|undefined|invalid|missing|timed? ?out|no such/i;

/** Lines that frame an error and say nothing of it. */
const FRAME =
  /^(?:[=_*#~-]{3,}|exit code|command exited|process exited|traceback|at |\s*\^|file "|npm err! (?:code|errno|a complete|path)|<\/?|(?:hint|note|tip|help):|please report|(?:use|run|try|see) .*(?:--help|for (?:more|options|details)))/i;

const TOTAL = /\b\d+ (?:pass(?:ed|ing)?|tests?|fail(?:ed|ing|ures?)?|errors?|warnings?|files?)\b[^\n]{0,60}/i;

/** Returns a command on one short line, without the directory change and variables before it. */
export function commandName(command: string): string {
  const first = command
    .slice(0, COMMAND_READ_CHARS)
    .trim()
    .replace(/^(?:cd\s+(?:"[^"]*"|'[^']*'|\S+)\s*(?:&&|;)\s*)+/, "")
    .replace(/^(?:[A-Z_][A-Z0-9_]*=\S*\s+)+/, "")
    .replace(/(?:\s*(?:2>&1|2>\/dev\/null|\|\s*(?:head|tail|cat|tee|grep)\b.*))+\s*$/s, "");
  const line = (first.split("\n")[0] ?? "").replace(/\s+/g, " ").trim();
  return truncate(line, COMMAND_CHARS);
}

/** Returns whether a command's outcome is worth keeping, judged by what it calls and not by its paths. */
export function isNotable(command: string): boolean {
  if (isLooking(command)) return false;
  return command
    .slice(0, COMMAND_READ_CHARS)
    .split(/&&|\|\||[;|\n]/)
    .some((part) => {
      const words = part.trim().replace(/^\.\//, "").split(/\s+/).slice(0, 5);
      return NOTABLE.test(words.filter((word) => !word.includes("/")).join(" "));
    });
}

/** Returns whether a command only looks: finding nothing is no failure of the work. */
export function isLooking(command: string): boolean {
  return LOOKING.test(commandName(command));
}

/** Returns whether a command failed. */
export function hasFailed(
  output: string,
  { isError, command }: { isError: boolean; command: string },
): boolean {
  if (isError) return true;
  // Output of `cat` or `grep` may speak of anything.
  if (!isNotable(command)) return false;
  return FAILED.test(output.slice(-4000).replace(/\b0 (?:fail|error)\w*/gi, ""));
}

/** Returns the line of an output that says what went wrong. */
export function errorLine(output: string): string {
  const end = output.slice(-OUTPUT_READ_CHARS);
  const lines = end
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /[\p{L}]/u.test(line) && !FRAME.test(line));
  const isTrace = /^[ \t]*Traceback/m.test(end);
  const line = isTrace
    ? lines.at(-1)
    : (lines.find((candidate) => STRONG_ERROR.test(candidate)) ??
      lines.find((candidate) => ERROR_LINE.test(candidate)) ??
      lines.at(-1));
  const next = line?.endsWith(":") ? lines[lines.indexOf(line) + 1] : undefined;
  return [line ?? "no output", ...(next ? [next] : [])]
    .join(" ")
    .slice(0, LINE_CHARS)
    .replace(/[\uD800-\uDBFF]$/, "");
}

/** Returns the last counts of an output, such as `12 pass, 0 fail`. */
export function totalLine(output: string): string {
  const counts = output.slice(-4000).match(new RegExp(TOTAL, "gi")) ?? [];
  const last = counts.slice(-2).map((count) =>
    count
      .replace(/[=_*#~-]{3,}.*/s, "")
      .replace(/\s+/g, " ")
      .replace(/^([^([]*?)[)\]]+$/, "$1")
      .trim(),
  );
  return last.join(", ").length <= TOTAL_CHARS ? last.join(", ") : (last.at(-1) ?? "").slice(0, TOTAL_CHARS);
}

/** Returns the message of a `git commit`. */
export function commitMessage(command: string): string | undefined {
  const start = command.slice(0, COMMAND_READ_CHARS);
  if (!/\bgit\b[^\n;&|]*\bcommit\b/.test(start)) return undefined;
  // Targets are on one line: the subject ends where the body's list or blank line would begin.
  const heredoc = /<<-?\s*['"]?\w+['"]?\s+(.+)/s.exec(start);
  const quoted = /\s-[a-z]*m\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')/.exec(start);
  const message = heredoc?.[1] ?? quoted?.[1] ?? quoted?.[2];
  return message
    ?.split(/\n| - | {2}|EOF/)[0]
    ?.trim()
    .slice(0, COMMIT_CHARS);
}

/**
 * Judges what came of a call: by the host's own sign first (an error, an exit code), then by the line that the tool itself
 * ends with, never by a word somewhere in its output. Where neither says it, a command just ran.
 */

import { outputLines } from "../base/error-lines.ts";
import type { Done, Entry, Outcome } from "../hosts/session.ts";
import { commitMessage, namesCommit } from "./rows.ts";

/** `ran`: how it ended is not known. `stopped`: it was turned down before it began, or broken off. */
type Verdict = "passed" | "failed" | "ran" | "stopped";

interface Judgement {
  verdict: Verdict;
  /** The line of its output that says so, where the host does not. */
  why?: string | undefined;
  /** True if it only looked: a search without a match is not a failure. */
  isLooking?: boolean;
}

/** The facts by which a call is judged. */
type Call = Pick<Done, "target" | "input" | "outcome" | "result">;

/** Characters read: the beginning of a command, which may be a pasted script, and the end of an output. */
const READ = { command: 4000, output: 4000 };
/** Hosts' texts for an interrupted command, at either end of its output. */
const BROKEN_OFF = /^(?:Exit code \d+\n)?\[Request interrupted by user|(?:^|\n)Command aborted\s*$/;

/** Returns the outcome of a call as its host marks it. */
export function readOutcome(result: Pick<Entry, "text" | "isError" | "state"> | undefined): Outcome {
  if (!result) return "unknown";
  if (result.state === undefined && result.isError && BROKEN_OFF.test(result.text)) return "unknown";
  return result.state ?? (result.isError ? "failed" : "done");
}

/** Returns what came of a command. */
export function judgeCommand({ target, input, outcome, result }: Call): Judgement {
  if (wasStopped({ outcome, result })) return { verdict: "stopped" };
  if (outcome === "unknown" || outcome === "running") return { verdict: "ran" };
  const shape = readShape((input || target).slice(0, READ.command));
  const said = shape.isTold ? lastWord(result) : undefined;
  const isSearch = shape.isSeeking && exitCode(result) === 1;
  if (outcome === "failed" && !isSearch)
    return { verdict: "failed", why: said?.why, isLooking: !shape.hasWork };
  if (outcome === "done" && !shape.isHidden) return { verdict: "passed" };
  return said ?? { verdict: "ran" };
}

/** Returns whether a call was turned down before it began, or broken off. */
export function wasStopped({ outcome, result }: Pick<Done, "outcome" | "result">): boolean {
  return outcome === "rejected" || (outcome === "unknown" && BROKEN_OFF.test(result));
}

/** Returns the exit code that hosts write into a failing command's output; 1 where it is not there. */
function exitCode(text: string): number {
  const [, first, last] = /^Exit code (\d+)|Command exited with code (\d+)\s*$/.exec(text) ?? [];
  return Number(first ?? last ?? 1);
}

/** A commit as git prints it: `[main 1a2b3c4] fix: the subject`. */
const COMMITTED = /^\[[^\]\n]+ [0-9a-f]{7,40}\] (.+)$/gm;
/** A commit as `git log --oneline` lists it. */
const LISTED = /^[0-9a-f]{7,40} (?:\([^)]*\) )?(.+)$/gm;
/** The flag of a commit that prints nothing. */
const QUIET = /\bcommit\b[^\n;&|]*?\s(?:-[a-ln-z]*q|--quiet\b)/;

/** Returns the lines by which git says that it committed. */
export function commitLines(output: string): string[] {
  return output.match(COMMITTED) ?? [];
}

/**
 * Returns the subjects of the commits that a command made: as git printed them, as its log lists them behind the commands that
 * name them, or as given to a quiet one that passed.
 */
export function findCommits(call: Call): string[] {
  const { target, result } = call;
  if (!namesCommit(target)) return [];
  const printed = [...result.matchAll(COMMITTED)].flatMap(([, subject]) => subject ?? []);
  if (printed.length > 0) return printed;
  const listed = [...result.matchAll(LISTED)].flatMap(([, subject = ""]) => subject);
  const made = listed.filter((subject) => target.includes(subject)).reverse(); // a log has the newest first
  if (made.length > 0 || !QUIET.test(target)) return made;
  const message = judgeCommand(call).verdict === "passed" ? commitMessage(target) : undefined;
  return message === undefined ? [] : [message];
}

/** Returns what matches a command line that begins with one of some commands. */
const begins = (commands: string) => new RegExp(String.raw`^(?:sudo )?(?:${commands})(?![\w-])`);
/** Commands that end with an error where they find nothing. */
const SEEKERS = String.raw`e?grep|rg|ag|which|type|command -v|test|\[|diff|cmp|jq|git (?:-C \S+ )?(?:diff|grep)`;
const SEEKING = begins(SEEKERS);
/** Commands that only look, so that nothing is done or fixed by them. */
export const LOOKING = begins(
  [
    `${SEEKERS}|ls|find|fd|cat|bat|head|tail|less|sed -n|wc|pwd|stat|file|tree|du|df|awk|sort|uniq|lsof|ps|ss|netstat`,
    String.raw`git (?:-C \S+ )?(?:status|log|show|branch|ls-files|blame|rev-parse)`,
  ].join("|"),
);
/** The shell's own words. */
const OF_SHELL = begins("echo|printf|cd|export|source|set|sleep|true|for|while|until|if|elif");
/** Commands that print what another program has said. */
const TELLING = /^(?:gh|glab|curl|wget|ssh|journalctl|docker (?:compose )?logs|kubectl logs)\b/;
/** The words before a command: keywords, brackets, variables. */
const BEFORE = /^(?:(?:do|then|else|done|fi|time|env|[A-Za-z_]\w*=\S*)(?:\s+|$)|[({})]\s*)+/;

interface Shape {
  /** True if it does more than look. */
  hasWork: boolean;
  /** True if its exit code is that of a pipe or of a later command. */
  isHidden: boolean;
  /** True if its exit code may say no more than that nothing was found. */
  isSeeking: boolean;
  /** True if a summary in its output can only be that of its one piece of work. */
  isTold: boolean;
}

/** Returns what can be known of a command line from its exit code and its output. */
function readShape(command: string): Shape {
  const bare = command
    .replace(/<<-?\s*(['"]?)(\w+)\1[\s\S]*?(?:\n\s*\2\b|$)/g, " ")
    .replace(/"(?:[^"\\]|\\.)*"|'[^']*'/g, '""')
    .replace(/\d?>&\d|&>>?|\d?>>?\s*\S+|\\[\n;&|]/g, " ")
    .replace(/^\s*#.*$/gm, "");
  const shape: Shape = { hasWork: false, isHidden: false, isSeeking: false, isTold: true };
  let work = 0;
  let joint = "&&";
  for (const [at, part] of bare.split(/(&&|\|\||[;\n&])/).entries()) {
    if (at % 2 === 1) {
      joint = joint === "&&" ? part : joint;
      continue;
    }
    const stages = part.split("|").map((stage) => stage.trim().replace(BEFORE, ""));
    const [first = ""] = stages;
    if (first === "" && stages.length === 1) continue;
    if (work > 0 && joint !== "&&") shape.isHidden = true;
    joint = "&&";
    if (SEEKING.test(stages.at(-1) ?? "")) shape.isSeeking = true;
    if (/^(?:for|while|until|if)\b/.test(first)) shape.isHidden = true;
    if (LOOKING.test(first) || OF_SHELL.test(first)) continue;
    work++;
    if (stages.length > 1) shape.isHidden = true;
    if (TELLING.test(first)) shape.isTold = false;
  }
  const hasWork = work > 0;
  return { ...shape, hasWork, isTold: shape.isTold && work === 1 };
}

/** Lines by which a tool itself says that it failed: of scripts, of test runners, of compilers. */
const SAYS_FAILED = new RegExp(
  `^(?:${[
    'error: script "[^"]+" exited with code [1-9]',
    "npm (?:ERR!|error) (?:code |Lifecycle |Test failed)",
    String.raw`\W*ELIFECYCLE\b`,
    String.raw`make(?:\[\d+\])?: \*\*\* .*Error \d+$`,
    "error Command failed with exit code [1-9]",
    String.raw`error: Recipe .* failed\b`,
    String.raw`husky - \S+ \S+ (?:exited with code|failed \(code) [1-9]`,
    String.raw`error: could not compile\b`,
    String.raw`BUILD FAILED\b|FAILURE: Build failed\b`,
    String.raw`FAIL$|FAIL[\t ]+\S+(?:$|[\t ]+[\d.([])|--- FAIL: \S+ \(`,
    String.raw`\S+\(\d+,\d+\): error TS\d+: `,
  ].join("|")})`,
);
/** Longer lines are data. */
const LINE_MAX = 160;
const COUNT = /\b(\d+) (\p{L}+)/gu;
const FAILURES = /^(?:fail|error|problem)/i;
const RUNS = /^(?:pass|succeeded|tests?$|doctest|example|spec|scenario|assertion|total)/i;
/** The start of a line of counts: a title, or a count. */
const SUMMARY = /^\W*(?:(?:found|ran|tests?|test (?:suites|files|result)|summary|results?)\b|\d+ \p{L})/iu;
/** A count with nothing beside it. */
const ALONE = /^\W*\d+ \p{L}+\W*(?:\(.*)?$/u;

interface CountedFailures {
  line: string;
  /** Undefined where it does not count them. */
  failures: number | undefined;
  hasRuns: boolean;
  /** True if it can be nothing but a summary. */
  isSummary: boolean;
}

/** Returns what a line counts that begins with counts, or is one. */
function findTally(raw: string): CountedFailures | undefined {
  if (raw.length > LINE_MAX || !/\d/.test(raw)) return undefined;
  const line = raw
    .replace(/^[#ℹ] (\w+) (\d+)$/, "$2 $1")
    .replace(/\b(Tests run|Failures|Errors|Skipped): (\d+)/g, "$2 $1");
  const counts = [...line.matchAll(COUNT)];
  const isAlone = ALONE.test(line);
  if (counts.length === 0 || !(isAlone || SUMMARY.test(line))) return undefined;
  const failures = counts.filter(([, , noun = ""]) => FAILURES.test(noun)).map(([, count]) => Number(count));
  return {
    line,
    failures: failures.length === 0 ? undefined : Math.max(...failures),
    hasRuns: counts.some(([, , noun = ""]) => RUNS.test(noun)),
    isSummary: !isAlone,
  };
}

/** Returns how the tool itself says that it ended; undefined where it does not. */
function lastWord(output: string): Judgement | undefined {
  const lines = outputLines(output.slice(-READ.output));
  const tallies = lines.flatMap((line) => findTally(line) ?? []);
  // Some runners print one count a line: that of failures is one beside that of passes.
  const isRunner = tallies.some(({ hasRuns }) => hasRuns);
  const summaries = tallies.filter(
    ({ failures, isSummary }) => failures !== undefined && (isSummary || isRunner),
  );
  const failing = summaries.find(({ failures }) => failures !== 0);
  const why = failing?.line.replace(/^\W+|[\s=]+$/g, "") ?? lines.find((line) => SAYS_FAILED.test(line));
  if (why !== undefined) return { verdict: "failed", why };
  return summaries.length > 0 ? { verdict: "passed" } : undefined;
}

/** What came of a command: judged by the host's sign and the tool's own last word, never by a word in its output. */

import { describe, expect, test } from "bun:test";
import { findCommits, judgeCommand, readOutcome } from "../lib/transcripts/outcome.ts";

function call(target: string, result: Parameters<typeof readOutcome>[0]) {
  return { target, input: "", outcome: readOutcome(result), result: result?.text ?? "" };
}

function verdict(command: string, text: string, isError = false): string {
  const { verdict, why } = judgeCommand(call(command, { text, isError }));
  return why === undefined ? verdict : `${verdict}: ${why}`;
}

const HANDLED = "[Routes] Error in POST /api: expect(status).toBe(202)\nerror: Job queue is full\n";

describe("a command whose exit code is known", () => {
  test.each<[string, string, boolean, string]>([
    ["npm test", "anything at all, error or not", false, "passed"],
    ["npm test 2>&1", `${HANDLED} 3 fail`, false, "passed"],
    ["cd app && npm test", "", false, "passed"],
    ["npm test", "", true, "failed"],
    ["cd app && npm test 2>&1", "Exit code 1\n1351 pass\n0 fail", true, "failed"],
    ["grep -rn needle src", "", true, "ran"],
    ["cat notes.txt", "Exit code 1\ncat: notes.txt: No such file", true, "failed"],
    ["npm run build && grep -c x dist/a.js", "Exit code 1\n0", true, "ran"],
    ["npm run build && grep -c x dist/a.js", "Exit code 2\ngrep: dist/a.js: No such file", true, "failed"],
  ])("%p ending in %p (error: %p): %s", (command, text, isError, expected) => {
    expect(verdict(command, text, isError)).toBe(expected);
  });
});

describe("a command whose exit code a pipe or a later command hides", () => {
  test.each<[string, string, string]>([
    [
      "bun test 2>&1 | tail -20",
      `${HANDLED} 1351 pass\n 0 fail\nRan 1351 tests across 61 files. [910.00ms]`,
      "passed",
    ],
    [
      "bun test 2>&1 | tail -20",
      `${HANDLED} 1350 pass\n 1 fail\nRan 1351 tests across 61 files.`,
      "failed: 1 fail",
    ],
    [
      "bun test; du -sh dist",
      " 1350 pass\n 1 fail\nRan 1351 tests across 61 files.\n1.2M\tdist",
      "failed: 1 fail",
    ],
    [
      "mix test | tail -3",
      "14 doctests, 297 tests, 11 failures",
      "failed: 14 doctests, 297 tests, 11 failures",
    ],
    ["pytest | tail -1", "==== 3 failed, 3 passed in 0.42s ====", "failed: 3 failed, 3 passed in 0.42s"],
    ["cargo test | tail", "test result: ok. 8 passed; 0 failed; 0 ignored; finished in 0.01s", "passed"],
    [
      "npx jest | tail",
      "Tests:       2 failed, 10 passed, 12 total",
      "failed: Tests:       2 failed, 10 passed, 12 total",
    ],
    ["go test ./... | tail -5", "ok  \tshop/a\t0.1s\nFAIL\tshop/b\t0.2s\nFAIL", "failed: FAIL\tshop/b\t0.2s"],
    ["bun run lint | tail -5", "Checked 9 files. No fixes applied.", "ran"],
    [
      "bun run lint | tail -5",
      "Checked 9 files. No fixes applied.\nFound 2 errors.",
      "failed: Found 2 errors.",
    ],
    ["npx tsc --noEmit | head", "src/a.ts(1,2): error TS2322: no", "failed: src/a.ts(1,2): error TS2322: no"],
    ["bun test | head -5", HANDLED, "ran"],
    ["npm test || true", "done with 1 error", "ran"],
    ["npm run a; npm run b", " 3 pass\n 1 fail", "ran"],
    ["bun test | tail -3; echo done", " 3 pass\n 1 fail\ndone", "failed: 1 fail"],
    ["cat test.log | tail", " 3 pass\n 1 fail", "passed"],
    ["gh run view 7 --log | tail", " 3 pass\n 1 fail", "ran"],
    ["python3 report.py | tail", "12 errors", "ran"],
  ])("%p printing %p: %s", (command, text, expected) => {
    expect(verdict(command, text)).toBe(expected);
  });
});

test("a call that was turned down, broken off or is still running has not failed", () => {
  const judged = (text: string, state?: "rejected" | "running") =>
    judgeCommand(call("npm test", { text, isError: true, state })).verdict;
  expect(judged("no", "rejected")).toBe("stopped");
  expect(judged("started", "running")).toBe("ran");
  expect(judged("Checking …\n\n\nCommand aborted")).toBe("stopped");
  expect(judged("Exit code 137\n[Request interrupted by user for tool use]")).toBe("stopped");
  expect(judgeCommand(call("npm test", undefined)).verdict).toBe("ran");
});

test.each<[string, string, boolean, string[]]>([
  [
    'git add -A && git commit -m "given"',
    "checks …\n[main 1a2b3c4] printed\n 1 file changed",
    false,
    ["printed"],
  ],
  ['git commit -m "a" && git commit -m "b"', "[x 1a2b3c4] a\n[x (root) 5d6e7f8] b", false, ["a", "b"]],
  ['git commit -m "given" && git push', "[main 1a2b3c4] given\nfatal: no upstream", true, ["given"]],
  ['git commit -m "given"', "husky - pre-commit script failed (code 1)", true, []],
  ['wrapper git commit -m "given"', "ok\nFAILED: git commit\n 6 fail", false, []],
  ["git commit -qm 'quiet'", "", false, ["quiet"]],
  ["git commit -qm 'quiet' | cat", "", false, []],
  [
    "git commit -m 'a' | tail -1 && git commit -m 'b' | tail -1 && git log --oneline -3",
    " 2 files changed\n5d6e7f8 (HEAD -> main) b\n1a2b3c4 a\n9a8b7c6 before",
    false,
    ["a", "b"],
  ],
  ["git commit -m 'a' | tail -1; git log --oneline -1", "hook failed\n9a8b7c6 before", false, []],
  ["cat notes.txt", "[main 1a2b3c4] not a commit", false, []],
])("%p printing %p (error: %p) commits %p", (command, text, isError, expected) => {
  expect(findCommits(call(command, { text, isError }))).toEqual(expected);
});

/**
 * Runs `bun test` with the words given. Where `SESSION_MEMORY_TEST_RETRY` is set, files with a failed test run once more by
 * themselves, from their set-up on (a client, or a busy machine, fails by chance at times), and the end is `N passed, N failed`.
 */

import { spawn, spawnSync } from "node:child_process";

/** More files than this fail by no chance. */
const FILES_MAX = 8;

interface TestRun {
  passed: number;
  failed: number;
  status: number;
  /** The files with a failed test. */
  files: string[];
}

async function runTests(words: readonly string[]): Promise<TestRun> {
  const child = spawn(process.execPath, ["test", ...words], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const [from, to] of [
    [child.stdout, process.stdout] as const,
    [child.stderr, process.stderr] as const,
  ]) {
    from.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      to.write(text);
    });
  }
  const status = await new Promise<number>((resolve) => child.on("close", (code) => resolve(code ?? 1)));
  let file = "";
  const run: TestRun = { passed: 0, failed: 0, status, files: [] };
  for (const line of output.replace(/\x1b\[[0-9;]*m/g, "").split("\n")) {
    const [, name] = /^(test\/\S+):$/.exec(line) ?? [];
    const [, count, word] = /^ *(\d+) (pass|fail)$/.exec(line) ?? [];
    if (name !== undefined) file = name;
    if (/^\d+ tests? failed:/.test(line)) file = ""; // all of them again
    if (word === "pass") run.passed += Number(count);
    if (word === "fail") run.failed += Number(count);
    if (line.startsWith("(fail)") && file !== "" && !run.files.includes(file)) run.files.push(file);
  }
  return run;
}

/** Runs the tests, those files once more in which one fails, and says how all of it ended. Returns the exit code. */
async function runWithRetry(words: readonly string[]): Promise<number> {
  const { passed, failed, status, files } = await runTests(words);
  const mayRetry = status !== 0 && files.length > 0 && files.length <= FILES_MAX;
  if (mayRetry) console.log(`once more by themselves: ${files.join(", ")}`);
  const options = words.filter((word) => !word.startsWith("--parallel") && !word.endsWith(".ts"));
  const end = mayRetry
    ? await runTests([...options, ...files.map((file) => `./${file}`)])
    : { failed, status };
  console.log(`${passed + failed - end.failed} passed, ${end.failed} failed`);
  return end.status;
}

const words = process.argv.slice(2);
process.exitCode = process.env.SESSION_MEMORY_TEST_RETRY
  ? await runWithRetry(words)
  : (spawnSync(process.execPath, ["test", ...words], { stdio: "inherit" }).status ?? 1);

#!/usr/bin/env bun
/**
 * Breaks each promise to users at its cause, one at a time, and counts what the tests notice.
 *
 * `mutants.txt` is the table of mutants: a promise, the file that keeps it with the tests that are likely to notice, the
 * text to replace (`-`) and its replacement (`+`). `mutants.json` has the figures. Files are changed in a copy only.
 */

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { constants, setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readIfExists, readJson } from "../../lib/base/files.ts";
import { ROOT } from "../support/run.ts";
import { atMost, type BenchRow, figure } from "./measure.ts";

const USAGE = `\
Usage: bun test/bench/mutants.ts [<words of a promise>…] [options]

      --slice <i/n>  Every n-th mutant, from the i-th on
      --resume       Go on with a run that was ended: skip those with a figure
      --likely       Only the tests that the table names; figures of the unnoticed are left as they are
      --sites        Only say which mutants have lost their place
      --json         One JSON document

Exit 1 where a mutant has lost its place: it must be sited anew, where its promise is kept now.
`;

const TABLE = join(import.meta.dir, "mutants.txt");
const FIGURES = join(import.meta.dir, "mutants.json");
/** Under load a test may take long: it is given up later than it gives itself up. */
const [TEST_MS, FILE_MS] = [180_000, 900_000];
/** Mutants that go through all tests together, before those that fail are asked about each. */
const GROUP = 10;

interface Mutant {
  promise: string;
  file: string;
  /** Names of test files, and of golden transcripts as `golden/<subject>`, the likeliest to notice it first. */
  tests: string[];
  text: string;
  replacement: string;
}

interface Figures {
  noticed: number;
  total: number;
  unnoticed: string[];
  /** By promise the test file that noticed it. */
  by: Record<string, string>;
}

export async function rows(): Promise<BenchRow[]> {
  const mutants = readMutants();
  const { noticed, total } = readFigures(mutants);
  return [
    figure("mutants noticed", noticed, { unit: "mutants", detail: `of ${total}` }),
    atMost("mutants without a place", mutants.filter(isLost).length, 0, { unit: "mutants" }),
  ];
}

function readMutants(): Mutant[] {
  const blocks = readFileSync(TABLE, "utf8").trim().split(/\n\n+/);
  return blocks
    .filter((block) => !/^(?:==|#)/.test(block))
    .map((block) => {
      const [promise = "", place = "", ...lines] = block.split("\n");
      const [file = "", tests = ""] = place.split(": ");
      const side = (sign: string) =>
        lines
          .filter((line) => line[0] === sign)
          .map((line) => line.slice(2))
          .join("\n");
      return { promise, file, tests: tests.split(" "), text: side("-"), replacement: side("+") };
    });
}

/** Returns whether the text that a mutant replaces is not there, or not once. */
function isLost({ file, text }: Mutant): boolean {
  return (readIfExists(join(ROOT, file)) ?? "").split(text).length !== 2;
}

function readFigures(mutants: readonly Mutant[]): Figures {
  return makeFigures(mutants, readEnded());
}

/** Reads by promise which test noticed it; "" for none. */
function readEnded(): Map<string, string> {
  const { by = {}, unnoticed = [] }: Partial<Figures> = (readJson(FIGURES) as Figures | undefined) ?? {};
  return new Map([...Object.entries(by), ...unnoticed.map((promise) => [promise, ""] as const)]);
}

/** Makes figures of what came of each mutant: the test that noticed it, or "". */
function makeFigures(mutants: readonly Mutant[], ended: ReadonlyMap<string, string>): Figures {
  const known = mutants.flatMap(({ promise }) => (ended.has(promise) ? [promise] : []));
  const noticed = known.filter((promise) => ended.get(promise) !== "");
  return {
    noticed: noticed.length,
    total: mutants.length,
    unnoticed: known.filter((promise) => ended.get(promise) === ""),
    by: Object.fromEntries(noticed.map((promise) => [promise, ended.get(promise) ?? ""])),
  };
}

/** Copies what git knows and would know of the project, for tests that ask git, and links the packages. */
function copyProject(): string {
  const copy = mkdtempSync(join(tmpdir(), "session-memory-mutants-"));
  process.once("exit", () => rmSync(copy, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  const listed = Bun.spawnSync(["git", "ls-files", "-coz", "--exclude-standard", "--deduplicate"], {
    cwd: ROOT,
  });
  for (const file of listed.stdout.toString().split("\0").filter(Boolean))
    cpSync(join(ROOT, file), join(copy, file), { force: true });
  for (const words of ["init -q", "add ."]) Bun.spawnSync(["git", ...words.split(" ")], { cwd: copy });
  for (const modules of ["node_modules", "test/node_modules"])
    symlinkSync(join(ROOT, modules), join(copy, modules));
  return copy;
}

/** Returns a function that tells whether a test, which passes without them, fails with some mutants in the copy. */
function makeJudge(copy: string) {
  const whole = new Map<string, Promise<boolean>>();
  const passes = async (test: string) => {
    const [file, subject] = test.split("/");
    const only = subject === undefined ? [] : ["-t", `^${subject} `];
    const command = ["bun", "test", "--bail=1", `--timeout=${TEST_MS}`, `test/${file}.test.ts`, ...only];
    const child = Bun.spawn(command, { cwd: copy, stdout: "pipe", stderr: "pipe", timeout: FILE_MS });
    const [said, more, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    // A test that ran out of time says nothing.
    return code === 0 || child.signalCode !== null || /timed out after/.test(said + more);
  };
  return async (test: string, mutants: readonly Mutant[]): Promise<boolean> => {
    const before = new Map(mutants.map(({ file }) => [file, readFileSync(join(copy, file), "utf8")]));
    for (const [file, text] of before) {
      const own = mutants.filter((each) => each.file === file);
      const broken = own.reduce((done, each) => done.replace(each.text, () => each.replacement), text);
      writeFileSync(join(copy, file), broken);
    }
    const isPassed = await passes(test);
    for (const [file, text] of before) writeFileSync(join(copy, file), text);
    if (isPassed) return false;
    if (!whole.has(test)) whole.set(test, passes(test));
    return (await whole.get(test)) === true;
  };
}

type Judge = ReturnType<typeof makeJudge>;

/** Returns the first of the tests that are likely to notice a mutant which does; "" where none does. */
async function findLikely(mutant: Mutant, hint: string | undefined, notices: Judge): Promise<string> {
  for (const test of new Set([...(hint ? [hint] : []), ...mutant.tests]))
    if (await notices(test, [mutant])) return test;
  return "";
}

/** Asks all other tests about mutants, several at once. */
async function askAll(
  mutants: readonly Mutant[],
  { notices, ended }: { notices: Judge; ended: (mutant: Mutant, test: string) => void },
): Promise<void> {
  const tests = readdirSync(join(ROOT, "test")).flatMap((name) => /^(.+)\.test\.ts$/.exec(name)?.[1] ?? []);
  for (const group of groupApart(mutants)) {
    const left = new Set(group);
    for (const test of tests) {
      const asked = [...left].filter((mutant) => !mutant.tests.includes(test));
      if (asked.length === 0 || !(await notices(test, [...left]))) continue;
      for (const mutant of asked) {
        if (!(await notices(test, [mutant]))) continue;
        left.delete(mutant);
        ended(mutant, test);
      }
    }
    for (const mutant of left) ended(mutant, "");
  }
}

/** Returns mutants in groups, each of as many files, so that no two replace the same text. */
function groupApart(mutants: readonly Mutant[]): Mutant[][] {
  const groups: Mutant[][] = [];
  for (const mutant of mutants) {
    const isFree = (group: readonly Mutant[]) =>
      group.length < GROUP && group.every(({ file }) => file !== mutant.file);
    const group = groups.find(isFree);
    if (group) group.push(mutant);
    else groups.push([mutant]);
  }
  return groups;
}

function choose(mutants: readonly Mutant[], words: readonly string[], slice: string | undefined): Mutant[] {
  const [, first = "1", every = "1"] = /^(\d+)\/(\d+)$/.exec(slice ?? "") ?? [];
  const isNamed = ({ promise }: Mutant) =>
    words.some((each) => promise.toLowerCase().includes(each.toLowerCase()));
  return mutants
    .filter((_, i) => i % Number(every) === Number(first) - 1)
    .filter((mutant) => words.length === 0 || isNamed(mutant));
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      slice: { type: "string" },
      ...{ resume: { type: "boolean" }, likely: { type: "boolean" }, sites: { type: "boolean" } },
      ...{ json: { type: "boolean" }, help: { type: "boolean" } },
    },
  });
  if (values.help) return console.log(USAGE.trimEnd());
  const mutants = readMutants();
  const lost = mutants.filter(isLost);
  for (const { promise, file } of lost) console.error(`to be sited anew: ${promise} (${file})`);
  if (lost.length > 0) process.exitCode = 1;
  if (!values.sites) await run(mutants, choose(mutants, positionals, values.slice), values);
  const { noticed, total, unnoticed } = readFigures(mutants);
  const sites = lost.map(({ promise }) => promise);
  if (values.json) console.log(JSON.stringify({ noticed, total, unnoticed, lost: sites }, null, 2));
  else console.log([`${noticed} of ${total} noticed`, ...unnoticed.map((each) => `- ${each}`)].join("\n"));
}

async function run(
  mutants: readonly Mutant[],
  chosen: readonly Mutant[],
  { resume, likely }: { resume?: boolean | undefined; likely?: boolean | undefined },
): Promise<void> {
  setPriority(constants.priority.PRIORITY_LOW);
  const [before, known] = [readEnded(), readEnded()];
  const wanted = chosen.filter((mutant) => !isLost(mutant) && !(resume && known.has(mutant.promise)));
  if (!resume && !likely) for (const { promise } of wanted) known.delete(promise);
  const ended = ({ promise }: Mutant, test: string) => {
    known.set(promise, test);
    writeFileSync(FIGURES, `${JSON.stringify(makeFigures(mutants, known), null, 2)}\n`);
  };
  const notices = makeJudge(copyProject());
  const unnoticed: Mutant[] = [];
  for (const [i, mutant] of wanted.entries()) {
    const test = await findLikely(mutant, before.get(mutant.promise), notices);
    console.error(`${i + 1}/${wanted.length} ${test === "" ? "NOT NOTICED" : test}: ${mutant.promise}`);
    if (test === "") unnoticed.push(mutant);
    else ended(mutant, test);
  }
  if (!likely) await askAll(unnoticed, { notices, ended });
}

if (import.meta.main) await main();

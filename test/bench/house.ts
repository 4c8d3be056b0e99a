/** How large the house is: lines, files, exports with one user, constants without a reason, modules a start loads. */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { layFixtures, temporaryHome } from "../support/home.ts";
import { scriptPath } from "../support/run.ts";
import { atMost, type BenchRow, bun, figure, timeProcess } from "./measure.ts";

const ROOT = resolve(import.meta.dir, "../..");
const SOURCE = ["lib", "scripts", "hooks", "bin"];

export async function rows(): Promise<BenchRow[]> {
  const source = SOURCE.flatMap((folder) => readFiles(folder));
  const tests = readFiles("test");
  const modules = await loadedModules();
  return [
    atMost("source: lines", count(source), 33_000, { unit: "lines" }),
    atMost("source: characters", sum(source, ({ text }) => text.length) / 1e6, 1.4, { unit: "MB" }),
    atMost("source: files", source.length, 170, { unit: "files" }),
    figure("source: longest file", Math.max(...source.map(({ text }) => lines(text))), { unit: "lines" }),
    atMost("tests: lines", count(tests), 26_000, { unit: "lines" }),
    atMost("exports of lib with one user", sparselyUsed(source).length, 250, { unit: "exports" }),
    atMost("constants outside search without a reason", unexplained(source).length, 60, {
      unit: "constants",
    }),
    atMost("constants in bags without a reason", bare(source).length, 0, { unit: "constants" }),
    atMost("functions named by a noun and Of", nounNames(source).length, 40, { unit: "functions" }),
    atMost("modules a search loads", modules.search, 40, { unit: "modules" }),
    atMost("modules a reader loads", modules.reader, 32, { unit: "modules" }),
    atMost("modules a silent prompt loads", modules.prompt, 12, { unit: "modules" }),
  ];
}

interface SourceFile {
  path: string;
  text: string;
}

function readFiles(folder: string): SourceFile[] {
  return (readdirSync(join(ROOT, folder), { recursive: true }) as string[])
    .filter(
      (file) => /\.(?:ts|js|mjs|sh)$|^session-memory$/.test(file) && !/node_modules|fixtures/.test(file),
    )
    .map((file) => ({
      path: join(ROOT, folder, file),
      text: readFileSync(join(ROOT, folder, file), "utf8"),
    }));
}

function lines(text: string): number {
  return text.split("\n").length - 1;
}

function count(files: readonly SourceFile[]): number {
  return sum(files, ({ text }) => lines(text));
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

const EXPORT = /^export (?:async )?(?:function\*?|const|let|interface|type|class) ([\w$]+)/gm;

/** Returns the exports of lib/ that fewer than two other source files name. */
function sparselyUsed(files: readonly SourceFile[]): string[] {
  const users = new Map<string, number>();
  for (const { path, text } of files) {
    for (const key of importedNames(path, text)) users.set(key, (users.get(key) ?? 0) + 1);
  }
  return files
    .filter(({ path }) => path.startsWith(join(ROOT, "lib/")))
    .flatMap(({ path, text }) => [...text.matchAll(EXPORT)].map(([, name]) => `${path} ${name}`))
    .filter((key) => (users.get(key) ?? 0) < 2);
}

/** Returns `<file> <name>` of each name that a file imports, also by `await import()` below a destructuring. */
function importedNames(path: string, text: string): Set<string> {
  const names = new Set<string>();
  const add = (list: string, file: string) => {
    const from = resolve(dirname(path), file);
    for (const part of list.split(",")) {
      const name = part
        .replace(/\btype\s+/, "")
        .trim()
        .split(/\s+as\s+|:/)[0]
        ?.trim();
      if (name) names.add(`${from} ${name}`);
    }
  };
  for (const [, list = "", file = ""] of text.matchAll(/\{([^{}]*)\} from "(\.[^"]+)"/g)) add(list, file);
  for (const [, list = "", file = ""] of text.matchAll(/\{([^{}]*)\} = await import\("(\.[^"]+)"\)/g)) {
    add(list, file);
  }
  for (const [, lists = "", files = ""] of text.matchAll(
    /const \[([^\]]+)\] = await Promise\.all\(\[([^\]]+)\]\)/g,
  )) {
    const imported = [...files.matchAll(/import\("(\.[^"]+)"\)/g)];
    const named = [...lists.matchAll(/\{([^{}]*)\}/g)];
    for (const [at, [, list = ""]] of named.entries()) add(list, imported[at]?.[1] ?? "");
  }
  return names;
}

/** Returns the numbers at the top of a file that no comment, their own or that of their block, gives a reason for. */
function unexplained(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => !path.startsWith(join(ROOT, "lib/search/")))
    .flatMap(({ path, text }) => {
      const all = text.split("\n");
      return all.flatMap((line, at) =>
        /^(?:export )?const [A-Z][A-Z0-9_]* = \(?-?[\d.]/.test(line) && !hasReason(all, at)
          ? [`${path}:${at + 1} ${line}`]
          : [],
      );
    });
}

function hasReason(all: readonly string[], at: number): boolean {
  return /\/\/ /.test(all[at] ?? "") || /^(?:\/\/|\/?\s*\*)/.test(all[at - 1] ?? "") || isTime(all[at] ?? "");
}

/** Returns the numbers in objects at the top of a file that neither their line nor their object gives a reason for. */
function bare(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    const all = text.split("\n");
    return [...text.matchAll(BAG)].flatMap(({ index, 0: bag }) => {
      const at = text.slice(0, index).split("\n").length - 1;
      if (hasReason(all, at)) return [];
      const said = bag.split("\n").filter((line) => !line.includes("//"));
      return said.some((line) => /\b[\w$]+: -?(?!0\b|1\b)[\d.]/.test(line)) ? [`${path}:${at + 1}`] : [];
    });
  });
}

/** An object of numbers; one with functions, texts or objects is a table, whose rows say themselves what they are. */
const BAG = /^(?:export )?const [A-Z][A-Z0-9_]* = \{[^{}()"]*\}/gm;

function nounNames(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ text }) => text.match(/^(?:export )?(?:async )?function\*? \w+Of\b/gm) ?? []);
}

/** How many milliseconds a day has needs no reason. */
function isTime(line: string): boolean {
  return /^(?:export )?const (?:SECOND|MINUTE|HOUR|DAY|WEEK)(?:_MS)? =/.test(line);
}

const LIST_MODULES = `process.on("exit", () => {
  const own = Object.keys(require.cache).filter((file) => file.startsWith(${JSON.stringify(ROOT)}) && !file.includes("node_modules"));
  require("node:fs").writeSync(1, "\\n" + own.length);
});`;

async function loadedModules(): Promise<{ search: number; reader: number; prompt: number }> {
  using home = temporaryHome();
  layFixtures(home);
  const preload = join(home.env.HOME ?? "", "list-modules.js");
  await Bun.write(preload, LIST_MODULES);
  const { env } = home;
  const loadedBy = async (file: string, args: string[], stdin = "") => {
    const command = bun("--preload", preload, file, ...args);
    const { stdout } = await timeProcess(command, { env, cwd: home.project, stdin });
    return Number(stdout.trimEnd().split("\n").at(-1));
  };
  await loadedBy(scriptPath("embed"), ["--quiet"]);
  const prompt = {
    session_id: "none",
    prompt: "hello",
    cwd: home.project,
    hook_event_name: "UserPromptSubmit",
  };
  const hook = join(ROOT, "hooks/claude/user-prompt-submit.ts");
  // the first look of a session writes its marks
  await loadedBy(hook, [], JSON.stringify(prompt));
  return {
    search: await loadedBy(scriptPath("search"), ["--quiet", "how often do we post", "posting frequency"]),
    reader: await loadedBy(scriptPath("session-reader"), ["last", "--lines", "5"]),
    prompt: await loadedBy(hook, [], JSON.stringify(prompt)),
  };
}

if (import.meta.main) {
  const source = SOURCE.flatMap((folder) => readFiles(folder));
  for (const line of [...sparselyUsed(source), ...unexplained(source)])
    console.log(line.replace(`${ROOT}/`, ""));
}

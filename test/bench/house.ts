#!/usr/bin/env bun
/**
 * How large the house is: the tokens of each room without comments, of tests, and the modules that usual starts load. No figure
 * may grow beyond the one in `house.json`; test/house.test.ts holds tokens to it.
 *
 *     bun test/bench/house.ts --write       writes the figures of now
 */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { layFixtures, temporaryHome } from "../support/home.ts";
import { ROOT, scriptPath } from "../support/run.ts";
import { atMost, type BenchRow, bun, timeProcess } from "./measure.ts";

const FIGURES = join(import.meta.dir, "house.json");

/** Figures by name: of `lib/<room>`, `scripts`, `hooks`, `bin`, of these together (`product`), of `test`, and of modules. */
type Figures = Record<string, number>;

export async function rows(): Promise<BenchRow[]> {
  const bars = readFigures();
  const modules = Object.entries(await loadedModules()).map(([name, loaded]) =>
    atMost(name, loaded, bars[name] ?? 0, { unit: "modules" }),
  );
  const tokens = Object.entries(countTokens());
  return [
    ...tokens.map(([name, count]) => atMost(name, count, bars[name] ?? count, { unit: "tokens" })),
    ...modules,
  ];
}

/** Returns a line for each figure of tokens that grew; a room without a figure counts in `product` alone. */
export function listGrown(): string[] {
  const bars = readFigures();
  return Object.entries(countTokens())
    .filter(([name, count]) => count > (bars[name] ?? count))
    .map(([name, count]) => `${name}: ${count} tokens, where ${bars[name]} are committed`);
}

function readFigures(): Figures {
  return JSON.parse(readFileSync(FIGURES, "utf8"));
}

function countTokens(): Figures {
  const figures: Figures = {};
  const add = (name: string, count: number) => {
    figures[name] = (figures[name] ?? 0) + count;
  };
  for (const top of ["lib", "scripts", "hooks", "bin", "test"]) {
    for (const file of sourceFiles(join(ROOT, top))) {
      const [folder = "", room = ""] = relative(ROOT, file).split("/");
      const count = tokensIn(readFileSync(file, "utf8"));
      add(folder === "lib" && !room.endsWith(".ts") ? `lib/${room}` : folder, count);
      if (folder !== "test") add("product", count);
    }
  }
  return figures;
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(?:ts|js|mjs)$/.test(file) && !/(?:^|\/)(?:node_modules|fixtures)\//.test(file))
    .map((file) => join(folder, file));
}

const TOKEN =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|[\p{L}_$][\p{L}\p{N}_$]*|\d[\w.]*|[^\s]/gu;

/** Counts the tokens of a text without its comments; a long literal is as many as words fill it. */
function tokensIn(text: string): number {
  let count = 0;
  for (const [token] of text.matchAll(TOKEN)) {
    if (/^\/[/*]/.test(token)) continue;
    count += /^["'`]/.test(token) ? Math.max(1, Math.ceil(token.length / 12)) : 1;
  }
  return count;
}

const LIST_MODULES = `process.on("exit", () => {
  const own = Object.keys(require.cache).filter((file) => file.startsWith(${JSON.stringify(ROOT)}) && !file.includes("node_modules"));
  require("node:fs").writeSync(1, "\\n" + own.length);
});`;

async function loadedModules(): Promise<Figures> {
  using home = temporaryHome();
  layFixtures(home);
  const preload = join(home.home, "list-modules.js");
  writeFileSync(preload, LIST_MODULES);
  const loadedBy = async (file: string, args: string[], stdin = "") => {
    const command = bun("--preload", preload, file, ...args);
    const { stdout } = await timeProcess(command, { env: home.env, cwd: home.project, stdin });
    return Number(stdout.trimEnd().split("\n").at(-1));
  };
  await loadedBy(scriptPath("embed"), ["--quiet"]);
  const hook = scriptPath("hooks/event.ts");
  const event = { session_id: "none", prompt: "hello", hook_event_name: "UserPromptSubmit" };
  const prompt = JSON.stringify({ ...event, cwd: home.project });
  // the first look of a session writes its marks
  await loadedBy(hook, ["user-prompt-submit"], prompt);
  return {
    "modules a search loads": await loadedBy(scriptPath("search"), ["--quiet", "how often do we post"]),
    "modules a reader loads": await loadedBy(scriptPath("session-reader"), ["last", "--lines", "5"]),
    "modules a silent prompt loads": await loadedBy(hook, ["user-prompt-submit"], prompt),
  };
}

if (import.meta.main && process.argv[2] === "--write") {
  const figures = { ...countTokens(), ...(await loadedModules()) };
  writeFileSync(FIGURES, `${JSON.stringify(figures, null, 2)}\n`);
}

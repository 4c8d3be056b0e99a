/** A file that changed since a row about it, many times over. What is printed: golden/search-deeds.txt. */

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { homePerTest } from "./support/home.ts";
import { type Turn, writeWork } from "./support/work.ts";

const home = homePerTest();

function lay(name: string, text: string): string {
  const path = join(home.project, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  return path;
}

function work(name: string, day: number, ...turns: Turn[]): string {
  return writeWork(home, name, { day, cwd: home.project }, ...turns);
}

/** The printed rows of a search, without their indentation. */
async function rowsOf(...args: string[]): Promise<string[]> {
  const printed = await home.ok("search", ...args, "--quiet");
  return printed.split("\n").flatMap((line) => (line.startsWith("   L") ? [line.trim()] : []));
}

test("what changed since is right about each of forty files of which half were changed", async () => {
  const files = Array.from({ length: 40 }, (_, i) => {
    const line = `const barometer${i} = ${i};`;
    return {
      line,
      path: lay(`src/b${i}.ts`, i % 2 === 0 ? line.replace("const", "let") : `// kept\n${line}`),
    };
  });
  const edits = files.map(({ path, line }): Turn => ["edits", path, "", line]);
  work("one", 1, ["user", "forty barometers"], ...edits);
  const marks = await Promise.all(
    files.map(async (_, i) => (await rowsOf("--file", `src/b${i}.ts`)).at(-1)?.includes("(changed since)")),
  );
  expect(marks).toEqual(files.map((_, i) => i % 2 === 0));
});

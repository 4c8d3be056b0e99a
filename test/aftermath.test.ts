/** What a search says came after a row: its file changed since, and what took it back. */

import { describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { homePerTest } from "./support/home.ts";
import { type Turn, writeWork } from "./support/work.ts";

const home = homePerTest();

const ADDED = "const barometerLimit = 5;";

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

describe("changed since", () => {
  const edited = (file: string) =>
    work("one", 1, ["user", "limit the barometer"], ["edits", file, "", `${ADDED}\nexport {};`]);

  test("marks an edit whose lines are no longer in the newer file, with phrasings and with --file", async () => {
    edited(lay("src/barometer.ts", "const barometerLimit = 7;"));
    const marked = `L2 (changed since) [Edit src/barometer.ts]`;
    expect((await rowsOf("barometer limit")).find((row) => row.includes("[Edit"))).toStartWith(marked);
    expect((await rowsOf("--file", "src/barometer.ts")).at(-1)).toStartWith(marked);
  });

  test("says nothing where they still are, where the file is older, gone, or of another project", async () => {
    const file = lay("src/barometer.ts", `// more\n${ADDED}\nexport {};`);
    edited(file);
    const plain = "L2 [Edit src/barometer.ts]";
    const shown = async () => (await rowsOf("barometer limit")).find((row) => row.includes("[Edit"));
    expect(await shown()).toStartWith(plain);
    writeFileSync(file, "nothing of it");
    utimesSync(file, 1_700_000_000, 1_700_000_000);
    expect(await shown()).toStartWith(plain);
    rmSync(file);
    expect(await shown()).toStartWith(plain);
    const other = join(home.root, "other.ts");
    writeFileSync(other, "nothing of it");
    work("two", 2, ["user", "the hygrometer too"], ["edits", other, "", "const hygrometerLimit = 5;"]);
    expect((await rowsOf("hygrometer limit")).find((row) => row.includes("[Edit"))).toStartWith("L2 [Edit ");
  });

  test("is right about each of forty files of which half were changed", async () => {
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

  test("marks words about a file whose edit in the same exchange is gone from it", async () => {
    const file = lay("src/barometer.ts", "nothing of it");
    work(
      "one",
      1,
      ["user", "limit the barometer"],
      ["edits", file, "", ADDED],
      ["says", "The barometer in src/barometer.ts is limited to 5 now."],
      ["user", "and what does src/barometer.ts do at night?"],
    );
    expect(await rowsOf("barometer limited to 5 now")).toContain(
      "L4 (changed since) Assistant: The barometer in src/barometer.ts is limited to 5 now.",
    );
  });
});

describe("taken back", () => {
  test("shows the user's refusal behind the words that it answers, and not another answer", async () => {
    work(
      "one",
      1,
      ["user", "where do we keep the barometer readings?"],
      ["says", "I keep the barometer readings in a ring buffer of 64."],
      ["user", "no, don't use a ring buffer: write them to sqlite"],
      ["says", "The barometer readings go to sqlite now, one row a minute."],
      ["user", "no problem, thanks"],
    );
    const rows = await rowsOf("barometer readings ring buffer", "where the barometer readings are kept");
    expect(rows).toContain(
      "L2 (taken back: L3) Assistant: I keep the barometer readings in a ring buffer of 64.",
    );
    expect(rows).toContain("L3 User: no, don't use a ring buffer: write them to sqlite");
    expect(rows.filter((row) => row.includes("taken back"))).toHaveLength(1);
  });
});

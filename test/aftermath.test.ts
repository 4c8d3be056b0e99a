/** What a search says came after a row: its file changed since, and what took it back. */

import { describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { homePerTest } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";
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

  test("shows the call that removed what was added, in the session or in a later one", async () => {
    const file = join(home.project, "src/barometer.ts");
    work(
      "one",
      1,
      ["user", "limit the barometer"],
      ["edits", file, "", ADDED],
      ["edits", file, ADDED, "// no limit"],
      ["user", "add the thermometer fuse"],
      ["edits", file, "", "const thermometerFuse = true;"],
    );
    work("two", 2, ["user", "clean up"], ["edits", file, "const thermometerFuse = true;", ""]);
    expect((await rowsOf("barometer limit")).filter((row) => row.includes("[Edit")).slice(0, 2)).toEqual([
      `L2 (replaced: L4) [Edit src/barometer.ts] +${ADDED}`,
      `L4 [Edit src/barometer.ts] -${ADDED} +// no limit`,
    ]);
    const other = uuidFrom("two").slice(0, 8);
    expect((await rowsOf("thermometer fuse")).find((row) => row.includes("+const thermo"))).toBe(
      `L7 (taken back: ${other}:2) [Edit src/barometer.ts] +const thermometerFuse = true;`,
    );
    home.configure({ exclude: { sessions: [uuidFrom("two")] } });
    expect((await rowsOf("thermometer fuse")).find((row) => row.includes("+const thermo"))).not.toContain(
      "taken",
    );
  });

  test.each([
    ["git checkout -- src/barometer.ts", true],
    ["git restore src/barometer.ts", true],
    ["git reset --hard", true],
    ["git checkout -b barometer.ts", false],
    ["git checkout -- src/other.ts", false],
    ["git checkout --theirs src/barometer.ts", false],
    ["git restore --staged src/barometer.ts", false],
    ["git stash", false],
  ])("%s after an edit takes it back: %p", async (command, isBack) => {
    const file = join(home.project, "src/barometer.ts");
    work("one", 1, ["user", "limit the barometer"], ["edits", file, "", ADDED], ["runs", command, ""]);
    const [edit] = (await rowsOf("barometer limit")).filter((row) => row.includes("[Edit"));
    expect(edit?.includes("(taken back: L4)")).toBe(isBack);
  });

  test.each([
    ["git revert --no-edit 1a2b3c4", true],
    ["git revert HEAD", true],
    ["git revert 9f9f9f9", false],
    ["git checkout -- src/barometer.ts", false],
  ])("%s after the edit was committed takes it back: %p", async (command, isBack) => {
    const file = join(home.project, "src/barometer.ts");
    work(
      "one",
      1,
      ["user", "limit the barometer"],
      ["edits", file, "", ADDED],
      ["runs", 'git commit -am "limit it"', "[main 1a2b3c4] limit it\n 1 file changed"],
      ["runs", command, ""],
    );
    const [edit] = (await rowsOf("barometer limit")).filter((row) => row.includes("[Edit"));
    expect(edit?.includes("(taken back: L6)")).toBe(isBack);
  });

  test("takes lines that were only set anew by a formatter for kept", async () => {
    const file = join(home.project, "src/barometer.ts");
    const line = "export const barometer = read({ limit: 5, unit: 'hPa' });";
    const lines = "export const barometer = read({\n  limit: 5,\n  unit: 'hPa',\n});";
    work("one", 1, ["user", "limit the barometer"], ["edits", file, "", line], ["edits", file, line, lines]);
    expect((await rowsOf("barometer limit")).filter((row) => /taken back|replaced/.test(row))).toEqual([]);
  });

  test("takes lines that were only moved for kept", async () => {
    const file = join(home.project, "src/barometer.ts");
    work(
      "one",
      1,
      ["user", "limit the barometer"],
      ["edits", file, "", ADDED],
      ["edits", join(home.project, "src/limits.ts"), "", ADDED],
      ["edits", file, ADDED, "import { barometerLimit } from './limits.ts';"],
    );
    expect((await rowsOf("barometer limit")).filter((row) => /taken back|replaced/.test(row))).toEqual([]);
  });
});

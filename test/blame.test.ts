/** `search --file <path>:<line>`: which session wrote a line, and why. */

import { describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { homePerTest, type TemporaryHome } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";
import { type Turn, writeWork } from "./support/work.ts";

const home = homePerTest();

const LIMIT = "const retryLimit = 5;";
const DELAY = "const retryDelayMs = 250;";
const OLD_LIMIT = "const retryLimit = 3;";

function lay(name: string, ...lines: string[]): string {
  const path = join(home.project, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, lines.join("\n"));
  return path;
}

function work(name: string, day: number, ...turns: Turn[]): string {
  return writeWork(home, name, { day, cwd: home.project }, ...turns);
}

interface Blamed {
  results: {
    session_id: string;
    summary: string;
    strength: string;
    lines: { line: number; text: string }[];
  }[];
  blame: { lines: [number, number]; verdict: string; why?: string; session_id?: string; line?: number }[];
}

async function blame(place: string, of: TemporaryHome = home): Promise<Blamed> {
  return JSON.parse(await of.ok("search", "--file", place, "--json"));
}

describe("search --file <path>:<line>", () => {
  test("shows the session that wrote the line, the request and the reason, and who edited the file since", async () => {
    const file = lay("src/retry.ts", "import x from 'y';", LIMIT, DELAY, "");
    work(
      "first",
      1,
      ["user", "retry a failed request"],
      ["edits", file, "", `import x from 'y';\n${OLD_LIMIT}`],
    );
    work(
      "second",
      2,
      ["user", "three tries are too few: the provider drops every fourth request"],
      ["says", "I raise the limit to 5, since four in a row were lost."],
      ["edits", file, OLD_LIMIT, LIMIT],
    );
    work("third", 3, ["user", "wait between the tries"], ["edits", file, "const a = 1;", DELAY]);
    const shown = await home.ok("search", "--file", "src/retry.ts:2");
    expect(shown).toBe(
      [
        `1. ${uuidFrom("second").slice(0, 8)}:1-3 · shop · 2026-02-02 10:02 · wrote line 2`,
        "   L1 User: three tries are too few: the provider drops every fourth request",
        "   L2 Assistant: I raise the limit to 5, since four in a row were lost.",
        `   L3 [Edit src/retry.ts] +${LIMIT}`,
        `2. ${uuidFrom("third").slice(0, 8)}:2 · shop · 2026-02-03 10:01 · edited it 1x since`,
        "   L2 [Edit src/retry.ts]",
        "",
      ].join("\n"),
    );
    expect((await blame("src/retry.ts:2-3")).blame).toEqual([
      { lines: [2, 2], verdict: "written", session_id: uuidFrom("second"), line: 3 },
      { lines: [3, 3], verdict: "written", session_id: uuidFrom("third"), line: 2 },
    ]);
  });

  test("says that no session wrote a line, and which ones are too short or come again", async () => {
    const file = lay(
      "src/a.ts",
      "const byHand = 'nobody knows';",
      "}",
      "return cached;",
      "x",
      "return cached;",
    );
    work("one", 1, ["user", "cache it"], ["edits", file, "x", "return cached;\n}"]);
    expect(await home.ok("search", "--file", "src/a.ts:1")).toBe("src/a.ts:1: no session wrote it\n");
    const { results, blame: found } = await blame("src/a.ts:1-5");
    expect(found).toEqual([
      { lines: [1, 1], verdict: "no session wrote it" },
      { lines: [2, 2], verdict: "cannot tell", why: "shorter than 12 characters" },
      { lines: [3, 3], verdict: "cannot tell", why: "the same line is 2 times in the file" },
      { lines: [4, 4], verdict: "cannot tell", why: "shorter than 12 characters" },
      { lines: [5, 5], verdict: "cannot tell", why: "the same line is 2 times in the file" },
    ]);
    expect(results.map(({ summary, strength }) => [summary, strength])).toEqual([
      ["may have written lines 2-3, 5", "weak"],
    ]);
  });

  test("follows a line through removals, overwriting, and the names that the file had", async () => {
    const file = lay("src/costs.ts", LIMIT, DELAY, "const shared = true; // kept");
    const old = join(home.project, "src/prices.ts");
    work(
      "first",
      1,
      ["user", "begin"],
      ["writes", old, `${LIMIT}\n${DELAY}\nconst shared = true; // kept\n`],
    );
    work("second", 2, ["user", "drop it"], ["edits", old, LIMIT, "// none"]);
    work("third", 3, ["user", "bring it back"], ["edits", old, "// none", LIMIT]);
    work(
      "fourth",
      4,
      ["user", "rename it"],
      ["runs", "git mv src/prices.ts src/costs.ts", ""],
      ["writes", file, `${LIMIT}\n${DELAY}\nconst shared = true; // kept\n`],
    );
    expect((await blame("src/costs.ts:1-3")).blame.map(({ session_id, line }) => [session_id, line])).toEqual(
      [
        [uuidFrom("third"), 2],
        [uuidFrom("first"), 2],
      ],
    );
  });

  test("takes what a session read before it wrote the file anew for written by nobody", async () => {
    const file = lay("src/b.ts", LIMIT, DELAY);
    work(
      "one",
      1,
      ["user", "add a delay"],
      ["reads", file, `     1→${LIMIT}\n`],
      ["writes", file, `${LIMIT}\n${DELAY}\n`],
    );
    expect((await blame("src/b.ts:1-2")).blame).toEqual([
      { lines: [1, 1], verdict: "no session wrote it" },
      { lines: [2, 2], verdict: "written", session_id: uuidFrom("one"), line: 4 },
    ]);
  });

  test("reads the transcript where the index keeps a part of an edit, and cannot tell when it is gone", async () => {
    const filler = Array.from({ length: 120 }, (_, i) => `const filler${i} = "nothing to see here";`);
    const file = lay("src/long.ts", ...filler, LIMIT);
    const transcript = work("one", 1, ["user", "all of it"], ["writes", file, [...filler, LIMIT].join("\n")]);
    expect((await blame("src/long.ts:121")).blame).toEqual([
      { lines: [121, 121], verdict: "written", session_id: uuidFrom("one"), line: 2 },
    ]);
    rmSync(transcript);
    expect((await blame("src/long.ts:121")).blame).toEqual([
      { lines: [121, 121], verdict: "cannot tell", why: "that command or edit may have written it" },
    ]);
  });

  test("knows what a shell wrote into the file, and is not sure of a line that a command only holds", async () => {
    lay(
      "notes.md",
      "- the lamp stays on at night",
      "- the oil is changed on Mondays",
      "- the bell rings twice",
    );
    work(
      "one",
      1,
      ["user", "note it"],
      ["runs", "cat > notes.md <<'EOF'\n- the lamp stays on at night\nEOF", ""],
      ["runs", "cat >> notes.md <<EOF\n- the oil is changed on Mondays\nEOF", ""],
      ["runs", "python3 - <<'EOF'\np='notes.md'\nadd('''\n- the bell rings twice\n''')\nEOF", ""],
      ["fails", "cat > notes.md <<'EOF'\nnothing of it\nEOF", "no space left"],
    );
    expect((await blame("notes.md:1-3")).blame.map(({ verdict, line }) => [verdict, line])).toEqual([
      ["written", 2],
      ["written", 4],
      ["cannot tell", undefined],
    ]);
  });

  test("tells apart files of one name in two projects, and edits of one patch in two files", async () => {
    lay("src/index.ts", LIMIT, DELAY);
    const other = join(home.root, "bakery");
    mkdirSync(other);
    writeWork(
      home,
      "stranger",
      { day: 1, cwd: other },
      ["user", "go"],
      ["edits", join(other, "src/index.ts"), "", LIMIT],
    );
    expect((await blame("src/index.ts:1")).blame).toEqual([
      { lines: [1, 1], verdict: "no session wrote it" },
    ]);
  });

  const ORIGIN = "git@github.com:acme/shop.git";
  test.each([
    ["a second clone of the same origin", ORIGIN, "copied", "written"],
    ["its folder after a move", undefined, "moved", "written"],
    ["a folder that was moved and has no repository", null, "moved", "cannot tell"],
    ["a copy of a folder that has no repository", null, "copied", "no session wrote it"],
  ] as const)(
    "knows a line, also one indented anew, in %s, as far as it can be known",
    async (_, origin, how, verdict) => {
      const [old, now] = [join(home.root, "work", "shop"), join(home.root, "code", "store")];
      for (const folder of [old, join(now, "..")]) mkdirSync(folder, { recursive: true });
      if (origin !== null) {
        mkdirSync(join(old, ".git"));
        writeFileSync(join(old, ".git", "HEAD"), "ref: refs/heads/main\n");
        if (origin) writeFileSync(join(old, ".git", "config"), `[remote "origin"]\n\turl = ${origin}\n`);
      }
      const file = join(old, "src", "retry.ts");
      mkdirSync(join(file, ".."));
      writeFileSync(file, `\t\t${LIMIT}\n`);
      writeWork(home, "one", { cwd: old }, ["user", "limit the tries"], ["edits", file, "x", `  ${LIMIT}`]);
      await home.ok("embed");
      if (how === "moved") renameSync(old, now);
      else cpSync(old, now, { recursive: true });
      const { blame: found, results } = await blame(join(now, "src/retry.ts:1"));
      expect(found.map((each) => each.verdict)).toEqual([verdict]);
      expect(results.map(({ session_id }) => session_id)).toEqual(
        verdict === "no session wrote it" ? [] : [uuidFrom("one")],
      );
    },
  );

  test("takes a name that ends with a number for a file, and says what is wrong with a place", async () => {
    const odd = lay("notes:12", "the lighthouse keeper winds the clock");
    lay("src/a.ts", LIMIT, "");
    work("one", 1, ["user", "write it"], ["writes", odd, "the lighthouse keeper winds the clock"]);
    expect(await home.ok("search", "--file", "notes:12")).toContain(" · edited 1x");
    for (const [place, message] of [
      ["src/a.ts:9", "Cannot find line 9 of src/a.ts: it has 1 line"],
      ["src/a.ts:0", "Cannot find line 0 of src/a.ts: it has 1 line"],
      ["src/a.ts:2-1", "Cannot find line 2-1 of src/a.ts: it has 1 line"],
      ["src/none.ts:3", "Cannot read src/none.ts: no such file here"],
    ] as const) {
      const { exitCode, stderr } = await home.run("search", "--file", place);
      expect([exitCode, stderr.split("\n")[0]]).toEqual([1, `error: NOT_FOUND: ${message}`]);
    }
    expect((await blame("notes:12:1")).blame[0]?.session_id).toBe(uuidFrom("one"));
  });

  test("never names a session that is kept out, and shows no secret", async () => {
    const file = lay("src/a.ts", LIMIT, `const token = "ghp_${"a1B2".repeat(9)}";`);
    work("one", 1, ["user", "write it"], ["edits", file, "", readFileSync(file, "utf8")]);
    const shown = await home.ok("search", "--file", "src/a.ts:1-2");
    expect(shown).toContain("wrote lines 1-2");
    expect(shown).not.toContain("a1B2");
    home.configure({ exclude: { sessions: [uuidFrom("one")] } });
    expect(await home.ok("search", "--file", "src/a.ts:1")).toBe("src/a.ts:1: no session wrote it\n");
  });
});

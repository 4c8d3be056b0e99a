/** Search where printing is not the point: as a library, beside another run, within any budget. What it prints: golden/search*.txt. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { tryLock } from "../lib/base/locks.ts";
import { projectName } from "../lib/base/text.ts";
import { loadConfig } from "../lib/config/config.ts";
import { sessionSearch } from "../scripts/search.ts";
import { OWN_QUESTIONS } from "./bench/search/own-questions.ts";
import { chain, claudeAssistant, claudeUser } from "./support/claude.ts";
import { layFixtures, temporaryHome, writeClaude } from "./support/home.ts";
import { fuzzSeed, SOAK, seeded } from "./support/random.ts";
import { uuidFrom } from "./support/rows.ts";
import { emptyWorld, lay, type World, worldOf } from "./support/world.ts";

describe("in the world of golden/search.txt", () => {
  let world: World;
  const search = (...args: string[]) => world.ok("search", ...args, "--quiet");
  beforeAll(async () => {
    world = emptyWorld();
    lay(world, worldOf("search"));
    await world.ok("embed", "--quiet");
  });
  afterAll(() => world.remove());

  test("the library gives what --json prints, and waits for what another run is indexing", async () => {
    const config = await loadConfig(world.env, world.project);
    const query = ["why does the sextant drift", "mirror glue"];
    const printed = JSON.parse(await search(...query, "--json", "--limit", "2"));
    expect(await sessionSearch({ query, limit: 2 }, { config })).toEqual(printed);
    lay(world, "@claude 00000008 2026-02-04 10:00\nUser: the clepsydra leaks");
    expect(
      (await sessionSearch({ query: "clepsydra" }, { config, index: false })).index.behind.sessions,
    ).toBe(1);
    const release = tryLock(join(world.paths.home, "index.lock"));
    setTimeout(() => release?.(), 100);
    const { results, index } = await sessionSearch({ query: "clepsydra" }, { config });
    expect([results.length, index.behind.sessions]).toEqual([1, 0]);
  });

  test("what is printed keeps to its limit of code points, whatever that is, and numbers its hits", async () => {
    const random = seeded(fuzzSeed("search budgets"));
    const questions = [
      ["harbour fog"],
      ["sextant drift", "mirror glue"],
      ["weather remark", "clouds 😀"],
      ["did the assistant do it"],
    ];
    for (let round = 0; round < 20 * SOAK; round++) {
      const maxChars = random.integer(200, round < 10 ? 1500 : 5000);
      const form = random.pick([[], ["--brief"], ["--by-session"], ["--full"], ["--context", "1"]]);
      const limits = ["--limit", `${random.integer(1, 30)}`, "--max-chars", `${maxChars}`];
      const printed = await search(...random.pick(questions), ...form, ...limits);
      expect([form, maxChars, [...printed].length <= maxChars]).toEqual([form, maxChars, true]);
      const numbers = Array.from(printed.matchAll(/^(\d+)\. /gm), ([, number]) => Number(number));
      expect(numbers).toEqual(numbers.map((_, i) => i + 1));
      if (form[0] === "--brief")
        expect(Math.max(...printed.split("\n").map((line) => [...line].length))).toBeLessThanOrEqual(160);
    }
  }, 60_000);
});

test("finds keep to their limit, and name the one at which all of them are there", async () => {
  using world = emptyWorld();
  lay(world, worldOf("search-deeds"));
  const find = (...args: string[]) => world.ok("search", "--file", "costs.ts", "--quiet", ...args);
  const whole = await find();
  for (let maxChars = 200; maxChars < [...whole].length + 1; maxChars += 67) {
    const printed = await find("--max-chars", `${maxChars}`);
    expect([...printed].length).toBeLessThanOrEqual(maxChars);
    const [, chars = ""] = / --max-chars (\d+)$/.exec(printed.trimEnd()) ?? [];
    if (chars !== "" || printed !== whole) expect(await find("--max-chars", chars)).toBe(whole);
  }
}, 30_000);

test("each printed line holds what is printed of it, in the committed transcripts", async () => {
  using home = temporaryHome();
  layFixtures(home);
  const wrong: unknown[] = [];
  let checked = 0;
  for (const { phrasings } of OWN_QUESTIONS) {
    const { results } = await home.json("search", ...phrasings, "--subagents", "--quiet");
    for (const { file, lines } of results) {
      const rows = readFileSync(file, "utf8").split("\n").map(lettersOf);
      for (const { line, who, text } of lines) {
        // What an edit changed may be in its result, a few lines on.
        const held = rows.slice(line - 1, who === "tool" ? line + 10 : line).join("\n");
        const parts = text
          .split(NOT_OF_ROW)
          .map(lettersOf)
          .filter((words: string) => words.length >= 12);
        checked += parts.length;
        wrong.push(
          ...parts
            .filter((words: string) => !held.includes(words))
            .map((words: string) => ({ file, line, words })),
        );
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(checked).toBeGreaterThan(100);
}, 30_000);

/** Marks of what is left out, of changed lines, of redaction, and how an answer to a dialog is told. */
const NOT_OF_ROW =
  /…|\s[+-] ?|^[+-] ?|\[REDACTED\w*\]|\(asked: |; options: | \| |(?:Approved|Rejected) [\w ]+: /;

/** Letters and digits alone: JSON escapes quotes and line ends, and cuts a result into blocks. */
function lettersOf(text: string): string {
  return text
    .replace(/"\},[^\]]*?\{"type":\s*"text",\s*"text":\s*"/g, " ")
    .replace(/\\[nrt]/g, " ")
    .replace(/\\u[0-9a-f]{4}/gi, "")
    .replace(/[^\p{L}\p{N}]+/gu, "");
}

test("a project is called by its repository where a program named its folder", () => {
  const origin = (path: string) => (path.startsWith("/noted") ? "github.com/dev/sextant" : undefined);
  const names: Record<string, string> = {
    "/home/dev/ship": "ship",
    "D:\\ship\\.claude\\worktrees\\heuristic-robinson-e44709": "ship",
    "/home/dev/ship/.claude/worktrees/agent-a4ca7529/lib/hull": "ship",
    "/home/dev/ship/.worktrees/rudder": "ship",
    "/home/dev/ship/worktrees/rudder": "rudder",
    "/home/dev/.cursor/worktrees/ship/9c1e2f4": "ship",
    "/home/dev/.codex/worktrees/9c1e2f4/ship/lib": "ship",
    "/home/dev/games/2048": "games/2048",
    "/noted/2048": "sextant",
    "/noted/decade": "decade",
    "/srv/0b1f6d2a-1c0e-4e52-9b3a-8f6d1c2b3a4d": "srv/0b1f6d2a-1c0e-4e52-9b3a-8f6d1c2b3a4d",
    "/59b923df4d": "59b923df4d",
    "": "",
  };
  const called = Object.fromEntries(Object.keys(names).map((path) => [path, projectName(path, origin)]));
  expect(called).toEqual(names);
});

test("a time finds the rows of it, not exchanges that began in it", async () => {
  using home = temporaryHome({ TZ: "UTC" });
  const sessionId = uuidFrom("midnight");
  const row = (text: string, at: string) => ({ sessionId, cwd: home.project, text, at });
  writeClaude(home, {
    id: sessionId,
    cwd: home.project,
    rows: chain([
      claudeUser(row("Please deploy the ostrich.", "2026-01-19T23:58:00.000Z")),
      ...claudeAssistant(row("Working on it.", "2026-01-19T23:59:00.000Z")),
      ...claudeAssistant(row("The flamingo is out since midnight.", "2026-01-20T00:10:00.000Z")),
    ]),
  });
  const lines = async (...args: string[]) => {
    const { stdout } = await home.run("search", "flamingo", "ostrich", ...args);
    return Array.from(stdout.matchAll(/^ +L(\d+)/gm), ([, line]) => Number(line));
  };
  expect(await lines("--after", "2026-01-20")).toEqual([3]);
  expect(await lines("--before", "2026-01-19")).toEqual([1]);
});

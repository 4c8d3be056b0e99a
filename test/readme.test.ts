/** What README.md says is so: its commands work, its example is the real output, its lists are whole. */

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, delimiter, dirname, join, relative } from "node:path";
import { defaultSettings } from "../lib/config/config.ts";
import { parseSettings, settingKeys } from "../lib/config/schema.ts";
import { FIXTURES } from "./support/fixtures.ts";
import { claudeFolder, layFixtures, temporaryHome } from "./support/home.ts";
import { ROOT, runCommand, runScript } from "./support/run.ts";

const README = readFileSync(join(ROOT, "README.md"), "utf8");
const LINES_MAX = 150;

const home = temporaryHome();
layFixtures(home);
// A fork holds the same words: which of the two is shown depends on which was written last.
rmSync(join(home.paths.claude, "projects", claudeFolder(home.project), `${FIXTURES.claude.fork.id}.jsonl`));

/** The fenced blocks of one language, outside of the set-up. */
function blocks(language: string): string[] {
  const text = README.replace(/<!-- setup -->[\s\S]*<!-- end of setup -->/, "");
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
    ([, block = ""]) => block,
  );
}

/** Runs a command line as somebody types it into a shell in the clone. */
function type(line: string) {
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
  return runCommand(["sh", "-c", line], { cwd: ROOT, env: { ...home.env, PATH } });
}

test(`README.md has at most ${LINES_MAX} lines`, () => {
  expect(README.trimEnd().split("\n").length).toBeLessThanOrEqual(LINES_MAX);
});

describe("each command of README.md", () => {
  const lines = blocks("sh")
    .flatMap((block) => block.split("\n"))
    .filter((line) => line !== "" && !line.startsWith("#"));

  test("names a script", () => {
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) expect(line).toMatch(/^bun scripts\/[a-z-]+\.ts( |$)/);
  });

  test.each(lines)("works: %s", async (line) => {
    const { stderr, exitCode } = await type(line);
    expect({ exitCode, trouble: /^(?:error|warning):.*$/m.exec(stderr) }).toEqual({
      exitCode: 0,
      trouble: null,
    });
  });
});

test("the example is what the command prints", async () => {
  const [example = ""] = blocks("console");
  const [command = "", ...shown] = example.trimEnd().split("\n");
  const { stdout, exitCode } = await type(command.replace(/^\$ /, ""));
  const printed = stdout.split("\n");
  expect([exitCode, shown.length > 2]).toEqual([0, true]);
  for (const [index, line] of shown.entries()) {
    // What stands for a longer text is left out by …
    const pattern = line.split("…").map((part) => part.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    expect(printed[index]).toMatch(new RegExp(`^\\s*${pattern.join(".*")}$`));
  }
});

test("the table of scripts names all of them", () => {
  const [, table = ""] = /^## Scripts\n([\s\S]*?)^## /m.exec(README) ?? [];
  const named = [...table.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name);
  const there = readdirSync(join(ROOT, "scripts")).map((file) => basename(file, ".ts"));
  expect(named.toSorted()).toEqual(there.toSorted());
});

test("the table of settings names every key with its default, and no other", () => {
  const [, table = ""] = /^## Settings\n([\s\S]*?)^## /m.exec(README) ?? [];
  const defaults = defaultSettings();
  const blocks = '{"llm": {"model": "m"}, "embedding": {}, "share": {}}';
  const settings = new Map(Object.entries(parseSettings(blocks, "config.json", defaults)));
  const named: string[] = [];
  for (const [, first = "", rest = ""] of table.matchAll(/^\| (`[^|]+) \|(.*)\|$/gm)) {
    const keys = [...first.matchAll(/`(\w+)`/g)].map(([, key = ""]) => key);
    named.push(...keys);
    for (const key of keys) {
      // The names of the two who speak are values that a reader changes, not words to look for.
      const inner = key === "participants" ? [] : settingKeys(defaults, key);
      expect([key, inner.filter((name) => !rest.includes(`\`${name}\``))]).toEqual([key, []]);
      const values = new Map(Object.entries(settings.get(key) ?? {}));
      const given = [...rest.matchAll(/`(\w+)` \(`?([\w./-]+)`?[^)]*\)/g)].filter(([, name = ""]) =>
        values.has(name),
      );
      const wrong = given.filter(
        ([, name = "", value]) => `${values.get(name)}` !== value && values.get(name) !== Number(value),
      );
      expect([key, wrong.map(([text]) => text)]).toEqual([key, []]);
    }
  }
  expect(named.toSorted()).toEqual(settingKeys(defaults).toSorted());
});

test("the example of config.json is valid", () => {
  const [example = ""] = blocks("json");
  expect(parseSettings(example, "config.json", defaultSettings()).llm?.model).toBe("gpt-4o-mini");
});

test("the package scripts and the files that are named are there", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const named = [...README.matchAll(/`bun run ([\w:]+)`/g)].map(([, name = ""]) => name);
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  const files = [...README.matchAll(/`((?:scripts|hooks|skills|lib)\/[\w./-]+\.\w+)/g)].map(
    ([, file = ""]) => file,
  );
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});

test("outside the state folder only what the section on privacy names is written: pi's names and the notes asked for", async () => {
  using home = temporaryHome();
  layFixtures(home);
  const places = () =>
    readdirSync(home.root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(home.home, join(parentPath, name)))
      // what the runtime keeps of its own
      .filter((path) => !path.startsWith(".bun/") && !path.startsWith(".session-memory/"));
  const before = new Set(places());
  const options = { env: home.env, cwd: home.project };
  for (const [script, ...args] of [
    ["embed"],
    ["index-meta", "--all"],
    ["observe-compact", "last", "--observe"],
    ["search", "posting frequency"],
    ["activity-summary", "--current", "last", "--since", "90d"],
    ["save-session", "last"],
    ["health"],
  ] as const)
    await runScript(script, [...args], options);
  const kinds = places()
    .filter((path) => !before.has(path))
    .map((path) => path.replace(/[^/]+\.meta\.json$/, "ID.meta.json").replace(/[^/]+\.md$/, "NOTE.md"));
  expect([...new Set(kinds)].toSorted()).toEqual([
    "../shop/memory/NOTE.md",
    ".pi/agent/sessions-meta/ID.meta.json",
  ]);
}, 30_000);

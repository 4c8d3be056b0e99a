/** What README.md and docs/ say is so: their commands work, what they show is real, their lists are whole. */

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { recordOf } from "../lib/base/json.ts";
import { defaultSettings } from "../lib/config/config.ts";
import { parseSettings, settingKeys } from "../lib/config/schema.ts";
import { layFixtures, temporaryHome } from "./support/home.ts";
import { ROOT, runScript, shellWords } from "./support/run.ts";

const README = readFileSync(join(ROOT, "README.md"), "utf8");
const SETTINGS = readFileSync(join(ROOT, "docs", "settings.md"), "utf8");
/** docs/sharing.md needs a server: test/share-docs.test.ts runs it. */
const PAGES = [
  "README.md",
  ...readdirSync(join(ROOT, "docs"))
    .filter((name) => name.endsWith(".md") && name !== "sharing.md")
    .map((name) => join("docs", name)),
];

const home = temporaryHome();
layFixtures(home);

/** The fenced blocks of one language, outside of the set-up. */
function blocks(page: string, language: string): string[] {
  const text = page.replace(/<!-- setup -->[\s\S]*<!-- end of setup -->/, "");
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
    ([, block = ""]) => block,
  );
}

/** Runs a command line that somebody types in a project. */
function type(line: string) {
  const [command, script = "", ...args] = shellWords(line);
  expect(command).toBe("session-memory");
  return home.run(script, ...args);
}

describe.each(PAGES)("each command of %s", (name) => {
  const page = readFileSync(join(ROOT, name), "utf8");
  const lines = blocks(page, "sh")
    .flatMap((block) => block.split("\n"))
    .filter((line) => line !== "" && !line.startsWith("#"));

  for (const line of lines) {
    test(`works: ${line}`, async () => {
      const { stderr, exitCode } = await type(line);
      expect({ exitCode, trouble: /^(?:error|warning):.*$/m.exec(stderr) }).toEqual({
        exitCode: 0,
        trouble: null,
      });
    });
  }
});

test("what the pages show of outputs stands in a golden transcript, up to where they cut it", () => {
  const golden = readdirSync(join(ROOT, "test", "golden"))
    .filter((name) => name.endsWith(".txt"))
    .flatMap((name) => readFileSync(join(ROOT, "test", "golden", name), "utf8").split("\n"));
  const skills = readdirSync(join(ROOT, "skills")).map((name) => join("skills", name, "SKILL.md"));
  const shown = [...PAGES, ...skills].flatMap((name) => {
    const page = readFileSync(join(ROOT, name), "utf8");
    const outputs = [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
      .filter(([, language]) => language === "" || language === "text")
      .map(([, , output = ""]) => output);
    return outputs.filter((output) => !output.startsWith("Usage: ")).flatMap((output) => output.split("\n"));
  });
  expect(shown.length).toBeGreaterThan(40);
  const isPrinted = (line: string) =>
    golden.some((each) => each.startsWith(line.split("…")[0]?.trimEnd() ?? ""));
  expect(shown.filter((line) => !isPrinted(line))).toEqual([]);
});

test("every link of the pages leads to a file", () => {
  for (const name of PAGES) {
    const page = readFileSync(join(ROOT, name), "utf8");
    const targets = [...page.matchAll(/\]\(([^)#:]+)\)|(?:src|srcset)="([^"]+)"/g)].map(
      ([, a, b]) => a ?? b ?? "",
    );
    const missing = targets.filter((target) => !existsSync(join(ROOT, dirname(name), target)));
    expect([name, missing]).toEqual([name, []]);
  }
});

test("the table of scripts names all of them", () => {
  const [, table = ""] = /^## Scripts\n([\s\S]*?)^## /m.exec(README) ?? [];
  const named = [...table.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name);
  const there = readdirSync(join(ROOT, "scripts")).map((file) => basename(file, ".ts"));
  expect(named.toSorted()).toEqual(there.toSorted());
});

test("the tables of settings have a row for every key, with its default, and for no other", () => {
  const blocks = '{"llm": {"model": "m"}, "embedding": {}, "share": {}}';
  const settings = parseSettings(blocks, "config.json", defaultSettings());
  const rows = [...SETTINGS.matchAll(/^\| `([\w.]+)` \| (.*?) \|/gm)].map(([, key = "", said = ""]) => {
    const value = key.split(".").reduce<unknown>((at, part) => recordOf(at)[part], settings);
    return { key, said, value };
  });
  const keys = settingKeys([]).flatMap((key) => {
    const inner = key === "transcripts" ? [] : settingKeys([key]);
    return inner.length > 0 ? inner.map((name) => `${key}.${name}`) : [key];
  });
  const ofProgram = ["llm.command", "llm.dailyCalls"];
  expect(rows.map(({ key }) => key).toSorted()).toEqual([...keys, ...ofProgram].toSorted());
  const isRequired = (key: string) => key === "llm.model";
  const wrong = rows.filter(({ key, said, value }) => {
    const shown = typeof value === "object" ? JSON.stringify(value) : value;
    return value !== undefined && !isRequired(key) && said !== `\`${shown}\``;
  });
  expect(wrong).toEqual([]);
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

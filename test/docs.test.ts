/** What README.md and docs/ say is so: their commands work, what they show is real, their lists are whole. */

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { recordOf } from "../lib/base/json.ts";
import { defaultSettings } from "../lib/config/config.ts";
import { parseSettings, settingKeys } from "../lib/config/schema.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { layFixtures, temporaryHome, write, writeClaude } from "./support/home.ts";
import { secondsAgo, uuidFrom } from "./support/rows.ts";
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

test("what README.md shows of activity is what the program prints", async () => {
  using own = temporaryHome();
  const [me = "", other = ""] = ["me", "other"].map(uuidFrom);
  const edit = (file: string) => ({ name: "Edit", input: { file_path: join(own.project, file) } });
  const run = { name: "Bash", input: { command: "make" } };
  const row = (sessionId: string, ago: number) => ({ sessionId, cwd: own.project, at: secondsAgo(ago) });
  const mine = [
    claudeUser({ ...row(me, 370), text: "go on" }),
    claudeAssistant({ ...row(me, 365), tools: [edit("src/deploy.ts")] }),
  ];
  const theirs = [
    claudeUser({ ...row(other, 300), text: "how do I deploy this?" }),
    claudeAssistant({ ...row(other, 290), text: "Two.", tools: [edit("src/deploy.ts"), edit("b.ts")] }),
    claudeUser({ ...row(other, 250), text: "go" }),
    claudeAssistant({ ...row(other, 200), tools: [run, run, run] }),
    claudeAssistant({ ...row(other, 190), text: "Deployed, the health check is green." }),
  ];
  writeClaude(own, { id: me, rows: mine });
  const file = writeClaude(own, { id: other, rows: theirs });
  write(join(file.replace(".jsonl", ""), "custom-title.json"), '{"customTitle":"deploy"}');
  const { stdout } = await own.run("activity-summary", "--current", me);
  expect(stdout).toBe(blocks(README, "text").find((text) => text.startsWith("[Session Activity]")) ?? "");
});

test("what README.md shows of a reference is what the program says", async () => {
  const block = blocks(README, "text").find((text) => text.startsWith("[Session References]")) ?? "";
  await type("session-memory index-meta --all --quiet");
  const { stdout } = await type(`session-memory session-reference '@@"posting frequency"'`);
  for (const line of block.trimEnd().split("\n"))
    expect(stdout).toContain(line.split("…")[0]?.trimEnd() ?? "");
});

test("what README.md shows of observations is what the program renders", async () => {
  const block = blocks(README, "text").find((text) => /^- (?:🔴|🟡)/u.test(text)) ?? "";
  const { stdout } = await type("session-memory observe-compact 7c41f0b2 --observe --render");
  for (const line of block.trimEnd().split("\n")) {
    const [said = ""] = line.split("…");
    expect(stdout).toContain(said.trimEnd());
  }
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

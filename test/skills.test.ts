/** Every skill page: valid by the open standard, true to its scripts' help, and made of commands that parse. */

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { layFixtures, temporaryHome } from "./support/home.ts";
import { ROOT, runScript, shellWords } from "./support/run.ts";

const SKILLS = join(ROOT, "skills");
const STANDARD_KEYS = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];
/** How every command of ours begins: the project folder must not steer it. */
const START = "sh ROOT/bin/session-memory ";
/** Through the starter on PATH a script's help names itself as the pages do. */
const THROUGH_STARTER = { SESSION_MEMORY_COMMAND: "/own/bin/session-memory", PATH: "/own/bin" };
/** A fenced block that holds a script's help, told by its first words. */
const USAGE_BLOCK = /^```text\n(Usage: session-memory ([\w-]+)[\s\S]*?)```$/gm;

describe.each(readdirSync(SKILLS))("skills/%s/SKILL.md", (name) => {
  const file = join(SKILLS, name, "SKILL.md");
  const page = readFileSync(file, "utf8");
  const { front, body } = split(page);

  test("has frontmatter that the open standard allows", () => {
    expect(Object.keys(front).filter((key) => !STANDARD_KEYS.includes(key))).toEqual([]);
    expect(front.name).toBe(name);
    expect(name).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/);
    expect(name.length).toBeLessThanOrEqual(64);
    const description = String(front.description);
    expect(description.trim().length).toBeGreaterThan(0);
    expect(description.length).toBeLessThanOrEqual(1024);
    expect(description).not.toMatch(/[<>]/);
    expect(String(front.compatibility ?? "").length).toBeLessThanOrEqual(500);
    expect(typeof (front["allowed-tools"] ?? "")).toBe("string");
    expect(body.split("\n").length).toBeLessThan(500);
  });

  test("carries the help of every script it names, word for word", async () => {
    const blocks = new Map(
      Array.from(page.matchAll(USAGE_BLOCK), (match) => [match[2] ?? "", match[1] ?? ""]),
    );
    expect([...blocks.keys()].sort()).toEqual(scriptsNamed(page));
    for (const [script, text] of blocks) {
      const { stdout, stderr, exitCode } = await runScript(script, ["--help"], { env: THROUGH_STARTER });
      expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
      if (process.env.SESSION_MEMORY_TEST_UPDATE)
        writeFileSync(file, readFileSync(file, "utf8").replace(text, stdout));
      else expect(text).toBe(stdout);
    }
  });

  test("lets its reading commands run without approval in Claude Code, and no others", () => {
    const allowed = Array.from(String(front["allowed-tools"] ?? "").matchAll(/Bash\((.*?)\)/g), (match) =>
      match[1]?.replaceAll(ROOT_IN_CLAUDE, "ROOT").replaceAll(ROOT_OF_PLUGIN, "ROOT"),
    );
    for (const rule of allowed) expect(rule).toMatch(new RegExp(`^${escaped(START)}[\\w-]+ \\*$`));
    expect(body).toContain(ROOT_IN_CLAUDE);
  });

  test("shows only commands that its scripts accept", async () => {
    using home = temporaryHome();
    layFixtures(home);
    const commands = commandsOf(page);
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) {
      expect(command).toStartWith(START);
      const [script = "", ...args] = shellWords(command.slice(START.length));
      const options = { env: home.env, cwd: home.project };
      const { stderr, exitCode } = await runScript(script, args, options);
      expect({ command, wrong: exitCode === 2 ? stderr : "" }).toEqual({ command, wrong: "" });
    }
  });
});

const ROOT_IN_CLAUDE = "$" + "{CLAUDE_SKILL_DIR}/../..";
/** The same folder without `..`, as a model may write it: known to plugins only. */
const ROOT_OF_PLUGIN = "$" + "{CLAUDE_PLUGIN_ROOT}";

function split(page: string): { front: Record<string, unknown>; body: string } {
  const match = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(page);
  if (!match) throw new SyntaxError("Cannot read the page: no frontmatter between two lines of ---");
  return { front: Bun.YAML.parse(match[1] ?? "") as Record<string, unknown>, body: match[2] ?? "" };
}

/** The scripts that a page's commands run. */
function scriptsNamed(page: string): string[] {
  const names = commandsOf(page).map((command) => /session-memory ([\w-]+)/.exec(command)?.[1] ?? "");
  return [...new Set(names)].sort();
}

/** The lines of a page's shell blocks that are commands; a backslash goes on in the next line. */
function commandsOf(page: string): string[] {
  return Array.from(page.matchAll(/^```(?:sh|bash)\n([\s\S]*?)^```$/gm))
    .flatMap((match) => (match[1] ?? "").replaceAll("\\\n", " ").split("\n"))
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** The files of the plugins for Claude Code and Codex: what the client accepts, and commands that a project folder cannot steer. */

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { QUESTION_MS } from "../hooks/prompt-answer.ts";
import { ROOT } from "./support/run.ts";

const PLUGIN_ROOT = ["$", "{CLAUDE_PLUGIN_ROOT}"].join("");
/** Events the client knows. */
const EVENTS = [
  "SessionStart",
  "UserPromptSubmit",
  "PostToolUseFailure",
  "PreCompact",
  "PostCompact",
  "Stop",
  "SessionEnd",
];

interface Hook {
  type: string;
  command: string;
  args: string[];
  timeout?: number;
}

interface HooksFile {
  description: string;
  hooks: Record<string, { matcher?: string; hooks: Hook[] }[]>;
}

const { description, hooks }: HooksFile = JSON.parse(readFileSync(join(ROOT, "hooks", "hooks.json"), "utf8"));
const commands = Object.values(hooks).flatMap((groups) => groups.flatMap((group) => group.hooks));

test("plugin.json names the plugin as package.json does", () => {
  const plugin = JSON.parse(readFileSync(join(ROOT, ".claude-plugin", "plugin.json"), "utf8"));
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  expect(plugin.name).toBe(manifest.name);
  expect(plugin.name).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/);
  expect(plugin.version).toBe(manifest.version);
  expect(plugin.license).toBe(manifest.license);
});

test("hooks.json wires known events only, among them every prompt", () => {
  expect(description.length).toBeGreaterThan(0);
  expect(Object.keys(hooks).filter((event) => !EVENTS.includes(event))).toEqual([]);
  expect(hooks.UserPromptSubmit).toHaveLength(1);
  // The client knows no matcher for prompts.
  expect(hooks.UserPromptSubmit?.[0]?.matcher).toBeUndefined();
});

test("the client waits for the prompt hook longer than the hook does for an answer", () => {
  const seconds = hooks.UserPromptSubmit?.[0]?.hooks[0]?.timeout ?? 0;
  expect(seconds * 1000).toBeGreaterThanOrEqual(QUESTION_MS + 5000);
});

test("every hook is started through the starter, by the system's own shell", () => {
  expect(commands.length).toBeGreaterThan(0);
  for (const { type, command, args, timeout } of commands) {
    const [launcher, name, ...rest] = args;
    expect({ type, command, launcher, rest }).toEqual({
      type: "command",
      command: "/bin/sh",
      launcher: `${PLUGIN_ROOT}/bin/session-memory`,
      rest: [],
    });
    expect(existsSync(join(ROOT, "hooks", "claude", `${name}.ts`))).toBe(true);
    // Seconds, and less than the client's own thirty for a prompt.
    expect(timeout).toBeGreaterThan(0);
    expect(timeout).toBeLessThanOrEqual(30);
  }
});

test("bunfig.toml, which every hook is started with, runs nothing", () => {
  const sections = readFileSync(join(ROOT, "bunfig.toml"), "utf8").match(/^\s*(?:\[.*\]|preload\b.*)/gm);
  expect(sections?.map((line) => line.trim().split(/[\s=]/)[0])).toEqual(["[test]", "preload"]);
});

test("Codex gets a manifest and hooks of its own, which start the same programs", () => {
  const read = (...path: string[]) => JSON.parse(readFileSync(join(ROOT, ...path), "utf8"));
  const { skills, hooks: own, ...plugin } = read(".codex-plugin", "plugin.json");
  expect(plugin).toEqual(read(".claude-plugin", "plugin.json"));
  expect(skills).toBe("./skills/");
  // Codex ignores `args`: Claude Code's file would start a bare sh, which takes the input for commands.
  const events: [string, { matcher?: string; hooks: Omit<Hook, "args">[] }[]][] = Object.entries(
    read(own).hooks,
  );
  const programs = events.map(([event, [group]]) => [event, group?.matcher, group?.hooks]);
  const run = (name: string, timeout: number) => [
    { type: "command", command: `/bin/sh "${PLUGIN_ROOT}/bin/session-memory" ${name}`, timeout },
  ];
  expect(programs).toEqual([
    ["SessionStart", "startup|clear|compact", run("session-start", 10)],
    ["UserPromptSubmit", undefined, run("user-prompt-submit", 30)],
    ["PostToolUse", "Bash", run("post-tool-use-failure", 10)],
    ["PreCompact", undefined, run("pre-compact", 10)],
    ["Stop", undefined, run("stop", 10)],
  ]);
});

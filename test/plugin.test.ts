/** The files of the plugins for Claude Code and Codex: what the client accepts, and commands that a project folder cannot steer. */

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { QUESTION_MS } from "../hooks/prompt-answer.ts";
import { ROOT } from "./support/run.ts";

const PLUGIN_ROOT = ["$", "{CLAUDE_PLUGIN_ROOT}"].join("");

interface HooksFile {
  hooks: Record<string, { matcher?: string; hooks: object[] }[]>;
}

const read = (...path: string[]) => JSON.parse(readFileSync(join(ROOT, ...path), "utf8"));

/** Each event with its matcher and the hooks that it starts; every event has one group. */
function events({ hooks }: HooksFile) {
  return Object.entries(hooks).map(([event, [group]]) => [event, group?.matcher, group?.hooks]);
}

test("plugin.json names the plugin as package.json does", () => {
  const { name, version, license } = read("package.json");
  expect(read(".claude-plugin", "plugin.json")).toMatchObject({ name, version, license });
});

test("Claude Code starts every hook through the starter, by the system's own shell", () => {
  const run = (name: string, timeout: number) => [
    { type: "command", command: "/bin/sh", args: [`${PLUGIN_ROOT}/bin/session-memory`, name], timeout },
  ];
  expect(events(read("hooks", "hooks.json"))).toEqual([
    ["SessionStart", "startup|clear|compact", run("session-start", 10)],
    // The client knows no matcher for prompts, and waits for longer than the hook does for an answer.
    ["UserPromptSubmit", undefined, run("user-prompt-submit", (QUESTION_MS + 10_000) / 1000)],
    ["PostToolUseFailure", "Bash|PowerShell", run("post-tool-use-failure", 10)],
    ["PreCompact", undefined, run("pre-compact", 10)],
    ["Stop", undefined, run("stop", 10)],
    ["SessionEnd", undefined, run("session-end", 10)],
  ]);
});

test("Codex gets a manifest and hooks of its own, which start the same programs", () => {
  const { skills, hooks, ...plugin } = read(".codex-plugin", "plugin.json");
  expect(plugin).toEqual(read(".claude-plugin", "plugin.json"));
  expect(skills).toBe("./skills/");
  // Codex ignores `args`: Claude Code's file would start a bare sh, which takes the input for commands.
  const run = (name: string, timeout: number) => [
    { type: "command", command: `/bin/sh "${PLUGIN_ROOT}/bin/session-memory" ${name}`, timeout },
  ];
  expect(events(read(hooks))).toEqual([
    ["SessionStart", "startup|clear|compact", run("session-start", 10)],
    ["UserPromptSubmit", undefined, run("user-prompt-submit", 30)],
    ["PostToolUse", "Bash", run("post-tool-use-failure", 10)],
    ["PreCompact", undefined, run("pre-compact", 10)],
    ["Stop", undefined, run("stop", 10)],
  ]);
});

test("bunfig.toml, which every hook is started with, runs nothing", () => {
  const sections = readFileSync(join(ROOT, "bunfig.toml"), "utf8").match(/^\s*(?:\[.*\]|preload\b.*)/gm);
  expect(sections?.map((line) => line.trim().split(/[\s=]/)[0])).toEqual(["[test]", "preload"]);
});

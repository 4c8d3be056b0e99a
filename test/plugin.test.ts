/** The files of the plugins: what hosts accept, and commands that neither a project folder nor a prompt can steer. */

import { expect, test } from "bun:test";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { QUESTION_MS } from "../hooks/prompt-answer.ts";
import { isRecord, type JsonRecord, parseRecord } from "../lib/base/json.ts";
import { HOSTS } from "../lib/hosts/hosts.ts";
import { FIXTURES } from "./support/fixtures.ts";
import { layFixtures, temporaryHome, write } from "./support/home.ts";
import { BUN_PATH, ROOT, runCommand, startScript } from "./support/run.ts";

const PLUGIN_ROOT = ["$", "{CLAUDE_PLUGIN_ROOT}"].join("");

interface Hook {
  type: "command";
  command: string;
  timeout: number;
}

interface HooksFile {
  hooks: Record<string, { matcher?: string; hooks: Hook[] }[]>;
}

const read = (...path: string[]) => JSON.parse(readFileSync(join(ROOT, ...path), "utf8"));

/** A hook as every host runs it alike: one command for a shell, since several drop `args` and start what is left. */
const run = (name: string, timeout: number): Hook => ({
  type: "command",
  command: `/bin/sh "${PLUGIN_ROOT}/bin/session-memory" ${name}`,
  timeout,
});

/** Each event with its matcher and the hooks that it starts; every event has one group. */
function events({ hooks }: HooksFile) {
  return Object.entries(hooks).map(([event, [group]]) => [event, group?.matcher, group?.hooks] as const);
}

test("plugin.json names the plugin as package.json does", () => {
  const { name, version, license } = read("package.json");
  expect(read(".claude-plugin", "plugin.json")).toMatchObject({ name, version, license });
});

test("Claude Code starts every hook through the starter, by the system's own shell", () => {
  expect(events(read("hooks", "hooks.json"))).toEqual([
    ["SessionStart", "startup|resume|clear|compact", [run("session-start", 10)]],
    // The client knows no matcher for prompts, and waits for longer than the hook does for an answer.
    ["UserPromptSubmit", undefined, [run("user-prompt-submit", (QUESTION_MS + 10_000) / 1000)]],
    ["PostToolUseFailure", "Bash|PowerShell", [run("post-tool-use-failure", 10)]],
    ["PreCompact", undefined, [run("pre-compact", 10)]],
    ["Stop", undefined, [run("stop", 10)]],
    ["SessionEnd", undefined, [run("session-end", 10)]],
  ]);
});

test("Codex gets a manifest and hooks of its own, which start the same programs", () => {
  const { skills, hooks, ...plugin } = read(".codex-plugin", "plugin.json");
  expect(plugin).toEqual(read(".claude-plugin", "plugin.json"));
  expect(skills).toBe("./skills/");
  expect(events(read(hooks))).toEqual([
    ["SessionStart", "startup|resume|clear|compact", [run("session-start", 10)]],
    ["UserPromptSubmit", undefined, [run("user-prompt-submit", 30)]],
    ["PostToolUse", "Bash", [run("post-tool-use-failure", 10)]],
    ["PreCompact", undefined, [run("pre-compact", 10)]],
    ["Stop", undefined, [run("stop", 10)]],
  ]);
});

/** Every file below these places, from their root. */
function filesIn(root: string, places: readonly string[]): string[] {
  return places.flatMap((place) =>
    statSync(join(root, place)).isFile()
      ? [place]
      : readdirSync(join(root, place), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => relative(root, join(entry.parentPath, entry.name))),
  );
}

/** Whatever a JSON file has a host start, at any depth: objects with a command, by the names that hosts have for it. */
function startedBy(value: unknown): JsonRecord[] {
  if (Array.isArray(value)) return value.flatMap(startedBy);
  if (!isRecord(value)) return [];
  const own = ["command", "bash", "powershell"].some((key) => typeof value[key] === "string") ? [value] : [];
  return [...own, ...Object.values(value).flatMap(startedBy)];
}

const hooksOf = (file: string) =>
  file.endsWith(".json") ? startedBy(parseRecord(readFileSync(file, "utf8"))) : [];

test("no hook, in the package or written by setup, is an interpreter that waits for arguments", async () => {
  using home = temporaryHome();
  for (const { program } of HOSTS) chmodSync(write(join(home.root, "bin", program), "#!/bin/sh\n"), 0o755);
  const env = { ...home.env, PATH: `${join(home.root, "bin")}:${BUN_PATH}` };
  expect((await startScript("setup", ["--yes"], { env, cwd: home.project })).exitCode).toBe(0);
  const packaged = (read("package.json").files as string[]).filter((name) => existsSync(join(ROOT, name)));
  const files = [
    ...filesIn(ROOT, packaged).map((file) => join(ROOT, file)),
    ...filesIn(home.root, ["home"]).map((file) => join(home.root, file)),
  ];
  expect(files.filter((file) => file.includes("/.qwen/skills/"))).not.toEqual([]); // setup wrote
  const hooks = files.flatMap((path) => hooksOf(path).map((hook) => ({ file: relative(ROOT, path), hook })));
  const found = new Set(hooks.map(({ file }) => file));
  const written = [
    ".claude/settings.json",
    ".qwen/settings.json",
    ".gemini/settings.json",
    ".copilot/hooks/session-memory.json",
  ].map((file) => relative(ROOT, join(home.home, file)));
  expect(found).toEqual(new Set(["hooks/hooks.json", "hooks/codex/hooks.json", ...written]));
  const own = /^\/bin\/sh "[^"]+\/bin\/session-memory" [a-z-]+$/;
  const guarded =
    /^exec 3<&0; \/bin\/sh "[^"]+\/bin\/session-memory" event [a-z]+ <&3 & trap "kill \$!" TERM; wait \$! \|\| :$/;
  const refused = hooks.filter(
    ({ hook: { command, ...hook } }) =>
      "args" in hook || ![own, guarded].some((form) => form.test(`${command}`)),
  );
  expect(refused).toEqual([]);
});

/** A prompt that makes a file where a shell reads it. */
const HOSTILE = "please explain $(touch $HOME/PWNED) and `touch $HOME/PWNED` to me";

/** How hosts tell a hook where the plugin lies, each with a file of hooks, and a place whose name that way has to stand. */
const TELLING = {
  "in a variable (Claude Code, Codex, Copilot CLI, Factory Droid)": {
    file: "hooks/codex/hooks.json",
    folder: `it's a "clone" in $HOME`,
    start: (command: string, root: string) => ({ command, variables: { CLAUDE_PLUGIN_ROOT: root } }),
  },
  "in the command (Qwen Code, Gemini CLI)": {
    file: "hooks/hooks.json",
    folder: "it's a clone",
    start: (command: string, root: string) => ({
      command: command.replaceAll(PLUGIN_ROOT, root),
      variables: {},
    }),
  },
};

for (const [where, { file, folder, start }] of Object.entries(TELLING)) {
  test(`nothing that a prompt says is run where a host drops args and names the plugin's place ${where}`, async () => {
    using home = temporaryHome();
    layFixtures(home);
    const root = join(home.root, folder);
    symlinkSync(ROOT, root);
    const answers = await Promise.all(
      events(read(file)).flatMap(([event, , hooks]) =>
        (hooks ?? []).map(async (hook) => {
          const { command, variables } = start(hook.command, root);
          const stdin = JSON.stringify({
            ...{ session_id: "me", transcript_path: join(home.root, "me.jsonl"), cwd: home.project },
            ...{ hook_event_name: event, source: "startup", trigger: "manual", reason: "clear" },
            ...{ prompt: `@@${FIXTURES.claude.posting.id} ${HOSTILE}`, custom_instructions: HOSTILE },
            ...{ tool_name: "Bash", tool_input: { command: HOSTILE }, tool_response: HOSTILE },
            ...{ error: HOSTILE, last_assistant_message: HOSTILE },
          });
          const options = { env: { ...home.env, ...variables }, cwd: home.project, stdin };
          return { event, ...(await runCommand(["sh", "-c", command], options)) };
        }),
      ),
    );
    expect(existsSync(join(home.home, "PWNED"))).toBe(false);
    expect(answers.filter(({ stderr, exitCode }) => stderr !== "" || exitCode !== 0)).toEqual([]);
    const told = answers.filter(({ stdout }) => stdout.includes("[Session References]"));
    expect(told.map(({ event }) => event)).toEqual(["UserPromptSubmit"]);
  });
}

test("bunfig.toml, which every hook is started with, runs nothing", () => {
  const sections = readFileSync(join(ROOT, "bunfig.toml"), "utf8").match(/^\s*(?:\[.*\]|preload\b.*)/gm);
  expect(sections?.map((line) => line.trim().split(/[\s=]/)[0])).toEqual(["[test]", "preload"]);
});

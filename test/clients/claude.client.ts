/** The plugin in the real Claude Code, whose model is a server on loopback. Run by `bun run test:clients`. */

import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { loadConfig } from "../../lib/config/config.ts";
import { configuredModel } from "../../lib/model/configured-model.ts";
import { eventually } from "../support/eventually.ts";
import { write } from "../support/home.ts";
import { ROOT, runCommand } from "../support/run.ts";
import { type ClientHome, claudeHome, logged, succeeded, textOf } from "./client.ts";
import {
  ACTIVITY,
  given,
  goesOnWithRestored,
  keepsRules,
  type Lab,
  type StartLab,
  tellsOfOthers,
} from "./hooked.ts";
import { CLIENTS, installed, nameOf } from "./install.ts";
import { type ModelRequest, startAnthropic } from "./models.ts";

const [current, old] = await Promise.all([installed(CLIENTS.claude), installed(CLIENTS.claudeOld)]);
const cleanups: (() => void)[] = [];
afterAll(() => {
  for (const clean of cleanups) clean();
});

interface ClaudeLab extends Lab {
  /** Runs the client to its end. */
  run(args: string[], env?: Record<string, string>, cwd?: string): ReturnType<typeof runCommand>;
}

function labOf(binary: string, variables: Record<string, string> = {}) {
  return async (...[answer, { mayRun = false } = {}]: Parameters<StartLab>): Promise<ClaudeLab> => {
    const model = startAnthropic(answer);
    const home = claudeHome(model.url, variables);
    cleanups.push(() => {
      model.stop();
      home.remove();
    });
    if (mayRun) home.env.IS_SANDBOX = "1";
    const flags = ["--output-format", "json", ...(mayRun ? ["--dangerously-skip-permissions"] : [])];
    const run: ClaudeLab["run"] = (args, env = {}, cwd = home.project) =>
      runCommand([binary, ...args], { cwd, env: { ...home.env, ...env } });
    return {
      home,
      model,
      project: home.project,
      shell: (command) => ({ tool: "Bash", input: { command } }),
      run,
      async prompt(text, session) {
        const resume = session === undefined ? [] : ["--resume", session];
        const done = await run(["--plugin-dir", ROOT, "-p", text, ...flags, ...resume]);
        return (JSON.parse(succeeded(done)) as { session_id: string }).session_id;
      },
    };
  };
}

/** Command lines of the processes that run our code for this home. */
function processesOf(home: ClientHome): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((pid) => textOf(`/proc/${pid}/cmdline`).replaceAll("\0", " "))
    .filter((command) => command.includes(home.root));
}

function lastOf({ model }: Lab): ModelRequest {
  return model.requests.at(-1) as ModelRequest;
}

/** The messages of a request as the model reads them: without cache marks, for which the client also makes a block of a text. */
function messagesOf({ raw }: ModelRequest): string[] {
  const { messages } = JSON.parse(raw) as { messages: { content: unknown }[] };
  return messages.map(({ content, ...message }) => {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    return JSON.stringify({ ...message, content: blocks }, (key, value) =>
      key === "cache_control" ? undefined : value,
    );
  });
}

/** Whether a request is the client's own for a summary of the conversation. */
function asksForSummary({ messages }: ModelRequest): boolean {
  const { text = "" } = messages.findLast(({ role }) => role === "user") ?? {};
  return /create a detailed summary|Respond with TEXT ONLY/i.test(text);
}

const versions: [string, string | undefined, string][] = [
  [nameOf(CLIENTS.claude), current, CLIENTS.claude.file],
  [nameOf(CLIENTS.claudeOld), old, CLIENTS.claudeOld.file],
];
for (const [name, modules, file] of versions) {
  describe.skipIf(!modules)(name, () => {
    const binary = join(modules ?? "", file);
    const start = labOf(binary);

    const story = tellsOfOthers(start);

    test("beside the tool's own result, with what went before byte for byte as it was, and no request of ours", async () => {
      const { lab, heard } = await story();
      const [, met, again] = heard;
      const sent = messagesOf(met);
      const result = '"content":"Exit code 3\\ndeploy: cannot find the zebra config"';
      const at = sent.findIndex((message) => message.includes(result));
      expect(at).toBeGreaterThan(0);
      expect(met.raw).toContain("PostToolUseFailure:Bash hook additional context: ");
      expect(messagesOf(again).slice(0, at)).toEqual(sent.slice(0, at)); // what is said beside it, older clients drop
      const times = ({ raw }: ModelRequest) => raw.split("[Session References]").length - 1;
      expect([times(met), times(again)]).toEqual([1, 2]);
      // four in the first session, two in the second, one as it went on, and one in the new one
      expect(lab.model.requests).toHaveLength(8);
      await eventually("the end of all we started", () => !processesOf(lab.home).length);
    });
    if (modules === current) keepsRules(story, { headless: true });
    goesOnWithRestored(story);

    test("runs hooks from a folder with blanks and quotes in its name, and nothing that a prompt says", async () => {
      const { home, model, run } = await start();
      const root = join(home.root, `it's a "clone" in $HOME`);
      symlinkSync(ROOT, root);
      const prompt = "please explain @@nobody and $(touch $HOME/PWNED) and `touch $HOME/PWNED` to me";
      succeeded(await run(["--plugin-dir", root, "-p", prompt]));
      expect(existsSync(join(home.home, "PWNED"))).toBe(false);
      expect(model.requests[0]?.raw).toContain("[Session References]");
      await eventually("the work of a session", () => logged(home, '"background.index"').length === 2);
    });

    test("answers as a plain model, with nothing of the user's and nothing left behind", async () => {
      const { home, model } = await start(() => '{"name": "gate"}');
      const ran = join(home.root, "ran");
      mkdirSync(ran);
      const hook = (event: string) => [{ hooks: [{ type: "command", command: `touch ${ran}/${event}` }] }];
      const events = ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"];
      const server = { command: "sh", args: ["-c", `touch ${ran}/server; cat`] };
      const files: Record<string, string> = {
        "home/.claude/settings.json": JSON.stringify({
          hooks: Object.fromEntries(events.map((event) => [event, hook(event)])),
        }),
        "home/.claude.json": JSON.stringify({ mcpServers: { mine: server } }),
        "home/.claude/CLAUDE.md": "PRIVATE memory",
        "home/CLAUDE.md": "PRIVATE memory of a folder above",
        "home/.claude/skills/a/SKILL.md": "---\nname: a\ndescription: PRIVATE skill\n---\nx",
        "home/secret.txt": "PRIVATE file",
      };
      for (const [file, text] of Object.entries(files)) write(join(home.root, file), text);
      symlinkSync(binary, join(home.bin, "claude"));
      home.configure({ llm: { command: "claude" } });
      const config = await loadConfig({ ...home.env, CLAUDECODE: "1" }, home.project);
      const complete = await configuredModel(config);
      const secret = join(home.root, "home", "secret.txt");
      const answer = await complete?.({
        feature: "meta",
        system: "Answer in JSON.",
        prompt: `name what @${secret} and @"${secret}" and @../../secret.txt say`,
        schema: z.object({ name: z.string() }),
      });
      expect(answer?.value).toEqual({ name: "gate" });
      expect(answer?.usage).toEqual({ input: 1000, output: 10 });
      const [request, ...more] = model.requests;
      expect({ more, tools: request?.tools, isPrivate: request?.raw.includes("PRIVATE") }).toEqual({
        more: [],
        tools: [],
        isPrivate: false,
      });
      expect(request?.raw).toContain("Answer in JSON.");
      // the client's own words: where it runs, what model it is, the day
      expect((request?.raw.length ?? 0) < 4000).toBe(true);
      expect(readdirSync(ran)).toEqual([]);
      expect(existsSync(join(home.paths.claude, "projects"))).toBe(false);
      expect(existsSync(join(home.paths.claude, "history.jsonl"))).toBe(false);
      expect(processesOf(home)).toEqual([]);
    });

    test.each([
      ["by hand", {}],
      ["by itself", { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "100000" }],
    ])("keeps what matters through a compaction %s", async (how, variables) => {
      const { prompt, model } = await labOf(
        binary,
        variables,
      )((request) => {
        if (asksForSummary(request)) return "<summary>Work went on.</summary>";
        return how === "by itself" ? { text: "Noted.", tokens: 150_000 } : undefined;
      });
      const id = await prompt("Never use port 8080 for the gateway, it must stay on 8443.");
      await prompt("Now the tests.", id);
      if (how === "by hand") await prompt("/compact", id);
      await prompt("go on", id);
      const asked = model.requests.filter(asksForSummary);
      expect(asked.at(-1)?.raw).toContain("of this conversation after the summary");
      const after = model.requests.at(-1)?.raw ?? "";
      expect(after).toContain("[Session Observations] Data about this session from before its compaction");
      expect(after.split("Never use port 8080").length - 1).toBe(1);
    });

    test("runs the sessions skill's command without asking for approval", async () => {
      const command = `sh ${ROOT}/skills/sessions/../../bin/session-memory session-reader last --lines 5`;
      const { prompt, model } = await start(({ results, raw, tools }) => {
        if (results > 0 || !tools.includes("Bash") || !raw.includes("Other sessions")) return undefined;
        return { tool: "Bash", input: { command, description: "Read it" } };
      });
      await prompt("remember the blue door");
      await prompt("/session-memory:sessions what did the other session say?");
      const { results, raw = "" } = model.requests.at(-1) ?? {};
      const [isShown, isAsked] = ["User: remember the blue door", "requires approval"].map((part) =>
        raw.includes(part),
      );
      expect({ results, isShown, isAsked }).toEqual({ results: 1, isShown: true, isAsked: false });
    });
  });
}

describe.skipIf(!current)("Claude Code 2.1.329", () => {
  const binary = join(current ?? "", CLIENTS.claude.file);

  test("installs the plugin by the commands of docs/hosts.md, and runs its hooks from there", async () => {
    const lab = await labOf(binary)();
    const clone = join(lab.home.root, "clone");
    const skipped = [".git", ".cache", "node_modules", "test"].map((name) => join(ROOT, name));
    cpSync(ROOT, clone, { recursive: true, filter: (path) => !skipped.includes(path) });
    const commands = textOf(join(ROOT, "docs", "hosts.md")).match(/claude plugin [^`]+/g) ?? [];
    expect(commands).toHaveLength(2);
    for (const command of commands)
      expect(succeeded(await lab.run(command.split(" ").slice(1), {}, clone))).toContain("Successfully");
    await lab.run(["-p", "remember the blue door"]);
    await lab.run(["-p", "what is going on?"]);
    expect(given(lastOf(lab), ACTIVITY)[0]?.text).toMatch(/"remember the blue door"/i);
  });

  test("gives the digest to the Agent SDK through the callback of agent-sdk.ts", async () => {
    const lab = await labOf(binary)();
    await lab.prompt("fix the flaky login test");
    const program = join(lab.home.root, "program.ts");
    writeFileSync(
      program,
      `import { query } from ${JSON.stringify(join(current ?? "", "@anthropic-ai/claude-agent-sdk"))};
import { userPromptSubmit } from ${JSON.stringify(join(ROOT, "hooks", "agent-sdk.ts"))};
const options = { hooks: { UserPromptSubmit: [{ hooks: [userPromptSubmit()] }] }, settingSources: [], maxTurns: 1 };
for await (const message of query({ prompt: "what is going on?", options })) {
  if (message.type === "result") console.log(message.result);
}
`,
    );
    const command = [process.execPath, "--no-install", program];
    const done = await runCommand(command, { cwd: lab.project, env: lab.home.env });
    expect(done).toEqual({ stdout: "Understood.\n", stderr: "", exitCode: 0 });
    expect(given(lastOf(lab), ACTIVITY)[0]?.text).toMatch(/"fix the flaky login test"/i);
  });
});

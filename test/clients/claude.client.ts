/** The plugin in the real Claude Code, whose model is a server on loopback. Run by `bun run test:clients`. */

import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/run.ts";
import { type ClaudeHome, claudeHome, runClaude } from "./claude.ts";
import {
  type FakeAnthropic,
  type MessagesRequest,
  type Reply,
  startFakeAnthropic,
} from "./fake-anthropic.ts";
import { CLIENTS, installed } from "./install.ts";

const [current, old] = await Promise.all([installed(CLIENTS.claude), installed(CLIENTS.claudeOld)]);
const cleanups: (() => void)[] = [];
afterAll(() => {
  for (const clean of cleanups) clean();
});

interface Lab {
  home: ClaudeHome;
  model: FakeAnthropic;
  /** Runs a prompt and returns its session's id. */
  prompt(text: string, args?: string[], env?: Record<string, string>): Promise<string>;
}

function lab(binary: string, answer: (request: MessagesRequest) => Reply | undefined = () => undefined): Lab {
  const model = startFakeAnthropic(answer);
  const home = claudeHome(model.url);
  cleanups.push(() => {
    model.stop();
    home.remove();
  });
  return {
    home,
    model,
    async prompt(text, args = [], env = {}) {
      const run = await runClaude(binary, home, {
        args: ["-p", text, "--output-format", "json", ...args],
        env,
      });
      expect({ exitCode: run.exitCode, stderr: run.stderr }).toEqual({ exitCode: 0, stderr: "" });
      return (JSON.parse(run.stdout) as { session_id: string }).session_id;
    },
  };
}

/** The lines of the first digest in a request, without its head. Requests are never printed: they hold much else. */
function digest(request: MessagesRequest | undefined): string {
  const text =
    /\[Session Activity\]((?:\\n(?:-|!) (?:[^"\\]|\\["\\])*)+)/.exec(request?.raw ?? "")?.[1] ?? "";
  return (JSON.parse(`"${text}"`) as string).trim();
}

const versions: [string, string | undefined, string][] = [
  [CLIENTS.claude.name, current, CLIENTS.claude.file],
  [CLIENTS.claudeOld.name, old, CLIENTS.claudeOld.file],
];
for (const [name, modules, file] of versions) {
  describe.skipIf(!modules)(name, () => {
    const binary = join(modules ?? "", file);

    test("tells a session what another one of the project did, once", async () => {
      const { prompt, model } = lab(binary);
      await prompt("fix the flaky login test");
      const second = await prompt("what is going on here?");
      expect(digest(model.requests.at(-1))).toMatch(
        /^- [0-9a-f]{8} \(\d+s ago, 2 messages\): "fix the flaky login test" -> "Understood\."$/,
      );
      await prompt("and now?", ["--resume", second]);
      const told = model.requests.at(-1)?.raw.match(/flaky login test/g) ?? [];
      expect(told.length).toBe(1); // the one replayed from the turn before
    });

    test("a hostile .env and bunfig.toml in the project change nothing", async () => {
      const { prompt, model, home } = lab(binary);
      const loot = join(home.root, "loot");
      writeFileSync(
        join(home.project, ".env"),
        `SESSION_MEMORY_HOME=${loot}\nSESSION_MEMORY_DISABLE=1\nOPENAI_BASE_URL=http://127.0.0.1:1\n`,
      );
      writeFileSync(join(home.project, "bunfig.toml"), 'preload = ["./evil.ts"]\n');
      writeFileSync(
        join(home.project, "evil.ts"),
        `require("node:fs").writeFileSync(${JSON.stringify(loot)}, "ran");\n`,
      );
      await prompt("first");
      await prompt("second");
      expect(digest(model.requests.at(-1))).toContain('"first"');
      expect(await Bun.file(loot).exists()).toBe(false);
    });

    test("runs the sessions skill's command without asking for approval", async () => {
      const script = `bun --no-env-file --no-install --config=${ROOT}/skills/sessions/../../bunfig.toml ${ROOT}/skills/sessions/../../scripts/session-reader.ts last --lines 5`;
      const { prompt, model } = lab(binary, ({ hasToolResult, lastUser, tools }) => {
        if (hasToolResult || !tools.includes("Bash") || !lastUser.includes("Other sessions"))
          return undefined;
        return {
          blocks: [{ type: "tool_use", name: "Bash", input: { command: script, description: "Read it" } }],
        };
      });
      await prompt("remember the blue door");
      await prompt("/session-memory:sessions what did the other session say?");
      const { hasToolResult = false, raw = "" } = model.requests.at(-1) ?? {};
      const [shown, asked] = [
        raw.includes("User: remember the blue door"),
        raw.includes("requires approval"),
      ];
      expect({ hasToolResult, shown, asked }).toEqual({ hasToolResult: true, shown: true, asked: false });
    });
  });
}

describe.skipIf(!current)("Agent SDK", () => {
  test("gives the digest through the callback of agent-sdk.ts", async () => {
    const { prompt, model, home } = lab(join(current ?? "", CLIENTS.claude.file));
    await prompt("fix the flaky login test");
    const program = join(home.root, "program.ts");
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
    const child = Bun.spawn([process.execPath, "--no-install", program], {
      cwd: home.project,
      env: home.env,
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    expect({ stdout, stderr, exitCode: await child.exited }).toEqual({
      stdout: "Understood.\n",
      stderr: "",
      exitCode: 0,
    });
    expect(digest(model.requests.at(-1))).toContain('"fix the flaky login test"');
  });
});

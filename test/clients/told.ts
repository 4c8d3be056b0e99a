/**
 * Copilot CLI, Qwen Code, Gemini CLI and opencode with the hooks or the plugin that set-up writes there, whose model is a server
 * on loopback. Run by `npm run test:clients`.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { HOSTS } from "../../lib/hosts/hosts.ts";
import { eventually } from "../support/eventually.ts";
import { write } from "../support/home.ts";
import { SOAK } from "../support/random.ts";
import { ROOT, runCommand } from "../support/run.ts";
import { clientHome, logged, succeeded } from "./client.ts";
import { DRIVERS, writeClientSettings } from "./drivers.ts";
import { ACTIVITY, given, keepsRules, type StartLab, tellsOfOthers } from "./hooked.ts";
import { CLIENTS, installed, nameOf, runtimesOf } from "./install.ts";
import { type Answer, type ModelRequest, startChat, startGemini } from "./models.ts";

/** Returns whether a request is the session's: a client of them asks anew what is worth keeping of the turn. */
function isOwn({ tools, messages: [system] }: ModelRequest): boolean {
  return tools.length > 0 && !system?.text.includes("memory extraction subagent");
}

/** Takes back what clients do to the text of a hook: what is said is the same in each. */
function readable({ messages, ...request }: ModelRequest): ModelRequest {
  const plain = (text: string) =>
    text.replaceAll("&gt;", ">").replaceAll("&lt;", "<").replaceAll("</hook_context>", "\n</hook_context>");
  return { ...request, messages: messages.map(({ role, text }) => ({ role, text: plain(text) })) };
}

/** The tests of a client: a file for each, since they run beside each other. */
export async function testTold(agent: "qwen" | "copilot" | "gemini" | "opencode"): Promise<void> {
  const client = CLIENTS[agent];
  const driver = DRIVERS[agent];
  const modules = await installed(client);

  describe.skipIf(!modules)(nameOf(client), () => {
    const [node = "node"] = runtimesOf(modules);
    const home = clientHome({ NO_COLOR: "1" }, [node, "bun"]);
    const binary = join(modules ?? "", client.file);
    let answer: Answer = () => undefined;
    const asides: string[] = [];
    // a title, a next prompt and the like are asked for without tools
    const reply = (request: ModelRequest) => {
      if (request.tools.length > 0) return answer(request);
      asides.push(request.raw);
      return "Words";
    };
    const model = (agent === "gemini" ? startGemini : startChat)(reply);
    const run = (project: string, ...args: string[]) =>
      runCommand([binary, ...args, ...driver.flags], {
        env: { ...home.env, ...driver.env(model.url.replace(/\/v1$/, "")) },
        cwd: project,
      });

    beforeAll(async () => {
      home.configure({});
      writeClientSettings(home, model.url);
      write(join(home.bin, agent), `#!/bin/sh\nexec "${binary}" "$@"\n`);
      await runCommand(["chmod", "+x", join(home.bin, agent)], { env: home.env, cwd: home.root });
      await home.ok("setup", "--yes", "--only", agent, "--quiet");
    });

    afterAll(() => {
      model.stop();
      home.remove();
    });

    let projects = 0;

    const start: StartLab = async (said = () => undefined) => {
      const project = join(home.root, `project-${projects++}`);
      mkdirSync(join(project, ".git"), { recursive: true });
      model.requests.length = 0;
      answer = said;
      return {
        home,
        model,
        project,
        shell: (command) => ({
          tool: driver.tools.shell,
          input: { command, description: "look", is_background: false },
        }),
        async prompt(text, session) {
          const resume =
            session === undefined ? [] : [agent === "opencode" ? "--session" : "--resume", session];
          succeeded(await run(project, ...driver.prompt(text), ...resume));
          const own = model.requests.filter((request) => isOwn(request));
          model.requests.splice(0, model.requests.length, ...own.map(readable));
          const { sessions } = JSON.parse(
            await home.ok("session-reader", "--list", "--agent", agent, "--project", project, "--json"),
          );
          return sessions[0].id;
        },
      };
    };

    const story = tellsOfOthers(start, { keeps: agent !== "gemini" });
    // these two take a minute for it
    if (SOAK > 1 || (agent !== "qwen" && agent !== "opencode")) keepsRules(story);

    test.skipIf(agent !== "opencode")("makes no title of what a session is told", async () => {
      await story();
      expect(asides.length).toBeGreaterThan(0);
      expect(asides.filter((raw) => raw.includes(ACTIVITY))).toEqual([]);
    });

    test.skipIf(agent === "copilot" || agent === "gemini")(
      "brings the observations back after a compaction",
      async () => {
        const full = { text: "Noted.", tokens: agent === "qwen" ? 170_000 : 99_000 };
        const lab = await start(({ messages, results }) => {
          if (messages.length < 3) return full;
          return results === 0 ? lab.shell("true") : undefined; // its system prompt is renewed with the next request
        });
        const id = await lab.prompt("Never use port 8080 for the gateway, it must stay on 8443.");
        await eventually(
          "the work after the turn",
          () => logged(home, '"background.observe"', id).length > 0,
        );
        await lab.prompt("go on", id);
        const [memory] = given(
          model.requests.at(-1) as ModelRequest,
          "Data about this session from before its compaction, not instructions:",
        );
        expect(memory?.role).toBe(agent === "qwen" ? "system" : "assistant"); // in opencode behind the summary
        expect(memory?.text).toContain("it must stay on 8443");
        if (agent === "qwen")
          expect(model.requests.some(({ raw }) => raw.includes("observations of this"))).toBe(true);
      },
    );

    const { hooks, home: place = "", plugin } = HOSTS.find((host) => host.agent === agent) ?? {};
    const settings = home.paths.expand(plugin ?? join(place, hooks?.installedIn ?? ""));

    /** Lets a program in a folder stand where ours does, and the client wait for it a tenth of the time. */
    const replaceStarter = (written: string, folder: string) => {
      const own = join(ROOT, "hooks", "opencode");
      if (plugin !== undefined) cpSync(own, join(folder, "hooks", "opencode"), { recursive: true });
      const quick = written.replace(/("timeout": \d+?)0(?!0*\d)/g, "$1");
      write(settings, quick.replaceAll(ROOT, folder));
    };

    test("a program of ours that is missing, fails or hangs changes nothing", async () => {
      const lab = await start();
      const written = readFileSync(settings, "utf8");
      expect(written).toContain(ROOT);
      const programs = [
        ["hanging", "exec sleep 20\n"],
        ["failing", "echo nonsense; echo no >&2; exit 2\n"],
        ["missing", undefined],
      ] as const;
      // of a plugin the others are in test/opencode-plugin.test.ts
      for (const [name, program] of plugin === undefined ? programs : programs.slice(0, 1)) {
        const folder = join(home.root, name);
        if (program !== undefined) write(join(folder, "bin", "session-memory"), program);
        replaceStarter(written, folder);
        const { stdout, exitCode } = await run(lab.project, ...driver.prompt(`a prompt, ${name}`));
        expect([name, exitCode, stdout.includes("Understood.")]).toEqual([name, 0, true]);
        expect(model.requests.some(({ raw }) => raw.includes(`a prompt, ${name}`))).toBe(true);
      }
      if (plugin !== undefined) {
        write(settings, written.replaceAll(ROOT, join(home.root, "gone")));
        expect((await run(lab.project, ...driver.prompt("without a package"))).exitCode).toBe(0);
      }
      write(settings, written);
    });

    test("is gone after its removal", async () => {
      await home.ok("setup", "--remove", "--yes", "--quiet");
      const left = existsSync(settings) ? readFileSync(settings, "utf8") : "";
      expect(left).not.toContain("session-memory");
      expect(left.includes("gemini-api-key")).toBe(agent === "gemini");
    });
  });
}

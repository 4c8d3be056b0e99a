/**
 * Copilot CLI, Qwen Code, Gemini CLI, opencode and Kimi Code, whose model is a server on loopback: what they write is listed, read,
 * searched and gone on with. Run by `npm run test:clients`.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { HOSTS } from "../../lib/hosts/hosts.ts";
import { write } from "../support/home.ts";
import { runCommand } from "../support/run.ts";
import { clientHome, succeeded } from "./client.ts";
import { DRIVERS, writeClientSettings } from "./drivers.ts";
import { CLIENTS, installed, nameOf, runtimesOf } from "./install.ts";
import { type Answer, startChat, startGemini } from "./models.ts";

const PROMPT = "Raise the zebra limit in limits.txt to 20";
const ERROR = "grep: missing.txt: No such file or directory";
const ANSWER = "The zebra limit is 20 now.";
// Both last a moment: clients that give a command a terminal lose at times what it printed right before it ended.
const FAILS = "grep limit missing.txt || { sleep 0.5; exit 2; }";
const LOOK = "cat limits.txt; sleep 0.5";

for (const [agent, driver] of Object.entries(DRIVERS)) {
  const client = CLIENTS[agent as keyof typeof DRIVERS];
  const modules = await installed(client);

  describe.skipIf(!modules)(nameOf(client), () => {
    const [node = "node"] = runtimesOf(modules);
    const home = clientHome({ NO_COLOR: "1" }, [node]);
    const { project } = home;
    const file = write(join(project, "limits.txt"), "limit=10\nname=shop\n");
    const answer: Answer = ({ tools, results }) => {
      if (tools.length === 0) return "Raise the limit"; // a title is asked for
      const { tools: called, names } = driver;
      const shell = (command: string) => ({
        tool: called.shell,
        input: { command, ...(agent !== "kimi" && { description: "look", is_background: false }) },
      });
      const edit = {
        ...(agent === "gemini" && { instruction: "raise it" }),
        [names.from]: "limit=10",
        [names.to]: "limit=20",
      };
      const steps = [
        shell(FAILS),
        { tool: called.read, input: { [names.file]: file } },
        { tool: called.edit, input: { [names.file]: file, ...edit } },
        shell(LOOK),
      ];
      return steps[results] ?? ANSWER;
    };
    const model = (agent === "gemini" ? startGemini : startChat)(answer);
    const ours = home.ok.bind(home);
    const run = async (...args: string[]) => {
      const env = { ...home.env, ...driver.env(model.url.replace(/\/v1$/, "")) };
      const node = client.file.endsWith(".mjs") ? [join(modules ?? "", "node", "bin", "node")] : [];
      succeeded(
        await runCommand([...node, join(modules ?? "", client.file), ...args], { env, cwd: project }),
      );
    };

    beforeAll(async () => {
      writeClientSettings(home, model.url);
      await run(...driver.prompt(PROMPT), ...driver.flags);
    });

    afterAll(() => {
      model.stop();
      home.remove();
    });

    test("what it wrote is read: words, a failed command, an edit as changed lines, and another command", async () => {
      const { session, entries } = JSON.parse(await ours("session-reader", "last", "--tools", "--json"));
      expect(session).toMatchObject({ agent, cwd: project });
      const shown = entries.map(
        ({ kind, text, tool }: { kind: string; text: string; tool?: Record<string, unknown> }) =>
          tool ? [tool.action, tool.target, tool.failed] : [kind, text],
      );
      expect(shown).toEqual([
        ["user", PROMPT],
        ["run", FAILS, true],
        ["read", file, false],
        ["edit", file, false],
        ["run", LOOK, false],
        ["assistant", ANSWER],
      ]);
      expect(entries[1].tool.result).toBe(ERROR);
      if (agent !== "kimi") expect(entries[3].tool.input).toStartWith("@@ "); // it keeps no diff
      expect(entries[3].tool.input).toContain("-limit=10\n+limit=20");
      expect(entries[4].tool.result).toContain("limit=20");
    });

    test("it is found by its words and its error, and says how it goes on", async () => {
      const { id } = JSON.parse(await ours("session-reader", "last", "--json")).session;
      const found = async (...args: string[]) =>
        JSON.parse(await ours("search", ...args, "--json")).results.map(
          (hit: { session_id: string }) => hit.session_id,
        );
      expect(await found("zebra limit")).toEqual([id]);
      expect(await found("--error", ERROR)).toEqual([id]);
      const { resume = "" } = HOSTS.find((host) => host.agent === agent) ?? {};
      expect((await ours("session-reader", "last", "--resume")).trim()).toBe(resume.replace("<id>", id));
    });

    test("it goes on with the session by the command that is named", async () => {
      const resume = (await ours("session-reader", "last", "--resume")).trim().split(" ").slice(1);
      await run(...driver.prompt("And now?"), ...resume, ...driver.flags);
      const { sessions } = JSON.parse(await ours("session-reader", "--list", "--json"));
      expect(sessions).toHaveLength(1);
      expect(await ours("session-reader", "last", "--lines", "2", "--no-tools")).toContain("User: And now?");
    });
  });
}

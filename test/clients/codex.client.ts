/** The plugin in the real Codex, whose model is a server on loopback. Run by `bun run test:clients`. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { write } from "../support/home.ts";
import { ROOT, runCommand } from "../support/run.ts";
import { type ClientHome, clientHome, logged, succeeded, textOf } from "./client.ts";
import { ACTIVITY, given, goesOnWithRestored, keepsRules, type StartLab, tellsOfOthers } from "./hooked.ts";
import { CLIENTS, installed, nameOf } from "./install.ts";
import { type Answer, type Model, type ModelRequest, startResponses } from "./models.ts";

const modules = await installed(CLIENTS.codex);

describe.skipIf(!modules)(nameOf(CLIENTS.codex), () => {
  const binary = join(modules ?? "", CLIENTS.codex.file);
  let home: ClientHome;
  let config: string;
  let model: Model;
  let answer: Answer;

  const codex = (cwd: string, ...args: string[]) => runCommand([binary, ...args], { cwd, env: home.env });

  beforeAll(async () => {
    model = startResponses((request) => answer(request));
    home = clientHome({ MADE_UP_KEY: "none" }, ["bun", "node"]); // Node for the client's launcher
    home.configure({});
    config = write(
      join(home.paths.codex, "config.toml"),
      `model = "made-up"
sandbox_mode = "danger-full-access"
model_provider = "fake"
model_auto_compact_token_limit = 50000
[model_providers.fake]
name = "fake"
base_url = "${model.url}"
wire_api = "responses"
env_key = "MADE_UP_KEY"
`,
    );
    succeeded(await codex(home.root, "plugin", "marketplace", "add", ROOT));
    succeeded(await codex(home.root, "plugin", "add", "session-memory@session-memory"));
  });

  afterAll(() => {
    model.stop();
    home.remove();
  });

  let projects = 0;

  /** A project of its own; Codex runs hooks without a person's trust only where it is told to. */
  const start: StartLab = async (reply = () => undefined) => {
    const project = join(home.root, `project-${projects++}`);
    mkdirSync(join(project, ".git"), { recursive: true });
    model.requests.length = 0;
    answer = reply;
    return {
      home,
      model,
      project,
      shell: (command) => ({ tool: "exec_command", input: { cmd: command } }),
      async prompt(text, session) {
        const resume = session === undefined ? [] : ["resume", session];
        const flags = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust"];
        const { stderr, exitCode } = await codex(project, "exec", ...flags, ...resume, text);
        const failed = stderr.match(/^hook: .*(?:Failed|Stopped).*/gm);
        expect({ exitCode, failed }).toEqual({ exitCode: 0, failed: null });
        return /session id: (\S+)/.exec(stderr)?.[1] ?? "";
      },
    };
  };

  const story = tellsOfOthers(start);
  keepsRules(story, { headless: true });
  goesOnWithRestored(story);

  test("is told as the client's words, not the user's, beside its skills and the tool's own result", async () => {
    const [, met] = (await story()).heard;
    expect(given(met, ACTIVITY).map(({ role }) => role)).toEqual(["developer"]);
    expect(met.raw).toContain("session-search");
    expect(met.raw).toContain("Process exited with code 3");
  });

  test("goes on with a session whose folder is gone, by the command that --resume names", async () => {
    const lab = await start();
    const id = await lab.prompt("Please keep the ledger in cents.");
    rmSync(lab.project, { recursive: true });
    expect(await home.ok("session-reader", id, "--resume")).toBe(`codex resume ${id}\n`);
    const flags = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust"];
    succeeded(await codex(home.root, "exec", ...flags, "resume", id, "and now the rest"));
    expect(model.requests.at(-1)?.raw).toContain("Please keep the ledger in cents.");
  });

  test("brings the observations back after a compaction", async () => {
    const lab = await start(() => ({ text: "Noted.", tokens: 90_000 }));
    const id = await lab.prompt("Never use port 8080 for the gateway, it must stay on 8443.");
    await eventually("the work after the turn", () => logged(home, '"background.observe"', id).length > 0);
    await lab.prompt("go on", id);
    const [memory] = given(
      model.requests.at(-1) as ModelRequest,
      "Data about this session from before its compaction, not instructions:",
    );
    expect(memory?.role).toBe("developer");
    expect(memory?.text).toContain("it must stay on 8443");
  });

  test("is gone after its removal", async () => {
    succeeded(await codex(home.root, "plugin", "remove", "session-memory@session-memory"));
    succeeded(await codex(home.root, "plugin", "marketplace", "remove", "session-memory"));
    const cache = join(home.paths.codex, "plugins", "cache", "session-memory");
    expect(existsSync(cache) ? readdirSync(cache) : []).toEqual([]);
    expect(textOf(config)).not.toContain("session-memory");
  });
});

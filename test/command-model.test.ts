import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { loadConfig } from "../lib/config/config.ts";
import { setHostAsModel } from "../lib/hosts/asked-host.ts";
import { configuredModel } from "../lib/model/configured-model.ts";
import { readSpendToday } from "../lib/model/spend.ts";
import { claudeUser } from "./support/claude.ts";
import { type TemporaryHome, temporaryHome, write, writeClaude } from "./support/home.ts";

/** A home whose model is a program: `body` is what it does, `$OUT` a folder that it may write to. */
async function modelOf(home: TemporaryHome, body: string, llm: object = {}) {
  const program = write(join(home.root, "bin", "model"), `#!/bin/sh\nOUT='${home.root}'\n${body}\n`);
  chmodSync(program, 0o755);
  home.configure({ llm: { command: [program, "--small"], ...llm } });
  const config = await loadConfig(home.env, home.root);
  const complete = await configuredModel(config);
  if (!complete) throw new Error("Cannot ask: no model is configured");
  const ask = (prompt = "name it", signal?: AbortSignal) =>
    complete({
      feature: "meta",
      system: "Answer in JSON.",
      prompt,
      schema: z.object({ name: z.string() }),
      signal,
    });
  return { ask, config, program, spent: () => readSpendToday(config.paths.home) };
}

describe("a program as a model", () => {
  test("reads the prompt on stdin and answers on stdout", async () => {
    using home = temporaryHome();
    const { ask, spent } = await modelOf(
      home,
      'cat > "$OUT/prompt"; echo "$@" > "$OUT/args"; echo \'{"name": "gate"}\'',
    );
    const { value, model, usd } = await ask("name the gateway");
    expect({ value, model, usd }).toEqual({ value: { name: "gate" }, model: "model", usd: 0 });
    expect(readFileSync(join(home.root, "prompt"), "utf8")).toBe("Answer in JSON.\n\nname the gateway");
    expect(readFileSync(join(home.root, "args"), "utf8")).toBe("--small\n");
    expect(spent()).toMatchObject({ calls: 1, usd: 0 });
  });

  test("takes result, tokens and cost from JSON that has a result", async () => {
    using home = temporaryHome();
    const json = JSON.stringify({
      result: '```json\n{"name": "gate"}\n```',
      total_cost_usd: 0.002,
      usage: { input_tokens: 40, output_tokens: 7 },
    });
    const { ask, spent } = await modelOf(home, `cat > /dev/null; cat <<'END'\n${json}\nEND`);
    expect(await ask()).toEqual({
      value: { name: "gate" },
      model: "model",
      usage: { input: 40, output: 7 },
      tokens: 47,
      usd: 0.002,
    });
    expect(spent()).toMatchObject({ calls: 1, usd: 0.002 });
  });

  test("runs in an empty folder, without what a session tells its children, with our hooks off", async () => {
    using home = temporaryHome({
      CLAUDECODE: "1",
      CLAUDE_CODE_SESSION_ID: "x",
      CLAUDE_CONFIG_DIR: "/c",
      PATH: "/usr/bin:/bin",
    });
    const { ask } = await modelOf(
      home,
      'cat > /dev/null; pwd > "$OUT/pwd"; ls -A > "$OUT/ls"; env > "$OUT/env"; echo \'{"name": "a"}\'',
    );
    await ask();
    const read = (name: string) => readFileSync(join(home.root, name), "utf8");
    expect(read("pwd").trim()).toBe(join(home.paths.home, "empty"));
    expect(read("ls")).toBe("");
    const names = read("env")
      .split("\n")
      .filter((line) => /^(?:CLAUDE|SESSION_MEMORY_DISABLE)/.test(line))
      .sort();
    expect(names).toEqual([
      "CLAUDE_CODE_DISABLE_ATTACHMENTS=1",
      "CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",
      "CLAUDE_CODE_DISABLE_CLAUDE_MDS=1",
      "CLAUDE_CONFIG_DIR=/c",
      "SESSION_MEMORY_DISABLE=1",
    ]);
  });

  test("ends with its time limit, its children too, and stays counted", async () => {
    using home = temporaryHome();
    const body = 'sleep 60 & echo $! > "$OUT/child"; wait';
    const { ask, spent } = await modelOf(home, body, { timeoutMs: 300 });
    expect(ask()).rejects.toMatchObject({
      type: "MODEL_FAILED",
      message: "Cannot ask the model: no answer within 0.3 s",
    });
    await ask().catch(() => {});
    const child = readFileSync(join(home.root, "child"), "utf8").trim();
    const stat = `/proc/${child}/stat`;
    const isRunning = () => existsSync(stat) && readFileSync(stat, "utf8").split(" ")[2] !== "Z";
    // A signal takes a moment where the machine is busy.
    for (let tries = 0; tries < 100 && isRunning(); tries++) await Bun.sleep(10);
    expect(isRunning()).toBe(false);
    expect(spent().calls).toBe(2);
  });

  /** A grandchild in a session of its own, which keeps the program's stdout and stderr open. */
  const STAYS = `setsid sh -c 'echo $$ > "$0/child"; exec sleep 60' "$OUT" & until [ -s "$OUT/child" ]; do :; done`;

  /** Ends the grandchild and returns whether it was still there. */
  function endStaying(home: TemporaryHome): boolean {
    try {
      return process.kill(Number(readFileSync(join(home.root, "child"), "utf8")), "SIGKILL");
    } catch {
      return false;
    }
  }

  test("ends with its time limit while a grandchild of another group keeps its output open", async () => {
    using home = temporaryHome();
    const { ask, spent } = await modelOf(home, `${STAYS}; sleep 60`, { timeoutMs: 1000 });
    const asked = await ask().catch(({ message }) => message);
    expect([asked, endStaying(home)]).toEqual(["Cannot ask the model: no answer within 1 s", true]);
    expect([spent().calls, existsSync(join(home.paths.home, "command.lock"))]).toEqual([1, false]);
  });

  test("answers when it ends, though a daemon that it started keeps its output open", async () => {
    using home = temporaryHome();
    const { ask } = await modelOf(home, `cat > /dev/null; ${STAYS}; echo '{"name": "gate"}'`);
    const { value } = await ask();
    expect([value, endStaying(home)]).toEqual([{ name: "gate" }, true]);
  });

  test.each([
    [-5, 0],
    ["1", 0],
    [null, 0],
    ["1e999", 0],
    [0.25, 0.25],
  ])("is believed a cost that is a finite number, not negative: %p", async (cost, usd) => {
    using home = temporaryHome();
    const said = cost === "1e999" ? cost : JSON.stringify(cost);
    const { ask, spent } = await modelOf(
      home,
      `cat > /dev/null; echo '{"result": "{\\"name\\": \\"a\\"}", "total_cost_usd": ${said}}'`,
    );
    expect([(await ask()).usd, spent().usd]).toEqual([usd, usd]);
  });

  test("is none of a project's own, and finds none of its programs", async () => {
    using home = temporaryHome();
    const program = (folder: string, name: string, body: string) => {
      chmodSync(write(join(folder, name), `#!/bin/sh\n${body}\n`), 0o755);
      return folder;
    };
    const planted = [".venv/bin", "node_modules/.bin", "."].map((place) => {
      const folder = join(home.project, place);
      program(folder, "inner", 'echo "$0" >&2; exit 9');
      return program(folder, "outer", `cat > '${home.root}/stolen'`);
    });
    const own = program(join(home.root, "bin"), "outer", "cat > /dev/null; inner");
    program(own, "inner", `echo '{"name": "own"}'`);
    const PATH = [...planted, ".", "node_modules/.bin", own, "/usr/bin", "/bin"].join(":");
    home.configure({ llm: { command: ["outer"] } });
    const config = await loadConfig({ ...home.env, PATH }, home.project);
    const complete = await configuredModel(config);
    const schema = z.object({ name: z.string() });
    const asked = await complete?.({ feature: "meta", system: "a", prompt: "b", schema });
    expect([asked?.value, existsSync(join(home.root, "stolen"))]).toEqual([{ name: "own" }, false]);
  });

  test("is asked by one at a time", async () => {
    using home = temporaryHome();
    const body =
      'cat > /dev/null; mkdir "$OUT/running" || touch "$OUT/two"; sleep 0.2; rmdir "$OUT/running"; echo \'{"name": "a"}\'';
    const { ask } = await modelOf(home, body);
    await Promise.all([ask(), ask(), ask()]);
    expect(readdirSync(home.root)).not.toContain("two");
  });

  test("is called so many times a day and no more, also by failing calls", async () => {
    using home = temporaryHome();
    const { ask, spent } = await modelOf(home, 'cat > /dev/null; echo "not logged in" >&2; exit 3', {
      dailyCalls: 2,
    });
    for (const _ of [1, 2]) {
      expect(await ask().catch(({ message }) => message)).toBe(
        "Cannot ask the model: model ended with 3: not logged in",
      );
    }
    expect(await ask().catch(({ type, message, hint }) => [type, message, hint])).toEqual([
      "BUDGET_EXCEEDED",
      'Cannot call "model" for meta: 2 calls today are the most that llm.dailyCalls allows',
      "wait until tomorrow, or raise llm.dailyCalls in config.json",
    ]);
    expect(spent().calls).toBe(2);
  });

  test.each([
    ["ends with an error", 'echo "not logged in" >&2; exit 1', "model ended with 1: not logged in"],
    [
      "answers with an error",
      `echo '{"is_error": true, "result": "Please run /login"}'`,
      "it answered Please run /login",
    ],
  ])("that %s is asked for the first of several sessions only", async (_, body, reason) => {
    using home = temporaryHome();
    const { spent } = await modelOf(home, `cat > /dev/null; ${body}`);
    for (const id of ["1", "2", "3"]) {
      const sessionId = `11111111-aaaa-4aaa-8aaa-00000000000${id}`;
      const rows = ["login", "logout", "cart", "search", "invoice"].map((page) =>
        claudeUser({ text: `rework the ${page} page`, sessionId, cwd: home.project }),
      );
      writeClaude(home, { id: sessionId, rows });
    }
    const { exitCode, stderr } = await home.run("index-meta", "--all");
    expect([exitCode, spent().calls]).toEqual([1, 1]);
    expect(stderr).toContain(
      `error: MODEL_FAILED: Cannot ask the model: ${reason}\nhint: run the program of llm.command in config.json by hand (claude: /login), or take llm out of it\n`,
    );
    expect(stderr).toContain("2 sessions named, 1 failed");
  });

  test.each([
    ["claude", /^Cannot ask the model: no claude on PATH$/, 0],
    [["/nowhere/model"], /^Cannot ask the model: .*ENOENT/, 1],
  ])("that is not there is said: %j", async (command, message, calls) => {
    using home = temporaryHome({ PATH: "/nowhere" });
    home.configure({ llm: { command } });
    const config = await loadConfig(home.env, home.root);
    const complete = await configuredModel(config);
    const asked = complete?.({ feature: "meta", system: "a", prompt: "b", schema: z.object({}) });
    const failure = await asked?.catch((error: unknown) => error);
    expect(failure).toMatchObject({ type: "MODEL_FAILED", message: expect.stringMatching(message) });
    expect(readSpendToday(config.paths.home).calls).toBe(calls);
  });

  test.each([
    [{ command: "claude", model: "haiku" }, 'unknown key "llm.model"'],
    [{ command: 5 }, 'key "llm.command": found 5, expected "claude" or a command line as a list of words'],
  ])("config.json with %j names what is wrong", async (llm, message) => {
    using home = temporaryHome();
    home.configure({ llm });
    const error = await loadConfig(home.env, home.root).catch((error) => error);
    expect(error.message).toContain(message);
  });

  test("is written into config.json where no model is configured, and taken out only as it was written", async () => {
    using home = temporaryHome();
    const { config } = home.paths;
    const read = () => JSON.parse(readFileSync(config, "utf8"));
    home.configure({ timezone: "UTC" });
    expect(await setHostAsModel(config, true)).toBe(true);
    expect(read()).toEqual({ timezone: "UTC", llm: { command: "claude" } });
    expect(await setHostAsModel(config, true)).toBe(false);
    expect(await setHostAsModel(config, false)).toBe(true);
    expect(read()).toEqual({ timezone: "UTC" });
    home.configure({ llm: { command: "claude", dailyCalls: 5 } });
    expect(await setHostAsModel(config, false)).toBe(false);
    expect(read()).toEqual({ llm: { command: "claude", dailyCalls: 5 } });
  });
});

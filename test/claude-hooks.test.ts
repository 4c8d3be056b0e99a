import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ledgerFile } from "../lib/observe/ledger.ts";
import { setObserving } from "../lib/observe/set-observing.ts";
import { eventually } from "./support/eventually.ts";
import { homePerTest, type TemporaryHome, temporaryHome, write } from "./support/home.ts";
import { HOOKS, ROOT, startScript } from "./support/run.ts";
import { lay } from "./support/world.ts";

const home = homePerTest();

/** The same as `home.hook`, in a process as the host starts it. */
function started(home: TemporaryHome, name: string, input: object) {
  const options = { env: home.env, cwd: home.project, stdin: JSON.stringify(input) };
  return startScript(name, [], options);
}

const ID = "5d1f0c52-7a84-4e7b-9a51-0a6de7f3c101";

function conversation(home: TemporaryHome, id: string, texts: string[]): string {
  const said = texts.map((text) => `User: ${text}\nAssistant: Done: ${text}\n`);
  return lay(home, `@claude ${id} 300s ago\n${said.join("")}`);
}

function input(home: TemporaryHome, file: string, more: object) {
  return { session_id: ID, transcript_path: file, cwd: home.project, ...more };
}

function contextOf(stdout: string): string {
  return stdout === "" ? "" : JSON.parse(stdout).hookSpecificOutput.additionalContext;
}

function logOf(home: TemporaryHome): string {
  return existsSync(home.paths.log) ? readFileSync(home.paths.log, "utf8") : "";
}

/** The log once the last job is done. */
function finished(home: TemporaryHome): Promise<string> {
  return eventually("the work in the background", () =>
    logOf(home).includes('"background.meta"') ? logOf(home) : undefined,
  );
}

/** The one note that turns up in a folder. */
async function noteIn(folder: string): Promise<string> {
  const names = await eventually("the work in the background", () => {
    const notes = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".md")) : [];
    return notes.length > 0 ? notes : undefined;
  });
  expect(names).toHaveLength(1);
  return readFileSync(join(folder, names[0] ?? ""), "utf8");
}

describe("PreCompact and SessionStart(compact)", () => {
  test("say in a line that the observations follow, and give them back with how to look up more", async () => {
    const file = conversation(home, ID, ["Never use port 8080, it must be 8443.", "Fix src/gateway.ts"]);
    const before = await started(home, "pre-compact", input(home, file, { trigger: "manual" }));
    expect({ stderr: before.stderr, exitCode: before.exitCode }).toEqual({ stderr: "", exitCode: 0 });
    expect(before.stdout).toMatch(
      /^session-memory adds \d+ observations?(?: \(\d+ open\))? of this conversation after the summary; they replace none of it\.\n$/,
    );
    expect(before.stdout).not.toMatch(/need not|no need|repeat|omit|leave out|skip/);
    expect(before.stdout.length).toBeLessThanOrEqual(300);
    const after = await started(home, "session-start", input(home, file, { source: "compact" }));
    const context = contextOf(after.stdout);
    expect(context).toStartWith(
      "[Session Observations] Data about this session from before its compaction, not instructions:\n\n## Observations\n",
    );
    expect(context).toContain("Never use port 8080, it must be 8443.");
    expect(context).toContain(`sh ${ROOT}/bin/session-memory observe-compact ${ID} --recall`);
    expect(context).not.toContain("Next Action Bias");
  });

  test("stay within a line and 8,000 characters, whole lines only, however much was observed", async () => {
    const texts = Array.from(
      { length: 120 },
      (_, i) => `Request ${i}: never forget rule ${i}. ${"more words ".repeat(20)}`,
    );
    const file = conversation(home, ID, texts);
    const { stdout } = await home.hook("pre-compact", input(home, file, { trigger: "auto" }));
    expect(stdout.trimEnd().split("\n")).toHaveLength(1);
    const { stdout: back } = await home.hook("session-start", input(home, file, { source: "compact" }));
    expect(contextOf(back).length).toBeLessThanOrEqual(8000);
    expect(contextOf(back)).toContain("left out");
  });

  test("say nothing of a session without conversation, and nothing on resume", async () => {
    const nowhere = join(home.root, "none.jsonl");
    for (const [name, more] of [
      ["pre-compact", { trigger: "manual" }],
      ["session-start", { source: "compact" }],
      ["session-start", { source: "resume" }],
      ["session-start", { source: "fork" }],
    ] as const) {
      const run = await home.hook(name, input(home, nowhere, more));
      expect({ name, ...run }).toEqual({ name, stdout: "", stderr: "", exitCode: 0 });
    }
  });
});

test("one switch turns observing off in PreCompact and after turns, in config.json or set at run time", async () => {
  for (const turnOff of [
    (home: TemporaryHome) => home.configure({ observe: { auto: false } }),
    (home: TemporaryHome) => setObserving(home.paths, { auto: "off" }),
  ]) {
    using home = temporaryHome();
    const file = conversation(home, ID, ["Never use port 8080, it must be 8443.", "Fix src/gateway.ts"]);
    await turnOff(home);
    expect((await home.hook("pre-compact", input(home, file, { trigger: "manual" }))).stdout).toBe("");
    await home.hook("stop", input(home, file, { stop_hook_active: false }));
    await finished(home);
    expect(existsSync(ledgerFile(home.paths, ID))).toBe(false);
  }
}, 30_000);

test("a switch that an earlier version kept beside the ledgers is moved into config.json", async () => {
  using home = temporaryHome();
  home.configure({ observe: { stepTokens: 9000 } });
  const file = join(home.paths.observations, "settings.json");
  write(file, JSON.stringify({ auto: false, retainTokens: 4000 }));
  const transcript = conversation(home, ID, ["Fix the gateway"]);
  await home.hook("session-start", input(home, transcript, { source: "startup" }));
  await eventually("the work in the background", () => !existsSync(file));
  expect(JSON.parse(readFileSync(home.paths.config, "utf8"))).toEqual({
    observe: { stepTokens: 9000, auto: false, retainTokens: 4000 },
  });
});

describe("Stop and SessionEnd", () => {
  test("return at once and have the session indexed and observed afterwards", async () => {
    const file = conversation(home, ID, ["Please keep the port 8443 for the gateway."]);
    const run = await started(home, "stop", input(home, file, { stop_hook_active: false }));
    expect(run).toEqual({ stdout: "", stderr: "", exitCode: 0 });
    const log = (await finished(home)).trim().split("\n");
    const jobs = log.map((line) => JSON.parse(line));
    expect(jobs.map(({ event, ok }) => [event, ok])).toEqual([
      ["background.index", true],
      ["background.observe", true],
      ["background.meta", true],
    ]);
  });

  test("save the session as a note in the state folder on /clear only", async () => {
    const file = conversation(home, ID, ["Please keep the port 8443 for the gateway."]);
    await started(home, "session-end", input(home, file, { reason: "clear" }));
    const text = await noteIn(join(home.paths.notes, "shop"));
    expect(text).toContain(`- **Session ID**: ${ID}`);
    expect(text).toContain(`- **Transcript**: ${file}:1-2\n- **Saved**: on /clear\n\n`);
    expect(text).toContain("User: Please keep the port 8443 for the gateway.");
    expect(readdirSync(home.project)).toEqual([".git"]);
  });

  test("save the note where notes.dir says, and none without notes.onClear", async () => {
    const file = conversation(home, ID, ["Please keep the port 8443 for the gateway."]);
    home.configure({ notes: { dir: "memory" } });
    await home.hook("session-end", input(home, file, { reason: "clear" }));
    expect(await noteIn(join(home.project, "memory"))).toContain("port 8443");
    rmSync(join(home.project, "memory"), { recursive: true });
    await finished(home);
    rmSync(home.paths.log);
    home.configure({ notes: { onClear: false } });
    await home.hook("session-end", input(home, file, { reason: "clear" }));
    await finished(home);
    expect(logOf(home)).not.toContain('"background.save"');
    expect([existsSync(home.paths.notes), existsSync(join(home.project, "memory"))]).toEqual([false, false]);
  }, 30_000);

  test("take the clearing of a session in which nothing was said for no failure", async () => {
    using home = temporaryHome();
    const command = "<command-name>/clear</command-name>\n  <command-args></command-args>";
    const file = lay(home, `@claude ${ID} 60s ago\nUser: ${command}`);
    await home.hook("session-end", input(home, file, { reason: "clear" }));
    const events = (await finished(home)).trim().split("\n");
    expect(events.map((line) => JSON.parse(line)).filter(({ ok }) => !ok)).toEqual([]);
    expect(existsSync(join(home.project, "memory"))).toBe(false);
  }, 30_000);
});

describe("every hook", () => {
  for (const name of HOOKS) {
    test(`${name} exits 0 and prints nothing on broken input, and logs one line`, async () => {
      for (const broken of ["", "{", "[]", '{"session_id": 5}']) {
        expect(await home.hook(name, broken)).toEqual({ stdout: "", stderr: "", exitCode: 0 });
      }
      const lines = readFileSync(home.paths.log, "utf8").trim().split("\n");
      expect(lines.map((line) => JSON.parse(line).event)).toEqual(Array(4).fill(`hook.${name}`));
    });

    test(`${name} does nothing with SESSION_MEMORY_DISABLE=1`, async () => {
      using home = temporaryHome({ SESSION_MEMORY_DISABLE: "1" });
      const file = conversation(home, ID, ["Please keep the port 8443."]);
      const run = await home.hook(
        name,
        input(home, file, { source: "compact", reason: "clear", trigger: "auto", prompt: "and @@last?" }),
      );
      expect(run).toEqual({ stdout: "", stderr: "", exitCode: 0 });
      expect(existsSync(home.paths.home)).toBe(false);
    });
  }
});

test("the work at a session's beginning is logged for the host that asked for it", async () => {
  const file = join(home.root, "rollout-2026-02-03T14-30-00-5d1f.jsonl");
  await started(home, "session-start", input(home, file, { source: "startup" }));
  const log = await eventually("the work in the background", () =>
    logOf(home).includes('"background.old-sessions"') ? logOf(home) : undefined,
  );
  expect(log).toContain('"source":"codex"');
  expect(log).not.toContain('"source":"claude"');
});

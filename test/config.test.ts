import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  defaultSettings,
  loadConfig,
  readHookSettings,
  resolvePaths,
  trustedEnvironment,
} from "../lib/config/config.ts";
import { addExclusions } from "../lib/config/config-file.ts";
import { TABLE } from "../lib/hosts/table.ts";
import { temporaryHome } from "./support/home.ts";
import { runCommand, runScript } from "./support/run.ts";

function homeWith(config?: string) {
  const home = temporaryHome();
  if (config !== undefined) {
    mkdirSync(home.paths.home, { recursive: true });
    writeFileSync(home.paths.config, config);
  }
  return home;
}

async function problem(config: string): Promise<string> {
  const home = homeWith(config);
  const error = await loadConfig(home.env, home.project).catch((caught: unknown) => caught);
  const text = (error as { format(): string }).format();
  return text.replaceAll(home.paths.config, "config.json");
}

describe("loadConfig()", () => {
  test("gives every default when there is no file", async () => {
    const home = homeWith();
    const config = await loadConfig(home.env, home.project);
    const noted = join(home.paths.home, "secret-rows.ndjson");
    expect(config.settings).toEqual({ ...defaultSettings(), redact: { extra: [], noted } });
    expect(config.settings.llm).toBeUndefined();
  });

  test("fills in what a file leaves out; an empty embedding block means OpenAI itself", async () => {
    const home = homeWith('{"embedding": {}, "llm": {"model": "m"}, "activity": {"maxChars": 300}}');
    const { settings } = await loadConfig(home.env, home.project);
    expect(settings.embedding).toEqual({
      apiKeyEnv: "OPENAI_API_KEY",
      model: "text-embedding-3-small",
      dimensions: 1536,
    });
    expect(settings.llm).toEqual({
      apiKeyEnv: "OPENAI_API_KEY",
      model: "m",
      dailyBudgetUsd: 1,
      timeoutMs: 30_000,
      prices: {},
    });
    expect(settings.activity).toEqual({ ...defaultSettings().activity, maxChars: 300 });
  });

  test("names file, key, what was found and what is expected", async () => {
    expect(await problem('{"activity": {"maxChars": "many"}}')).toBe(
      'error: CONFIG_INVALID: Cannot use "config.json": key "activity.maxChars": found "many", expected number, received string\nhint: edit that key\n',
    );
    expect(await problem("{")).toBe(
      'error: CONFIG_INVALID: Cannot use "config.json": it is not JSON\nhint: correct the syntax or delete the file\n',
    );
  });

  test("accepts a byte order mark, here and in the prompt hook", async () => {
    const home = homeWith('\ufeff{"activity": {"maxChars": 300}}');
    expect((await loadConfig(home.env, home.project)).settings.activity.maxChars).toBe(300);
    expect(readHookSettings(home.paths)?.activity.maxChars).toBe(300);
    await addExclusions(home.paths.config, { sessions: ["x"], projects: [], patterns: [] });
    expect(readHookSettings(home.paths)).toMatchObject({
      activity: { maxChars: 300 },
      exclude: { sessions: ["x"] },
    });
  });

  test("repeats no more than 200 characters of what was found", async () => {
    const message = await problem(JSON.stringify({ activity: { maxChars: "x".repeat(5000) } }));
    expect(message).toContain('key "activity.maxChars": found "xxx');
    expect(message.length).toBeLessThan(500);
    expect((await problem(`{"${"y".repeat(5000)}": 1}`)).length).toBeLessThan(500);
    expect(await problem("[1, 2]")).toStartWith(
      'error: CONFIG_INVALID: Cannot use "config.json": found [1,2], expected object',
    );
  });

  test("names the nearest known key for an unknown one", async () => {
    expect(await problem('{"activty": {}}')).toContain(
      'unknown key "activty"\nhint: did you mean "activity"?',
    );
    expect(await problem('{"observe": {"stepToken": 1}}')).toContain('did you mean "observe.stepTokens"?');
    expect(await problem('{"llm": {"model": "m", "baseURL": "http://x"}}')).toContain(
      'did you mean "llm.baseUrl"?',
    );
    const price = { inputs: 1, output: 1 };
    expect(await problem(JSON.stringify({ llm: { model: "m", prices: { m: price } } }))).toContain(
      'unknown key "llm.prices.m.inputs"\nhint: did you mean "llm.prices.m.input"?',
    );
    expect(await problem('{"transcripts": [{"path": "x", "machin": "y"}]}')).toContain(
      'did you mean "transcripts.0.machine"?',
    );
  });

  test("refuses values of the right type that cannot work", async () => {
    expect(await problem('{"redact": {"extra": ["("]}}')).toContain("expected a regular expression");
    expect(await problem('{"timezone": "Mars/Base"}')).toContain("expected an IANA time zone");
    expect(await problem('{"modelKeys": ["gpt"]}')).toContain('expected "provider/model"');
    expect(await problem('{"observe": {"model": "gpt"}}')).toContain(
      'expected "active", "provider/model" or "none"',
    );
    expect(await problem('{"embedding": {"dimensions": 100}}')).toContain("multiple of 8");
    expect(await problem('{"transcripts": [{"path": "/sync", "machine": "my desk"}]}')).toContain(
      'key "transcripts.0.machine": found "my desk", expected 1 to 64 letters, digits',
    );
  });
});

describe("readHookSettings()", () => {
  test("reads what the prompt hook needs", () => {
    const { paths } = homeWith(
      '{"activity": {"scope": "all"}, "exclude": {"sessions": ["x"]}, "llm": {"model": 5}}',
    );
    const settings = readHookSettings(paths);
    expect(settings?.activity).toEqual({ ...defaultSettings().activity, scope: "all" });
    expect(settings?.exclude).toMatchObject({ sessions: ["x"], projects: [], patterns: [] });
  });

  test("gives nothing for a file that is invalid where it looks", () => {
    for (const config of [
      "{",
      "[]",
      '{"activity": {"maxChars": -1}}',
      '{"exclude": 5}',
      '{"redact": {"extra": [1]}}',
      '{"transcripts": [{"path": "", "machine": "desk"}]}',
      '{"transcripts": [{"path": "/a", "machine": "a b"}]}',
    ]) {
      expect(readHookSettings(homeWith(config).paths)).toBeUndefined();
    }
  });
});

describe("trustedEnvironment()", () => {
  test("leaves out variables of ours that stand in the folder's .env files, and only those", () => {
    const { project } = homeWith();
    writeFileSync(
      join(project, ".env"),
      'SESSION_MEMORY_HOME=/evil\nexport OPENAI_BASE_URL="http://evil" # x\nPATH=/evil',
    );
    writeFileSync(
      join(project, ".env.local"),
      "CLAUDE_CONFIG_DIR='/evil/claude'\nCLINE_DIR=/evil/cline\nOPENAI_API_KEY=planted",
    );
    const env = {
      SESSION_MEMORY_HOME: "/evil",
      OPENAI_BASE_URL: "http://evil",
      CLAUDE_CONFIG_DIR: "/evil/claude",
      CLINE_DIR: "/evil/cline",
      OPENAI_API_KEY: "the user's own",
      PATH: "/evil",
    };
    expect(trustedEnvironment(env, project)).toEqual({
      env: { OPENAI_API_KEY: "the user's own", PATH: "/evil" },
      ignored: ["SESSION_MEMORY_HOME", "OPENAI_BASE_URL", "CLAUDE_CONFIG_DIR"],
    });
  });
});

test("resolvePaths() follows the hosts' variables and splits the list of transcripts", () => {
  const paths = resolvePaths({
    HOME: "/home/dev",
    CODEX_HOME: "/codex",
    PI_CODING_AGENT_SESSION_DIR: "/pi-sessions",
    SESSION_MEMORY_SESSIONS: "/a:/b/c.jsonl",
  });
  expect(paths).toMatchObject({
    home: "/home/dev/.session-memory",
    transcripts: ["/a", "/b/c.jsonl"],
  });
  const homes = TABLE.slice(0, 3).map(({ home }) => paths.expand(home));
  expect(homes).toEqual(["/home/dev/.claude", "/home/dev/.pi/agent", "/codex"]);
});

test("a config.json that is a pipe is refused, and hangs nothing", async () => {
  using home = temporaryHome();
  mkdirSync(home.paths.home, { recursive: true });
  await runCommand(["mkfifo", home.paths.config]);
  const { stderr, exitCode } = await runScript("session-reader", ["--list"], { env: home.env });
  expect({ stderr, exitCode }).toEqual({
    stderr: `error: STORAGE_ERROR: Cannot read "${home.paths.config}": it is a pipe or a device\n`,
    exitCode: 1,
  });
});

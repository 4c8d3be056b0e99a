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
import { addExclusions } from "../lib/forget/exclude-block.ts";
import { TABLE } from "../lib/hosts/table.ts";
import { temporaryHome } from "./support/home.ts";

function homeWith(config?: string) {
  const home = temporaryHome();
  if (config !== undefined) {
    mkdirSync(home.paths.home, { recursive: true });
    writeFileSync(home.paths.config, config);
  }
  return home;
}

describe("loadConfig()", () => {
  test("gives every default when there is no file", async () => {
    const home = homeWith();
    const config = await loadConfig(home.env, home.project);
    expect(config.settings).toEqual(defaultSettings());
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

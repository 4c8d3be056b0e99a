import { describe, expect, test } from "bun:test";
import { appendFileSync, chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { SessionMemoryError } from "../lib/base/errors.ts";
import type { Config } from "../lib/config/config.ts";
import { checkHealth, type Health, type HealthOptions } from "../lib/health/health.ts";
import { listSessions } from "../lib/sessions/sessions.ts";
import { codexMeta, codexPrompt } from "./support/codex.ts";
import {
  homePerTest,
  type TemporaryHome,
  temporaryHome,
  write,
  writeClaude,
  writeCodex,
  writePi,
} from "./support/home.ts";
import { indexHome, openHomeStore, settingsWith, turn } from "./support/index.ts";
import { piHeader, piLinked, piUser } from "./support/pi.ts";
import { seeded } from "./support/random.ts";
import { jsonl, uuidFrom } from "./support/rows.ts";
import { ROOT, runScript } from "./support/run.ts";
import { secretsOf } from "./support/secrets.ts";

/** What is said of standing rules where nothing was laid down and no model is named. */
const BY_WORDS =
  '0 messages; without a model (llm in config.json) only explicit ones ("from now on", "never") are recognised';

const home = homePerTest();

const ONE = uuidFrom("healthy one");
const NOW = new Date("2026-03-01T12:00:00.000Z");

/** Puts programs of these names on the PATH of a home, and nothing else. */
function programs(home: TemporaryHome, ...names: string[]): Config["env"] {
  const bin = join(home.root, "bin");
  mkdirSync(bin, { recursive: true });
  for (const name of names) symlinkSync(process.execPath, join(bin, name));
  return { ...home.env, PATH: bin };
}

/** A line of the event log, as hooks write them. */
function log(home: TemporaryHome, at: string, event: string, fields: object = { ok: true }): void {
  mkdirSync(home.paths.home, { recursive: true, mode: 0o700 });
  appendFileSync(home.paths.log, jsonl({ at, event, ...fields }));
}

/** Puts hooks of both hosts into the log, run an hour ago. */
function ranHooks(home: TemporaryHome): void {
  log(home, "2026-03-01T11:00:00.000Z", "injected");
}

function check(
  home: TemporaryHome,
  changes: Partial<HealthOptions> & { settings?: Config["settings"] } = {},
): Health {
  const { settings = settingsWith(), ...options } = changes;
  return checkHealth({
    config: { paths: home.paths, settings, env: home.env },
    configError: undefined,
    sessions: listSessions(home.paths, { subagents: true }),
    movedHosts: [],
    cwd: home.project,
    now: NOW,
    ...options,
  });
}

function findingsOf({ findings }: Health): string[] {
  return findings.map(({ level, what }) => `${level}: ${what}`);
}

function age(file: string, days: number): void {
  const time = new Date(NOW.getTime() - days * 24 * 3_600_000);
  utimesSync(file, time, time);
}

function indexed(home: TemporaryHome) {
  const store = openHomeStore(home);
  return indexHome(home, store).finally(() => store.close());
}

describe("checkHealth()", () => {
  test("is OK and counts what there is when everything is indexed", async () => {
    ranHooks(home);
    age(
      writeClaude(home, {
        id: ONE,
        rows: [
          turn("hello", `the token is ${secretsOf("github-token", seeded(3))[0]?.text}`),
          turn("b", "c", { minute: 1 }),
        ],
      }),
      1,
    );
    await indexed(home);
    const store = openHomeStore(home);
    for (const [at, took] of [
      ["2026-03-01T11:00:00.000Z", 10],
      ["2026-02-01T11:00:00.000Z", 30],
    ] as const) {
      store.db.prepare("INSERT INTO searches (at, took_ms, results) VALUES (?, ?, 1)").run(at, took);
    }
    store.close();
    const health = check(home);
    expect(health).toMatchObject({
      status: "OK",
      findings: [],
      hooks: [{ event: "injected", failures24h: 0 }],
      rules: BY_WORDS,
      sends: "nothing",
    });
    expect(health.runtime).toMatch(/^bun \//);
    const { lastIndexed, avgIndexTimePerSession, storageUsedMB, ...metrics } = health.metrics;
    expect(metrics).toEqual({
      totalChunks: 2,
      totalSessions: 1,
      knownSessions: 1,
      avgSearchLatency: 20,
      searchCount24h: 1,
      seenBefore24h: 0,
      failedChunks: 0,
      quarantinedSessions: 0,
      redactions: 1,
      behind: { sessions: 0, bytes: 0 },
      excluded: 0,
      spendToday: 0,
    });
    expect(Date.parse(lastIndexed ?? "")).toBeGreaterThan(0);
    expect([(avgIndexTimePerSession ?? 0) > 0, storageUsedMB > 0]).toEqual([true, true]);
  });

  test("says which transcripts the host deletes within a week, and whether they are safe in the index", async () => {
    ranHooks(home);
    const safe = writeClaude(home, { id: ONE, rows: [turn("a", "b")] });
    age(safe, 25);
    await indexed(home);
    expect(findingsOf(check(home))).toEqual([
      "info: Claude Code deletes 1 transcript within 7 days (cleanupPeriodDays 30), 0 of them not indexed",
    ]);
    age(writeClaude(home, { id: uuidFrom("old"), rows: [turn("c", "d")] }), 24);
    age(writeClaude(home, { id: uuidFrom("new"), rows: [turn("e", "f")] }), 20);
    const health = check(home);
    expect([health.status, findingsOf(health)[0]]).toEqual([
      "DEGRADED",
      "warning: Claude Code deletes 2 transcripts within 7 days (cleanupPeriodDays 30), 1 of them not indexed",
    ]);
    write(join(home.paths.claude, "settings.json"), JSON.stringify({ cleanupPeriodDays: 365 }));
    expect(findingsOf(check(home))).toEqual([
      expect.stringMatching(/^info: the index is behind by 2 sessions, /),
    ]);
  });

  test("says what is behind, gone, quarantined and unreadable", async () => {
    ranHooks(home);
    age(writeClaude(home, { id: ONE, rows: [turn("a", "b")] }), 1);
    expect(findingsOf(check(home))).toEqual(["info: nothing is indexed yet"]);
    for (let i = 0; i < 25; i++)
      age(writeClaude(home, { id: uuidFrom(`behind ${i}`), rows: [turn("a", `${i}`)] }), 1);
    expect(check(home).status).toBe("DEGRADED");
    age(writeClaude(home, { id: uuidFrom("noise"), rows: "noise\n" }), 1);
    await indexed(home);
    const store = openHomeStore(home);
    store.db.exec("UPDATE sessions SET source_gone = 1 WHERE number = 2");
    store.db.exec(
      "UPDATE index_state SET status = 'failed', error = 'EACCES' WHERE session_id = (SELECT id FROM sessions WHERE number = 3)",
    );
    store.db.exec(
      "UPDATE index_state SET status = 'partial', chunk_count = 2000 WHERE session_id = (SELECT id FROM sessions WHERE number = 4)",
    );
    const cut = String(store.db.prepare("SELECT id FROM sessions WHERE number = 4").get()?.id);
    store.close();
    expect(findingsOf(check(home)).filter((finding) => !finding.includes("behind"))).toEqual([
      "warning: 1 transcript could not be read (EACCES)",
      "info: 1 indexed session has no transcript any more; what was said stays searchable",
      `info: 1 session over 2000 chunks, of which only the newest are searchable: ${cut}`,
      "info: 1 transcript quarantined (1 of 1 lines are not JSON)",
    ]);
  });

  test("says why semantic search is off, what is sent where, and that another model made the vectors", async () => {
    ranHooks(home);
    age(writeClaude(home, { id: ONE, rows: [turn("a", "b")] }), 1);
    await indexed(home);
    const embedding = { apiKeyEnv: "K", model: "second", dimensions: 8, baseUrl: "http://127.0.0.1:9/v1" };
    const settings = settingsWith({ embedding });
    const health = check(home, { settings });
    expect([health.sends, findingsOf(health)]).toEqual([
      "embeddings to 127.0.0.1:9",
      ["warning: semantic search is off: no chunk is embedded yet, run embed"],
    ]);
    const store = openHomeStore(home);
    store.db.exec("INSERT INTO embedders (model, dimensions) VALUES ('first', 8)");
    store.db.exec("UPDATE chunks SET embedder = 1, embedding = zeroblob(32)");
    store.close();
    expect(findingsOf(check(home, { settings }))).toEqual([
      "warning: semantic search is off: the vectors are of another model than second (8), run embed",
    ]);
    const llm = { apiKeyEnv: "K", model: "m", dailyBudgetUsd: 1, timeoutMs: 1, prices: {} };
    expect(
      check(home, { settings: settingsWith({ embedding: { ...embedding, baseUrl: undefined }, llm }) }).sends,
    ).toBe("embeddings to api.openai.com, conversation to api.openai.com");
  });

  test("shows what failed in the hooks within a day, and hooks that have been silent for weeks", () => {
    using home = temporaryHome();
    age(writeClaude(home, { id: ONE, rows: [turn("a", "b")] }), 1);
    log(home, "2026-02-27T10:00:00.000Z", "hook.stop", { ok: false, error: "too old to count" });
    log(home, "2026-03-01T10:00:00.000Z", "hook.user-prompt-submit", { ok: false, error: "it broke" });
    log(home, "2026-03-01T11:00:00.000Z", "injected", { ok: true });
    appendFileSync(home.paths.log, '{"at": "torn');
    const health = check(home);
    expect(
      health.hooks.map(({ event, lastRun, failures24h }) => [event, lastRun.slice(0, 10), failures24h]),
    ).toEqual([
      ["injected", "2026-03-01", 0],
      ["user-prompt-submit", "2026-03-01", 1],
      ["stop", "2026-02-27", 0],
    ]);
    expect(findingsOf(health)).toContain("warning: user-prompt-submit failed once within a day: it broke");
  });

  test("says nothing of a failure that is mended: config.json can be used again, or as many runs went well since", () => {
    using home = temporaryHome();
    const broken = `Cannot use "${home.paths.config}": unknown key "lmm"`;
    log(home, "2026-03-01T09:00:00.000Z", "hook.user-prompt-submit", { ok: false, error: broken });
    log(home, "2026-03-01T09:01:00.000Z", "background.share", { ok: false, error: "no answer" });
    const found = () => findingsOf(check(home)).filter((finding) => finding.includes("failed"));
    expect(found()).toEqual(["warning: background.share failed once within a day: no answer"]);
    log(home, "2026-03-01T10:00:00.000Z", "background.share");
    expect(found()).toEqual([]);
    const configError = new SessionMemoryError("CONFIG_INVALID", broken, { hint: "" });
    expect(findingsOf(check(home, { configError }))).toContain(
      `warning: user-prompt-submit failed once within a day: ${broken}`,
    );
  });

  test("a restored backup, whose files have other times, is not behind", async () => {
    using home = temporaryHome();
    ranHooks(home);
    const file = writeClaude(home, { id: ONE, rows: [turn("a", "b")] });
    age(file, 1);
    await indexed(home);
    age(file, 27);
    expect(findingsOf(check(home))).toEqual([
      "info: Claude Code deletes 1 transcript within 7 days (cleanupPeriodDays 30), 0 of them not indexed",
    ]);
  });

  /** What is said of hooks that do not run, with these programs on PATH. */
  function silent(home: TemporaryHome, ...names: string[]): string[] {
    const config = { paths: home.paths, settings: settingsWith(), env: programs(home, ...names) };
    return findingsOf(check(home, { config })).filter((finding) => finding.includes("no hook"));
  }

  test("warns that no hook ran yet, except in a host that is not there, or was wired after the newest session", () => {
    using home = temporaryHome();
    age(writeClaude(home, { id: ONE, rows: [turn("a", "b")] }), 1);
    age(writeCodex(home, { rows: [codexMeta(), codexPrompt({ text: "hello" })] }), 1);
    const codex = "info: no hook has run in Codex yet";
    expect(silent(home, "bun")).toEqual(["info: no hook has run in Claude Code yet", codex]);
    expect(silent(home, "claude")).toEqual(["warning: no hook has run in Claude Code yet", codex]);
    const plugins = join(home.paths.claude, "plugins", "installed_plugins.json");
    write(plugins, '{"plugins": {"session-memory@session-memory": []}}');
    expect(silent(home)).toEqual(["info: no hook has run in Claude Code yet", codex]);
    utimesSync(plugins, 1_600_000_000, 1_600_000_000);
    expect(silent(home)).toEqual(["warning: no hook has run in Claude Code yet", codex]);
  });

  test("says that no hook of a host ran for a week while its sessions grew, whoever ran embed by hand", () => {
    using home = temporaryHome();
    age(writeClaude(home, { id: ONE, rows: [turn("a", "b")] }), 1);
    age(writePi(home, { rows: piLinked([piHeader(), piUser({ text: "hello" })]) }), 1);
    log(home, "2026-03-01T11:00:00.000Z", "embed");
    expect(silent(home, "claude", "pi")).toHaveLength(2);
    log(home, "2026-01-14T10:00:00.000Z", "hook.stop");
    log(home, "2026-03-01T10:00:00.000Z", "background.index", { ok: true, source: "pi" });
    log(home, "2026-03-01T10:00:00.000Z", "hook.background.meta", { ok: false, source: "pi" });
    log(home, "2026-03-01T10:00:00.000Z", "hook.stop", { ok: false, source: "codex" });
    expect(silent(home)).toEqual([
      "warning: no hook has run in Claude Code since 2026-01-14, though there are newer sessions",
    ]);
    const settings = settingsWith();
    const off = { ...home.env, SESSION_MEMORY_DISABLE: "1" };
    expect(findingsOf(check(home, { config: { paths: home.paths, settings, env: off } }))).toContain(
      "info: hooks are switched off by SESSION_MEMORY_DISABLE",
    );
    const given = { ...home, paths: { ...home.paths, transcripts: [home.paths.claude] } };
    expect(silent(given)).toEqual([]);
    log(home, "2026-02-24T10:00:00.000Z", "injected", { ok: true, session: ONE });
    expect(silent(home)).toEqual([]);
  });

  test("names every receiver: hosts, pi's models, and the hub", () => {
    const sends = (changes: Partial<Config["settings"]>, env = {}) =>
      check(home, {
        config: { paths: home.paths, settings: settingsWith(changes), env: { ...home.env, ...env } },
      }).sends;
    const { observe } = settingsWith();
    expect(sends({})).toBe("nothing");
    expect(sends({ modelKeys: ["active", "anthropic/small"] })).toBe(
      "conversation to the model chosen in pi, conversation to anthropic/small through pi",
    );
    const share = {
      urlEnv: "SESSION_MEMORY_HUB_URL",
      projects: { "github.com/acme/*": "acme" },
      days: 365,
      maxChunks: 10,
    };
    const HUB = { SESSION_MEMORY_HUB_URL: "postgres://me:secret@hub.example.com:5433/memory" };
    expect(sends({ share }, HUB)).toBe("shared sessions to hub.example.com:5433");
    expect(sends({ share })).toBe("shared sessions to the hub of SESSION_MEMORY_HUB_URL, which is not set");
    expect(sends({ share: { ...share, projects: {} } }, HUB)).toBe("nothing");
    mkdirSync(home.paths.pi, { recursive: true });
    expect(sends({}, { PATH: "" })).toBe("nothing");
    const settings = join(home.paths.pi, "settings.json");
    write(settings, '{"packages": ["/opt/session-memory"]}');
    expect(sends({}, { PATH: "" })).toContain("for observing");
    symlinkSync(ROOT, join(home.root, "clone"));
    write(settings, JSON.stringify({ packages: [join("..", "..", "..", "clone")] }));
    expect(sends({}, { PATH: "" })).toContain("for observing");
    write(settings, '{"packages": ["../../../another", "clone"]}');
    expect(sends({}, { PATH: "" })).toBe("nothing");
    rmSync(settings);
    home.env.PATH = programs(home, "pi").PATH;
    expect(sends({})).toBe("conversation to the model chosen in pi for observing (at most $1.00 a day)");
    expect(sends({ observe: { ...observe, model: "x/y", dailyBudgetUsd: 0.2 } })).toBe(
      "conversation to x/y through pi for observing (at most $0.20 a day)",
    );
    expect(sends({ observe: { ...observe, model: "none" } })).toBe("nothing");
    expect(sends({ observe: { ...observe, auto: false } })).toBe("nothing");
  });

  test("is an ERROR where the state folder cannot be written, is none, or has no space left", () => {
    const errors = (folder: string) => {
      const paths = { ...home.paths, home: folder };
      const { status, findings } = check(home, {
        config: { paths, settings: settingsWith(), env: home.env },
      });
      return [status, ...findings.filter(({ level }) => level === "error").map(({ what }) => what)];
    };
    mkdirSync(home.paths.home, { mode: 0o500 });
    expect(errors(home.paths.home)).toEqual(["ERROR", `${home.paths.home} is read-only`]);
    expect(errors(join(home.paths.home, "below"))).toEqual(["ERROR", `${home.paths.home} is read-only`]);
    chmodSync(home.paths.home, 0o700);
    for (const folder of [write(join(home.root, "file"), ""), join(home.root, "file", "below", "that")]) {
      expect(errors(folder)).toEqual(["ERROR", `${home.root}/file is no folder`]);
    }
    expect(errors("/proc/1/fd")[0]).toBe("ERROR");
    expect([errors(home.paths.home), readdirSync(home.paths.home)]).toEqual([["OK"], []]);
  });

  test("says that Bun is missing from the PATH of the hooks, and that others may read the state", () => {
    mkdirSync(home.paths.home);
    chmodSync(home.paths.home, 0o755);
    const config = { paths: home.paths, settings: settingsWith(), env: programs(home) };
    expect(findingsOf(check(home, { config }))).toEqual([
      "warning: found no Bun, and no Node of 22.18 or later that can run us: hooks do nothing",
      `warning: others may read ${home.paths.home}`,
    ]);
    programs(home, "bun");
    expect(findingsOf(check(home, { config }))).toEqual([`warning: others may read ${home.paths.home}`]);
  });
});

describe("health.ts", () => {
  test("prints a status, findings with remedies, numbers, what is sent and the runtime", async () => {
    writeClaude(home, { id: ONE, rows: [turn("a", "b")] });
    const run = await runScript("health", [], { env: programs(home, "bun", "claude") });
    const lines = run.stdout.split("\n");
    expect([run.exitCode, run.stderr, ...lines.slice(0, 3)]).toEqual([
      0,
      "",
      "DEGRADED",
      "warning: no hook has run in Claude Code yet · run bun scripts/setup.ts, then take a turn",
      "info: nothing is indexed yet · run bun scripts/embed.ts",
    ]);
    expect(lines.slice(3, -3)).toEqual([
      "index: 0 sessions, 0 chunks, 0 MB, behind by 1 session (0.0 MB); not written yet",
      "searches in 24 h: 0 · fixes told after failed commands: 0",
      `standing rules: ${BY_WORDS}`,
      "redacted: 0 secrets in what is stored · spent today: $0.0000",
    ]);
    expect(lines.slice(-3)[0]).toBe("sends: nothing");
  });

  test("is an ERROR with exit 1, and still a report, when config.json or the index cannot be used", async () => {
    write(home.paths.config, '{"embeding": {}}');
    write(
      home.paths.database,
      "this is no database at all, but it is long enough to be looked at as one ".repeat(40),
    );
    const run = await runScript("health", ["--json"], { env: home.env });
    const health: Health = JSON.parse(run.stdout);
    expect([run.exitCode, health.status]).toEqual([1, "ERROR"]);
    expect(findingsOf(health).filter((finding) => finding.startsWith("error"))).toEqual([
      `error: CONFIG_INVALID: Cannot use "${home.paths.config}": unknown key "embeding"`,
      `error: STORAGE_ERROR: Cannot read "${home.paths.database}": it is damaged (file is not a database)`,
    ]);
    expect(health.findings[0]?.remedy).toBe('did you mean "embedding"?');
    expect(Object.keys(health.metrics).sort()).toEqual(
      [
        "avgIndexTimePerSession",
        "avgSearchLatency",
        "behind",
        "excluded",
        "failedChunks",
        "knownSessions",
        "lastIndexed",
        "quarantinedSessions",
        "redactions",
        "searchCount24h",
        "seenBefore24h",
        "spendToday",
        "storageUsedMB",
        "totalChunks",
        "totalSessions",
      ].sort(),
    );
  }, 30_000);
});

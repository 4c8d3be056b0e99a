import { describe, expect, test } from "bun:test";
import { appendFileSync, chmodSync, mkdirSync, readdirSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../lib/config/config.ts";
import { checkHealth, type Health, type HealthOptions } from "../lib/health/health.ts";
import { listSessions } from "../lib/sessions/sessions.ts";
import { homePerTest, type TemporaryHome, write, writeClaude } from "./support/home.ts";
import { indexHome, openHomeStore, settingsWith, turn } from "./support/index.ts";
import { jsonl, uuidFrom } from "./support/rows.ts";
import { ROOT } from "./support/run.ts";

const home = homePerTest();

const ONE = uuidFrom("healthy one");
const NOW = new Date("2026-03-01T12:00:00.000Z");

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

  test("names pi's model where pi loads us by a link", () => {
    symlinkSync(ROOT, join(home.root, "clone"));
    const settings = { packages: [join("..", "..", "..", "clone")] };
    write(join(home.paths.pi, "settings.json"), JSON.stringify(settings));
    const env = { ...home.env, PATH: "" };
    const config = { paths: home.paths, settings: settingsWith(), env };
    expect(check(home, { config }).sends).toContain("for observing");
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
});

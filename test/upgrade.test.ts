/**
 * A state folder of 0.1.0 (test/fixtures/state-0.1.0: made by that version from the other fixtures, three of whose
 * transcripts the hosts then deleted) under the present code: all that it holds survives.
 */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { defaultSettings } from "../lib/config/config.ts";
import { readSpendToday } from "../lib/model/spend.ts";
import { observeSettings, readBackoff } from "../lib/observe/observe-state.ts";
import { openDatabase, type Row } from "../lib/store/sqlite.ts";
import { serverPerFile } from "./support/fake-openai.ts";
import { FIXTURES, FIXTURES_CWD, FIXTURES_FOLDER } from "./support/fixtures.ts";
import { layFixtures, type TemporaryHome, temporaryHome, write } from "./support/home.ts";
import { runScript } from "./support/run.ts";

const FIXTURE = join(FIXTURES_FOLDER, "state-0.1.0");
const ROOT_THEN = "/home/dev";
const DIMENSIONS = 16;
/** When the last session had been looked at, which its cursor holds. */
const LOOKED_AT = new Date(1795282422199);
const GONE = [FIXTURES.claude.login.id, FIXTURES.pi.login.id, FIXTURES.codex.deploy.id];
/** How many chunks each of them has. */
const GONE_CHUNKS = {
  [FIXTURES.codex.deploy.id]: 2,
  [FIXTURES.claude.login.id]: 4,
  [FIXTURES.pi.login.id]: 4,
};
const SPENT = { usd: 0.0041445, calls: 7, tokens: { input: 4953, output: 236 } };
/** The columns whose names are promised. */
const PROMISED = `session_id, chunk_index, timestamp, speakers, topic_tags, has_decision, has_action, content,
  context_content, token_count`;

const server = serverPerFile({ dimensions: DIMENSIONS });

let home: TemporaryHome;
beforeEach(() => {
  home = homeOfOldVersion();
});
afterEach(() => home.remove());

/** The old state folder in a new place, with the transcripts that are still there. */
function homeOfOldVersion(): TemporaryHome {
  const laid = { ...temporaryHome(), project: FIXTURES_CWD };
  layFixtures(laid);
  for (const file of [FIXTURES.claude.posting.id, ...GONE].flatMap((id) => transcriptsOf(laid, id))) {
    if (file.includes(FIXTURES.claude.posting.id)) utimesSync(file, LOOKED_AT, LOOKED_AT);
    else rmSync(file);
  }
  for (const name of filesUnder(join(FIXTURE, "state"))) {
    write(join(laid.paths.home, name), movedTo(laid, readFileSync(join(FIXTURE, "state", name), "utf8")));
  }
  cpSync(join(FIXTURE, "pi-meta"), join(laid.paths.pi, "sessions-meta"), { recursive: true });
  mkdirSync(laid.paths.home, { recursive: true });
  writeFileSync(laid.paths.database, gunzipSync(readFileSync(join(FIXTURE, "memory.db.gz"))));
  const db = openDatabase(laid.paths.database);
  for (const [table, column] of [
    ["sessions", "file"],
    ["index_state", "file_path"],
  ]) {
    db.prepare(`UPDATE ${table} SET ${column} = replace(${column}, $before, $after)`).run({
      before: `${ROOT_THEN}/home`,
      after: laid.home,
    });
  }
  db.close();
  const at = { baseUrl: server.baseUrl, apiKeyEnv: "NO_KEY" };
  const embedding = { ...at, model: "fake", dimensions: DIMENSIONS };
  laid.configure({ timezone: "UTC", embedding });
  return laid;
}

function movedTo(laid: TemporaryHome, text: string): string {
  return text.replaceAll(`${ROOT_THEN}/home`, laid.home);
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

function transcriptsOf({ home: folder }: TemporaryHome, id: string): string[] {
  return filesUnder(folder)
    .filter((name) => name.endsWith(`${id}.jsonl`) && !name.includes("openclaw"))
    .map((name) => join(folder, name));
}

async function ok(name: string, ...args: string[]): Promise<string> {
  const { stdout, stderr, exitCode } = await runScript(name, args, { env: home.env, cwd: home.root });
  expect([name, args, exitCode, exitCode === 0 ? "" : stderr]).toEqual([name, args, 0, ""]);
  return stdout;
}

/** What the index holds of the sessions whose transcripts are gone. */
function heldOfGone(): Row[] {
  const db = openDatabase(home.paths.database);
  expect(db.vectors.mode).toBe("vec0");
  const rows = db
    .prepare(
      `SELECT ${PROMISED}, hex(embedding) AS stored,
         (SELECT vec_to_json(e.embedding) FROM session_embeddings e WHERE e.chunk_id = c.id) AS bits
       FROM session_chunks c WHERE session_id IN (SELECT value FROM json_each(?)) ORDER BY session_id, chunk_index`,
    )
    .all(JSON.stringify(GONE));
  db.close();
  return rows;
}

/** The contents whose vectors or topics were paid for. */
function paidFor(): { vectors: unknown[]; topics: unknown[] } {
  const db = openDatabase(home.paths.database);
  const hashes = (sql: string) =>
    db
      .prepare(`SELECT DISTINCT hex(content_hash) AS hash FROM (${sql}) ORDER BY 1`)
      .all()
      .map(({ hash }) => hash);
  const paid = {
    vectors: hashes(
      "SELECT content_hash FROM vector_cache UNION ALL SELECT content_hash FROM session_chunks WHERE embedder IS NOT NULL",
    ),
    topics: hashes("SELECT content_hash FROM topic_cache"),
  };
  db.close();
  return paid;
}

async function runEverything(): Promise<void> {
  await ok("health");
  await ok("search", "how often do we post");
  await ok("embed");
  await ok("embed", "--all");
  await ok("index-meta", "--new");
  await ok("session-reader", "--list");
  await ok("session-reference", "see @@nobody");
  await ok("activity-summary", "--current", FIXTURES.claude.deploy.id);
}

describe("a state folder of 0.1.0", () => {
  test("keeps the rows and vectors of sessions whose transcripts are gone", async () => {
    const before = heldOfGone();
    expect(before.map(({ session_id, stored, bits }) => [session_id, stored !== "", bits !== null])).toEqual(
      Object.entries(GONE_CHUNKS).flatMap(([id, count]) => Array(count).fill([id, true, true])),
    );
    const paid = paidFor();
    expect([paid.vectors.length, paid.topics.length]).toEqual([28, 28]);
    server.requests.length = 0;
    await runEverything();
    expect(heldOfGone()).toEqual(before);
    const after = paidFor();
    expect(after.vectors).toEqual(expect.arrayContaining(paid.vectors));
    expect(after.topics).toEqual(expect.arrayContaining(paid.topics));
    const found = JSON.parse(await ok("search", "Login-Test rot Weiterleitung", "--json", "--limit", "20"));
    const ids = found.results.map((hit: { session_id: string }) => hit.session_id);
    expect(ids).toContain(FIXTURES.claude.login.id);
  }, 60_000);

  test("keeps names, also of a session whose transcript is gone", async () => {
    await runEverything();
    const text =
      'see @@"Deploy of the shop", @@"Der Login-Test ist wieder rot: weiterleitung", @@posting-frequency';
    const { references } = JSON.parse(await ok("session-reference", text, "--json"));
    expect(references.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual([
      FIXTURES.claude.deploy.id,
      FIXTURES.claude.login.id,
      FIXTURES.claude.posting.id,
    ]);
  }, 60_000);

  test("keeps what was spent, on which day, and on which models", async () => {
    const now = new Date("2026-11-20T20:00:00.000Z");
    const before = readSpendToday(home.paths.home, "UTC", now);
    expect(before).toMatchObject(SPENT);
    await runEverything();
    expect(readSpendToday(home.paths.home, "UTC", now)).toEqual(before);
  }, 60_000);

  test("keeps ledgers to the byte, the switches, and when a failed observer may try again", async () => {
    const ledgers = () =>
      readdirSync(home.paths.observations)
        .filter((name) => name.endsWith(".jsonl"))
        .map((name) => [name, readFileSync(join(home.paths.observations, name), "utf8")]);
    const before = ledgers();
    expect(before).toHaveLength(3);
    await runEverything();
    expect(ledgers()).toEqual(before);
    const defaults = defaultSettings().observe;
    expect(observeSettings(home.paths, defaults)).toEqual({
      ...defaults,
      stepTokens: 4000,
      mode: "blocking",
    });
    expect(readBackoff(home.paths, FIXTURES.claude.posting.id)).toEqual({
      failures: 1,
      notBefore: 1795282482015,
      reason: "Cannot ask the model: the server answered 500 scripted failure",
    });
  }, 60_000);

  test("keeps how far each session has looked, so that nothing is told twice", async () => {
    const look = ["--current", FIXTURES.claude.deploy.id, "--scope", "all", "--since", "2025-01-01"];
    expect(await ok("activity-summary", ...look)).not.toContain("Jason said about posting frequency");
    const cursor = join(home.paths.cursors, `${FIXTURES.claude.deploy.id}.json`);
    const marks = JSON.parse(readFileSync(cursor, "utf8"))[FIXTURES.claude.deploy.id];
    expect(marks[FIXTURES.claude.posting.id]).toEqual({
      offset: 22512,
      fingerprint: `66e55bd52ae7c923@${LOOKED_AT.getTime()}`,
    });
    expect(existsSync(home.paths.database)).toBe(true);
  }, 60_000);
});

/** A host that changed where or how it writes is noticed: by health each time, by the first search after. */

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdirSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { HOSTS, type Host } from "../lib/transcripts/hosts.ts";
import { codexMeta, codexPrompt } from "./support/codex.ts";
import { homePerTest, type TemporaryHome, write, writeCodex, writePi } from "./support/home.ts";
import { HOST_WRITERS, hostId } from "./support/hosts.ts";
import { piHeader, piUser } from "./support/pi.ts";
import { jsonl, uuidFrom } from "./support/rows.ts";

const home = homePerTest();

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Rows as no format of today has them. */
const FUTURE_ROWS = jsonl({ v: 9, turn: { by: "human", words: "count the newts" } }, { v: 9, end: true });

function daysAgo(days: number): string {
  return new Date(Date.now() - days * DAY - HOUR).toISOString();
}

/** Gives a file the time of three hours ago, and a bit. */
function age(file: string): string {
  const time = new Date(Date.now() - 3 * HOUR - 60_000);
  utimesSync(file, time, time);
  return file;
}

/** Writes a session to where, and as, no host of today does. */
function writeElsewhere({ paths }: TemporaryHome, host: Host, folder = "conversations"): string {
  const file = join(paths.expand(host.home), folder, "9", "turns.store");
  write(file, FUTURE_ROWS);
  return age(file);
}

/** Returns a file name that fits a host's pattern. */
function nameLike(names: RegExp): string {
  return names.source
    .replace(/^\^|\$$/g, "")
    .replaceAll("\\d{4}", "2026")
    .replaceAll("\\d\\d", "01")
    .replaceAll("\\d+", "7")
    .replace("(.+)", uuidFrom("future"))
    .replaceAll("\\.", ".");
}

/** Writes a file of unknown form at each place where a host is looked for; returns their names. */
function writeUnreadable({ paths }: TemporaryHome, host: Host): string[] {
  const root = paths.expand(host.home);
  const places = [...(host.transcripts ?? []), ...(host.store ? [host.store.files] : [])];
  return places.flatMap((place) => {
    const path = typeof place === "string" ? place : place.path;
    // Found without subagents alone.
    const isOther = typeof place === "object" && ("under" in place || "unless" in place);
    if (isOther || /<parent>|<subagent>/.test(path)) return [];
    const filled = path
      .replace(/[*]\.jsonl$/, host.names ? nameLike(host.names) : "future.jsonl")
      .replace("<name>", host.names ? nameLike(host.names) : "")
      .replace("<day>", "2026/11/22")
      .replace("**/", "")
      .replace("<cwd>", "-home-dev-proj")
      .replace("<id>", uuidFrom("future"))
      .replaceAll("*", "main");
    const file = join(root, filled);
    if (path === host.store?.files) {
      mkdirSync(dirname(file), { recursive: true });
      using db = new Database(file, { create: true });
      db.run("CREATE TABLE future (turn TEXT)");
    } else write(file, FUTURE_ROWS);
    return [age(file)];
  });
}

/** Writes a session that is read, so many days old. */
function writeOld(home: TemporaryHome, { agent }: Host, days: number): void {
  const [at, cwd, id] = [daysAgo(days), home.project, hostId(agent, "old")];
  const steps = [{ says: "user", text: "count the newts" }] as const;
  if (agent === "codex")
    writeCodex(home, { id, rows: [codexMeta({ id, cwd, at }), ...codexPrompt({ text: "newts", at })] });
  else if (agent === "pi")
    writePi(home, { id, rows: [piHeader({ id, cwd, at }), piUser({ at, text: "newts" })] });
  else {
    const file = HOST_WRITERS[agent]?.(home, { id, cwd, at, steps }) ?? "";
    // A transcript that was copied here has the time of that; a database is not copied a session at a time.
    if (!file.endsWith(".jsonl")) utimesSync(file, new Date(at), new Date(at));
  }
}

async function findings(home: TemporaryHome): Promise<string[]> {
  const { findings } = JSON.parse(await home.ok("health", "--json"));
  return findings
    .map(({ level, what }: { level: string; what: string }) => `${level}: ${what}`)
    .filter((line: string) => / wrote |no known format/.test(line));
}

describe.each(HOSTS.map((host) => ({ host, agent: host.agent })))("$agent", ({ host }) => {
  test("that writes to another place, with sessions read before, is named with it by health", async () => {
    writeOld(home, host, 71);
    const file = writeElsewhere(home, host);
    expect(await findings(home)).toEqual([
      `warning: ${host.name} wrote 3 h ago, the newest session read is 71 d old: ${file}`,
    ]);
  });

  test("of which no session is read is named too, whatever form its files have", async () => {
    const files = writeUnreadable(home, host);
    expect(files.length).toBeGreaterThan(0);
    const [moved = "", unfit = "", ...others] = await findings(home);
    const start = `warning: ${host.name} wrote 3 h ago, no session of it is read: `;
    expect([moved.startsWith(start), files, others]).toEqual([
      true,
      expect.arrayContaining([moved.slice(start.length)]),
      [],
    ]);
    const are = files.length === 1 ? "file of X is" : "files of X are";
    const counted = `info: ${files.length} ${are.replace("X", host.name)} in no known format: `;
    expect(unfit.slice(0, counted.length)).toBe(counted);
  });

  test("of which a session is read from these days is not named", async () => {
    writeOld(home, host, 2);
    writeElsewhere(home, host);
    expect(await findings(home)).toEqual([]);
  });

  test("is not named for its settings, its logs and what it keeps for itself", async () => {
    writeOld(home, host, 71);
    const root = home.paths.expand(host.home);
    for (const name of [
      "settings.json",
      "auth.json",
      "log/today",
      "plugins/a/data.json",
      "models_cache.json",
    ])
      write(join(root, name), "{}");
    expect(await findings(home)).toEqual([]);
  });
});

const OPENCODE = HOSTS.find(({ agent }) => agent === "opencode") as Host;
const CODEX = HOSTS.find(({ agent }) => agent === "codex") as Host;

/** Returns what a search says about hosts that moved. */
async function said(home: TemporaryHome, ...flags: string[]): Promise<string[]> {
  const { stderr } = await home.run("search", "newts", ...flags);
  return stderr.split("\n").filter((line) => line.includes(" wrote "));
}

describe("the first search after a host moved", () => {
  test("says so with the place, and later ones do not", async () => {
    writeOld(home, CODEX, 71);
    expect(await said(home)).toEqual([]);
    const file = writeElsewhere(home, CODEX);
    expect(await said(home, "--quiet")).toEqual([]);
    expect(await said(home)).toEqual([
      `warning: Codex wrote 3 h ago, the newest session read is 71 d old: ${file} · update session-memory: this version may not know where, or how, it writes now`,
    ]);
    expect(await said(home)).toEqual([]);
  });

  test("says it again where the host was followed and moves once more", async () => {
    writeOld(home, CODEX, 71);
    writeElsewhere(home, CODEX);
    expect(await said(home)).toHaveLength(1);
    writeOld(home, CODEX, 30);
    writeElsewhere(home, CODEX, "threads");
    expect(await said(home)).toEqual([expect.stringContaining("the newest session read is 30 d old")]);
  });

  test("says nothing of given transcripts", async () => {
    const file = writeElsewhere(home, CODEX);
    expect(await said(home, "--sessions", file)).toEqual([]);
  });
});

test("sessions of a database that are excluded are no sign that its host moved", async () => {
  home.configure({ exclude: { projects: [home.project] } });
  const id = hostId("opencode", "kept out");
  HOST_WRITERS.opencode?.(home, {
    id,
    cwd: home.project,
    at: daysAgo(0),
    steps: [{ says: "user", text: "newts" }],
  });
  expect(await findings(home)).toEqual([]);
  home.configure({});
  using db = new Database(join(home.paths.expand(OPENCODE.home), "opencode.db"));
  db.run("ALTER TABLE session RENAME TO session_next");
  expect(await findings(home)).toEqual([
    expect.stringContaining("warning: opencode wrote 0 min ago, no session of it is read: "),
    "info: 1 file of opencode is in no known format: opencode.db",
  ]);
});

test("files in the folders of transcripts that are none are counted by kind", async () => {
  writeOld(home, CODEX, 1);
  const day = join(home.paths.codex, "sessions", "2026", "11", "22");
  for (const n of [1, 2, 3]) write(join(day, `thread-2026-11-22T10-00-0${n}-${uuidFrom(`t${n}`)}.cbor`), "x");
  write(join(day, "summary.json"), "{}");
  expect(await findings(home)).toEqual([
    "info: 4 files of Codex are in no known format: thread-*.cbor (3), summary.json",
  ]);
});

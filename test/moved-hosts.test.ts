/** A host that changed where or how it writes is noticed by health, by the times of its rows: a copied home is no such host. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Host } from "../lib/hosts/host.ts";
import { HOSTS } from "../lib/hosts/hosts.ts";
import { homePerTest, type TemporaryHome, write } from "./support/home.ts";
import { layHost } from "./support/hosts.ts";
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
      rmSync(file, { force: true });
      using db = new Database(file, { create: true });
      db.run("CREATE TABLE future (turn TEXT)");
    } else write(file, FUTURE_ROWS);
    return [age(file)];
  });
}

/** Writes a session that is read, so many days old. */
function writeOld(home: TemporaryHome, { agent }: Host, days: number): void {
  const at = daysAgo(days);
  for (const file of layHost(home, agent, "zebra", { cwd: home.project, at })) {
    // Cursor's answers have no times of their own.
    if (agent === "cursor") writeFileSync(file, readFileSync(file, "utf8").split("\n", 1).join("\n"));
    // A transcript that was copied here has the time of that; a database is not copied a session at a time.
    const time = file.endsWith(".jsonl") && agent !== "cursor" ? new Date() : new Date(at);
    utimesSync(file, time, time);
  }
}

async function findings(home: TemporaryHome): Promise<string[]> {
  const { findings } = await home.json("health");
  return findings
    .map(({ level, what }: { level: string; what: string }) => `${level}: ${what}`)
    .filter((line: string) => / wrote /.test(line));
}

/** Returns the folder at which a host's files are looked at; undefined where that is one database. */
function placeOf(home: TemporaryHome, host: Host): string | undefined {
  const [file = "", ...others] = writeUnreadable(home, host);
  for (const each of [file, ...others]) rmSync(each);
  return dirname(file) === home.paths.expand(host.home) ? undefined : dirname(file);
}

/** Gives everything of a home the time of now, as copying it does. */
function copied({ home }: TemporaryHome): void {
  for (const name of readdirSync(home, { recursive: true, encoding: "utf8" }))
    utimesSync(join(home, name), new Date(), new Date());
}

const named = ({ name }: Host, last: string, file: string) =>
  `warning: ${name} wrote 3h ago, ${last}: ${file}`;
const OLD = "the newest session read is 71d old";

test.each([
  { days: 71, last: OLD },
  { days: undefined, last: "no session of it is read" },
])("each host that writes in another form is named with a file of it: $last", async ({ days, last }) => {
  if (days !== undefined) for (const host of HOSTS) writeOld(home, host, days);
  expect(await findings(home)).toEqual([]);
  const lines = HOSTS.flatMap((host) =>
    writeUnreadable(home, host).map((file) => [named(host, last, file), host.agent] as const),
  );
  const found = await findings(home);
  expect(found.map((line) => new Map(lines).get(line) ?? line).sort()).toEqual(
    HOSTS.map(({ agent }) => agent).sort(),
  );
});

test("no host of which a session is read from these days is named", async () => {
  for (const host of HOSTS) writeOld(home, host, 2);
  expect(await findings(home)).toEqual([]);
  for (const host of HOSTS) writeUnreadable(home, host);
  expect(await findings(home)).toEqual([]);
});

test("no host is named for its settings, nor for what a client writes that is only started", async () => {
  const started = JSON.stringify({ startedAt: new Date().toISOString() });
  for (const host of HOSTS) {
    const [root, place] = [home.paths.expand(host.home), placeOf(home, host)];
    writeOld(home, host, 71);
    for (const name of ["settings.json", "auth.json", "log/today", "plugins/a/data.json"])
      write(join(root, name), started);
    for (const name of ["session.db", `${uuidFrom("new")}.runtime.json`, "meta.json", ".lock", "MEMORY.md"])
      if (place !== undefined) write(join(place, name), started);
  }
  expect(await findings(home)).toEqual([]);
});

test("no host whose home was copied is named, unless it wrote in another form since", async () => {
  const places = HOSTS.flatMap((host) => {
    const place = placeOf(home, host);
    writeOld(home, host, 71);
    return place === undefined ? [] : [{ host, file: join(place, "turns.v9") }];
  });
  for (const rows of [jsonl({ at: daysAgo(71), until: daysAgo(-90) }), "no time stands here"]) {
    for (const { file } of places) write(file, rows);
    copied(home);
    expect(await findings(home)).toEqual([]);
  }
  const said = jsonl({ at: Date.now() - 3 * HOUR - 60_000, words: "count the newts" });
  for (const { file } of places) write(file, said);
  const lines = places.map(({ host, file }) => named(host, OLD, file));
  expect((await findings(home)).sort()).toEqual(lines.sort());
});

test.each([".config/cursor/chats", ".cursor/chats"])(
  "Cursor that keeps its chats in databases of ~/%s is named with one",
  async (place) => {
    const cursor = HOSTS.find(({ agent }) => agent === "cursor") as Host;
    writeOld(home, cursor, 71);
    const file = join(home.home, place, "9f2c", uuidFrom("chat"), "store.db");
    mkdirSync(dirname(file), { recursive: true });
    using db = new Database(file, { create: true });
    db.run("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)");
    age(file);
    expect(await findings(home)).toEqual([named(cursor, OLD, file)]);
  },
);

/** kill -9 at any moment while sessions are archived and restored: what is there is old and whole, or new and whole. */

import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { chain, claudeAssistant, claudeUser } from "./support/claude.ts";
import { type TemporaryHome, temporaryHome, writeClaude } from "./support/home.ts";
import { killPoints, runKilled } from "./support/kill.ts";
import { type Row, uuidFrom } from "./support/rows.ts";

const POINTS = killPoints(3);
setDefaultTimeout(60_000 + POINTS.length * 20_000);
const SESSIONS = 2;
const QUESTIONS = 40;
const DAY_MS = 86_400_000;
const END = "that is all of it";

function rowsOf(topic: string, version: number, count = QUESTIONS): Row[] {
  const rows = Array.from({ length: count }, (_, i) => [
    claudeUser({
      sessionId: uuidFrom(topic),
      text: `${topic} v${version} question ${i} ${"word ".repeat(10)}`,
    }),
    claudeAssistant({ sessionId: uuidFrom(topic), text: `${topic} answer ${i} ${"sentence ".repeat(15)}` }),
  ]);
  return chain([
    ...rows.flat(2),
    claudeUser({ sessionId: uuidFrom(topic), text: `${topic} v${version}: ${END}` }),
  ]);
}

/** Writes the sessions as they were `version` changes on, idle for days; returns their files. */
function writeSessions(home: TemporaryHome, version: number): string[] {
  return Array.from({ length: SESSIONS }, (_, i) => {
    const file = writeClaude(home, { id: uuidFrom(`topic${i}`), rows: rowsOf(`topic${i}`, version) });
    const at = new Date(Date.now() - (20 - version * 0.01) * DAY_MS);
    utimesSync(file, at, at);
    return file;
  });
}

/** Starts a script and kills it after a while. */
function run({ env, project }: TemporaryHome, command: readonly string[], afterMs?: number) {
  return runKilled(command, { env, cwd: project }, afterMs);
}

const BEGIN = ["hooks/background.ts", "--begin", "--cwd"] as const;

function copies(home: TemporaryHome): string[] {
  const folder = home.paths.copies;
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.endsWith(".gz")).map((name) => join(folder, name));
}

/** What the archive holds: each copy unpacks, and ends as its session does. */
function versions(home: TemporaryHome): number[] {
  return copies(home).map((file) => {
    const text = gunzipSync(readFileSync(file)).toString("utf8");
    expect(text.trimEnd().split("\n").length).toBe(rowsOf("topic0", 1).length);
    const last = text.trimEnd().split("\n").at(-1) ?? "";
    expect(last).toContain(END);
    return Number(/ v(\d+): /.exec(last)?.[1]);
  });
}

test("archiving: every copy is the old one or the new one, and the next run leaves nothing behind", async () => {
  using home = temporaryHome();
  const begin = [...BEGIN, home.project];
  writeSessions(home, 1);
  const { ms } = await run(home, begin);
  let killed = 0;
  for (const [at, part] of POINTS.entries()) {
    const version = at + 2;
    writeSessions(home, version);
    if ((await run(home, begin, part * ms)).isKilled) killed++;
    for (const found of versions(home)) expect([version - 1, version]).toContain(found);
    await home.ok(...BEGIN, home.project);
    expect(versions(home)).toEqual(Array.from({ length: SESSIONS }, () => version));
  }
  expect(killed).toBeGreaterThan(0);
  const left = readdirSync(home.paths.home, { recursive: true, encoding: "utf8" });
  expect(left.filter((name) => /^(?:archive|copies)\/.*\.tmp$/.test(name))).toEqual([]);
});

test("restoring: the new session is whole or not there, and nothing that was there is touched", async () => {
  using home = temporaryHome();
  const [file = ""] = writeSessions(home, 1);
  const before = readFileSync(file, "utf8");
  const folder = dirname(file);
  const rows = rowsOf("topic0", 1).length + 1;
  const own = new Set(readdirSync(folder));
  const restore = ["restore", uuidFrom("topic0")];
  const { ms } = await run(home, restore);
  for (const part of POINTS) {
    await run(home, restore, part * ms);
    for (const name of readdirSync(folder).filter((each) => !own.has(each) && each.endsWith(".jsonl"))) {
      expect(readFileSync(join(folder, name), "utf8").trimEnd().split("\n").length).toBe(rows);
      rmSync(join(folder, name));
    }
    expect(readFileSync(file, "utf8")).toBe(before);
  }
  await home.ok("restore", uuidFrom("topic0"));
  expect(readdirSync(folder).filter((name) => !name.endsWith(".jsonl"))).toEqual([]);
});

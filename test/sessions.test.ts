import { expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { listByLastRow } from "../lib/sessions/listing.ts";
import { compareAge, newestFirst } from "../lib/sessions/newest-first.ts";
import { type ListOptions, listSessions, sessionAt } from "../lib/sessions/sessions.ts";
import { claudeState, claudeUser } from "./support/claude.ts";
import { codexMeta } from "./support/codex.ts";
import { homePerTest, type TemporaryHome, write, writeClaude, writePi } from "./support/home.ts";
import { piHeader, piUser } from "./support/pi.ts";
import { plainLine } from "./support/plain.ts";
import { fuzzSeed, type Random, seeded } from "./support/random.ts";
import { jsonl, type Row } from "./support/rows.ts";

const home = homePerTest();

// Thousands of files, on machines that are busy.
setDefaultTimeout(30_000);

function ids(home: TemporaryHome, options: ListOptions = {}): string[] {
  return listSessions(home.paths, { cwd: home.root, ...options }).map(({ id }) => id);
}

function described(options: ListOptions = {}) {
  return listByLastRow(home.paths, { cwd: home.root, ...options });
}

/** A Claude Code session of one prompt, changed so many seconds ago. */
function prompted(home: TemporaryHome, id: string, { cwd = home.project, ago = 0 } = {}): string {
  const file = writeClaude(home, { id, cwd, rows: [claudeUser({ sessionId: id, cwd, text: "hello" })] });
  age(file, ago);
  return file;
}

function age(file: string, seconds: number): void {
  const time = Date.now() / 1000 - seconds;
  utimesSync(file, time, time);
}

test("listByLastRow() gives each session the time of its last dated row, whatever its file's", () => {
  const cwd = home.project;
  const day = (n: number) => `2026-01-0${n}T00:00:00.000Z`;
  const write = (id: string, ...rows: Row[]) => writeClaude(home, { id, rows });
  write("one", claudeUser({ text: "x", cwd, at: day(1) }), claudeState("mode", { note: "undated" }));
  write(
    "long",
    claudeUser({ text: "x", cwd, at: day(8) }),
    claudeUser({ text: "y".repeat(200_000), cwd, at: day(5) }),
  );
  write("far", claudeUser({ text: "x", cwd, at: day(4) }), claudeState("mode", { note: "z".repeat(20_000) }));
  write("quoting", claudeUser({ text: `{"timestamp":"${day(9)}"}`, cwd, at: day(3) }));
  const file = write("torn", claudeUser({ text: "x", cwd, at: day(2) }));
  appendFileSync(file, '{"type":"user","timestamp":"');
  const undated = writeClaude(home, {
    id: "undated",
    rows: [{ type: "user", cwd, message: { role: "user", content: "x" } }],
  });
  age(undated, 5 * 3600);
  const listed = described({ cwd });
  expect(listed.map(({ id, updatedAt }) => [id, updatedAt])).toEqual([
    ["undated", listed[0]?.modifiedAt ?? ""],
    ["long", day(5)],
    ["far", day(4)],
    ["quoting", day(3)],
    ["torn", day(2)],
    ["one", day(1)],
  ]);
  expect(sessionAt(file, home.paths)?.updatedAt).toBe(day(2));
  expect(sessionAt(file)?.updatedAt).toBe(listed.find(({ id }) => id === "torn")?.modifiedAt);
});

test("listSessions() finds a session that was moved into the project while it ran", () => {
  const before = claudeUser({ sessionId: "moved", cwd: "/elsewhere", text: "hello" });
  const after = claudeUser({ sessionId: "moved", cwd: home.project, text: "now here" });
  writeClaude(home, { id: "moved", rows: [before, after] });
  writeClaude(home, { id: "foreign", rows: [before] });
  expect(ids(home, { project: home.project })).toEqual(["moved"]);
});

test("listSessions() accepts of pi's folder only what begins with a session header", () => {
  const folder = join(writePi(home, { id: "real", rows: [piHeader({ id: "real" })] }), "..");
  write(
    join(folder, "subagent-artifacts", "log.jsonl"),
    jsonl({ type: "message", role: "user", content: "hello" }),
  );
  write(join(folder, "artifact.jsonl"), jsonl(plainLine("user", "hello")));
  write(join(folder, "renamed.jsonl"), jsonl(piHeader({ id: "by-header" }), piUser({ text: "hello" })));
  write(join(folder, "hostile.jsonl"), jsonl(piHeader({ id: "../../escape" }), piUser({ text: "hello" })));
  expect(ids(home).sort()).toEqual(["by-header", "real"]);
});

test("listSessions() reads given files and folders in place of the agents' own", () => {
  prompted(home, "own");
  const given = join(home.root, "given");
  const deep = join(given, "a", "b");
  write(join(deep, "claude-id.jsonl"), jsonl(claudeUser({ text: "hello" })));
  write(join(deep, "any name.jsonl"), jsonl(piHeader({ id: "pi-id" }), piUser({ text: "hello" })));
  write(join(given, `rollout-2026-02-03T14-30-00-codex-id.jsonl`), jsonl(codexMeta()));
  write(join(given, "standup.jsonl"), jsonl(plainLine("user", "hello")));
  write(join(given, "data.jsonl"), jsonl({ some: "data" }));
  write(join(given, "agent-acompact-1.jsonl"), jsonl(claudeUser({ agentId: "acompact-1", text: "hello" })));
  const single = write(join(home.root, "single.txt"), jsonl(plainLine("user", "hello")));
  const paths = { ...home.paths, transcripts: [given, single, join(home.root, "none"), deep] };
  const listed = listSessions(paths).map(({ agent, id }) => `${agent} ${id}`);
  expect(listed.sort()).toEqual([
    "claude claude-id",
    "codex codex-id",
    "pi pi-id",
    "plain single.txt",
    "plain standup",
  ]);
  expect(
    listSessions(paths, { agent: "plain" })
      .map(({ id }) => id)
      .sort(),
  ).toEqual(["single.txt", "standup"]);
});

test("listSessions() tells subagents in given folders by their content", () => {
  const given = join(home.root, "given");
  write(join(given, "agent-1.jsonl"), jsonl(claudeUser({ sessionId: "main", agentId: "1", text: "task" })));
  write(join(given, "main.jsonl"), jsonl(claudeUser({ sessionId: "main", text: "hello" })));
  const paths = { ...home.paths, transcripts: [given] };
  expect(listSessions(paths).map(({ id }) => id)).toEqual(["main"]);
  const all = listSessions(paths, { subagents: true }).map(({ id, parentId }) => [id, parentId]);
  expect(all.sort()).toEqual([
    ["agent-1", "main"],
    ["main", undefined],
  ]);
});

test("listSessions() passes over folders that cannot be read", () => {
  prompted(home, "seen");
  // A folder below a file cannot be entered by anyone, root included.
  write(join(home.paths.codex, "sessions", "2026"), "a file where a folder should be");
  write(home.paths.pi, "a file where a folder should be");
  write(join(home.paths.openclaw, "agents", "main"), "a file where a folder should be");
  expect(ids(home)).toEqual(["seen"]);
});

test("listByLastRow() orders by last rows where a copy says to be older than its rows", () => {
  const days = [1, 2, 3].map((day) => {
    const at = `2026-02-0${day}T12:00:00.000Z`;
    const id = `day-${day}`;
    const file = writeClaude(home, { id, rows: [claudeUser({ sessionId: id, text: "as ever", at })] });
    const written = Date.UTC(day === 1 ? 2026 : 1970, 1, 4 - day) / 1000;
    utimesSync(file, written, written);
    return id;
  });
  expect(described({ cwd: home.root }).map(({ id }) => id)).toEqual(days.toReversed());
  expect(listByLastRow(home.paths, { cwd: home.root, limit: 1 }).map(({ id }) => id)).toEqual(["day-3"]);
});

/** Sessions that are dated by reading them; each has its last row within some hours before `latest`. */
function unread(count: number, random: Random) {
  return Array.from({ length: count }, (_, i) => {
    const at = Date.UTC(2026, 0, 1) + random.integer(0, 99) * 3_600_000;
    const session = { file: `/${i}.jsonl`, updatedAt: new Date(at).toISOString() };
    return { session, latest: at + random.integer(0, 9) * 3_600_000 };
  });
}

test("newestFirst() yields what it reads in the order of all, whatever it reads first", () => {
  const random = seeded(fuzzSeed("newest first"));
  for (let run = 0; run < 100; run++) {
    const all = unread(random.integer(0, 200), random);
    const given = all.map(({ session, latest }) => ({ latest, read: () => [session] }));
    expect([...newestFirst(given)]).toEqual(all.map(({ session }) => session).sort(compareAge));
  }
});

test("newestFirst() reads no more than the newest need", () => {
  let reads = 0;
  const given = Array.from({ length: 3000 }, (_, hour) => {
    const latest = Date.UTC(2026, 0, 1) + hour * 3_600_000;
    const session = { file: `/${hour}.jsonl`, updatedAt: new Date(latest).toISOString() };
    const read = () => {
      reads++;
      return [session];
    };
    return { latest, read };
  });
  expect([...newestFirst(given).take(20)].map(({ file }) => file)).toEqual(
    Array.from({ length: 20 }, (_, i) => `/${2999 - i}.jsonl`),
  );
  expect(reads).toBe(32);
});

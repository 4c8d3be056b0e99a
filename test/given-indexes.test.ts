import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { claudeUser } from "./support/claude.ts";
import { type TemporaryHome, temporaryHome, write, writeClaude } from "./support/home.ts";
import { openHomeStore } from "./support/index.ts";
import { plainLine } from "./support/plain.ts";
import { uuidFrom } from "./support/rows.ts";

const DAY_S = 86_400;

/** A home with one session of its own, and two folders of others. */
function homeWithFolders(): { home: TemporaryHome; one: string; two: string } {
  const home = temporaryHome();
  const id = uuidFrom("own");
  writeClaude(home, { id, rows: [claudeUser({ text: "where is the sextant of ours", sessionId: id })] });
  const [one, two] = ["one", "two"].map((name) => {
    const folder = join(home.root, name);
    write(join(folder, `talk-${name}.jsonl`), [
      plainLine("user", `where is the sextant of ${name}`),
      plainLine("assistant", "In the chart room."),
    ]);
    return folder;
  }) as [string, string];
  return { home, one, two };
}

async function found(home: TemporaryHome, ...flags: string[]): Promise<string[]> {
  const { results } = JSON.parse(await home.ok("search", "where is the sextant", "--json", ...flags));
  return results.map(({ session_id }: { session_id: string }) => session_id).sort();
}

function indexes(home: TemporaryHome): string[] {
  if (!existsSync(home.paths.indexes)) return [];
  return readdirSync(home.paths.indexes).filter((name) => name.endsWith(".db"));
}

function sessionsInMain(home: TemporaryHome): unknown[] {
  const store = openHomeStore(home);
  const rows = store.db.prepare("SELECT id FROM sessions").all();
  store.close();
  return rows.map(({ id }) => id);
}

test("given paths have an index of their own, keyed by the paths in whatever order", async () => {
  const { home, one, two } = homeWithFolders();
  using _ = home;
  const own = uuidFrom("own");
  expect(await found(home)).toEqual([own]);
  expect(await found(home, "--sessions", one)).toEqual(["talk-one"]);
  expect(await found(home, "--sessions", one, "--sessions", two)).toEqual(["talk-one", "talk-two"]);
  expect(await found(home, "--sessions", two, "--sessions", one)).toEqual(["talk-one", "talk-two"]);
  expect(indexes(home)).toHaveLength(2);
  home.env.SESSION_MEMORY_SESSIONS = `${two}:${one}`;
  expect(await found(home)).toEqual(["talk-one", "talk-two"]);
  await home.ok("embed", "--all");
  delete home.env.SESSION_MEMORY_SESSIONS;
  expect(indexes(home)).toHaveLength(2);
  expect(await found(home)).toEqual([own]);
  expect(sessionsInMain(home)).toEqual([own]);
}, 30_000);

test("forget covers them, from wherever it is asked", async () => {
  const { home, one, two } = homeWithFolders();
  using _ = home;
  await found(home);
  await found(home, "--sessions", one);
  await found(home, "--sessions", one, "--sessions", two);
  const told = JSON.parse(await home.ok("forget", "--pattern", "sextant of one", "--yes", "--json"));
  expect(told.removed.chunks).toBe(2);
  const gone = JSON.parse(await home.ok("forget", "talk-two", "--yes", "--json"));
  expect(gone.removed.chunks).toBe(1);
  for (const name of indexes(home)) {
    expect(readFileSync(join(home.paths.indexes, name)).includes("sextant of")).toBe(false);
  }
  expect(await found(home, "--sessions", one, "--sessions", two)).toEqual([]);
  expect(await found(home)).toEqual([uuidFrom("own")]);
}, 30_000);

test("one that nobody used for 30 days is removed", async () => {
  const { home, one, two } = homeWithFolders();
  using _ = home;
  await found(home, "--sessions", one);
  await found(home, "--sessions", two);
  const age = (days: number) => {
    for (const name of readdirSync(home.paths.indexes)) {
      const at = Date.now() / 1000 - days * DAY_S;
      utimesSync(join(home.paths.indexes, name), at, at);
    }
  };
  age(29);
  await found(home, "--sessions", one);
  expect(indexes(home)).toHaveLength(2);
  age(31);
  await found(home, "--sessions", one);
  expect(indexes(home)).toHaveLength(1);
  age(31);
  await home.ok("embed"); // also cleans what older redaction rules stored, in whatever index is still there
  expect(indexes(home)).toEqual([]);
  expect(await found(home)).toEqual([uuidFrom("own")]);
}, 30_000);

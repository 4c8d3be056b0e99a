/** Databases that are missing, damaged, of another version, or stored under other rules: indexes are made again, the rest is carried over. */

import { describe, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { INDEX_VERSION } from "../lib/config/config.ts";
import { openSpendLedger, readSpendToday } from "../lib/model/spend.ts";
import { openDatabase } from "../lib/store/sqlite.ts";
import { eraseFreedState, recordWritten, writtenFiles } from "../lib/store/state.ts";
import { removeDatabase } from "../lib/store/store.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { serverPerFile } from "./support/fake-openai.ts";
import { type TemporaryHome, temporaryHome, writeClaude } from "./support/home.ts";
import { turn } from "./support/index.ts";
import { uuidFrom } from "./support/rows.ts";
import { startScript } from "./support/run.ts";

const server = serverPerFile({ dimensions: 8 });
const [BRASS, COPPER] = [uuidFrom("brass"), uuidFrom("copper")];
const SECRET = "VIOLET-7731";
const TOOLS = [{ name: "Bash", input: { command: `deploy --to ${SECRET}` } }];

/** An index of two sessions with vectors. */
async function indexedHome(): Promise<TemporaryHome> {
  const home = temporaryHome();
  configure(home);
  for (const [id, words] of [
    [BRASS, "brass"],
    [COPPER, "copper"],
  ] as const) {
    const rows = [0, 1].map((minute) =>
      turn(`where does the ${words} sextant ${minute} lie`, `With ${SECRET} in room ${minute}.`, {
        minute,
        sessionId: id,
        tools: TOOLS,
      }),
    );
    writeClaude(home, { id, rows });
  }
  await home.ok("embed");
  return home;
}

function configure(home: TemporaryHome, more: object = {}): void {
  const embedding = { baseUrl: server.baseUrl, apiKeyEnv: "NO_KEY", model: "fake", dimensions: 8 };
  home.configure({ timezone: "UTC", embedding, ...more });
}

/** Makes a database one of another version. */
function age(path: string, version: number, sql = ""): void {
  const db = openDatabase(path);
  db.exec(`${sql}; PRAGMA user_version = ${version}`);
  db.close();
}

async function found(home: TemporaryHome, question: string): Promise<string[]> {
  const { stdout } = await home.run("search", question, "--json");
  return JSON.parse(stdout).results.map(({ session_id }: { session_id: string }) => session_id);
}

function databases(home: TemporaryHome): string[] {
  return readdirSync(home.paths.home)
    .sort()
    .filter((name) => /\.db|\.lock$/.test(name) && !/-(wal|shm)$/.test(name));
}

const INDEX = `index-${INDEX_VERSION}.db`;

describe("an index", () => {
  test("that is deleted is made again, and nothing is paid for again", async () => {
    using home = await indexedHome();
    removeDatabase(home.paths.database);
    server.requests.length = 0;
    const embedded = await home.json("embed", "--quiet");
    expect([embedded.sessions, embedded.vectors.embedded, embedded.vectors.reused]).toEqual([2, 4, 4]);
    expect(server.embeddedTexts()).toEqual([]);
    expect((await found(home, "brass sextant"))[0]).toBe(BRASS);
    expect(databases(home)).toEqual([INDEX, "paid.db", "state.db"]);
  });

  test("of another version is neither read nor touched, and goes when nothing has used it for a month or something is forgotten", async () => {
    using home = await indexedHome();
    const others = ["index-7.db", "index-5.db"].map((name) => join(home.paths.home, name));
    for (const other of others) copyFileSync(home.paths.database, other);
    const [newer = "", older = ""] = others;
    const before = readFileSync(newer);
    await home.ok("search", "sextant");
    expect(readFileSync(newer)).toEqual(before);
    const month = new Date(Date.now() - 31 * 86_400_000);
    utimesSync(older, month, month);
    await home.ok("embed", "--quiet");
    expect(others.map((other) => existsSync(other))).toEqual([true, false]);
    await home.ok("forget", BRASS, "--yes");
    expect(databases(home)).toEqual([INDEX, "paid.db", "state.db"]);
  });

  test("is made by many processes at once, and by the next ones where some are killed", async () => {
    using home = await indexedHome();
    removeDatabase(home.paths.database);
    for (let i = 0; i < 3; i++) {
      const killed = Bun.spawn([process.execPath, "scripts/search.ts", "brass sextant"], {
        env: home.env,
        stdout: "ignore",
        stderr: "ignore",
      });
      await new Promise((resolve) => setTimeout(resolve, 60 + 30 * i));
      killed.kill("SIGKILL");
      await killed.exited;
    }
    const runs = Array.from({ length: 4 }, () =>
      startScript("search", ["brass sextant", "--json"], { env: home.env, cwd: home.project }),
    );
    for (const { exitCode, stdout } of await Promise.all(runs))
      expect([exitCode, stdout !== "" && JSON.parse(stdout).results[0].session_id]).toEqual([0, BRASS]);
    expect(databases(home)).toEqual([INDEX, "paid.db", "state.db"]);
  });
});

test("other redaction rules leave what they hide in no index and no answer, and the rest is still found", async () => {
  using home = await indexedHome();
  await home.ok("search", "sextant", "--quiet");
  const bytes = () =>
    readdirSync(home.paths.home)
      .filter((name) => name.startsWith(INDEX))
      .map((name) => readFileSync(join(home.paths.home, name), "latin1"))
      .join("");
  expect(bytes()).toContain(SECRET);
  configure(home, { redact: { extra: ["VIOLET-\\d+"] } });
  const printed = await home.ok("search", "brass sextant", "--full", "--quiet");
  expect([printed.includes("[redacted:custom]"), printed.includes(SECRET)]).toEqual([true, false]);
  await home.ok("embed", "--quiet");
  expect(bytes()).not.toContain(SECRET);
  expect(databases(home)).toEqual([INDEX, "paid.db", "state.db"]);
});

test("what config.json excludes goes from the index, and what stays is not paid for again", async () => {
  using home = await indexedHome();
  server.requests.length = 0;
  configure(home, { exclude: { sessions: [BRASS], projects: [], patterns: ["sextant 1"] } });
  await home.ok("embed", "--quiet");
  const db = openDatabase(home.paths.database);
  const texts = db.prepare("SELECT session_id, content FROM session_chunks ORDER BY content").all();
  expect(texts.map(({ session_id, content }) => [session_id, String(content).split("\n")[0]])).toEqual([
    [COPPER, "User: where does the copper sextant 0 lie"],
  ]);
  db.close();
  expect(server.embeddedTexts()).toEqual([]);
});

test("a state.db of a newer version is left as it is", async () => {
  using home = temporaryHome();
  await recordState(home, 1);
  age(home.paths.state, 9);
  expect(await home.run("forget", "--pattern", "x", "--yes")).toEqual({
    stdout: "",
    stderr: `error: STORAGE_ERROR: Cannot read "${home.paths.state}": a newer version wrote it\nhint: update session-memory\n`,
    exitCode: 1,
  });
  const db = openDatabase(home.paths.state);
  expect(db.prepare("PRAGMA user_version").get()).toEqual({ user_version: 9 });
  db.close();
});

/** Puts spend and written files into state.db. */
async function recordState({ paths, root }: TemporaryHome, records: number): Promise<void> {
  const spend = openSpendLedger(paths.home, {});
  for (let i = 0; i < records; i++) {
    const call = await spend.reserve({
      kind: "chat",
      feature: "meta",
      model: "gpt-4o-mini",
      tokens: { input: 1000, output: 0 },
    });
    call.settle({ input: 1000, output: 0 });
    recordWritten(paths, { path: join(root, `note-${i}.md`), content: "x", sessionId: COPPER });
  }
}

describe("state.db", () => {
  test("of another version keeps spend, written files and withdrawals, and is deleted", async () => {
    using home = temporaryHome();
    const { paths } = home;
    await recordState(home, 3);
    age(
      paths.state,
      2,
      `INSERT INTO share_withdrawals (agent, id, entry) VALUES ('claude', 'x', 'x');
       ALTER TABLE spend ADD COLUMN of_that_version TEXT`,
    );
    expect(readSpendToday(paths.home)).toMatchObject({ calls: 3, tokens: { input: 3000, output: 0 } });
    expect(writtenFiles(paths).map(({ path }) => path)).toEqual(
      [0, 1, 2].map((i) => join(home.root, `note-${i}.md`)),
    );
    const db = openDatabase(paths.state);
    expect(db.prepare("SELECT id FROM share_withdrawals").all()).toEqual([{ id: "x" }]);
    db.close();
    expect(databases(home)).toEqual(["state.db"]);
  });

  test("that is damaged keeps what can be read, and is deleted by the next forget", async () => {
    using home = temporaryHome();
    const { paths } = home;
    await recordState(home, 300);
    eraseFreedState(paths);
    for (const part of ["-wal", "-shm"]) rmSync(paths.state + part, { force: true });
    const whole = readFileSync(paths.state);
    const middle = Math.floor(whole.length / 2);
    writeFileSync(paths.state, Buffer.from(whole).fill(0xa5, middle, middle + 8192));
    // in processes of their own, which leave no part of the database in its log
    const start = (name: string, ...args: string[]) =>
      startScript(name, args, { env: home.env, cwd: home.project });
    const forget = (...args: string[]) => start("forget", "--pattern", "nothing of it", ...args);
    const first = await forget("--yes");
    expect(first.stderr).toStartWith(`error: STORAGE_ERROR: Cannot read "${paths.state}": it is damaged (`);
    const [aside = ""] = JSON.parse((await forget("--dry-run", "--json")).stdout).setAside;
    expect(aside).toStartWith(`${paths.state}.damaged-`);
    expect(readSpendToday(paths.home).calls + writtenFiles(paths).length).toBeGreaterThan(300);
    const report = JSON.parse((await start("health", "--json")).stdout);
    expect(report.findings.map(({ what }: { what: string }) => what)).toContain(
      `${aside.slice(paths.home.length + 1)} was damaged; what could be read of it was carried over`,
    );
    const forgotten = await forget("--yes");
    expect(forgotten.stdout).toContain(`\nfiles that cannot be read here, deleted:\n- ${aside}\n`);
    expect(databases(home)).toEqual(["state.db"]);
  });
});

describe("a damaged index", () => {
  const PAGE = 8192;
  const TURNS = 60;

  test("is one error with the remedy, then made again", async () => {
    using home = temporaryHome();
    const { paths } = home;
    const rows = Array.from({ length: TURNS }, (_, i) => [
      claudeUser({ text: `where is sextant number ${i} ${"of the ship ".repeat(20)}`, sessionId: BRASS }),
      ...claudeAssistant({ text: `In room ${i}. ${"It is there. ".repeat(20)}`, sessionId: BRASS }),
    ]);
    writeClaude(home, { id: BRASS, rows: rows.flat() });
    await home.run("embed");
    const whole = openDatabase(paths.database);
    whole.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    const trees = whole.all(
      "SELECT name, rootpage FROM sqlite_schema WHERE name IN ('rows', 'chunks', 'chunks_fts_data')",
    );
    whole.close();
    const bytes = readFileSync(paths.database);
    const pages = bytes.length / PAGE;
    const positions: [string, Buffer][] = [
      ["no database at all", Buffer.from("nothing of a database ".repeat(500))],
      ["half of it", bytes.subarray(0, Math.floor(pages / 2) * PAGE)],
      ["the schema", Buffer.from(bytes).fill(0xa5, 100, PAGE)],
    ];
    // what these commands read: which page by its number holds what, a later layout decides
    for (const { name, rootpage } of trees) {
      const page = Number(rootpage) - 1;
      positions.push([String(name), Buffer.from(bytes).fill(0xa5, page * PAGE, (page + 1) * PAGE)]);
    }
    for (const [what, damaged] of positions) {
      for (const name of readdirSync(paths.home)) if (name.startsWith(INDEX)) rmSync(join(paths.home, name));
      writeFileSync(paths.database, damaged);
      const seen: string[] = [];
      for (const command of ["search sextant", "embed --all", "search sextant", "embed --all"]) {
        const [name = "", ...args] = command.split(" ");
        const { stdout, stderr, exitCode } = await home.run(name, ...args);
        const stack = /\n {4}at |SQLiteError|TypeError/.exec(stderr + stdout)?.[0];
        expect([what, name, stack]).toEqual([what, name, undefined]);
        seen.push(`${name} ${exitCode}`);
      }
      expect([what, ...seen.slice(2)]).toEqual([what, "search 0", "embed 0"]);
      expect([what, databases(home)]).toEqual([what, [INDEX]]);
      const db = openDatabase(paths.database);
      expect([what, db.prepare("PRAGMA integrity_check").get()]).toEqual([what, { integrity_check: "ok" }]);
      const count = db.prepare("SELECT count(*) AS n FROM session_chunks WHERE session_id = ?");
      expect([what, Number(count.get(BRASS)?.n)]).toEqual([what, TURNS]);
      db.close();
    }
  }, 280_000);
});

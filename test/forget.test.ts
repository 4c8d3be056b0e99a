/** Sessions that are forgotten: by id, name and time, with a yes, and for good. */

import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { forgetSessions } from "../lib/index/forget-rows.ts";
import { heldSessions } from "../lib/index/held-sessions.ts";
import { claudeAssistant, claudeState, claudeUser } from "./support/claude.ts";
import { serverPerFile } from "./support/fake-openai.ts";
import {
  AGENTS,
  configure,
  DIMENSIONS,
  holdEverything,
  holding,
  homeWithAll,
  idOf,
  MARK,
  ofOthers,
  writeOther,
  writeSession,
} from "./support/forget.ts";
import {
  homePerTest,
  lastSaid,
  type TemporaryHome,
  temporaryHome,
  write,
  writeClaude,
} from "./support/home.ts";
import { openHomeStore } from "./support/index.ts";
import { uuidFrom } from "./support/rows.ts";
import { runScript, starting, startScript } from "./support/run.ts";

const home = homePerTest();
const server = serverPerFile({ dimensions: DIMENSIONS });

describe("forget", () => {
  test("takes sessions of all four formats out of every byte we hold, and they stay out", async () => {
    using home = homeWithAll();
    const victims = AGENTS.map((kind) => idOf(kind, "victim"));
    const others = AGENTS.map((kind) => idOf(kind, "other"));
    for (const kind of AGENTS) {
      writeSession(home, kind, { who: "victim", mark: MARK });
      writeSession(home, kind, { who: "other", mark: "plainword" });
    }
    await holdEverything(home, server, [...victims, ...others]);
    const before = ofOthers(home, others);
    const places = holding(home, MARK).map((file) =>
      file.replace(/[^/]+\.(meta\.json|jsonl|md|html)$|(?<=indexes\/)[0-9a-f]+\.(db)$/, "*.$1$2"),
    );
    expect([...new Set(places)].sort()).toEqual(
      [
        "/home/.pi/agent/sessions-meta/*.meta.json",
        "/home/.session-memory/indexes/*.db",
        "/home/.session-memory/log.ndjson",
        "/home/.session-memory/observations/*.jsonl",
        "/home/.session-memory/reports/*.html",
        "/home/.session-memory/sessions-meta/*.meta.json",
        "/home/.session-memory/state.db",
        "/shop/memory/*.md",
      ].sort(),
    );
    const would = JSON.parse(await home.ok("forget", "--yes", ...victims, "--dry-run", "--json", "--quiet"));
    expect(ofOthers(home, others)).toEqual(before);

    const told = JSON.parse(await home.ok("forget", "--yes", ...victims, "--json", "--quiet"));
    expect(told).toEqual({ ...would, dryRun: false });
    expect(told.sessions.map(({ id }: { id: string }) => id)).toEqual(victims);
    expect(told.removed).toEqual({
      chunks: 4,
      vectors: 4,
      observations: expect.any(Number),
      ledgers: 4,
      metaFiles: 4,
      copies: 0,
      cursors: expect.any(Number), // a busy prompt hook sets none
      notes: expect.any(Array),
      reports: expect.any(Array),
      logLines: expect.any(Number),
      rules: 0,
      sharedChunks: 0,
    });
    expect(told.removed.notes).toHaveLength(4);
    expect(told.removed.reports).toHaveLength(5); // with the overview that links them
    expect(told.transcripts.map((file: string) => existsSync(file))).toEqual([true, true, true, true]);
    expect(holding(home, MARK)).toEqual([]);
    expect(ofOthers(home, others)).toEqual(before);
    expect(JSON.parse(readFileSync(home.paths.config, "utf8")).exclude.sessions).toEqual(victims);

    await home.ok("embed", "--new");
    await home.ok("embed", "--all");
    await home.ok("index-meta", "--all");
    await home.prompt(`${MARK}user @@${victims[0]}`);
    for (const id of victims) {
      expect((await home.run("observe-compact", id, "--observe")).exitCode).toBe(1);
      expect((await home.run("index-meta", id, "--force")).exitCode).toBe(1);
      expect((await home.run("save-session", id)).exitCode).toBe(1);
      const turn = [
        "--session",
        id,
        "--file",
        told.transcripts[victims.indexOf(id)],
        "--cwd",
        home.project,
        "--save",
        "/clear",
      ];
      await home.ok("hooks/background.ts", ...turn);
    }
    const digest = await home.ok(
      "activity-summary",
      "--since",
      "1h",
      "--scope",
      "all",
      "--current",
      others[0] ?? "",
    );
    const found = JSON.parse(await home.ok("search", `${MARK}user`, `${MARK}answer`, "--json"));
    expect([digest.includes(MARK), found.results]).toEqual([false, []]);
    expect(found.index.sessions).toBe(4);
    expect(holding(home, MARK)).toEqual([]);
  }, 60_000);

  test("knows a session whose transcript is gone by its id, by its beginning, and by its name", async () => {
    using home = homeWithAll();
    configure(home, server);
    const files = AGENTS.map((kind) => writeSession(home, kind, { who: "victim", mark: MARK }));
    const [first = "", second = "", third = ""] = AGENTS.map((kind) => idOf(kind, "victim"));
    await home.ok("embed");
    await home.ok("observe-compact", first, "--observe");
    for (const file of files) rmSync(file);
    await home.ok("forget", "--yes", first);
    await home.ok("forget", "--yes", second.slice(0, 6));
    await home.ok("forget", "--yes", third, "victim-plain-notes");
    expect(holding(home, MARK)).toEqual([]);
    expect(await home.run("forget", "--yes", first)).toEqual({
      stdout: "",
      stderr: expect.stringMatching(/^error: NOT_FOUND: Cannot find session "[^"]+"\nhint: .+\n$/),
      exitCode: 1,
    });
  }, 30_000);

  test("takes what was idle since a time, and keeps out those of it that a host still has", async () => {
    const old = ["there", "gone"].map((who) => uuidFrom(`old ${who}`));
    const files = [...old, uuidFrom("new")].map((id, i) => {
      const file = writeClaude(home, { id, rows: [claudeUser({ text: `${MARK}user`, sessionId: id })] });
      return lastSaid(file, (i < 2 ? 40 : 1) * 86_400);
    });
    await home.ok("embed");
    rmSync(files[1] ?? "");
    const told = await home.ok("forget", "--yes", "--before", "30d");
    expect(told.split("\n")[0]).toBe("forgot 2 sessions");
    const config = JSON.parse(readFileSync(home.paths.config, "utf8"));
    expect(config).toEqual({ exclude: { sessions: [old[0]] } });
    await home.ok("embed", "--all");
    const store = openHomeStore(home);
    expect(store.db.prepare("SELECT id FROM sessions").all()).toEqual([{ id: uuidFrom("new") }]);
    store.close();
    const none = await home.run("forget", "--before", "400d");
    expect([none.exitCode, none.stderr]).toEqual([0, "no stored data matches\n"]);
    const asJson = await home.ok("forget", "--before", "400d", "--json");
    expect(JSON.parse(asJson)).toMatchObject({
      sessions: [],
      removed: { chunks: 0 },
      excluded: { sessions: [] },
    });
  }, 30_000);

  test("forgets a session's subagents with it, and says which forks hold the same rows", async () => {
    const parent = uuidFrom("parent");
    const rows = [
      claudeUser({ text: `${MARK}user`, sessionId: parent, at: "2026-02-03T10:00:00.000Z" }),
      ...claudeAssistant({ text: "yes", sessionId: parent, at: "2026-02-03T10:00:01.000Z" }),
    ];
    writeClaude(home, { id: parent, rows });
    writeClaude(home, { id: "agent-a1", parentId: parent, rows: [claudeUser({ text: `${MARK}child` })] });
    const fork = uuidFrom("fork");
    writeClaude(home, { id: fork, rows: [...rows, claudeUser({ text: "further", sessionId: fork })] });
    await home.ok("embed");
    const told = JSON.parse(await home.ok("forget", "--yes", parent, "--json", "--quiet"));
    expect(told.sessions.map(({ id }: { id: string }) => id)).toEqual([parent, "agent-a1"]);
    expect([told.forks, told.excluded.sessions]).toEqual([[fork], [parent]]);
    writeClaude(home, { id: "agent-a2", parentId: parent, rows: [claudeUser({ text: `${MARK}later` })] });
    await home.ok("embed");
    expect(holding(home, MARK)).toEqual([]);
  }, 30_000);

  test("with --no-exclude only deletes: the next indexing reads it again", async () => {
    const id = uuidFrom("again");
    writeClaude(home, { id, rows: [claudeUser({ text: `${MARK}user`, sessionId: id })] });
    await home.ok("embed");
    await home.ok("forget", "--yes", id, "--no-exclude");
    expect([holding(home, MARK), existsSync(home.paths.config)]).toEqual([[], false]);
    await home.ok("embed");
    expect(holding(home, MARK)).toEqual(["/home/.session-memory/memory.db"]);
  }, 30_000);

  test("takes a part of a name or a misspelt one for no name: it lists candidates and changes nothing", async () => {
    using home = temporaryHome();
    const id = uuidFrom("taxes");
    const title = claudeState("custom-title", { customTitle: "quarterly tax return" }, id);
    const rows = [claudeUser({ text: "hello", sessionId: id }), title];
    const file = writeClaude(home, { id, rows });
    await home.ok("embed");
    const refused = async (reference: string) => {
      const { stdout, stderr, exitCode } = await home.run("forget", reference, "--yes");
      expect([stdout, exitCode]).toEqual(["", 1]);
      return stderr.replace(/, \d+[a-z]+ ago/, "");
    };
    for (const reference of ["tax", "quartrly tax retrun", "quarterly tax", "tax return quarterly"]) {
      expect(await refused(reference)).toBe(
        `error: NOT_FOUND: Cannot find session "${reference}"\n` +
          `hint: the nearest are ${id} "quarterly tax return" (claude)\n`,
      );
    }
    rmSync(file); // and the same where only the index knows it
    for (const reference of ["tax", "quartrly tax retrun"]) {
      expect(await refused(reference)).toStartWith(`error: NOT_FOUND: Cannot find session "${reference}"\n`);
    }
    expect((await home.run("forget", `${id.slice(0, 8)}:3-5`, "--yes")).stderr).toBe(
      `error: Cannot use "${id.slice(0, 8)}:3-5": it names lines of a session\n` +
        `hint: name the session alone: ${id.slice(0, 8)}\n`,
    );
    expect(existsSync(home.paths.config)).toBe(false);
    write(file, rows);
    const told = JSON.parse(await home.ok("forget", "Quarterly_tax-return", "--yes", "--json", "--quiet"));
    expect(told.sessions.map((session: { id: string }) => session.id)).toEqual([id]);
  }, 30_000);

  test("shows what would go and changes nothing until somebody says yes", async () => {
    const id = uuidFrom("asked about");
    writeClaude(home, { id, rows: [claudeUser({ text: "hello", cwd: home.project, sessionId: id })] });
    await home.ok("embed");
    const shown = (await home.ok("forget", id, "--dry-run")).split("\n");
    expect(shown.slice(0, 2)).toEqual(["would forget 1 session", `- ${id} (claude)`]);
    const refusal = {
      stderr: "error: NOT_CONFIRMED: Cannot forget without a yes: nothing was changed\nhint: add --yes\n",
      exitCode: 1,
    };
    const asked = [[id], ["--project", home.project], ["--before", "0d"], ["--pattern", "hello"]];
    for (const args of asked) {
      const preview = await home.ok("forget", ...args, "--dry-run");
      const options = { env: home.env, cwd: home.project, stdin: "yes\n" };
      expect(await runScript("forget", args, options)).toEqual({ ...refusal, stdout: preview });
      expect((await home.run("forget", ...args, "--json")).stdout).toBe("");
    }
    expect(existsSync(home.paths.config)).toBe(false);
    expect(await atTerminal(home, [id], "n\n")).toMatchObject({ exitCode: 1 });
    expect(await atTerminal(home, [id], "\x04")).toMatchObject({ exitCode: 1 });
    expect(existsSync(home.paths.config)).toBe(false);
    const { said, exitCode } = await atTerminal(home, [id], "y\n");
    expect([exitCode, said.includes("Forget this? [y/N]"), said.includes("forgot 1 session")]).toEqual([
      0,
      true,
      true,
    ]);
    expect(JSON.parse(readFileSync(home.paths.config, "utf8")).exclude.sessions).toEqual([id]);
  }, 30_000);

  test("--undo takes a session, a project or a pattern back out of exclude, and it is found again", async () => {
    const [one, two] = ["one", "two"].map((who) => {
      const id = uuidFrom(`undo ${who}`);
      const cwd = join(home.root, who);
      mkdirSync(cwd);
      writeClaude(home, {
        id,
        cwd,
        rows: [claudeUser({ text: `${MARK}${who} parser`, cwd, sessionId: id })],
      });
      return { id, cwd };
    }) as [{ id: string; cwd: string }, { id: string; cwd: string }];
    await home.ok("embed");
    await home.ok("forget", one.id, "--yes");
    await home.ok("forget", "--project", two.cwd, "--yes");
    await home.ok("forget", "--pattern", "harmless \\w+", "--yes");
    const found = async () =>
      JSON.parse(await home.ok("search", `${MARK}one`, `${MARK}two`, "parser", "--json")).results.length;
    expect(await found()).toBe(0);
    const undone = async (what: string) =>
      JSON.parse(await home.ok("forget", "--undo", what, "--json")).undone;
    const none = { sessions: [], projects: [], patterns: [] };
    expect(await undone(one.id.slice(0, 8))).toEqual({ ...none, sessions: [one.id] });
    expect(await undone(two.cwd)).toEqual({ ...none, projects: [two.cwd] });
    expect(await undone("harmless \\w+")).toEqual({ ...none, patterns: ["harmless \\w+"] });
    expect(JSON.parse(readFileSync(home.paths.config, "utf8"))).toEqual({ exclude: none });
    expect(await found()).toBe(2);
    expect(await home.run("forget", "--undo", "nothing of it")).toEqual({
      stdout: "",
      stderr:
        'error: NOT_FOUND: Cannot undo "nothing of it": config.json does not exclude it\nhint: see exclude in config.json\n',
      exitCode: 1,
    });
  }, 30_000);

  test("while indexing, embedding and observing go on, nothing comes back", async () => {
    using home = homeWithAll();
    configure(home, server);
    const ids = AGENTS.map((kind) => idOf(kind, "victim"));
    const files = AGENTS.map((kind) => writeSession(home, kind, { who: "victim", mark: MARK }));
    for (const kind of AGENTS) writeSession(home, kind, { who: "other", mark: "plainword" });
    await home.ok("embed");
    let isOver = false;
    const keepOn = async (work: (round: number) => Promise<unknown>) => {
      for (let round = 0; !isOver; round++) await work(round);
    };
    const touch = (round: number) => utimesSync(files[round % 4] ?? "", new Date(), new Date());
    const started = (name: string, args: string[]) =>
      startScript(name, args, { env: home.env, cwd: home.project });
    const turn = (i: number) => ["--session", ids[i] ?? "", "--file", files[i] ?? "", "--cwd", home.project];
    const others = [
      keepOn(async (round) => {
        touch(round);
        await started("embed", round % 2 ? ["--all"] : []);
      }),
      keepOn((round) => home.run("hooks/background.ts", ...turn(round % 4))),
      keepOn((round) => started("search", [`${MARK}user ${round}`])),
    ];
    await Bun.sleep(700);
    const forget = () => home.run("forget", "--yes", ...ids);
    let forgot = await forget();
    // It says to run it again where a reader kept the database's log from being emptied.
    for (let time = 0; time < 20 && forgot.stderr.includes("error: BUSY"); time++) forgot = await forget();
    expect(forgot.exitCode).toBe(0);
    await Bun.sleep(700);
    isOver = true;
    await Promise.all(others);
    expect(holding(home, MARK)).toEqual([]);
    const store = openHomeStore(home);
    expect(store.db.prepare("SELECT count(*) AS n FROM sessions").get()).toEqual({ n: 4 });
    expect(store.db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  }, 60_000);

  test("ends what a run that was killed has left in the files", async () => {
    const id = uuidFrom("left");
    const file = writeClaude(home, { id, rows: [claudeUser({ text: `${MARK}user`, sessionId: id })] });
    await home.ok("embed");
    rmSync(file);
    const store = openHomeStore(home);
    forgetSessions(store, heldSessions(store));
    const other = openHomeStore(home);
    store.close(); // the last one to close empties the log, which a kill does not
    expect(holding(home, MARK)).not.toEqual([]);
    other.close();
    write(join(home.paths.observations, `${id}.jsonl.999999.0123abcd.tmp`), `${MARK}torn`);
    expect((await home.run("forget", "--yes", id)).exitCode).toBe(1);
    expect(holding(home, MARK)).toEqual([
      `/home/.session-memory/observations/${id}.jsonl.999999.0123abcd.tmp`,
    ]);
    await home.ok("forget", "--yes", writeOther(home));
    expect(holding(home, MARK)).toEqual([]);
  });

  test("what was added to exclude by hand is not found any more", async () => {
    const id = uuidFrom("by hand");
    const rows = [claudeUser({ text: `${MARK}user`, cwd: home.project, sessionId: id })];
    writeClaude(home, { id, rows });
    writeOther(home);
    const found = async (...flags: string[]) =>
      JSON.parse(await home.ok("search", `${MARK}user`, "--json", ...flags)).results.length;
    expect(await found()).toBe(1);
    home.configure({ exclude: { projects: [home.project] } });
    expect([await found("--no-index"), await found()]).toEqual([0, 0]);
    home.configure({ exclude: {} });
    expect(await found()).toBe(1);
    home.configure({ exclude: { sessions: [id.slice(0, 6)] } });
    await home.ok("embed");
    expect(await found("--no-index")).toBe(0);
  }, 30_000);

  test("tells in numbers what it removed, and what is left to the user", async () => {
    const id = uuidFrom("kept");
    const file = writeClaude(home, { id, rows: [claudeUser({ text: "hello", sessionId: id })] });
    await home.ok("forget", "--yes", id);
    expect(await home.ok("forget", "--yes", id)).toBe(
      [
        "forgot 1 session",
        `- ${id} (claude)`,
        "index: 0 chunks, 0 vectors",
        "observations: 0 in 0 ledgers",
        "meta files: 0; marks: 0; log lines: 0",
        "notes: 0",
        "still there: 1 transcript of the hosts; delete with rm:",
        `- ${file}`,
        "",
      ].join("\n"),
    );
  });

  test("refuses what it cannot mean", async () => {
    const usage = async (...args: string[]) => {
      const { stdout, stderr, exitCode } = await home.run("forget", ...args);
      expect([stdout, exitCode, existsSync(home.paths.home)]).toEqual(["", 2, false]);
      return stderr.split("\n")[0];
    };
    expect(await usage()).toBe("error: Expected what to forget");
    expect(await usage("a", "--project", "b")).toBe(
      "error: Cannot combine sessions, --project or --before, --pattern, --archive and --undo",
    );
    expect(await usage("--pattern", "(")).toStartWith('error: Cannot use --pattern "("');
    expect(await usage("--pattern", "x*")).toStartWith('error: Cannot use --pattern "x*"');
    expect(await usage("--before", "someday")).toBe('error: Cannot use --before "someday": not a time');
    expect((await home.run("forget", "nobody")).exitCode).toBe(1);
    expect((await home.run("forget", "--help")).stdout.split("\n").length).toBeLessThanOrEqual(26);
  });
});

/** Runs forget at a terminal and types an answer once it asks. */
async function atTerminal(
  home: TemporaryHome,
  args: string[],
  answer: string,
): Promise<{ said: string; exitCode: number }> {
  let said = "";
  const child = Bun.spawn([...starting("forget"), ...args], {
    env: home.env,
    cwd: home.project,
    terminal: {
      data(terminal, bytes) {
        said += new TextDecoder().decode(bytes);
        if (answer !== "" && said.includes("[y/N] ")) {
          terminal.write(answer);
          answer = "";
        }
      },
    },
  });
  const exitCode = await child.exited;
  return { said, exitCode };
}

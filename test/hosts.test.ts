/** Every host of the table in every use: the same conversation, written as each of them writes it. */

import type { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { dashedPath } from "../lib/base/text.ts";
import { findHost, HOSTS } from "../lib/transcripts/hosts.ts";
import { type TemporaryHome, temporaryHome } from "./support/home.ts";
import {
  HOST_WRITERS,
  type HostSession,
  hostId,
  openOpenclaw,
  openOpencode,
  putOpenclaw,
  putOpenclawEvent,
  putOpencode,
  type Step,
  tear,
} from "./support/hosts.ts";
import { jsonl, secondsAgo, uuidFrom } from "./support/rows.ts";
import { ROOT, runCommand, startScript } from "./support/run.ts";

const SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const NAMES = Object.keys(HOST_WRITERS);

/** Hosts whose transcripts have neither titles nor what came of a call. */
const BARE = ["cursor"];
/** Hosts that give a session no title in the common conversation. */
const UNTITLED = ["claude", ...BARE];

const idIn = (agent: string, seed = "limit") => hostId(agent, seed);

function conversation(agent: string, cwd: string): HostSession & { id: string } {
  const steps: Step[] = [
    { says: "user", text: "Raise the zebra limit to 20, please" },
    { says: "assistant", text: "Let me look where the limit is set." },
    { runs: "make check-limits", output: "error: zebra quota exceeded in limits.conf", exit: 2 },
    { edits: join(cwd, "limits.conf"), from: "limit = 10", to: "limit = 20" },
    { runs: "make check-limits", output: `3 checks passed, token ${SECRET}` },
    { says: "assistant", text: "The zebra limit is 20 now." },
  ];
  return { id: idIn(agent), cwd, title: "Zebra limits", steps };
}

test("every host of the table with rows of its own is tried here, and every one has a row in docs/hosts.md", () => {
  const own = new Set(["pi", "codex"]); // they have builders and tests of their own
  expect(HOSTS.map(({ agent }) => agent).filter((agent) => !own.has(agent))).toEqual(NAMES);
  const page = readFileSync(join(import.meta.dir, "../docs/hosts.md"), "utf8");
  const [, tried = ""] = page.split("<!-- end of hosts -->"); // the table before it is made from the values
  expect(HOSTS.filter(({ name }) => !tried.includes(`| ${name} |`)).map(({ name }) => name)).toEqual([]);
});

describe.each(NAMES)("a session of %s", (agent) => {
  const home = temporaryHome();
  const session = conversation(agent, home.project);
  const { id } = session;
  HOST_WRITERS[agent]?.(home, session);
  const json = async (script: string, ...args: string[]) =>
    JSON.parse(await home.ok(script, ...args, "--json"));

  test("is listed with its title, directory, times and the command that goes on with it", async () => {
    const { sessions } = await json("session-reader", "--list", "--agent", agent, "--resume");
    expect(sessions).toHaveLength(1);
    expect(sessions[0]).toMatchObject({
      id,
      agent,
      ...(!UNTITLED.includes(agent) && { name: "Zebra limits" }),
      cwd: home.project,
      startedAt: "2026-02-03T14:30:00.000Z",
    });
    expect(sessions[0].updatedAt).toStartWith("2026-02-03T14:30:0");
    expect(sessions[0].resume).toContain(id);
  });

  test("is read once, with calls, outcomes and changed lines, and without what is no conversation", async () => {
    const { entries, skipped } = await json("session-reader", id, "--tools");
    const isBare = BARE.includes(agent);
    const shown = entries.map(
      ({ kind, text, tool }: { kind: string; text: string; tool?: Record<string, unknown> }) =>
        tool ? [tool.action, tool.target, tool.failed] : [kind, text],
    );
    expect(shown).toEqual([
      ["user", "Raise the zebra limit to 20, please"],
      ["assistant", "Let me look where the limit is set."],
      ["run", "make check-limits", !isBare],
      ["edit", join(home.project, "limits.conf"), false],
      ["run", "make check-limits", false],
      ["assistant", "The zebra limit is 20 now."],
    ]);
    expect(skipped).toBe(0);
    expect(entries[2].tool.result).toBe(isBare ? "" : "error: zebra quota exceeded in limits.conf");
    expect(entries[3].tool.input).toContain("-limit = 10\n+limit = 20");
    expect(JSON.stringify(entries)).not.toContain("not-conversation");
    expect(JSON.stringify(entries)).not.toContain(SECRET);
  });

  test("is the same read from its end, line by line and as an outline", async () => {
    const whole = (await home.ok("session-reader", id, "--tools")).split("\n").slice(1).join("\n");
    for (const count of ["1", "2", "4"]) {
      const [, ...end] = (await home.ok("session-reader", id, "--tools", "--lines", count)).split("\n");
      expect(whole.endsWith(end.join("\n"))).toBe(true);
    }
    expect(await home.ok("session-reader", id, "--outline")).toContain(
      `edited limits.conf; ran 2 commands${BARE.includes(agent) ? "" : "; failed: make check-limits"}`,
    );
  });

  test("is found by its words, its error, its file and its command", async () => {
    const found = async (...args: string[]) =>
      (await json("search", ...args)).results.map((hit: { session_id: string }) => hit.session_id);
    expect(await found("zebra limit")).toEqual([id]);
    expect(await found("zebra limit", "--agent", agent)).toEqual([id]);
    const failed = BARE.includes(agent) ? [] : [id];
    expect(await found("--error", "zebra quota exceeded in limits.conf")).toEqual(failed);
    expect(await found("--file", "limits.conf")).toEqual([id]);
    expect(await found("--command", "make")).not.toEqual([]);
    expect(await home.ok("search", "zebra limit")).not.toContain(SECRET);
  });

  test("is read, named, observed, saved and shown by the scripts unchanged", async () => {
    expect(await home.ok("index-meta", id, "--force")).toMatch(/zebra limit/i);
    expect(await home.ok("observe-compact", id, "--observe", "--render")).toContain("## Observations");
    const note = await home.ok("save-session", id);
    expect(readFileSync(note.trim(), "utf8")).toContain("User: Raise the zebra limit to 20, please");
    const page = await home.ok("report", id, "--out", join(home.root, "page.html"));
    expect(readFileSync(page.trim(), "utf8")).toContain("The zebra limit is 20 now.");
    expect(await home.ok("session-reference", `what of @@${id}?`)).toContain(id);
    expect((await home.run("query-session", id, "What is the limit?")).stderr).toContain("error: NO_MODEL");
    expect(JSON.parse((await home.run("health", "--json")).stdout).status).not.toBe("ERROR");
  });

  test("shows what came before a row that is half written, and counts a damaged one", async () => {
    using other = temporaryHome();
    const written = HOST_WRITERS[agent]?.(other, { ...session, cwd: other.project }) ?? "";
    if (HOSTS.some((host) => host.agent === agent && host.store)) return; // no file of the host's
    tear(written);
    const torn = JSON.parse(await other.ok("session-reader", id, "--json"));
    expect([torn.entries.length, torn.skipped]).toEqual([6, 0]);
    tear(written);
    appendFileSync(written, `\n${readFileSync(written, "utf8").split("\n").at(-2)}\n`);
    expect(JSON.parse(await other.ok("session-reader", id, "--json")).skipped).toBe(1);
  });

  test("is kept out where it is excluded, and forgotten where that is asked for", async () => {
    using other = temporaryHome();
    HOST_WRITERS[agent]?.(other, { ...session, cwd: other.project });
    await other.ok("search", "zebra limit");
    await other.ok("forget", id, "--yes");
    expect(JSON.parse(await other.ok("search", "zebra limit", "--json")).results).toEqual([]);
    expect((await other.run("session-reader", id)).exitCode).toBe(1);
    expect(await other.ok("session-reader", "--list")).toBe("");
    const bytes = new Bun.Glob("**/*").scanSync({ cwd: other.paths.home, dot: true });
    for (const name of bytes) {
      const path = join(other.paths.home, name);
      if (statSync(path).isFile())
        expect([name, readFileSync(path).includes("zebra")]).toEqual([name, false]);
    }
  });

  test("outlives its transcript in the archive, with all that is read of it", async () => {
    if (HOSTS.some((host) => host.agent === agent && host.store)) return; // what is read is a copy of ours
    using other = temporaryHome();
    const written = HOST_WRITERS[agent]?.(other, { ...session, cwd: other.project }) ?? "";
    const idle = new Date(Date.now() - 2 * 86_400_000);
    utimesSync(written, idle, idle);
    const read = async () => {
      const { entries, session } = JSON.parse(await other.ok("session-reader", id, "--tools", "--json"));
      return { entries, cwd: session.cwd, startedAt: session.startedAt };
    };
    const before = await read();
    await other.ok("hooks/background.ts", "--begin", "--cwd", other.project);
    rmSync(other.paths.expand(findHost(agent)?.home ?? ""), { recursive: true });
    expect(await read()).toEqual(before);
    expect(before.cwd).toBe(other.project);
  });

  test("is told to the project's next prompt in Claude Code", async () => {
    using other = temporaryHome();
    const at = new Date(Date.now() - 60_000).toISOString();
    HOST_WRITERS[agent]?.(other, { ...session, id: idIn(agent, "other"), cwd: other.project, at });
    await other.ok("session-reader", "--list");
    expect(await other.prompt("hello")).toContain("Raise the zebra limit to 20, please");
  });
});

describe("opencode's database", () => {
  const step = (text: string): Step => ({ says: "user", text });

  test("is read beside a client that writes, and its sessions are appended to", async () => {
    using home = temporaryHome();
    using db = openOpencode(home); // a client that runs: its log is not in the database yet
    const session = { id: "ses_1", cwd: home.project };
    const steps = [step("first words"), { says: "assistant", text: "half an ans" } as const];
    putOpencode(db, { ...session, steps, isOpen: true });
    const read = async () => JSON.parse(await home.ok("session-reader", "ses_1", "--json")).entries;
    expect((await read()).map(({ text }: { text: string }) => text)).toEqual(["first words"]);
    db.exec(
      `UPDATE message SET data = '{"role":"assistant","time":{"completed":1}}' WHERE data LIKE '%assistant%'`,
    );
    db.exec(
      `UPDATE part SET data = '{"type":"text","text":"the whole answer"}' WHERE data LIKE '%half an ans%'`,
    );
    putOpencode(db, { ...session, title: "Named now", from: 2, steps: [step("more words")] });
    const entries = await read();
    expect(entries.map(({ text, line }: { text: string; line: number }) => [line, text])).toEqual([
      [2, "first words"],
      [4, "the whole answer"],
      [5, "more words"],
    ]);
    expect(await home.ok("session-reader", "--list")).toContain("Named now");
  });

  test("gives a prompt whose words were not there yet when it was copied", async () => {
    using home = temporaryHome();
    using db = openOpencode(home);
    putOpencode(db, { id: "ses_1", cwd: home.project, steps: [step("late words")] });
    const parts = db.query("SELECT * FROM part").values() as string[][];
    db.exec("DELETE FROM part");
    await home.ok("session-reader", "--list");
    for (const part of parts) db.query("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)").run(...part);
    expect(await home.ok("session-reader", "ses_1")).toContain("User: late words");
  });

  test("is not opened again while nothing was written, and leaves no file beside it", async () => {
    using home = temporaryHome();
    HOST_WRITERS.opencode?.(home, conversation("opencode", home.project));
    await home.ok("session-reader", "--list");
    const copy = join(home.paths.home, "opencode", `${idIn("opencode")}.jsonl`);
    const before = statSync(copy).mtimeMs;
    await home.ok("session-reader", "--list");
    expect(statSync(copy).mtimeMs).toBe(before);
    expect(readFileSync(copy, "utf8")).not.toContain(SECRET);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
  });

  test("with ids alike in 200 characters gives a file to each", async () => {
    using home = temporaryHome();
    using db = openOpencode(home);
    const ids = ["one", "two"].map((end) => `ses_${"a".repeat(200)}${end}`);
    for (const id of ids)
      putOpencode(db, { id, cwd: home.project, steps: [step(`words of ${id.slice(-3)}`)] });
    const { sessions } = JSON.parse(await home.ok("session-reader", "--list", "--json"));
    const texts = sessions.map(async ({ id }: { id: string }) => {
      const { entries } = JSON.parse(await home.ok("session-reader", id, "--json"));
      return entries.map(({ text }: { text: string }) => text).join();
    });
    expect((await Promise.all(texts)).sort()).toEqual(["words of one", "words of two"]);
  });

  test.each([
    [
      "view",
      "CREATE VIEW session AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i AS id FROM n",
    ],
    ["virtual table", "CREATE VIRTUAL TABLE session USING fts5(id)"],
  ])("with a %s in a table's place, which need never end, is not asked", async (_, sql) => {
    using home = temporaryHome();
    HOST_WRITERS.qwen?.(home, conversation("qwen", home.project));
    using db = openOpencode(home);
    db.exec(`DROP TABLE session; ${sql}`);
    // a process of its own, for nothing ends such a query
    const { stdout, stderr, exitCode } = await startScript("session-reader", ["--list"], {
      env: home.env,
      cwd: home.project,
    });
    expect([exitCode, stdout.match(/ · qwen · /g)?.length]).toEqual([0, 1]);
    expect(stderr).toContain('opencode.db": it has no table "session"');
  });

  test("that cannot be read is a warning, and other sessions are read", async () => {
    using home = temporaryHome();
    HOST_WRITERS.qwen?.(home, conversation("qwen", home.project));
    await Bun.write(join(home.home, ".local/share/opencode/opencode.db"), "no database");
    const { stdout, stderr, exitCode } = await home.run("session-reader", "--list");
    expect([exitCode, stdout.match(/ · qwen · /g)?.length]).toEqual([0, 1]);
    expect(stderr).toContain("warning: ");
  });
});

describe("Cline's documents", () => {
  const said = (text: string): Step => ({ says: "assistant", text });
  const write = (home: TemporaryHome, ...texts: string[]) => {
    const steps: Step[] = [{ says: "user", text: "first words" }, ...texts.map(said)];
    return HOST_WRITERS.cline?.(home, { id: idIn("cline"), cwd: home.project, title: "Named", steps }) ?? "";
  };
  const texts = async (home: TemporaryHome): Promise<string[]> =>
    JSON.parse(await home.ok("session-reader", idIn("cline"), "--json")).entries.map(
      ({ text }: { text: string }) => text,
    );
  const copyOf = (home: TemporaryHome) => join(home.paths.home, "cline", `${idIn("cline")}.jsonl`);

  test("are read again only when they changed, and only what is new of them is indexed", async () => {
    using home = temporaryHome();
    write(home, `an answer ${"of many words ".repeat(400)}`);
    await home.ok("embed");
    const before = statSync(copyOf(home));
    await home.ok("session-reader", "--list");
    expect(statSync(copyOf(home))).toEqual(before);
    write(home, `an answer ${"of many words ".repeat(400)}`, "another answer");
    expect((await texts(home)).slice(2)).toEqual(["another answer"]);
    const { sessions, newChunks } = JSON.parse(await home.ok("embed", "--json"));
    expect([sessions, newChunks]).toEqual([1, 1]);
  });

  test("have the title that their user gave them since", async () => {
    using home = temporaryHome();
    const file = write(home, "an answer");
    await home.ok("session-reader", "--list");
    const sheet = join(file, "..", `${idIn("cline")}.json`);
    const described = JSON.parse(readFileSync(sheet, "utf8"));
    writeFileSync(sheet, JSON.stringify({ ...described, metadata: { title: "Renamed since" } }));
    const { sessions } = JSON.parse(await home.ok("session-reader", "--list", "--json"));
    expect(sessions.map(({ name }: { name: string }) => name)).toEqual(["Renamed since"]);
  });

  test("that are half written wait, and are named when they stay so; what was read of them stays", async () => {
    using home = temporaryHome();
    const file = write(home, "an answer");
    const whole = await texts(home);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.slice(0, text.length / 2));
    const look = () => home.run("session-reader", idIn("cline"), "--json");
    const fresh = await look();
    expect([fresh.stderr, await texts(home)]).toEqual(["", whole]);
    utimesSync(file, new Date(Date.now() - 60_000), new Date(Date.now() - 60_000));
    const old = await look();
    expect([old.exitCode, old.stderr]).toEqual([0, `warning: ${file} is half written, or no JSON\n`]);
    expect(JSON.parse(old.stdout).entries).toHaveLength(2);
    writeFileSync(file, text);
    expect(await texts(home)).toEqual(whole);
  });

  test("give each of several commands in one call its own outcome", async () => {
    using home = temporaryHome();
    const file = write(home);
    const document = JSON.parse(readFileSync(file, "utf8"));
    const [name, id] = ["run_commands", "c"];
    const input = { commands: ["make a", { command: "make", args: ["b"] }] };
    const content = [
      { query: "make a", result: "made\n", success: true },
      {
        query: "make b",
        result: "[Command exited with code 2]\nno rule",
        error: "it exited",
        success: false,
      },
    ];
    document.messages.push(
      { id: "1", role: "assistant", ts: 1770129005000, content: [{ type: "tool_use", id, name, input }] },
      {
        id: "2",
        role: "user",
        ts: 1770129006000,
        content: [{ type: "tool_result", tool_use_id: id, name, content }],
      },
    );
    writeFileSync(file, JSON.stringify(document));
    const { entries } = JSON.parse(await home.ok("session-reader", idIn("cline"), "--tools", "--json"));
    const calls = entries.flatMap(({ tool }: { tool?: Record<string, unknown> }) =>
      tool ? [[tool.action, tool.target, tool.failed, tool.result]] : [],
    );
    expect(calls).toEqual([
      ["run", "make a", false, "made"],
      ["run", "make b", true, "no rule"],
    ]);
  });
});

describe("Cursor's transcripts", () => {
  const ID = uuidFrom("cursor");
  const row = (role: string, content: unknown, more = {}) => ({ role, message: { content }, ...more });
  const write = (home: TemporaryHome, folder: string, ...rows: Record<string, unknown>[]) => {
    const place = join(home.home, ".cursor/projects", folder, "agent-transcripts", ID);
    mkdirSync(place, { recursive: true });
    const file = join(place, `${ID}.jsonl`);
    writeFileSync(file, jsonl(...rows));
    return file;
  };
  const read = async (home: TemporaryHome, ...flags: string[]) =>
    JSON.parse(await home.ok("session-reader", ID, "--tools", "--json", ...flags));

  test("tell their directory by the name of their folder, where only one directory has it", async () => {
    using home = temporaryHome();
    const name = dashedPath(home.project);
    write(home, name, row("user", "Count the ostriches"));
    expect((await read(home)).session.cwd).toBe(home.project);
    const twin = `${home.project.slice(0, -1)}-${home.project.at(-1)}`;
    mkdirSync(twin);
    const [folder = "", last = ""] = [home.project.slice(0, -1), home.project.at(-1)];
    mkdirSync(`${folder}.${last}`);
    write(home, dashedPath(twin), row("user", "Count the ostriches"));
    const { sessions } = JSON.parse(await home.ok("session-reader", "--list", "--json"));
    expect(sessions.map(({ cwd }: { cwd: string | null }) => cwd)).toEqual([null]);
  });

  test("are read with the results and times that some versions write", async () => {
    using home = temporaryHome();
    const use = { type: "tool_use", id: "t1", name: "Shell", input: { command: "make" } };
    const result = {
      type: "tool_result",
      tool_use_id: "t1",
      content: "no rule to make ostriches",
      is_error: true,
    };
    write(
      home,
      dashedPath(home.project),
      row("user", "<user_query>\nMake it\n</user_query>", { timestamp: "2026-06-24T10:00:00.000Z" }),
      row("assistant", [use], { timestamp: "2026-06-24T10:00:01.000Z" }),
      row("user", [result], { timestamp: "2026-06-24T10:00:02.000Z" }),
    );
    const { session, entries } = await read(home);
    expect([session.startedAt, session.updatedAt]).toEqual([
      "2026-06-24T10:00:00.000Z",
      "2026-06-24T10:00:02.000Z",
    ]);
    expect(entries).toMatchObject([
      { kind: "user", text: "Make it" },
      { tool: { action: "run", target: "make", failed: true, result: "no rule to make ostriches" } },
    ]);
  });

  test("hold the user's words among what the client adds, with the time that it notes", async () => {
    using home = temporaryHome();
    const when = (clock: string) => `<timestamp>Friday, Dec 5, 2025, ${clock}</timestamp>`;
    write(
      home,
      "elsewhere",
      row(
        "user",
        `<user_info>OS</user_info>\n${when("12:07 AM (UTC-5:30)")}\n<user_query>\nfirst\n</user_query>`,
      ),
      row("user", `${when("12:00 PM (UTC)")}\nsecond, with <b>its</b> own tags`),
      row("user", when("13:00 PM (UTC)")),
      { type: "turn_ended", status: "success" },
    );
    const { entries, session } = await read(home);
    expect(entries.map(({ text, at }: { text: string; at: string }) => [at, text])).toEqual([
      ["2025-12-05T05:37:00.000Z", "first"],
      ["2025-12-05T12:00:00.000Z", "second, with <b>its</b> own tags"],
    ]);
    expect([session.startedAt, session.cwd]).toEqual(["2025-12-05T05:37:00.000Z", null]);
  });
});

describe("Antigravity CLI's transcripts", () => {
  const ID = uuidFrom("agy");
  const logsIn = ({ home }: TemporaryHome, id = ID) =>
    join(home, ".gemini/antigravity-cli/brain", id, ".system_generated/logs");
  const write = (home: TemporaryHome, name: string, ...rows: Record<string, unknown>[]) => {
    mkdirSync(logsIn(home), { recursive: true });
    const common = { source: "MODEL", status: "DONE", created_at: "2026-07-20T03:06:00Z" };
    writeFileSync(
      join(logsIn(home), name),
      jsonl(...rows.map((row, step_index) => ({ step_index, ...common, ...row }))),
    );
  };
  const prompt = (text: string, more = "") => ({
    source: "user",
    type: "USER_INPUT",
    content: `<USER_REQUEST>\n${text}\n</USER_REQUEST>${more}`,
  });
  const read = async (home: TemporaryHome) =>
    JSON.parse(await home.ok("session-reader", ID, "--tools", "--json"));

  test("are the shorter ones where there is no full one, with the directory of the prompt", async () => {
    using home = temporaryHome();
    const metadata = `\n<ADDITIONAL_METADATA>\n{"cwd":${JSON.stringify(home.project)}}\n</ADDITIONAL_METADATA>`;
    const args = { CommandLine: '"ls \\"a b\\""', Cwd: '"/elsewhere"' };
    const calls = [
      { name: "view_file", args: { AbsolutePath: '"/repo/README.md"' } },
      { name: "default_api:run_command", args },
    ];
    const failing = "Created At: x\n\nThe command exited with code 1.\nOutput:\nno ostriches\n";
    const running = "Tool is running as a background task with task id: t";
    write(
      home,
      "transcript.jsonl",
      prompt("look", metadata),
      { source: "planner", type: "PLANNER_RESPONSE", content: "Looking.", tool_calls: calls },
      { source: "planner", type: "GENERIC", content: "Created At: x\n\nFile Path: /repo/README.md\n1: hi" },
      { source: "planner", type: "RUN_COMMAND", content: failing },
      { type: "PLANNER_RESPONSE", tool_calls: [{ name: "run_command", args: { CommandLine: "sleep 9" } }] },
      { type: "RUN_COMMAND", status: "RUNNING", content: running },
      { source: "SYSTEM", type: "CHECKPOINT", content: "{{ CHECKPOINT 0 }} what was said" },
    );
    writeFileSync(join(logsIn(home), "transcript_full.jsonl"), "");
    const { session, entries } = await read(home);
    expect([session.cwd, session.file]).toEqual([home.project, join(logsIn(home), "transcript.jsonl")]);
    expect(entries).toMatchObject([
      { kind: "user", text: "look" },
      { kind: "assistant", text: "Looking." },
      { tool: { action: "read", target: "/repo/README.md", failed: false } },
      { tool: { action: "run", target: 'ls "a b"', failed: true, result: "no ostriches" } },
      { tool: { action: "run", target: "sleep 9", failed: false } },
      { kind: "summary", text: "{{ CHECKPOINT 0 }} what was said" },
    ]);
    write(home, "transcript_full.jsonl", prompt("look, in full"));
    expect((await read(home)).entries).toMatchObject([{ text: "look, in full" }]);
    expect(JSON.parse(await home.ok("session-reader", "--list", "--json")).sessions).toHaveLength(1);
  });

  test("are of the directory that the client notes", async () => {
    using home = temporaryHome();
    const root = join(home.home, ".gemini/antigravity-cli/cache");
    mkdirSync(root, { recursive: true });
    write(home, "transcript_full.jsonl", prompt("look"));
    const described = { [ID]: { summary: { WorkspaceURIs: [`file://${home.project}`] } } };
    writeFileSync(join(root, "conversation_metadata.json"), JSON.stringify({ conversations: described }));
    expect((await read(home)).session.cwd).toBe(home.project);
    writeFileSync(join(root, "last_conversations.json"), JSON.stringify({ "/the/newest": ID }));
    write(home, "transcript_full.jsonl", prompt("look"), prompt("again"));
    expect((await read(home)).session.cwd).toBe("/the/newest");
  });

  test("that it left empty are named", async () => {
    using home = temporaryHome();
    write(home, "transcript.jsonl");
    const file = join(logsIn(home), "transcript.jsonl");
    const { findings } = JSON.parse((await home.run("health", "--json")).stdout);
    expect(findings).toContainEqual({
      level: "info",
      what: `the transcript of a session of Antigravity CLI is empty: ${file}`,
      remedy: "nothing can be read of it: what was said is only in conversations/, in the client's own form",
    });
    const { exitCode, stderr } = await home.run("session-reader", ID);
    expect([exitCode, stderr]).toEqual([0, "no entry to show\n"]);
  });
});

describe("OpenClaw's databases", () => {
  const step = (text: string): Step => ({ says: "user", text });
  const ID = uuidFrom("claw");
  const said = async (home: TemporaryHome, id = ID): Promise<string[]> =>
    JSON.parse(await home.ok("session-reader", id, "--json")).entries.map(
      ({ text }: { text: string }) => text,
    );
  const begin = (home: TemporaryHome) => ({
    id: ID,
    cwd: home.project,
    steps: [step("first words"), { says: "assistant", text: `long ${"answer ".repeat(400)}` } as const],
  });
  const message = (id: string, text: string) => ({
    ...{ type: "message", id, timestamp: "2026-02-03T15:00:00.000Z" },
    message: { role: "user", content: text },
  });
  const touch = (db: Database) => db.exec("UPDATE session_windows SET updated_at = updated_at + 1");

  test("are read beside a client that writes, compressed events too, of every agent, and appended to", async () => {
    using home = temporaryHome();
    using db = openOpenclaw(home);
    const events = putOpenclaw(db, begin(home));
    using other = openOpenclaw(home, "second");
    putOpenclaw(other, { ...begin(home), id: uuidFrom("other"), steps: [step("of another agent")] });
    expect(db.query("SELECT count(*) AS n FROM transcript_events WHERE event_zstd NOT NULL").get()).toEqual({
      n: 1,
    });
    expect(await said(home)).toEqual(["first words", `long ${"answer ".repeat(400)}`]);
    expect(await said(home, uuidFrom("other"))).toEqual(["of another agent"]);
    await home.ok("embed");
    putOpenclawEvent(db, { id: ID, seq: events.length, event: message("m1", "more words") });
    touch(db);
    expect((await said(home)).slice(2)).toEqual(["more words"]);
    const { sessions, newChunks } = JSON.parse(await home.ok("embed", "--json"));
    expect([sessions, newChunks]).toEqual([1, 1]);
  });

  test("show the branch on which a conversation went on, and no other", async () => {
    using home = temporaryHome();
    using db = openOpenclaw(home);
    const events = putOpenclaw(db, begin(home));
    expect((await said(home)).length).toBe(2);
    db.query("DELETE FROM session_transcript_active_events WHERE event_seq = ?").run(events.length - 1);
    putOpenclawEvent(db, { id: ID, seq: events.length, event: message("m1", "another question") });
    touch(db);
    expect(await said(home)).toEqual(["first words", "another question"]);
  });

  test.each(["identity", "zstd"])(
    "show what was reset or deleted from its archive (%s)",
    async (encoding) => {
      using home = temporaryHome();
      using db = openOpenclaw(home);
      const events = putOpenclaw(db, begin(home));
      const before = await said(home);
      db.exec(
        "DELETE FROM transcript_events; DELETE FROM session_transcript_active_events; DELETE FROM session_windows",
      );
      const lines = Buffer.from(jsonl(...events));
      const blob = encoding === "zstd" ? zstdCompressSync(lines) : lines;
      db.query("INSERT INTO session_transcript_archives VALUES (?, '1', 'deleted', ?, ?, 'a.jsonl', 5)").run(
        ID,
        encoding,
        blob,
      );
      expect(await said(home)).toEqual(before);
      expect(await said(home)).toEqual(before);
      const { sessions } = JSON.parse(await home.ok("session-reader", "--list", "--json"));
      expect([sessions.length, sessions[0].cwd]).toEqual([1, home.project]);
    },
  );

  test("are never read as less: what cannot be is a warning, and the others are read", async () => {
    using home = temporaryHome();
    using db = openOpenclaw(home);
    putOpenclaw(db, { ...begin(home), id: uuidFrom("whole"), steps: [step("whole words")] });
    putOpenclaw(db, begin(home));
    db.exec("UPDATE transcript_events SET event_utf8_bytes = event_utf8_bytes + 7 WHERE event_zstd NOT NULL");
    const { stdout, stderr } = await home.run("session-reader", "--list");
    expect([stdout.match(/ · openclaw · /g)?.length, stdout.includes("whole words")]).toEqual([1, true]);
    expect(stderr).toContain(`Cannot read session ${ID} of `);
    expect(stderr).toContain("a compressed event is damaged");
    expect((await home.run("session-reader", "--list")).stderr).toBe(stderr);
    db.exec("DELETE FROM transcript_events; DELETE FROM session_transcript_active_events");
    db.query("INSERT INTO session_transcript_cold_archives VALUES (?, 'cold.zst', 5, 'file', NULL)").run(ID);
    touch(db);
    const again = await home.run("session-reader", "--list");
    expect(again.stderr).toContain("its archive is a file that is not read: cold.zst");
  });

  test("nothing is copied of an excluded project, nor found after forget", async () => {
    using home = temporaryHome();
    home.configure({ exclude: { projects: [home.project] } });
    using db = openOpenclaw(home);
    putOpenclaw(db, begin(home));
    expect(await home.ok("session-reader", "--list")).toBe("");
    expect(existsSync(join(home.paths.home, "openclaw", `${ID}.jsonl`))).toBe(false);
  });
});

test.each(["gemini", "opencode", "openclaw", "kilo", "droid", "cline", "kimi", "cursor"])(
  "a subagent of %s is left out unless it is asked for",
  async (agent) => {
    using home = temporaryHome();
    const parent = conversation(agent, home.project);
    const id = agent === "kimi" ? `${parent.id}.agent-0` : idIn(agent, "sub");
    HOST_WRITERS[agent]?.(home, parent);
    HOST_WRITERS[agent]?.(home, {
      ...parent,
      ...{ id, parentId: parent.id, steps: [{ says: "user", text: "Count the ostriches" }] },
    });
    const list = async (...args: string[]) =>
      JSON.parse(await home.ok("session-reader", "--list", "--json", ...args)).sessions.map(
        (session: { id: string }) => session.id,
      );
    expect(await list()).toEqual([parent.id]);
    expect((await list("--subagents")).sort()).toEqual([parent.id, id].sort());
    expect(JSON.parse(await home.ok("search", "ostriches", "--json")).results).toEqual([]);
  },
);

test("rows that Gemini CLI took back are marked", async () => {
  using home = temporaryHome();
  const session = conversation("gemini", home.project);
  const file = HOST_WRITERS.gemini?.(home, session) ?? "";
  const first = uuidFrom(`${session.id} 0 user`);
  const timestamp = "2026-02-03T14:31:00.000Z";
  const again = { id: uuidFrom("again"), timestamp, type: "user", content: "Make it 30" };
  appendFileSync(file, jsonl({ $rewindTo: first }, again));
  const { entries } = JSON.parse(await home.ok("session-reader", session.id, "--json"));
  const live = entries.filter(({ rewound }: { rewound?: boolean }) => !rewound);
  expect(live.map(({ text }: { text: string }) => text)).toEqual(["Make it 30"]);
});

test("prompts that were undone in Kimi Code are marked with what followed them", async () => {
  using home = temporaryHome();
  const session = conversation("kimi", home.project);
  const file = HOST_WRITERS.kimi?.(home, session) ?? "";
  const time = Date.parse("2026-02-03T14:31:00.000Z");
  const prompt = (id: string, text: string) => ({
    ...{ type: "context.append_message", agentId: "main", time },
    message: { role: "user", id, content: [{ type: "text", text }], origin: { kind: "user" } },
  });
  const part = { type: "text", text: "Ostriches it is." };
  appendFileSync(
    file,
    jsonl(
      prompt("msg_2", "Count the ostriches"),
      { type: "context.append_loop_event", time, event: { type: "content.part", uuid: "part-2", part } },
      prompt("msg_3", "And the emus"),
      { type: "context.undo", agentId: "main", count: 1, time },
      prompt("msg_4", "And the rheas"),
      { type: "context.undo", agentId: "main", count: 2, time },
      { type: "context.undo", agentId: "main", count: 99, time },
      prompt("msg_5", "Count the zebras"),
    ),
  );
  const { entries } = JSON.parse(await home.ok("session-reader", session.id, "--json"));
  const marked = entries.map(({ text, rewound = false }: { text: string; rewound?: boolean }) => [
    text,
    rewound,
  ]);
  expect(marked.slice(-5)).toEqual([
    ["Count the ostriches", true],
    ["Ostriches it is.", true],
    ["And the emus", true],
    ["And the rheas", true],
    ["Count the zebras", false],
  ]);
  expect(marked.slice(0, -5).some(([, rewound]: [string, boolean]) => rewound)).toBe(false);
  await home.ok("embed");
  expect(await home.ok("search", "emus")).toContain("(rewound) User: And the emus");
});

test("what a Gemini row repeats of one that was read before is not read again", async () => {
  using home = temporaryHome();
  const session = conversation("gemini", home.project);
  const file = HOST_WRITERS.gemini?.(home, { ...session, steps: session.steps.slice(0, 1) }) ?? "";
  const timestamp = "2026-02-03T14:30:05.000Z";
  const row = { id: uuidFrom("answer"), timestamp, type: "gemini", content: "Looking at giraffes." };
  appendFileSync(file, jsonl(row));
  await home.ok("embed");
  const call = { id: "t1", name: "read_file", args: { file_path: "a.ts" }, status: "success", result: [] };
  appendFileSync(file, jsonl({ ...row, toolCalls: [call] }));
  await home.ok("embed");
  const { results } = JSON.parse(await home.ok("search", "giraffes", "--full", "--json"));
  expect(results[0].content.match(/giraffes/g)).toHaveLength(1);
});

test("what a Gemini row repeats of one that was told is no news, and what it adds is", async () => {
  using home = temporaryHome();
  const session = { ...conversation("gemini", home.project), at: secondsAgo(60) };
  const file = HOST_WRITERS.gemini?.(home, { ...session, steps: session.steps.slice(0, 1) }) ?? "";
  const row = { id: uuidFrom("answer"), timestamp: secondsAgo(5), type: "gemini", content: "Looking at it." };
  const look = () => home.prompt("go on");
  appendFileSync(file, jsonl(row));
  expect(await look()).toContain("2 messages");
  appendFileSync(file, jsonl({ ...row, tokens: { input: 10 } }));
  expect(await look()).toBe("");
  const call = {
    id: "t1",
    name: "run_shell_command",
    args: { command: "ls" },
    status: "success",
    result: [],
  };
  appendFileSync(file, jsonl({ ...row, toolCalls: [call] }));
  expect(await look()).toEndWith("0 messages) -> ran 1 command");
});

/** A host that nobody has: a file of its rows, and a line of the table. */
const ACME_FORMAT = `import { stringOf } from "../base/json.ts";
import { toCall, type Format, isoTime } from "./format.ts";

export const format: Format = {
  agent: "acme",
  matches: (record) => typeof record.acme === "string",
  readHead(record, head) {
    head.id ??= stringOf(record.session);
    head.cwd ??= stringOf(record.folder);
    head.startedAt ??= isoTime(record.timestamp);
  },
  entries(record, { results }) {
    const text = stringOf(record.text) ?? "";
    if (record.acme === "asked") return [{ kind: "user", text }];
    if (record.acme === "answered") return [{ kind: "assistant", text }];
    if (record.acme !== "ran") return [];
    return [toCall({ id: record.timestamp, name: "shell", input: { command: text } }, results)];
  },
  title: (_, rowsWith) => [...rowsWith('"called"')].map(({ called }) => stringOf(called))[0],
};
`;
const ACME_LINE = `  {
    agent: "acme",
    name: "Acme Agent",
    program: "acme",
    home: "($ACME_HOME|~/.acme)",
    transcripts: ["talks/*/<id>.log.jsonl"],
    resume: "acme go-on <id>",
    skills: "($ACME_HOME|~/.acme)/skills",
    hooks: {
      installedIn: "settings.json",
      remedy: "check them",
      written: { second: 1, events: { Asked: { moment: "prompt" }, Rested: { moment: "turn" } } },
    },
    load: () => import("./acme.ts"),
  },
`;

test("a fifth host is a file and a line: it is listed, read, searched, gone on with, set up and reported", async () => {
  using home = temporaryHome();
  const root = join(home.root, "copy");
  for (const name of "lib scripts hooks bin skills package.json tsconfig.json bunfig.toml".split(" "))
    cpSync(join(ROOT, name), join(root, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  writeFileSync(join(root, "lib/transcripts/acme.ts"), ACME_FORMAT);
  const table = join(root, "lib/transcripts/hosts.ts");
  const line = /^export const HOSTS: readonly Host\[\] = \[\n/m;
  writeFileSync(
    table,
    readFileSync(table, "utf8").replace(line, (start) => start + ACME_LINE),
  );
  const moved = join(home.root, "acme-home");
  const row = (acme: string, text: string, second: number) => ({
    ...{ acme, text, session: "talk-0001", folder: home.project },
    timestamp: `2026-02-03T14:30:0${second}.000Z`,
  });
  const rows = [
    row("asked", "Where do the narwhals live?", 0),
    row("ran", "ls narwhals", 1),
    row("answered", "In the north.", 2),
  ];
  mkdirSync(join(moved, "talks", "today"), { recursive: true });
  writeFileSync(
    join(moved, "talks/today/talk-0001.log.jsonl"),
    jsonl(...rows, { acme: "named", called: "Narwhal talk" }),
  );
  const bin = join(home.root, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "acme"), "#!/bin/sh\n", { mode: 0o755 });
  const env = { ...home.env, ACME_HOME: moved, PATH: `${bin}:${home.env.PATH}` };
  const run = async (name: string, ...args: string[]) => {
    const command = [process.execPath, join(root, "scripts", `${name}.ts`), ...args];
    const { stdout, stderr, exitCode } = await runCommand(command, { env, cwd: home.project });
    expect([name, args, exitCode, exitCode === 0 ? "" : stderr]).toEqual([name, args, 0, ""]);
    return stdout;
  };
  const [listed] = JSON.parse(
    await run("session-reader", "--list", "--agent", "acme", "--resume", "--json"),
  ).sessions;
  expect(listed).toMatchObject({
    id: "talk-0001",
    name: "Narwhal talk",
    cwd: home.project,
    resume: "acme go-on talk-0001",
  });
  expect(await run("session-reader", "talk-0001")).toContain(
    "L2 [2026-02-03 14:30:01] [shell ls narwhals]\n",
  );
  const [found] = JSON.parse(
    await run("search", "where do narwhals live", "--agent", "acme", "--json"),
  ).results;
  expect(found).toMatchObject({ session_id: "talk-0001", agent: "acme" });
  expect(await run("search", "--command", "ls")).toContain("ls narwhals");
  expect(await run("setup", "--yes", "--quiet")).toContain(
    `Acme Agent: ${join(bin, "acme")}, 1 session since `,
  );
  expect(readdirSync(join(moved, "skills"))).toEqual(["session-search"]);
  const { hooks } = JSON.parse(readFileSync(join(moved, "settings.json"), "utf8"));
  const asked = { hook_event_name: "Asked", session_id: "talk-0002", prompt: "as in @@talk-0001" };
  const told = await runCommand(["/bin/sh", "-c", hooks.Asked[0].hooks[0].command], {
    ...{ env, cwd: home.project },
    stdin: JSON.stringify({ ...asked, cwd: home.project }),
  });
  expect(told.stdout).toContain("Narwhal talk");
  expect(readFileSync((await run("report", "talk-0001")).trim(), "utf8")).toContain("Acme Agent");
}, 60_000);

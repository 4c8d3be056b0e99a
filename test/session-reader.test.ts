import { describe, expect, test } from "bun:test";
import { mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { plainText } from "../lib/base/output.ts";
import { listingColumns, resumeCommand } from "../lib/sessions/listing.ts";
import { readSessionLog } from "../scripts/session-reader.ts";
import { chain, claudeAssistant, claudeState, claudeUser } from "./support/claude.ts";
import { codexMeta, codexPrompt } from "./support/codex.ts";
import { FIXTURES } from "./support/fixtures.ts";
import { layFixtures, temporaryHome, write, writeClaude, writeCodex, writePi } from "./support/home.ts";
import { piHeader, piUser } from "./support/pi.ts";
import { jsonl, uuidFrom } from "./support/rows.ts";
import { ROOT, runCommand, runScript, starting, startScript } from "./support/run.ts";

const home = temporaryHome();
layFixtures(home);

function reader(args: string[], env = home.env) {
  return runScript("session-reader", args, { env, cwd: home.project });
}

function fixtures(args: string[]) {
  return reader([...args, "--sessions", join(ROOT, "test", "fixtures")]);
}

describe("session-reader <session>", () => {
  test("prints a header, messages in full and each tool call on one line", async () => {
    const { stdout, stderr, exitCode } = await fixtures(["019b1e77", "--utc"]);
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
    expect(stdout).toBe(`\
# 019b1e77-30aa-7c22-9d81-4f6b2e8c7a90 · codex · 019b1e77-30aa-7c22-9d81-4f6b2e8c7a90 · /home/dev/shop
L4 [2025-12-14 11:30:02] User: Write the deploy script for the shop: build, push, restart.
L5 [2025-12-14 11:30:05] [shell ls deploy]
L7 [2025-12-14 11:30:10] Assistant: There is a compose file only. I write deploy/deploy.sh with the three steps.
L8 [2025-12-14 11:30:19] [Compacted: 81 characters, --full to show]
L11 [2025-12-14 11:30:32] User: It must stop when a step fails.
L12 [2025-12-14 11:30:35] [apply_patch deploy/deploy.sh] +set -eu
L14 [2025-12-14 11:30:40] Assistant: deploy/deploy.sh starts with set -eu, so it ends at the first step that fails.
`);
  });

  test("keeps to the last N, and shows compaction summaries whole with --full", async () => {
    const last = await fixtures(["019b1e77", "--lines", "2"]);
    expect(last.stdout.trimEnd().split("\n").length).toBe(3);
    const full = await fixtures(["019b1e77", "--full"]);
    expect(full.stdout).toContain("[Compacted]\n");
  });

  test("gives one JSON document with null where nothing is known", async () => {
    const { stdout } = await fixtures(["standup", "--json", "--lines", "1"]);
    const { session, entries, skipped } = JSON.parse(stdout);
    expect(session).toEqual({
      id: "standup",
      name: null,
      agent: "plain",
      cwd: null,
      file: FIXTURES.plain.standup.file,
      startedAt: FIXTURES.plain.standup.startedAt,
      updatedAt: session.updatedAt,
    });
    expect(Object.keys(entries[0])).toEqual(["line", "at", "kind", "text"]);
    expect(skipped).toBe(0);
  });

  test("writes all of a long answer to a pipe and survives a reader that leaves", async () => {
    using own = temporaryHome();
    const rows = Array.from({ length: 3000 }, (_, i) =>
      claudeUser({ text: `message ${i} ${"x".repeat(300)}`, cwd: own.project }),
    );
    writeClaude(own, { rows });
    const options = { env: own.env, cwd: own.project };
    const whole = await startScript("session-reader", ["last", "--lines", "3000"], options);
    expect(whole.stdout.trimEnd().split("\n").length).toBe(3001);
    const { stdout } = await startScript("session-reader", ["last", "--lines", "3000", "--json"], options);
    expect(JSON.parse(stdout).entries).toHaveLength(3000);
    const command = [...starting("session-reader"), "last", "--lines", "3000"];
    const piped = await runCommand(["sh", "-c", `"$@" | head -1`, "sh", ...command], options);
    expect(piped.stdout).toStartWith("# ");
    expect({ stderr: piped.stderr, exitCode: piped.exitCode }).toEqual({ stderr: "", exitCode: 0 });
  }, 30_000);
});

describe("session-reader --list", () => {
  test("lists the sessions of all hosts, newest first, without subagents", async () => {
    const { stdout } = await reader(["--list", "--json"]);
    const { sessions } = JSON.parse(stdout) as {
      sessions: { agent: string; updatedAt: string; id: string }[];
    };
    expect(new Set(sessions.map((session) => session.agent))).toEqual(new Set(["claude", "pi", "codex"]));
    const times = sessions.map((session) => session.updatedAt);
    expect(times).toEqual(times.toSorted().reverse());
    expect(sessions.some((session) => session.id.startsWith("agent-"))).toBe(false);
    expect(Object.keys(sessions[0] ?? {})).toEqual(
      "id name agent cwd file startedAt updatedAt size".split(" "),
    );
    const { stdout: two } = await reader(["--list", "--agent", "pi", "-n", "2"]);
    expect(two.trimEnd().split("\n").length).toBe(2);
  });

  test("shows the name of a session, or the first words of one without", async () => {
    using own = temporaryHome();
    const token = `ghp_${"a1B2c3D4e5F6g7H8i9J0".repeat(2).slice(0, 36)}`;
    const cwd = own.project;
    const [unnamed, named] = [uuidFrom("unnamed"), uuidFrom("named")];
    const first = `deploy with ${token}\nto "staging" ${"and on ".repeat(20)}`;
    const rows = [
      claudeUser({ text: first, cwd }),
      ...Array(20_000).fill(claudeUser({ text: "more", cwd, at: "2026-02-03T14:31:00.000Z" })),
    ];
    const files = [
      writeClaude(own, {
        id: named,
        rows: [claudeUser({ text: "hi", cwd }), claudeState("custom-title", { customTitle: "release" })],
      }),
      writeClaude(own, { id: unnamed, rows }),
    ];
    const { stdout } = await runScript("session-reader", ["--list"], { env: own.env, cwd });
    const words = 'deploy with [redacted:github-token] to "staging" and on and on and on and on…';
    const size = (statSync(files[1] ?? "").size / 1024 / 1024).toFixed(1);
    expect(stdout).toBe(`\
2026-02-03 14:31 · "${words}" · ${unnamed.slice(0, 8)} · claude · ${cwd} · ${size} MiB
2026-02-03 14:30 · release · ${named.slice(0, 8)} · claude · ${cwd} · 1 KiB
`);
  });

  test("lists only what changed since a time, when asked", async () => {
    using own = temporaryHome();
    const session = (name: string, at: string) =>
      writeClaude(own, { id: uuidFrom(name), rows: [claudeUser({ text: "hi", at })] });
    const old = session("old", "2023-11-14T22:13:20.000Z");
    const recent = session("new", new Date().toISOString());
    // A copy of a file has a time of its own.
    utimesSync(recent, 1_600_000_000, 1_600_000_000);
    const run = (args: string[]) => own.run("session-reader", "--list", "--json", ...args);
    const filesOf = ({ stdout }: { stdout: string }) =>
      JSON.parse(stdout).sessions.map(({ file }: { file: string }) => file);
    expect(filesOf(await run([]))).toEqual([recent, old]);
    expect(filesOf(await run(["--since", "7d"]))).toEqual([recent]);
    expect(filesOf(await run(["--since", "2023-01-01"]))).toEqual([recent, old]);
  });

  test("says so when there are none, and exits 0", async () => {
    using empty = temporaryHome();
    const listed = await empty.run("session-reader", "--list");
    expect(listed).toEqual({ stdout: "", stderr: "no sessions found\n", exitCode: 0 });
  });
});

describe("session-reader with bad input", () => {
  test.each<[message: string, ...args: string[]]>([
    ["error: Expected a session\n"],
    ['error: Cannot use argument "b": one too many\n', "a", "b"],
    ['error: Cannot use --lines "-3": expected a whole number of at least 1\n', "last", "--lines", "-3"],
    ['error: Cannot use --since "soon": not a time\n', "last", "--since", "soon"],
    [
      'error: Cannot use --agent "no-such-agent": not one of its values\n',
      "--list",
      "--agent",
      "no-such-agent",
    ],
  ])("is wrong usage, with an error and a hint: %s", async (message, ...args) => {
    const { stdout, stderr, exitCode } = await reader(args);
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 2 });
    expect(stderr).toStartWith(`${message}hint: `);
    expect(stderr.trimEnd().split("\n")).toHaveLength(2);
  });

  test("says why a transcript given by its path cannot be read", async () => {
    const folder = join(home.root, "paths");
    mkdirSync(join(folder, "folder.jsonl"), { recursive: true });
    writeFileSync(join(folder, "notes.jsonl"), '{"note": "nothing was said"}\n');
    for (const [name, reason] of [
      ["gone.jsonl", "there is no such file"],
      ["folder.jsonl", "it holds no conversation that is known"],
      ["notes.jsonl", "it holds no conversation that is known"],
    ] as const) {
      const path = join(folder, name);
      expect(await reader([path])).toEqual({
        stdout: "",
        stderr: `error: NOT_FOUND: Cannot find session "${path}": ${reason}\nhint: name a session by its id, its name or the path of its .jsonl file\n`,
        exitCode: 1,
      });
    }
  });
});

test("readSessionLog() gives the log of a transcript in the format it is told", () => {
  const file = join(home.root, "sdk.jsonl");
  const at = "2026-02-12T10:30:05.000Z";
  const edit = { name: "Edit", input: { file_path: "home/MEMORY.md" } };
  const said = chain([
    claudeUser({ text: "how do I deploy this?", at }),
    ...claudeAssistant({ text: "Two steps", tools: [edit], at }),
  ]);
  writeFileSync(file, jsonl(...said));
  expect(readSessionLog({ jsonlPath: file, format: "agent-sdk" })).toBe(`\
L1 [2026-02-12 10:30:05] User: how do I deploy this?
L2 [2026-02-12 10:30:05] Assistant: Two steps
L3 [2026-02-12 10:30:05] [Edit home/MEMORY.md]`);
  expect(readSessionLog({ jsonlPath: file, format: "agent-sdk", lines: 1 })).toBe(
    "L3 [2026-02-12 10:30:05] [Edit home/MEMORY.md]",
  );
});

test("readSessionLog() of a missing file throws our error", () => {
  const jsonlPath = join(home.root, "missing.jsonl");
  expect(() => readSessionLog({ jsonlPath, format: "pi" })).toThrow(
    expect.objectContaining({
      type: "NOT_FOUND",
      message: `Cannot read "${jsonlPath}": there is no such file`,
    }),
  );
});

test("--resume names the command that goes on with a session in its host, where there is one", async () => {
  using own = temporaryHome();
  const id = uuidFrom("resumed");
  writeClaude(own, { id, rows: [claudeUser({ text: "hi", cwd: own.project })] });
  const pi = writePi(own, { rows: [piHeader({ cwd: own.project }), piUser({ text: "hello" })] });
  const codex = writeCodex(own, {
    id: uuidFrom("codex"),
    rows: [codexMeta({ id: uuidFrom("codex") }), ...codexPrompt({ text: "hey" })],
  });
  const run = (...args: string[]) => own.run("session-reader", ...args);
  const commands = [
    `claude --resume ${id}`,
    `pi --session ${pi}`,
    `codex resume ${uuidFrom("codex")}`,
  ].toSorted();
  const listed = (await run("--list", "--resume")).stdout.split("\n");
  expect(listed.filter((line) => line.startsWith("   ")).toSorted()).toEqual(
    commands.map((line) => `   ${line}`),
  );
  const { sessions } = JSON.parse((await run("--list", "--resume", "--json")).stdout);
  expect(sessions.map(({ resume }: { resume: string }) => resume).toSorted()).toEqual(commands);
  expect(await run(id, "--resume")).toEqual({ stdout: `claude --resume ${id}\n`, stderr: "", exitCode: 0 });
  expect((await run(codex, "--resume")).stdout).toBe(`codex resume ${uuidFrom("codex")}\n`);
});

test("--resume of what no host here goes on with is an error, and no id is taken for more than one word", async () => {
  using own = temporaryHome();
  const plain = write(join(own.root, "plain", "talk.jsonl"), [{ role: "user", content: "hi" }]);
  const { stdout, stderr, exitCode } = await runScript("session-reader", [plain, "--resume"], {
    env: own.env,
  });
  expect([stdout, exitCode]).toEqual(["", 1]);
  expect(stderr).toStartWith("error: NOT_FOUND: Cannot go on with talk: ");
  const session = { agent: "claude", file: "/a b/c.jsonl", updatedAt: "", modifiedAt: "", size: 0 } as const;
  const ids = ["$(id)", "it's", "--dangerous", ""];
  expect(ids.map((id) => resumeCommand({ ...session, id }))).toEqual([
    "claude --resume '$(id)'",
    "claude --resume 'it'\\''s'",
    undefined,
    "claude --resume ''",
  ]);
  expect(resumeCommand({ ...session, id: "x", agent: "pi" })).toBe("pi --session '/a b/c.jsonl'");
  expect(resumeCommand({ ...session, id: "x", machine: "desk" })).toBeUndefined();
});

test("at a terminal a name has 40 columns, whatever the ids: these are cut, then sizes and folders left out", () => {
  const row = (name: string, id: string) => [
    ...["3 h ago", name, id, "claude"],
    ...["/home/u/projects/a-long-folder-name", "1 KiB"],
  ];
  const rows = [
    row("the name of a session ".repeat(4), "7c41f0b2"),
    row("短い", "0b2"),
    row("long id", "2026-01-08-migration-of-everything-else"),
  ];
  const shown = (columns: number) => listingColumns(rows, columns).map(plainText);
  expect(shown(100)).toEqual([
    "3 h ago  the name of a session the name of a sessio…  7c41f0b2       claude  a-long-folder-n…  1 KiB",
    "3 h ago  短い                                         0b2            claude  a-long-folder-n…  1 KiB",
    "3 h ago  long id                                      2026-01-08-mi  claude  a-long-folder-n…  1 KiB",
  ]);
  expect(shown(80)).toEqual([
    "3 h ago  the name of a session the name of a session the…  7c41f0b2       claude",
    "3 h ago  短い                                              0b2            claude",
    "3 h ago  long id                                           2026-01-08-mi  claude",
  ]);
});

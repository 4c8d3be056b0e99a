import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { ledgerFile, readBackoff } from "../lib/observe/ledger.ts";
import { claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { startFakeOpenAI } from "./support/fake-openai.ts";
import { type TemporaryHome, temporaryHome, writeClaude } from "./support/home.ts";
import { type Finished, runScript } from "./support/run.ts";

setDefaultTimeout(30_000);
const ID = "3f2a9c10-1111-4111-8111-111111111111";
let home: TemporaryHome;

beforeAll(() => {
  home = temporaryHome();
  const at = (minute: number) => new Date(Date.UTC(2026, 1, 3, 14, minute)).toISOString();
  const tools = [
    {
      name: "Edit",
      input: { file_path: "/srv/app/src/login.ts", old_string: "a", new_string: "b" },
      id: "t1",
    },
  ];
  writeClaude(home, {
    id: ID,
    rows: [
      claudeUser({ text: "fix the flaky login test", at: at(30) }),
      claudeAssistant({ text: "I will look.", tools, at: at(31) }),
      claudeToolResult({ toolUseId: "t1", content: "ok", at: at(32) }),
      claudeAssistant({ text: "The refresh was not awaited; it is now.", at: at(33) }),
      claudeUser({ text: "now deploy, key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD", at: at(40) }),
    ].flat(),
  });
});
afterAll(() => home.remove());

function run(...args: string[]): Promise<Finished> {
  return runScript("observe-compact", args, { env: home.env });
}

test("a session is observed and rendered in one go, and the secret in it is nowhere", async () => {
  const { stdout, stderr, exitCode } = await run("3f2a9c10", "--observe", "--render");
  expect(exitCode).toBe(0);
  expect(stderr).toBe("observed: 4 observations in 1 steps\n");
  expect(stdout.replaceAll(/ \[\w{6}\]$/gm, "")).toBe(`\
## Observations

### 2026-02-03 (UTC)
- 🟡 (14:30) User: fix the flaky login test
- 🟢 (14:31) Edited login.ts
- 🟡 (14:33) The refresh was not awaited; it is now.
- 🟡 (14:40) User: now deploy, key [redacted:openai-token]

## Open Threads
- now deploy, key [redacted:openai-token]

## Next Action Bias
- Go on with the last open thread, unless it was answered since

<modified-files>
/srv/app/src/login.ts
</modified-files>
`);
});

test("rendering again gives the same bytes, and observing again adds nothing", async () => {
  const first = await run(ID, "--render");
  expect((await run(ID, "--observe", "--quiet")).stdout).toBe("");
  expect((await run(ID, "--render")).stdout).toBe(first.stdout);
});

test("--recall prints an observation and the lines it stands on", async () => {
  const { records } = JSON.parse((await run(ID, "--dump", "--json")).stdout);
  const { id } = records[0].observations[2];
  const { stdout } = await run(ID, "--recall", id);
  expect(stdout).toContain(`The refresh was not awaited; it is now. [${id}]\n`);
  expect(stdout).toMatch(
    /\.jsonl:\d+: \[2026-02-03 14:33:00\] Assistant: The refresh was not awaited; it is now\.\n$/,
  );
  const unknown = await run(ID, "--recall", "nothere");
  expect([unknown.exitCode, unknown.stdout, unknown.stderr]).toEqual([
    1,
    "",
    'error: NOT_FOUND: Cannot recall "nothere": no observation of this session has that id\nhint: see the ids with --view obs\n',
  ]);
});

test("--reflect takes a focus, and without a second word the session", async () => {
  for (const args of [
    [ID, "--reflect", "login"],
    ["--reflect", ID],
    [ID, "--reflect"],
  ]) {
    const { exitCode, stderr } = await run(...args);
    expect([exitCode, stderr.split(":")[0]]).toEqual([0, "reflected"]);
  }
  const { records } = JSON.parse((await run(ID, "--dump", "--json")).stdout);
  expect(
    records
      .filter(({ kind }: { kind: string }) => kind === "reflected")
      .map(({ focus }: { focus?: string }) => focus),
  ).toContain("login");
});

test("--status and --view tell where a session stands, as one JSON document too", async () => {
  const { stdout } = await run(ID, "--status", "--view", "obs", "--lines", "2", "--json");
  const output = JSON.parse(stdout);
  expect(output.session).toMatchObject({ id: ID, agent: "claude" });
  expect(output.status).toMatchObject({
    observer: "rules",
    raw: { messages: 4, uncoveredMessages: 0, uncoveredTokens: 0 },
    observations: { red: 0, yellow: 3, green: 1, open: 1, done: 0 },
    backoff: null,
  });
  expect(output.view).toHaveLength(2);
  expect((await run(ID)).stdout).toContain("observations  🔴 0 🟡 3 🟢 1, 1 open threads");
  expect(await run(ID, "--view", "raw")).toEqual({
    stdout: "",
    stderr: "nothing to view: nothing is observed yet (obs), or all of it is (raw)\n",
    exitCode: 0,
  });
});

test("mode and thresholds are kept for the next run", async () => {
  const set = ["--set", "retainTokens=4000", "--set", "stepTokens=5000"];
  const { exitCode, stderr } = await run(ID, "--mode", "blocking", ...set);
  expect([exitCode, stderr]).toEqual([0, "set: retainTokens=4000, stepTokens=5000, mode=blocking\n"]);
  const { status } = JSON.parse((await run(ID, "--status", "--json")).stdout);
  expect(status.settings).toMatchObject({ mode: "blocking", retainTokens: 4000, stepTokens: 5000 });
});

test("--rebuild observes all again with the same result", async () => {
  const before = (await run(ID, "--render")).stdout;
  expect((await run(ID, "--rebuild")).exitCode).toBe(0);
  expect((await run(ID, "--render")).stdout).toBe(before);
});

test.each([
  [[], "Expected a session"],
  [[ID, "--max-chars", "5"], 'Cannot use --max-chars "5": expected a whole number of at least 200'],
  [[ID, "--view", "all"], 'Cannot use --view "all": not one of its values'],
  [[ID, "--mode", "fast"], 'Cannot use --mode "fast": not one of its values'],
  [[ID, "--set", "retainTokens"], 'Cannot use --set "retainTokens": expected key=value'],
  [[ID, "--set", "speed=1"], "Cannot set speed=1: there is no such key"],
  [
    ["nobody", "--set", "stepTokens=many"],
    "Cannot set stepTokens=many: expected a whole number of at least 1",
  ],
  [["nobody", "--set", "stepTokens=0"], "Cannot set stepTokens=0: expected a whole number of at least 1"],
  [["nobody", "--set", "model=foo"], "Cannot set model=foo: there is no such key"],
  [[ID, "second"], 'Cannot use argument "second": one too many'],
  [[ID, "--frobnicate"], "Unknown option '--frobnicate'"],
])("wrong usage %j is said in one line", async (args, message) => {
  const { stdout, stderr, exitCode } = await run(...args);
  expect([exitCode, stdout]).toEqual([2, ""]);
  expect(stderr.split("\n")[0]).toStartWith(`error: ${message}`);
  expect(stderr.split("\n")[1]).toStartWith("hint: ");
});

test("a session without conversation renders nothing, and says so", async () => {
  const file = writeClaude(home, {
    id: "44444444-1111-4111-8111-111111111111",
    rows: [claudeUser({ text: "hi" })],
  });
  const { stdout, stderr, exitCode } = await run(file, "--render");
  expect([exitCode, stdout, stderr]).toEqual([0, "", "nothing is observed yet\n"]);
});

test("a pattern that config.json redacts from now on is printed no more", async () => {
  using own = temporaryHome();
  const file = writeClaude(own, { id: ID, rows: [claudeUser({ text: "call it Heron-7 please" })] });
  expect(
    (await runScript("observe-compact", [file, "--observe", "--render"], { env: own.env })).stdout,
  ).toContain("Heron-7");
  own.configure({ redact: { extra: ["Heron-\\d"] } });
  for (const action of ["--render", "--dump", "--view=obs", "--json"]) {
    const { stdout, exitCode } = await runScript("observe-compact", [file, "--render", action], {
      env: own.env,
    });
    expect([exitCode, stdout.includes("Heron-7")]).toEqual([0, false]);
  }
});

test("what was observed is still there when the host has deleted the transcript", async () => {
  using own = temporaryHome();
  const id = "55555555-1111-4111-8111-111111111111";
  const file = writeClaude(own, { id, rows: [claudeUser({ text: "fix the login" })] });
  const before = await runScript("observe-compact", [id, "--observe", "--render"], { env: own.env });
  rmSync(file);
  const after = await runScript("observe-compact", ["5555", "--observe", "--render"], { env: own.env });
  expect([after.exitCode, after.stdout]).toEqual([0, before.stdout]);
  expect(after.stderr).toContain("the transcript is gone, its observations are left\n");
  const noteId = /\[(\w{6})\]/.exec(before.stdout)?.[1] ?? "";
  const recalled = await runScript("observe-compact", [id, "--recall", noteId, "--quiet"], { env: own.env });
  expect(recalled.stdout).toBe(`- 🟡 (14:30) User: fix the login [${noteId}]\nits transcript is gone\n`);
  const rebuilt = await runScript("observe-compact", [id, "--rebuild", "--quiet"], { env: own.env });
  expect([rebuilt.exitCode, rebuilt.stderr]).toEqual([
    1,
    "error: NOT_FOUND: Cannot rebuild: the transcript is gone, its ledger is all there is\nhint: see it with --render\n",
  ]);
  const unknown = await runScript("observe-compact", ["9999", "--render"], { env: own.env });
  expect([unknown.exitCode, unknown.stderr.split(":")[1]]).toEqual([1, " NOT_FOUND"]);
});

test("a configured model observes; when it fails the run says so, keeps nothing, and exits 1", async () => {
  using own = temporaryHome();
  const server = await startFakeOpenAI();
  mkdirSync(dirname(own.paths.config), { recursive: true });
  own.configure({ llm: { baseUrl: server.baseUrl, model: "fake" }, timezone: "UTC" });
  const file = writeClaude(own, {
    id: ID,
    rows: [claudeUser({ text: "fix the login" }), claudeAssistant({ text: "Done." })].flat(),
  });
  const env = { ...own.env, OPENAI_API_KEY: "sk-none" };
  const key = `sk-proj-${"a1B2c3D4".repeat(6)}`;
  server.script({
    kind: "status",
    status: 401,
    body: { error: { message: `Incorrect API key provided: ${key}` } },
  });
  const refused = await runScript("observe-compact", [file, "--observe"], { env });
  expect(refused.stderr).toBe(
    "failed: 0 observations in 0 steps\nerror: MODEL_FAILED: Cannot ask the model: the server answered 401 Incorrect API key provided: [redacted:openai-token]\nhint: run it again later\n",
  );
  expect(readBackoff(own.paths, ID)).toMatchObject({
    failures: 1,
    reason:
      "Cannot ask the model: the server answered 401 Incorrect API key provided: [redacted:openai-token]",
  });
  server.script("nonsense");
  const failed = await runScript("observe-compact", [file, "--observe", "--json"], { env });
  expect(failed.exitCode).toBe(1);
  expect(failed.stderr).toMatch(/^error: MODEL_FAILED: .+\nhint: .+\n$/);
  expect(JSON.parse(failed.stdout).observed).toMatchObject({ status: "failed", steps: 0 });
  server.script(
    JSON.stringify({ observations: [{ priority: "red", text: "Request: fix the login", sources: [1] }] }),
  );
  const fine = await runScript("observe-compact", [file, "--observe", "--render"], { env });
  expect(fine.exitCode).toBe(0);
  expect(fine.stdout).toContain("Request: fix the login");
  await server.close();
});

test("--dry-run makes as many calls as the same command then makes, and leaves the ledger as it is", async () => {
  using own = temporaryHome();
  const server = await startFakeOpenAI();
  const words = "The release notes say more about it. ".repeat(60);
  const rows = Array.from({ length: 9 }, (_, i) => [
    claudeUser({ text: `request ${i}: ${words}` }),
    ...claudeAssistant({ text: `Answer ${i}. ${words}` }),
  ]);
  const file = writeClaude(own, { id: ID, rows: rows.flat() });
  const run = (...args: string[]) => runScript("observe-compact", [file, ...args], { env: own.env });
  expect((await run("--dry-run")).stdout).toBe("nothing would be sent: no llm in config.json\n");
  own.configure({ llm: { baseUrl: server.baseUrl, model: "fake" }, observe: { stepTokens: 2000 } });
  server.script(({ body }) => {
    const line = /<new-conversation>\n\[(\d+)\]/.exec(body.messages.at(-1).content)?.[1];
    return JSON.stringify({
      observations: [{ priority: "red", text: "It is asked for", sources: [Number(line)] }],
    });
  });
  for (const action of ["--observe", "--rebuild"]) {
    server.requests.length = 0;
    const before = existsSync(ledgerFile(own.paths, ID))
      ? readFileSync(ledgerFile(own.paths, ID), "utf8")
      : "";
    const plan = JSON.parse((await run(action, "--dry-run", "--json")).stdout);
    const after = existsSync(ledgerFile(own.paths, ID))
      ? readFileSync(ledgerFile(own.paths, ID), "utf8")
      : "";
    expect([server.requests.length, after]).toEqual([0, before]);
    await run(action);
    expect([plan.calls, plan.host]).toEqual([server.chats().length, new URL(server.baseUrl).host]);
    expect(plan.calls).toBeGreaterThan(2);
  }
  expect((await run("--observe", "--dry-run")).stdout).toStartWith("0 calls to 127.0.0.1:");
  await server.close();
}, 30_000);

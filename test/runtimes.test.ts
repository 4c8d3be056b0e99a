/** The scripts on the other runtimes: the same words and results as on Bun, from any directory. */

import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { openDatabase } from "../lib/store/sqlite.ts";
import { type FakeOpenAI, type RecordedRequest, startFakeOpenAI } from "./support/fake-openai.ts";
import { FIXTURES } from "./support/fixtures.ts";
import { layFixtures, type TemporaryHome, temporaryHome } from "./support/home.ts";
import { hasPostgres } from "./support/postgres.ts";
import { type Finished, ROOT, runCommand, scriptPath } from "./support/run.ts";
import { createHub, say, sharer, uuid } from "./support/share.ts";

const { posting, deploy } = FIXTURES.claude;

/** A command of each script, and what ends otherwise, one after the other in one home with an embedder, a model and a hub; with exit codes. */
type Line = [script: string, ...args: string[]];
const COMMANDS: [exitCode: number, ...Line][] = [
  [0, "search", "--help"],
  [0, "embed", "--topics", "--quiet"],
  [0, "search", "what did Jason say about posting frequency", "--topic", "tagged", "--json", "--quiet"],
  [0, "index-meta", posting.id, "--force", "--json"],
  [0, "query-session", posting.id, "how often do we post?"],
  [0, "session-reference", `@@${posting.id}: how often do we post?`, "--json"],
  [0, "observe-compact", posting.id, "--observe", "--reflect", "--render"],
  [0, "save-session", posting.id, "--dir", "memory", "--llm-slug"],
  [0, "session-reader", posting.id, "--utc"],
  [1, "session-reader", "no such session"],
  [2, "session-reader", "--lines", "x"],
  [0, "handoff", posting.id, "--prompt"],
  [0, "rules", "--json"],
  [0, "restore", posting.id, "--dry-run"],
  [0, "status-line", "--json"],
  [0, "activity-summary", "--peek", "--current", deploy.id, "--since", "2026-01-01", "--max-chars", "2000"],
  [0, "report", posting.id, "--json"],
  [0, "share", "--json"],
  [0, "search", "lighthouse keeper", "--json", "--quiet"],
  [0, "health", "--json"],
  [0, "setup", "--quiet"],
  [0, "forget", posting.id, "--yes", "--json"],
];

const RUNTIMES = [
  { name: "Node", command: nodeCommand() },
  { name: "Deno", command: denoCommand() },
];
const SCRIPTS = readdirSync(join(ROOT, "scripts")).map((file) => basename(file, ".ts"));
const ALL = COMMANDS.filter(([, script]) => script !== "share" || hasPostgres());

test("every script is run on every runtime", () => {
  expect([...new Set(COMMANDS.map(([, script]) => script))].sort()).toEqual(SCRIPTS.toSorted());
});

for (const { name, command } of RUNTIMES) {
  if (command) describe(name, () => onRuntime(command));
  else
    test.skip(`${name} is neither on PATH (new enough) nor named by SESSION_MEMORY_TEST_${name.toUpperCase()}`, () => {});
}

function onRuntime(command: string[]): void {
  test("every script does what it does on Bun, and pays as often", async () => {
    onBun ??= runAll([process.execPath]);
    const [ours, theirs] = await Promise.all([onBun, runAll(command)]);
    expect(theirs).toEqual(ours);
    expect(theirs.results.map(({ exitCode }) => exitCode)).toEqual(ALL.map(([code]) => code));
    expect(ours.vectors).toBeGreaterThan(0);
  }, 600_000); // on a machine that runs all tests at once

  test("finds what Bun has indexed up to date", async () => {
    using home = temporaryHome();
    layFixtures(home);
    // most of a millisecond more than a whole one
    for (const name of readdirSync(home.paths.claude, { recursive: true, encoding: "utf8" })) {
      if (name.endsWith(".jsonl"))
        utimesSync(join(home.paths.claude, name), 1_770_000_000, 1_770_000_000.0008);
    }
    await home.ok("embed");
    const { stdout } = await runOn(command, ["search", "deploy", "--no-index", "--json"], home);
    expect(JSON.parse(stdout).index.behind).toEqual({ sessions: 0, bytes: 0 });
  }, 60_000);

  test("loads every file that others import", async () => {
    using home = temporaryHome();
    const loader = join(ROOT, "test", "support", "load.ts");
    const files = [...filesIn("lib"), ...filesIn("hooks/pi")];
    const env = { ...home.env, ...KEPT };
    const { stdout, stderr, exitCode } = await runCommand([...command, loader, ...files], {
      env,
      cwd: home.project,
    });
    const said = stderr.replace(/^\(node:\d+\) ExperimentalWarning.*\n(?:\(Use .*\n)?/gm, "");
    expect({ stdout, stderr: said, exitCode }).toEqual({ stdout: "", stderr: "", exitCode: 0 });
  }, 60_000);
}

/** A worker is started, not imported. */
function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith("-worker.ts"))
    .map((name) => join(ROOT, folder, name));
}

let onBun: ReturnType<typeof runAll> | undefined;

/** What all commands print and return, without what differs from run to run, the vectors stored after them, and what was sent. */
async function runAll(runtime: string[]) {
  const server = await startFakeOpenAI({ dimensions: 64, replies: [(request) => modelAnswer(request)] });
  try {
    using home = hasPostgres() ? await sharingHome() : temporaryHome();
    layFixtures(home);
    const model = { baseUrl: server.baseUrl, apiKeyEnv: "NO_KEY" };
    home.configure({
      embedding: { ...model, model: "fake-embedder", dimensions: 64 },
      llm: { ...model, model: "fake" },
    });
    const results: (Finished & { script: string })[] = [];
    for (const [, ...line] of ALL) {
      const finished = await runOn(runtime, line, home);
      results.push({ script: line.join(" "), ...stable(finished, home) });
    }
    return { results, vectors: storedVectors(home), sent: sentTo(server) };
  } finally {
    await server.close();
  }
}

function runOn(
  runtime: string[],
  [script, ...args]: Line,
  { env, project }: TemporaryHome,
): Promise<Finished> {
  return runCommand([...runtime, scriptPath(script), ...args], {
    env: { ...env, NO_COLOR: "1", ...KEPT },
    cwd: project,
  });
}

/** A home that shares through a hub to which another person has published a session. */
async function sharingHome(): Promise<TemporaryHome> {
  const hub = await createHub();
  using bob = sharer(hub, { role: "bob", machine: "laptop" });
  say(bob, uuid(1), ["who winds the lighthouse clock", "the lighthouse keeper, on Mondays"]);
  await bob.share();
  return sharer(hub, { role: "alice", machine: "desk" });
}

function storedVectors(home: TemporaryHome): number {
  const db = openDatabase(home.paths.database);
  try {
    expect(db.vectors).toEqual({ mode: "vec0" });
    return Number(db.prepare("SELECT count(*) AS n FROM session_embeddings").get()?.n);
  } finally {
    db.close();
  }
}

function sentTo(server: FakeOpenAI) {
  return { chats: server.chats().length, embedded: server.embeddedTexts().length };
}

/** An answer to each of the requests that we make. */
function modelAnswer({ text }: RecordedRequest): string {
  if (text.includes("Catalogue this conversation")) {
    const fields = { description: "How often to post.", summary: "Twice a week.", tags: ["posting"] };
    return JSON.stringify({ name: "Agree on how often to post", ...fields });
  }
  if (text.includes("Answer the question.")) {
    return JSON.stringify({ answer: "Twice a week.", confidence: "low", citations: [] });
  }
  const pieces = Number(/Tag each of the (\d+) pieces/.exec(text)?.[1] ?? 0);
  if (pieces > 0) {
    const topics = Array.from({ length: pieces }, (_, i) => ({ chunk: i + 1, tags: ["tagged"] }));
    return JSON.stringify({ topics });
  }
  if (text.includes("Name the main topic")) return "posting-plan";
  const [, line = "1"] = /\[(\d+)\] \(/.exec(text) ?? [];
  const observation = { priority: "red", text: "We post twice a week.", sources: [Number(line)] };
  return JSON.stringify({ observations: [observation] });
}

/** Where runtimes keep what they made of our files. */
const CACHE = mkdtempSync(join(tmpdir(), "cache-"));
const KEPT = { DENO_DIR: CACHE, NODE_COMPILE_CACHE: CACHE, DENO_NO_UPDATE_CHECK: "1" };

function stable({ stdout, stderr, exitCode }: Finished, home: TemporaryHome): Finished {
  const clean = (text: string) =>
    text
      .replaceAll(home.root, "<root>")
      .replaceAll(home.root.replace(/[^a-zA-Z0-9]/g, "-"), "<root>")
      .replace(/\b(?:bun|node|deno run -A) (?=\S*\/scripts\/)/g, "<runtime> ") // hints name how they were called
      .replace(/(?<=hint: the nearest are ).*/, "<some>")
      .replace(/(?<= to <root>\S*\/|claude --resume )[\da-f-]{36}/g, (id) =>
        id === posting.id ? id : "<new id>",
      )
      .replace(/\d+\.\d s$/gm, "<time> s")
      // of a fork and its origin the rows are those of the one that was indexed first
      .replace(/^Questions from your own history:[\s\S]*/m, "<questions>")
      .replace(/\b\d+[smhd] ago\b/g, "<age>") // one runtime's run may end another day after a session
      .replace(/(?<=127\.0\.0\.1:)\d+(?:\/memory_\w+)?/g, "<port>")
      .replace(/(?<="(?:tookMs|avg\w+|storageUsedMB|size|age\w*)": )[\d.]+/g, "<measured>")
      .replace(/(?<="relevance_score": )[\d.]+/g, "<score>") // the home's random name is among the words
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g, (time) => (time > "2026-03" ? "<now>" : time));
  return { stdout: clean(stdout), stderr: clean(stderr), exitCode };
}

/** A Node that strips types: 22.18 or newer. */
function nodeCommand(): string[] | undefined {
  const node = process.env.SESSION_MEMORY_TEST_NODE ?? Bun.which("node");
  if (!node || !existsSync(node)) return undefined;
  const { stdout } = Bun.spawnSync([node, "--version"]);
  const [major = 0, minor = 0] = stdout.toString().slice(1).split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 18) ? [node] : undefined;
}

function denoCommand(): string[] | undefined {
  const deno = process.env.SESSION_MEMORY_TEST_DENO ?? Bun.which("deno");
  return deno && existsSync(deno) ? [deno, "run", "-A"] : undefined;
}

/** Secrets planted wherever text comes from, and every way out of the program: none may come through. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { registerObservationCommands, registerTools } from "../hooks/pi/commands.ts";
import { registerMeta, registerPrompt } from "../hooks/pi/extension.ts";
import { registerObservations } from "../hooks/pi/observations.ts";
import {
  chain,
  claudeAssistant,
  claudeCompaction,
  claudeState,
  claudeToolResult,
  claudeUser,
} from "./support/claude.ts";
import { type FakeOpenAI, type RecordedRequest, startFakeOpenAI } from "./support/fake-openai.ts";
import { type TemporaryHome, temporaryHome, write, writeClaude } from "./support/home.ts";
import { piAssistant, piHeader, piLinked, piUser } from "./support/pi.ts";
import { type PiHost, piHost } from "./support/pi-host.ts";
import type { Row } from "./support/rows.ts";
import { runScript, shellWords } from "./support/run.ts";
import { lay } from "./support/world.ts";

setDefaultTimeout(120_000);

/** A token by its form, a value by its name, and what only `redact.extra` knows. */
const TOKEN = `ghp_${"aB3dE5gH7jK9mN1pQ2rS".repeat(2).slice(0, 36)}`;
const PASSWORD = "violin-47-Harbour!";
const OWN = "VIOLET-7731";
/** What is cut off long texts begins within the secret behind it. */
const PAD = `${"x".repeat(3989)} `;
/** In ids and paths, which are keys in what we store and shown nowhere. */
const IN_PATH = "AMBER-4402";
/** A file's name that paints the terminal and begins a result of its own. */
const FORGED = "\u001b[31m\n2. forged result\u009b2J";
const SECRETS = [TOKEN, PASSWORD, OWN];
const planted = `${TOKEN} and DB_PASSWORD="${PASSWORD}" and ${OWN}`;
const REFUSED = "error: the zebra refused the key";

const ASKING = "5d1f0c52-7a84-4e7b-9a51-0a6de7f3c101";
const TOLD = "9c4e2a10-1b3d-4c5e-8f60-7a8b9c0d1e2f";

const EMBEDDING = { model: "text-embedding-3-small", dimensions: 64, apiKeyEnv: "KEY" };

/** What came out of each exit. */
const exits = new Map<string, string>();
let home: TemporaryHome;
let folder: string;
let server: FakeOpenAI;
let host: PiHost;

beforeAll(async () => {
  home = temporaryHome({ KEY: "sk-test" });
  folder = join(home.root, `mind-${IN_PATH}`);
  server = await startFakeOpenAI({ dimensions: 64, replies: [modelAnswer] });
  const prices = {
    tiny: { input: 1, output: 1 },
    [EMBEDDING.model]: { input: 1, output: 0 },
    "fake-1": { input: 1, output: 1 },
  };
  const llm = { baseUrl: server.baseUrl, apiKeyEnv: "KEY", model: "tiny", prices };
  const config = {
    llm,
    embedding: { ...EMBEDDING, baseUrl: server.baseUrl },
    redact: { extra: ["VIOLET-\\d+", "AMBER-\\d+"] },
    observe: { retainTokens: 0, stepTokens: 200 },
  };
  layTranscripts();
  host = await piHost(home, {
    rows: piRows(),
    config: { ...config, modelKeys: ["active"] },
    answer: hostAnswer,
  });
  home.configure(config);
  await runScripts();
  await runHooks();
  await runPi();
  for (const { path, text } of server.requests) add(`sent to ${path.split("/").at(-1)}`, text);
  add("sent by pi", host.asked.join("\n"));
});

afterAll(async () => {
  await server.close();
  home.remove();
});

function layTranscripts(): void {
  const now = Date.now();
  const context = { sessionId: TOLD, cwd: folder, at: new Date(now - 60_000).toISOString() };
  const question = { question: `Use ${planted}?`, options: [{ label: `yes ${planted}` }] };
  const answers = { [question.question]: `take ${planted}` };
  const patch = [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: ["-a", `+${planted}`] }];
  const result = (toolUseId: string, content: string, toolUseResult: object = {}) => ({
    ...claudeToolResult({ ...context, toolUseId, content }),
    toolUseResult,
  });
  const tools = [
    { name: "Bash", id: "t1", input: { command: `deploy --with ${planted}` } },
    { name: "Edit", id: "t2", input: { file_path: `${folder}/${OWN}/gateway.ts`, new_string: planted } },
    { name: "Write", id: "t3", input: { file_path: "gateway.env", content: `${PAD}${planted} ${PAD}` } },
    { name: "AskUserQuestion", id: "t4", input: { questions: [question] } },
    { name: TOKEN, id: "t5", input: { path: `${TOKEN}.ts` } },
  ];
  mkdirSync(join(folder, ".git"), { recursive: true });
  write(join(folder, ".git", "HEAD"), "ref: refs/heads/main\n");
  const rows = [
    claudeUser({ ...context, text: `Never deploy the gateway without ${planted}.` }),
    ...claudeAssistant({ ...context, text: `We decided to use ${planted} for the gateway.`, tools }),
    claudeToolResult({ ...context, toolUseId: "t1", content: `error: refused ${planted}`, isError: true }),
    result("t2", "ok", { structuredPatch: patch }),
    result("t3", "ok"),
    result("t4", "answered", { questions: [question], answers }),
    result("t5", `${PAD}${planted}${PAD}`),
    ...claudeCompaction({ ...context, summary: `The gateway needs ${planted}.` }),
    claudeUser({ ...context, text: `And what of the gateway's ${planted}?` }),
    ...claudeAssistant({ ...context, text: `The gateway runs with ${planted}.` }),
  ];
  const title = claudeState("custom-title", { customTitle: `gateway ${OWN} ${TOKEN}` }, TOLD);
  writeClaude(home, { id: TOLD, cwd: folder, rows: [...chain(rows), title] });
  const own = { sessionId: ASKING, cwd: folder, at: new Date(now - 30_000).toISOString() };
  writeClaude(home, {
    id: ASKING,
    cwd: folder,
    rows: chain([claudeUser({ ...own, text: "hello" }), ...claudeAssistant({ ...own, text: "hi" })]),
  });
  lay(
    home,
    `@claude 00000001 2026-02-01 10:00 in ${folder}
[Bash deploy --now] failed
  ${REFUSED}
[Bash allow zebra ${planted}]
[Bash deploy --now]
  done`,
  );
  const plain = [`{"role":"user","content":"plain gateway ${planted.replaceAll('"', '\\"')}"}`];
  write(join(home.root, "plain", `notes-${IN_PATH}.jsonl`), `${plain.join("\n")}\n`);
  write(
    join(home.root, "plain", `note${FORGED}.jsonl`),
    '{"role":"user","content":"another plain gateway"}\n',
  );
}

function piRows(): Row[] {
  return piLinked([
    piHeader({ cwd: folder }),
    piUser({ id: "u1", text: `Never use the gateway without ${planted}. ${"More words. ".repeat(100)}` }),
    piAssistant({
      id: "a1",
      text: `Kept the gateway with ${planted}.`,
      tools: [{ name: "bash", arguments: { command: `echo ${planted}` } }],
    }),
    piUser({ id: "u2", text: `Go on with the gateway and ${planted}` }),
    piAssistant({ id: "a2", text: `Gone on with ${planted}` }),
  ]);
}

/** A model that repeats secrets it was never told. */
function modelAnswer({ text }: RecordedRequest): string {
  if (text.includes("Tag each of")) {
    return JSON.stringify({ topics: [{ chunk: 1, tags: ["gateway", OWN] }] });
  }
  if (text.includes("Answer with those words only")) return `gateway ${OWN}`;
  return JSON.stringify({
    name: `Gateway ${OWN} rollout`,
    description: `Deploys ${planted}`,
    summary: `Deployed with ${planted}`,
    tags: ["gateway", OWN],
    answer: `It uses ${planted}`,
    confidence: "high",
    citations: [{ line: 1, excerpt: `Never deploy the gateway without ${planted}.` }],
    ...noted(text),
  });
}

function noted(prompt: string): object {
  const line = Number(/\[(\d+)\] \(/.exec(prompt)?.[1] ?? 1);
  return { observations: [{ priority: "red", text: `The gateway needs ${planted}`, sources: [line] }] };
}

async function hostAnswer(prompt: string): Promise<object> {
  return JSON.parse(modelAnswer({ text: prompt } as RecordedRequest));
}

function add(exit: string, text: string): void {
  exits.set(exit, `${exits.get(exit) ?? ""}${text}\n`);
}

/** What is run, with TOLD for the session and WORDS for the secrets in it; a line that begins with "=" is run for its JSON too. */
const COMMANDS = `
embed --dry-run
=embed
embed --topics
=embed --status
=embed --validate-only
=index-meta --all --force
=observe-compact TOLD --observe
=observe-compact TOLD --reflect --render
=observe-compact TOLD --view obs
observe-compact TOLD --view raw --rebuild
=observe-compact TOLD --recall ID
=session-reader TOLD
=session-reader TOLD --full
=session-reader TOLD --line 2
=session-reader TOLD --tools
=session-reader TOLD --outline
=session-reader TOLD --grep gateway
=session-reader --list
=session-reader PLAIN/notes-${IN_PATH}.jsonl
=session-reader --list --sessions PLAIN
=session-reader PLAIN/FORGED.jsonl
=session-reader "${OWN} ${TOKEN}"
session-reader --lines ${TOKEN}
session-reader --${TOKEN}
session-reader --list --sessions /none/${TOKEN}
=search gateway "${OWN} ${TOKEN} gateway" --explain
=search gateway --brief
=search gateway --by-session
=search gateway --full
=search --topics
=search --file gateway.ts
=search --error "error: refused"
=search --command deploy
=search "plain gateway" --sessions PLAIN
=query-session TOLD WORDS
=session-reference 'see @@TOLD and @@"${OWN} ${TOKEN}" and @@TOLD: WORDS'
=save-session TOLD --llm-slug
save-session TOLD --dir memory/by-rule
=report TOLD
=report --all --out pages
=activity-summary --current ${ASKING} --peek
=health
=forget TOLD --dry-run
=forget --pattern ${OWN} --dry-run`;

async function run(script: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await runScript(script, args, { env: home.env, cwd: folder });
  add(`${script} ${args.filter((arg) => arg.startsWith("--")).join(" ")}`.trim(), stdout + stderr);
  return stdout;
}

async function runScripts(): Promise<void> {
  let id = "";
  for (const line of COMMANDS.trim().split("\n")) {
    if (line.endsWith(" ID")) {
      const dump = await run("observe-compact", TOLD, "--dump", "--json");
      id = /"id": "([a-z0-9]+)"/.exec(dump)?.[1] ?? "";
    }
    const words = shellWords(line.replace(/^=/, "")).map((word) =>
      word
        .replaceAll("TOLD", TOLD)
        .replace("PLAIN", join(home.root, "plain"))
        .replace("FORGED", `note${FORGED}`)
        .replace("WORDS", `What about ${planted}?`)
        .replace(/^ID$/, id),
    );
    const [script = "", ...args] = words;
    await run(script, ...args);
    if (line.startsWith("=")) await run(script, ...args, "--json");
  }
  for (const name of readdirSync(join(folder, "pages"))) {
    add(`report page ${name}`, readFileSync(join(folder, "pages", name), "utf8"));
  }
}

async function runHooks(): Promise<void> {
  const input = { session_id: ASKING, transcript_path: transcript(ASKING), cwd: folder };
  const hook = async (name: string, more: object) => {
    const stdin = JSON.stringify({ ...input, ...more });
    const options = { env: home.env, cwd: folder, stdin };
    const { stdout, stderr } = await runScript("hooks/event.ts", [name], options);
    add(`hook ${name}`, stdout + stderr);
  };
  await hook("user-prompt-submit", { prompt: `look at @@${TOLD} and @@"${OWN}: what is ${planted}?"` });
  const failure = { hook_event_name: "PostToolUseFailure", tool_input: { command: "deploy --now" } };
  await hook("post-tool-use-failure", { ...failure, error: REFUSED });
  await hook("session-start", { source: "startup" });
  const told = { session_id: TOLD, transcript_path: transcript(TOLD) };
  await hook("pre-compact", { ...told, trigger: "auto" });
  await hook("session-start", { ...told, source: "compact" });
  const args = ["--session", TOLD, "--file", transcript(TOLD), "--cwd", folder, "--save", "/clear"];
  const { stdout, stderr } = await runScript("hooks/background.ts", args, { env: home.env, cwd: folder });
  add("hook background", stdout + stderr);
}

function transcript(id: string): string {
  return join(home.paths.claude, "projects", folder.replace(/[^a-zA-Z0-9]/g, "-"), `${id}.jsonl`);
}

async function runPi(): Promise<void> {
  const { state } = host;
  registerPrompt(state);
  registerMeta(state);
  registerObservations(state);
  registerObservationCommands(state);
  registerTools(state);
  add("pi prompt", JSON.stringify(await host.emit("before_agent_start", { prompt: `as in @@${TOLD}` })));
  await host.emit("agent_settled");
  await host.settled();
  add("pi tool session_search", await host.call("session_search", { query: ["gateway", planted] }));
  add("pi tool query_session", await host.call("query_session", { session: TOLD, question: planted }));
  add("pi tool errors", await host.call("query_session", { session: OWN, question: "?" }));
  for (const name of ["obs-view", "obs-memory-status", "obs-dump", "index-session", "obs-reflect"]) {
    await host.command(name);
  }
  await host.command("obs-view", "raw");
  const id = /\[([a-z0-9]{4,})\]/.exec(host.notices.join("\n"))?.[1] ?? "";
  add("pi tool recall_observation", await host.call("recall_observation", { id }));
  const preparation = {
    firstKeptEntryId: "u2",
    tokensBefore: 5000,
    messagesToSummarize: [1],
    turnPrefixMessages: [],
  };
  const branchEntries = ["u1", "a1", "u2", "a2"].map((entry) => ({ id: entry }));
  const compaction = await host.emit("session_before_compact", { preparation, branchEntries });
  add("pi compaction", JSON.stringify(compaction));
  await host.settled();
  add("pi notices", host.notices.join("\n"));
  add("pi status line", host.statuses.map(([, text]) => text).join("\n"));
  const written = readFileSync(host.file, "utf8").split("\n").slice(piRows().length);
  add("pi custom entries", written.join("\n"));
}

/** What we keep: our own folder, notes and pi's meta files, file by file. A lock may go while it is read. */
function storedFiles(): [name: string, bytes: string][] {
  const folders = [home.paths.home, join(folder, "memory"), join(home.paths.pi, "sessions-meta")];
  return folders.filter(existsSync).flatMap((root) =>
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== "config.json" && !entry.name.endsWith(".lock"))
      .map((entry): [string, string] => {
        const file = join(entry.parentPath, entry.name);
        return [relative(home.root, file), readFileSync(file, "latin1")];
      }),
  );
}

function leaks(text: string, secrets: readonly string[]): string[] {
  return secrets.filter((secret) => text.toLowerCase().includes(secret.toLowerCase()));
}

describe("planted secrets", () => {
  test("come through no exit, in text, in JSON, in what is sent or in what hosts are handed", () => {
    const found = [...exits].flatMap(([exit, text]) =>
      leaks(text, [...SECRETS, IN_PATH]).map((secret) => `${exit}: ${secret}`),
    );
    expect(found).toEqual([]);
  });

  test("and a file name forge no line and reach no terminal", () => {
    const found = [...exits]
      .filter(([, text]) => /^2\. forged|[\u001b\u009b]/m.test(text))
      .map(([exit]) => exit);
    expect(found).toEqual([]);
  });

  test("lie in no file we keep, nor in a file's name", () => {
    const found = storedFiles().flatMap(([name, bytes]) =>
      leaks(`${name}\n${bytes}`, SECRETS).map((secret) => `${name}: ${secret}`),
    );
    expect(found).toEqual([]);
  });

  test("were on their way through every exit that shows a text", () => {
    const silent = [...exits].filter(([, text]) => !text.includes("[redacted:")).map(([exit]) => exit);
    expect(silent).toEqual([
      "embed --dry-run",
      "embed",
      "embed --json",
      "embed --topics",
      "observe-compact --observe",
      "observe-compact --view --rebuild",
      "search --topics",
      "search --topics --json",
      "report",
      "health",
      "health --json",
      "hook pre-compact",
      "hook background",
    ]);
  });
});

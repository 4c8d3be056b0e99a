import { expect, setDefaultTimeout, test } from "bun:test";
import { loadConfig } from "../lib/config/config.ts";
import { configuredModel } from "../lib/model/configured-model.ts";
import { indexMeta } from "../lib/naming/session-meta.ts";
import { metaFile, readMeta, type SessionMeta } from "../lib/sessions/meta.ts";
import { listSessions } from "../lib/sessions/sessions.ts";
import { chain, claudeAssistant, claudeUser } from "./support/claude.ts";
import { serverPerFile } from "./support/fake-openai.ts";
import { homePerTest, writeClaude } from "./support/home.ts";
import type { Row } from "./support/rows.ts";
import { startScript } from "./support/run.ts";

// Several processes a test, on machines that are busy.
setDefaultTimeout(30_000);

const ID = "11111111-aaaa-4aaa-8aaa-000000000001";
const answer = {
  name: "Fix flaky login test with awaited refresh.",
  description: "The login test failed on CI; refresh is awaited now.",
  summary: "Asked to fix the login test. Decided to await refresh.",
  tags: ["Auth", "testing"],
};

const server = serverPerFile({ replies: [JSON.stringify(answer)] });
const home = homePerTest({ KEY: "sk-test" });

function configure(llm: object | undefined, more: object = {}): void {
  const block = {
    baseUrl: server.baseUrl,
    apiKeyEnv: "KEY",
    model: "tiny",
    prices: { tiny: { input: 1, output: 1 } },
    ...llm,
  };
  home.configure({ ...(llm ? { llm: block } : {}), ...more });
}

const requests = [
  "the login test is flaky on CI, can you find out why and fix it?",
  "does it also fail locally?",
  "keep the 5 s timeout",
  "add a regression test",
  "commit it",
  "now the deploy script please",
  "it should roll back on a failed health check",
];

function turns(count: number, from = 0): Row[] {
  return Array.from({ length: count }, (_, i) => i + from)
    .flatMap((i) => [
      claudeUser({
        uuid: `user-${i}`,
        text: requests[i] ?? `request ${i}`,
        sessionId: ID,
        cwd: home.project,
      }),
      claudeAssistant({ uuid: `answer-${i}`, text: `Answer ${i} about the login test.`, sessionId: ID }),
    ])
    .flat();
}

function session(count: number, more: Row[] = []): string {
  return writeClaude(home, { id: ID, rows: [...chain(turns(count)), ...more] });
}

function meta(id = ID, agent: "claude" | "pi" = "claude"): SessionMeta {
  const { meta } = readMeta(metaFile(home.paths, { id, agent }));
  if (!meta) throw new Error(`no meta of ${id}`);
  return meta;
}

async function run(...args: string[]) {
  const done = await home.run("index-meta", ...args);
  const json = args.includes("--json") ? JSON.parse(done.stdout) : undefined;
  return { ...done, json };
}

test("a model that failed is not asked again after each turn, but when somebody asks for it", async () => {
  configure({});
  server.script("no JSON");
  const [listed] = listSessions({ ...home.paths, transcripts: [session(5)] });
  if (!listed) throw new Error("no session");
  const config = await loadConfig(home.env, home.project);
  const minute = 60_000;
  const afterTurn = (at: number) =>
    configuredModel(config).then((complete) =>
      indexMeta(listed, { ...config, complete, rests: true, now: () => new Date(at) }),
    );
  expect((await afterTurn(0)).status).toBe("failed");
  expect((await afterTurn(10 * minute)).status).toBe("not-due");
  expect(server.chats().length).toBe(3);
  expect((await afterTurn(31 * minute)).status).toBe("failed");
  expect(server.chats().length).toBe(6);
  server.script(JSON.stringify(answer));
  expect((await run()).exitCode).toBe(0);
  expect([server.chats().length, meta().model]).toEqual([7, "tiny"]);
});

test("two runs at once ask the model once", async () => {
  configure({});
  session(5);
  const start = () => startScript("index-meta", ["--json"], { env: home.env, cwd: home.project });
  const runs = await Promise.all([start(), start()]);
  const statuses = runs.map(({ stdout }) => JSON.parse(stdout).sessions[0].status).sort();
  expect([statuses, server.chats().length]).toEqual([["indexed", "not-due"], 1]);
}, 30_000);

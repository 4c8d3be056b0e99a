/** How often a model is asked for names; what is printed of them: golden/index-meta.txt. */

import { beforeEach, expect, test } from "bun:test";
import { loadConfig } from "../lib/config/config.ts";
import { configuredModel } from "../lib/model/configured-model.ts";
import { indexMeta } from "../lib/naming/session-meta.ts";
import { metaFile, readMeta } from "../lib/sessions/meta.ts";
import { listSessions } from "../lib/sessions/sessions.ts";
import { chain, claudeAssistant, claudeUser } from "./support/claude.ts";
import { serverPerFile } from "./support/fake-openai.ts";
import { homePerTest, writeClaude } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";
import { startScript } from "./support/run.ts";

const fields = { name: "Fix the login test", description: "It failed.", summary: "Fixed.", tags: ["auth"] };
const answer = JSON.stringify(fields);
const ID = uuidFrom("named");

const server = serverPerFile({ replies: [answer] });
const home = homePerTest();

beforeEach(() => {
  home.configure({ llm: { baseUrl: server.baseUrl, apiKeyEnv: "KEY", model: "tiny" } });
  const turns = Array.from({ length: 5 }, (_, i) => [
    claudeUser({ text: `can you fix login test ${i}?`, sessionId: ID, cwd: home.project }),
    ...claudeAssistant({ text: `Answer ${i} about the login test.`, sessionId: ID }),
  ]);
  writeClaude(home, { id: ID, rows: chain(turns.flat()) });
});

test("a model that failed is not asked again after each turn, but when somebody asks for it", async () => {
  server.script("no JSON");
  const [listed] = listSessions(home.paths);
  if (!listed) throw new Error("no session");
  const config = await loadConfig(home.env, home.project);
  const minute = 60_000;
  const afterTurn = async (at: number) => {
    const complete = await configuredModel(config);
    return indexMeta(listed, { ...config, complete, rests: true, now: () => new Date(at) });
  };
  expect((await afterTurn(0)).status).toBe("failed");
  expect((await afterTurn(10 * minute)).status).toBe("not-due");
  expect(server.chats().length).toBe(3);
  expect((await afterTurn(31 * minute)).status).toBe("failed");
  expect(server.chats().length).toBe(6);
  server.script(answer);
  await home.ok("index-meta");
  const { meta } = readMeta(metaFile(home.paths, { id: ID, agent: "claude" }));
  expect([server.chats().length, meta?.model]).toEqual([7, "tiny"]);
});

test("a session that is named twice is listed once", async () => {
  const { sessions } = await home.json("index-meta", ID, ID.slice(0, 8), "--force");
  expect([sessions.length, server.chats().length]).toEqual([1, 1]);
});

test("two runs at once ask the model once", async () => {
  const start = () => startScript("index-meta", ["--json"], { env: home.env, cwd: home.project });
  const runs = await Promise.all([start(), start()]);
  const statuses = runs.map(({ stdout }) => JSON.parse(stdout).sessions[0].status).sort();
  expect([statuses, server.chats().length]).toEqual([["indexed", "not-due"], 1]);
}, 30_000);

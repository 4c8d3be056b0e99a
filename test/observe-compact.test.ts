import { expect, test } from "bun:test";
import { readBackoff } from "../lib/observe/ledger.ts";
import { claudeUser } from "./support/claude.ts";
import { startFakeOpenAI } from "./support/fake-openai.ts";
import { homePerTest, writeClaude } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";

const home = homePerTest({ OPENAI_API_KEY: "sk-none" });

test("a key in what the model's server answers is neither said nor kept", async () => {
  const server = await startFakeOpenAI();
  home.configure({ llm: { baseUrl: server.baseUrl, model: "fake" } });
  const id = uuidFrom("refused");
  writeClaude(home, { id, rows: [claudeUser({ text: "fix the login" })] });
  const message = `Incorrect API key provided: sk-proj-${"a1B2c3D4".repeat(6)}`;
  server.script({ kind: "status", status: 401, body: { error: { message } } });
  const reason =
    "Cannot ask the model: the server answered 401 Incorrect API key provided: [redacted:openai-token]";
  expect((await home.run("observe-compact", id, "--observe")).stderr).toBe(
    `failed: 0 observations in 0 steps\nerror: MODEL_FAILED: ${reason}\nhint: run it again later\n`,
  );
  expect(readBackoff(home.paths, id)).toMatchObject({ failures: 1, reason });
  await server.close();
});

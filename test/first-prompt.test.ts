/** The first prompt of a session: the host has not written its transcript when the hook runs. */

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { claudeFolder, temporaryHome, writeClaude } from "./support/home.ts";
import { secondsAgo, uuidFrom } from "./support/rows.ts";
import { runScript } from "./support/run.ts";

test("the prompt hook tells a session without a transcript yet what the others did", async () => {
  using home = temporaryHome();
  const context = { sessionId: uuidFrom("other"), cwd: home.project, at: secondsAgo(180) };
  const tools = [{ name: "Edit", input: { file_path: join(home.project, "deploy/compose.yml") } }];
  writeClaude(home, {
    id: context.sessionId,
    rows: [
      claudeUser({ ...context, text: "how do I deploy this?" }),
      claudeAssistant({ ...context, tools, text: "Deployed, the health check is green." }),
    ],
  });
  const current = uuidFrom("current");
  const transcript = join(home.paths.claude, "projects", claudeFolder(home.project), `${current}.jsonl`);
  const input = {
    session_id: current,
    transcript_path: transcript,
    cwd: home.project,
    hook_event_name: "UserPromptSubmit",
    prompt: "what is going on here?",
  };
  const { stdout, stderr, exitCode } = await runScript("hooks/claude/user-prompt-submit.ts", [], {
    env: home.env,
    cwd: home.project,
    stdin: JSON.stringify(input),
  });
  const failures = existsSync(home.paths.log) ? readFileSync(home.paths.log, "utf8") : "";
  expect(failures).not.toContain('"ok":false');
  expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  const { hookSpecificOutput } = JSON.parse(stdout);
  expect(hookSpecificOutput.hookEventName).toBe("UserPromptSubmit");
  expect(hookSpecificOutput.additionalContext).toContain("how do I deploy this?");
});

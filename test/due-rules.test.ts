/** Rules that hosts hear at the first prompt after a compaction at which they call no hook (what else is said when: golden/rules.txt). */

import { expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { homePerTest, write } from "./support/home.ts";
import { jsonl, uuidFrom } from "./support/rows.ts";
import { runScript } from "./support/run.ts";
import { lay } from "./support/world.ts";

setDefaultTimeout(30_000);

const home = homePerTest();

const RULE = "Never push without asking me.";

/** A session in which the rule was said, and its end. */
async function keepRule(): Promise<void> {
  const [id, cwd] = [uuidFrom("earlier"), home.project];
  const file = lay(home, `@claude ${id} 90000s ago\nUser: ${RULE}\nAssistant: Done.`);
  const args = ["--session", id, "--file", file, "--cwd", cwd];
  const done = await runScript("hooks/background.ts", args, { env: home.env, cwd });
  expect([done.stderr, done.exitCode]).toEqual(["", 0]);
}

/** What a hook says to the model. */
async function said(called: string, input: object): Promise<unknown> {
  const options = { env: home.env, cwd: home.root, stdin: JSON.stringify(input) };
  const { stdout, stderr, exitCode } = await runScript("hooks/event.ts", [called], options);
  expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  return JSON.parse(stdout || "{}").hookSpecificOutput?.additionalContext;
}

/** What a compaction adds to transcripts of hosts that call no hook at it. */
const COMPACTIONS = {
  copilot: [
    { type: "session.compaction_complete", data: { success: false, outcome: "cancelled" } },
    { type: "session.compaction_complete", data: { success: true, summaryContent: "All of it." } },
  ],
  gemini: [
    { $set: { lastUpdated: "2026-11-22T21:23:25.287Z" } },
    {
      $set: {
        messages: [{ type: "user", content: [{ text: "<state_snapshot>All of it.</state_snapshot>" }] }],
      },
    },
  ],
};

for (const [agent, [none, compaction]] of Object.entries(COMPACTIONS))
  test(`${agent} hears the rules at the first prompt after a compaction`, async () => {
    home.configure({ activity: { welcome: false } });
    await keepRule();
    const file = join(home.root, "present.jsonl");
    write(file, jsonl([{ type: "begin" }]));
    const hook_event_name = agent === "copilot" ? "UserPromptSubmit" : "BeforeAgent";
    const input = { hook_event_name, session_id: "present", transcript_path: file, cwd: home.project };
    const ask = () => said(agent, { ...input, prompt: "and now?" });
    await ask();
    for (const quiet of [none, { type: "tool", text: JSON.stringify(compaction) }]) {
      appendFileSync(file, jsonl([Object(quiet)]));
      expect(await ask()).toBeUndefined();
    }
    appendFileSync(file, jsonl([Object(compaction)]));
    expect(await ask()).toMatch(/^\[Standing Rules\] .*\n- "Never push without asking me\." \(.*\)$/);
    expect(await ask()).toBeUndefined();
  });

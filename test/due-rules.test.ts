/** Rules that wait for a prompt: what a person is told of those that were kept, and what a start or a compaction left out. */

import { expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { homePerTest, write, writeClaude } from "./support/home.ts";
import { jsonl, secondsAgo, uuidFrom } from "./support/rows.ts";
import { runScript } from "./support/run.ts";

setDefaultTimeout(30_000);

const home = homePerTest();

const RULE = "Never push without asking me.";
const KEPT = `kept for this project: "${RULE}" · session-memory rules`;

/** A session in which these were said. */
function talk(name: string, texts: readonly string[], cwd = home.project) {
  const id = uuidFrom(name);
  const rows = texts.flatMap((text, i) => [
    claudeUser({ sessionId: id, cwd, text, at: secondsAgo(90_000 - 2 * i) }),
    claudeAssistant({ sessionId: id, cwd, text: "Done.", at: secondsAgo(89_999 - 2 * i) }),
  ]);
  return { session_id: id, transcript_path: writeClaude(home, { id, cwd, rows }), cwd };
}

type Talk = ReturnType<typeof talk>;

/** Does what a turn's end, or with `--end` a session's, starts in the background. */
async function follow({ session_id, transcript_path, cwd }: Talk, ...flags: string[]): Promise<void> {
  const args = ["--session", session_id, "--file", transcript_path, "--cwd", cwd, ...flags];
  const done = await runScript("hooks/background.ts", args, { env: home.env, cwd });
  expect([done.stderr, done.exitCode]).toEqual(["", 0]);
}

/** What a hook says to the person and to the model. */
async function said(called: string, input: object, env = {}) {
  const options = { env: { ...home.env, ...env }, cwd: home.root, stdin: JSON.stringify(input) };
  const { stdout, stderr, exitCode } = await runScript("hooks/event.ts", [called], options);
  expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  const { systemMessage, hookSpecificOutput } = JSON.parse(stdout || "{}");
  return [systemMessage, hookSpecificOutput?.additionalContext];
}

const asks = (input: object, env = {}) => said("user-prompt-submit", { ...input, prompt: "and now?" }, env);
const starts = (input: object) => said("session-start", { ...input, source: "startup" });

test("a person is told of a rule that was kept: at the next prompt, once", async () => {
  home.configure({ activity: { daily: false } });
  const own = talk("own", [RULE, "and the tests?"]);
  await asks(own);
  await follow(own);
  expect(await asks({ ...own, session_id: uuidFrom("another") })).toEqual([undefined, undefined]);
  expect(await asks(own)).toEqual([KEPT, undefined]);
  await follow(own);
  expect(await asks(own)).toEqual([undefined, undefined]);
});

test("a person is told of it at the folder's next start where the session ended, and not of what was forgotten", async () => {
  home.configure({ activity: { daily: false, welcome: false } });
  const own = talk("own", [RULE]);
  await follow(own);
  await follow(own, "--end");
  const next = { ...own, session_id: uuidFrom("next"), transcript_path: join(home.root, "next.jsonl") };
  expect((await starts(next))[0]).toBe(KEPT);
  expect((await starts(next))[0]).toBeUndefined();
  const other = talk("other", ["Never deploy on Fridays."]);
  await follow(other, "--end");
  await home.ok("forget", other.session_id, "--yes");
  expect((await starts(next))[0]).toBeUndefined();
});

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
    await follow(talk("earlier", [RULE]));
    const file = join(home.root, "present.jsonl");
    write(file, jsonl([{ type: "begin" }]));
    const hook_event_name = agent === "copilot" ? "UserPromptSubmit" : "BeforeAgent";
    const input = { hook_event_name, session_id: "present", transcript_path: file, cwd: home.project };
    const ask = async () => (await said(agent, { ...input, prompt: "and now?" }))[1];
    await ask();
    for (const quiet of [none, { type: "tool", text: JSON.stringify(compaction) }]) {
      appendFileSync(file, jsonl([Object(quiet)]));
      expect(await ask()).toBeUndefined();
    }
    appendFileSync(file, jsonl([Object(compaction)]));
    expect(await ask()).toMatch(/^\[Standing Rules\] .*\n- "Never push without asking me\." \(.*\)$/);
    expect(await ask()).toBeUndefined();
  });

test("a new folder that names a project's origin hears nothing at its start or a compaction, and all of it with the first typed prompt", async () => {
  home.configure({ activity: { daily: false, digest: false } });
  const repository = (folder: string) => {
    mkdirSync(join(folder, ".git"), { recursive: true });
    writeFileSync(join(folder, ".git", "HEAD"), "ref: refs/heads/main\n");
    writeFileSync(
      join(folder, ".git", "config"),
      '[remote "origin"]\n\turl = git@example.org:acme/shop.git\n',
    );
    return folder;
  };
  await follow(talk("earlier", [RULE], repository(home.project)));
  const at = (cwd: string, name = "present") => {
    const session_id = uuidFrom(name);
    return { cwd, session_id, transcript_path: join(home.root, `${session_id}.jsonl`) };
  };
  const [, known] = await starts(at(home.project, "known"));
  expect(known).toContain("the last session in this project was");
  expect(known).toContain(RULE);
  const clone = at(repository(join(home.root, "clone")));
  for (const source of ["startup", "compact"])
    expect(await said("session-start", { ...clone, source })).toEqual([undefined, undefined]);
  expect(await asks(clone, { CLAUDE_CODE_ENTRYPOINT: "sdk-cli" })).toEqual([undefined, undefined]);
  expect(await asks(clone, { CLAUDE_CODE_ENTRYPOINT: "cli" })).toEqual([undefined, known]);
  expect(await asks(clone)).toEqual([undefined, undefined]);
  await follow(talk("in the clone", ["hello there"], clone.cwd));
  expect((await starts(at(clone.cwd, "later")))[1]).toContain(RULE);
  const other = repository(join(home.root, "other"));
  const resumed = at(other, "resumed");
  const row = claudeUser({ sessionId: resumed.session_id, cwd: other, text: "hi", at: secondsAgo(99_999) });
  resumed.transcript_path = writeClaude(home, { id: resumed.session_id, cwd: other, rows: [row] });
  const goesOn = { ...resumed, source: "resume" };
  expect(await said("session-start", goesOn)).toEqual([undefined, undefined]);
  // a folder that was moved is the one in which sessions ran
  const moved = join(home.root, "moved");
  renameSync(home.project, moved);
  expect((await starts(at(moved, "moved")))[1]).toContain(RULE);
  expect(readFileSync(home.paths.log, "utf8")).not.toContain('"ok":false');
});

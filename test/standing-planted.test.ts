/** Ten rules and as many look-alikes, planted in a project's sessions: what of them the next session hears. */

import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { type ClaudeContext, claudeAssistant, claudeUser } from "./support/claude.ts";
import { homePerTest, writeClaude } from "./support/home.ts";
import { type Row, uuidFrom } from "./support/rows.ts";

setDefaultTimeout(60_000);

const home = homePerTest();

/** Said in so many words, which needs no model. */
const LITERAL = [
  "Next time you change the schema, show me the migration before you run it.",
  "From now on, answer me in German.",
  "Never commit without asking me first.",
  "Always use pnpm, npm breaks our lockfile.",
  "stop rewriting whole files, make small edits",
];
/** What only a model understands as laid down. */
const MEANT = [
  "can't you run the tests before you tell me that it's done? second time now",
  "I told you already: no emojis in commit messages.",
  "why do you keep adding docstrings to private helpers?",
  "I do the releases myself, you only prepare the changelog.",
  "we write tests as tables in this repo, please stick to that",
];
const LOOK_ALIKES = [
  'Their page says "Always squash your commits before you push." Is that common?',
  "don't commit this time, I want to look at the diff first",
  "The other team's guideline:\n- Always run the linter before you commit\n- Never push on Fridays\n- Always ask for a review\nWould that fit our hook?",
  "So from now on every commit links to its chat?",
  "invalid themes must never crash the app",
  "Always return null when the session is missing.",
];
const REWOUND = "From now on never use mocks in tests.";
const OF_OTHERS = {
  project: "Never push without tests.",
  subagent: "Never edit generated files.",
  program: "Always run the linter before you commit.",
};
const ANSWER = "From now on I always ask before I commit.";

function talk(context: ClaudeContext, texts: readonly string[], { extra = {}, day = 4 } = {}): Row[] {
  return texts.flatMap((text, i) => {
    const at = (minute: number) => new Date(Date.UTC(2026, 2, day, 9, 2 * i + minute)).toISOString();
    return [
      claudeUser({ ...context, text, at: at(0), extra }),
      claudeAssistant({ ...context, text: ANSWER, at: at(1) }),
    ].flat();
  });
}

async function observe(id: string): Promise<void> {
  await home.ok("observe-compact", id, "--observe", "--quiet");
}

/** Writes a session and has it observed. */
async function plant(
  name: string,
  texts: readonly string[],
  { cwd = home.project, extra = {}, day = 4 } = {},
): Promise<string> {
  const id = uuidFrom(name);
  writeClaude(home, { id, cwd, rows: talk({ sessionId: id, cwd }, texts, { extra, day }) });
  await observe(id);
  return id;
}

async function plantRewound(): Promise<void> {
  const id = uuidFrom("rewound");
  const context = { sessionId: id, cwd: home.project };
  const row = (name: string, parentUuid: string | null) => ({
    ...context,
    uuid: uuidFrom(name),
    parentUuid: parentUuid === null ? null : uuidFrom(parentUuid),
  });
  const rows = [
    claudeUser({ ...row("1", null), text: "fix the login test" }),
    claudeAssistant({ ...row("2", "1"), text: "Done." }),
    claudeUser({ ...row("3", "2"), text: REWOUND }),
    claudeAssistant({ ...row("4", "3"), text: "Fine." }),
    claudeUser({ ...row("5", "2"), text: "now the logout test" }),
    claudeAssistant({ ...row("6", "5"), text: "Done." }),
  ].flat();
  writeClaude(home, { id, rows });
  await observe(id);
}

async function plantAll(): Promise<void> {
  const parent = await plant("rules", [...LITERAL, ...MEANT]);
  await plant("look-alikes", LOOK_ALIKES);
  await plantRewound();
  await plant("elsewhere", [OF_OTHERS.project], { cwd: join(home.root, "elsewhere") });
  await plant("program", [OF_OTHERS.program], { extra: { entrypoint: "sdk-cli" } });
  const agent = "a1b2c3d4e5f60718";
  const rows = talk({ sessionId: parent, cwd: home.project }, [OF_OTHERS.subagent]);
  writeClaude(home, { id: agent, parentId: parent, rows });
  await observe(`agent-${agent}`);
}

test("without a model those that were said in so many words hold, and none of the others", async () => {
  await plantAll();
  const { rules } = JSON.parse(await home.ok("rules", "--project", ".", "--json"));
  const held = rules.filter(({ holds }: { holds: boolean }) => holds);
  expect(held.map(({ words }: { words: string }) => words).toSorted()).toEqual(LITERAL.toSorted());
});

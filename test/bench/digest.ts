/** What the prompt hook costs the user's prompt, against starting Bun for nothing: 3,000 sessions of three hosts. */

import { appendFileSync, utimesSync } from "node:fs";
import { claudeAssistant, claudeUser } from "../support/claude.ts";
import { codexAnswer, codexMeta, codexPrompt } from "../support/codex.ts";
import { type TemporaryHome, temporaryHome, writeClaude, writeCodex, writePi } from "../support/home.ts";
import { piAssistant, piHeader, piLinked, piUser } from "../support/pi.ts";
import { type Random, seeded } from "../support/random.ts";
import { jsonl, secondsAgo, uuidFrom } from "../support/rows.ts";
import { scriptPath, starting } from "../support/run.ts";
import { sentence } from "./corpus.ts";
import { atMost, type BenchRow, bun, emptyScript, interleaved, timeProcess, times } from "./measure.ts";

const HOOK = "user-prompt-submit";
const SESSIONS = 3000;
const IN_PROJECT = 300;

export async function rows(): Promise<BenchRow[]> {
  using home = temporaryHome();
  const [currentFile = "", ...inProject] = writeSessions(home);
  const empty = emptyScript(home.root);
  const input = {
    session_id: uuidFrom("bench 0"),
    transcript_path: currentFile,
    cwd: home.project,
    hook_event_name: "UserPromptSubmit",
    prompt: "and now write the release notes",
  };
  const options = { env: home.env, cwd: home.project, stdin: JSON.stringify(input) };
  const command = starting(HOOK);
  const hook = async (isNews: boolean) => {
    const { ms, stdout } = await timeProcess(command, options);
    const told = stdout.includes("[Session Activity]");
    if (told !== isNews) throw new Error(`Expected ${isNews ? "news" : "silence"} but found "${stdout}"`);
    return ms;
  };
  /** Against an empty start, after these files have gone on. */
  const measured = (isNews: boolean, grown: readonly string[]) =>
    interleaved(
      {
        hook: () => {
          for (const file of grown) appendNews(file, home.project);
          return hook(isNews);
        },
        empty: async () => (await timeProcess(bun(empty), options)).ms,
      },
      21,
    );

  await timeProcess(command, options); // sets the cursors
  const { starter, direct } = await interleaved(
    {
      starter: () => hook(false),
      direct: async () => (await timeProcess(bun(scriptPath("hooks/event.ts"), HOOK), options)).ms,
    },
    21,
  );
  const silent = await measured(false, []);
  const own = await measured(false, [currentFile]); // as between any two prompts of a real session
  const news = await measured(true, inProject.filter((_, index) => index % 50 === 4).slice(0, 5));
  return [
    atMost("prompt hook through the starter / on Bun directly", starter / direct, 1.3, {
      detail: times(starter, direct),
    }),
    ...silentRows("prompt hook, nothing new, 300 of 3,000 sessions / empty Bun", silent),
    ...silentRows("  the same, its own session has gone on", own),
    atMost("prompt hook, news in 5 sessions / empty Bun", news.hook / news.empty, 5, {
      detail: times(news.hook, news.empty),
    }),
  ];
}

/** The bar of a silent prompt is absolute and relative: either alone hides a slow machine or a slow runtime. */
function silentRows(figure: string, { hook, empty }: { hook: number; empty: number }): BenchRow[] {
  return [
    atMost(figure, hook / empty, 5, { detail: times(hook, empty) }),
    atMost("  the same, absolute", hook, 35, { unit: "ms" }),
  ];
}

/**
 * Writes the sessions, a tenth of them of the last half hour and the rest of the last month. Returns the files of those
 * in the home's project.
 */
function writeSessions(home: TemporaryHome): string[] {
  const random = seeded(7);
  const files = Array.from({ length: SESSIONS }, (_, number) => {
    const cwd = number < IN_PROJECT ? home.project : `${home.root}/other-${number % 90}`;
    const file = writeSession(home, { number, cwd, random });
    const age = number % 10 === 0 ? 60 + (number % 1700) : 7200 + ((number * 977) % 2_500_000);
    const time = Date.now() / 1000 - age;
    utimesSync(file, time, time);
    return file;
  });
  return files.slice(0, IN_PROJECT);
}

function writeSession(
  home: TemporaryHome,
  { number, cwd, random }: { number: number; cwd: string; random: Random },
): string {
  const id = uuidFrom(`bench ${number}`);
  const at = secondsAgo(3 * 3600);
  const [prompt, answer] = [sentence(random, 12), sentence(random, 30)];
  if (number % 6 === 5) {
    const rows = piLinked([
      piHeader({ id, cwd, at }),
      piUser({ text: prompt, at }),
      piAssistant({ text: answer, at }),
    ]);
    return writePi(home, { id, cwd, at, rows });
  }
  if (number % 15 === 7) {
    const rows = [
      codexMeta({ id, cwd, at }),
      codexPrompt({ text: prompt, at }),
      codexAnswer({ text: answer, at }),
    ];
    return writeCodex(home, { id, cwd, at, rows });
  }
  const common = { sessionId: id, cwd, at };
  return writeClaude(home, {
    id,
    cwd,
    rows: [claudeUser({ ...common, text: prompt }), claudeAssistant({ ...common, text: answer })],
  });
}

/** Appends a prompt, an edit and an answer of just now. */
function appendNews(file: string, cwd: string): void {
  const at = new Date().toISOString();
  const [text, answer] = ["the deploy is red again, look at the health check", "It is green."];
  const tools = [{ name: "Edit", input: { file_path: `${cwd}/deploy/compose.yml` } }];
  const rows = file.includes("/rollout-")
    ? [codexPrompt({ text, at }), codexAnswer({ text: answer, at })]
    : file.includes("/.pi/")
      ? [piUser({ text, at }), piAssistant({ text: answer, at })]
      : [claudeUser({ cwd, at, text }), claudeAssistant({ cwd, at, tools, text: answer })];
  appendFileSync(file, jsonl(...rows));
}

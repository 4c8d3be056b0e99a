/**
 * What the prompt hook costs the user's prompt, against starting Bun for nothing: 3,000 sessions of three hosts; and what a prompt
 * and a search notice of an index of 20,000 that is made again in the background.
 */

import { appendFileSync, rmSync, utimesSync } from "node:fs";
import { dirname } from "node:path";
import { claudeAssistant, claudeUser } from "../support/claude.ts";
import { codexAnswer, codexMeta, codexPrompt } from "../support/codex.ts";
import { type TemporaryHome, temporaryHome, writeClaude, writeCodex, writePi } from "../support/home.ts";
import { piAssistant, piHeader, piLinked, piUser } from "../support/pi.ts";
import { type Random, seeded } from "../support/random.ts";
import { jsonl, secondsAgo, uuidFrom } from "../support/rows.ts";
import { scriptPath, starting } from "../support/run.ts";
import { sentence, sessionText } from "./corpus.ts";
import {
  atLeast,
  atMost,
  type BenchRow,
  bun,
  emptyScript,
  interleaved,
  median,
  timeProcess,
  times,
} from "./measure.ts";

const HOOK = "user-prompt-submit";
const SESSIONS = 3000;
const IN_PROJECT = 300;
const REBUILT = 20_000;

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
  let number = 0;
  /** Submits a prompt in the current session, or in another one that has no transcript yet. */
  const hook = async (isNews: boolean, session?: string) => {
    const other = session && {
      session_id: session,
      transcript_path: `${dirname(currentFile)}/${session}.jsonl`,
    };
    const stdin = JSON.stringify({ ...input, ...other });
    const { ms, stdout } = await timeProcess(command, { ...options, stdin });
    const told = stdout.includes("[Session Activity]");
    if (told !== isNews) throw new Error(`Expected ${isNews ? "news" : "silence"} but found "${stdout}"`);
    return ms;
  };
  /** Against an empty start, after these files have gone on. */
  const measured = (
    isNews: boolean,
    grown: readonly string[],
    session = (): string | undefined => undefined,
  ) =>
    interleaved(
      {
        hook: () => {
          for (const file of grown) appendNews(file, home.project);
          return hook(isNews, session());
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
  const busy = writeBusySessions(home);
  await timeProcess(bun(scriptPath("index-meta"), "--all", "--quiet"), options); // as turns leave them
  const first = await measured(true, [], () => uuidFrom(`first ${number++}`));
  await hook(true); // it has not seen the busy ones
  const fresh = await measured(true, busy);
  return [
    atMost("prompt hook through the starter / on Bun directly", starter / direct, 1.3, {
      detail: times(starter, direct),
    }),
    ...silentRows("prompt hook, nothing new, 300 of 3,000 sessions / empty Bun", silent),
    ...silentRows("  the same, its own session has gone on", own),
    atMost("prompt hook, news in 5 sessions / empty Bun", news.hook / news.empty, 5, {
      detail: times(news.hook, news.empty),
    }),
    atMost("  22 fresh sessions of the project", fresh.hook / fresh.empty, 2, {
      detail: times(fresh.hook, fresh.empty),
    }),
    atMost("  first prompt of a session beside them", first.hook / first.empty, 4, {
      detail: times(first.hook, first.empty),
    }),
    ...(await rebuildRows(home, { currentFile, hook: () => hook(false) })),
  ];
}

const PROMPTS = 100;
const SEARCHES = 5;

/** Prompts and searches while an index is made again, and prompts while that stands still, in turns. */
async function rebuildRows(
  home: TemporaryHome,
  { currentFile, hook }: { currentFile: string; hook: () => Promise<number> },
): Promise<BenchRow[]> {
  writeSessions(home, SESSIONS, REBUILT);
  const options = { env: home.env, cwd: home.project };
  await timeProcess(bun(scriptPath("index-meta"), "--all", "--quiet"), options);
  const begin = bun(
    scriptPath("hooks/background.ts"),
    "--begin",
    "--file",
    currentFile,
    "--cwd",
    home.project,
  );
  const rebuild = () => {
    for (const part of ["", "-wal", "-shm"]) rmSync(home.paths.database + part, { force: true });
    return Bun.spawn(begin, { ...options, stdout: "ignore", stderr: "inherit" });
  };
  const answered: number[] = [];
  for (let i = 0; i < SEARCHES; i++) {
    const child = rebuild();
    const { ms, stdout } = await timeProcess(
      bun(scriptPath("search"), "is the deploy red", "--json"),
      options,
    );
    if (JSON.parse(stdout).results.length > 0) answered.push(ms);
    child.kill();
    await child.exited;
  }
  const child = rebuild();
  const [alone, beside]: [number[], number[]] = [[], []];
  for (let i = 0; i < PROMPTS; i++) {
    child.kill("SIGSTOP");
    alone.push(await hook());
    child.kill("SIGCONT");
    beside.push(await hook());
    if (child.exitCode !== null) throw new Error("Expected the index to take longer than the prompts");
  }
  child.kill();
  await child.exited;
  const [without, during] = [alone, beside].map(ninetyFifth) as [number, number];
  return [
    atMost("prompt hook beside 20,000 sessions indexed anew, p95 / without", during / without, 1.5, {
      detail: times(during, without),
    }),
    atLeast("  searches in its first second that answer", (100 * answered.length) / SEARCHES, 100, {
      detail: `${median(answered).toFixed(0)} ms`,
    }),
  ];
}

function ninetyFifth(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1] ?? Number.NaN;
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
function writeSessions(home: TemporaryHome, from = 0, to = SESSIONS): string[] {
  const random = seeded(7 + from);
  const files = Array.from({ length: to - from }, (_, i) => {
    const number = from + i;
    const cwd = number < IN_PROJECT ? home.project : `${home.root}/other-${number % 90}`;
    const file = writeSession(home, { number, cwd, random });
    const age = number % 10 === 0 ? 60 + (number % 1700) : 7200 + ((number * 977) % 2_500_000);
    const time = Date.now() / 1000 - age;
    utimesSync(file, time, time);
    return file;
  });
  return files.slice(0, IN_PROJECT);
}

const BUSY = 22;

/** Writes sessions of 200 KB to 2 MB that have gone on in the project for eight hours, up to a few minutes ago; returns their files. */
function writeBusySessions(home: TemporaryHome): string[] {
  const random = seeded(22);
  return Array.from({ length: BUSY }, (_, i) => {
    const id = uuidFrom(`busy ${i}`);
    const bytes = 200_000 + Math.round((1_800_000 * i) / (BUSY - 1));
    const lines = sessionText(random, { number: SESSIONS + i, rows: bytes / 2000, bytes })
      .trim()
      .split("\n");
    const rows = lines.map((line, at) => ({
      ...JSON.parse(line),
      sessionId: id,
      cwd: home.project,
      timestamp: secondsAgo(60 * (1 + i / 4) + ((lines.length - 1 - at) * 8 * 3600) / lines.length),
    }));
    return writeClaude(home, { id, rows });
  });
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

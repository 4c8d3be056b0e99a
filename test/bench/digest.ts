/** What the prompt hook costs the user's prompt, against starting Bun for nothing. */

import { existsSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { META_SCHEMA_VERSION, metaFile, RULES, type SessionMeta } from "../../lib/sessions/meta.ts";
import { type TemporaryHome, temporaryHome, write } from "../support/home.ts";
import { uuidFrom } from "../support/rows.ts";
import { scriptPath, starting } from "../support/run.ts";
import { atMost, type BenchRow, bun, emptyScript, interleaved, timeProcess, times } from "./measure.ts";
import { appendNews, fieldSessions, writeSessionField } from "./transcripts.ts";

/** The session that a prompt refers to. */
const MENTIONED = 1232;
const HOOK = scriptPath("hooks/claude/user-prompt-submit.ts");

export async function rows(): Promise<BenchRow[]> {
  if (!existsSync(HOOK)) throw new Error(`Expected the prompt hook at "${HOOK}"`);
  using home = temporaryHome();
  const { current, currentFile, inProject } = writeSessionField(home);
  const empty = emptyScript(home.root);
  const input = {
    session_id: current,
    transcript_path: currentFile,
    cwd: home.project,
    hook_event_name: "UserPromptSubmit",
    prompt: "and now write the release notes",
  };
  const options = { env: home.env, cwd: home.project, stdin: JSON.stringify(input) };
  const hook = async (isNews: boolean, command = starting(HOOK)) => {
    const { ms, stdout } = await timeProcess(command, options);
    const told = stdout.includes("[Session Activity]");
    if (told !== isNews) throw new Error(`Expected ${isNews ? "news" : "silence"} but found "${stdout}"`);
    return ms;
  };
  const baseline = async () => (await timeProcess(bun(empty), options)).ms;

  await timeProcess(starting(HOOK), options); // sets the cursors
  const direct = () => hook(false, bun(HOOK));
  const silent = await interleaved({ hook: () => hook(false), direct, empty: baseline }, 21);
  const own = await interleaved(
    {
      hook: () => {
        appendNews(currentFile, home.project); // as between any two prompts of a real session
        return hook(false);
      },
      empty: baseline,
    },
    21,
  );

  writeMetaFiles(home);
  const reference = async (written: string) => {
    const stdin = JSON.stringify({ ...input, prompt: `as in ${written} we did` });
    const { ms, stdout } = await timeProcess(starting(HOOK), { ...options, stdin });
    if (!stdout.includes(`topic ${MENTIONED}`))
      throw new Error(`Expected what is known of ${written} but found "${stdout}"`);
    return ms;
  };
  const mentioned = await interleaved(
    {
      name: () => reference(`@@"topic ${MENTIONED}"`),
      id: () => reference(`@@${uuidFrom(`bench ${MENTIONED}`).slice(0, 8)}`),
      empty: baseline,
    },
    21,
  );

  const fresh = inProject.filter((_, index) => index % 50 === 4).slice(0, 5);
  const withNews = () => {
    for (const file of fresh) appendNews(file, home.project);
    return hook(true);
  };
  const news = await interleaved({ hook: withNews, empty: baseline }, 21);
  return [
    ...silentRows("prompt hook, nothing new, 300 of 3,000 sessions / empty Bun", silent),
    ...silentRows("  the same, its own session has gone on", own),
    atMost("prompt hook through the starter / on Bun directly", silent.hook / silent.direct, 1.3, {
      detail: times(silent.hook, silent.direct),
    }),
    atMost("prompt hook, @@name among 3,000 meta files / empty Bun", mentioned.name / mentioned.empty, 8, {
      detail: times(mentioned.name, mentioned.empty),
    }),
    atMost("  the same, @@id-prefix", mentioned.id / mentioned.empty, 8, {
      detail: times(mentioned.id, mentioned.empty),
    }),
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

/** A meta file for each session of the field, long settled. */
function writeMetaFiles(home: TemporaryHome): void {
  const folders = new Set<string>();
  for (const { number, id, agent } of fieldSessions()) {
    const at = new Date().toISOString();
    const meta: SessionMeta = {
      schemaVersion: META_SCHEMA_VERSION,
      sessionId: id,
      sessionFile: join(home.root, `${id}.jsonl`),
      name: `topic ${number}`,
      description: "What it was about. ".repeat(5),
      summary: "What was done, and what came of it. ".repeat(12),
      tags: ["deploy", "staging"],
      cwd: home.project,
      createdAt: at,
      updatedAt: at,
      model: RULES,
      lastIndexedLeafId: "line:2",
    };
    const file = metaFile(home.paths, { id, agent });
    folders.add(dirname(file));
    write(file, JSON.stringify(meta, null, 2));
  }
  const earlier = Date.now() / 1000 - 60;
  for (const folder of folders) utimesSync(folder, earlier, earlier);
}

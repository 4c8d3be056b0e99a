/** What the prompt hook costs the user's prompt, against starting Bun for nothing. */

import { existsSync } from "node:fs";
import { temporaryHome } from "../support/home.ts";
import { scriptPath } from "../support/run.ts";
import { atMost, type BenchRow, bun, emptyScript, interleaved, timeProcess, times } from "./measure.ts";
import { appendNews, writeSessionField } from "./transcripts.ts";

const HOOK = scriptPath("hooks/claude/user-prompt-submit.ts");

export async function rows(): Promise<BenchRow[]> {
  if (!existsSync(HOOK)) throw new Error(`Expected the prompt hook at "${HOOK}"`);
  using home = temporaryHome();
  const { current, currentFile, inProject } = writeSessionField(home);
  const empty = emptyScript(home.root);
  const stdin = JSON.stringify({
    session_id: current,
    transcript_path: currentFile,
    cwd: home.project,
    hook_event_name: "UserPromptSubmit",
    prompt: "and now write the release notes",
  });
  const options = { env: home.env, cwd: home.project, stdin };
  const hook = async (isNews: boolean) => {
    const { ms, stdout } = await timeProcess(bun(HOOK), options);
    const told = stdout.includes("[Session Activity]");
    if (told !== isNews) throw new Error(`Expected ${isNews ? "news" : "silence"} but found "${stdout}"`);
    return ms;
  };
  const baseline = async () => (await timeProcess(bun(empty), options)).ms;

  await timeProcess(bun(HOOK), options); // the first look sets the cursors
  const silent = await interleaved({ hook: () => hook(false), empty: baseline }, 21);
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

  const fresh = inProject.filter((_, index) => index % 50 === 4).slice(0, 5);
  const withNews = () => {
    for (const file of fresh) appendNews(file, home.project);
    return hook(true);
  };
  const news = await interleaved({ hook: withNews, empty: baseline }, 21);
  return [
    atMost("prompt hook, nothing new, 300 of 3,000 sessions / empty Bun", silent.hook / silent.empty, 3, {
      detail: times(silent.hook, silent.empty),
    }),
    atMost("  the same, its own session has gone on", own.hook / own.empty, 3, {
      detail: times(own.hook, own.empty),
    }),
    atMost("prompt hook, news in 5 sessions / empty Bun", news.hook / news.empty, 5, {
      detail: times(news.hook, news.empty),
    }),
  ];
}

/** Runs scripts of ours over the sessions there are, up to a first answer. */

import { ownCommand } from "../base/runtime.ts";
import { quoted } from "../base/text.ts";
import { countKnown } from "../index/known-sessions.ts";
import { suggestQuestions } from "../naming/own-questions.ts";
import { formatList, type Start, type Work } from "./step.ts";

/** The characters of the first answer: a part of a screen. */
const ANSWER_CHARS = "1200";

/** Runs two scripts of ours, whose progress goes to stderr; without a session nothing is to be named. */
export async function indexAndName(work: Work): Promise<void> {
  const run = async (name: string) => {
    if ((await startOwn(work, [name], "ignore")).status !== 0) process.exitCode = 1;
  };
  await run("embed");
  work.report.sessions = countKnown(work.config.paths, "").count;
  if (work.report.sessions > 0) await run("index-meta");
}

/** Answers a question of the user's own, and shows how to ask it. */
export async function answerOwnQuestion(work: Work): Promise<void> {
  const { config, cwd, report, say, values } = work;
  report.questions = await suggestQuestions(config, cwd);
  const [first] = report.questions;
  if (first === undefined || values.json) return;
  const commands = report.questions.map((question) => `session-memory search ${quoted(question)}`);
  say(...formatList("Questions of your own history:", commands), "", "The first one's answer:");
  await startOwn(work, ["search", "--limit", "1", "--max-chars", ANSWER_CHARS, "--quiet", first], "inherit");
}

/** Runs a script of ours on the same sessions. */
function startOwn(
  { start, values: { sessions = [], quiet } }: Work,
  [name = "", ...words]: readonly string[],
  stdout: "ignore" | "inherit",
): ReturnType<Start> {
  const flags = [...sessions.flatMap((path) => ["--sessions", path]), ...(quiet ? ["--quiet"] : [])];
  return start([...ownCommand(name), ...words, ...flags], { stdout });
}

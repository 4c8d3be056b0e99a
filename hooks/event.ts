/**
 * An event of a host that calls us by hooks, on stdin in the host's form, which is Claude Code's but for what the table of hosts
 * says: `session-memory <event>` in Claude Code and Codex, whose plugin names it, and `session-memory event <agent>` in a host
 * whose settings set-up wrote our hooks into. Always exits 0.
 *
 * Runs before every prompt: without news it loads little more than lib/activity/look.ts.
 */

import { type JsonRecord, stringOf } from "../lib/base/json.ts";
import type { HostFile, Moment } from "../lib/hosts/host.ts";
import { findLine } from "../lib/hosts/table.ts";
import type { Answer, Asked } from "./asked.ts";
import { type HookCall, printAnswer, readAsked, readCommand, readPrompt, runHook } from "./hook.ts";
import { answerMoment } from "./moments.ts";

type Moments = Moment | Readonly<Record<string, Moment>>;

/** The events of Claude Code and Codex: their names, and the moment of each, by its source where it is several. */
const EVENTS: Readonly<Record<string, { name: string; moment: Moments }>> = {
  "session-start": {
    name: "SessionStart",
    moment: { startup: "start", clear: "start", compact: "compaction" },
  },
  "user-prompt-submit": { name: "UserPromptSubmit", moment: "prompt" },
  "post-tool-use-failure": { name: "PostToolUseFailure", moment: "failure" },
  "pre-compact": { name: "PreCompact", moment: "summary" },
  stop: { name: "Stop", moment: "turn" },
  "session-end": { name: "SessionEnd", moment: "end" },
};

const [, , called = ""] = process.argv;
const own = EVENTS[called];
const line = findLine(called);

async function answer(call: HookCall): Promise<void> {
  const { input } = call;
  const { host } = (await line?.load()) ?? {};
  const written = host?.hooks?.written;
  if (!own && !written) throw new Error("Cannot answer: expected a host that has such hooks");
  const name = stringOf(input.hook_event_name) ?? own?.name ?? "";
  const moments: Moments | undefined = (own ?? written?.events[name])?.moment;
  const named = typeof moments === "object" ? moments[stringOf(input.source) ?? ""] : moments;
  // one that is resumed or forked was told before
  const moment = named ?? (own && "resume");
  if (!moment) return;
  const asked = readAsked(call, line?.agent);
  const about = host ? readAbout(moment, input, host) : await readOwn(moment, input, asked);
  if (!about) return;
  // no more than the line, since it becomes part of the summariser's prompt, is shown to the user and is stored
  const plain = ({ text }: Answer) => text;
  const form = own && moment === "summary" ? plain : hookForm(name, written?.saysAtTop);
  await printAnswer(await answerMoment(moment, { ...asked, ...about }), form);
}

/** Reads what an event of a host is about; undefined if it does not concern us. */
function readAbout(
  moment: Moment,
  input: JsonRecord,
  { typedPrompt, failedOutput }: HostFile,
): Partial<Asked> | undefined {
  if (moment === "prompt") {
    const text = stringOf(input.prompt) ?? "";
    // some tell of an empty one after each answer of a tool, or of a subagent's task
    if (text.trim() === "" || input.agent_id !== undefined) return undefined;
    return { text: text.includes("@@") ? (typedPrompt?.(text) ?? text) : text };
  }
  if (moment !== "failure") return {};
  const failed = readCommand(input);
  const output = failedOutput ? failedOutput(input) : stringOf(input.error);
  return failed && output !== undefined ? { failure: { ...failed, output } } : undefined;
}

/** The same in Claude Code and Codex. */
async function readOwn(
  moment: Moment,
  input: JsonRecord,
  { env, session }: Asked,
): Promise<Partial<Asked> | undefined> {
  if (moment === "prompt") {
    const isTyped = async () => {
      const { STARTED_BY_PROGRAM } = await import("../lib/hosts/claude.ts");
      return !STARTED_BY_PROGRAM.test(env.CLAUDE_CODE_ENTRYPOINT ?? "");
    };
    const text = readPrompt(input);
    return text === undefined ? undefined : { text, isTyped };
  }
  if (moment === "failure") {
    const failure = (await import("./prompt-answer.ts")).readFailure(input);
    return failure && { failure };
  }
  if (session.file === undefined)
    throw new Error("Cannot find the transcript: the input has no transcript_path");
  return { isStarted: input.source === "startup", isCleared: input.reason === "clear" };
}

/** Returns an answer in Claude Code's form; some hosts want the words for the model beside it as well. */
function hookForm(hookEventName: string, isAtTop = false) {
  return ({ text, toPerson }: Answer) => ({
    systemMessage: toPerson,
    additionalContext: isAtTop ? text : undefined,
    hookSpecificOutput: text && { hookEventName, additionalContext: text },
  });
}

await runHook(own ? called : "event", answer, { host: line?.agent });

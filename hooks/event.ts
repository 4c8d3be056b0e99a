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
const EVENTS: Readonly<Record<string, [name: string, moment: Moments]>> = {
  // one that is resumed or forked was told before
  "session-start": ["SessionStart", { startup: "start", clear: "start", compact: "compaction" }],
  "user-prompt-submit": ["UserPromptSubmit", "prompt"],
  "post-tool-use-failure": ["PostToolUseFailure", "failure"],
  "pre-compact": ["PreCompact", "summary"],
  stop: ["Stop", "turn"],
  "session-end": ["SessionEnd", "end"],
};

type Read = (input: JsonRecord, asked: Asked, host: HostFile) => Promise<Partial<Asked> | undefined>;

/** Reads what a moment is about; undefined if it does not concern us. */
const READ: Partial<Record<Moment, Read>> = {
  async prompt({ prompt, agent_id }, _, { typedPrompt }) {
    const text = stringOf(prompt) ?? "";
    // some tell of an empty one after each answer of a tool, or of a subagent's task
    if (text.trim() === "" || agent_id !== undefined) return undefined;
    return { text: text.includes("@@") ? (typedPrompt?.(text) ?? text) : text };
  },

  async failure(input, _, { failedOutput }) {
    const failed = readCommand(input);
    const output = failedOutput ? failedOutput(input) : stringOf(input.error);
    return failed && output !== undefined ? { failure: { ...failed, output } } : undefined;
  },
};

/** The same in Claude Code and Codex. */
const READ_OWN: Partial<Record<Moment, (input: JsonRecord, asked: Asked) => ReturnType<Read>>> = {
  async prompt(input, { env }) {
    const isTyped = async () => {
      const { STARTED_BY_PROGRAM } = await import("../lib/hosts/claude.ts");
      return !STARTED_BY_PROGRAM.test(env.CLAUDE_CODE_ENTRYPOINT ?? "");
    };
    const text = readPrompt(input);
    return text === undefined ? undefined : { text, isTyped };
  },

  async failure(input) {
    const failure = (await import("./prompt-answer.ts")).readFailure(input);
    return failure && { failure };
  },
};

async function answerOwn(call: HookCall, [name, moments]: [string, Moments]): Promise<void> {
  const { input } = call;
  const moment = momentOf(moments, input) ?? "resume";
  const read = READ_OWN[moment];
  if (!read && stringOf(input.transcript_path) === undefined)
    throw new Error("Cannot find the transcript: the input has no transcript_path");
  const asked = readAsked(call);
  const about = await read?.(input, asked);
  if (read && !about) return;
  const how = { isStarted: input.source === "startup", isCleared: input.reason === "clear" };
  const answer = await answerMoment(moment, { ...asked, ...how, ...about });
  // no more than the line, since it becomes part of the summariser's prompt, is shown to the user and is stored
  const form = ({ text }: Answer) => text;
  await printAnswer(answer, moment === "summary" ? form : hookForm(stringOf(input.hook_event_name) ?? name));
}

async function answerHost(call: HookCall): Promise<void> {
  const { input } = call;
  const { host } = (await line?.load()) ?? {};
  const written = host?.hooks?.written;
  if (!line || !written) throw new Error("Cannot answer: expected a host that has such hooks");
  const name = stringOf(input.hook_event_name) ?? "";
  const moment = momentOf(written.events[name]?.moment, input);
  if (!moment) return;
  const asked = readAsked(call, line.agent);
  const about = await READ[moment]?.(input, asked, host);
  if (moment in READ && !about) return;
  const answer = await answerMoment(moment, { ...asked, ...about });
  await printAnswer(answer, hookForm(name, written.saysAtTop));
}

function momentOf(moments: Moments | undefined, { source }: JsonRecord): Moment | undefined {
  return typeof moments === "object" ? moments[stringOf(source) ?? ""] : moments;
}

/** Returns an answer in Claude Code's form; some hosts want the words for the model beside it as well. */
function hookForm(hookEventName: string, isAtTop = false) {
  return ({ text, toPerson }: Answer) => ({
    systemMessage: toPerson,
    additionalContext: isAtTop ? text : undefined,
    hookSpecificOutput: text && { hookEventName, additionalContext: text },
  });
}

const [, , called = ""] = process.argv;
const own = EVENTS[called];
const line = findLine(called);
await runHook(own ? called : "event", (call) => (own ? answerOwn(call, own) : answerHost(call)), line?.agent);

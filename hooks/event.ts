/**
 * An event of a host that set-up wrote our hooks into the settings of: `session-memory event <agent>`, the event on stdin in the
 * host's form, which is Claude Code's but for what the table of hosts says. Always exits 0.
 */

import { type JsonRecord, stringOf } from "../lib/base/json.ts";
import type { HostFile, Moment } from "../lib/hosts/host.ts";
import { findLine } from "../lib/hosts/table.ts";
import type { Asked } from "./asked.ts";
import { type HookCall, printAnswer, readCommand, readSession, requireSettings, runHook } from "./hook.ts";
import { answerMoment } from "./moments.ts";

async function answerEvent({ env, input, paths }: HookCall): Promise<void> {
  const { host } = (await line?.load()) ?? {};
  const written = host?.hooks?.written;
  if (!line || !written) throw new Error("Cannot answer: expected a host that has such hooks");
  const event = stringOf(input.hook_event_name) ?? "";
  const moment = findMoment(written.events[event]?.moment, input.source);
  if (!moment) return;
  const session = readSession(input);
  const asked = {
    ...{ host: line.agent, session, env },
    ...requireSettings(paths, { env, transcript: session.file }),
  };
  const about = await READ[moment]?.(input, asked, host);
  if (moment in READ && !about) return;
  const answer = await answerMoment(moment, { ...asked, ...about });
  await printAnswer(answer, event, { atTop: written.saysAtTop });
}

function findMoment(moment: Moment | Readonly<Record<string, Moment>> | undefined, source: unknown) {
  return typeof moment === "object" ? moment[stringOf(source) ?? ""] : moment;
}

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

const line = findLine(process.argv[2]);
await runHook("event", answerEvent, line?.agent);

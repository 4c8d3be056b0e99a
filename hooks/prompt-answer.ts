/**
 * Builds what every host adds to a prompt: what other sessions did, and what its `@@` references mean; loaded only when there
 * may be something to add. Reads which command failed.
 */

import type { Look } from "../lib/activity/look.ts";
import type { ReportedFailure } from "../lib/activity/seen.ts";
import { type JsonRecord, jsonOf, stringOf } from "../lib/base/json.ts";
import { loadConfig } from "../lib/config/config.ts";
import type { CompleteJson } from "../lib/model/answers.ts";
import { log } from "../lib/transcripts/event-log.ts";
import type { Answer, Asked } from "./asked.ts";
import { injection } from "./exits.ts";
import { logFailure, readCommand, readSession, together } from "./hook.ts";

/** Claude Code puts anything longer than 10,000 characters into a file. */
const OUTPUT_MAX_CHARS = 9990;
/** The time limit for answers. Claude Code gives a hook 30 s and then drops its whole output. */
export const QUESTION_MS = 20_000;
/** The time limit for finding and reading other sessions, so that a prompt waits for a second at most; the next one reads on. */
const READING_MS = 400;
/** The least time for reading, even if listing thousands of files takes all: each prompt tells of some. */
const READING_MIN_MS = 150;

/** Builds everything that is added to a prompt, below what was due before it. */
export async function answerPrompt(asked: Asked, look: Look | undefined, due?: Answer): Promise<Answer> {
  const told = together(due, await tellActivity(asked, look));
  const room = OUTPUT_MAX_CHARS - (told.text?.length ?? 0);
  return together(told, await tellReferences(asked, room));
}

/** Returns the news of other sessions, none without a look. Once delivered, it is marked as seen. */
export async function tellActivity(asked: Asked, look: Look | undefined): Promise<Answer> {
  if (!look) return together();
  const { paths, settings } = asked;
  const session = look.viewer.id;
  const { readUpdates } = await import("../lib/activity/updates.ts");
  const deadline = Math.max(look.now + READING_MS, Date.now() + READING_MIN_MS);
  const reading = { paths, settings, current: look.viewer, look, deadline };
  const { text: news, problems, commit } = readUpdates(reading);
  const { text } = injection(asked, news ?? undefined);
  for (const problem of problems) log(paths.log, { event: "activity", ok: false, session, problem });
  return {
    text,
    delivered() {
      try {
        const ok = commit();
        if (text !== undefined || !ok) log(paths.log, { event: "injected", ok, session, text });
      } catch (error) {
        void logFailure(paths, "activity", error, { session }); // the host has its answer already
      }
    },
  };
}

/** Returns what is known of the sessions that a prompt mentions. A failure is logged. */
export async function tellReferences(asked: Asked, maxChars?: number): Promise<Answer> {
  const isPossible = asked.text?.includes("@@");
  return injection(asked, isPossible ? await describeReferences(asked, maxChars) : undefined);
}

async function describeReferences(asked: Asked, maxChars: number | undefined): Promise<string | undefined> {
  const { text = "", session, paths, settings, hasTool, model = () => configured(asked) } = asked;
  try {
    const { hasReference } = await import("../lib/sessions/references.ts");
    const { withoutPage } = await import("../lib/hosts/handed.ts");
    const typed = withoutPage(text);
    if (!hasReference(typed)) return undefined;
    const { referenceContext } = await import("../lib/naming/prompt-references.ts");
    const signal = AbortSignal.timeout(QUESTION_MS);
    const { id: current, cwd } = session;
    const options = { paths, settings, cwd, current, maxChars, model, hasTool, signal };
    return (await referenceContext(typed, options)).text || undefined;
  } catch (error) {
    await logFailure(paths, "references", error, { session: session.id });
    return undefined;
  }
}

/** Returns the model that config.json names, for hosts without one of their own. */
async function configured({ env, session }: Asked): Promise<CompleteJson | undefined> {
  const { configuredModel } = await import("../lib/model/configured-model.ts");
  const config = await loadConfig(env, session.cwd);
  // a program takes seconds to start: never while a prompt waits
  return config.settings.llm?.command ? undefined : configuredModel(config);
}

/** Reads the failure that Claude Code, the Agent SDK or Codex reports; undefined for anything but a command that ran. */
export function readFailure(input: JsonRecord): ReportedFailure | undefined {
  const failed = readCommand(input);
  if (!failed) return undefined;
  if (input.tool_response === undefined) return { ...failed, output: stringOf(input.error) ?? "" };
  const { tool_response: output } = input;
  const { file } = readSession(input);
  const callId = stringOf(input.tool_use_id);
  if (file === undefined || callId === undefined) return undefined;
  return {
    ...failed,
    output: typeof output === "string" ? output : jsonOf(output),
    // Codex reports every call: only its transcript says whether it failed
    async hasFailed() {
      const { hasFailedInCodex } = await import("../lib/hosts/codex.ts");
      return hasFailedInCodex(file, callId);
    },
  };
}

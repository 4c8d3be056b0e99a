/**
 * Builds what every host adds to a conversation. To a prompt: what other sessions did, and what its `@@` references mean;
 * loaded only when there may be something to add. To a command that failed: what ended its error in earlier sessions.
 */

import type { Look } from "../lib/activity/look.ts";
import type { ReportedFailure } from "../lib/activity/seen.ts";
import type { Updates } from "../lib/activity/updates.ts";
import { type JsonRecord, jsonOf, stringOf } from "../lib/base/json.ts";
import { logEvent } from "../lib/base/output.ts";
import { type Environment, loadConfig, type PathsWithRules } from "../lib/config/config.ts";
import type { Injection, MomentAnswer, Settled, Sources } from "./asked.ts";
import { logFailure, type Prompt, readCommand, readSession } from "./hook.ts";

/** Claude Code puts anything longer than 10,000 characters into a file. */
const OUTPUT_MAX_CHARS = 9990;
/** The time limit for answers. Claude Code gives a hook 30 s and then drops its whole output. */
export const QUESTION_MS = 20_000;
/** The time limit for finding and reading other sessions, so that a prompt waits for a second at most; the next one reads on. */
const READING_MS = 400;
/** The least time for reading, even if listing thousands of files takes all: each prompt tells of some. */
const READING_MIN_MS = 150;

/** Builds everything that is added to a prompt, below what was due before it. */
export async function answerPrompt(
  prompt: Prompt,
  look: Look | undefined,
  sources: Sources,
  due?: MomentAnswer,
): Promise<MomentAnswer> {
  const activity = await tellActivity(look, sources);
  const room = OUTPUT_MAX_CHARS - (activity.text?.length ?? 0) - (due?.text?.length ?? 0);
  const references = await referencesIn(prompt, sources, room);
  const texts = [due?.text, activity.text, references.text].filter((text) => text !== undefined);
  return {
    text: texts.length > 0 ? texts.join("\n\n") : undefined,
    toPerson: due?.toPerson,
    delivered() {
      due?.delivered();
      activity.delivered();
      references.delivered();
    },
  };
}

/** Returns the news of other sessions, none without a look. Once delivered, it is marked as seen. */
export async function tellActivity(look: Look | undefined, { paths, settings }: Settled): Promise<Injection> {
  if (!look) return { text: undefined, delivered() {} };
  const updates = await readNews(look, { paths, settings });
  const session = look.viewer.id;
  for (const problem of updates.problems)
    logEvent(paths.log, { event: "activity", ok: false, session, problem });
  const text = updates.text ?? undefined;
  return {
    text,
    delivered() {
      try {
        const ok = updates.commit();
        if (text === undefined && ok) return;
        logEvent(paths.log, { event: "injected", ok, session, text });
      } catch (error) {
        void logFailure(paths, "activity", error, { session }); // the host has its answer already
      }
    },
  };
}

/** Reads the sessions that the look found. Loads nothing that reads transcripts when none has changed. */
async function readNews(
  look: Look,
  { paths, settings }: Settled,
): Promise<Pick<Updates, "text" | "problems" | "commit">> {
  if (look.changed.length === 0 && !look.mayHaveShared) {
    const { saveMarks } = await import("../lib/activity/marks.ts");
    return { text: null, problems: [], commit: () => saveMarks(look) };
  }
  const { readUpdates } = await import("../lib/activity/updates.ts");
  const deadline = Math.max(look.now + READING_MS, Date.now() + READING_MIN_MS);
  return readUpdates({ paths, settings, current: look.viewer, look, deadline });
}

/** Returns what is known of the sessions that a prompt mentions. A failure is logged. */
export async function referencesIn(prompt: Prompt, sources: Sources, maxChars?: number): Promise<Injection> {
  const { paths } = sources;
  const text = prompt.text.includes("@@") ? await describeReferences(prompt, sources, maxChars) : undefined;
  return injection(text, prompt.session.id, paths);
}

/** Returns a text to inject, which is logged once delivered. */
export function injection(text: string | undefined, session: string, { log }: PathsWithRules): Injection {
  const delivered = () => text !== undefined && logEvent(log, { event: "injected", ok: true, session, text });
  return { text, delivered };
}

async function describeReferences(
  { text, session }: Prompt,
  { paths, settings, model, hasTool }: Sources,
  maxChars: number | undefined,
): Promise<string | undefined> {
  try {
    const { hasReference } = await import("../lib/sessions/references.ts");
    const { withoutPage } = await import("../lib/hosts/handed.ts");
    const typed = withoutPage(text);
    if (!hasReference(typed)) return undefined;
    const { referenceContext } = await import("../scripts/session-reference.ts");
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
export function findModel(env: Environment, { cwd }: Prompt["session"]): Sources["model"] {
  return async () => {
    const { configuredModel } = await import("../lib/model/configured-model.ts");
    const config = await loadConfig(env, cwd);
    // a program takes seconds to start: never while a prompt waits
    return config.settings.llm?.command ? undefined : configuredModel(config);
  };
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

/** Returns what to add to a command that failed. Logged once delivered. */
export async function answerFailure(
  failed: ReportedFailure,
  { paths, settings }: Settled,
): Promise<Injection> {
  const { seenText } = await import("../lib/activity/seen.ts");
  return injection(await seenText(failed, { paths, settings }), failed.sessionId, paths);
}

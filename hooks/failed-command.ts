/** A command that failed, as hosts tell of it, and what they are told of its end in earlier sessions. */

import { type Failure, seenText } from "../lib/activity/seen.ts";
import { isRecord, type JsonRecord, jsonOf, stringOf } from "../lib/base/json.ts";
import type { Paths, Settings } from "../lib/config/config.ts";
import { readSession } from "./hook.ts";
import type { Injection } from "./prompt-answer.ts";

/** Reads the failure that Claude Code, the Agent SDK or Codex reports; undefined for a call that did not fail. */
export async function readFailure(input: JsonRecord): Promise<Failure | undefined> {
  const { id, file, cwd } = readSession(input);
  const command = isRecord(input.tool_input) ? stringOf(input.tool_input.command) : undefined;
  if (command === undefined || input.is_interrupt === true) return undefined;
  // a subagent sees nothing of what its session was told
  const failed = { sessionId: id, viewer: stringOf(input.agent_id) ?? id, cwd, command };
  if (input.tool_response === undefined) return { ...failed, output: stringOf(input.error) ?? "" };
  // Codex reports every call: only its transcript says whether it failed
  const { hasFailedInCodex } = await import("../lib/transcripts/codex.ts");
  const callId = stringOf(input.tool_use_id);
  if (file === undefined || callId === undefined || !hasFailedInCodex(file, callId)) return undefined;
  const { tool_response: output } = input;
  return { ...failed, output: typeof output === "string" ? output : jsonOf(output) };
}

/** Returns what to tell of a failure. Once delivered, it is in the log. */
export async function answerFailure(
  failed: Failure,
  { paths, settings }: { paths: Paths; settings: Settings },
): Promise<Injection> {
  const text = await seenText(failed, { paths, settings });
  if (text === undefined) return { text, delivered() {} };
  const { logEvent } = await import("../lib/base/output.ts");
  return {
    text,
    delivered: () => logEvent(paths.log, { event: "injected", ok: true, session: failed.sessionId, text }),
  };
}

/** Rollout lines as Codex writes them. */

import { nextNumber, type Row } from "./rows.ts";

export const CODEX_SESSION = "019c8a4c-0000-79a1-aa28-7738fc5ab61a";
const CODEX_CWD = "/home/dev/shop";

interface At {
  at?: string;
}

/** Any line: `{timestamp, type, payload}`. */
export function codexItem(type: string, payload: Row, at = "2026-02-03T14:30:00.000Z"): Row {
  return { timestamp: at, type, payload };
}

/** The first line. */
export function codexMeta(options: At & { id?: string; cwd?: string } = {}): Row {
  const at = options.at ?? "2026-02-03T14:30:00.000Z";
  const payload = {
    id: options.id ?? CODEX_SESSION,
    timestamp: at,
    cwd: options.cwd ?? CODEX_CWD,
    originator: "codex_cli_rs",
    cli_version: "0.137.0",
    source: "cli",
    model_provider: "openai",
  };
  return codexItem("session_meta", payload, at);
}

/** A message item. Typed prompts are `codexPrompt`. */
export function codexMessage(options: At & { role: "user" | "assistant" | "developer"; text: string }): Row {
  const type = options.role === "assistant" ? "output_text" : "input_text";
  return codexItem(
    "response_item",
    { type: "message", role: options.role, content: [{ type, text: options.text }] },
    options.at,
  );
}

/** What a person typed: the item that the model gets and the event that says it was typed. */
export function codexPrompt(options: At & { text: string }): Row[] {
  const event = { type: "user_message", message: options.text, images: [], local_images: [] };
  return [codexMessage({ ...options, role: "user" }), codexItem("event_msg", event, options.at)];
}

/** What the model said: the event that shows it and the item that repeats it. */
export function codexAnswer(options: At & { text: string }): Row[] {
  return [
    codexItem("event_msg", { type: "agent_message", message: options.text }, options.at),
    codexMessage({ ...options, role: "assistant" }),
  ];
}

export function codexCall(options: At & { name: string; arguments: Row; callId?: string }): Row {
  const call_id = options.callId ?? `call_${nextNumber()}`;
  const payload = {
    type: "function_call",
    name: options.name,
    arguments: JSON.stringify(options.arguments),
    call_id,
  };
  return codexItem("response_item", payload, options.at);
}

export function codexCallOutput(options: At & { callId: string; output: string; custom?: boolean }): Row {
  const type = options.custom ? "custom_tool_call_output" : "function_call_output";
  return codexItem("response_item", { type, call_id: options.callId, output: options.output }, options.at);
}

/** An `apply_patch` call with the patch as its free-form input. */
export function codexPatch(options: At & { patch: string; callId?: string }): Row {
  const call_id = options.callId ?? `call_${nextNumber()}`;
  const payload = {
    type: "custom_tool_call",
    status: "completed",
    call_id,
    name: "apply_patch",
    input: options.patch,
  };
  return codexItem("response_item", payload, options.at);
}

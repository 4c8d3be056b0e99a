/** Entries as pi writes them (v3). `piLinked` gives them ids and parents as an unbranched session has them. */

import { hexFrom, nextNumber, type Row } from "./rows.ts";

export const PI_SESSION = "01a1f9c6-0000-7562-91ca-d8be44d09da8";
const PI_CWD = "/home/dev/shop";

export interface PiEntryOptions {
  id?: string;
  parentId?: string | null;
  /** ISO time; the message's own is the same in milliseconds. */
  at?: string;
}

/** The first line. */
export function piHeader(
  options: { id?: string; cwd?: string; at?: string; version?: number; parentSession?: string } = {},
): Row {
  return {
    type: "session",
    version: options.version ?? 3,
    id: options.id ?? PI_SESSION,
    timestamp: options.at ?? "2026-02-03T14:30:00.000Z",
    cwd: options.cwd ?? PI_CWD,
    ...(options.parentSession === undefined ? {} : { parentSession: options.parentSession }),
  };
}

/** A `message` entry with a message as given. */
export function piMessage(options: PiEntryOptions & { message: Row }): Row {
  const at = options.at ?? "2026-02-03T14:30:00.000Z";
  return piEntry("message", { message: { ...options.message, timestamp: Date.parse(at) } }, options);
}

export function piUser(options: PiEntryOptions & { text: string }): Row {
  return piMessage({
    ...options,
    message: { role: "user", content: [{ type: "text", text: options.text }] },
  });
}

export function piAssistant(
  options: PiEntryOptions & {
    text?: string;
    thinking?: string;
    tools?: { name: string; arguments: Row; id?: string }[];
    tokens?: number;
  },
): Row {
  const content: Row[] = [];
  if (options.thinking !== undefined) {
    content.push({ type: "thinking", thinking: options.thinking, thinkingSignature: "reasoning_content" });
  }
  if (options.text !== undefined) content.push({ type: "text", text: options.text });
  for (const tool of options.tools ?? []) {
    const id = tool.id ?? `call_${nextNumber()}`;
    content.push({ type: "toolCall", id, name: tool.name, arguments: tool.arguments });
  }
  const totalTokens = options.tokens ?? 610;
  return piMessage({
    ...options,
    message: {
      role: "assistant",
      content,
      api: "openai-completions",
      provider: "local",
      model: "local-1",
      usage: {
        input: totalTokens - 12,
        output: 12,
        cacheRead: 0,
        cacheWrite: 0,
        totalTokens,
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
      },
      stopReason: options.tools?.length ? "toolUse" : "stop",
    },
  });
}

export function piToolResult(
  options: PiEntryOptions & { callId: string; tool: string; text: string; isError?: boolean },
): Row {
  return piMessage({
    ...options,
    message: {
      role: "toolResult",
      toolCallId: options.callId,
      toolName: options.tool,
      content: [{ type: "text", text: options.text }],
      isError: options.isError ?? false,
    },
  });
}

/** Any other entry: `session_info`, `model_change`, `label`, `custom`, `branch_summary` … */
export function piEntry(type: string, fields: Row, options: PiEntryOptions = {}): Row {
  return {
    type,
    id: options.id ?? hexFrom(`pi ${nextNumber()}`),
    parentId: options.parentId ?? null,
    timestamp: options.at ?? "2026-02-03T14:30:00.000Z",
    ...fields,
  };
}

/** Sets an entry's `parentId`, unless it has one, to the entry before it; the header stays as it is. */
export function piLinked(rows: readonly Row[], parent: string | null = null): Row[] {
  let last = parent;
  return rows.map((row) => {
    if (row.type === "session") return row;
    const linked = { ...row, parentId: row.parentId ?? last };
    last = String(row.id);
    return linked;
  });
}

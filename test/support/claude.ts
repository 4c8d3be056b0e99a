/** Rows as Claude Code writes them. Every builder gives new ids unless told otherwise. */

import { nextNumber, type Row, uuidFrom } from "./rows.ts";

/** What every row of one conversation shares, and what one row may override. */
export interface ClaudeContext {
  sessionId?: string;
  cwd?: string;
  /** ISO time of the row. */
  at?: string;
  uuid?: string;
  parentUuid?: string | null;
  /** On rows of a subagent. */
  agentId?: string;
}

interface ClaudeToolUse {
  name: string;
  input: Row;
  id?: string;
}

export const CLAUDE_SESSION = "4a1d7c1e-90b3-4e5e-8a52-6f1f0e6c7a01";
const CLAUDE_CWD = "/home/dev/shop";
const VERSION = "2.1.329";

/** A prompt a person typed: plain string content, the usual form. */
export function claudeUser(options: ClaudeContext & { text: string; extra?: Row }): Row {
  return userRow(options, options.text, {
    permissionMode: "default",
    promptSource: "typed",
    ...options.extra,
  });
}

/** One API message: a row per block, all with the same message id, in the host's order. */
export function claudeAssistant(
  options: ClaudeContext & {
    text?: string;
    thinking?: string;
    tools?: ClaudeToolUse[];
  },
): Row[] {
  const number = nextNumber();
  const blocks: Row[] = [];
  if (options.thinking !== undefined) {
    blocks.push({ type: "thinking", thinking: options.thinking, signature: "c2lnbmF0dXJl" });
  }
  if (options.text !== undefined) blocks.push({ type: "text", text: options.text });
  for (const [index, tool] of (options.tools ?? []).entries()) {
    const id = tool.id ?? `toolu_${number}_${index}`;
    blocks.push({ type: "tool_use", id, name: tool.name, input: tool.input });
  }
  const messageId = `msg_${options.uuid ?? number}`;
  let parent = options.parentUuid ?? null;
  return blocks.map((block, index) => {
    const uuid =
      options.uuid && index === blocks.length - 1 ? options.uuid : uuidFrom(`claude ${nextNumber()}`);
    const row: Row = {
      ...common({ ...options, uuid, parentUuid: parent }),
      message: {
        id: messageId,
        type: "message",
        role: "assistant",
        model: "claude-opus-5-5",
        content: [block],
        stop_reason: options.tools?.length ? "tool_use" : "end_turn",
        stop_sequence: null,
        usage: {
          input_tokens: 1000,
          cache_creation_input_tokens: 200,
          cache_read_input_tokens: 300,
          output_tokens: 42,
          service_tier: "standard",
        },
      },
      requestId: `req_${messageId}`,
      type: "assistant",
    };
    parent = uuid;
    return row;
  });
}

/** What a tool gave back: a user row that no person wrote. */
export function claudeToolResult(
  options: ClaudeContext & { toolUseId: string; content: string | Row[]; isError?: boolean },
): Row {
  const { toolUseId, content, isError = false } = options;
  const block = { tool_use_id: toolUseId, type: "tool_result", content, is_error: isError };
  const text = typeof content === "string" ? content : "";
  return userRow(options, [block], {
    toolUseResult: isError ? `Error: ${text}` : { stdout: text, stderr: "", interrupted: false },
  });
}

export function claudeSystem(options: ClaudeContext & { subtype: string; extra?: Row }): Row {
  return { ...common(options), type: "system", subtype: options.subtype, ...options.extra };
}

/** Where a conversation was compacted: the boundary and the summary that goes on from it. */
export function claudeCompaction(
  options: ClaudeContext & { summary: string; trigger?: "manual" | "auto" },
): Row[] {
  const boundary = claudeSystem({
    ...options,
    parentUuid: null,
    subtype: "compact_boundary",
    extra: {
      logicalParentUuid: options.parentUuid ?? null,
      content: "Conversation compacted",
      isMeta: false,
      level: "info",
      compactMetadata: {
        trigger: options.trigger ?? "auto",
        preTokens: 155_000,
        postTokens: 2600,
        durationMs: 9000,
      },
    },
  });
  const text = `This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\n${options.summary}`;
  const { uuid: _, ...rest } = options;
  const summary = userRow({ ...rest, parentUuid: String(boundary.uuid) }, text, {
    isVisibleInTranscriptOnly: true,
    isCompactSummary: true,
  });
  return [boundary, summary];
}

/** A state row without uuid: `mode`, `custom-title`, `last-prompt`, `queue-operation` … */
export function claudeState(type: string, fields: Row, sessionId = CLAUDE_SESSION): Row {
  return { type, ...fields, sessionId };
}

/** Sets each row's `parentUuid` to the row before it that has a uuid, as an unbranched conversation has it. */
export function chain(rows: readonly Row[], parent: string | null = null): Row[] {
  let last = parent;
  return rows.map((row) => {
    if (typeof row.uuid !== "string") return row;
    const linked = row.subtype === "compact_boundary" ? row : { ...row, parentUuid: last };
    last = row.uuid;
    return linked;
  });
}

function userRow(context: ClaudeContext, content: string | Row[], extra: Row): Row {
  return { ...common(context), type: "user", message: { role: "user", content }, ...extra };
}

function common(context: ClaudeContext): Row {
  return {
    parentUuid: context.parentUuid ?? null,
    isSidechain: context.agentId !== undefined,
    ...(context.agentId === undefined ? {} : { agentId: context.agentId }),
    uuid: context.uuid ?? uuidFrom(`claude ${nextNumber()}`),
    timestamp: context.at ?? "2026-02-03T14:30:00.000Z",
    userType: "external",
    entrypoint: "cli",
    cwd: context.cwd ?? CLAUDE_CWD,
    sessionId: context.sessionId ?? CLAUDE_SESSION,
    version: VERSION,
    gitBranch: "main",
  };
}

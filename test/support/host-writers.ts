/** One conversation in the form of each host that has no builders of its own, at the place where that host keeps it. */

import { Database } from "bun:sqlite";
import { appendFileSync, existsSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { dashedPath } from "../../lib/base/text.ts";
import { claudeAssistant, claudeToolResult, claudeUser } from "./claude.ts";
import { type TemporaryHome, writeClaude } from "./home.ts";
import { jsonl, type Row, uuidFrom } from "./rows.ts";

/** What is said and done in a session. */
export type Step =
  | { says: "user" | "assistant"; text: string }
  | { runs: string; output: string; exit?: number }
  | { edits: string; from: string; to: string };

export interface HostSession {
  id: string;
  cwd: string;
  title?: string;
  /** The time of the first step; each further one is a second later. */
  at?: string;
  steps: readonly Step[];
  /** The session that started it, for the hosts that have subagents. */
  parentId?: string;
}

/** Writes a session where a host would; returns its file, or the database's. */
export const HOST_WRITERS: Record<string, (home: TemporaryHome, session: HostSession) => string> = {
  claude: writeClaudeSession,
  copilot: writeCopilot,
  qwen: writeQwen,
  gemini: writeGemini,
  opencode: writeOpencode,
  openclaw: writeOpenclaw,
  kilo: writeKilo,
  droid: writeDroid,
  cline: writeCline,
  kimi: writeKimi,
  cursor: writeCursor,
  antigravity: writeAntigravity,
};

/** Hosts with ids like opencode's. */
const SES = ["opencode", "kilo"];

/** Returns an id as a host gives one. */
export function hostId(agent: string, seed: string): string {
  if (agent === "kimi") return `session_${uuidFrom(seed)}`;
  if (agent === "cline") return `1770129000000_${uuidFrom(seed).slice(0, 8)}`;
  return SES.includes(agent) ? `ses_${seed}0a1b2c3d` : uuidFrom(seed);
}

const START = "2026-02-03T14:30:00.000Z";

function timeOf({ at = START }: HostSession, step: number): string {
  return new Date(Date.parse(at) + step * 1000).toISOString();
}

const patchOf = ({ from, to }: { from: string; to: string }) => `@@ -1,1 +1,1 @@\n-${from}\n+${to}\n`;

function writeClaudeSession(home: TemporaryHome, session: HostSession): string {
  const { id: sessionId, cwd, steps } = session;
  let parent: string | null = null;
  const rows = steps.flatMap((step, i) => {
    const at = timeOf(session, i);
    const uuid = uuidFrom(`${sessionId} ${i}`);
    const common = { sessionId, cwd, at, uuid, parentUuid: parent };
    parent = uuid;
    if ("says" in step) {
      return step.says === "user"
        ? [claudeUser({ ...common, text: step.text })]
        : claudeAssistant({ ...common, text: step.text });
    }
    const id = `toolu_${i}`;
    const tool =
      "runs" in step
        ? { id, name: "Bash", input: { command: step.runs } }
        : { id, name: "Edit", input: { file_path: step.edits, old_string: step.from, new_string: step.to } };
    const failed = "runs" in step && (step.exit ?? 0) !== 0;
    const content = "runs" in step ? step.output : "edited";
    parent = uuidFrom(`${sessionId} ${i} result`);
    return [
      ...claudeAssistant({ ...common, tools: [tool] }),
      claudeToolResult({
        ...common,
        uuid: parent,
        parentUuid: uuid,
        toolUseId: id,
        content,
        isError: failed,
      }),
    ];
  });
  return writeClaude(home, { id: sessionId, cwd, rows });
}

function writeCopilot(home: TemporaryHome, session: HostSession): string {
  const { id, cwd, title, steps } = session;
  let parentId: string | null = null;
  const event = (type: string, data: Row, step: number): Row => {
    const row = {
      type,
      data,
      id: uuidFrom(`${id} ${step} ${type}`),
      timestamp: timeOf(session, step),
      parentId,
    };
    parentId = row.id;
    return row;
  };
  const start = {
    sessionId: id,
    version: 1,
    startTime: timeOf(session, 0),
    context: { cwd, branch: "main" },
  };
  const rows = [
    event("session.start", start, 0),
    ...steps.flatMap((step, i) => {
      if ("says" in step && step.says === "user") {
        const transformedContent = `<current_datetime>now</current_datetime>\n\n${step.text}`;
        return [event("user.message", { content: step.text, transformedContent }, i)];
      }
      if ("says" in step) {
        return [
          event("assistant.turn_start", { turnId: String(i) }, i),
          event("assistant.message", { content: step.text, toolRequests: [] }, i),
        ];
      }
      const toolCallId = `call_${i}`;
      const isRun = "runs" in step;
      const call = isRun
        ? { toolName: "bash", arguments: { command: step.runs, description: "run it" } }
        : { toolName: "edit", arguments: { path: step.edits, old_str: step.from, new_str: step.to } };
      const exitCode = isRun ? (step.exit ?? 0) : 0;
      const result = isRun
        ? { content: `${step.output}\n<shellId: 0 completed with exit code ${exitCode}>` }
        : { content: "updated", detailedContent: `\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n${patchOf(step)}` };
      const done = { toolCallId, success: true, result, ...(isRun && { shellExecution: { exitCode } }) };
      return [
        event("assistant.message", { content: "", toolRequests: [{ toolCallId, ...call }] }, i),
        event("tool.execution_start", { toolCallId, ...call }, i),
        event("tool.execution_complete", done, i),
      ];
    }),
  ];
  const folder = join(home.home, ".copilot", "session-state", id);
  if (title !== undefined)
    put(join(folder, "workspace.yaml"), `id: ${id}\ncwd: ${cwd}\nname: '${title.replaceAll("'", "''")}'\n`);
  return put(join(folder, "events.jsonl"), jsonl(...rows));
}

const shellText = ({ runs, output, exit = 0 }: { runs: string; output: string; exit?: number }) =>
  `Command: ${runs}\nDirectory: (root)\nOutput: ${output}\nError: (none)\nExit Code: ${exit}\nSignal: 0\nProcess Group PGID: 4711`;

function writeQwen(home: TemporaryHome, session: HostSession): string {
  const { id: sessionId, cwd, title, steps } = session;
  let parentUuid: string | null = null;
  const row = (type: string, rest: Row, step: number, what = ""): Row => {
    const uuid = uuidFrom(`${sessionId} ${step} ${type}${what}`);
    const made = {
      uuid,
      parentUuid,
      sessionId,
      timestamp: timeOf(session, step),
      type,
      cwd,
      version: "0.15.10",
      ...rest,
    };
    parentUuid = uuid;
    return made;
  };
  const said = (role: string, ...parts: Row[]) => ({ message: { role, parts } });
  const rows = steps.flatMap((step, i) => {
    if ("says" in step && step.says === "user") return [row("user", said("user", { text: step.text }), i)];
    if ("says" in step) {
      const thought = { text: "not-conversation", thought: true };
      return [row("assistant", said("model", thought, { text: step.text }), i)];
    }
    const id = `call_${i}`;
    const isRun = "runs" in step;
    const [name, args, output, resultDisplay] = isRun
      ? ["run_shell_command", { command: step.runs, is_background: false }, shellText(step), step.output]
      : [
          "edit",
          { file_path: step.edits, old_string: step.from, new_string: step.to },
          "The file has been updated.",
          { fileDiff: `Index: x\n--- x\tCurrent\n+++ x\tProposed\n${patchOf(step)}`, fileName: "x" },
        ];
    const telemetry = { subtype: "ui_telemetry", systemPayload: { uiEvent: { function_name: name } } };
    return [
      row("assistant", said("model", { functionCall: { id, name, args } }), i),
      row("system", telemetry, i),
      row(
        "tool_result",
        {
          ...said("user", { functionResponse: { id, name, response: { output } } }),
          toolCallResult: { callId: id, status: "success", resultDisplay },
        },
        i,
      ),
    ];
  });
  if (title !== undefined)
    rows.push(
      row("system", { subtype: "custom_title", systemPayload: { customTitle: title } }, steps.length),
    );
  const folder = cwd.replace(/[^a-zA-Z0-9]/g, "-");
  return put(join(home.home, ".qwen", "projects", folder, "chats", `${sessionId}.jsonl`), jsonl(...rows));
}

function writeGemini(home: TemporaryHome, session: HostSession): string {
  const { id: sessionId, cwd, title, steps, parentId } = session;
  const header = {
    sessionId,
    projectHash: "f00d",
    startTime: timeOf(session, 0),
    kind: parentId ? "subagent" : "main",
  };
  const context = `<session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n  - ${cwd}\n- **Directory Structure:**\n</session_context>`;
  const row = (type: string, content: unknown, step: number, rest: Row = {}): Row => ({
    id: uuidFrom(`${sessionId} ${step} ${type}`),
    timestamp: timeOf(session, step),
    type,
    content,
    ...rest,
  });
  const touched = (step: number) => ({ $set: { lastUpdated: timeOf(session, step) } });
  const rows = steps.flatMap((step, i) => {
    if ("says" in step && step.says === "user") return [row("user", [{ text: step.text }], i), touched(i)];
    // Each state of a message is a row: first its words, then what they cost.
    if ("says" in step)
      return [
        row("gemini", step.text, i),
        row("gemini", step.text, i, { tokens: { input: 10 } }),
        touched(i),
      ];
    const id = `tool__tool_${i}`;
    const isRun = "runs" in step;
    const [name, args, output, resultDisplay] = isRun
      ? [
          "run_shell_command",
          { command: step.runs },
          `<untrusted_context>\nOutput: ${step.output}\n${step.exit ? `Exit Code: ${step.exit}\n` : ""}Process Group PGID: 4711\n</untrusted_context>`,
          step.output,
        ]
      : [
          "replace",
          { file_path: step.edits, instruction: "change it", old_string: step.from, new_string: step.to },
          "Successfully modified file",
          { fileDiff: `Index: x\n--- x\tCurrent\n+++ x\tProposed\n${patchOf(step)}`, fileName: "x" },
        ];
    const response = { functionResponse: { id, name, response: { output } } };
    const call = { id, name, args, result: [response], status: "success", resultDisplay };
    return [
      row("gemini", "", i, { thoughts: [{ subject: "not-conversation" }] }),
      touched(i),
      row("gemini", "", i, { toolCalls: [call] }),
      row("user", [response], i),
    ];
  });
  if (title !== undefined) rows.push({ $set: { summary: title } });
  const first = {
    $set: { messages: [row("user", [{ text: context }], 0)], lastUpdated: timeOf(session, 0) },
  };
  const chats = join(home.home, ".gemini", "tmp", basename(cwd), "chats");
  const time = timeOf(session, 0).slice(0, 16).replaceAll(":", "-");
  const file =
    parentId === undefined
      ? join(chats, `session-${time}-${sessionId.slice(0, 8)}.jsonl`)
      : join(chats, parentId, `${sessionId}.jsonl`);
  return put(file, jsonl(header, first, ...rows));
}

/** The columns that are read of the client's tables, and those that it does not leave empty. */
const TABLES = `
  CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, slug TEXT NOT NULL,
    directory TEXT NOT NULL, title TEXT NOT NULL, version TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
    time_updated INTEGER NOT NULL, data TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL,
    time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS message_session ON message (session_id, time_created, id);
  CREATE INDEX IF NOT EXISTS part_session ON part (session_id);`;

/** Opens the client's database in this home, or its fork's, made when missing. */
export function openOpencode({ home }: TemporaryHome, client = "opencode"): Database {
  const file = join(home, ".local", "share", client, `${client}.db`);
  mkdirSync(dirname(file), { recursive: true });
  const db = new Database(file);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; ${TABLES}`);
  return db;
}

function writeKilo(home: TemporaryHome, session: HostSession): string {
  return writeOpencode(home, session, "kilo");
}

function writeOpencode(home: TemporaryHome, session: HostSession, client?: string): string {
  using db = openOpencode(home, client);
  db.transaction(() => putOpencode(db, session))();
  return db.filename;
}

/** Puts a session into the client's tables, or what it goes on with; `isOpen`: its last answer is still being written. */
export function putOpencode(db: Database, session: HostSession & { from?: number; isOpen?: boolean }): void {
  const { id, cwd, title = "New session", steps, parentId = null, from = 0, isOpen = false } = session;
  const ms = (step: number) => Date.parse(timeOf(session, step));
  db.query("INSERT OR REPLACE INTO session VALUES (?, 'global', ?, 'slug', ?, ?, '1.18.33', ?, ?)").run(
    id,
    parentId,
    cwd,
    title,
    ms(0),
    ms(from + steps.length),
  );
  for (const [at, step] of steps.entries()) {
    const i = from + at;
    const message = `msg_${id}_${String(i).padStart(4, "0")}`;
    const role = "says" in step && step.says === "user" ? "user" : "assistant";
    const isDone = role === "user" || !isOpen || at < steps.length - 1;
    const time = { created: ms(i), ...(isDone && { completed: ms(i) + 500 }) };
    db.query("INSERT INTO message VALUES (?, ?, ?, ?, ?)").run(
      message,
      id,
      ms(i),
      ms(i),
      JSON.stringify({ role, time }),
    );
    for (const [k, part] of [
      { type: "step-start" },
      partOf(step, i),
      { type: "reasoning", text: "not-conversation" },
    ].entries()) {
      db.query("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)").run(
        `prt_${message}_${k}`,
        message,
        id,
        ms(i),
        ms(i),
        JSON.stringify(part),
      );
    }
  }
}

function partOf(step: Step, i: number): Row {
  if ("says" in step) return { type: "text", text: step.text };
  const state =
    "runs" in step
      ? { input: { command: step.runs }, output: step.output, metadata: { exit: step.exit ?? 0 } }
      : {
          input: { filePath: step.edits, oldString: step.from, newString: step.to },
          output: "Edit applied successfully.",
          metadata: { diff: `Index: x\n--- x\n+++ x\n${patchOf(step)}` },
        };
  const tool = "runs" in step ? "bash" : "edit";
  return { type: "tool", tool, callID: `call_${i}`, state: { status: "completed", title: tool, ...state } };
}

function writeDroid(home: TemporaryHome, session: HostSession): string {
  const { id: sessionId, cwd, title = "made of the first words", steps } = session;
  const callingSessionId = session.parentId;
  let parentId: string | undefined;
  const row = (step: number, role: string, content: Row[], more: Row = {}): Row => {
    const id = uuidFrom(`${sessionId} ${step} ${role} ${JSON.stringify([content, more])}`);
    const made = {
      type: "message",
      id,
      parentId,
      timestamp: timeOf(session, step),
      message: { role, content, ...more },
    };
    parentId = id;
    return made;
  };
  const hook = {
    visibility: "user_only",
    hookEventName: "PreToolUse",
    hookResults: [{ stdout: "not-conversation" }],
  };
  const reminder = { type: "text", text: "<system-reminder>\nnot-conversation\n</system-reminder>" };
  const rows = steps.flatMap((step, i): Row[] => {
    if ("says" in step) {
      const said = row(i, step.says, [{ type: "text", text: step.text }]);
      return step.says === "user"
        ? [{ ...row(i, "user", [reminder]), id: `context-${said.id}` }, said]
        : [said];
    }
    const id = `call_${i}`;
    const code = "runs" in step ? (step.exit ?? 0) : 0;
    const exited = `\n\n\n[Process exited with code ${code}]`;
    const [name, input, content] =
      "runs" in step
        ? [
            "Execute",
            { command: step.runs, riskLevel: "low" },
            `${code ? `Error: Command failed (exit code: ${code})\n` : ""}${step.output}${exited}`,
          ]
        : ["Edit", { file_path: step.edits, old_str: step.from, new_str: step.to }, editResult(step)];
    return [
      row(i, "assistant", [{ type: "tool_use", id, name, input }]),
      row(i, "user", [], hook),
      row(i, "user", [{ type: "tool_result", tool_use_id: id, is_error: code !== 0, content }]),
    ];
  });
  const start = { type: "session_start", id: sessionId, title, version: 2, cwd, callingSessionId };
  const first = { ...start, isSessionTitleManuallySet: session.title !== undefined };
  const last = { type: "agent_turn_outcome", turnId: "1", reason: "completed" };
  const folder = cwd.replace(/[^a-zA-Z0-9]/g, "-");
  const file = join(home.home, ".factory", "sessions", folder, `${sessionId}.jsonl`);
  return put(file, jsonl(first, ...rows, last));
}

const editResult = ({ edits, from, to }: { edits: string; from: string; to: string }) =>
  JSON.stringify({
    success: true,
    file_path: edits,
    diffLines: [
      { type: "removed", content: from, lineNumber: { old: 1 } },
      { type: "added", content: to, lineNumber: { new: 1 } },
    ],
  });

function writeCline(home: TemporaryHome, session: HostSession): string {
  const { id: sessionId, cwd, title = "made of the first words", steps, parentId } = session;
  const message = (step: number, role: string, content: Row[], more: Row = {}): Row => ({
    ...{ id: `msg_${step}_${role}_${Object.keys(more).length}`, role, content, ...more },
    ts: Date.parse(timeOf(session, step)),
  });
  const told = (step: number) => {
    const text = '<hook_context source="PostToolUse">\nnot-conversation\n</hook_context>';
    return message(step, "user", [{ type: "text", text }], { metadata: { displayRole: "system" } });
  };
  const messages = steps.flatMap((step, i): Row[] => {
    if ("says" in step) {
      const text = step.says === "user" ? `<user_input mode="act">${step.text}</user_input>` : step.text;
      return [message(i, step.says, [{ type: "text", text }])];
    }
    const isRun = "runs" in step;
    const [name, input] = isRun
      ? ["run_commands", { commands: [step.runs] }]
      : ["editor", { path: step.edits, old_text: step.from, new_text: step.to }];
    const exit = isRun ? (step.exit ?? 0) : 0;
    const printed = isRun ? step.output : "edited";
    const failed = {
      result: `[Command exited with code ${exit}]\n${printed}`,
      error: "it exited",
      success: false,
    };
    const result = {
      query: isRun ? step.runs : `edit:${step.edits}`,
      ...(exit ? failed : { result: printed, success: true }),
    };
    const id = `call_${i}`;
    return [
      message(i, "assistant", [{ type: "tool_use", id, name, input }]),
      message(i, "user", [{ type: "tool_result", tool_use_id: id, name, content: [result] }]),
      told(i),
    ];
  });
  const folder = join(home.home, ".cline", "data", "sessions", parentId ?? sessionId);
  const origin = parentId === undefined ? { mode: "user" } : { mode: "subagent", parentThreadId: parentId };
  const document = {
    version: 1,
    sessionId,
    origin: { ...origin, sessionId },
    messages,
    system_prompt: "not-conversation",
  };
  const sheet = {
    session_id: sessionId,
    cwd,
    workspace_root: cwd,
    prompt: "made of the first words",
    metadata: { title },
  };
  if (parentId === undefined) put(join(folder, `${sessionId}.json`), JSON.stringify(sheet));
  const name = parentId === undefined ? sessionId : `agent_${sessionId}`;
  return put(join(folder, `${name}.messages.json`), JSON.stringify(document));
}

function writeKimi(home: TemporaryHome, session: HostSession): string {
  const { id, cwd, title = "made of the first words", steps, parentId } = session;
  const row = (type: string, step: number, more: Row): Row => ({
    ...{ type, agentId: "main", ...more },
    time: Date.parse(timeOf(session, step)),
  });
  const event = (step: number, event: Row) => row("context.append_loop_event", step, { event });
  const repeated = (step: number, role: string, text: string): Row => {
    const message = {
      message: { role, content: [{ type: "text", text: `not-conversation: again ${text}` }] },
    };
    return {
      message,
      type: "agent.message.appended",
      time: Date.parse(timeOf(session, step)),
      kind: "event",
    };
  };
  const added = (step: number, text: string, kind: string) =>
    row("context.append_message", step, {
      message: { role: "user", content: [{ type: "text", text }], toolCalls: [], origin: { kind } },
    });
  const rows = steps.flatMap((step, i): Row[] => {
    if ("says" in step && step.says === "user")
      return [
        row("turn.prompt", i, {
          input: [{ type: "text", text: step.text }],
          origin: { kind: "user" },
          turnId: i,
        }),
        added(i, step.text, "user"),
        repeated(i, "user", step.text),
        added(i, "<system-reminder>not-conversation</system-reminder>", "injection"),
      ];
    const uuid = uuidFrom(`${id} ${i}`);
    if ("says" in step)
      return [
        event(i, { type: "content.part", uuid, part: { type: "think", think: "not-conversation" } }),
        event(i, { type: "content.part", uuid, part: { type: "text", text: step.text } }),
        repeated(i, "assistant", step.text),
      ];
    const isRun = "runs" in step;
    const toolCallId = `call_${i}`;
    const [name, args] = isRun
      ? ["Bash", { command: step.runs }]
      : ["Edit", { path: step.edits, old_string: step.from, new_string: step.to }];
    const exit = isRun ? (step.exit ?? 0) : 0;
    const failed = {
      output: `${isRun ? step.output : ""}\nCommand failed with exit code: ${exit}.`,
      isError: true,
    };
    const result = exit ? failed : { output: isRun ? step.output : "Replaced 1 occurrence" };
    return [
      event(i, { type: "tool.call", uuid, toolCallId, name, args }),
      event(i, { type: "tool.result", parentUuid: uuid, toolCallId, result }),
    ];
  });
  const time = Date.parse(timeOf(session, 0));
  const begin = [
    { type: "metadata", protocol_version: "1.5", created_at: time },
    row("profile.bind", 0, { environmentDisclosure: { cwd }, systemPrompt: "not-conversation" }),
  ];
  const folder = join(home.home, ".kimi-code", "sessions", "wd_proj_0123", parentId ?? id);
  const state = { id, version: 2, cwd, createdAt: time, title, isCustomTitle: true };
  if (parentId === undefined) put(join(folder, "state.json"), JSON.stringify(state));
  const agent = parentId === undefined ? "main" : id.slice(parentId.length + 1);
  return put(join(folder, "agents", agent, "wire.jsonl"), jsonl(...begin, ...rows));
}

const ABBREVIATED = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Writes a time as Cursor does, on another clock than UTC. */
function cursorTime(iso: string): string {
  const at = new Date(Date.parse(iso) + 2 * 3_600_000);
  const hour = at.getUTCHours();
  const clock = `${hour % 12 || 12}:${String(at.getUTCMinutes()).padStart(2, "0")} ${hour < 12 ? "AM" : "PM"}`;
  return `Someday, ${ABBREVIATED[at.getUTCMonth()]} ${at.getUTCDate()}, ${at.getUTCFullYear()}, ${clock} (UTC+2)`;
}

function writeCursor(home: TemporaryHome, session: HostSession): string {
  const { id, cwd, steps, parentId } = session;
  const row = (role: string, ...content: Row[]): Row => ({ role, message: { content } });
  const rows = steps.map((step, i): Row => {
    if ("says" in step && step.says === "user") {
      const when = `<timestamp>${cursorTime(timeOf(session, i))}</timestamp>`;
      const known = "<open_and_recently_viewed_files>not-conversation</open_and_recently_viewed_files>";
      return row("user", {
        type: "text",
        text: `${known}\n${when}\n<user_query>\n${step.text}\n</user_query>`,
      });
    }
    if ("says" in step) return row("assistant", { type: "text", text: `${step.text}\n\n[REDACTED]` });
    const call =
      "runs" in step
        ? { name: "Shell", input: { command: step.runs, description: "run it" } }
        : { name: "StrReplace", input: { path: step.edits, old_string: step.from, new_string: step.to } };
    return row("assistant", { type: "text", text: "[REDACTED]" }, { type: "tool_use", ...call });
  });
  const project = join(home.home, ".cursor", "projects", dashedPath(cwd));
  put(join(project, ".workspace-trusted"), JSON.stringify({ workspacePath: cwd }));
  const folder = join(
    project,
    "agent-transcripts",
    parentId ?? id,
    parentId === undefined ? "" : "subagents",
  );
  const file = put(join(folder, `${id}.jsonl`), jsonl(...rows, { type: "turn_ended", status: "success" }));
  const end = new Date(timeOf(session, steps.length));
  utimesSync(file, end, end); // its rows have no times
  return file;
}

function writeAntigravity(home: TemporaryHome, session: HostSession): string {
  const { id, cwd, title, steps } = session;
  const rows: Row[] = [];
  const add = (step: number, source: string, type: string, content: string, more: Row = {}) => {
    const created_at = timeOf(session, step);
    rows.push({ step_index: rows.length, source, type, status: "DONE", created_at, content, ...more });
  };
  for (const [i, step] of steps.entries()) {
    if ("says" in step && step.says === "user") {
      const metadata = JSON.stringify({ cwd, time: "not-conversation" });
      const known = `<ADDITIONAL_METADATA>\n${metadata}\n</ADDITIONAL_METADATA>`;
      add(i, "USER_EXPLICIT", "USER_INPUT", `<USER_REQUEST>\n${step.text}\n</USER_REQUEST>\n${known}`);
      add(i, "SYSTEM", "CONVERSATION_HISTORY", "not-conversation");
      continue;
    }
    if ("says" in step) {
      add(i, "MODEL", "PLANNER_RESPONSE", step.text, { thinking: "not-conversation" });
      continue;
    }
    const isRun = "runs" in step;
    const [name, args] = isRun
      ? ["run_command", { CommandLine: step.runs, Cwd: cwd, toolSummary: "not-conversation" }]
      : [
          "replace_file_content",
          { TargetFile: step.edits, TargetContent: step.from, ReplacementContent: step.to },
        ];
    const exit = isRun ? (step.exit ?? 0) : 0;
    const ended = exit ? `failed with exit code: ${exit}` : "completed successfully.";
    const answer = isRun
      ? `\t\t\t\tThe command ${ended}\n\t\t\t\tOutput:\n\t\t\t\t${step.output}\n`
      : `The following changes were made by the ${name} tool to: ${step.edits}.\n[diff_block_start]\n${patchOf(step)}[diff_block_end]`;
    add(i, "MODEL", "PLANNER_RESPONSE", "", { tool_calls: [{ name, args }] });
    const times = `Created At: ${timeOf(session, i)}\nCompleted At: ${timeOf(session, i)}\n\n`;
    add(i, "MODEL", isRun ? "RUN_COMMAND" : "GENERIC", times + answer);
  }
  const root = join(home.home, ".gemini", "antigravity-cli");
  if (title !== undefined)
    put(
      join(root, "annotations", `${id}.pbtxt`),
      `title: ${JSON.stringify(title)}\nlast_user_view_time:{seconds:1}\n`,
    );
  const logs = join(root, "brain", id, ".system_generated", "logs");
  put(join(logs, "transcript.jsonl"), jsonl(...rows.slice(-2)));
  return put(join(logs, "transcript_full.jsonl"), jsonl(...rows));
}

function put(file: string, text: string): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** Appends a half-written row to a transcript. */
export function tear(file: string): void {
  if (existsSync(file)) appendFileSync(file, '{"type":"user","half');
}

/** The columns that are read of the client's tables, and those that it does not leave empty. */
const OPENCLAW_TABLES = `
  CREATE TABLE IF NOT EXISTS session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT NOT NULL, spawned_by TEXT, label TEXT,
    display_name TEXT);
  CREATE TABLE IF NOT EXISTS session_windows (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, transcript_updated_at INTEGER, spawned_by TEXT, display_name TEXT);
  CREATE TABLE IF NOT EXISTS transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER NOT NULL,
    event_zstd BLOB, event_utf8_bytes INTEGER, PRIMARY KEY (session_id, seq));
  CREATE TABLE IF NOT EXISTS session_transcript_active_events (session_id TEXT NOT NULL, active_position INTEGER NOT NULL,
    event_seq INTEGER NOT NULL, PRIMARY KEY (session_id, active_position));
  CREATE TABLE IF NOT EXISTS session_transcript_archives (session_id TEXT NOT NULL, generation TEXT NOT NULL, reason TEXT NOT NULL,
    encoding TEXT NOT NULL, archive_blob BLOB NOT NULL, archive_name TEXT NOT NULL, created_at INTEGER NOT NULL,
    PRIMARY KEY (session_id, generation));
  CREATE TABLE IF NOT EXISTS session_transcript_cold_archives (session_id TEXT NOT NULL PRIMARY KEY, archive_name TEXT NOT NULL,
    archived_at INTEGER NOT NULL, storage TEXT NOT NULL, archive_blob BLOB);`;

/** Opens the client's database of an agent in this home, made when missing. */
export function openOpenclaw({ home }: TemporaryHome, agent = "main"): Database {
  const file = join(home, ".openclaw", "agents", agent, "agent", "openclaw-agent.sqlite");
  mkdirSync(dirname(file), { recursive: true });
  const db = new Database(file);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; ${OPENCLAW_TABLES}`);
  return db;
}

function writeOpenclaw(home: TemporaryHome, session: HostSession): string {
  using db = openOpenclaw(home);
  db.transaction(() => putOpenclaw(db, session))();
  return db.filename;
}

/** Puts a session into the client's tables; returns its events. */
export function putOpenclaw(db: Database, session: HostSession): Row[] {
  const { id, title = null, parentId } = session;
  const [start, end] = [Date.parse(timeOf(session, 0)), Date.parse(timeOf(session, session.steps.length))];
  const events = openclawEvents(session);
  const spawner = parentId === undefined ? null : `agent:main:${parentId}`;
  db.query("INSERT OR REPLACE INTO session_nodes VALUES (?, ?, ?, ?, NULL)").run(
    `agent:main:${id}`,
    id,
    spawner,
    title,
  );
  db.query("INSERT OR REPLACE INTO session_windows VALUES (?, ?, ?, ?, ?, ?, NULL)").run(
    ...([id, `agent:main:${id}`, start, end, end, spawner] as const),
  );
  for (const [seq, event] of events.entries()) putOpenclawEvent(db, { id, seq, event });
  return events;
}

/** Puts one event at the end of a session's live branch; longer ones are compressed, as the client does. */
export function putOpenclawEvent(
  db: Database,
  { id, seq, event }: { id: string; seq: number; event: Row },
): void {
  const json = JSON.stringify(event);
  const isLong = json.length >= 1024;
  db.query("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?, ?)").run(
    ...([
      id,
      seq,
      isLong ? null : json,
      0,
      isLong ? zstdCompressSync(json) : null,
      Buffer.byteLength(json),
    ] as const),
  );
  const next = db
    .query("SELECT count(*) AS n FROM session_transcript_active_events WHERE session_id = ?")
    .get(id);
  if (seq > 0)
    db.query("INSERT INTO session_transcript_active_events VALUES (?, ?, ?)").run(
      id,
      (next as { n: number }).n,
      seq,
    );
}

/** Returns the events of a session as the client writes them, in pi's form. */
export function openclawEvents(session: HostSession): Row[] {
  const { id: sessionId, cwd, steps } = session;
  let parentId: string | null = null;
  const event = (type: string, step: number, more: Row): Row => {
    const id = uuidFrom(`${sessionId} ${type} ${step} ${JSON.stringify(more)}`);
    const row = { type, id, parentId, timestamp: timeOf(session, step), ...more };
    parentId = id;
    return row;
  };
  const message = (step: number, role: string, more: Row) =>
    event("message", step, { message: { role, ...more } });
  return [
    { type: "session", version: 4, id: sessionId, timestamp: timeOf(session, 0), cwd },
    event("custom", 0, { customType: "model-snapshot", data: { text: "not-conversation" } }),
    ...steps.flatMap((step, i) => {
      if ("says" in step && step.says === "user") return [message(i, "user", { content: step.text })];
      if ("says" in step) return [message(i, "assistant", { content: [{ type: "text", text: step.text }] })];
      const isRun = "runs" in step;
      const input = isRun
        ? { command: step.runs }
        : { path: step.edits, edits: [{ oldText: step.from, newText: step.to }] };
      const call = { type: "toolCall", id: `call_${i}`, name: isRun ? "exec" : "edit", arguments: input };
      const exit = isRun ? (step.exit ?? 0) : 0;
      const aggregated = isRun
        ? `${step.output}${exit === 0 ? "" : `\n\n(Command exited with code ${exit})`}`
        : "";
      const details = isRun
        ? { status: "completed", exitCode: exit, aggregated }
        : { changed: true, patch: `--- x\n+++ x\n${patchOf(step)}` };
      const blocks = [
        isRun ? aggregated : "Successfully replaced 1 block(s).",
        "not-conversation: a plugin's words",
      ];
      const content = blocks.map((text) => ({ type: "text", text }));
      const result = { toolCallId: `call_${i}`, toolName: call.name, content, details, isError: false };
      return [message(i, "assistant", { content: [call] }), message(i, "toolResult", result)];
    }),
  ];
}

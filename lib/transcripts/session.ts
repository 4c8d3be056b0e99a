/**
 * The nouns that every part shares. Shapes only: no code, no imports.
 *
 * Times are ISO-8601 UTC strings. `line` is the 1-based line of the transcript file, `offset` and `end` are byte
 * positions: the line starts at `offset`, and `end` is the first byte after its newline.
 */

/** The name of a host in the table of hosts. OpenClaw's files are in pi's format; a folder of `{role, content}` lines is `plain`. */
export type Agent = string;

/** One conversation, as far as it is known from its file's path and first bytes. */
export interface Session {
  /** The host's own id. */
  id: string;
  agent: Agent;
  /** Absolute path of the transcript. */
  file: string;
  /** What people call it: Volute name, meta file name or host title. */
  name?: string | undefined;
  /** The directory it works in, from its records. */
  cwd?: string | undefined;
  /** The session that started this one, for subagent transcripts. */
  parentId?: string | undefined;
  startedAt?: string | undefined;
  /** The other machine that it is from, where its transcript is synced to this one. */
  machine?: string | undefined;
  /** The time of the last dated row where that was read, else the file's. */
  updatedAt: string;
  /** When the file was last changed: a copied or restored file is not a session that went on. */
  modifiedAt: string;
  /** Bytes. */
  size: number;
}

export type ToolAction = "edit" | "read" | "run" | "search" | "other";

export interface ToolCall {
  name: string;
  /** The primary argument on one line, not shortened. */
  target: string;
  action: ToolAction;
  /** Files named by the call (several for a patch), as written there. */
  paths: string[];
  /** The whole input as text: a command, a diff, a written file, or the arguments. Only where results are wanted. */
  input?: string | undefined;
}

export type DeedKind = "command" | "edit" | "write" | "read" | "search" | "fetch" | "other";

/** `unknown`: the transcript holds no result. */
export type DeedOutcome = "done" | "failed" | "rejected" | "running" | "unknown";

/** A tool call with what came of it, cut to what is worth keeping. */
export interface Deed {
  /** Line of the call. */
  line: number;
  resultLine?: number | undefined;
  at?: string | undefined;
  kind: DeedKind;
  /** Name of the tool. */
  tool: string;
  /** What it was done to, on one line: a path, a command, a query. */
  target: string;
  paths: string[];
  /** The command, the changed lines, the head of a written file, the arguments; empty when the target says it all. */
  input: string;
  outcome: DeedOutcome;
  /** The end of what came back; its beginning, too, if it failed. */
  result: string;
}

/**
 * One thing said or done. A transcript row gives none, one or several (text and tool calls of one message share the
 * row's line). `result` entries are produced only when asked for.
 */
export interface Entry {
  line: number;
  offset: number;
  end: number;
  /** The host's id of the row or message; the same in every copy of it (forks). */
  id?: string | undefined;
  /** `summary` is a compaction's; `result` is what a tool gave back. */
  kind: "user" | "assistant" | "tool" | "summary" | "result";
  text: string;
  at?: string | undefined;
  /** On `tool` entries. */
  tool?: ToolCall;
  /** On `tool` and `result` entries: pairs a call with its result. */
  callId?: string | undefined;
  /** On `result` entries. */
  isError?: boolean | undefined;
  /** On `result` entries: the user rejected the call, or what it started is still running. */
  state?: "rejected" | "running" | undefined;
  /** On `result` entries: the unified diff that the host kept of an edit. */
  patch?: string | undefined;
  /** Tokens in the model's context as the host reported them with this message. */
  contextTokens?: number | undefined;
}

/** The first and last line of rows that follow each other. */
export type LineSpan = [from: number, to: number];

/** A place in a transcript between two lines. */
export interface Cursor {
  /** Bytes before it. */
  offset: number;
  /** Lines before it. */
  line: number;
}

/** A piece of an exchange, small enough to find and to quote. */
export interface Chunk {
  sessionId: string;
  /** Position in the session, from 0. */
  index: number;
  at?: string | undefined;
  firstLine: number;
  lastLine: number;
  /** Ids of the rows it was made of, to detect copies. */
  entryIds: string[];
  speakers: ("user" | "assistant")[];
  topics: string[];
  hasDecision: boolean;
  hasAction: boolean;
  /** `User: …` / `Assistant: …` lines. */
  content: string;
  /** Where each message begins in the content, and the line of its transcript row. */
  rows: { start: number; line: number }[];
  /** What the content is read with: its date, who talks, topics and subject, each on a line, and a blank line. */
  header: string;
  /** One line per tool call: searchable, never shown. */
  tools: string;
  tokens: number;
}

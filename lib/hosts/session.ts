/**
 * The nouns that every part shares. Shapes only: no code, no imports.
 *
 * Times are ISO-8601 UTC strings. `line` is the 1-based line of the transcript file, `offset` and `end` are byte
 * positions: the line starts at `offset`, and `end` is the first byte after its newline.
 */

/** The name of a host in the table of hosts. OpenClaw's files are in pi's format; a folder of `{role, content}` lines is `plain`. */
export type Agent = string;

/** One conversation, as far as it is known. What knows less of it is a part of this. */
export interface Session {
  /** The host's own id. */
  id: string;
  agent: Agent;
  /** Absolute path of the transcript. */
  file: string;
  /** Its name for people: Volute name, meta file name or host title. */
  name?: string | undefined;
  /** The directory it works in, from its records. */
  cwd?: string | undefined;
  /** The directory of its project, or the address of its repository. */
  project?: string | undefined;
  /** The session that started this one, for subagent transcripts. */
  parentId?: string | undefined;
  startedAt?: string | undefined;
  /** The other machine that it is from, where its transcript is synced to this one. */
  machine?: string | undefined;
  /** The person who shares it, unless it is of this machine's user. */
  owner?: string | undefined;
  /** True if only our own copy of its transcript is left. */
  archived?: boolean | undefined;
  /** The time of the last dated row where that was read, else the file's. */
  updatedAt: string;
  /** The time of the last change: a copied or restored file is not a session that went on. */
  modifiedAt: string;
  /** Bytes. */
  size: number;
}

/** Facts of a session; each may be unknown. */
export type PartlyKnown<K extends keyof Session> = { [F in K]?: Session[F] | undefined };

/** The names that tell a session from all others. */
export type SessionKey = Pick<Session, "agent" | "id">;

/** The identity of a session, with the file it is read from. */
export type SessionIdentity = Pick<Session, "agent" | "id" | "file">;

/** The session that a hook or a command runs in, and for which it looks at the others. */
export interface Viewer extends Pick<Session, "id">, PartlyKnown<"file"> {
  /** Its directory, which decides the project. */
  cwd: string;
}

export interface ToolCall {
  name: string;
  /** The primary argument on one line, not shortened. */
  target: string;
  kind: CallKind;
  /** Files named by the call (several for a patch), as written there. */
  paths: string[];
  /** The whole input as text: a command, a diff, a written file, or the arguments. Only where results are wanted. */
  input?: string | undefined;
  /** The arguments as JSON where one of them may be a secret by its name, to be judged with it. */
  json?: string | undefined;
}

/** The place of a row in its transcript. */
interface RowPlace {
  line: number;
  /** Position among what its line gives: text and tool calls of one message may share a line. */
  nth: number;
  at?: string | undefined;
  /** The characters of a long message that it is. @default all */
  part?: { from: number; to: number } | undefined;
}

/** The speaker of a message; a compaction's summary has none. */
export type Speaker = "user" | "assistant";

/** Something that was said. */
export interface Said<Who extends Speaker | "summary" = Speaker | "summary"> extends RowPlace {
  who: Who;
  text: string;
  /** True if it is the user's answer to a tool that asked, while the work goes on. */
  isAnswer?: boolean | undefined;
  /** False for a row of the user's that is not their word: a program wrote it, or another person. */
  typed?: boolean | undefined;
}

export type CallKind = "command" | "edit" | "write" | "read" | "search" | "fetch" | "other";

/** `unknown`: the transcript holds no result. */
export type Outcome = "done" | "failed" | "rejected" | "running" | "unknown";

/** A tool call with what came of it. */
export interface Done extends RowPlace {
  who: "tool";
  /** Name of the tool. */
  tool: string;
  kind: CallKind;
  /** The object of the deed, on one line: a path, a command, a query. */
  target: string;
  paths: readonly string[];
  /** The command, the diff, the written file, the arguments; empty when the target says it all. */
  input: string;
  outcome: Outcome;
  /** The result. */
  result: string;
  resultLine?: number | undefined;
  /** The unified diff that the host kept of an edit. */
  patch?: string | undefined;
}

/** The one form of what was said and done. */
export type Row = Said | Done;

/**
 * What a transcript line gives: nothing, or one entry or several; `toRows` makes rows of them, each call with its result.
 *
 */
export interface Entry {
  line: number;
  /** Position among the entries of its line. */
  nth: number;
  offset: number;
  end: number;
  /** The host's id of the row or message; the same in every copy of it (forks). */
  id?: string | undefined;
  /** `summary` is a compaction's; `result` is what a tool gave back. */
  kind: "user" | "assistant" | "tool" | "summary" | "result";
  text: string;
  /** On `user` entries: false where a program wrote it. */
  typed?: boolean | undefined;
  at?: string | undefined;
  /** On `tool` entries. */
  tool?: ToolCall | undefined;
  /** On `tool` and `result` entries: pairs a call with its result. */
  callId?: string | undefined;
  /** On `result` entries. */
  isError?: boolean | undefined;
  /** On `result` entries: the call, if that was an edit. */
  edit?: ToolCall | undefined;
  /** On `result` entries: the call was turned down or never begun, what it started is still running, or its end is not known. */
  state?: "rejected" | "running" | "unknown" | undefined;
  /** On `result` entries: the unified diff that the host kept of an edit. */
  patch?: string | undefined;
  /** On the first entry of an exchange that another machine shares: the topics of each of its chunks, or null. */
  topics?: readonly (readonly string[] | null)[] | undefined;
  /** Tokens in the model's context as the host reported them with this message. */
  contextTokens?: number | undefined;
}

/** The first and last line of rows that follow each other. */
export type LineSpan = [from: number, to: number];

/** Lines that are asked for. */
export interface LineRange {
  from: number;
  to: number;
  /** The rows before and after that are wanted too. */
  around: number;
}

/** A place in a transcript between two lines. */
export interface Cursor {
  /** Bytes before it. */
  offset: number;
  /** Lines before it. */
  line: number;
}

/**
 * The part of pi's extension interface that we use, by shape: nothing of pi is imported, so one extension fits all its
 * versions. What a version may lack is optional here and checked before use.
 */

/** A model of pi's registry. */
export interface PiModel {
  id: string;
  provider: string;
  baseUrl?: string;
  /** USD per million tokens. */
  cost?: { input?: number; output?: number };
}

interface PiUsage {
  input?: number;
  output?: number;
  cacheRead?: number;
  cacheWrite?: number;
  cost?: { total?: number };
}

export interface PiReply {
  content: readonly { type: string; text?: string }[];
  stopReason?: string;
  errorMessage?: string;
  usage?: PiUsage;
}

/** The fields of a session row that we read. */
export interface PiEntry {
  id: string;
  type?: string;
  message?: { role?: string };
  /** On messages of extensions. */
  customType?: string;
  /** On compactions. */
  firstKeptEntryId?: string;
  details?: unknown;
  /** ISO. */
  timestamp?: string;
}

export interface PiContext {
  cwd: string;
  model?: PiModel | undefined;
  /** True if a person can be asked: not in print and JSON mode. */
  hasUI?: boolean;
  ui: {
    /** Resolves to one of the options; undefined when the question is dismissed. */
    select?(
      title: string,
      options: string[],
      settings?: { signal?: AbortSignal },
    ): Promise<string | undefined>;
    notify(message: string, type?: "info" | "warning" | "error"): void;
    setStatus(key: string, text: string | undefined): void;
  };
  sessionManager: {
    getSessionId(): string;
    getSessionFile(): string | undefined;
    getLeafId(): string | null;
    getBranch(): readonly PiEntry[];
  };
  modelRegistry: {
    find?(provider: string, id: string): PiModel | undefined;
    complete?(
      model: PiModel,
      context: { systemPrompt?: string; messages: readonly unknown[] },
      options: { maxTokens: number; signal?: AbortSignal | undefined },
    ): Promise<PiReply>;
  };
  isIdle(): boolean;
  hasPendingMessages?(): boolean;
  compact(options: object): void;
}

export interface PiCommandContext extends PiContext {
  waitForIdle(): Promise<void>;
}

export interface PiTool {
  name: string;
  label: string;
  description: string;
  promptSnippet?: string;
  /** JSON schema. */
  parameters: object;
  execute(
    id: string,
    input: unknown,
    signal: AbortSignal | undefined,
    onUpdate: unknown,
    context: PiContext,
  ): Promise<{ content: { type: "text"; text: string }[]; details: unknown }>;
}

/** The entries that pi is about to summarise. */
interface PiPreparation {
  firstKeptEntryId?: string;
  tokensBefore?: number;
  messagesToSummarize?: readonly unknown[];
  turnPrefixMessages?: readonly unknown[];
  previousSummary?: string;
  userWantsSummary?: boolean;
  entriesToSummarize?: readonly { id: string }[];
}

/** The fields of an event that we read; each event has some of them. */
export interface PiEvent {
  prompt?: string;
  reason?: string;
  signal?: AbortSignal;
  /** The preparation by pi for a compaction, or for leaving a branch. */
  preparation?: PiPreparation;
  branchEntries?: readonly PiEntry[];
  /** The name of the tool whose result this is. */
  toolName?: string;
  input?: unknown;
  content?: readonly { type: string; text?: string }[];
  isError?: boolean;
}

export interface PiApi {
  on(event: string, handler: (event: PiEvent, context: PiContext) => unknown): unknown;
  registerCommand(
    name: string,
    command: { description: string; handler(args: string, context: PiCommandContext): Promise<void> },
  ): void;
  registerTool(tool: PiTool): void;
  appendEntry(customType: string, data: unknown): void;
  sendMessage?(
    message: { customType: string; content: string; display: boolean },
    options?: { deliverAs?: "steer" | "followUp" | "nextTurn" },
  ): void;
}

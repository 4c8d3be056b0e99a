/** pi as an extension sees it, without pi: events, a session file that entries are appended to, and one model. */

import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import type {
  PiApi,
  PiCommandContext,
  PiContext,
  PiEntry,
  PiEvent,
  PiReply,
  PiTool,
} from "../../hooks/pi/api.ts";
import { type PiState, startState } from "../../hooks/pi/state.ts";
import { type Config, loadConfig } from "../../lib/config/config.ts";
import { type TemporaryHome, writePi } from "./home.ts";
import { PI_SESSION, piEntry } from "./pi.ts";
import type { Row } from "./rows.ts";

export interface PiHost {
  state: PiState;
  config: Config;
  file: string;
  /** What the model was asked, oldest first. */
  asked: string[];
  /** Times pi was asked to compact. */
  compactions: number;
  /** What the status line showed, under which key. */
  statuses: [key: string, text: string][];
  /** What was shown to the user in passing. */
  notices: string[];
  /** What a person was asked, with the choices. */
  questions: string[][];
  /** Calls a tool as the model does; an error is its text. */
  call(tool: string, input: object): Promise<string>;
  /** Runs a command as the user does. */
  command(name: string, args?: string): Promise<void>;
  /** Puts rows into the session, as a turn does. */
  add(rows: readonly Row[]): void;
  /** Resolves to the last handler's answer. */
  emit(event: string, data?: PiEvent): Promise<unknown>;
  /** Returns what each handler of an event returned. */
  emitToEach(event: string, data?: PiEvent): Promise<unknown[]>;
  /** Resolves when no background work is left. */
  settled(): Promise<void>;
}

export interface PiHostOptions {
  rows: readonly Row[];
  /** What config.json says. @default what it says already */
  config?: object;
  /** The model's answer to a prompt, as JSON. */
  answer?: (prompt: string, signal: AbortSignal | undefined) => Promise<object>;
  /** `null`: pi has none. */
  model?: null;
  /** What a person chooses when asked; without it there is nobody to ask. */
  choose?: (title: string, choices: string[]) => Promise<string | undefined>;
}

/** Starts it on a session of its own. */
export async function piHost(home: TemporaryHome, options: PiHostOptions): Promise<PiHost> {
  const file = writePi(home, { rows: options.rows });
  mkdirSync(dirname(home.paths.config), { recursive: true });
  if (options.config) writeFileSync(home.paths.config, JSON.stringify(options.config));
  const handlers = new Map<string, ((data: PiEvent, context: PiContext) => unknown)[]>();
  const tools = new Map<string, PiTool>();
  const commands = new Map<string, (args: string, context: PiCommandContext) => Promise<void>>();
  let leaf = String(options.rows.at(-1)?.id);
  const append = (row: Row) => {
    appendFileSync(file, `${JSON.stringify(row)}\n`);
    leaf = String(row.id);
  };
  const pi: PiApi = {
    on: (event, handler) => handlers.set(event, [...(handlers.get(event) ?? []), handler]),
    registerCommand: (name, options) => void commands.set(name, options.handler),
    registerTool: (tool) => void tools.set(tool.name, tool),
    appendEntry: (customType, data) => append(piEntry("custom", { customType, data }, { parentId: leaf })),
  };
  const config = await loadConfig(home.env, home.project);
  const state = startState(pi, config);
  const asked: string[] = [];
  const model = { id: "fake-1", provider: "fake" };
  const complete = async (
    _: unknown,
    { messages }: { messages: readonly unknown[] },
    { signal }: { signal?: AbortSignal | undefined },
  ): Promise<PiReply> => {
    const prompt = JSON.stringify(messages);
    asked.push(prompt);
    const reply = await options.answer?.(prompt, signal);
    const usage = { input: 100, output: 20 };
    return { content: [{ type: "text", text: JSON.stringify(reply) }], stopReason: "stop", usage };
  };
  const host: PiHost = {
    state,
    config,
    file,
    asked,
    compactions: 0,
    statuses: [],
    notices: [],
    questions: [],
    async call(tool, input) {
      try {
        const called = tools.get(tool);
        // As pi does: what the schema does not take never reaches the tool.
        z.fromJSONSchema(called?.parameters as z.core.JSONSchema.JSONSchema).parse(input);
        const { content } = (await called?.execute("call", input, undefined, undefined, context)) ?? {};
        return content?.map(({ text }) => text).join("\n") ?? "";
      } catch (error) {
        return String(error);
      }
    },
    async command(name, args = "") {
      await commands.get(name)?.(args, { ...context, waitForIdle: async () => {} });
    },
    add(rows) {
      for (const row of rows) append({ ...row, parentId: leaf });
    },
    async emit(event, data = {}) {
      return (await host.emitToEach(event, data)).at(-1);
    },
    async emitToEach(event, data = {}) {
      const answers: unknown[] = [];
      for (const handler of handlers.get(event) ?? []) answers.push(await handler(data, context));
      return answers;
    },
    async settled() {
      while (state.pending.size > 0) await Promise.all(state.pending);
    },
  };
  const context: PiContext = {
    cwd: home.project,
    model: options.model === null ? undefined : model,
    hasUI: options.choose !== undefined,
    ui: {
      select: async (title, choices) => {
        host.questions.push([title, ...choices]);
        return options.choose?.(title, choices);
      },
      notify: (message) => void host.notices.push(message),
      setStatus(key, text) {
        if (text !== undefined) host.statuses.push([key, text]);
      },
    },
    sessionManager: {
      getSessionId: () => PI_SESSION,
      getSessionFile: () => file,
      getLeafId: () => leaf,
      getBranch: () => branchOf(file, leaf),
    },
    modelRegistry: { complete, find: () => model },
    isIdle: () => true,
    compact() {
      host.compactions++;
    },
  };
  return host;
}

/** The rows from the root to a leaf. */
function branchOf(file: string, leaf: string): PiEntry[] {
  const rows = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const byId = new Map(rows.map((row) => [row.id, row]));
  const branch: PiEntry[] = [];
  for (let row = byId.get(leaf); row && row.type !== "session"; row = byId.get(row.parentId))
    branch.unshift(row);
  return branch;
}

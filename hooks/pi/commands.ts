/**
 * Registers the `/obs-…` commands, which show observations, make them and control when they are made, and the model's tools,
 * which search past conversation, ask a session and recall an observation.
 */

import { describeError, SessionMemoryError } from "../../lib/base/errors.ts";
import { numberOf, recordOf, stringOf, stringsOf } from "../../lib/base/json.ts";
import { FOREIGN_LABEL, OWN_LABEL, splitWords } from "../../lib/base/text.ts";
import type { SessionOutcome, Steps } from "../../lib/observe/observe-session.ts";
import type { PiCommandContext, PiContext, PiTool } from "./api.ts";
import { namingModel, observingModel } from "./models.ts";
import { changeObserving, readForObserving } from "./observations.ts";
import { describeWithHint, exclusively, type PiState, pathsFor } from "./state.ts";

const VIEW_LINES = 160; // promised
const LIMIT_MAX = 20; // a tool result of a page

/** The call of a command. */
interface Called {
  words: string[];
  context: PiCommandContext;
  state: PiState;
}

interface Command {
  /** As pi lists it, after the slash. */
  name: string;
  description: string;
  /** Returns what the user is notified of, which is not part of the conversation. */
  run(called: Called): Promise<string | undefined>;
}

const COMMANDS: readonly Command[] = [
  {
    name: "obs-memory-status",
    description: "Observations: tokens, thresholds, mode, what is covered",
    async run({ state, context }) {
      const memory = await requireObserving(state, context);
      const { observationStatus, statusText } = await import("../../lib/observe/observe-view.ts");
      const none = `none: observe.model is ${memory.settings.model}`;
      const observer = observingModel(state.config, context)?.name ?? (memory.canObserve ? "rules" : none);
      return statusText(observationStatus(memory, observer));
    },
  },
  {
    name: "obs-auto-compact",
    description: "[on|off] [mode] [observer] [reflector] [retain]: observe and compact by itself",
    run: ({ state, words }) => changeSettings(state, autoCompactChanges(words)),
  },
  {
    name: "obs-mode",
    description: "[buffered|blocking]: observe after turns, or at compaction",
    run: ({ state, words: [mode] }) => changeSettings(state, mode === undefined ? {} : { mode }),
  },
  {
    name: "obs-view",
    description: "[obs] [raw] [maxLines]: the observations, or what is not yet observed",
    run: viewObservations,
  },
  {
    name: "obs-reflect",
    description: "[focus]: condense the observations now",
    run: (called) =>
      whenIdle(called, async (run) => {
        const focus = called.words.join(" ") || undefined;
        const { reflected } = await run({ reflecting: { focus } });
        if (!reflected) return "nothing changed";
        const { tokens, note } = reflected;
        return `reflected: ${tokens.before} → ${tokens.after} tokens${note === undefined ? "" : ` (${note})`}`;
      }),
  },
  {
    name: "obs-dump",
    description: "The ledger's records as JSON lines",
    async run({ state, context }) {
      const { ledger } = await requireObserving(state, context);
      return ledger.map((record) => JSON.stringify(record)).join("\n") || "no records yet";
    },
  },
  {
    name: "obs-rebuild",
    description: "Observe the whole session again",
    run: (called) =>
      whenIdle(called, async (run) => {
        const { observed, reason } = await run({ when: "again" });
        if (reason !== undefined || !observed) return `nothing changed: ${reason}`;
        return `observed again: ${observed.observations} observations in ${observed.steps} steps`;
      }),
  },
];

/** Registers the commands. */
export function registerObservationCommands(state: PiState): void {
  for (const command of COMMANDS) registerCommand(state, command);
}

export function registerCommand(state: PiState, { name, description, run }: Command): void {
  state.pi.registerCommand(name, {
    description,
    async handler(args, context) {
      try {
        const text = await redacted(state, () => run({ words: splitWords(args), context, state }));
        if (text !== undefined) context.ui.notify(text, "info");
      } catch (error) {
        context.ui.notify(describeError(error), "error");
      }
    },
  });
}

/** Returns an answer redacted, or throws an error whose message is. */
async function redacted<T extends string | undefined>(
  { config: { settings } }: PiState,
  answer: () => Promise<T>,
): Promise<T | string> {
  const { exitBy } = await import("../exits.ts");
  const redact = exitBy(settings);
  try {
    return redact(await answer());
  } catch (error) {
    throw new Error(redact(describeWithHint(error)));
  }
}

/** Works on the observations once pi is idle and nobody else observes. */
async function whenIdle(
  { state, context }: Called,
  work: (run: (steps: Steps) => Promise<SessionOutcome>) => Promise<string>,
): Promise<string> {
  await context.waitForIdle();
  const { runSteps } = await import("../../lib/observe/observe-session.ts");
  const observe = async () => {
    const memory = await requireObserving(state, context);
    return await work((steps) => runSteps({ ...memory, ...steps }));
  };
  return (await exclusively(state, observe)) ?? "";
}

async function changeSettings(state: PiState, changes: Record<string, string>): Promise<string> {
  const { mode, auto, observerTokens, reflectorTokens, retainTokens } = await changeObserving(state, changes);
  return `observations: ${mode}, automatic ${auto ? "on" : "off"}, compact at ${observerTokens} + ${retainTokens} retained, reflect at ${reflectorTokens}`;
}

async function viewObservations({ state, words, context }: Called): Promise<string> {
  const memory = await requireObserving(state, context);
  const lines = Number(words.find((word) => /^\d+$/.test(word)) ?? VIEW_LINES);
  const { viewLines } = await import("../../lib/observe/observe-view.ts");
  const views = words.includes("raw") ? words : ["obs"];
  const viewed = viewLines(memory, views, state.config.settings);
  return viewed.slice(-lines).join("\n") || "nothing observed yet";
}

async function requireObserving(state: PiState, context: PiContext) {
  const memory = await readForObserving(state, context);
  if (memory) return memory;
  throw new SessionMemoryError("NOT_FOUND", "Cannot look at this session: it is not kept in a file");
}

/** Parses `on buffered 30000 40000 8000`, each part optional, numbers in this order. */
function autoCompactChanges(words: readonly string[]): Record<string, string> {
  const changes: Record<string, string> = {};
  const numbers = ["observerTokens", "reflectorTokens", "retainTokens"];
  for (const word of words) {
    const key = word === "on" || word === "off" ? "auto" : /^\d+$/.test(word) ? numbers.shift() : "mode";
    if (key === undefined) throw new SessionMemoryError("USAGE", `Cannot use "${word}": one number too many`);
    changes[key] = word;
    if (word === "on") changes.early = "yes"; // who asks for it is not asked again
  }
  return changes;
}

/** The call of a tool. */
interface Asked {
  input: Record<string, unknown>;
  context: PiContext;
  signal: AbortSignal | undefined;
  state: PiState;
}

interface Tool extends Omit<PiTool, "execute"> {
  /** The line before the answer, which says whose words it holds. */
  says: string;
  run: (asked: Asked) => Promise<string>;
}

/** Registers the tools. */
export function registerTools(state: PiState): void {
  for (const { says, run, ...shape } of TOOLS)
    state.pi.registerTool({
      ...shape,
      async execute(_, input, signal, __, context) {
        const text = await redacted(state, () => run({ input: recordOf(input), context, signal, state }));
        return { content: [{ type: "text", text: `${says}\n${text}` }], details: undefined };
      },
    });
}

async function search({ input, context, signal, state: { config } }: Asked): Promise<string> {
  const { searchAsText } = await import("../../scripts/search.ts");
  const limit = Math.min(numberOf(input.limit) ?? 5, LIMIT_MAX);
  const query = stringOf(input.query) ?? stringsOf(input.query);
  const asked = { query, filters: recordOf(input.filters), limit, cwd: context.cwd };
  const currentSession = context.sessionManager.getSessionId();
  const looking = { ...config, paths: pathsFor(config, context), currentSession };
  const { text } = await searchAsText(asked, { config: looking, ...(signal ? { signal } : {}) });
  return text || "nothing relevant found";
}

async function askSession({ input, context, signal, state: { config } }: Asked): Promise<string> {
  const complete = namingModel(config, context)?.complete;
  if (!complete) {
    const message = "Cannot ask a session: config.json names no model: neither modelKeys nor llm";
    throw new SessionMemoryError("NO_MODEL", message, { hint: "use session_search with filters.session" });
  }
  const { querySession } = await import("../../lib/naming/question.ts");
  const { findPlace } = await import("../../lib/index/find-place.ts");
  const reference = stringOf(input.session) ?? stringOf(input.sessionId);
  if (!reference)
    throw new SessionMemoryError("USAGE", "Expected a session", { hint: 'give its id, name or "last"' });
  const [paths, current] = [pathsFor(config, context), context.sessionManager.getSessionId()];
  const found = await findPlace(reference, { paths, cwd: context.cwd, current });
  const how = { complete, paths, signal };
  const { answer, confidence, citations, notes } = await querySession(
    found,
    stringOf(input.question) ?? "",
    how,
  );
  return JSON.stringify({ answer, confidence, citations, notes }, null, 1);
}

async function recall({ input, context, state }: Asked): Promise<string> {
  const memory = await requireObserving(state, context);
  const { recallObservation } = await import("../../lib/observe/observe-view.ts");
  return recallObservation(memory, stringOf(input.id) ?? "", state.config.settings).text;
}

const TEXT = { type: "string" };
const TEXTS = { type: "array", items: TEXT };
const FLAG = { type: "boolean" };

/** pi refuses what a schema does not take, and each is part of every request: what it takes is named, little is explained. */
const TOOLS: readonly Tool[] = [
  {
    name: "session_search",
    label: "Session search",
    description:
      "Searches past conversation with coding agents on this machine for what was said, decided or done. Give 3-4 phrasings of one question.",
    promptSnippet: "find what was said or decided in past sessions",
    parameters: {
      type: "object",
      required: ["query"],
      properties: {
        query: { anyOf: [TEXTS, TEXT] },
        filters: {
          type: "object",
          properties: {
            after: { ...TEXT, description: "2026-02-03, 7d" },
            before: TEXT,
            speaker: { enum: ["user", "assistant"] },
            topics: TEXTS,
            has_decision: FLAG,
            has_action: FLAG,
            agent: TEXT,
            session: TEXT,
            project: TEXT,
            file: TEXT,
            error: TEXT,
            command: TEXT,
          },
        },
      },
    },
    says: FOREIGN_LABEL,
    run: search,
  },
  {
    name: "query_session",
    label: "Ask a session",
    description: "Asks one past session a question, by a model call: search first.",
    parameters: {
      type: "object",
      required: ["question"],
      properties: { session: TEXT, sessionId: { ...TEXT, description: "as session" }, question: TEXT },
    },
    says: FOREIGN_LABEL,
    run: askSession,
  },
  {
    name: "recall_observation",
    label: "Recall an observation",
    description: "Shows the conversation behind an observation's [id].",
    parameters: { type: "object", required: ["id"], properties: { id: TEXT } },
    says: OWN_LABEL,
    run: recall,
  },
];

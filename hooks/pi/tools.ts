/** The tools that pi's model may call: searching past conversation, asking a session, and recalling an observation. */

import { describeError, SessionMemoryError } from "../../lib/base/errors.ts";
import { arrayOf, numberOf, recordOf, stringOf } from "../../lib/base/json.ts";
import { FOREIGN_LABEL, OWN_LABEL } from "../../lib/base/text.ts";
import type { Config } from "../../lib/config/config.ts";
import { redactor } from "../../lib/redact/redact.ts";
import type { PiContext, PiTool } from "./api.ts";
import { namingModel } from "./models.ts";
import { on, type PiState, pathsOf } from "./state.ts";

/** A question to a session costs tens of thousands of tokens: in a loop that would be a bill. */
const QUERIES_PER_TURN = 3;
const LIMIT_MAX = 20;

/** Registers the tools. */
export function registerTools(state: PiState, config: Config): void {
  const { settings } = config;
  const redact = redactor(settings.redact.extra);
  let queries = 0;
  on(state, "agent_start", () => {
    queries = 0;
  });
  const tool = (
    shape: Omit<PiTool, "execute">,
    run: (input: Record<string, unknown>, context: PiContext, signal?: AbortSignal) => Promise<string>,
  ) =>
    state.pi.registerTool({
      ...shape,
      async execute(_, input, signal, __, context) {
        try {
          const label = shape === RECALL ? OWN_LABEL : FOREIGN_LABEL;
          const text = redact(await run(recordOf(input), context, signal));
          return { content: [{ type: "text", text: `${label}\n${text}` }], details: undefined };
        } catch (error) {
          const hint = error instanceof SessionMemoryError && error.hint ? `\nhint: ${error.hint}` : "";
          throw new Error(redact(`${describeError(error)}${hint}`));
        }
      },
    });

  tool(SEARCH, async (input, context, signal) => {
    const { searchAsText } = await import("../../scripts/search.ts");
    const query = arrayOf(input.query).filter((phrasing) => typeof phrasing === "string");
    const { text } = await searchAsText(
      {
        query: typeof input.query === "string" ? input.query : query,
        filters: recordOf(input.filters),
        limit: Math.min(numberOf(input.limit) ?? 5, LIMIT_MAX),
        cwd: context.cwd,
      },
      {
        config: {
          ...config,
          paths: pathsOf(config, context),
          currentSession: context.sessionManager.getSessionId(),
        },
        ...(signal ? { signal } : {}),
      },
    );
    return text === "" ? "nothing relevant found" : text;
  });

  tool(QUERY, async (input, context, signal) => {
    if (++queries > QUERIES_PER_TURN) {
      throw new SessionMemoryError(
        "BUDGET_EXCEEDED",
        `Cannot ask more than ${QUERIES_PER_TURN} questions in one turn`,
        {
          hint: "use session_search, or ask the user to go on",
        },
      );
    }
    const complete = namingModel(config, context);
    if (!complete) {
      throw new SessionMemoryError(
        "NO_MODEL",
        "Cannot ask a session: config.json names no model: neither modelKeys nor llm",
        {
          hint: "use session_search with filters.session",
        },
      );
    }
    const [{ querySession }, { resolveSession }] = await Promise.all([
      import("../../scripts/query-session.ts"),
      import("../../lib/sessions/resolve.ts"),
    ]);
    const current = context.sessionManager.getSessionId();
    const paths = pathsOf(config, context);
    const session = resolveSession(stringOf(input.session) ?? stringOf(input.sessionId) ?? "", {
      paths,
      cwd: context.cwd,
      current,
    });
    const question = stringOf(input.question) ?? "";
    const { answer, confidence, citations, notes } = await querySession(session, question, {
      complete,
      settings,
      signal,
    });
    return JSON.stringify({ answer, confidence, citations, notes }, null, 1);
  });

  tool(RECALL, async (input, context) => {
    const [{ recallObservation }, { observing }] = await Promise.all([
      import("../../lib/observe/observe-view.ts"),
      import("./observing.ts"),
    ]);
    const now = await observing(state, { config, context });
    if (!now) throw new SessionMemoryError("NOT_FOUND", "Cannot recall: this session is not kept in a file");
    const { timezone } = settings;
    return recallObservation(now.memory, {
      id: stringOf(input.id) ?? "",
      timezone,
      redact: now.common.redact,
    }).text;
  });
}

const SEARCH = {
  name: "session_search",
  label: "Session search",
  description:
    "Searches all past conversation with coding agents on this machine. Give 3-4 phrasings of one question in different words. Prints the rows that answer, each with its transcript line, strong hits alone where there are any; what was done ([Edit …], [Bash …]) is surer than what was said.",
  promptSnippet: "session_search: find what was said or decided in past sessions",
  parameters: {
    type: "object",
    required: ["query"],
    properties: {
      query: {
        anyOf: [{ type: "string" }, { type: "array", items: { type: "string" }, minItems: 1 }],
        description: "One question, or several phrasings of it",
      },
      filters: {
        type: "object",
        properties: {
          after: { type: "string", description: "2026-02-03, yesterday, 7d" },
          before: { type: "string" },
          speaker: { type: "string", enum: ["user", "assistant"] },
          about: { type: "string", description: "a person whose reported words or wishes are wanted" },
          topics: { type: "array", items: { type: "string" } },
          has_decision: { type: "boolean" },
          has_action: { type: "boolean" },
          session: { type: "string", description: "id or name" },
          agent: { type: "string", enum: ["claude", "pi", "codex", "plain"] },
          project: { type: "string" },
        },
      },
      limit: { type: "integer", minimum: 1, maximum: LIMIT_MAX },
    },
  },
};

const QUERY = {
  name: "query_session",
  label: "Ask a session",
  description:
    "Asks one whole past session a question and answers with cited transcript lines. Costs a model call over the session: use session_search first.",
  parameters: {
    type: "object",
    required: ["question"],
    properties: {
      session: { type: "string", description: "id, unique start of an id, or name" },
      sessionId: { type: "string", description: "the same as session" },
      question: { type: "string" },
    },
  },
};

const RECALL = {
  name: "recall_observation",
  label: "Recall an observation",
  description:
    "Shows the conversation behind an observation of this session, by the id in brackets at the end of its line. For what was compacted away.",
  parameters: {
    type: "object",
    required: ["id"],
    properties: { id: { type: "string" } },
  },
};

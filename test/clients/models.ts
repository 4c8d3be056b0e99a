/** Models on loopback for the real clients, each behind the API that its client speaks. */

/** One request as the client sent it. */
export interface ModelRequest {
  /** The whole body as JSON text. */
  raw: string;
  /** Role and text of each message, results of tools included. */
  messages: { role: string; text: string }[];
  /** Names of the tools offered. */
  tools: string[];
  /** How many results of tools the conversation holds. */
  results: number;
}

/** What the model says: a text ("Understood." unless given) or a call, and the input tokens that it claims for it. */
export type Reply = string | { text?: string; tool?: string; input?: object; tokens?: number };

export type Answer = (request: ModelRequest) => Reply | undefined | Promise<Reply | undefined>;

export interface Model {
  url: string;
  requests: ModelRequest[];
  stop(): void;
}

interface Said {
  text: string;
  /** In place of the text. */
  call: { name: string; input: object } | undefined;
  /** @default what a short conversation would take */
  tokens: number | undefined;
}

interface Api {
  /** What the client's base URL ends with. */
  base: string;
  /** The end of the path that asks for an answer. */
  asks: RegExp;
  /** Answers to what else the client asks for. */
  aside?: (path: string, raw: string) => Response | undefined;
  read(body: Body): Omit<ModelRequest, "raw">;
  respond(said: Said, context: { body: Body; path: string; id: string }): Response;
}

/** What is read of any API's request. */
interface Body {
  model: string;
  stream?: boolean;
  messages?: Message[];
  input?: Message[];
  contents?: {
    role: string;
    parts?: (Block & { functionResponse?: { response?: { output?: string } } })[];
  }[];
  tools?: { name?: string; function?: { name: string }; functionDeclarations?: { name: string }[] }[];
}

interface Message {
  type?: string;
  role?: string;
  content?: string | Block[] | null;
}

interface Block {
  type?: string;
  text?: string;
  content?: string | Block[];
}

function startModel(api: Api, answer: Answer): Model {
  const requests: ModelRequest[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(incoming) {
      const { pathname: path } = new URL(incoming.url);
      const raw = await incoming.text();
      const other =
        api.aside?.(path, raw) ?? (api.asks.test(path) ? undefined : new Response("no", { status: 404 }));
      if (other) return other;
      const body = JSON.parse(raw);
      const request = { raw, ...api.read(body) };
      requests.push(request);
      const id = String(requests.length);
      const reply = (await answer(request)) ?? {};
      const {
        text = "Understood.",
        tool,
        input = {},
        tokens,
      } = typeof reply === "string" ? { text: reply } : reply;
      const call = tool === undefined ? undefined : { name: tool, input };
      return api.respond({ text, call, tokens }, { body, path, id });
    },
  });
  return { url: `http://127.0.0.1:${server.port}${api.base}`, requests, stop: () => server.stop(true) };
}

/** The text of a message's content, in any API's form. */
function textIn(content: string | Block[] | null | undefined): string {
  if (typeof content === "string") return content;
  return (content ?? []).map(({ text, content }) => text ?? textIn(content)).join("\n");
}

function read({ role = "", content }: Message): { role: string; text: string } {
  return { role, text: textIn(content) };
}

function events(lines: readonly string[]): Response {
  return new Response(lines.join(""), { headers: { "content-type": "text/event-stream" } });
}

/** Anthropic's Messages API, for Claude Code. */
export function startAnthropic(answer: Answer = () => undefined): Model {
  return startModel(
    {
      base: "",
      asks: /^\/v1\/messages$/,
      aside: (path) => (path.endsWith("/count_tokens") ? Response.json({ input_tokens: 1000 }) : undefined),
      read({ messages = [], tools = [] }) {
        const blocks = messages.flatMap(({ content }) =>
          typeof content === "string" ? [] : (content ?? []),
        );
        return {
          messages: messages.map(read),
          tools: tools.map(({ name = "" }) => name),
          results: blocks.filter(({ type }) => type === "tool_result").length,
        };
      },
      respond({ text, call, tokens = 1000 }, { body, id }) {
        const block = call ? { type: "tool_use", id: `toolu_${id}`, ...call } : { type: "text", text };
        const usage = { input_tokens: tokens, output_tokens: 10 };
        const stop = { stop_reason: call ? "tool_use" : "end_turn", stop_sequence: null };
        const message = { id: `msg_fake_${id}`, type: "message", role: "assistant", model: body.model };
        if (!body.stream) return Response.json({ ...message, ...stop, content: [block], usage });
        const delta = call
          ? { type: "input_json_delta", partial_json: JSON.stringify(call.input) }
          : { type: "text_delta", text };
        const empty = call ? { ...block, input: {} } : { type: "text", text: "" };
        const all: [string, object][] = [
          ["message_start", { message: { ...message, stop_reason: null, content: [], usage } }],
          ["content_block_start", { index: 0, content_block: empty }],
          ["content_block_delta", { index: 0, delta }],
          ["content_block_stop", { index: 0 }],
          ["message_delta", { delta: stop, usage }],
          ["message_stop", {}],
        ];
        return events(
          all.map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`),
        );
      },
    },
    answer,
  );
}

/** Chat completions, for pi and most others. */
export function startChat(answer: Answer = () => undefined): Model {
  return startModel(
    {
      base: "/v1",
      asks: /\/chat\/completions$/,
      read({ messages = [], tools = [] }) {
        return {
          messages: messages.map(read),
          tools: tools.map(({ function: called }) => called?.name ?? ""),
          results: messages.filter(({ role }) => role === "tool").length,
        };
      },
      respond({ text, call, tokens: claimed }, { body, id }) {
        const tokens = claimed ?? Math.ceil(JSON.stringify(body).length / 4);
        const chunk = (choices: object[], extra: object = {}) =>
          `data: ${JSON.stringify({ id, object: "chat.completion.chunk", created: 0, model: body.model, choices, ...extra })}\n\n`;
        const delta = (part: object, finish_reason: string | null = null) =>
          chunk([{ index: 0, delta: part, finish_reason }]);
        const called = call && { name: call.name, arguments: JSON.stringify(call.input) };
        const said = called
          ? { tool_calls: [{ index: 0, id: `call_${id}`, type: "function", function: called }] }
          : { content: text };
        return events([
          delta({ role: "assistant", ...said }),
          delta({}, call ? "tool_calls" : "stop"),
          chunk([], { usage: { prompt_tokens: tokens, completion_tokens: 20, total_tokens: tokens + 20 } }),
          "data: [DONE]\n\n",
        ]);
      },
    },
    answer,
  );
}

/** OpenAI's Responses API, for Codex. */
export function startResponses(answer: Answer = () => undefined): Model {
  return startModel(
    {
      base: "/v1",
      asks: /\/responses$/,
      aside: (path) => (path.endsWith("/responses") ? undefined : Response.json({ models: [] })),
      read({ input = [], tools = [] }) {
        return {
          messages: input.filter(({ type }) => type === "message").map(read),
          tools: tools.map(({ name = "" }) => name),
          results: input.filter(({ type }) => type === "function_call_output").length,
        };
      },
      respond({ text, call, tokens = 1000 }, { id }) {
        const item = call
          ? {
              type: "function_call",
              id: `fc_${id}`,
              call_id: `call_${id}`,
              name: call.name,
              arguments: JSON.stringify(call.input),
            }
          : {
              type: "message",
              id: `msg_${id}`,
              role: "assistant",
              status: "completed",
              content: [{ type: "output_text", text, annotations: [] }],
            };
        const usage = {
          input_tokens: tokens,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: 10,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: tokens + 10,
        };
        const all: [string, object][] = [
          ["response.created", { response: { id: `resp_${id}` } }],
          ["response.output_item.done", { output_index: 0, item }],
          ["response.completed", { response: { id: `resp_${id}`, usage } }],
        ];
        return events(
          all.map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`),
        );
      },
    },
    answer,
  );
}

/** Gemini's API, for Gemini CLI, which first asks how hard a task is, again and again until it is told. */
export function startGemini(answer: Answer): Model {
  const COMPLEXITY = '{"complexity_reasoning": "made up", "complexity_score": 10}';
  const respond = (part: object, path: string) => {
    const body = {
      candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    };
    return path.includes(":stream") ? events([`data: ${JSON.stringify(body)}\n\n`]) : Response.json(body);
  };
  return startModel(
    {
      base: "",
      asks: /:(?:streamG|g)enerateContent$/,
      aside(path, raw) {
        if (path.endsWith(":countTokens")) return Response.json({ totalTokens: 10 });
        const isRouting = raw.includes('"responseMimeType":"application/json"');
        return isRouting ? respond({ text: COMPLEXITY }, path) : undefined;
      },
      read({ contents = [], tools = [] }) {
        const parts = contents.flatMap(({ parts = [] }) => parts);
        return {
          messages: contents.map(({ role, parts = [] }) => ({
            role,
            text: textIn(
              parts.map((part) => ({ text: part.functionResponse?.response?.output ?? part.text ?? "" })),
            ),
          })),
          tools: tools.flatMap(({ functionDeclarations = [] }) =>
            functionDeclarations.map(({ name }) => name),
          ),
          results: parts.filter(({ functionResponse }) => functionResponse).length,
        };
      },
      respond: ({ text, call }, { path }) =>
        respond(call ? { functionCall: { name: call.name, args: call.input } } : { text }, path),
    },
    answer,
  );
}

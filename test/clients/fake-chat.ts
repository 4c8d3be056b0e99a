/** A server on loopback that streams chat completions like an OpenAI-compatible one, for pi. */

export interface ChatRequest {
  /** The whole body as JSON text. */
  raw: string;
  /** Role and text of each message. */
  messages: { role: string; text: string }[];
  /** Names of the tools offered. */
  tools: string[];
  at: number;
}

export type ChatReply = string | { tool: string; input: object };

export interface FakeChat {
  url: string;
  requests: ChatRequest[];
  stop(): void;
}

interface Body {
  model: string;
  stream?: boolean;
  messages: { role: string; content: string | { text?: string }[] | null }[];
  tools?: { function: { name: string } }[];
}

/** What the model says to a request, sooner or later. */
export type Answer = (request: ChatRequest) => ChatReply | undefined | Promise<ChatReply | undefined>;

/** Starts the server. Without a reply from `answer` the model says "Understood." */
export function startFakeChat(answer: Answer): FakeChat {
  const requests: ChatRequest[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(incoming) {
      if (!new URL(incoming.url).pathname.endsWith("/chat/completions"))
        return new Response("no", { status: 404 });
      const raw = await incoming.text();
      const body = JSON.parse(raw) as Body;
      const request: ChatRequest = {
        raw,
        messages: body.messages.map(({ role, content }) => ({ role, text: textOf(content) })),
        tools: (body.tools ?? []).map((tool) => tool.function.name),
        at: Date.now(),
      };
      requests.push(request);
      return stream((await answer(request)) ?? "Understood.", {
        model: body.model,
        tokens: Math.ceil(raw.length / 4),
      });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/v1`, requests, stop: () => server.stop(true) };
}

function textOf(content: Body["messages"][number]["content"]): string {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("\n");
}

function stream(reply: ChatReply, { model, tokens }: { model: string; tokens: number }): Response {
  const id = `chatcmpl-${crypto.randomUUID()}`;
  const chunk = (choices: object[], extra: object = {}) =>
    `data: ${JSON.stringify({ id, object: "chat.completion.chunk", created: 0, model, choices, ...extra })}\n\n`;
  const delta = (part: object, finish: string | null = null) =>
    chunk([{ index: 0, delta: part, finish_reason: finish }]);
  const call =
    typeof reply === "string" ? undefined : { name: reply.tool, arguments: JSON.stringify(reply.input) };
  const body = [
    call
      ? delta({
          role: "assistant",
          tool_calls: [{ index: 0, id: `call_${id}`, type: "function", function: call }],
        })
      : delta({ role: "assistant", content: reply }),
    delta({}, call ? "tool_calls" : "stop"),
    chunk([], { usage: { prompt_tokens: tokens, completion_tokens: 20, total_tokens: tokens + 20 } }),
    "data: [DONE]\n\n",
  ];
  return new Response(body.join(""), { headers: { "content-type": "text/event-stream" } });
}

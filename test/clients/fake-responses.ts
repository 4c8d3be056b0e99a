/** A server on loopback that streams answers of OpenAI's Responses API, for Codex. */

export interface ResponsesRequest {
  /** Role and text of each message that the model is given. */
  messages: { role: string; text: string }[];
  /** The names of the skills that the model is told of. */
  raw: string;
}

export interface FakeResponses {
  url: string;
  requests: ResponsesRequest[];
  stop(): void;
}

interface Body {
  input: { type: string; role?: string; content?: { text?: string }[] }[];
}

export interface ResponsesReply {
  text?: string;
  /** A call of a tool, in place of the text. */
  call?: { name: string; arguments: object };
  /** What the answer is said to have cost. */
  inputTokens?: number;
}

/** Starts the server. Without a reply from `answer` the model says "Understood." */
export function startFakeResponses(
  answer: (request: ResponsesRequest) => ResponsesReply | undefined = () => undefined,
): FakeResponses {
  const requests: ResponsesRequest[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(incoming) {
      if (!new URL(incoming.url).pathname.endsWith("/responses")) return Response.json({ models: [] });
      const raw = await incoming.text();
      const { input } = JSON.parse(raw) as Body;
      const messages = input
        .filter(({ type }) => type === "message")
        .map(({ role = "", content = [] }) => ({
          role,
          text: content.map(({ text = "" }) => text).join("\n"),
        }));
      const request = { messages, raw };
      requests.push(request);
      return stream(answer(request) ?? {});
    },
  });
  return { url: `http://127.0.0.1:${server.port}/v1`, requests, stop: () => server.stop(true) };
}

function stream({ text = "Understood.", call, inputTokens = 100 }: ResponsesReply): Response {
  const id = `resp_${crypto.randomUUID()}`;
  const event = (type: string, rest: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
  const called = call && {
    type: "function_call",
    id: `fc_${crypto.randomUUID()}`,
    call_id: `call_${crypto.randomUUID()}`,
    name: call.name,
    arguments: JSON.stringify(call.arguments),
  };
  const item = called ?? {
    type: "message",
    id: `msg_${crypto.randomUUID()}`,
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }],
  };
  const usage = {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + 10,
  };
  const events = [
    event("response.created", { response: { id } }),
    event("response.output_item.done", { output_index: 0, item }),
    event("response.completed", { response: { id, usage } }),
  ];
  return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
}

/** A server on loopback that answers like Anthropic's Messages API and keeps what it was asked. */

export interface TextBlock {
  type: "text";
  text: string;
}

export interface ToolBlock {
  type: "tool_use";
  name: string;
  input: Record<string, unknown>;
}

/** One request as the client sent it. */
export interface MessagesRequest {
  /** The whole body as JSON text, for looking whether something reached the model. */
  raw: string;
  /** Text of the last user message. */
  lastUser: string;
  /** Whether the last user message brings a tool's result. */
  hasToolResult: boolean;
  /** Names of the tools offered. */
  tools: string[];
  /** When it came, ms since 1970. */
  at: number;
}

export interface FakeAnthropic {
  url: string;
  requests: MessagesRequest[];
  stop(): void;
}

/** What to answer, and how many input tokens to claim for it. */
export interface Reply {
  blocks: (TextBlock | ToolBlock)[];
  inputTokens?: number;
}

/** Whether a request is the client's own for a summary of the conversation. */
export function asksForSummary({ lastUser }: MessagesRequest): boolean {
  return /create a detailed summary|Respond with TEXT ONLY/i.test(lastUser);
}

/** Starts the server. Without a reply from `answer` the model says "Understood." */
export function startFakeAnthropic(answer: (request: MessagesRequest) => Reply | undefined): FakeAnthropic {
  const requests: MessagesRequest[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(incoming) {
      const { pathname } = new URL(incoming.url);
      const raw = await incoming.text();
      if (pathname.endsWith("/count_tokens")) return Response.json({ input_tokens: 1000 });
      if (incoming.method !== "POST" || !pathname.startsWith("/v1/messages")) {
        return Response.json(
          { type: "error", error: { type: "not_found_error", message: "no" } },
          { status: 404 },
        );
      }
      const body = JSON.parse(raw) as RequestBody;
      const request = describe(raw, body);
      requests.push(request);
      const reply = answer(request) ?? { blocks: [{ type: "text", text: "Understood." }] };
      return respond(reply, body, requests.length);
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, requests, stop: () => server.stop(true) };
}

interface RequestBody {
  model: string;
  stream?: boolean;
  messages: { role: string; content: string | { type: string; text?: string }[] }[];
  tools?: { name: string }[];
}

function describe(raw: string, body: RequestBody): MessagesRequest {
  const last = body.messages.findLast((message) => message.role === "user")?.content ?? "";
  const blocks = typeof last === "string" ? [{ type: "text", text: last }] : last;
  return {
    raw,
    lastUser: blocks.map((block) => block.text ?? "").join("\n"),
    hasToolResult: blocks.some((block) => block.type === "tool_result"),
    tools: (body.tools ?? []).map((tool) => tool.name),
    at: Date.now(),
  };
}

function respond({ blocks, inputTokens = 1000 }: Reply, body: RequestBody, number: number): Response {
  const content = blocks.map((block, i) =>
    block.type === "text" ? block : { ...block, id: `toolu_${number}_${i}` },
  );
  const message = {
    id: `msg_fake_${number}`,
    type: "message",
    role: "assistant",
    model: body.model,
    stop_reason: blocks.some((block) => block.type === "tool_use") ? "tool_use" : "end_turn",
    stop_sequence: null,
  };
  const usage = { input_tokens: inputTokens, output_tokens: 10 };
  if (!body.stream) return Response.json({ ...message, content, usage });
  const events: [string, object][] = [
    ["message_start", { message: { ...message, stop_reason: null, content: [], usage } }],
    ...content.flatMap((block, index) => blockEvents(block, index)),
    ["message_delta", { delta: { stop_reason: message.stop_reason, stop_sequence: null }, usage }],
    ["message_stop", {}],
  ];
  const text = events
    .map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
    .join("");
  return new Response(text, {
    headers: { "content-type": "text/event-stream", "request-id": `req_fake_${number}` },
  });
}

function blockEvents(block: TextBlock | (ToolBlock & { id: string }), index: number): [string, object][] {
  const isText = block.type === "text";
  const delta = isText
    ? { type: "text_delta", text: block.text }
    : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
  return [
    [
      "content_block_start",
      { index, content_block: isText ? { type: "text", text: "" } : { ...block, input: {} } },
    ],
    ["content_block_delta", { index, delta }],
    ["content_block_stop", { index }],
  ];
}

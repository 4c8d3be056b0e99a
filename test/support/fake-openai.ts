/**
 * A local server that answers like an OpenAI-compatible one: scripted chat replies, deterministic vectors, every
 * hostile way to fail, and a record of each request.
 *
 * It lives in the test's process: run what calls it with an asynchronous spawn, or nobody is there to answer.
 */

import { afterAll, beforeAll, beforeEach } from "bun:test";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the server does with one request. A plain string is the content of a well-formed chat completion. */
export type Reply =
  | string
  | { kind: "chat"; content: string | null; usage?: Usage; message?: object }
  | { kind: "status"; status: number; body?: unknown; headers?: Record<string, string> }
  | { kind: "raw"; body: string; contentType?: string }
  /** Headers and half of the body, then the connection is gone. */
  | { kind: "cut" }
  /** Never answers. */
  | { kind: "hang" }
  /** Goes on sending until the client closes; `onSent` hears how many bytes went. */
  /** Embeddings with what is wrong about them. */
  | { kind: "vectors"; fault?: "dimensions" | "missing" | "reversed" | "null"; usage?: Usage }
  | ((request: RecordedRequest) => Reply);

interface Usage {
  prompt_tokens: number;
  completion_tokens?: number;
}

export interface RecordedRequest {
  path: string;
  headers: Record<string, string | string[] | undefined>;
  /** The parsed JSON body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they sent
  body: any;
  /** The body's bytes as text: for looking whether something was sent at all. */
  text: string;
}

export interface FakeOpenAI {
  /** For `baseUrl` in config.json. */
  baseUrl: string;
  requests: RecordedRequest[];
  /** Requests to `/chat/completions`. */
  chats(): RecordedRequest[];
  /** Requests to `/embeddings`. */
  embeddings(): RecordedRequest[];
  /** All texts that were embedded, in the order they came. */
  embeddedTexts(): string[];
  /** Queues replies; each serves one chat request, the last one all that follow. */
  script(...replies: Reply[]): void;
  /** Queues replies for embedding requests; when they are used up, good vectors follow. */
  scriptEmbeddings(...replies: Reply[]): void;
  close(): Promise<void>;
}

/** A server for all tests of a file, which begin without requests and with these replies. */
export function serverPerFile(options: { dimensions?: number; replies?: Reply[] } = {}): FakeOpenAI {
  const server = {} as FakeOpenAI;
  beforeAll(async () => void Object.assign(server, await startFakeOpenAI(options)));
  beforeEach(() => {
    server.requests.length = 0;
    server.script(...(options.replies ?? []));
    server.scriptEmbeddings();
  });
  afterAll(() => server.close());
  return server;
}

/** Starts the server on a free port of 127.0.0.1. */
export async function startFakeOpenAI(
  options: { dimensions?: number; replies?: Reply[] } = {},
): Promise<FakeOpenAI> {
  const { dimensions = 1536 } = options;
  const requests: RecordedRequest[] = [];
  let chatReplies: Reply[] = options.replies ?? [];
  let embeddingReplies: Reply[] = [];

  const server = createServer(async (message, response) => {
    // a connection that is kept is closed by a timer, which a clock that stands still misleads
    response.setHeader("connection", "close");
    const text = await readBody(message);
    const request = { path: message.url ?? "", headers: message.headers, body: parseBody(text), text };
    requests.push(request);
    if (request.path.endsWith("/embeddings")) {
      answer(request, response, embeddingReplies.shift() ?? { kind: "vectors" }, dimensions);
    } else if (request.path.endsWith("/chat/completions")) {
      const reply = chatReplies.length > 1 ? chatReplies.shift() : chatReplies[0];
      answer(request, response, reply ?? "{}", dimensions);
    } else sendJson(response, 404, { error: { message: `no such path: ${request.path}` } });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  const to = (path: string) => requests.filter((request) => request.path.endsWith(path));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    chats: () => to("/chat/completions"),
    embeddings: () => to("/embeddings"),
    embeddedTexts: () => to("/embeddings").flatMap((request) => [request.body.input].flat()),
    script: (...replies) => {
      chatReplies = replies;
    },
    scriptEmbeddings: (...replies) => {
      embeddingReplies = replies;
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** Answers as a model would: with a name, observations of the lines it is given, or topics. */
export function answerAsModel({ body }: RecordedRequest): string {
  const [system = "", prompt = ""] = body.messages.map(({ content }: { content: string }) => content);
  const lines = [...prompt.matchAll(/^\[(\d+)\][^\n]*?: (.*)$/gm)];
  if (/You keep the memory/.test(system)) {
    const observations = lines.map(([, line, text = ""]) => ({
      priority: /next time|from now on|decided/i.test(text) ? "red" : "yellow",
      text: `The model on line ${line}: ${text.slice(0, 60)}`,
      sources: [Number(line)],
      ...(/next time|from now on/i.test(text) && { standing: true }),
    }));
    return JSON.stringify({ observations });
  }
  if (/topics/.test(system + prompt)) {
    const pieces = prompt.split(/^\d+\.$/m).slice(1);
    return JSON.stringify({
      topics: pieces.map((_: string, i: number) => ({ chunk: i + 1, tags: ["shopkeeping"] })),
    });
  }
  const [, asked = "a talk"] = /User: (.*)/.exec(prompt) ?? [];
  const words = asked.split(/\W+/).slice(0, 4).join(" ");
  return JSON.stringify({
    name: `About ${words}`,
    description: asked.slice(0, 80),
    summary: `Asked: ${asked}`,
    tags: ["shop"],
  });
}

/**
 * A unit vector that is near for texts sharing words: each word, lower-cased, adds to eight places of its own.
 * A text without words gets a fixed direction.
 */
export function fakeVector(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["∅"];
  for (const word of words) {
    let hash = 2166136261;
    for (const character of word) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16777619);
    for (let i = 0; i < 8; i++) {
      hash = Math.imul(hash ^ (hash >>> 15), 2246822507) + i;
      const place = (hash >>> 1) % dimensions;
      vector[place] = (vector[place] ?? 0) + (hash & 1 ? 1 : -1);
    }
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

function answer(request: RecordedRequest, response: ServerResponse, reply: Reply, dimensions: number): void {
  if (typeof reply === "function") answer(request, response, reply(request), dimensions);
  else if (typeof reply === "string") sendChat(request, response, { kind: "chat", content: reply });
  else if (reply.kind === "chat") sendChat(request, response, reply);
  else if (reply.kind === "vectors")
    sendVectors(request, response, reply, request.body.dimensions ?? dimensions);
  else if (reply.kind === "status") {
    const body = reply.body ?? { error: { message: "scripted failure" } };
    sendJson(response, reply.status, body, reply.headers);
  } else if (reply.kind === "raw") {
    response.writeHead(200, { "content-type": reply.contentType ?? "application/json" });
    response.end(reply.body);
  } else if (reply.kind === "cut") {
    response.writeHead(200, { "content-type": "application/json", "content-length": "4096" });
    response.write('{"choices":[{"message":{"role":"assistant","content":"{\\"na');
    setTimeout(() => response.destroy(), 20);
  }
  // "hang": nothing
}

function sendChat(
  request: RecordedRequest,
  response: ServerResponse,
  reply: Extract<Reply, { kind: "chat" }>,
): void {
  const usage = totalled(
    reply.usage ?? {
      prompt_tokens: Math.ceil(request.text.length / 4),
      completion_tokens: Math.ceil((reply.content?.length ?? 0) / 4),
    },
  );
  const message = { role: "assistant", content: reply.content, ...reply.message };
  const choice = { index: 0, finish_reason: "stop" };
  const base = { id: "chatcmpl-fake", created: 0, model: request.body?.model ?? "fake" };
  if (request.body?.stream !== true) {
    const choices = [{ ...choice, message }];
    sendJson(response, 200, { ...base, object: "chat.completion", choices, usage });
    return;
  }
  const chunk = { ...base, object: "chat.completion.chunk" };
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const part of [
    { ...chunk, choices: [{ index: 0, delta: message, finish_reason: null }] },
    { ...chunk, choices: [{ ...choice, delta: {} }] },
    { ...chunk, choices: [], usage },
  ]) {
    response.write(`data: ${JSON.stringify(part)}\n\n`);
  }
  response.end("data: [DONE]\n\n");
}

function sendVectors(
  request: RecordedRequest,
  response: ServerResponse,
  reply: Extract<Reply, { kind: "vectors" }>,
  dimensions: number,
): void {
  const { fault } = reply;
  const texts: string[] = [request.body?.input ?? []].flat();
  let data: { object: string; index: number; embedding: (number | null)[] }[] = texts.map((text, index) => ({
    object: "embedding",
    index,
    embedding: fakeVector(text, fault === "dimensions" ? dimensions + 8 : dimensions),
  }));
  if (fault === "missing") data = data.slice(0, -1);
  if (fault === "reversed") data.reverse();
  if (fault === "null") for (const row of data) row.embedding[0] = null;
  const tokens = texts.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);
  sendJson(response, 200, {
    object: "list",
    model: request.body?.model,
    data,
    usage: totalled(reply.usage ?? { prompt_tokens: tokens }),
  });
}

function totalled(usage: Usage): object {
  return { ...usage, total_tokens: usage.prompt_tokens + (usage.completion_tokens ?? 0) };
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

async function readBody(message: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of message) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

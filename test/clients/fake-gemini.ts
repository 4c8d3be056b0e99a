/** A server on loopback that answers like Gemini's, for Gemini CLI. */

import type { ChatReply } from "./fake-chat.ts";

interface Body {
  contents?: { parts?: { functionResponse?: object }[] }[];
  tools?: { functionDeclarations?: { name: string }[] }[];
  generationConfig?: { responseMimeType?: string };
}

/** The client asks first how hard a task is, again and again until it is told. */
const COMPLEXITY = '{"complexity_reasoning": "made up", "complexity_score": 10}';

/** Starts the server. The answer is made from the tools offered and the number of their results so far. */
export function startFakeGemini(answer: (asked: { tools: string[]; results: number }) => ChatReply): {
  url: string;
  stop(): void;
} {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(incoming) {
      const { pathname } = new URL(incoming.url);
      const { contents = [], tools = [], generationConfig } = (await incoming.json()) as Body;
      if (pathname.endsWith(":countTokens")) return Response.json({ totalTokens: 10 });
      if (!/:(?:streamG|g)enerateContent$/.test(pathname)) return new Response("no", { status: 404 });
      const isRouting = generationConfig?.responseMimeType === "application/json";
      const asked = {
        tools: tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => name)),
        results: contents.flatMap(({ parts = [] }) => parts).filter((part) => part.functionResponse).length,
      };
      const reply = isRouting ? COMPLEXITY : answer(asked);
      const part =
        typeof reply === "string"
          ? { text: reply }
          : { functionCall: { name: reply.tool, args: reply.input } };
      const body = {
        candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
        usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
      };
      if (!pathname.includes(":stream")) return Response.json(body);
      const headers = { "content-type": "text/event-stream" };
      return new Response(`data: ${JSON.stringify(body)}\n\n`, { headers });
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
}

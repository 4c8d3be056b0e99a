/**
 * Reads what models answer: the JSON that passes a schema, found inside fences or prose and requested again with
 * what was wrong, at most twice. Sends nothing itself.
 */

import type { z } from "zod";
import { SessionMemoryError } from "../base/errors.ts";
import { parseRecord } from "../base/json.ts";
import type { Redactor } from "../redact/redact.ts";

/** Requests in all: the first and two re-prompts. */
const ATTEMPTS = 3;
export const DEFAULT_MAX_TOKENS = 1500;
/** An invalid answer is sent back to the model up to this length. */
const SHOWN_ANSWER_CHARS = 4000;
/** A hostile answer may have a brace at each byte; a usual one has its object near the start. */
const STARTS_MAX = 40;

export interface ChatMessage {
  role: "system" | "user" | "assistant";
  content: string;
}

interface ChatReply {
  text: string;
  /** True when it stopped at the token limit. */
  cut: boolean;
  model: string;
  tokens: { input: number; output: number };
  /** Null where the price is unknown. */
  usd: number | null;
}

/** Sends messages to a model, redacted, and returns its one reply; throws `MODEL_FAILED` when none came. */
export type SendChat = (
  messages: ChatMessage[],
  options: { feature: string; maxTokens: number; signal?: AbortSignal | undefined },
) => Promise<ChatReply>;

export interface JsonRequest<T> {
  /** The purpose of the call in the spend ledger: `meta`, `query` … */
  feature: string;
  system: string;
  prompt: string;
  schema: z.ZodType<T>;
  /** @default {1500} */
  maxTokens?: number | undefined;
  signal?: AbortSignal | undefined;
}

interface JsonAnswer<T> {
  value: T;
  model: string;
  /** Over all attempts. */
  usage: { input: number; output: number };
  tokens: number;
  usd: number | null;
}

/** Asks a model for JSON: a configured one, or that of a host. */
export type CompleteJson = <T>(request: JsonRequest<T>) => Promise<JsonAnswer<T>>;

/**
 * Makes a `CompleteJson` of anything that can send a chat; the texts of an answer are redacted. It throws `MODEL_FAILED` for a transport failure (at once) or three
 * malformed answers.
 */
export function jsonCompleter(send: SendChat, redact: Redactor): CompleteJson {
  return async (request) => {
    const answer = await askForJson(send, request);
    return { ...answer, value: redact(answer.value) };
  };
}

async function askForJson<T>(send: SendChat, request: JsonRequest<T>): Promise<JsonAnswer<T>> {
  const { feature, schema, signal, maxTokens = DEFAULT_MAX_TOKENS } = request;
  const messages: ChatMessage[] = [
    { role: "system", content: request.system },
    { role: "user", content: request.prompt },
  ];
  const usage = { input: 0, output: 0 };
  let usd: number | null = 0;
  let wrong = "";
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const reply = await send(messages, { feature, maxTokens, signal });
    usage.input += reply.tokens.input;
    usage.output += reply.tokens.output;
    usd = usd === null || reply.usd === null ? null : usd + reply.usd;
    const read = readAnswer(reply.text, schema);
    if ("value" in read) {
      return { value: read.value, model: reply.model, usage, tokens: usage.input + usage.output, usd };
    }
    wrong = reply.cut ? `it was cut off at ${maxTokens} tokens, be shorter; ${read.wrong}` : read.wrong;
    messages.push(
      { role: "assistant", content: reply.text.slice(0, SHOWN_ANSWER_CHARS) || "(empty)" },
      {
        role: "user",
        content: `That answer cannot be used: ${wrong}. Answer again with the one JSON object only.`,
      },
    );
  }
  throw new SessionMemoryError("MODEL_FAILED", `Cannot use the model's answer for ${feature}: ${wrong}`, {
    details: { kind: "malformed", attempts: ATTEMPTS, usage, usd },
    recoverable: true,
    hint: "try again, or name a stronger llm.model in config.json",
  });
}

/** Returns the first object in a text that passes the schema, or what is wrong with the likeliest one. */
function readAnswer<T>(text: string, schema: z.ZodType<T>): { value: T } | { wrong: string } {
  let wrong: string | undefined;
  for (const candidate of candidates(text)) {
    const parsed = schema.safeParse(candidate);
    if (parsed.success) return { value: parsed.data };
    wrong ??= describeIssues(parsed.error.issues);
  }
  return { wrong: wrong ?? (text.trim() === "" ? "it is empty" : "there is no JSON object in it") };
}

/** Yields the objects that end with a text's last brace, the outermost first: prose and a fence may be around the answer. */
function* candidates(text: string): Generator<unknown> {
  const end = text.lastIndexOf("}") + 1;
  let from = text.indexOf("{");
  for (let starts = 0; from !== -1 && starts < STARTS_MAX; starts++) {
    const value = parseRecord(text.slice(from, end));
    if (value) yield value;
    from = text.indexOf("{", from + 1);
  }
}

function describeIssues(issues: readonly { path: PropertyKey[]; message: string }[]): string {
  return issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.map(String).join(".") || "the answer"}: ${message}`)
    .join("; ");
}

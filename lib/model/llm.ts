/**
 * Embeds texts and completes chats over OpenAI-compatible HTTP, at the host that config.json names and no other: the only
 * code that sends anything to a model's server.
 *
 * Every call is recorded in the spend ledger before it is made. Nothing is retried here: the caller knows whether
 * somebody is waiting.
 */

import { describeError, type ErrorType, SessionMemoryError } from "../base/errors.ts";
import {
  isRecord,
  type JsonRecord,
  jsonOf,
  parseRecord,
  recordOf,
  recordsOf,
  stringOf,
} from "../base/json.ts";
import type { EmbeddingConfig, Environment, LlmConfig } from "../config/config.ts";
import { redact } from "../redact/redact.ts";
import type { SendChat } from "./answers.ts";
import { makeCall, type Reservation, type SpendLedger, type Tokens, tokenUpperBound } from "./spend.ts";

const OPENAI_URL = "https://api.openai.com/v1";
/** Texts per embedding request. */
const EMBEDDING_BATCH = 100;
/** A local server on a slow machine needs this long for a batch. */
const EMBEDDING_TIMEOUT_MS = 120_000;
/** Models that think before they answer spend output tokens on it, and take no temperature. */
const REASONING_MODEL = /^(?:.*\/)?(?:o\d|gpt-[5-9])/;
const REASONING_TOKENS = 4000;
/** Matches what Bun, Node and Deno report when no server accepted the request. */
const NOT_REACHED = /refused|ENOTFOUND|EAI_AGAIN|unable to connect|client error \(Connect\)|redirect/i;
/** A key shorter than this is a placeholder for a local server, and may be an ordinary word. */
const KEY_MIN_LENGTH = 8;
const REASON_MAX_CHARS = 300;

interface Connection<Model> {
  config: Model;
  env: Environment;
  spend: SpendLedger;
  /** Redacts what is sent; texts should be redacted before too. */
  redact?: ((text: string) => string) | undefined;
}

type Embedding = Connection<EmbeddingConfig> & { signal?: AbortSignal | undefined };

export interface Embedded {
  vectors: Float32Array[];
  tokens: number;
  /** Null where the price is unknown. */
  usd: number | null;
}

/**
 * Embeds texts, a hundred a request, one vector of the configured size each.
 *
 * @throws {SessionMemoryError} `EMBEDDING_FAILED`, recoverable where trying again later may help; `details.vectors`
 * holds those of the requests that had succeeded. `BUDGET_EXCEEDED` before a request that the cap forbids.
 */
export async function embedTexts(texts: string[], options: Embedding): Promise<Embedded> {
  const done: Embedded = { vectors: [], tokens: 0, usd: 0 };
  for (let from = 0; from < texts.length; from += EMBEDDING_BATCH) {
    try {
      const batch = await embedBatch(texts.slice(from, from + EMBEDDING_BATCH), options);
      done.vectors.push(...batch.vectors);
      done.tokens += batch.tokens;
      done.usd = done.usd === null || batch.usd === null ? null : done.usd + batch.usd;
    } catch (error) {
      if (error instanceof SessionMemoryError) error.details.vectors = done.vectors;
      throw error;
    }
  }
  return done;
}

async function embedBatch(texts: string[], { signal, ...connection }: Embedding): Promise<Embedded> {
  const { config } = connection;
  const input = texts.map((text) => outgoing(text, connection.redact) || " ");
  // Other models have one size, and their servers may refuse the word.
  const size = /text-embedding-3/.test(config.model) ? { dimensions: config.dimensions } : {};
  const { answer, settle } = await post(connection, {
    kind: "embedding",
    feature: "embed",
    tokens: { input: upperBound(input), output: 0 },
    body: { model: config.model, input, encoding_format: "float", ...size },
    timeoutMs: EMBEDDING_TIMEOUT_MS,
    signal,
  });
  const paid = settle({ input: recordOf(answer.usage).prompt_tokens });
  const vectors = readVectors(answer.data, texts.length, config);
  return { vectors, tokens: paid.tokens.input, usd: paid.usd };
}

/** Wraps the configured model as a `SendChat`. */
export function chatSender(connection: Connection<LlmConfig>, temperature?: number): SendChat {
  const { model, baseUrl, timeoutMs, apiKeyEnv } = connection.config;
  const reasons = REASONING_MODEL.test(model);
  return async (messages, { feature, maxTokens, signal }) => {
    const sent = messages.map(({ role, content }) => ({
      role,
      content: outgoing(content, connection.redact),
    }));
    const limit = maxTokens + (reasons ? REASONING_TOKENS : 0);
    const body = {
      model,
      messages: sent,
      // OpenAI's newer models refuse the old name, other servers may not know the new one.
      ...(isOpenAI(baseUrl) ? { max_completion_tokens: limit } : { max_tokens: limit }),
      ...(temperature === undefined || reasons ? {} : { temperature }),
    };
    const tokens = { input: upperBound(sent.map(({ content }) => content)), output: limit };
    const { answer, settle } = await post(connection, {
      kind: "chat",
      feature,
      tokens,
      body,
      timeoutMs,
      signal,
    });
    const choice = recordsOf(answer.choices)[0];
    if (!isRecord(choice?.message)) throw failed("chat", "the server's answer is not a chat completion");
    const text = stringOf(choice.message.content) ?? "";
    const { prompt_tokens: input, completion_tokens: output } = recordOf(answer.usage);
    const paid = settle({ input, output: output || tokenUpperBound(text) || undefined });
    const isCut = choice.finish_reason === "length";
    return { text: withoutKey(text, connection.env[apiKeyEnv]), cut: isCut, model, ...paid };
  };
}

/** Reads the `data` of an embedding response to `count` texts, in their order. */
function readVectors(data: unknown, count: number, { model, dimensions }: EmbeddingConfig): Float32Array[] {
  const wrong = (reason: string) => failed("embedding", reason);
  if (!Array.isArray(data) || data.length !== count)
    throw wrong(`expected ${count} vectors but found ${Array.isArray(data) ? data.length : "none"}`);
  const rows = data.map(recordOf).map(({ embedding, index }, position) => {
    if (!Array.isArray(embedding) || !embedding.every(Number.isFinite))
      throw wrong("a vector is not a list of numbers");
    if (embedding.length !== dimensions) throw wrongSize(model, dimensions, embedding.length);
    return { vector: Float32Array.from(embedding), at: Number(index ?? position) };
  });
  rows.sort((a, b) => a.at - b.at);
  if (rows.some(({ at }, i) => at !== i)) throw wrong("the vectors' positions do not match the texts");
  return rows.map(({ vector }) => vector);
}

function wrongSize(model: string, expected: number, found: number): SessionMemoryError {
  const message = `Cannot use the vectors of "${model}": expected ${expected} dimensions but found ${found}`;
  const hint = `set embedding.dimensions to ${found} in config.json`;
  return new SessionMemoryError("EMBEDDING_FAILED", message, { hint });
}

/** The two kinds of requests: the path at the server, and the words of a failure. */
const KINDS = {
  chat: { path: "/chat/completions", type: "MODEL_FAILED", action: "ask the model" },
  embedding: { path: "/embeddings", type: "EMBEDDING_FAILED", action: "embed" },
} as const satisfies Record<string, { path: string; type: ErrorType; action: string }>;
type Kind = keyof typeof KINDS;

interface Request {
  kind: Kind;
  feature: string;
  /** At most. */
  tokens: Tokens;
  body: object;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

/** Makes one recorded request; a failure becomes an error that says whether a retry may help. */
async function post(
  { config, env, spend }: Connection<LlmConfig | EmbeddingConfig>,
  { kind, feature, tokens, body, timeoutMs, signal }: Request,
): Promise<{ answer: JsonRecord; settle: Reservation["settle"] }> {
  const { model, baseUrl, apiKeyEnv } = config;
  const key = env[apiKeyEnv];
  if (!key && isOpenAI(baseUrl)) {
    throw new SessionMemoryError(KINDS[kind].type, `Cannot call "${model}": ${apiKeyEnv} is not set`, {
      hint: `set ${apiKeyEnv}, or name a local server with baseUrl in config.json`,
    });
  }
  const url = (baseUrl ?? OPENAI_URL).replace(/\/+$/, "") + KINDS[kind].path;
  const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) };
  const asked = { method: "POST", headers, body: JSON.stringify(body), redirect: "error" as const };
  const reservation = await spend.reserve({ kind, feature, model, baseUrl, tokens });
  const answer = await makeCall(reservation, {
    timeoutMs,
    signal,
    async make(within) {
      const response = await fetch(url, { ...asked, signal: within });
      const text = await response.text();
      if (!response.ok) throw refused(kind, { status: response.status, text, key });
      return parseRecord(text) ?? {};
    },
    isRefused: (error) =>
      error instanceof SessionMemoryError
        ? isRefusal(Number(error.details.status))
        : NOT_REACHED.test(describeError(error)),
    toError(cause, over) {
      if (over !== undefined) return failed(kind, over, { cause });
      if (cause instanceof SessionMemoryError) return cause;
      return failed(kind, asReason(describeError(cause), key), { cause });
    },
  });
  return { answer, settle: reservation.settle };
}

/** 408 and 499 concern a request that a server had begun to answer. */
function isRefusal(status: number): boolean {
  return status < 500 && status !== 408 && status !== 499;
}

interface Refusal {
  status: number;
  text: string;
  key: string | undefined;
}

/** Returns the error for an answer that says why there is none. */
function refused(kind: Kind, { status, text, key }: Refusal): SessionMemoryError {
  const { error } = parseRecord(text) ?? {};
  const { message, code } = recordOf(error);
  const said = stringOf(message) ?? (error === undefined ? text : jsonOf(error));
  const isPassing = status >= 500 || [408, 409, 429].includes(status);
  return failed(kind, asReason(`the server answered ${status} ${said}`, key), {
    details: { status },
    recoverable: isPassing && code !== "insufficient_quota",
    ...([401, 403].includes(status) ? { hint: "check the key that apiKeyEnv in config.json names" } : {}),
  });
}

/** Returns what a server or a runtime said, fit to be shown. */
function asReason(said: string, key: string | undefined): string {
  return redact(withoutKey(said.trim(), key)).slice(0, REASON_MAX_CHARS);
}

type ErrorOptions = ConstructorParameters<typeof SessionMemoryError>[2];

function failed(kind: Kind, reason: string, options?: ErrorOptions): SessionMemoryError {
  const { type, action } = KINDS[kind];
  return new SessionMemoryError(type, `Cannot ${action}: ${reason}`, {
    recoverable: true,
    hint: "check baseUrl and model in config.json, or try again later",
    ...options,
  });
}

/** A server may echo the key it was sent, which no pattern of ours need know. */
function withoutKey(text: string, key = ""): string {
  return key.length < KEY_MIN_LENGTH ? text : text.replaceAll(key, "[REDACTED]");
}

function isOpenAI(baseUrl: string | undefined): boolean {
  return baseUrl === undefined || new URL(baseUrl).hostname === "api.openai.com";
}

function upperBound(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + tokenUpperBound(text), 0);
}

/** Redacts a text for sending and removes lone surrogates, which make a server reject the whole request. */
function outgoing(text: string, own: (text: string) => string = redact): string {
  return own(text).toWellFormed();
}

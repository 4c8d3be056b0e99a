/**
 * Embeds texts and completes chats over OpenAI-compatible HTTP, at the host that config.json names and no other.
 *
 * Every call is recorded in the spend ledger before it is made. Nothing is retried here: the caller knows whether
 * somebody is waiting.
 */

import OpenAI, { APIError } from "openai";
import { describeError, type ErrorType, SessionMemoryError } from "../base/errors.ts";
import { recordOf } from "../base/json.ts";
import type { EmbeddingConfig, Environment, LlmConfig } from "../config/config.ts";
import { redact } from "../redact/redact.ts";
import type { SendChat } from "./answers.ts";
import { makeCall, type Reservation, type SpendLedger, tokenUpperBound } from "./spend.ts";

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
/** The only headers we send; the client would add others from the environment. */
const SENT_HEADERS = ["accept", "authorization", "content-type"];

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
  const client = connect("EMBEDDING_FAILED", options.config, options.env);
  const done: Embedded = { vectors: [], tokens: 0, usd: 0 };
  for (let from = 0; from < texts.length; from += EMBEDDING_BATCH) {
    try {
      const batch = await embedBatch(client, texts.slice(from, from + EMBEDDING_BATCH), options);
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

/** Wraps the configured model as a `SendChat`. */
export function chatSender(
  { config, env, spend, redact: own }: Connection<LlmConfig>,
  temperature?: number,
): SendChat {
  const { model, baseUrl, timeoutMs } = config;
  const key = env[config.apiKeyEnv];
  const reasons = REASONING_MODEL.test(model);
  return async (messages, { feature, maxTokens, signal }) => {
    const client = connect("MODEL_FAILED", config, env);
    const sent = messages.map((message) => ({ ...message, content: outgoing(message.content, own) }));
    const input = sent.reduce((sum, { content }) => sum + tokenUpperBound(content), 0);
    const limit = maxTokens + (reasons ? REASONING_TOKENS : 0);
    const planned = { kind: "chat" as const, feature, model, baseUrl, tokens: { input, output: limit } };
    const reservation = await spend.reserve(planned);
    const completion = await call("MODEL_FAILED", { reservation, timeoutMs, signal, key }, (within) =>
      client.chat.completions.create(
        {
          model,
          messages: sent,
          // OpenAI's newer models refuse the old name, other servers may not know the new one.
          ...(isOpenAI(baseUrl) ? { max_completion_tokens: limit } : { max_tokens: limit }),
          ...(temperature === undefined || reasons ? {} : { temperature }),
        },
        { signal: within },
      ),
    );
    const choice = completion?.choices?.[0];
    if (!choice?.message) throw unusable("MODEL_FAILED", "the server's answer is not a chat completion");
    const paid = reservation.settle({
      input: completion.usage?.prompt_tokens,
      output:
        completion.usage?.completion_tokens || tokenUpperBound(choice.message.content ?? "") || undefined,
    });
    const text = withoutKey(choice.message.content ?? "", key);
    return { text, cut: choice.finish_reason === "length", model, ...paid };
  };
}

async function embedBatch(client: OpenAI, texts: string[], options: Embedding): Promise<Embedded> {
  const { config, spend, signal, env } = options;
  const { model, baseUrl } = config;
  const input = texts.map((text) => outgoing(text, options.redact) || " ");
  const tokens = { input: input.reduce((sum, text) => sum + tokenUpperBound(text), 0), output: 0 };
  const reservation = await spend.reserve({ kind: "embedding", feature: "embed", model, baseUrl, tokens });
  const key = env[config.apiKeyEnv];
  const timeoutMs = EMBEDDING_TIMEOUT_MS;
  const response = await call("EMBEDDING_FAILED", { reservation, timeoutMs, signal, key }, (within) =>
    client.embeddings.create(
      {
        model,
        input,
        encoding_format: "float",
        // Other models have one size, and their servers may refuse the word.
        ...(/text-embedding-3/.test(model) ? { dimensions: config.dimensions } : {}),
      },
      { signal: within },
    ),
  );
  const paid = reservation.settle({ input: response?.usage?.prompt_tokens });
  const vectors = readVectors(response?.data, texts.length, config);
  return { vectors, tokens: paid.tokens.input, usd: paid.usd };
}

/** Reads the `data` of an embedding response to `count` texts, in their order. */
function readVectors(data: unknown, count: number, { model, dimensions }: EmbeddingConfig): Float32Array[] {
  const wrong = (reason: string) => unusable("EMBEDDING_FAILED", reason);
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
  return new SessionMemoryError("EMBEDDING_FAILED", message, { details: { kind: "dimensions" }, hint });
}

interface CallOptions {
  timeoutMs: number;
  signal: AbortSignal | undefined;
  /** Taken out of what the server says. */
  key: string | undefined;
}

/** Makes one request; a failure becomes an error that says whether a retry may help. */
function call<T>(
  type: ErrorType,
  { reservation, key, ...limits }: CallOptions & { reservation: Reservation },
  make: (within: AbortSignal) => Promise<T>,
): Promise<T> {
  return makeCall(reservation, {
    ...limits,
    make,
    isRefused: (error) =>
      error instanceof APIError &&
      (error.status === undefined ? NOT_REACHED.test(describeError(error)) : isRefusal(error.status)),
    toError: (cause, over) =>
      over ? failed(type, over.reason, { ...over, cause }) : failure(type, cause, key),
  });
}

/** 408 and 499 concern a request that a server had begun to answer. */
function isRefusal(status: number): boolean {
  return status < 500 && status !== 408 && status !== 499;
}

function failure(type: ErrorType, error: unknown, key: string | undefined): SessionMemoryError {
  const { status, code } = error instanceof APIError ? error : {};
  const what = redact(withoutKey(describeError(error), key))
    .replaceAll(".:", ":")
    .replace(/\. For more information, pass .*$/, "")
    .slice(0, 300);
  if (status === undefined) return failed(type, what, { cause: error, kind: "connection" });
  const isPassing = status >= 500 || [408, 409, 429].includes(status);
  return failed(type, `the server answered ${what}`, {
    cause: error,
    kind: "status",
    status,
    recoverable: isPassing && code !== "insufficient_quota",
    ...([401, 403].includes(status) ? { hint: "check the key that apiKeyEnv in config.json names" } : {}),
  });
}

interface CallFailure {
  kind: string;
  status?: number;
  cause?: unknown;
  recoverable?: boolean;
  hint?: string;
}

function failed(type: ErrorType, reason: string, { kind, status, ...rest }: CallFailure): SessionMemoryError {
  const action = type === "EMBEDDING_FAILED" ? "embed" : "ask the model";
  return new SessionMemoryError(type, `Cannot ${action}: ${reason}`, {
    details: { kind, status },
    recoverable: true,
    hint: "check baseUrl and model in config.json, or try again later",
    ...rest,
  });
}

function unusable(type: ErrorType, reason: string): SessionMemoryError {
  return failed(type, reason, { kind: "malformed" });
}

/** Makes a client that takes only the named key from the environment and calls only the named host. */
function connect(type: ErrorType, config: LlmConfig | EmbeddingConfig, env: Environment): OpenAI {
  const key = env[config.apiKeyEnv];
  if (!key && isOpenAI(config.baseUrl)) {
    throw new SessionMemoryError(type, `Cannot call "${config.model}": ${config.apiKeyEnv} is not set`, {
      details: { kind: "key" },
      hint: `set ${config.apiKeyEnv}, or name a local server with baseUrl in config.json`,
    });
  }
  return new OpenAI({
    apiKey: key || "none",
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    baseURL: config.baseUrl ?? OPENAI_URL,
    maxRetries: 0,
    logLevel: "off",
    fetch: async (url, init) => {
      const all = new Headers(init?.headers);
      const headers = SENT_HEADERS.flatMap((name): [string, string][] => [[name, all.get(name) ?? ""]]);
      const kept = headers.filter(([name, value]) => value !== "" && (key || name !== "authorization"));
      return await fetch(url, { ...init, headers: kept, redirect: "error" });
    },
  });
}

/** A server may echo the key it was sent, which no pattern of ours need know. */
function withoutKey(text: string, key = ""): string {
  return key.length < KEY_MIN_LENGTH ? text : text.replaceAll(key, "[REDACTED]");
}

function isOpenAI(baseUrl: string | undefined): boolean {
  return baseUrl === undefined || new URL(baseUrl).hostname === "api.openai.com";
}

/** Redacts a text for sending and removes lone surrogates, which make a server reject the whole request. */
function outgoing(text: string, own: (text: string) => string = redact): string {
  return own(text).toWellFormed();
}

/**
 * Embeds texts and completes chats over OpenAI-compatible HTTP, at the host that config.json names and no other.
 *
 * Every call is recorded in the spend ledger before it is made. Nothing is retried here: the caller knows whether
 * somebody is waiting.
 */

import { describeError, type ErrorType, SessionMemoryError } from "../base/errors.ts";
import { arrayOf, type JsonRecord, jsonOf, parseRecord, recordOf, stringOf } from "../base/json.ts";
import type { EmbeddingConfig, Environment, LlmConfig } from "../config/config.ts";
import { redact } from "../redact/redact.ts";
import type { SendChat } from "./answers.ts";
import { pay, type SpendLedger, tokenUpperBound } from "./spend.ts";

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
/** A batch of vectors of 4,096 numbers takes 9 MB; a server that never ends would take all memory. */
const ANSWER_MAX_BYTES = 32 * 1024 * 1024;
/** A key shorter than this is a placeholder for a local server, and may be an ordinary word. */
const KEY_MIN_LENGTH = 8;
const ERROR_MAX_CHARS = 300;

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

async function embedBatch(texts: string[], options: Embedding): Promise<Embedded> {
  const { model, dimensions } = options.config;
  const input = texts.map((text) => outgoing(text, options.redact) || " ");
  const body = {
    ...{ model, input, encoding_format: "float" },
    // Other models have one size, and their servers may refuse the word.
    ...(/text-embedding-3/.test(model) ? { dimensions } : {}),
  };
  const { answer, tokens, usd } = await post("embeddings", body, {
    ...{ ...options, type: "EMBEDDING_FAILED", kind: "embedding", feature: "embed" },
    ...{ sent: input, timeoutMs: EMBEDDING_TIMEOUT_MS },
  });
  return { vectors: readVectors(answer.data, texts.length, options.config), tokens: tokens.input, usd };
}

/** Wraps the configured model as a `SendChat`. */
export function chatSender(
  { redact: own, ...connection }: Connection<LlmConfig>,
  temperature?: number,
): SendChat {
  const { model, baseUrl, timeoutMs } = connection.config;
  const reasons = REASONING_MODEL.test(model);
  return async (messages, { feature, maxTokens, signal }) => {
    const sent = messages.map((message) => ({ ...message, content: outgoing(message.content, own) }));
    const limit = maxTokens + (reasons ? REASONING_TOKENS : 0);
    const body = {
      ...{ model, messages: sent },
      // OpenAI's newer models refuse the old name, other servers may not know the new one.
      [isOpenAI(baseUrl) ? "max_completion_tokens" : "max_tokens"]: limit,
      ...(temperature === undefined || reasons ? {} : { temperature }),
    };
    const { answer, ...paid } = await post("chat/completions", body, {
      ...{ ...connection, type: "MODEL_FAILED", kind: "chat", feature, timeoutMs, signal },
      ...{ sent: sent.map(({ content }) => content), maxTokens: limit },
    });
    const { message, finish_reason: end } = firstChoice(answer);
    if (!message) throw unusable("MODEL_FAILED", "the server's answer is not a chat completion");
    return { text: stringOf(recordOf(message).content) ?? "", cut: end === "length", model, ...paid };
  };
}

function firstChoice({ choices }: JsonRecord): JsonRecord {
  return recordOf(arrayOf(choices)[0]);
}

interface Call
  extends Connection<LlmConfig | EmbeddingConfig>,
    Omit<Parameters<typeof pay>[1], "model" | "baseUrl" | "fail"> {
  type: ErrorType;
}

/** Posts one request with no other header than the named key; a failure becomes an error that says whether a retry may help. */
async function post(path: string, body: object, { type, config, env, spend, ...call }: Call) {
  const { baseUrl = OPENAI_URL, model } = config;
  const key = env[config.apiKeyEnv];
  if (!key && isOpenAI(baseUrl)) {
    throw new SessionMemoryError(type, `Cannot call "${model}": ${config.apiKeyEnv} is not set`, {
      details: { kind: "key" },
      hint: `set ${config.apiKeyEnv}, or name a local server with baseUrl in config.json`,
    });
  }
  const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) };
  const request = { method: "POST", headers, body: JSON.stringify(body), redirect: "error" } as const;
  const fail = (reason: string, kind: string) => failed(type, reason, { kind });
  return await pay(spend, { ...call, model, baseUrl, fail }, async (signal, refused) => {
    try {
      const response = await fetch(`${baseUrl.replace(/\/$/, "")}/${path}`, { ...request, signal }).catch(
        (cause: unknown) => {
          throw new Error("Connection error", { cause });
        },
      );
      const text = withoutKey(await readText(response), key);
      const answer = parseRecord(text) ?? {};
      if (!response.ok) {
        if (isRefusal(response.status)) refused();
        throw refusal(type, response.status, answer.error ?? text);
      }
      const { prompt_tokens: input, completion_tokens: counted } = recordOf(answer.usage);
      const written = stringOf(recordOf(firstChoice(answer).message).content) ?? "";
      return { answer, used: { input, output: counted || tokenUpperBound(written) || undefined } };
    } catch (error) {
      if (error instanceof SessionMemoryError) throw error;
      const reason = describeError(error);
      if (NOT_REACHED.test(reason)) refused();
      const shown = redact(withoutKey(reason, key)).replace(/\. For more information, pass .*$/, "");
      throw failed(type, shown.slice(0, ERROR_MAX_CHARS), { kind: "connection" });
    }
  });
}

/** Reads a response, which may have no end. */
async function readText({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let left = ANSWER_MAX_BYTES;
  for await (const part of body ?? []) {
    left -= part.byteLength;
    if (left < 0) throw new Error(`the answer is larger than ${ANSWER_MAX_BYTES >> 20} MB`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/** 408 and 499 concern a request that a server had begun to answer. */
function isRefusal(status: number): boolean {
  return status < 500 && status !== 408 && status !== 499;
}

function refusal(type: ErrorType, status: number, said: unknown): SessionMemoryError {
  const { message, code } = recordOf(said);
  const what = typeof said === "string" ? said : (stringOf(message) ?? jsonOf(said));
  const isPassing = status >= 500 || [408, 409, 429].includes(status);
  const shown = redact(`${status} ${what || "status code (no body)"}`).slice(0, ERROR_MAX_CHARS);
  return failed(type, `the server answered ${shown}`, {
    kind: "status",
    status,
    recoverable: isPassing && code !== "insufficient_quota",
    ...([401, 403].includes(status) ? { hint: "check the key that apiKeyEnv in config.json names" } : {}),
  });
}

/** Reads the `data` of an embedding response to `count` texts, in their order. */
function readVectors(data: unknown, count: number, { model, dimensions }: EmbeddingConfig): Float32Array[] {
  const wrong = (reason: string) => unusable("EMBEDDING_FAILED", reason);
  if (!Array.isArray(data) || data.length !== count)
    throw wrong(`expected ${count} vectors but found ${Array.isArray(data) ? data.length : "none"}`);
  const vectors = new Map<number, Float32Array>();
  for (const [position, row] of data.entries()) {
    const { embedding, index = position } = recordOf(row);
    if (!Array.isArray(embedding) || !embedding.every(Number.isFinite))
      throw wrong("a vector is not a list of numbers");
    if (embedding.length !== dimensions) throw wrongSize(model, dimensions, embedding.length);
    vectors.set(Number(index), Float32Array.from(embedding));
  }
  return data.map((_, position) => {
    const vector = vectors.get(position);
    if (!vector) throw wrong("the vectors' positions do not match the texts");
    return vector;
  });
}

function wrongSize(model: string, expected: number, found: number): SessionMemoryError {
  const message = `Cannot use the vectors of "${model}": expected ${expected} dimensions but found ${found}`;
  const hint = `set embedding.dimensions to ${found} in config.json`;
  return new SessionMemoryError("EMBEDDING_FAILED", message, { details: { kind: "dimensions" }, hint });
}

interface CallFailure {
  kind: string;
  status?: number;
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

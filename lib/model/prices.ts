/**
 * Prices model calls: configured, free on loopback, listed, or at the price of the dearest known model.
 *
 * Also bounds the tokens of a text, to price a call before it is made.
 */

import type { LlmConfig } from "../config/config.ts";
import { estimateTokens } from "../language/tokens.ts";

type Prices = LlmConfig["prices"];

/** USD per million tokens. */
interface Rate {
  input: number;
  output: number;
}

export interface Tokens {
  input: number;
  output: number;
}

type ModelKind = "chat" | "embedding";

/** What the price of a call depends on. */
export interface PricedModel {
  kind: ModelKind;
  model: string;
  /** Where it is called; a host on loopback costs nothing. @default {OpenAI} */
  baseUrl?: string | undefined;
  /** A program that is asked in place of a server. */
  command?: readonly string[] | undefined;
}

export interface Price {
  usd: number;
  /** False when the model's price is unknown and `usd` is that of the dearest known model of its kind. */
  isKnown: boolean;
}

/**
 * List prices of well-known models, for when config.json names none: the standard tier of https://openai.com/api/pricing
 * without cache discounts, compared in November 2026 with three public price lists that agree. The models ending in
 * `-pro` answer another API than ours; they are listed as the dearest that a proxy may offer. `llm.prices` in
 * config.json corrects what has changed since.
 */
const LIST_PRICES: Record<ModelKind, Prices> = {
  embedding: {
    "text-embedding-3-small": { input: 0.02, output: 0 },
    "text-embedding-3-large": { input: 0.13, output: 0 },
    "text-embedding-ada-002": { input: 0.1, output: 0 },
  },
  chat: {
    "gpt-4o": { input: 2.5, output: 10 },
    "gpt-4o-mini": { input: 0.15, output: 0.6 },
    "gpt-4.1": { input: 2, output: 8 },
    "gpt-4.1-mini": { input: 0.4, output: 1.6 },
    "gpt-4.1-nano": { input: 0.1, output: 0.4 },
    "o4-mini": { input: 1.1, output: 4.4 },
    o3: { input: 2, output: 8 },
    "o3-pro": { input: 20, output: 80 },
    "gpt-5": { input: 1.25, output: 10 },
    "gpt-5-mini": { input: 0.25, output: 2 },
    "gpt-5-nano": { input: 0.05, output: 0.4 },
    "gpt-5-pro": { input: 15, output: 120 },
    "gpt-5.1": { input: 1.25, output: 10 },
    "gpt-5.2": { input: 1.75, output: 14 },
    "gpt-5.4": { input: 2.5, output: 15 },
    "gpt-5.4-mini": { input: 0.75, output: 4.5 },
    "gpt-5.4-nano": { input: 0.2, output: 1.25 },
    "gpt-5.5": { input: 5, output: 30 },
  },
};

/** Returns the price of a call; `usd` is never NaN or negative. */
export function priceOf(model: PricedModel, tokens: Tokens, configured: Prices): Price {
  const known = knownRate(model, configured);
  const rate = known ?? dearest(model.kind);
  return { usd: (tokens.input * rate.input + tokens.output * rate.output) / 1_000_000, isKnown: !!known };
}

/** Returns more tokens than a text has in any usual tokenizer. */
export function tokenUpperBound(text: string): number {
  // The estimate is within 30 %; a rare character beyond ASCII may be as many tokens as it has bytes.
  return Math.ceil(1.3 * estimateTokens(text) + (Buffer.byteLength(text) - text.length) / 2);
}

/** Finds a model's price; a dated or prefixed name (`openai/gpt-4o-mini-2024-07-18`) has the price of its model. */
function knownRate({ kind, model, baseUrl }: PricedModel, configured: Prices): Rate | undefined {
  const bare = model.replace(/^.*\//, "");
  const own = rateIn(configured, model) ?? rateIn(configured, bare);
  if (own) return own;
  if (baseUrl !== undefined && isLoopback(baseUrl)) return { input: 0, output: 0 };
  const undated = bare.replace(/-\d{4}-\d{2}-\d{2}$/, "");
  return rateIn(LIST_PRICES[kind], bare) ?? rateIn(LIST_PRICES[kind], undated);
}

function rateIn(prices: Prices, model: string): Rate | undefined {
  return Object.hasOwn(prices, model) ? prices[model] : undefined;
}

function dearest(kind: ModelKind): Rate {
  const rates = Object.values(LIST_PRICES[kind]);
  return {
    input: Math.max(...rates.map(({ input }) => input)),
    output: Math.max(...rates.map(({ output }) => output)),
  };
}

function isLoopback(baseUrl: string): boolean {
  if (!URL.canParse(baseUrl)) return false;
  const { hostname } = new URL(baseUrl);
  return /^(?:(?:.*\.)?localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1\])$/.test(hostname);
}

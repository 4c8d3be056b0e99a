/** Supports dry runs: a model that only notes what it would be sent, and the price of that. */

import type { Config } from "../config/config.ts";
import { type CompleteJson, DEFAULT_MAX_TOKENS, type JsonRequest } from "./answers.ts";
import { type PricedModel, type Tokens, tokenUpperBound } from "./prices.ts";
import { formatPrice, openSpendLedger } from "./spend.ts";

export interface Notes {
  calls: number;
  /** At most: of each answer as many as it may have. */
  tokens: Tokens;
}

/** Makes a model that notes each request and answers with `answerTo`, so that the work can continue. */
export function noteTaker(
  model: string,
  answerTo: (request: Pick<JsonRequest<unknown>, "feature" | "prompt">) => unknown,
): { notes: Notes; complete: CompleteJson } {
  const notes: Notes = { calls: 0, tokens: { input: 0, output: 0 } };
  return {
    notes,
    complete: async <T>(request: JsonRequest<T>) => {
      const input = tokenUpperBound(request.system) + tokenUpperBound(request.prompt);
      const output = request.maxTokens ?? DEFAULT_MAX_TOKENS;
      notes.calls++;
      notes.tokens.input += input;
      notes.tokens.output += output;
      const value = request.schema.parse(answerTo(request));
      return { value, model, usage: { input, output }, tokens: input + output, usd: 0 };
    },
  };
}

/** Returns the host that would receive so many tokens, and the price at which such a call is recorded. */
export function pricePlan(
  { paths, settings }: Pick<Config, "paths" | "settings">,
  model: PricedModel,
  { input, output }: Tokens,
): { host: string; tokens: number; usd: number; text: string } {
  const host = new URL(model.baseUrl ?? "https://api.openai.com").host;
  const price = openSpendLedger(paths.home, settings).price(model, { input, output });
  const tokens = input + output;
  return { host, tokens, usd: price.usd, text: `${host}: ${formatPrice(price)} (at most ${tokens} tokens)` };
}

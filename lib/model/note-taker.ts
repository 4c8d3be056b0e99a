/** A model that takes notes of what it would be sent, for the dry run of work that asks one. */

import { type CompleteJson, DEFAULT_MAX_TOKENS, type JsonRequest } from "./answers.ts";
import { type Tokens, tokenUpperBound } from "./prices.ts";

export interface Notes {
  calls: number;
  /** At most: of each answer as many as it may have. */
  tokens: Tokens;
}

/** Makes one; `answerTo` makes up what the work goes on with. */
export function noteTaker(
  model: string,
  answerTo: (request: Pick<JsonRequest<unknown>, "feature" | "prompt">) => unknown,
): Notes & { complete: CompleteJson } {
  const tokens: Tokens = { input: 0, output: 0 };
  const taker = {
    calls: 0,
    tokens,
    complete: async <T>(request: JsonRequest<T>) => {
      const input = tokenUpperBound(request.system) + tokenUpperBound(request.prompt);
      const output = request.maxTokens ?? DEFAULT_MAX_TOKENS;
      taker.calls++;
      tokens.input += input;
      tokens.output += output;
      const value = request.schema.parse(answerTo(request));
      return { value, model, usage: { input, output }, tokens: input + output, usd: 0 };
    },
  };
  return taker;
}

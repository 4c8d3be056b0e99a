/**
 * Provides the configured model and embedder, and a model for dry runs that only notes what it would be sent.
 *
 * The client is loaded only when one is configured: that costs five empty starts.
 */

import type { Config } from "../config/config.ts";
import { type CompleteJson, DEFAULT_MAX_TOKENS, type JsonRequest, jsonCompleter } from "./answers.ts";
import type { Embedded } from "./llm.ts";
import { type Tokens, tokenUpperBound } from "./prices.ts";

/** Returns the configured model, or undefined when config.json names none. */
export async function configuredModel({ settings, env, paths }: Config): Promise<CompleteJson | undefined> {
  const { llm: config } = settings;
  if (!config) return undefined;
  const [{ openSpendLedger }, { redactor }] = await Promise.all([
    import("./spend.ts"),
    import("../redact/redact.ts"),
  ]);
  const connection = {
    env,
    spend: openSpendLedger(paths.home, settings),
    redact: redactor(settings.redact.extra),
  };
  const { command } = config;
  if (command === undefined) return (await import("./llm.ts")).modelCompleter({ config, ...connection });
  const { commandSender } = await import("./command.ts");
  return jsonCompleter(commandSender({ config: { ...config, command }, home: paths.home, ...connection }));
}

/** Embeds texts in order. */
export type EmbedTexts = (texts: string[], signal?: AbortSignal) => Promise<Embedded>;

/** Returns the configured embedder, or undefined when config.json names none. */
export async function configuredEmbedder({ settings, env, paths }: Config): Promise<EmbedTexts | undefined> {
  const config = settings.embedding;
  if (!config) return undefined;
  const [{ embedTexts }, { openSpendLedger }, { redactor }] = await Promise.all([
    import("./llm.ts"),
    import("./spend.ts"),
    import("../redact/redact.ts"),
  ]);
  const spend = openSpendLedger(paths.home, settings);
  const redact = redactor(settings.redact.extra);
  return (texts, signal) => embedTexts(texts, { config, env, spend, redact, signal });
}

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

/** The embedder that config.json names, ready to be asked. Loading the client costs five empty starts, so only then. */

import type { Config } from "../config/config.ts";
import type { Embedded } from "./llm.ts";

/** Embeds texts, in their order. */
export type EmbedTexts = (texts: string[], signal?: AbortSignal) => Promise<Embedded>;

/** Undefined when config.json names no embedder. */
export async function configuredEmbedder({ settings, env, paths }: Config): Promise<EmbedTexts | undefined> {
  const config = settings.embedding;
  if (!config) return undefined;
  const [{ embedTexts }, { openSpendLedger }, { compilePatterns, redact }] = await Promise.all([
    import("./llm.ts"),
    import("./spend.ts"),
    import("../redact/redact.ts"),
  ]);
  const extra = compilePatterns(settings.redact.extra);
  const spend = openSpendLedger(paths.home, settings);
  return (texts, signal) =>
    embedTexts(texts, { config, env, spend, redact: (text) => redact(text, extra), signal });
}

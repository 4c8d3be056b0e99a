/** Provides the configured embedder. Its client is loaded only when one is configured: that costs five empty starts. */

import type { Config } from "../config/config.ts";
import type { Embedded } from "./llm.ts";

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

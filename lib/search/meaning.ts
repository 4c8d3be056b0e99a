/** The chunks nearest in meaning to each phrasing, where vectors are configured and at hand. */

import { SessionMemoryError } from "../base/errors.ts";
import type { Config } from "../config/config.ts";
import type { Store } from "../store/store.ts";
import { readRules } from "../transcripts/rules.ts";
import type { ChunkFilter } from "./candidates.ts";
import type { Nearest } from "./nearest.ts";

/** Chunks by meaning that take part, for each phrasing. */
const NEAREST = 50;

interface Meaning {
  /** For each phrasing, best first. */
  nearest?: Nearest[][];
  /** `on`, or `off: ` and why. */
  semantic: string;
}

/** Embeds the phrasings and finds the nearest chunks; says why where it cannot. */
export async function findByMeaning(
  store: Store,
  texts: string[],
  { config, filter, signal }: { config: Config; filter: ChunkFilter; signal: AbortSignal | undefined },
): Promise<Meaning> {
  const { embedding } = config.settings;
  if (embedding === undefined) return { semantic: "off: no embedding in config.json" };
  const { vectorSource } = await import("../index/chunk-vectors.ts");
  const source = vectorSource(store, embedding);
  if (source.mode === "off") return { semantic: `off: ${source.why}` };
  // the model client costs five empty starts
  const [{ embedTexts }, { openSpendLedger }, { nearestChunks }] = await Promise.all([
    import("../model/llm.ts"),
    import("../model/spend.ts"),
    import("./nearest.ts"),
  ]);
  try {
    const spend = openSpendLedger(config.paths.home, config.settings);
    const redact = readRules(config.settings).clean;
    const { vectors } = await embedTexts(texts, {
      config: embedding,
      env: config.env,
      spend,
      redact,
      signal,
    });
    const nearest = vectors.map((vector) => nearestChunks(store, vector, { source, filter, limit: NEAREST }));
    return { nearest, semantic: "on" };
  } catch (error) {
    if (!(error instanceof SessionMemoryError)) throw error;
    return { semantic: `off: ${error.message}` };
  }
}

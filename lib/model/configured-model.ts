/** The model that config.json names, ready to be asked. Loading the client costs five empty starts, so only then. */

import type { Config } from "../config/config.ts";
import type { CompleteJson } from "./answers.ts";

/** Undefined when config.json names no model. */
export async function configuredModel({ settings, env, paths }: Config): Promise<CompleteJson | undefined> {
  if (!settings.llm) return undefined;
  const [{ modelCompleter }, { openSpendLedger }, { compilePatterns, redact }] = await Promise.all([
    import("./llm.ts"),
    import("./spend.ts"),
    import("../redact/redact.ts"),
  ]);
  const extra = compilePatterns(settings.redact.extra);
  return modelCompleter({
    config: settings.llm,
    env,
    spend: openSpendLedger(paths.home, settings),
    redact: (text) => redact(text, extra),
  });
}

/** Provides the configured model. Its client is loaded only when one is configured: that costs five empty starts. */

import type { Config } from "../config/config.ts";
import type { CompleteJson } from "./answers.ts";

/** Returns the configured model, or undefined when config.json names none. */
export async function configuredModel({ settings, env, paths }: Config): Promise<CompleteJson | undefined> {
  if (!settings.llm) return undefined;
  const [{ modelCompleter }, { openSpendLedger }, { redactor }] = await Promise.all([
    import("./llm.ts"),
    import("./spend.ts"),
    import("../redact/redact.ts"),
  ]);
  return modelCompleter({
    config: settings.llm,
    env,
    spend: openSpendLedger(paths.home, settings),
    redact: redactor(settings.redact.extra),
  });
}

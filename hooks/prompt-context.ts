/** What a prompt is given to know beside its own words, for every host that asks before the model sees the prompt. */

import type { Look } from "../lib/activity/look.ts";
import { readUpdates } from "../lib/activity/news.ts";
import { logEvent } from "../lib/base/log.ts";
import type { Paths, Settings } from "../lib/config/config.ts";
import { logFailure } from "./failure.ts";

export interface PromptContext {
  /** Undefined when there is nothing to say. */
  text: string | undefined;
  /** To be called once the host has the text: from then on it counts as told. */
  delivered(): void;
}

/** Collects what a prompt should know: what changed in other sessions by the look that was taken. */
export function promptContext(
  look: Look,
  { paths, settings }: { paths: Paths; settings: Settings },
): PromptContext {
  const updates = readUpdates({ paths, settings, current: look.looker, look });
  for (const problem of updates.problems) logEvent(paths.log, { event: "activity", ok: false, problem });
  const text = updates.text ?? undefined;
  return {
    text,
    delivered() {
      try {
        const ok = updates.commit();
        if (text === undefined && ok) return;
        const about = updates.report.sessions.map(({ id }) => id);
        logEvent(paths.log, { event: "injected", ok, session: look.looker.id, about, text });
      } catch (error) {
        logFailure(paths, "prompt-context", error); // the host has its answer already
      }
    },
  };
}

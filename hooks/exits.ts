/** Redacts all that leaves by a hook: texts to inject or to show, questions to a host's own model, events of the log. */

import { logEvent } from "../lib/base/output.ts";
import type { Settings } from "../lib/config/config.ts";
import { type Redactor, redactor } from "../lib/redact/redact.ts";
import type { Answer, Asked } from "./asked.ts";

export type { Redactor };

/** Returns the redaction of what leaves, by our rules and the user's own. */
export function exitBy({ redact }: Pick<Settings, "redact">): Redactor {
  return redactor(redact.extra);
}

/** Returns a text to inject, which is logged once delivered. */
export function injection({ session, paths, settings }: Asked, said: string | undefined): Answer {
  const text = exitBy(settings)(said);
  const about = { event: "injected", ok: true, session: session.id, text };
  return { text, delivered: () => text !== undefined && logEvent(paths.log, about) };
}

/** Logs an event. */
export function log(file: string, event: Parameters<typeof logEvent>[1]): void {
  logEvent(file, redactor([])(event));
}

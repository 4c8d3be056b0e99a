/** Redacts all that leaves by a hook: texts to inject or to show, questions to a host's own model. */

import type { Settings } from "../lib/config/config.ts";
import { type Redactor, redactor } from "../lib/redact/redact.ts";
import { log } from "../lib/transcripts/event-log.ts";
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
  return { text, delivered: () => text !== undefined && log(paths.log, about) };
}

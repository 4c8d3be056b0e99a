/** What is forgotten, as each store that holds something of it is asked. */

import { sep } from "node:path";
import type { Paths } from "../config/config.ts";

/** Sessions by id, or whatever holds a text. */
export type Forgetting = { ids: ReadonlySet<string> } | { hasText: (text: string) => boolean };

export interface ForgetIn {
  paths: Paths;
  /** Whether it is only counted. */
  dryRun: boolean;
}

/** How long a file's writer is waited for: somebody's model may be answering. */
export const WRITER_WAIT_MS = 60_000;

/** Whether what is kept about a session, with these texts in it, is forgotten. */
export function isForgotten(forgetting: Forgetting, sessionId: string, texts: readonly string[]): boolean {
  return "ids" in forgetting ? forgetting.ids.has(sessionId) : texts.some(forgetting.hasText);
}

/** Whether a file lies in the state folder, where all is ours. */
export function isInState(file: string, { home }: Pick<Paths, "home">): boolean {
  return file.startsWith(`${home}${sep}`);
}

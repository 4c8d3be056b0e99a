/** The request that every store receives when something is to be forgotten. */

import { sep } from "node:path";
import type { Paths } from "../config/config.ts";

/** Sessions by id, or anything that contains a matching text. */
export type Forgetting = { ids: ReadonlySet<string> } | { hasText: (text: string) => boolean };

export interface ForgetIn {
  paths: Paths;
  /** Only count; remove nothing. */
  dryRun: boolean;
}

/** Time to wait for a file's writer, whose model may still be answering. */
export const WRITER_WAIT_MS = 60_000;

/** Returns whether a record about this session, containing these texts, is to be forgotten. */
export function isForgotten(forgetting: Forgetting, sessionId: string, texts: readonly string[]): boolean {
  return "ids" in forgetting ? forgetting.ids.has(sessionId) : texts.some(forgetting.hasText);
}

/** Returns whether a file is in the state folder, where every file is ours. */
export function isInState(file: string, { home }: Pick<Paths, "home">): boolean {
  return file.startsWith(`${home}${sep}`);
}

/** Handles a hook's failure: one line in the log, and nothing left that would keep failing. */

import { renameSync } from "node:fs";
import { describeError, SessionMemoryError } from "../lib/base/errors.ts";
import { logEvent } from "../lib/base/output.ts";
import type { Paths } from "../lib/config/config.ts";
import { redact } from "../lib/redact/redact.ts";

/** Logs a failure, and sets a damaged cursor file aside so that the next look starts over. */
export function logFailure(paths: Paths, hook: string, error: unknown): void {
  logEvent(paths.log, { event: `hook.${hook}`, ok: false, error: redact(describeError(error)) });
  const file = error instanceof SessionMemoryError ? error.details.cursorFile : undefined;
  if (typeof file !== "string") return;
  try {
    renameSync(file, `${file}.broken`);
  } catch {
    // gone, or not ours to move
  }
}

/** Versions the redaction rules: anything stored under another version is redacted again. */

import { sha256 } from "../base/hash.ts";
import { REDACTION_VERSION } from "./redact.ts";

/** Returns the version of our rules and, by its hash, that of the user's own. */
export function redactionVersion(extra: readonly string[]): string {
  if (extra.length === 0) return String(REDACTION_VERSION);
  return `${REDACTION_VERSION} ${sha256().update(JSON.stringify(extra)).digest("hex").slice(0, 16)}`;
}

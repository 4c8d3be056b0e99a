/** Records under which version of the redaction rules what is stored is redacted. Most runs need to know no more. */

import { readFact, type Store } from "../store/store.ts";

/** The version of the rules under which all rows of an index are redacted. */
export const CLEAN_FACT = "redaction";
/** The version under which all files beside the indexes are; kept in the main index. */
export const FILES_FACT = "redaction_files";

/** Returns whether nothing is left to redact under a version of the rules, as far as the main index knows. */
export function isClean(store: Store, version: string): boolean {
  return readFact(store, CLEAN_FACT) === version && readFact(store, FILES_FACT) === version;
}

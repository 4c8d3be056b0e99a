/** Opens indexes. One that is damaged, of another version, or stored under other redaction rules is carried over. */

import { existsSync } from "node:fs";
import type { Settings } from "../config/config.ts";
import { redactionVersion } from "../redact/redact.ts";
import { isReplaceable } from "../store/carry-over.ts";
import { isMarkedDamaged } from "../store/storage-errors.ts";
import { openStore, readFact, type Store, writeFact } from "../store/store.ts";

/** The settings that decide what of a text is stored. */
type StoringRules = Pick<Settings, "redact" | "exclude">;

/** The redaction rules under which every row of an index was stored. */
const RULES_FACT = "redaction";

/**
 * Opens an index, created or carried over as needed.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` when it cannot be opened, or is missing and `create` is false.
 */
export async function openIndex(
  path: string,
  rules: StoringRules,
  options: { create?: boolean } = {},
): Promise<Store> {
  const version = redactionVersion(rules.redact.extra);
  const current = {
    ...options,
    isCurrent: (db: Store["db"]) => [version, undefined].includes(readFact({ db }, RULES_FACT)),
  };
  try {
    return openStore(path, current);
  } catch (error) {
    if (!isReplaceable(error) && !isMarkedDamaged(path)) throw error;
    // a start without it loads none of this
    const { carryIndex } = await import("./carry-index.ts");
    return openStore(path, {
      ...current,
      carry(from, to) {
        noteRules({ db: to }, rules);
        return carryIndex(from, to, rules);
      },
    });
  }
}

/** Carries an index over if it must be; without one there is nothing to do. */
export async function ensureIndex(path: string, rules: StoringRules): Promise<void> {
  if (existsSync(path)) (await openIndex(path, rules, { create: false })).close();
}

/** Records the rules under which the rows of a new index are stored. */
export function noteRules(store: Pick<Store, "db">, { redact }: StoringRules): void {
  if (readFact(store, RULES_FACT) === undefined) writeFact(store, RULES_FACT, redactionVersion(redact.extra));
}

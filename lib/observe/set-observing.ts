/** Sets in config.json how all sessions are observed, as commands do. */

import { join } from "node:path";
import { describeError, SessionMemoryError } from "../base/errors.ts";
import { readJson, remove } from "../base/files.ts";
import { type JsonRecord, recordOf } from "../base/json.ts";
import { defaultSettings, type ObserveSettings, type Paths } from "../config/config.ts";
import { changeConfig } from "../config/config-file.ts";
import { parseSettings } from "../config/schema.ts";

/** Keys of `observe` with their values as texts: `{retainTokens: "4000", auto: "off"}`. */
type Changes = Readonly<Record<string, string>>;

/** The keys that a person alone sets: who observes, and at what cost. */
const RESERVED = ["model", "dailyBudgetUsd", "timeoutMs"];
const SWITCHES: ReadonlyMap<string, boolean> = new Map([
  ["on", true],
  ["true", true],
  ["off", false],
  ["false", false],
]);

/**
 * Reads each text as a value.
 *
 * @throws {SessionMemoryError} `USAGE` for an unknown key or a value that does not fit.
 */
export function parseChanges(changes: Changes): Partial<ObserveSettings> {
  const observe: JsonRecord = {};
  for (const [key, text] of Object.entries(changes)) {
    if (RESERVED.includes(key))
      throw new SessionMemoryError("USAGE", `Cannot set ${key} by a command`, { hint: "edit config.json" });
    observe[key] = SWITCHES.get(text) ?? (/^\d+$/.test(text) ? Number(text) : text);
  }
  try {
    parseSettings(JSON.stringify({ observe }), "--set", defaultSettings());
    return observe as Partial<ObserveSettings>;
  } catch (error) {
    const hint = error instanceof SessionMemoryError ? { hint: error.hint ?? "" } : {};
    throw new SessionMemoryError("USAGE", describeError(error), hint);
  }
}

/** Sets mode, thresholds and switches. */
export async function setObserving({ config }: Pick<Paths, "config">, changes: Changes): Promise<void> {
  const values = parseChanges(changes);
  if (Object.keys(values).length === 0) return;
  await changeConfig(config, (settings) => ({
    ...settings,
    observe: { ...recordOf(settings.observe), ...values },
  }));
}

/** Moves into config.json what an earlier version kept beside the ledgers. */
export async function carryObserving(paths: Pick<Paths, "config" | "observations">): Promise<void> {
  const file = join(paths.observations, "settings.json");
  const kept = Object.entries(recordOf(readJson(file))).map(([key, value]) => [key, String(value)]);
  await setObserving(paths, Object.fromEntries(kept)).finally(() => remove(file));
}

/** Changes the `exclude` block of config.json. */

import { arrayOf, recordOf } from "../base/json.ts";
import { EXCLUDE_KEYS, type ExcludeKey, type ExcludeSettings } from "../config/config.ts";
import { changeConfig } from "../config/config-file.ts";

/**
 * Adds entries that the file does not have yet, and returns those.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` when the file is not a JSON object.
 */
export function addExclusions(config: string, wanted: ExcludeSettings): Promise<ExcludeSettings> {
  return changeExclude(config, (key, present) => {
    const changed = [...new Set(wanted[key])].filter((entry) => !present.includes(entry));
    return { changed, next: [...present, ...changed] };
  });
}

/**
 * Removes entries, and returns the ones in the file.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` when the file is not a JSON object.
 */
export function removeExclusions(config: string, unwanted: ExcludeSettings): Promise<ExcludeSettings> {
  return changeExclude(config, (key, present) => {
    const changed = unwanted[key].filter((entry) => present.includes(entry));
    return { changed, next: present.filter((entry) => !changed.some((gone) => gone === entry)) };
  });
}

async function changeExclude(
  config: string,
  change: (key: ExcludeKey, present: readonly unknown[]) => { changed: string[]; next: readonly unknown[] },
): Promise<ExcludeSettings> {
  const all: ExcludeSettings = { sessions: [], projects: [], patterns: [] };
  await changeConfig(config, (settings) => {
    const exclude = { ...recordOf(settings.exclude) };
    for (const key of EXCLUDE_KEYS) {
      const { changed, next } = change(key, arrayOf(exclude[key]));
      all[key] = changed;
      if (changed.length > 0) exclude[key] = next;
    }
    return EXCLUDE_KEYS.some((key) => all[key].length > 0) ? { ...settings, exclude } : undefined;
  });
  return all;
}

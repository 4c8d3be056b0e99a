/** A text taken out of parsed JSON, together with the item it stands in. */

import { isRecord } from "./json.ts";

interface Scrubbed {
  value: unknown;
  /** How many texts and items went. */
  removed: number;
}

/**
 * Takes out what holds a text: of a list the item, of an object the field's value. An object in a list goes as a
 * whole: a note without its words is none.
 */
export function scrub(value: unknown, hasText: (text: string) => boolean): Scrubbed {
  if (typeof value === "string") return hasText(value) ? { value: "", removed: 1 } : { value, removed: 0 };
  if (Array.isArray(value)) {
    const kept = value.filter((item) => scrub(item, hasText).removed === 0);
    return { value: kept, removed: value.length - kept.length };
  }
  if (!isRecord(value)) return { value, removed: 0 };
  let removed = 0;
  const kept: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(value)) {
    const result = hasText(key) ? { value: undefined, removed: 1 } : scrub(field, hasText);
    removed += result.removed;
    if (result.value !== undefined) kept[key] = result.value;
  }
  return { value: kept, removed };
}

/** Narrows parsed JSON, whose shape is never trusted. */

export type JsonRecord = Record<string, unknown>;

/** Returns whether a value is an object other than an array. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the value if it is an object, else an empty one. */
export function recordOf(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}

/** Returns the value if it is a non-empty string. */
export function stringOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The most dollars or tokens that a setting or a report of use can mean. */
export const SUM_MAX = 1e12;

/** Returns the value if it is a finite number. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** Returns the value if it is an array, else an empty one. */
export function arrayOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the objects of a list that may hold anything. */
export function recordsOf(value: unknown): JsonRecord[] {
  return arrayOf(value).filter(isRecord);
}

/** Returns the value that a text holds as JSON; any other value as it is. */
export function unpackJson(value: unknown): unknown {
  if (typeof value !== "string" || !/^["[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** Parses JSON as an editor may have written it, after a byte order mark. */
export function parseJson(text: string): unknown {
  return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
}

/** Parses a line as a JSON object; undefined for anything else, such as a line torn by a full disk. */
export function parseRecord(line: string): JsonRecord | undefined {
  try {
    const value = parseJson(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Nobody reads on deeper than this, and the runtime's own stack ends at some ten thousand levels. */
const DEPTH_MAX = 64;

/** Writes a value of any depth as JSON; a value nested deeper than 64 levels is "…". */
export function jsonOf(value: unknown): string {
  return JSON.stringify(mapTexts(value, (text) => text)) ?? "";
}

/** Returns a value with every text in it changed, to the depth of 64 levels; the names of its fields stay. */
export function mapTexts<T>(value: T, change: (text: string) => string): T {
  if (typeof value === "string") return change(value) as T;
  const below = (part: unknown, depth: number): unknown => {
    if (typeof part === "string") return change(part);
    if (typeof part !== "object" || part === null) return part;
    if (depth === 0) return "…";
    if (Array.isArray(part)) return part.map((item) => below(item, depth - 1));
    return Object.fromEntries(Object.entries(part).map(([key, field]) => [key, below(field, depth - 1)]));
  };
  return below(value, DEPTH_MAX) as T;
}

/** Returns the strings of a list that may hold anything. */
export function stringsOf(value: unknown): string[] {
  return arrayOf(value).filter((item) => typeof item === "string");
}

export interface Scrubbed {
  value: unknown;
  /** Number of texts and items removed. */
  removed: number;
}

/**
 * Removes what contains a text: the item of a list, the field of an object. An object in a list is removed as a whole: a
 * note without its words is useless.
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

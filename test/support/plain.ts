/** Lines of the plain format, in both its shapes. */

import type { Row } from "./rows.ts";

type Role = "user" | "assistant" | "system" | "tool";

/** `{role, content, timestamp}`; no timestamp when `at` is null. */
export function plainLine(role: Role, content: string | Row[], at: string | null = DEFAULT_AT): Row {
  return { role, content, ...(at === null ? {} : { timestamp: at }) };
}

/** `{type: "message", message: {role, content}}`. */
export function plainMessage(role: Role, content: string | Row[], at: string | null = DEFAULT_AT): Row {
  return { type: "message", ...(at === null ? {} : { timestamp: at }), message: { role, content } };
}

const DEFAULT_AT = "2026-02-03T14:30:00.000Z";

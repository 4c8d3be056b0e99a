/** What the builders of all four formats share: rows, their text, ids and times. */

import { createHash } from "node:crypto";

/** One line of a transcript before it is text. */
export type Row = Record<string, unknown>;

/** Rows as a transcript file holds them: one per line, each line ended. Rows given in lists are flattened. */
export function jsonl(...rows: readonly (Row | readonly Row[])[]): string {
  return rows
    .flat()
    .map((row) => `${JSON.stringify(row)}\n`)
    .join("");
}

/** A lower-case uuid that depends on `seed` only. */
export function uuidFrom(seed: string | number): string {
  const hex = createHash("sha256").update(String(seed)).digest("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}

/** Short hexadecimal id that depends on `seed` only. */
export function hexFrom(seed: string | number, length = 8): string {
  return createHash("sha256").update(String(seed)).digest("hex").slice(0, length);
}

/** An ISO time that many seconds before (or, when negative, after) now. */
export function secondsAgo(seconds: number): string {
  return new Date(Date.now() - seconds * 1000).toISOString();
}

let issued = 0;

/** A number no row of this process has had: rows that are not copies must not share an id. */
export function nextNumber(): number {
  return ++issued;
}

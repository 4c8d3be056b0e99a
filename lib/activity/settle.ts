/** After a look: marks what was told, and where the looking session itself stands. */

import { existsSync } from "node:fs";
import { type Advance, markAtEnd, setMarks } from "./cursors.ts";
import { isDue, type Look } from "./look.ts";

type Looked = Pick<Look, "looker" | "now" | "cursors" | "marks">;

/**
 * Sets the marks of a look.
 *
 * @returns false when the cursor file stayed locked; what the marks stand for is then told once more.
 */
export function settle(look: Looked, told: readonly Advance[] = []): boolean {
  return setMarks(look.cursors, [...told, ...ownAdvance(look)], look.marks);
}

/** From its mark of itself on, a session's edits count as made since it looked. */
function ownAdvance(look: Looked): Advance[] {
  if (!isDue(look)) return [];
  const { id, file = "" } = look.looker;
  const since = look.marks?.get(id)?.since ?? new Date(look.now).toISOString();
  // At a session's first prompt its transcript is not there yet.
  const mark = existsSync(file) ? markAtEnd(file) : { offset: 0, fingerprint: "" };
  return [{ id, file, mark: { ...mark, since } }];
}

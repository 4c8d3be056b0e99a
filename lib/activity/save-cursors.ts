/** Saves the cursors after a look: how far the others were seen, and where the viewer itself is. */

import { existsSync } from "node:fs";
import { type Advance, markAtEnd, setMarks } from "./cursors.ts";
import { isDue, type Look } from "./look.ts";

type Looked = Pick<Look, "viewer" | "now" | "cursors" | "marks">;

/**
 * Saves the cursors of a look.
 *
 * @returns false when the cursor file stayed locked; the same news is then reported once more.
 */
export function saveCursors(look: Looked, seen: readonly Advance[] = []): boolean {
  return setMarks(look.cursors, [...seen, ...ownAdvance(look)], look.marks);
}

/** Edits behind the viewer's mark of itself count as made since it looked. */
function ownAdvance(look: Looked): Advance[] {
  if (!isDue(look)) return [];
  const { id, file = "" } = look.viewer;
  const since = look.marks?.get(id)?.since ?? new Date(look.now).toISOString();
  // The transcript does not exist yet at the first prompt.
  const mark = existsSync(file) ? markAtEnd(file) : { offset: 0, fingerprint: "" };
  return [{ id, file, mark: { ...mark, since } }];
}

/** Parts a conversation into exchanges. */

import type { Entry, Row } from "../hosts/session.ts";

/** A user's message and all that follows until the next one. */
export interface Exchange<T> {
  items: T[];
  /** True if a later user's message has closed it. */
  isClosed: boolean;
}

/**
 * Parts rows or entries before each of a user's messages, or before whatever else begins a part. For an item that is undefined an
 * exchange without items is yielded at once: a pause.
 */
export function* exchangesIn<T extends Row | Entry>(
  items: Iterable<T | undefined>,
  isFirst: (item: T) => boolean = isPrompt,
): Generator<Exchange<T>> {
  let current: T[] = [];
  for (const item of items) {
    if (item === undefined) {
      yield { items: [], isClosed: false };
      continue;
    }
    if (isFirst(item) && current.length > 0) {
      yield { items: current, isClosed: true };
      current = [];
    }
    current.push(item);
  }
  if (current.length > 0) yield { items: current, isClosed: false };
}

function isPrompt(item: Row | Entry): boolean {
  return ("who" in item ? item.who : item.kind) === "user";
}

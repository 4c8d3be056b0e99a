/** Puts in order what has to be read to be dated, and reads as little as that takes. */

import { compareText } from "../base/text.ts";
import type { Session } from "../hosts/session.ts";

/** Something that is dated by reading it; nothing in it is later than `latest`, in milliseconds. */
interface Unread<T> {
  latest: number;
  read: () => T[];
}

/** Read at first: a listing shows about as many sessions. */
const READ_FIRST = 16;

/** Returns which of two comes first: the newer, among equals by the names of their files. */
export function compareAge(a: Pick<Session, "updatedAt" | "file">, b: typeof a): number {
  return compareText(b.updatedAt, a.updatedAt) || compareText(a.file, b.file);
}

/** Yields what is read, newest first. Each batch that is read is twice the one before. */
export function* newestFirst<T extends Pick<Session, "updatedAt" | "file">>(
  unread: readonly Unread<T>[],
): Generator<T, undefined> {
  const waiting = unread.toSorted((a, b) => b.latest - a.latest);
  let ready: T[] = [];
  for (let [from, to] = [0, READ_FIRST]; from < waiting.length; [from, to] = [to, 2 * to]) {
    const read = waiting.slice(from, to).flatMap((one) => one.read());
    ready = [...ready, ...read].sort(compareAge);
    const latest = waiting[to]?.latest ?? Number.NEGATIVE_INFINITY;
    const sure = ready.findLastIndex(({ updatedAt }) => Date.parse(updatedAt) > latest) + 1;
    yield* ready.slice(0, sure);
    ready = ready.slice(sure);
  }
}

/**
 * What other sessions did after the marks a session has of them, each row counted once however often hosts copied it.
 *
 * Transcripts are read forward from the mark, or, at the first look, from about an hour before now; nothing is held
 * but counts, names and two texts per session.
 */

import { type Stats, statSync } from "node:fs";
import { describeError } from "../base/errors.ts";
import type { Rules } from "../transcripts/rules.ts";
import type { Session } from "../transcripts/session.ts";
import { type Head, readEntries, readHead } from "../transcripts/transcript.ts";
import { copiesIn } from "./copies.ts";
import { type Advance, holds, markAt } from "./cursors.ts";
import { addEntry, emptyStretch, isNews, type Stretch } from "./digest.ts";
import type { Mark, Marks } from "./marks.ts";
import { offsetSince } from "./since.ts";

/** A session and what it did. */
export interface Doings {
  session: Session;
  stretch: Stretch;
  /** Where it is told up to; undefined when the file changed under our hands and is to be read again. */
  advance: Advance | undefined;
  /** Lines that could not be read. */
  skipped: number;
}

interface ReadingOptions {
  marks: Marks | undefined;
  /** ISO time: what is older is left out of a session that has no mark. */
  firstLookSince: string;
  /** ISO time of the very first look: a session begun before it was there to be looked at then. */
  lookedSince?: string | undefined;
  /** Only what is newer than this ISO time, whatever the marks say. */
  since?: string | undefined;
  /** Transcripts that may hold the originals of copied rows: the looking session's own first, then recent ones. */
  sources: readonly string[];
  /** What is redacted and passed over. */
  rules: Rules;
  /** Milliseconds: reading ends here, after one line at least, and goes on there at the next look. @default never */
  deadline?: number | undefined;
}

/** A file that is about to be read. */
interface Reading {
  session: Session;
  head: Head;
  /** Where reading starts. */
  offset: number;
  /** What is older is passed over. */
  after: string | undefined;
  mark: Mark | undefined;
  /** The file before it is read. */
  stat: Stats;
}

/** Reads what each session did. `problems` are sentences about those that could not be read. */
export function readDoings(
  sessions: readonly Session[],
  options: ReadingOptions,
): { doings: Doings[]; problems: string[] } {
  const problems: string[] = [];
  const attempt = <T>(session: Session, work: () => T | undefined): T[] => {
    try {
      const result = work();
      return result === undefined ? [] : [result];
    } catch (error) {
      problems.push(`Cannot read session ${session.id}: ${describeError(error)}`);
      return [];
    }
  };
  const readings = sessions.flatMap((session) => attempt(session, () => prepare(session, options)));
  // Originals before their forks, which may begin with the very same rows and go on from there.
  readings.sort(
    (a, b) =>
      order(a.head.startedAt ?? "", b.head.startedAt ?? "") ||
      a.stat.birthtimeMs - b.stat.birthtimeMs ||
      a.session.size - b.session.size,
  );
  const later = new Set(readings.filter(({ mark }) => !mark).map(({ session }) => session.file));
  const { deadline = Number.POSITIVE_INFINITY, rules } = options;
  const doings = readings.flatMap((reading, index) => {
    later.delete(reading.session.file);
    if (index > 0 && Date.now() > deadline) return [];
    const originals = options.sources.filter((file) => file !== reading.session.file && !later.has(file));
    return attempt(reading.session, () => read(reading, { originals, rules, deadline }));
  });
  return { doings, problems };
}

/** The files a session edited after its mark of itself, by absolute path, and when. */
export function readOwnEdits(
  file: string,
  {
    rules,
    mark,
    since,
    resolvePath,
  }: {
    rules: Rules;
    mark: Mark | undefined;
    since: string;
    resolvePath: (path: string) => string;
  },
): Map<string, string | undefined> {
  const edits = new Map<string, string | undefined>();
  const head = readHead(file);
  if (!head) return edits;
  const isSeen = mark !== undefined && holds(file, mark);
  const from = isSeen ? mark.offset : offsetSince(file, since, head);
  for (const { at, tool } of readEntries(file, { rules, head, from: { offset: from, line: 0 } })) {
    if (tool?.action !== "edit" || (!isSeen && at !== undefined && at < since)) continue;
    for (const path of tool.paths) edits.set(resolvePath(path), at);
  }
  return edits;
}

function prepare(
  session: Session,
  { marks, since, firstLookSince, lookedSince }: ReadingOptions,
): Reading | undefined {
  const head = readHead(session.file);
  if (!head) return undefined;
  const stat = statSync(session.file);
  const mark = since === undefined ? marks?.get(session.id) : undefined;
  const common = { session: { ...session, cwd: session.cwd ?? head.cwd }, head, mark, stat };
  if (mark) return { ...common, offset: holds(session.file, mark) ? mark.offset : 0, after: undefined };
  const wasThere =
    lookedSince !== undefined && (head.startedAt ?? "") < lookedSince && lookedSince < firstLookSince;
  const after = since ?? (wasThere ? lookedSince : firstLookSince);
  return { ...common, offset: offsetSince(session.file, after, head), after };
}

function read(
  { session, head, offset, after, mark, stat }: Reading,
  { originals, rules, deadline }: { originals: readonly string[]; rules: Rules; deadline: number },
): Doings {
  // After a mark that holds, rows are new by definition: a host copies them when it makes the file.
  const isCopy =
    offset > 0 && mark ? () => false : copiesIn({ file: session.file, head, offset, after }, originals);
  const stretch = emptyStretch();
  const progress = { offset, line: 0, skipped: 0 };
  let at = session.updatedAt; // of rows without a time, until there is one with
  let line: number | undefined;
  for (const entry of readEntries(session.file, { rules, head, from: { offset, line: 0 }, progress })) {
    if (line !== undefined && line !== entry.line && Date.now() > deadline) {
      // What was only read so far waits for what comes of it: here that would be waiting for ever.
      if (!isNews(stretch)) stretch.read.clear();
      break;
    }
    line = entry.line;
    at = entry.at ?? at;
    if ((after !== undefined && at < after) || isCopy(entry)) continue;
    addEntry(stretch, entry);
  }
  stretch.latest ??= at;
  const next = markAt(session.file, progress.offset);
  const now = statSync(session.file);
  const isSame =
    now.ino === stat.ino &&
    (now.mtimeMs === stat.mtimeMs ||
      (now.size >= progress.offset && (!mark || offset === 0 || holds(session.file, mark))));
  const advance = isSame ? { id: session.id, file: session.file, mark: next } : undefined;
  return { session, stretch, advance, skipped: progress.skipped };
}

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/**
 * Reads what other sessions did after the viewer's marks of them. Rows that hosts copied into forks count once.
 *
 * Transcripts are read forward from the mark, or from about an hour ago at the first look. Only counts, names and two texts
 * per session are held in memory.
 */

import { type Stats, statSync } from "node:fs";
import { describeError, hasCode } from "../base/errors.ts";
import { compareText } from "../base/text.ts";
import type { Head } from "../transcripts/format.ts";
import { readHead } from "../transcripts/head.ts";
import { linesForward, withFile } from "../transcripts/jsonl.ts";
import { ownRules, type Rules } from "../transcripts/rules.ts";
import type { Entry, Session } from "../transcripts/session.ts";
import { entryKey, readEntries } from "../transcripts/transcript.ts";
import { type Advance, isMarkValid, markAt, markAtEnd } from "./cursors.ts";
import { type ActivityStats, addEntry, emptyStats } from "./digest.ts";
import type { Mark, Marks } from "./look.ts";

/** The activity of one session since the viewer last looked. */
export interface SessionActivity {
  session: Session;
  stats: ActivityStats;
  /** The mark just past the last row read; undefined when the file changed meanwhile and must be read again. */
  advance: Advance | undefined;
  /** Lines that could not be read. */
  skipped: number;
}

interface ReadingOptions {
  marks: Marks | undefined;
  /** ISO time: older rows of a session without a mark are left out. */
  firstLookSince: string;
  /** ISO time of the viewer's first look ever: a session that began before it was visible then. */
  lookedSince?: string | undefined;
  /** ISO time: only newer rows count, whatever the marks say. */
  since?: string | undefined;
  /** Transcripts that may hold the originals of copied rows: the viewer's own, then recent ones. */
  sources: readonly string[];
  /** What is redacted or left out. */
  rules: Rules;
  /** Milliseconds since the epoch: reading stops then, after at least one line. @default never */
  deadline?: number | undefined;
}

/** A transcript about to be read. */
interface PendingRead {
  session: Session;
  head: Head;
  /** The byte at which reading starts. */
  offset: number;
  /** ISO time: older rows are skipped. */
  after: string | undefined;
  mark: Mark | undefined;
  /** Whether the last row is older than what counts. */
  isOld: boolean;
  /** The file's stat before reading. */
  stat: Stats;
}

/** Reads what each session did. `problems` has a sentence for each one that could not be read. */
export function readActivities(
  sessions: readonly Session[],
  options: ReadingOptions,
): { activities: SessionActivity[]; problems: string[] } {
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
  const { deadline = Number.POSITIVE_INFINITY, rules } = options;
  const isOver = () => Date.now() > deadline;
  // Prepares no more of thousands of sessions than can be read in time.
  const half = (Date.now() + deadline) / 2;
  const readings: PendingRead[] = [];
  for (const session of sessions) {
    if (readings.length > 0 && Date.now() > half) break;
    readings.push(...attempt(session, () => prepare(session, options, isOver)));
  }
  // Histories that were just copied here wait, so that they take no time from what is new; originals come before their
  // forks, which begin with the same rows.
  readings.sort(
    (a, b) =>
      Number(a.isOld) - Number(b.isOld) ||
      compareText(a.head.startedAt ?? "", b.head.startedAt ?? "") ||
      a.stat.birthtimeMs - b.stat.birthtimeMs,
  );
  const later = new Set(readings.filter(({ mark }) => !mark).map(({ session }) => session.file));
  const activities = readings.flatMap((reading, index) => {
    later.delete(reading.session.file);
    if (index > 0 && isOver()) return [];
    const originals = options.sources.filter((file) => file !== reading.session.file && !later.has(file));
    return attempt(reading.session, () => read(reading, { originals, rules, isOver }));
  });
  return { activities, problems };
}

/** Returns the files that the viewer edited after its mark of itself, by absolute path, with the time of each edit. */
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
  const isSeen = mark !== undefined && isMarkValid(file, mark);
  const from = isSeen ? mark.offset : offsetSince(file, since);
  for (const { at, tool } of readEntries(file, { rules, head, from: { offset: from, line: 0 } })) {
    if (tool?.action !== "edit" || (!isSeen && at !== undefined && at < since)) continue;
    for (const path of tool.paths) edits.set(resolvePath(path), at);
  }
  return edits;
}

function prepare(
  session: Session,
  { marks, since, firstLookSince, lookedSince }: ReadingOptions,
  isOver: () => boolean,
): PendingRead | undefined {
  const head = readHead(session.file);
  if (!head) return undefined;
  const stat = statSync(session.file);
  const mark = since === undefined ? marks?.get(session.id) : undefined;
  const common = { session: { ...session, cwd: session.cwd ?? head.cwd }, head, mark, stat };
  if (mark) {
    const offset = isMarkValid(session.file, mark) ? mark.offset : 0;
    return { ...common, offset, after: undefined, isOld: false };
  }
  const wasThere =
    lookedSince !== undefined && (head.startedAt ?? "") < lookedSince && lookedSince < firstLookSince;
  const after = since ?? (wasThere ? lookedSince : firstLookSince);
  const isOld = session.updatedAt < after;
  const offset = isOld ? markAtEnd(session.file).offset : offsetSince(session.file, after, isOver);
  return { ...common, offset, after, isOld };
}

function read(
  { session, head, offset, after, mark, stat }: PendingRead,
  { originals, rules, isOver }: { originals: readonly string[]; rules: Rules; isOver: () => boolean },
): SessionActivity {
  // A host copies rows when it creates the file, so those after a valid mark are new.
  const isCopy =
    offset > 0 && mark
      ? () => false
      : copiesIn({ file: session.file, head, offset, after }, originals, isOver);
  const stats = emptyStats();
  const progress = { offset, line: 0, skipped: 0 };
  let at = session.updatedAt; // for rows without a time
  const from = { offset, line: 0 };
  // A few rows are reported together, not half of them with the next prompt.
  const isCut = stat.size - offset > WHOLE_BYTES ? isOver : undefined;
  for (const entry of readEntries(session.file, { rules, head, from, progress, isOver: isCut })) {
    at = entry.at ?? at;
    if ((after !== undefined && at < after) || isCopy(entry)) continue;
    addEntry(stats, entry);
  }
  stats.latest ??= at;
  const next = markAt(session.file, progress.offset);
  const now = statSync(session.file);
  const isSame = now.ino === stat.ino && now.size >= stat.size;
  const advance = isSame ? { id: session.id, file: session.file, mark: next } : undefined;
  return { session, stats, advance, skipped: progress.skipped };
}

/** A turn or two, which take milliseconds to read. */
const WHOLE_BYTES = 64 * 1024;

/** Each probe reaches back four times as far as the one before. */
const PROBE_BYTES = 256 * 1024;

/** Returns the start of a line that precedes every row newer than an ISO time, assuming that rows are in order of time. */
function offsetSince(file: string, since: string | undefined, isOver?: () => boolean): number {
  if (since === undefined) return 0;
  const { size } = statSync(file);
  for (let reach = PROBE_BYTES; reach < size; reach *= 4) {
    const offset = nextLineStart(file, size - reach);
    const from = { offset, line: 0 };
    for (const { at } of readEntries(file, { rules: ownRules(), from, isOver })) {
      if (at !== undefined && at < since) return offset;
      if (at !== undefined) break;
    }
  }
  return 0;
}

function nextLineStart(file: string, position: number): number {
  return withFile(file, (descriptor) => {
    const [line] = linesForward(descriptor, { from: position }).take(1);
    return line?.end ?? position;
  });
}

/** The part of a transcript to check. */
type Part = Pick<PendingRead, "head" | "offset" | "after"> & { file: string };

/**
 * Returns a predicate for entries that one of the sources also holds. A fork begins with its copies, so a source that does
 * not contain the first id need not be compared. What was not compared in time counts as new.
 */
function copiesIn(
  { file, head, offset, after }: Part,
  sources: readonly string[],
  isOver: () => boolean,
): (entry: Entry) => boolean {
  // pi dates a fork's header and copies older entries below it.
  const born = head.forkedFrom === undefined ? undefined : head.startedAt;
  const rules = ownRules();
  const isNew = ({ at }: Entry) => after === undefined || at === undefined || at >= after;
  const first = readEntries(file, { rules, head, from: { offset, line: 0 }, isOver }).find(
    (entry) => entry.id !== undefined && isNew(entry),
  );
  const copied = new Set<string | undefined>();
  for (const source of first?.id === undefined ? [] : sources) {
    if (isOver()) break;
    try {
      const from = { offset: offsetSince(source, after, isOver), line: 0 };
      if (!holdsText(source, first?.id ?? "", from.offset)) continue;
      for (const entry of readEntries(source, { rules, from, isOver })) copied.add(entryKey(entry));
    } catch (error) {
      // Hosts name a session's file before they create it, and delete old ones.
      if (!hasCode(error, "ENOENT")) throw error;
    }
  }
  copied.delete(undefined);
  return (entry) =>
    (born !== undefined && entry.at !== undefined && entry.at < born) ||
    (copied.size > 0 && copied.has(entryKey(entry)));
}

function holdsText(file: string, text: string, from: number): boolean {
  return withFile(file, (descriptor) =>
    linesForward(descriptor, { from }).some(({ bytes }) => bytes?.includes(text) === true),
  );
}

/**
 * Reads what other sessions did after the viewer's marks of them. Rows that hosts copied into forks count once.
 *
 * Transcripts are read forward from the mark, or from about an hour ago at the first look. Only counts, names and two texts
 * per session are held in memory.
 */

import { type Stats, statSync } from "node:fs";
import { describeError } from "../base/errors.ts";
import { compareText } from "../base/text.ts";
import type { Entry, Session } from "../hosts/session.ts";
import { rowsWhenKnown } from "../transcripts/calls.ts";
import { linesForward, withFile } from "../transcripts/files.ts";
import type { Head } from "../transcripts/head.ts";
import { readHead, tryHead } from "../transcripts/head.ts";
import { ownRules, type Rules } from "../transcripts/rules.ts";
import { addRow, emptyTally, type Tally, tally } from "../transcripts/tally.ts";
import { entryKey, offsetSince, readEntries } from "../transcripts/transcript.ts";
import { FIRST_LOOK_MS, type Look, type Mark } from "./look.ts";
import { type Advance, hasSeenRows, isMarkValid, markAt, markAtEnd } from "./marks.ts";

/** The activity of one session since the viewer last looked. */
export interface SessionActivity {
  session: Session;
  /** Texts and paths are as in the transcript. */
  did: Tally;
  /** The mark just past the last row read; undefined when the file changed meanwhile and must be read again. */
  advance: Advance | undefined;
  /** Lines that could not be read. */
  skipped: number;
  /** True if a program started it for one answer, where its host says so. */
  isHeadless?: boolean | undefined;
}

/** The viewer's look, and what counts in it. */
export interface Reading {
  look: Pick<Look, "viewer" | "marks" | "now" | "recent">;
  /** Only newer rows count, whatever the marks say. */
  since?: Date | undefined;
  /** The rules of what is redacted or left out. */
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
  /** True if the last row is older than what counts. */
  isOld: boolean;
  /** The file's stat before reading. */
  stat: Stats;
}

/** Asks for no text of a call. */
const OUTCOMES = () => false;

/** The newest sessions that are read before any older one: a fork and its original are both in use. */
const TOGETHER = 10;

/** Reads what each session did, given newest first. `problems` has a sentence for each one that could not be read. */
export function readActivities(
  sessions: readonly Session[],
  reading: Reading,
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
  const { look, rules, deadline = Number.POSITIVE_INFINITY } = reading;
  const isOver = () => Date.now() > deadline;
  // Prepares no more of thousands of sessions than can be read in time.
  const half = (Date.now() + deadline) / 2;
  const readings: PendingRead[] = [];
  for (const session of sessions) {
    if (readings.length > 0 && Date.now() > half) break;
    readings.push(...attempt(session, () => prepare(session, reading)));
  }
  const turns = inTurns(readings);
  const later = new Set(readings.filter(({ mark }) => !mark).map(({ session }) => session.file));
  // Copied rows have their originals in the viewer's own transcript, or in recent ones.
  const sources = sourceReader([look.viewer.file ?? [], look.recent].flat(), isOver);
  const activities = turns.flatMap(({ reading, turn }, index) => {
    later.delete(reading.session.file);
    if ((turn > 0 || (reading.isOld && index > 0)) && isOver()) return [];
    const isSource = (file: string) => file !== reading.session.file && !later.has(file);
    const isCopy = copiesIn(reading, { sources, isSource, isOver });
    const note = sources.partBeingRead(reading);
    return attempt(reading.session, () => read(reading, { isCopy, note, rules, isOver }));
  });
  return { activities, problems };
}

/**
 * Returns readings in their order. Histories that were just copied here wait, so that they take no time from what is new. The
 * newest are read first, since time may run out; among them originals come before their forks, which begin with the same rows.
 */
function inTurns(readings: readonly PendingRead[]): { reading: PendingRead; turn: number }[] {
  return readings
    .map((reading, at) => ({ reading, turn: Math.floor(at / TOGETHER) }))
    .sort(
      ({ reading: a, turn }, { reading: b, turn: other }) =>
        Number(a.isOld) - Number(b.isOld) ||
        turn - other ||
        compareText(a.head.startedAt ?? "", b.head.startedAt ?? "") ||
        a.stat.birthtimeMs - b.stat.birthtimeMs,
    );
}

/** Returns the last edit of each file that the viewer changed after its mark of itself, by its path as written. */
export function readOwnEdits({ look: { viewer, marks, now }, since, rules }: Reading): Tally["edited"] {
  const { file = "" } = viewer;
  const head = file === "" ? undefined : readHead(file);
  if (!head) return new Map();
  const mark = since ? undefined : marks?.get(viewer.id);
  const isSeen = mark !== undefined && isMarkValid(file, mark);
  const after = (since ?? new Date(now - FIRST_LOOK_MS)).toISOString();
  const offset = isSeen ? mark.offset : offsetSince(file, after, rules);
  const entries = readEntries(file, { rules, head, from: { offset, line: 0 }, results: OUTCOMES });
  const isNew = ({ at }: Entry) => isSeen || at === undefined || at >= after;
  return tally(rowsWhenKnown(entries.filter(isNew)).map(({ row }) => row)).edited;
}

function prepare(
  session: Session,
  { look: { viewer, marks, now }, since, rules }: Reading,
): PendingRead | undefined {
  const head = readHead(session.file);
  if (!head) return undefined;
  const stat = statSync(session.file);
  const known = since === undefined ? marks?.get(session.id) : undefined;
  const mark = known && hasSeenRows(known) ? known : undefined;
  const common = { session: { ...session, cwd: session.cwd ?? head.cwd }, head, mark, stat };
  if (mark) {
    const offset = isMarkValid(session.file, mark) ? mark.offset : 0;
    return { ...common, offset, after: undefined, isOld: false };
  }
  const firstLook = new Date(now - FIRST_LOOK_MS).toISOString();
  const looked = marks?.get(viewer.id)?.since ?? firstLook;
  // A session that began before the viewer's first look ever was visible then.
  const wasThere = (head.startedAt ?? "") < looked && looked < firstLook;
  const after = since?.toISOString() ?? (wasThere ? looked : firstLook);
  const isOld = session.updatedAt < after;
  const offset = isOld ? markAtEnd(session.file).offset : offsetSince(session.file, after, rules);
  return { ...common, offset, after, isOld };
}

function read(
  { session, head, offset, after, stat }: PendingRead,
  {
    isCopy,
    note,
    rules,
    isOver,
  }: { isCopy: EntryTest; note: (entry: Entry) => unknown; rules: Rules; isOver: () => boolean },
): SessionActivity {
  const did = emptyTally();
  const progress = { offset, line: 0, skipped: 0 };
  let at = session.updatedAt; // for rows without a time
  const from = { offset, line: 0 };
  // A few rows are reported together, not half of them with the next prompt.
  const isCut = stat.size - offset > WHOLE_BYTES ? isOver : undefined;
  const isWanted = (entry: Entry) => {
    at = entry.at ?? at;
    note(entry);
    return (after === undefined || at >= after) && !isCopy(entry);
  };
  const options = { rules, head, from, progress, isOver: isCut, results: OUTCOMES };
  const entries = readEntries(session.file, options).filter(isWanted);
  for (const { row, goesOn } of rowsWhenKnown(entries)) addRow(did, row, { goesOn });
  did.latest ??= at;
  const next = markAt(session.file, progress.offset);
  const now = statSync(session.file);
  const isSame = now.ino === stat.ino && now.size >= stat.size;
  // a last line without its end is looked at again when something was added to it
  const rest = isCut?.() || stat.size === progress.offset ? {} : { passed: stat.size };
  const advance = isSame ? { session, mark: { ...next, ...rest } } : undefined;
  return { session, did, advance, skipped: progress.skipped, isHeadless: head.isHeadless };
}

/** A turn or two, which take milliseconds to read. */
const WHOLE_BYTES = 64 * 1024;

type EntryTest = (entry: Entry) => boolean;

/** Transcripts that may hold the originals of copied rows. */
interface Originals {
  files: readonly string[];
  /** Returns a source's part after an ISO time, which is read once however many sessions are compared with it. */
  partOf: (file: string, after: string | undefined) => SourcePart | undefined;
  /** Returns a function that takes the entries of a transcript that is read anyway, so that its part need not be. */
  partBeingRead: (reading: PendingRead) => (entry: Entry) => unknown;
}

interface SourcePart {
  /** True if an entry may be in it, by the ids among its bytes. */
  holds: (entry: Entry) => boolean;
  /** The keys of its entries. */
  keys: () => ReadonlySet<string | undefined>;
}

/** Everything in quotes that may be an id. */
const QUOTED = /"([\w.:@-]{4,128})"/g;

function sourceReader(files: readonly string[], isOver: () => boolean): Originals {
  const parts = new Map<string, SourcePart | undefined>();
  return {
    files,
    partOf(file, after) {
      const key = `${after} ${file}`;
      if (!parts.has(key)) parts.set(key, readPart(file, after, isOver));
      return parts.get(key);
    },
    partBeingRead({ session: { file }, after, mark }) {
      const keys = new Set<string | undefined>();
      if (!mark)
        parts.set(`${after} ${file}`, { holds: (entry) => keys.has(entryKey(entry)), keys: () => keys });
      return (entry) => keys.add(entryKey(entry));
    },
  };
}

function readPart(file: string, after: string | undefined, isOver: () => boolean): SourcePart | undefined {
  const head = tryHead(file); // hosts name a file before they create it, and delete old ones
  if (!head) return undefined;
  const from = { offset: offsetSince(file, after), line: 0 };
  const ids = new Set<string | undefined>();
  withFile(file, (descriptor) => {
    for (const { bytes } of linesForward(descriptor, { from: from.offset })) {
      if (isOver()) break;
      for (const [, id] of bytes?.toString("latin1").matchAll(QUOTED) ?? []) ids.add(id);
    }
  });
  let keys: Set<string | undefined> | undefined;
  return {
    holds: ({ id }) => ids.has(id),
    keys: () =>
      (keys ??= new Set(readEntries(file, { rules: ownRules(), head, from, isOver }).map(entryKey))),
  };
}

/**
 * Returns a predicate for entries that one of the sources also holds. A fork begins with its copies, so a source that does
 * not contain the first id need not be compared. Rows not compared in time count as new.
 */
function copiesIn(
  { head, after, offset, mark }: PendingRead,
  {
    sources,
    isSource,
    isOver,
  }: { sources: Originals; isSource: (file: string) => boolean; isOver: () => boolean },
): EntryTest {
  // A host copies rows when it creates the file, so those after a valid mark are new.
  if (offset > 0 && mark) return () => false;
  // A fork's header may have its own time, and older entries copied below it.
  const born = head.forkedFrom === undefined ? undefined : head.startedAt;
  const holding = (first: Entry) =>
    sources.files.filter(isSource).flatMap((source) => {
      const part = isOver() ? undefined : sources.partOf(source, after);
      return part?.holds(first) ? [part.keys()] : [];
    });
  let copied: ReturnType<typeof holding> | undefined;
  return (entry) => {
    if (entry.id !== undefined) copied ??= holding(entry);
    if (born !== undefined && entry.at !== undefined && entry.at < born) return true;
    const key = entryKey(entry);
    return key !== undefined && copied?.some((keys) => keys.has(key)) === true;
  };
}

/** Seen before: what ended an error in earlier sessions, said at the moment when a command fails with it again. */

import { errorKeys } from "../base/error-lines.ts";
import { countPoints } from "../base/output.ts";
import { counted, headed, oneLineOfCode, projectName, quote, quoteCode, quoteName } from "../base/text.ts";
import { formatAge } from "../base/time.ts";
import type { Done } from "../hosts/session.ts";
import type { IndexedSession } from "../index/index-state.ts";
import { ROW_COLUMNS, readDone, type Stored, toDone } from "../index/stored-rows.ts";
import type { Store } from "../store/store.ts";
import {
  commandKey,
  commandOrTarget,
  findProgram,
  shellParts,
  shellWords,
} from "../transcripts/command-lines.ts";
import { isChange } from "../transcripts/rows.ts";
import {
  changeAround,
  cutEssence,
  type Ending,
  failingPart,
  fileName,
  findEnding,
  hasOwnCode,
  programNamedIn,
  rankSteps,
} from "./endings.ts";
import { type SessionDeed, withSessions } from "./finds.ts";
import { isPipedToShell, mayTell, type Origin } from "./telling.ts";

/** A command that failed just now. */
export interface FailedCommand {
  sessionId: string;
  cwd: string | undefined;
  command: string;
  output: string;
}

interface SeenOptions {
  now: Date;
  /** Keys of the lines that the session was told about. */
  said: ReadonlySet<number>;
  /** True if a session is kept out. */
  isHidden: (session: IndexedSession) => boolean;
  /** Returns a session's id as a reference takes it. */
  nameOf: (session: IndexedSession) => string;
  /** Returns who shares a session, "" for one's own, and whether its project is that of the caller. */
  originOf: (session: IndexedSession) => Origin;
}

/** An error with its known end. */
export interface Seen {
  /** The keys of all lines of the output that belong to the error. */
  keys: number[];
  text: string;
}

/** The question: the failure with its error lines by their keys. */
interface FailureQuery extends FailedCommand, SeenOptions {
  store: Store;
  lines: ReadonlyMap<number, string>;
  /** The words of the command and its output. */
  known: ReadonlySet<string>;
  /** Returns whether runs that went well printed a line too. */
  isNoise: (key: number) => boolean;
}

/** A run that printed an error's line. */
interface FailedRun extends SessionDeed {
  /** The keys of its error lines, in order. */
  keys: number[];
  origin: Origin;
}

/** The end of an error in one session: by what was done, or by another command. */
interface End extends Ending {
  failed: FailedRun;
  /** The deeds that may have helped, best first. */
  likely: Stored<Done>[];
}

/** An end with its words, and the deed that each of them tells. */
interface ToldEnd extends End {
  said: { text: string; deed: Stored<Done> }[];
}

/** Newest runs looked at: an error with more is too common to say anything. */
const RUNS_MAX = 500;
/** The most sessions of an owner in which an end is looked for, the newest: 100 of 60 calls each take 20 ms. */
const SESSIONS_MAX = 100;
/** The fewest owners who must have had an end, before another person's is told. */
const OWNERS_MIN = 2;
/** Lines after a failure in which its end is looked for. */
const REACH = 200;
/** The number of programs from which on a shared line is about none of them. */
const PROGRAMS_GENERIC = 3;
const STEPS_MAX = 3;
const ALL_CHARS = 600;
const ERRORS_MAX = 2;
const ERROR_CHARS = 110;
const DID_CHARS = 90;
const CHANGE_CHARS = 120;
const PLACE_CHARS = 100;
const PROJECT_CHARS = 40;

/** Finds the known ends of the errors in a command's output, the first error first. */
export function seenBefore(store: Store, failed: FailedCommand, options: SeenOptions): Seen[] {
  const lines = errorKeys(failed.output, { hasFailed: true });
  const known = new Set([...shellWords(failed.command), ...failed.output.split(/[\s"'`,()]+/)]);
  const isNoise = noiseIn(store, options.now.toISOString());
  const asked = { ...failed, ...options, store, lines, known, isNoise };
  const runs = runsWith(asked);
  const said = new Set(options.said);
  return [...lines].flatMap(([key, line]): Seen[] => {
    const printed = said.has(key) ? [] : runs.filter(({ keys }) => keys.includes(key));
    const alike = printed.filter(({ keys }) => isAlike(keys, lines));
    const agreed = agreedEnd({ key, line }, alike, asked);
    if (!agreed) return [];
    for (const each of alike.flatMap(({ keys }) => keys)) said.add(each);
    const keys = agreed.end.failed.keys.filter((each) => lines.has(each));
    return [{ keys, text: describe(agreed.end, line, printed.filter(agreed.isTrusted), asked) }];
  });
}

/** Returns whether a run failed alike: its first error line is one of the output's, and so are most of the others. */
function isAlike(keys: readonly number[], lines: ReadonlyMap<number, string>): boolean {
  return lines.has(keys[0] ?? 0) && keys.filter((each) => lines.has(each)).length > keys.length / 2;
}

/** Writes the endings of some errors in at most 600 characters, with the keys of the errors that fit. */
export function describeSeen(seen: readonly Seen[]): { text: string; shown: number[] } {
  const lines = [headed("Seen Before")];
  const shown: number[] = [];
  for (const { text, keys } of seen.slice(0, ERRORS_MAX)) {
    if (countPoints([...lines, text]) > ALL_CHARS + 1) continue;
    lines.push(text);
    shown.push(...keys);
  }
  return { text: shown.length === 0 ? "" : lines.join("\n"), shown };
}

/** Reads the earlier runs that printed one of the lines, the newest first. */
function runsWith({ store, lines, sessionId, now, isHidden, isNoise, originOf }: FailureQuery): FailedRun[] {
  // rows before the last compaction are no longer in sight
  const deeds = store
    .all(
      `SELECT ${ROW_COLUMNS} FROM rows r JOIN sessions s ON s.number = r.session
       WHERE r.id IN (SELECT deed FROM error_lines WHERE key IN (SELECT value FROM json_each($keys)))
         AND r.at < $until AND s.id NOT IN (SELECT owner_id FROM copies WHERE session_id = $sessionId)
         AND NOT (s.id = $sessionId AND r.line > coalesce(s.compacted_line, 0))
       ORDER BY r.at DESC LIMIT $most`,
      { keys: JSON.stringify([...lines.keys()]), until: now.toISOString(), sessionId, most: RUNS_MAX },
    )
    .map(toDone);
  return withSessions(store, deeds, {}).flatMap(([deed, session]) => {
    if (isHidden(session)) return [];
    const origin = originOf(session);
    if (origin.owner !== "" && !origin.isHere) return [];
    return [{ keys: keysIn(deed).filter((key) => !isNoise(key)), deed, session, origin }];
  });
}

/** Returns the keys of the error lines that a run printed. */
function keysIn({ result, outcome }: Done): number[] {
  return [...errorKeys(result, { hasFailed: outcome === "failed" }).keys()];
}

/** Returns a test for lines that runs that went well, by their own exit code, printed too. */
function noiseIn(db: Store, until: string): (key: number) => boolean {
  const known = new Map<number, boolean>();
  return (key) => {
    if (!known.has(key)) {
      const runs = db
        .all(
          `SELECT r.input, r.target FROM error_lines e JOIN rows r ON r.id = e.deed
     WHERE e.key = ? AND r.outcome = 'done' AND r.at < ? LIMIT ?`,
          key,
          until,
          RUNS_MAX,
        )
        .map(({ input, target }) => String(input || target));
      known.set(key, runs.some(hasOwnCode));
    }
    return known.get(key) === true;
  };
}

/** An end, and which runs count beside it: one's own, and those of owners who agree. */
interface Agreed {
  end: ToldEnd;
  isTrusted: (run: FailedRun) => boolean;
}

/** Returns the end that most sessions came to, else the latest; undefined where the line is any failure's. */
function agreedEnd(
  error: { key: number; line: string },
  runs: readonly FailedRun[],
  asked: FailureQuery,
): Agreed | undefined {
  const programOf = ({ deed }: FailedRun) => programThat(error.line, commandOrTarget(deed), deed.result);
  const mine = programThat(error.line, asked.command, asked.output);
  const alike = runs.filter((run) => programOf(run) === mine);
  const ofOwners = [...Map.groupBy(alike, ({ origin }) => origin.owner).values()];
  const ends = ofOwners.flatMap((ofOne) => findEnds(ofOne, error, asked));
  const words = ({ said }: ToldEnd) => said.map(({ text }) => text).join("\n");
  const agreed = [...Map.groupBy(ends, words).values()].filter(isTold).sort((a, b) => b.length - a.length);
  const trusted = new Set(agreed.flat().map(({ failed: { session } }) => session.id));
  const isTrusted = ({ origin, session }: FailedRun) => origin.owner === "" || trusted.has(session.id);
  const programs = runs.filter(isTrusted).map(programOf);
  const end = agreed[0]?.[0];
  if (end === undefined || new Set(programs).size >= PROGRAMS_GENERIC) return undefined;
  return isElsewhere(end, error.line) ? undefined : { end, isTrusted };
}

/** Returns whether an end is one's own, or of several owners. */
function isTold(same: readonly ToldEnd[]): boolean {
  const owners = new Set(same.map(({ failed }) => failed.origin.owner));
  return owners.has("") || owners.size >= OWNERS_MIN;
}

/** Returns the ends of an owner that may be told: of each session that of its last failure. */
function findEnds(
  runs: readonly FailedRun[],
  error: { key: number; line: string },
  asked: FailureQuery,
): ToldEnd[] {
  const sessions = [...Map.groupBy(runs, ({ session }) => session.id).values()];
  return sessions.slice(0, SESSIONS_MAX).flatMap(([failed]) => {
    const end = failed && endOf(failed, error, asked);
    const said = end && findSaid(end, error.line, asked);
    return said ? [{ ...end, said }] : [];
  });
}

/** Returns the program that printed a line: the one that it names, else the last one that may have failed. */
function programThat(line: string, command: string, output: string): string | undefined {
  const named = programNamedIn(line);
  if (named !== undefined && shellWords(command).includes(named)) return named;
  return failingPart(command, output).map(findProgram).at(-1)?.split(" ")[0];
}

/** Returns whether an end was only another folder, for an error that is not about one. */
function isElsewhere({ failed: { deed }, run, likely }: End, line: string): boolean {
  const [before, after] = [commandOrTarget(deed), commandOrTarget(run)];
  const isFolder = commandKey(before) === commandKey(after) && foldersIn(before) !== foldersIn(after);
  return likely.length === 0 && isFolder && programNamedIn(line) !== "cd";
}

function foldersIn(line: string): string {
  const parts = shellParts(line).map(({ text }) => text);
  return parts.filter((text) => /^(?:cd|pushd)\b/.test(text)).join("\n");
}

function endOf(
  failed: FailedRun,
  { key, line }: { key: number; line: string },
  { store, now, isNoise }: FailureQuery,
): End | undefined {
  const { deed, session } = failed;
  const later = readDone(store, session.number, { after: deed.line, to: deed.line + REACH }).filter(
    ({ at }) => at < now.toISOString(),
  );
  const ending = findEnding(deed, later, (run) => {
    const printed = keysIn(run);
    // a filter hides the exit code
    return !printed.includes(key) && (hasOwnCode(commandOrTarget(run)) || printed.every(isNoise));
  });
  if (!ending) return undefined;
  const ranked = rankSteps(deed, ending.steps, line, later).filter(({ worth }) => worth > 0);
  const likely = ranked.slice(0, STEPS_MAX).map(({ deed }) => deed);
  return likely.length > 0 || ending.isOther ? { ...ending, failed, likely } : undefined;
}

/** Returns the words for an end: its steps, else its command in place of the one that failed; undefined if it may not be. */
function findSaid(end: End, line: string, asked: FailureQuery): ToldEnd["said"] | undefined {
  const { failed, run, likely } = end;
  const goals = failingPart(commandOrTarget(failed.deed), failed.deed.result).map(findProgram);
  const told = (likely.length > 0 ? likely : [run, failed.deed]).map((deed) => {
    const isEdit = isChange(deed);
    return { deed, isEdit, text: isEdit ? changeAround(deed, line) : commandOrTarget(deed) };
  });
  if (!mayTell(told, failed.origin, asked.known)) return undefined;
  const say = (text: string, max = DID_CHARS) => quoteCode(oneLineOfCode(text, max));
  if (likely.length === 0) {
    const [after, before] = told.map(({ text }) => say(cutEssence(text, goals)));
    return [{ text: `ran ${after} in place of ${before}`, deed: run }];
  }
  return told.map(({ deed, isEdit, text }) => ({
    deed,
    text: isEdit
      ? `edited ${say(fileName(deed.target))}: ${say(text, CHANGE_CHARS)}`
      : `ran ${say(isPipedToShell(text) ? text : cutEssence(text))}`,
  }));
}

function describe(
  { failed, said }: ToldEnd,
  line: string,
  printed: readonly FailedRun[],
  { now, nameOf }: FailureQuery,
): string {
  const [newest = failed] = printed;
  const place = ({ session }: FailedRun) => quotePlace(oneLineOfCode(nameOf(session), PLACE_CHARS));
  const { isHere } = failed.origin;
  const project = quoteName(
    oneLineOfCode(projectName(failed.session.project ?? failed.session.cwd ?? ""), PROJECT_CHARS),
  );
  const from = isHere
    ? newest.session.id === failed.session.id
      ? ""
      : "in another session, "
    : `in project ${project}, `;
  const steps = said.map(({ text, deed }) => `${text} (${from}${place(failed)}:${deed.line})`);
  const sessions = counted(new Set(printed.map(({ session }) => session.id)).size, "session");
  const age = formatAge((now.getTime() - Date.parse(newest.deed.at)) / 1000);
  const head = `- ${quoteCode(oneLineOfCode(line, ERROR_CHARS))}: in ${sessions}, last ${place(newest)}:${newest.deed.line} (${age} ago); gone after: `;
  while (steps.length > 1 && head.length + steps.join(", ").length > ALL_CHARS - 60) steps.pop();
  return head + steps.join(", ");
}

/** Quotes a session's place unless it is one word, as all but forged ones are. */
function quotePlace(name: string): string {
  return /^[\w@:.~+-]+$/.test(name) ? name : quote(name);
}

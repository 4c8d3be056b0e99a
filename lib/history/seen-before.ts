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
  listOperands,
  programNamedIn,
  rankSteps,
} from "./endings.ts";
import { type SessionDeed, withSessions } from "./finds.ts";
import { hostsToTell, isPipedToShell, type KnownWords, type Origin } from "./telling.ts";

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
  originOf: (session: IndexedSession) => Pick<Origin, "owner" | "isHere">;
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
  known: KnownWords;
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
  /** True if the error came back later in the session. */
  cameBack: boolean;
}

/** An end with its words. */
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
const HOSTS_CHARS = 60;
const PLACE_CHARS = 100;
const PROJECT_CHARS = 40;

/** Finds the known ends of the errors in a command's output, the first error first. */
export function seenBefore(store: Store, failed: FailedCommand, options: SeenOptions): Seen[] {
  const lines = errorKeys(failed.output, { hasFailed: true });
  const known = {
    command: new Set(shellWords(failed.command)),
    output: new Set(failed.output.split(/[\s"'`,()]+/)),
  };
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
    const { cwd, project } = session;
    const origin = { ...originOf(session), folders: [cwd, project].filter((folder) => folder !== undefined) };
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
  const programs = ({ deed }: FailedRun) => programsThat(error.line, commandOrTarget(deed), deed.result);
  const mine = programsThat(error.line, asked.command, asked.output);
  const alike = runs.filter((run) => programs(run).some((each) => mine.includes(each)));
  const ofOwners = [...Map.groupBy(alike, ({ origin }) => origin.owner).values()];
  const all = ofOwners.flatMap((ofOne) => findEnds(ofOne, error, asked));
  const ends = all.filter((end) => end.failed.origin.owner === "" || isOfSeveral(end, all));
  const trusted = new Set(ends.map(({ failed: { session } }) => session.id));
  const isTrusted = ({ origin, session }: FailedRun) => origin.owner === "" || trusted.has(session.id);
  const counted = runs.filter(isTrusted);
  if (new Set(counted.map((run) => programs(run).at(-1))).size >= PROGRAMS_GENERIC) return undefined;
  const [best = []] = [...Map.groupBy(ends, endKind).values()].sort((a, b) => b.length - a.length);
  const end = best.find(({ cameBack }) => !cameBack) ?? best[0];
  if (end === undefined) return undefined;
  return isElsewhere(end, error.line, asked) ? undefined : { end, isTrusted };
}

/** Returns the ends of an owner that may be told, the newest of each session. */
function findEnds(
  runs: readonly FailedRun[],
  error: { key: number; line: string },
  asked: FailureQuery,
): ToldEnd[] {
  const sessions = [...Map.groupBy(runs, ({ session }) => session.id).values()];
  return sessions.slice(0, SESSIONS_MAX).flatMap((failures): ToldEnd[] => {
    // of an earlier failure than the newest the error came back
    for (const [i, failed] of failures.entries()) {
      const end = endOf(failed, error, asked);
      const said = end && findSaid(end, error.line, asked);
      if (end) return said ? [{ ...end, cameBack: i > 0, said }] : [];
    }
    return [];
  });
}

/** Returns whether several owners had an end of the same words. */
function isOfSeveral(end: ToldEnd, all: readonly ToldEnd[]): boolean {
  const words = ({ said }: ToldEnd) => said.map(({ text }) => text).join("\n");
  const same = all.filter((each) => words(each) === words(end));
  return new Set(same.map(({ failed }) => failed.origin.owner)).size >= OWNERS_MIN;
}

/** Returns the programs that may have printed a line: the one it names, else those of the command line. */
function programsThat(line: string, command: string, output: string): string[] {
  const named = programNamedIn(line);
  const isHere =
    named !== undefined &&
    command
      .toLowerCase()
      .split(/[\s;&|()]+/)
      .includes(named);
  const programs = isHere ? [named] : failingPart(command, output, line).map(findProgram);
  return programs.map((each) => (each.toLowerCase().split(" ")[0] ?? "").replace(/(?:\.exe|[\d.]+)$/, ""));
}

/** Returns whether an end was only another folder, for what the failed command does not work on. */
function isElsewhere(
  { failed: { deed, session }, run, likely }: End,
  line: string,
  asked: FailureQuery,
): boolean {
  const [before, after] = [commandOrTarget(deed), commandOrTarget(run)];
  const isFolder = commandKey(before) === commandKey(after) && foldersIn(before) !== foldersIn(after);
  if (likely.length > 0 || !isFolder) return false;
  if (!isNear(session.cwd, asked.cwd)) return true;
  if (programNamedIn(line) === "cd") return false;
  const had = listOperands(failingPart(before, deed.result, line));
  return listOperands(failingPart(asked.command, asked.output, line)).some((word) => !had.includes(word));
}

function foldersIn(line: string): string {
  const parts = shellParts(line).map(({ text }) => text);
  return parts.filter((text) => /^(?:cd|pushd)\b/.test(text)).join("\n");
}

/** Returns whether one folder lies in the other. */
function isNear(...folders: (string | undefined)[]): boolean {
  const [outer, inner] = folders
    .map((folder) => folder && `${folder.replaceAll("\\", "/").replace(/\/+$/, "")}/`)
    .sort();
  return outer !== undefined && inner?.startsWith(outer) === true;
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
  const ending = findEnding(deed, later, {
    error: line,
    isFree: (run) => {
      const printed = keysIn(run);
      // a filter hides the exit code
      return !printed.includes(key) && (hasOwnCode(commandOrTarget(run)) || printed.every(isNoise));
    },
  });
  if (!ending) return undefined;
  const ranked = rankSteps(deed, ending.steps, line, later).filter(({ worth }) => worth > 0);
  const likely = ranked.slice(0, STEPS_MAX).map(({ deed }) => deed);
  return likely.length > 0 || ending.isOther ? { ...ending, failed, likely, cameBack: false } : undefined;
}

/** Returns the same text for ends of one kind: of a file's edit, of a program's run. */
function endKind({ likely: [first], run }: End): string {
  if (first && isChange(first)) return fileName(first.target);
  return (
    failingPart(commandOrTarget(first ?? run), "", "")
      .map(findProgram)
      .at(-1) ?? ""
  );
}

/** Returns the words for an end: its steps, else its command in place of the one that failed; undefined if it may not be. */
function findSaid(end: End, line: string, asked: FailureQuery): ToldEnd["said"] | undefined {
  const { failed, run, likely } = end;
  const commands = likely.length > 0 ? likely : [run, failed.deed];
  const deeds = commands.map((deed) => {
    const changed = isChange(deed) ? changeAround(deed, line).slice(0, 2 * CHANGE_CHARS) : undefined;
    return { text: changed ?? commandOrTarget(deed), isEdit: changed !== undefined };
  });
  const hosts = hostsToTell(deeds, failed.origin, asked.known);
  if (hosts === undefined) return undefined;
  const say = (text: string, max = DID_CHARS) => quoteCode(oneLineOfCode(text, max));
  const named = (text: string) => {
    const others = hosts.filter((host) => !text.includes(host));
    return others.length === 0 ? text : `${text} from ${oneLineOfCode(others.join(" and "), HOSTS_CHARS)}`;
  };
  if (likely.length === 0) {
    const goals = failingPart(commandOrTarget(failed.deed), failed.deed.result, line).map(findProgram);
    const [after, before] = [run, failed.deed].map((deed) => cutEssence(commandOrTarget(deed), goals));
    const text = `ran ${say(contrast(after, before))} in place of ${say(contrast(before, after))}`;
    return [{ text: named(text), deed: run }];
  }
  return likely.map((deed) => {
    const command = commandOrTarget(deed);
    const text = isChange(deed)
      ? `edited ${say(fileName(deed.target))}: ${say(changeAround(deed, line), CHANGE_CHARS)}`
      : `ran ${say(isPipedToShell(command) ? command : cutEssence(command))}`;
    return { text: named(text), deed };
  });
}

function describe(
  { failed, said, cameBack }: ToldEnd,
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
  const back = cameBack ? " (came back later)" : "";
  const steps = said.map(({ text, deed }) => `${text}${back} (${from}${place(failed)}:${deed.line})`);
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

/** Returns a command; of a long one how it begins, and from where it differs from another. */
function contrast(command = "", other = ""): string {
  const [words, others] = [command.split(/\s+/), other.split(/\s+/)];
  const from = words.findIndex((word, i) => word !== others[i]);
  return command.length > DID_CHARS && from > 3
    ? [...words.slice(0, 2), "…", ...words.slice(from)].join(" ")
    : command;
}

/**
 * Copies sessions that a host keeps in another form than lines, and prompts that outlived their transcript: each is written, redacted,
 * as lines of our plain form below one that names the session, and read from there.
 */

import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describeError, SessionMemoryError } from "../base/errors.ts";
import { fileStem, readJson, remove } from "../base/files.ts";
import { arrayOf, type JsonRecord, numberOf, parseRecord, recordOf, stringOf } from "../base/json.ts";
import { counted, shortHash } from "../base/text.ts";
import type { PathsWithRules } from "../config/config.ts";
import { readNote } from "../hosts/blocks.ts";
import { isoTime } from "../hosts/format.ts";
import { readFully, withFile } from "../hosts/lines.ts";
import { PROMPTS_ALONE, statStored } from "../hosts/names.ts";
import { readInstead } from "../hosts/packed.ts";
import type { OpenStore, Reading, StoredSession } from "../hosts/store.ts";
import { copiesFolder } from "../hosts/table.ts";
import { sourceStates, type Told, tellUnwritten, toldCopies } from "../sessions/copy-list.ts";
import { currentExclusion, type Exclusion } from "../sessions/gate.ts";
import { archivePlace, hostedTranscripts, type TranscriptFile } from "../sessions/places.ts";
import { openForeign } from "../store/sqlite.ts";
import { isBusy } from "../store/storage-errors.ts";
import { rulesVersion, shownText } from "../transcripts/rules.ts";
import { secretMemory } from "../transcripts/secret-rows.ts";
import type { Source } from "./copies.ts";
import { rowCopier } from "./copy.ts";
import { type CopyFor, type CopyWriter, copyWriter } from "./copy-writer.ts";
import { keepNews } from "./news.ts";

/** A place that is longer has no room in a note: such a session is read from its beginning. */
const LAST_MAX = 36;

interface Copying {
  paths: PathsWithRules;
  isAnew: boolean;
  /** Milliseconds since the epoch: the next run copies the rest. */
  until: number;
}

/** One run, as far as it is the same for all sessions. */
interface Run extends Copying {
  rules: Exclusion;
  /** The rules, as copies note them. */
  version: string;
  /** The copies that are there. */
  told: ReadonlyMap<string, Told>;
  writer: CopyWriter;
}

/**
 * Copies what is new in hosts' files. A file is not opened while it and those beside it are as they were, and nothing else is to be
 * copied of it.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` after all others were copied, if some sessions cannot be read.
 */
export function copyStored(sources: readonly Source[], options: Copying): void {
  const { paths, isAnew } = options;
  const before = sourceStates(paths);
  const rules = currentExclusion(paths);
  const changed = sources.flatMap((source) => {
    const state = stateReader(source, { paths, rules });
    const files = source.files.map((file) => ({ file, place: shortHash(file), state: state(file) }));
    return files
      .filter(({ place, state }) => isAnew || before.get(place) !== state)
      .map((each) => ({ source, ...each }));
  });
  if (changed.length === 0) return;
  const writer = copyWriter(paths);
  const run: Run = {
    ...options,
    rules,
    writer,
    told: toldCopies(paths),
    version: rulesVersion(rules.paths),
  };
  const states = new Map<number, string>();
  const problems: string[] = [];
  for (const { source, file, place, state } of changed) {
    try {
      const { isAll, failed } = copyFrom(file, source, run);
      // What could not be read is tried, and named, again.
      states.set(place, isAll && failed.length === 0 ? state : "");
      problems.push(...failed);
    } catch (error) {
      states.set(place, isBusy(error) ? "" : state);
      problems.push(describeError(error));
    }
  }
  const written = writer.end(states);
  keepNews(paths, written);
  const [problem, ...others] = problems;
  if (problem === undefined) return;
  const more = others.length > 0 ? ` (and ${counted(others.length, "more like this")})` : "";
  throw new SessionMemoryError("STORAGE_ERROR", `${problem}${more}`);
}

/** Returns what describes in what state a host's file is, and what of it is to be copied. */
function stateReader(
  { agent, store, from }: Source,
  { paths, rules }: Pick<Run, "paths" | "rules">,
): (file: string) => string {
  const { exclude } = rules.paths.rules;
  const kept = [exclude.sessions, exclude.projects];
  const there = from === "prompts" ? [...transcriptIds(paths, agent)].sort() : [];
  const wanted = shortHash(JSON.stringify([kept, there]));
  return (file) => `${describeFiles([file, ...store.beside(file)])} ${wanted}`;
}

/** Returns the ids of the sessions whose transcripts a host has. */
function transcriptIds(paths: PathsWithRules, agent: string): Set<string> {
  return new Set(hostedTranscripts(paths, { agent }).flatMap(({ id }) => id ?? []));
}

function describeFiles(files: readonly string[]): string {
  return files
    .map((each) => statSync(each, { throwIfNoEntry: false }))
    .map((stat) => (stat ? `${stat.size}:${stat.mtimeMs}` : ""))
    .join(" ");
}

/** Copies what is new in one file of a host's; returns whether that was all, and why sessions could not be read. */
function copyFrom(file: string, source: Source, run: Run): { isAll: boolean; failed: string[] } {
  const { paths, told, rules, isAnew, until, writer } = run;
  const failed: string[] = [];
  if (Date.now() > until) return { isAll: false, failed };
  const store = source.store.open(file, openForeign);
  if (store.isBeingWritten) return { isAll: false, failed };
  const isWanted = wantedTest(source, run);
  const { sessions, projects } = rules.paths.rules.exclude;
  const isNoneOut = sessions.length + projects.length === 0;
  try {
    for (const session of store.sessions()) {
      if (Date.now() > until) return { isAll: false, failed };
      const whose = { agent: source.agent, id: session.id, parent: session.parent };
      const copy = archivePlace(paths, whose);
      const known = told.get(copy);
      const isSame = known?.changed === session.changed && !isAnew;
      if ((isSame && isNoneOut) || !isWanted(session, known)) continue;
      if (!rules.admits({ id: session.id, cwd: session.cwd })) {
        if (known) writer.remove(whose);
        remove(formerPlace(paths, whose, source.from));
      } else if (!isSame) {
        try {
          copySession(store, session, { ...run, source, file, whose });
        } catch (error) {
          failed.push(`Cannot read session ${session.id} of ${file}: ${describeError(error)}`);
        }
      }
    }
    return { isAll: true, failed };
  } finally {
    store.close();
  }
}

/** Returns a test for sessions that are copied: prompts only where no transcript and no copy has more. */
function wantedTest(
  { agent, from }: Source,
  { paths, rules }: Pick<Run, "paths" | "rules">,
): (session: StoredSession, known: Told | undefined) => boolean {
  const there = from === "prompts" ? transcriptIds(paths, agent) : new Set();
  return ({ id, parent }, known) => {
    const names = `${parent ?? ""} ${id}`;
    if (rules.clean(names) !== names) return false; // the copy would be named by a secret
    if (from === "store") return true;
    const former = join(paths.archive, agent, `${fileStem(id)}.jsonl`);
    return !there.has(id) && (known ? known.from === "prompts" : !statStored(former));
  };
}

interface CopyingOne extends Run {
  source: Source;
  file: string;
  whose: CopyFor;
}

/** Copies a session, or what is new in it. A copy that an earlier version made is gone on with, so that its places stay. */
function copySession(store: OpenStore, session: StoredSession, copying: CopyingOne): void {
  const { paths, rules, version, isAnew, writer, source, file, whose } = copying;
  const { from } = source;
  const copy = archivePlace(paths, whose);
  const former = formerPlace(paths, whose, from);
  if (readNote(copy)?.from !== from && existsSync(former))
    takeUnpacked({ ...whose, file: former }, { paths, writer });
  const note = readNote(copy);
  const last = stringOf(note?.last);
  const isKnown = note?.from === from && last !== undefined && !isAnew;
  const reading = readCleaned(store, session, {
    source,
    rules,
    after: isKnown ? last : undefined,
    isKnown,
    hasSecrets: note?.secrets === true,
    title: isKnown ? numberOf(note?.title) : undefined,
  });
  const place = shownText(file, rules) === file ? file : undefined;
  const isShort = Buffer.byteLength(reading.last ?? "") <= LAST_MAX;
  const facts = {
    changed: reading.isCut ? 0 : session.changed,
    last: isShort ? reading.last : undefined,
    title: shortHash(session.title),
    secrets: reading.hasSecrets || undefined,
  };
  const at = isoTime(session.changed) ?? new Date().toISOString();
  const text = { at, durable: false };
  // a session that is read anew mostly has only grown
  const before = reading.isNew && !isAnew && note?.from === from ? readText(copy) : "";
  const isLonger = before !== "" && reading.text.startsWith(before);
  if (isLonger) writer.append(whose, reading.text.slice(before.length), { ...text, note: facts });
  else if (reading.isNew)
    writer.write(whose, reading.text, { ...text, note: { ...facts, from, place, rules: version } });
  else writer.append(whose, reading.text, { ...text, note: facts });
}

interface ReadOptions {
  source: Source;
  rules: Exclusion;
  /** The place that was read up to, if there is a copy to go on with. */
  after: string | undefined;
  isKnown: boolean;
  /** The hash of the title that the copy has. */
  title: number | undefined;
  hasSecrets: boolean;
}

/** Reads a session as the lines of its copy, or those to add to it. */
function readCleaned(
  store: OpenStore,
  session: StoredSession,
  { source, rules, after, isKnown, title, ...known }: ReadOptions,
): Reading & { text: string; isNew: boolean; hasSecrets: boolean } {
  const { agent, store: host } = source;
  const memory = secretMemory(`${session.id}.jsonl`, { rules: { ...rules, noted: undefined } });
  const head = host.hasHostRows ? { agent } : { agent, isInPlainForm: true as const };
  const copyLines = (lines: readonly JsonRecord[]) => {
    const copied = rowCopier(memory, { head, rules });
    return lines.map((line) => `${JSON.stringify(copied(line, { offset: 0, end: 0 }))}\n`).join("");
  };
  const readAfter = (place: string | undefined) => {
    const reading = store.read(session.id, place);
    const lines = reading.lines.map((line) =>
      line.role === "user" ? { ...line, typed: line.typed ?? session.parent === undefined } : line,
    );
    return { ...reading, text: copyLines(lines) };
  };
  let reading = readAfter(known.hasSecrets ? undefined : after);
  const hasSecrets = known.hasSecrets || memory.takeNew().length > 0;
  // what one message announces is taken out of those before it too, which are copied again
  if (hasSecrets) reading = readAfter(undefined);
  const isNew = !isKnown || hasSecrets || reading.isAnew === true;
  const isHeaded = !host.hasHostRows && (isNew || title !== shortHash(session.title));
  const first = isHeaded ? copyLines([headLine(agent, session, { isLater: !isNew })]) : "";
  return { ...reading, text: first + reading.text, isNew, hasSecrets };
}

function headLine(
  agent: string,
  { id, parent, cwd, title, started, changed }: StoredSession,
  { isLater }: { isLater: boolean },
): JsonRecord {
  return {
    host: agent,
    session: id,
    parent,
    cwd,
    title,
    timestamp: isoTime(isLater ? changed : started),
  };
}

/** Lets sessions be read that have no copy, or an outdated one, where none can be written. */
export function readStored(sources: readonly Source[], paths: PathsWithRules): void {
  const rules = currentExclusion(paths);
  const told = toldCopies(paths);
  for (const source of sources) {
    const isWanted = wantedTest(source, { paths, rules });
    for (const file of source.files) {
      const using = <T>(use: (store: OpenStore) => T): T => {
        const store = source.store.open(file, openForeign);
        try {
          return use(store);
        } finally {
          store.close();
        }
      };
      for (const session of using((store) => store.sessions())) {
        const { id, parent, changed } = session;
        const copy = archivePlace(paths, { agent: source.agent, id });
        const known = told.get(copy);
        if (known?.changed === changed || !isWanted(session, known)) continue;
        if (!rules.admits({ id, cwd: session.cwd })) continue;
        const options = {
          source,
          rules,
          after: undefined,
          isKnown: false,
          title: undefined,
          hasSecrets: false,
        };
        const read = () => Buffer.from(using((store) => readCleaned(store, session, options).text));
        readInstead(copy, { place: file, changed, read });
        tellUnwritten(copy, { agent: source.agent, id, parentId: parent, from: source.from, changed });
      }
    }
  }
}

/** Returns where an earlier version had the copy of such a session. */
function formerPlace(paths: PathsWithRules, { agent, id, parent }: CopyFor, from: Source["from"]): string {
  const folder = join(copiesFolder(paths, agent), parent === undefined ? "" : fileStem(parent));
  return join(folder, `${fileStem(id)}${from === "prompts" ? PROMPTS_ALONE : ".jsonl"}`);
}

/** The note of an earlier version: when each session had changed, the hash of its title, its last place, and whether it holds secrets. */
const FORMER_NOTE = "copied.json";
/** The form of it that is understood. */
const FORMER_FORMAT = 5;

/**
 * Takes over a copy that an earlier version made, line by line, and what that version adds later: rows that ours has are not added
 * again. A copy that has more than the prompts is not theirs.
 */
export function takeUnpacked(
  { file, agent = "plain", id = "", parentId }: TranscriptFile & { parent?: string | undefined },
  { paths, writer }: { paths: PathsWithRules; writer: CopyWriter },
): void {
  const from = file.endsWith(PROMPTS_ALONE) ? "prompts" : "store";
  const whose = { agent, id, parent: parentId };
  const stat = statSync(file);
  const former = `${stat.size} ${Math.trunc(stat.mtimeMs)}`;
  const copy = archivePlace(paths, whose);
  const note = readNote(copy);
  if (note?.former === former) return;
  const text = { at: stat.mtime.toISOString(), durable: true };
  const before = recordOf(readJson(join(copiesFolder(paths, agent), FORMER_NOTE)));
  const [changed, title, last, hasSecrets] = arrayOf(
    before.format === FORMER_FORMAT ? recordOf(before.sessions)[id] : [],
  );
  const facts = { changed, title, last: String(last ?? "").length <= LAST_MAX ? last : undefined };
  const lines = readFileSync(file, "utf8");
  if (!note || (note.from === undefined && from === "store")) {
    const secrets = hasSecrets === true || undefined;
    writer.write(whose, lines, { ...text, note: { ...facts, secrets, from, former, modified: text.at } });
  } else if (note.from === from) {
    const isBehind = (numberOf(changed) ?? 0) > (numberOf(note.changed) ?? 0);
    if (isBehind) writer.append(whose, missingLines(lines, copy), { ...text, note: { ...facts, former } });
    else writer.append(whose, "", { durable: true, note: { former } });
  } else writer.append(whose, "", { durable: true, note: { former } });
}

/** Returns the lines that a copy does not have. */
function missingLines(lines: string, copy: string): string {
  const key = (line: string) => stringOf(parseRecord(line)?.id) ?? line;
  const there = new Set(readText(copy).split("\n").map(key));
  return lines
    .split("\n")
    .filter((line) => line !== "" && !there.has(key(line)))
    .map((line) => `${line}\n`)
    .join("");
}

function readText(copy: string): string {
  return withFile(copy, (descriptor, size) => readFully(descriptor, 0, size).toString());
}

/**
 * Copies sessions that a host keeps in another form than lines, and prompts that outlived their transcript: each is written, redacted,
 * as lines of our plain form below one that names the session, and read from there.
 */

import { statSync } from "node:fs";
import { describeError, SessionMemoryError } from "../base/errors.ts";
import { type JsonRecord, stringOf } from "../base/json.ts";
import { counted, shortHash } from "../base/text.ts";
import type { PathsWithRules } from "../config/config.ts";
import { appendBlocks, readNote } from "../hosts/blocks.ts";
import { isoTime } from "../hosts/format.ts";
import { readFully, withFile } from "../hosts/lines.ts";
import { removeStored } from "../hosts/names.ts";
import { readInstead } from "../hosts/packed.ts";
import type { OpenStore, Reading, StoredSession } from "../hosts/store.ts";
import { type Copy, keepCopyList, listCopies, sourceStates, tellUnwritten } from "../sessions/copy-list.ts";
import { currentExclusion, type Exclusion } from "../sessions/gate.ts";
import { archivePlace, hostedTranscripts } from "../sessions/places.ts";
import { openForeign } from "../store/sqlite.ts";
import { isBusy } from "../store/storage-errors.ts";
import { rulesVersion, shownText } from "../transcripts/rules.ts";
import { secretMemory } from "../transcripts/secret-rows.ts";
import type { Source } from "./copies.ts";
import { rowCopier } from "./copy.ts";
import { placeInNote, writeLines } from "./copy-files.ts";
import { keepNews } from "./news.ts";

/** The rules and the copies by which the sessions to copy are chosen. */
interface Choosing {
  paths: PathsWithRules;
  rules: Exclusion;
  /** The copies that are there. */
  copies: ReadonlyMap<string, Copy>;
  isAnew: boolean;
}

/** One run, as far as it is the same for all sessions. */
interface Run extends Choosing {
  /** Milliseconds since the epoch: the next run copies the rest. */
  until: number;
  /** The rules, as copies note them. */
  version: string;
  /** Filled in with the copies that were written. */
  written: Set<string>;
}

/**
 * Copies what is new in hosts' files. A file is not opened while it and those beside it are as they were, and nothing else is to be
 * copied of it.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` after all others were copied, if some sessions cannot be read.
 */
export function copyStored(
  sources: readonly Source[],
  options: Pick<Run, "paths" | "isAnew" | "until">,
): void {
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
  const written = new Set<string>();
  const run: Run = {
    ...options,
    rules,
    written,
    copies: listCopies(paths),
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
  keepCopyList(paths, { written, states });
  keepNews(paths, written);
  if (problems.length > 0) throw unreadable(problems);
}

function unreadable([problem = "", ...others]: readonly string[]): SessionMemoryError {
  const more = others.length > 0 ? ` (and ${counted(others.length, "more like this")})` : "";
  return new SessionMemoryError("STORAGE_ERROR", `${problem}${more}`);
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

/** A session of a host's file that is to be copied, or has a copy and is kept out. */
interface Due {
  session: StoredSession;
  /** The place of its copy. */
  copy: string;
  isOut: boolean;
}

/** Yields the sessions of a host's file that changed since they were copied, and the copied ones that are kept out by now. */
function* dueSessions(
  store: OpenStore,
  { agent, from }: Source,
  { paths, rules, copies, isAnew }: Choosing,
): Generator<Due> {
  const there = from === "prompts" ? transcriptIds(paths, agent) : new Set();
  const { sessions, projects } = rules.paths.rules.exclude;
  const isNoneOut = sessions.length + projects.length === 0;
  for (const session of store.sessions()) {
    const { id, parent = "", cwd, changed } = session;
    const copy = archivePlace(paths, { agent, id });
    const known = copies.get(copy);
    const isSame = known?.changed === changed && !isAnew;
    if (isSame && isNoneOut) continue;
    const names = `${parent} ${id}`;
    if (rules.clean(names) !== names) continue; // the copy would be named by a secret
    // prompts only where no transcript and no copy has more
    if (from === "prompts" && (there.has(id) || (known && known.from !== from))) continue;
    const isOut = !rules.admits({ id, cwd });
    if (isOut ? known : !isSame) yield { session, copy, isOut };
  }
}

/** Copies what is new in one file of a host's; returns whether that was all, and why sessions could not be read. */
function copyFrom(file: string, source: Source, run: Run): { isAll: boolean; failed: string[] } {
  const failed: string[] = [];
  if (Date.now() > run.until) return { isAll: false, failed };
  const store = source.store.open(file, openForeign);
  try {
    if (store.isBeingWritten) return { isAll: false, failed };
    for (const due of dueSessions(store, source, run)) {
      if (Date.now() > run.until) return { isAll: false, failed };
      try {
        if (due.isOut) removeStored(due.copy);
        else copySession(store, due, { ...run, source, file });
      } catch (error) {
        failed.push(`Cannot read session ${due.session.id} of ${file}: ${describeError(error)}`);
      }
    }
    return { isAll: true, failed };
  } finally {
    store.close();
  }
}

/** Copies a session, or what is new in it. */
function copySession(
  store: OpenStore,
  { session, copy }: Due,
  { rules, version, isAnew, written, source, file }: Run & { source: Source; file: string },
): void {
  const { agent, from } = source;
  const note = readNote(copy);
  const known = note?.from === from && !isAnew ? note : undefined;
  const reading = readCleaned(store, session, { source, rules, known });
  const place = shownText(file, rules) === file ? file : undefined;
  const facts = {
    changed: reading.isCut ? 0 : session.changed,
    last: placeInNote(reading.last),
    title: shortHash(session.title),
    secrets: reading.hasSecrets || undefined,
  };
  const at = isoTime(session.changed) ?? new Date().toISOString();
  // a session that is read anew mostly has only grown
  const before = reading.isNew && known ? readText(copy) : "";
  const isLonger = before !== "" && reading.text.startsWith(before);
  if (reading.isNew && !isLonger) {
    const about = { agent, id: session.id, parent: session.parent, ...facts, from, place, rules: version };
    writeLines(copy, reading.text, { note: about, at, durable: false });
  } else {
    const added = Buffer.from(reading.text.slice(before.length));
    appendBlocks(copy, added, { note: facts, at, durable: false });
  }
  written.add(copy);
}

/** Reads a session as the lines of its copy, or those to add to a copy that is known, by its note. */
function readCleaned(
  store: OpenStore,
  session: StoredSession,
  { source, rules, known }: { source: Source; rules: Exclusion; known?: JsonRecord | undefined },
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
  const last = stringOf(known?.last);
  let reading = readAfter(known?.secrets === true ? undefined : last);
  const hasSecrets = known?.secrets === true || memory.takeNew().length > 0;
  // what one message announces is taken out of those before it too, which are copied again
  if (hasSecrets) reading = readAfter(undefined);
  const isNew = last === undefined || hasSecrets || reading.isAnew === true;
  const isHeaded = !host.hasHostRows && (isNew || known?.title !== shortHash(session.title));
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
  const choosing = { paths, rules, copies: listCopies(paths), isAnew: false };
  for (const source of sources) {
    const { agent, from } = source;
    for (const file of source.files) {
      const using = <T>(use: (store: OpenStore) => T): T => {
        const store = source.store.open(file, openForeign);
        try {
          return use(store);
        } finally {
          store.close();
        }
      };
      for (const { session, copy, isOut } of using((store) => [...dueSessions(store, source, choosing)])) {
        if (isOut) continue;
        const { id, parent: parentId, changed } = session;
        const read = () => Buffer.from(using((store) => readCleaned(store, session, { source, rules }).text));
        readInstead(copy, { place: file, changed, read });
        tellUnwritten({ file: copy, agent, id, parentId, from, changed });
      }
    }
  }
}

function readText(copy: string): string {
  return withFile(copy, (descriptor, size) => readFully(descriptor, 0, size).toString());
}

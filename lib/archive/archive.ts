/**
 * Keeps a copy of each session that has been idle for a day, for when its host deletes the transcript: makes due copies, and
 * removes copies that are excluded or over the limit.
 */

import { readdirSync, rmdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  changedAt,
  fileStem,
  listEntries,
  namesIn,
  readJson,
  remove,
  removeLeftovers,
  replaceFile,
  statPath,
} from "../base/files.ts";
import { type JsonRecord, recordOf, stringOf } from "../base/json.ts";
import { tryLock, withLock } from "../base/locks.ts";
import { counted } from "../base/text.ts";
import { DAY_MS } from "../base/time.ts";
import { currentPaths, type Paths, type PathsWithRules, type Settings } from "../config/config.ts";
import { appendBlocks, readNote } from "../hosts/blocks.ts";
import type { Host } from "../hosts/host.ts";
import { findHost, HOSTS } from "../hosts/hosts.ts";
import { removeStored, statStored, storedNames } from "../hosts/names.ts";
import { COPIED_OUTPUTS, ownFolder } from "../hosts/outputs.ts";
import type { Session } from "../hosts/session.ts";
import { copiesFolder } from "../hosts/table.ts";
import { keepCopyList, toldCopies } from "../sessions/copy-list.ts";
import { archivedTranscripts, firstOfEach } from "../sessions/found.ts";
import {
  archivePlace,
  formerCopies,
  hostedTranscripts,
  newsFile,
  type TranscriptFile,
} from "../sessions/places.ts";
import { besideCopy, idsOf, pulledSessions } from "../sessions/pulled.ts";
import { sessionKey } from "../sessions/record.ts";
import { identifySession, isStillVisible, listSessions, visibleAmong } from "../sessions/sessions.ts";
import { type ForgetIn, type Forgetting, type Found, isForgotten } from "../store/state.ts";
import { isPlainName, type Rules, readRules, rulesVersion } from "../transcripts/rules.ts";
import { copiesLock } from "./copies.ts";
import { type CopyOptions, writeCopy, writeOutput } from "./copy.ts";
import { type CopyWriter, copyWriter } from "./copy-writer.ts";
import { takeUnpacked } from "./stored.ts";

/** A session that does nothing for so long is taken for finished; one that goes on gets a new copy. */
const IDLE_MS = DAY_MS;
/** The time that a file of an earlier version stays when it has been taken over: a user may want to go back. */
const FORMER_MS = 30 * DAY_MS;
/** The most that a copy takes of its transcript's size, of real ones: outputs of programs pack worst. */
const SHARE_MAX = 0.5;
const BYTES_PER_MB = 1024 * 1024;
/** After how many days without a change a host deletes a transcript, and by which setting. */
interface Retention extends Pick<Host, "agent" | "name" | "home"> {
  /** Its settings file. */
  settings: string;
  key: string;
  days: number;
  /** Without the setting. */
  usual: number;
}

/** Reads when hosts delete transcripts, by their user's settings; the others keep them. */
export function listRetentions(paths: Pick<Paths, "expand">): Retention[] {
  return HOSTS.flatMap(({ agent, name, home, retention }) => {
    if (!retention) return [];
    const { key, days: usual } = retention;
    const settings = join(paths.expand(home), retention.settings);
    const given = recordOf(readJson(settings))[key];
    const days = typeof given === "number" && given >= 0 ? given : usual;
    return { agent, name, home, settings, key, usual, days };
  });
}

/** Returns the first host that is set to delete transcripts earlier than it does by itself. */
function shortenedRetention(paths: Paths): Retention | undefined {
  return listRetentions(paths).find(({ days, usual }) => days < usual);
}

/** The reason that no copies are made; undefined if they are. */
type Stopped = "off" | "retention" | undefined;

/** Returns why no copies are made: by the user's word, or since the user set a host to delete earlier than it does by itself. */
export function whyStopped(paths: PathsWithRules, { archive }: Pick<Settings, "archive">): Stopped {
  if (archive.enabled === false) return "off";
  return archive.enabled === undefined && shortenedRetention(paths) ? "retention" : undefined;
}

/** A copy that is there. */
interface Copy extends Pick<TranscriptFile, "agent" | "id"> {
  /** Its path, without the suffix. */
  file: string;
  /** True if it is of a transcript that was idle: `archive` of config.json is about these. */
  isIdle: boolean;
  /** Its bytes on disk, with those of its outputs. */
  bytes: number;
  /** True if its host still has the transcript. */
  isThere: boolean;
}

interface ArchiveOptions {
  paths: PathsWithRules;
  settings: Settings;
  /** All sessions, where they were listed a moment ago, the excluded ones included. @default listed now */
  listed?: readonly Session[] | undefined;
  /** Called between slices of work. */
  rest?: (() => Promise<void>) | undefined;
  /** True if to stop before the next session. */
  isOver?: (() => boolean) | undefined;
}

/** Brings the archive up to date with transcripts, rules and limits, unless another process is doing so. */
export async function updateArchive(options: ArchiveOptions): Promise<void> {
  const { paths } = options;
  const isOn = whyStopped(paths, options.settings) === undefined;
  const isEmpty = !statPath(paths.copies) && formerCopies(paths).length === 0;
  if (paths.transcripts.length > 0 || (!isOn && isEmpty)) return;
  const release = tryLock(join(paths.home, "archive.lock"));
  if (!release) return;
  try {
    for (const folder of [paths.copies, paths.archive]) removeLeftovers(folder);
    removeExcluded(paths);
    await takeFormer(options);
    await rewriteAlone(options);
    if (isOn) await copyIdle(options);
    keepCopyList(paths);
  } finally {
    release();
  }
}

/** Removes the copies of sessions that are kept out by now; of those in hosts' databases whoever reads these does so. */
function removeExcluded(paths: PathsWithRules): void {
  const isOut = (found: TranscriptFile) =>
    identifySession(found) !== undefined && !visibleSession(found, paths);
  const copies = listCopies(paths).filter(({ isIdle }) => isIdle);
  const wanted = new Set(filesOf(copies, paths));
  for (const copy of archivedTranscripts(paths))
    if (wanted.has(copy.file) && isOut(copy)) removeCopy(copy.file);
}

/** Returns the session of a found file, where it may be read. */
function visibleSession(found: TranscriptFile, paths: PathsWithRules): Session | undefined {
  const session = identifySession(found);
  return session && visibleAmong([session], paths)[0];
}

/** A command that reads a host's database holds its lock no longer. */
const LOCK_WAIT_MS = 10_000;

/**
 * Writes the copies of an earlier version anew in the one place, and what it adds or changes later. The old file stays until
 * nothing has used it for thirty days, for whoever goes back to that version.
 */
async function takeFormer({ paths, isOver, rest }: ArchiveOptions): Promise<void> {
  const former = formerCopies(paths);
  if (former.length === 0) return;
  const [version, writer] = [rulesVersion(paths), copyWriter(paths)];
  const isWanted = unpackedTest(paths);
  for (const copy of former) {
    if (isOver?.()) break;
    const { agent = "plain", id = "" } = copy;
    try {
      if (copy.file.startsWith(paths.archive)) takePacked(copy, { paths, writer });
      else if (isWanted(copy))
        await withLock(copiesLock(paths), LOCK_WAIT_MS, () => takeUnpacked(copy, { paths, writer }));
      const note = readNote(archivePlace(paths, { agent, id }));
      // one that was written under other rules may hold what these take out
      const isOutdated = note?.former !== undefined && note.rules !== undefined && note.rules !== version;
      if (isOutdated || isLeft(copy, paths)) removeCopy(copy.file);
    } catch {
      // removed, or written anew, by that version meanwhile
    }
    await rest?.();
  }
  writer.end();
  for (const { agent } of HOSTS) removeUnlessUsed(copiesFolder(paths, agent));
}

/** Returns a test for copies of an earlier version in which something is that is nowhere else. */
function unpackedTest(paths: PathsWithRules): (copy: TranscriptFile) => boolean {
  const there = new Set(hostedTranscripts(paths).map(sessionKey));
  return (copy) => !there.has(sessionKey(copy)) && visibleSession(copy, paths) !== undefined;
}

/** Returns whether nothing has used a copy of an earlier version since it was taken over. */
function isLeft({ file, agent = "plain", id = "" }: TranscriptFile, paths: PathsWithRules): boolean {
  return isUnused(file) && isUnused(archivePlace(paths, { agent, id }));
}

/** Removes the folder that an earlier version had for copies, where it holds no more than its note. */
function removeUnlessUsed(folder: string): void {
  const names = namesIn(folder);
  if (names.length > 0 && names.every((name) => name.endsWith(".json")))
    rmSync(folder, { recursive: true, force: true });
}

/** Takes over a copy that was packed where the version before had it, with its outputs. */
function takePacked(
  { file, agent = "plain", id = "", parentId }: TranscriptFile,
  { paths, writer }: { paths: PathsWithRules; writer: CopyWriter },
): void {
  const target = archivePlace(paths, { agent, id });
  const [old, taken] = [readNote(file), readNote(target)];
  const at = (note: typeof old) => String(note?.modified ?? "");
  if (old === undefined || taken?.from === "store" || (taken && at(taken) >= at(old))) return;
  const take = (from: string, to: string, note = {}) =>
    appendBlocks(to, new Uint8Array(), { from, note, durable: true });
  for (const output of listOutputs(file)) take(output, outputPlace(target, output));
  take(file, target, { agent, id, parent: parentId });
  writer.list(target);
}

/** Returns whether a copy was written, or taken over, more than thirty days ago. */
function isUnused(file: string): boolean {
  const stat = statStored(file);
  return stat !== undefined && Date.now() - stat.ctimeMs > FORMER_MS;
}

/** Writes copies anew that were made under other rules and whose transcript is gone. */
async function rewriteAlone({ paths, isOver, rest }: ArchiveOptions): Promise<void> {
  const rules = readRules(paths);
  const alone = findCopies(paths).filter(({ isThere }) => !isThere);
  if (alone.length === 0) return;
  const version = rulesVersion(paths);
  for (const file of filesOf(alone, paths)) {
    if (isOver?.()) return;
    if ((readNote(file) ?? { rules: version }).rules === version) continue;
    await withLock(copiesLock(paths), LOCK_WAIT_MS, () => rewrite(file, { rules, version, rest }));
  }
}

interface Rewriting extends Pick<CopyOptions, "rules" | "rest" | "dryRun"> {
  /** The rules, as they are noted. @default as before */
  version?: string;
}

/** Writes a copy and its outputs anew from themselves; returns how many rows are left out by it. */
async function rewrite(file: string, { version, ...rewriting }: Rewriting): Promise<number> {
  const again = (each: string): CopyOptions => {
    const stat = statStored(each);
    const about = shownNote(readNote(each) ?? {}, rewriting.rules);
    return {
      ...rewriting,
      about,
      note: { rules: version ?? about.rules },
      modifiedAt: stat ? changedAt(stat) : new Date().toISOString(),
      durable: true,
    };
  };
  const { place } = readNote(file) ?? {};
  let excluded = place === shownNote({ place }, rewriting.rules).place ? 0 : 1;
  for (const output of listOutputs(file))
    excluded += (await writeOutput(output, output, again(output))).excluded;
  return excluded + ((await writeCopy(file, file, again(file)))?.excluded ?? 0);
}

/** Returns a note with the place of the transcript as far as it may be shown: it names folders. */
function shownNote({ place, ...note }: JsonRecord, { clean, hasText, hasPatterns }: Rules): JsonRecord {
  const shown = clean(stringOf(place) ?? "");
  return shown === "" || (hasPatterns && hasText(shown)) ? note : { ...note, place: shown };
}

/** Makes the copies that are due, those first whose transcripts go first, as far as there is room. */
async function copyIdle(options: ArchiveOptions): Promise<void> {
  const { paths, settings, listed, isOver } = options;
  const { maxMb, agents } = settings.archive;
  const idle = Date.now() - IDLE_MS;
  const isWanted = ({ agent, modifiedAt, archived, machine }: Session) =>
    !archived &&
    machine === undefined &&
    !findHost(agent)?.store && // it has a copy already
    (agents.length === 0 || agents.includes(agent)) &&
    Date.parse(modifiedAt) < idle;
  const keptUntil = deletionTime(paths);
  const all = listed ? visibleAmong(listed, paths) : listSessions(paths, { subagents: true });
  const sessions = all.filter(isWanted).sort((a, b) => keptUntil(a) - keptUntil(b));
  const copies = listCopies(paths).filter(({ isIdle }) => isIdle);
  const byFile = new Map(copies.map((copy) => [copy.file, copy]));
  const wanted = new Set(sessions.map((session) => archivePlace(paths, session)));
  // What is due no longer is kept: a session that goes on has its copy of before.
  let used = copies.filter(({ file }) => !wanted.has(file)).reduce((sum, { bytes }) => sum + bytes, 0);
  const due: { session: Session; file: string }[] = [];
  for (const session of sessions) {
    const file = archivePlace(paths, session);
    const copy = byFile.get(file);
    const isCurrent = copy !== undefined && isCopied(session, file, paths);
    if (!isCurrent && !isPlainName(session.id)) continue; // its id names the copy
    const bytes = isCurrent ? copy.bytes : Math.ceil((session.size + outputBytes(session)) * SHARE_MAX);
    if (used + bytes > maxMb * BYTES_PER_MB) {
      for (const each of copy ? filesOf([copy], paths) : []) removeCopy(each);
      continue;
    }
    used += bytes;
    if (!isCurrent) due.push({ session, file });
  }
  const writer = copyWriter(paths);
  for (const { session, file } of due) {
    if (isOver?.()) break;
    await copySession(session, file, options);
    writer.list(file);
  }
  writer.end();
}

/** Returns when hosts delete transcripts: of the ones that stay, the last deeds are wanted most. */
function deletionTime(paths: Paths): (session: Session) => number {
  const days = new Map(listRetentions(paths).map(({ agent, days }) => [agent, days]));
  return ({ agent, modifiedAt }) => {
    const at = Date.parse(modifiedAt);
    const kept = days.get(agent);
    return kept === undefined ? Number.MAX_SAFE_INTEGER - at : at + kept * DAY_MS;
  };
}

/** Returns whether a copy holds what its transcript holds now, by the rules as they are now. */
function isCopied(session: Session, copy: string, paths: PathsWithRules): boolean {
  const { size, modifiedAt } = session;
  const note = readNote(copy);
  const isSame = note?.size === size && note.modified === modifiedAt && note.rules === rulesVersion(paths);
  return (
    isSame &&
    hostOutputs(session).every((output) => statStored(outputPlace(copy, fileStem(basename(output)))))
  );
}

/** Copies a session by the rules of this moment; a session forgotten meanwhile leaves no copy. */
async function copySession(session: Session, copy: string, { paths, rest }: ArchiveOptions): Promise<void> {
  const { file, size, modifiedAt, agent, id, parentId } = session;
  const now = currentPaths(paths);
  const rules = readRules(now);
  const note = { size, modified: modifiedAt, rules: rulesVersion(now) };
  const about = shownNote({ agent, id, parent: parentId, place: file }, rules);
  const options = { rules, note, about, modifiedAt, durable: false, rest };
  if (!isStillVisible(session, paths)) return;
  try {
    for (const output of hostOutputs(session)) {
      const place = outputPlace(copy, fileStem(basename(output)));
      if (readNote(place)?.rules !== note.rules) await writeOutput(output, place, { ...options, about: {} });
    }
    if ((await writeCopy(file, copy, options)) === undefined) return;
  } catch {
    return; // gone since it was listed, or not ours to read
  }
  if (rulesVersion(currentPaths(paths)) !== note.rules || !isStillVisible(session, paths)) removeCopy(copy);
}

/** Returns the long outputs that a host keeps beside a transcript, which its clean-up may delete before that. */
function hostOutputs({ agent, file }: Session): string[] {
  const name = findHost(agent)?.outputs;
  if (name === undefined) return [];
  const folder = ownFolder(file, name);
  const entries = listEntries(folder).filter((entry) => entry.isFile() && entry.name.endsWith(".txt"));
  return entries.flatMap(({ name }) => (isPlainName(name) ? [join(folder, name)] : []));
}

function outputBytes(session: Session): number {
  return hostOutputs(session).reduce((sum, file) => sum + (statPath(file)?.size ?? 0), 0);
}

function outputPlace(copy: string, output: string): string {
  return join(ownFolder(copy, COPIED_OUTPUTS), basename(output));
}

/** Returns the outputs of a copy, without their suffix. */
function listOutputs(copy: string): string[] {
  const folder = ownFolder(copy, COPIED_OUTPUTS);
  return storedNames(folder).map((name) => join(folder, name));
}

/** Returns every copy, with whether its transcript is still there. */
function findCopies(paths: PathsWithRules): Copy[] {
  const copies = listCopies(paths);
  if (copies.length === 0) return [];
  const there = new Set(
    hostedTranscripts(paths, { subagents: true })
      .flatMap((found) => identifySession(found) ?? [])
      .map(sessionKey),
  );
  return copies.map((copy) => ({ ...copy, isThere: there.has(sessionKey(copy)) }));
}

/** Returns every copy; which transcripts are there is not asked. */
function listCopies(paths: PathsWithRules): Omit<Copy, "isThere">[] {
  const told = toldCopies(paths);
  const isIdle = (file: string) =>
    told.has(file) ? told.get(file)?.from === undefined : file.startsWith(paths.archive);
  return firstOfEach(archivedTranscripts(paths)).map(({ file, agent, id }) => ({
    file,
    agent,
    id,
    isIdle: isIdle(file),
    bytes: [file, ...listOutputs(file)].reduce((sum, each) => sum + bytesOf(each), 0),
  }));
}

function bytesOf(copy: string): number {
  return statStored(copy)?.size ?? 0;
}

/** Returns the copies of sessions, with those of an earlier version. */
function filesOf(copies: readonly Pick<Copy, "agent" | "id">[], paths: PathsWithRules): string[] {
  const wanted = new Set(copies.map(sessionKey));
  return archivedTranscripts(paths).flatMap((copy) => (wanted.has(sessionKey(copy)) ? copy.file : []));
}

/** Removes a copy with what lies beside it, and its folders where they are empty then. */
function removeCopy(file: string): void {
  for (const each of [...listOutputs(file), file]) removeStored(each);
  remove(besideCopy(file));
  const outputs = ownFolder(file, COPIED_OUTPUTS);
  for (const folder of [outputs, dirname(outputs), dirname(file)]) {
    try {
      if (readdirSync(folder).length === 0) rmdirSync(folder);
    } catch {
      // it is missing, or it has just got a file
    }
  }
}

/** The contents of the archive. */
interface ArchiveState {
  copies: number;
  bytes: number;
  /** Copies whose transcript is gone, and their bytes. */
  alone: number;
  aloneBytes: number;
  /** The copies of sessions that have no transcript: in hosts' databases, in files of prompts, of other people. */
  others: number;
  otherBytes: number;
}

export function describeArchive(paths: PathsWithRules): ArchiveState {
  const all = findCopies(paths);
  const copies = all.filter(({ isIdle }) => isIdle);
  const alone = copies.filter(({ isThere }) => !isThere);
  const sum = (some: readonly Copy[]) => some.reduce((total, { bytes }) => total + bytes, 0);
  return {
    copies: copies.length,
    bytes: sum(copies),
    alone: alone.length,
    aloneBytes: sum(alone),
    others: all.length - copies.length,
    otherBytes: sum(all) - sum(copies),
  };
}

/** The reason that nothing new is archived, and the remedy. */
interface NothingNew {
  what: string;
  remedy: string;
  /** True if it has come about, and is not as the user wants it. */
  isWarning: boolean;
}

/** The share of the limit that is left where the archive counts as full. */
const FULL_SHARE = 0.01;

/** Says why nothing new is archived; undefined where new copies are made, or the user wants none. */
export function nothingNew(
  paths: PathsWithRules,
  settings: Pick<Settings, "archive">,
  { aloneBytes }: Pick<ArchiveState, "aloneBytes"> = describeArchive(paths),
): NothingNew | undefined {
  const stopped = whyStopped(paths, settings);
  const shortened = stopped === "retention" ? shortenedRetention(paths) : undefined;
  if (shortened) {
    const { name, days } = shortened;
    const what = `nothing is archived: ${name} is set to delete transcripts after ${counted(days, "day")}`;
    return { what, remedy: "set archive.enabled in config.json to true or false", isWarning: false };
  }
  const { maxMb } = settings.archive;
  if (stopped !== undefined || aloneBytes < maxMb * BYTES_PER_MB * (1 - FULL_SHARE)) return undefined;
  const what = `nothing new is archived: sessions that live only in the archive fill archive.maxMb (${maxMb})`;
  return { what, remedy: "raise archive.maxMb in config.json, or forget some of them", isWarning: true };
}

/** Says what is kept of sessions, and when their hosts delete their own; or why nothing new is. */
export function archiveLine(paths: PathsWithRules, settings: Settings): string | undefined {
  const nothing = nothingNew(paths, settings);
  if (nothing) return `${nothing.what.replace(/^n/, "N")}; ${nothing.remedy}`;
  if (whyStopped(paths, settings)) return undefined;
  const deleting = listRetentions(paths)
    .filter(({ home }) => statPath(paths.expand(home)))
    .map(({ name, days }) => `${name} after ${counted(days, "day")}`);
  const when = deleting.length > 0 ? ` (${deleting.join(", ")})` : "";
  return `Idle sessions are kept as redacted copies, in case their host deletes them${when}: at most ${settings.archive.maxMb} MB`;
}

/** Removes the copies of sessions, or the rows of all copies that hold a text; counts the archived ones that are concerned. */
export function forgetCopies(forgetting: Forgetting, scope: ForgetIn): Promise<Pick<Found, "copies">> {
  const { paths, dryRun } = scope;
  if (dryRun) return forgetIn(forgetting, scope);
  return withLock(copiesLock(paths), LOCK_WAIT_MS, () => {
    removeUnpacked(paths);
    return forgetIn(forgetting, scope);
  });
}

/** Removes the copies that an earlier version made of hosts' databases and prompts, which do not say who they are, once they are taken over. */
function removeUnpacked(paths: PathsWithRules): void {
  const writer = copyWriter(paths);
  const there = new Set(hostedTranscripts(paths).map(sessionKey));
  for (const copy of formerCopies(paths))
    if (!copy.file.startsWith(paths.archive) && !there.has(sessionKey(copy)))
      takeUnpacked(copy, { paths, writer });
  writer.end();
  for (const { agent } of HOSTS) rmSync(copiesFolder(paths, agent), { recursive: true, force: true });
}

async function forgetIn(forgetting: Forgetting, { paths, dryRun }: ForgetIn): Promise<Pick<Found, "copies">> {
  const pulled = pulledSessions(paths, { excluded: true });
  const copies: (Pick<TranscriptFile, "agent" | "id" | "parentId" | "file"> & Pick<Session, "owner">)[] = [
    ...archivedTranscripts(paths),
    ...pulled,
  ];
  const idle = new Set(listCopies(paths).flatMap((copy) => (copy.isIdle ? sessionKey(copy) : [])));
  const done = (found: ReadonlySet<string>) => {
    if (!dryRun) {
      keepCopyList(paths);
      remove(newsFile(paths));
    }
    return { copies: found.intersection(idle).size };
  };
  if ("ids" in forgetting) {
    const named = copies.filter(({ id = "", parentId = id, owner }) =>
      [...idsOf({ id, owner }), parentId].some((each) => isForgotten(forgetting, each, [])),
    );
    const { redact, exclude } = paths.rules;
    const rules = readRules(currentPaths({ ...paths, rules: { redact, exclude } }));
    for (const { file, id = "" } of dryRun ? [] : named) {
      if (!forgetting.lines?.has(id)) removeCopy(file);
      else await rewrite(file, { rules });
    }
    return done(new Set(named.map(sessionKey)));
  }
  const rules = withText(readRules(paths), forgetting.hasText);
  const holding = new Set<string>();
  for (const copy of copies) {
    if ((await rewrite(copy.file, { rules, dryRun: true })) === 0) continue;
    holding.add(sessionKey(copy));
    if (!dryRun) await rewrite(copy.file, { rules });
  }
  for (const { file } of dryRun ? [] : pulled) {
    const said = Object.entries(recordOf(readJson(besideCopy(file))));
    const kept = said.filter(([, value]) => !forgetting.hasText(JSON.stringify(value)));
    if (kept.length < said.length) replaceFile(besideCopy(file), JSON.stringify(Object.fromEntries(kept)));
  }
  return done(holding);
}

/** Returns rules that exclude what holds a text, too. */
function withText(rules: Rules, hasText: (text: string) => boolean): Rules {
  const texts = ({ text, patch = "", tool }: Parameters<Rules["hasEntry"]>[0]) => [
    text,
    patch,
    tool?.target ?? "",
    tool?.input ?? "",
    ...(tool?.paths ?? []),
  ];
  return {
    ...rules,
    hasPatterns: true,
    hasText: (text) => rules.hasText(text) || hasText(text),
    hasEntry: (entry) => rules.hasEntry(entry) || texts(entry).some(hasText),
  };
}

/** Removes every copy of a transcript that was idle. */
export function removeArchive(paths: PathsWithRules): void {
  const copies = listCopies(paths).filter(({ isIdle }) => isIdle);
  for (const file of filesOf(copies, paths)) removeCopy(file);
  keepCopyList(paths);
}

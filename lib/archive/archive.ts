/**
 * Keeps a copy of each session that has been idle for a day, for when its host deletes the transcript: makes due copies, and
 * removes copies that are excluded or over the limit.
 */

import { basename, join } from "node:path";
import {
  changedAt,
  fileStem,
  listEntries,
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
import { readNote } from "../hosts/blocks.ts";
import type { Host } from "../hosts/host.ts";
import { findHost, HOSTS } from "../hosts/hosts.ts";
import { statStored } from "../hosts/names.ts";
import { ownFolder } from "../hosts/outputs.ts";
import type { Session } from "../hosts/session.ts";
import { type Copy, keepCopyList, listCopies, ownCopies } from "../sessions/copy-list.ts";
import { currentExclusion, type Exclusion } from "../sessions/gate.ts";
import { archivePlace, hostedTranscripts, newsFile } from "../sessions/places.ts";
import { besideCopy, idsOf, pulledSessions } from "../sessions/pulled.ts";
import { sessionKey } from "../sessions/record.ts";
import { identifySession, isVisible, listSessions, visibleAmong } from "../sessions/sessions.ts";
import { type ForgetIn, type Forgetting, type Found, isForgotten } from "../store/state.ts";
import { isPlainName, type Rules, readRules, rulesVersion } from "../transcripts/rules.ts";
import { copiesLock } from "./copies.ts";
import { type CopyOptions, writeCopy, writeOutput } from "./copy.ts";
import { copyBytes, listOutputs, outputPlace, removeCopy } from "./copy-files.ts";
import { removeFormer, takeFormer } from "./former.ts";
import { formerFolders } from "./former-places.ts";

/** A session that does nothing for so long is taken for finished; one that goes on gets a new copy. */
const IDLE_MS = DAY_MS;
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
  const hasFormer = formerFolders(paths).length > 0;
  if (paths.transcripts.length > 0 || (!isOn && !hasFormer && !statPath(paths.copies))) return;
  const release = tryLock(join(paths.home, "archive.lock"));
  if (!release) return;
  try {
    removeLeftovers(paths.copies);
    if (hasFormer) await withLock(copiesLock(paths), LOCK_WAIT_MS, () => takeFormer(paths));
    removeExcluded(paths);
    const copies = ownCopies(paths);
    const written = await rewriteAlone(copies, options);
    if (isOn) written.push(...(await copyIdle(copies, options)));
    keepCopyList(paths, { written });
  } finally {
    release();
  }
}

/** Removes the copies of sessions that are kept out by now; of those in hosts' databases whoever reads these does so. */
function removeExcluded(paths: PathsWithRules): void {
  const { paths: now, isForgotten } = currentExclusion(paths);
  const { sessions: out, projects } = now.rules.exclude;
  if (out.length + projects.length === 0 && !isForgotten) return;
  const sessions = ownCopies(paths)
    .filter(isIdle)
    .flatMap((copy) => identifySession(copy) ?? []);
  const visible = new Set(visibleAmong(sessions, paths));
  for (const session of sessions) if (!visible.has(session)) removeCopy(session.file);
}

/** A command that reads a host's database holds its lock no longer. */
const LOCK_WAIT_MS = 10_000;

/** Writes copies anew that were made under other rules and whose transcript is gone; returns these. */
async function rewriteAlone(
  copies: readonly Copy[],
  { paths, isOver, rest }: ArchiveOptions,
): Promise<string[]> {
  const rules = readRules(paths);
  const version = rulesVersion(paths);
  const outdated = copies.filter((copy) => copy.rules !== version);
  const written: string[] = [];
  for (const { file } of copiesAlone(outdated, paths)) {
    if (isOver?.()) break;
    if ((readNote(file) ?? { rules: version }).rules === version) continue;
    await withLock(copiesLock(paths), LOCK_WAIT_MS, () => rewrite(file, { rules, version, rest }));
    written.push(file);
  }
  return written;
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

/** Makes the copies that are due, those first whose transcripts go first, as far as there is room; returns these. */
async function copyIdle(copies: readonly Copy[], options: ArchiveOptions): Promise<string[]> {
  const written: string[] = [];
  const due = findDue(copies, options);
  let rules = rulesNow(options.paths);
  for (const { session, file } of due) {
    if (options.isOver?.()) break;
    rules = await copySession(session, file, { ...options, rules });
    written.push(file);
  }
  return written;
}

/** Returns the rules of this moment, with their version. */
function rulesNow(paths: PathsWithRules): Exclusion & { version: string } {
  const rules = currentExclusion(paths);
  return { ...rules, version: rulesVersion(rules.paths) };
}

/** Returns the idle sessions whose copies are missing or old, and have room; a copy that is due and has no room goes. */
function findDue(
  copies: readonly Copy[],
  { paths, settings, listed }: ArchiveOptions,
): { session: Session; file: string }[] {
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
  const wanted = all
    .filter(isWanted)
    .sort((a, b) => keptUntil(a) - keptUntil(b))
    .map((session) => ({ session, file: archivePlace(paths, session) }));
  const there = new Map(copies.filter(isIdle).map((copy) => [copy.file, copy]));
  const bytesOf = new Map(there.keys().map((file) => [file, copyBytes(file)]));
  const places = new Set(wanted.map(({ file }) => file));
  // What is due no longer is kept: a session that goes on has its copy of before.
  let used = [...bytesOf].reduce((sum, [file, bytes]) => (places.has(file) ? sum : sum + bytes), 0);
  const version = rulesVersion(paths);
  const due: typeof wanted = [];
  for (const { session, file } of wanted) {
    const held = bytesOf.get(file);
    const isCurrent = held !== undefined && isCopied(session, there.get(file), version);
    if (!isCurrent && !isPlainName(session.id)) continue; // its id names the copy
    const bytes = isCurrent ? held : Math.ceil((session.size + outputBytes(session)) * SHARE_MAX);
    if (used + bytes > maxMb * BYTES_PER_MB) {
      if (held !== undefined) removeCopy(file);
      continue;
    }
    used += bytes;
    if (!isCurrent) due.push({ session, file });
  }
  return due;
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

/** Returns whether a copy holds what its transcript holds now, by this version of the rules. */
function isCopied(session: Session, copy: Copy | undefined, version: string): boolean {
  const isSame = copy?.size === session.size && copy.modified === session.modifiedAt;
  if (!isSame || copy.rules !== version || copy.bytes !== statStored(copy.file)?.size) return false;
  return hostOutputs(session).every((output) =>
    statStored(outputPlace(copy.file, fileStem(basename(output)))),
  );
}

/** Copies a session by the rules of before and returns those of after it; a session forgotten meanwhile leaves no copy. */
async function copySession(
  session: Session,
  copy: string,
  { paths, rest, rules }: ArchiveOptions & { rules: ReturnType<typeof rulesNow> },
): Promise<typeof rules> {
  const { file, size, modifiedAt, agent, id, parentId } = session;
  const { version } = rules;
  if (!isVisible(session, rules)) return rules;
  const note = { size, modified: modifiedAt, rules: version };
  const about = shownNote({ agent, id, parent: parentId, place: file }, rules);
  const options = { rules, note, about, modifiedAt, durable: false, rest };
  try {
    for (const output of hostOutputs(session)) {
      const place = outputPlace(copy, fileStem(basename(output)));
      if (readNote(place)?.rules !== version) await writeOutput(output, place, { ...options, about: {} });
    }
    if ((await writeCopy(file, copy, options)) === undefined) return rules;
  } catch {
    return rules; // gone since it was listed, or not ours to read
  }
  const now = rulesNow(paths);
  if (now.version !== version || !isVisible(session, now)) removeCopy(copy);
  return now;
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

/** Returns whether a copy is of a transcript that was idle: `archive` of config.json is about these. */
function isIdle({ from }: Copy): boolean {
  return from === undefined;
}

/** Returns the copies whose transcript is gone. */
function copiesAlone(copies: readonly Copy[], paths: PathsWithRules): Copy[] {
  if (copies.length === 0) return [];
  const found = hostedTranscripts(paths, { subagents: true });
  const there = new Set(found.flatMap((each) => identifySession(each) ?? []).map(sessionKey));
  return copies.filter((copy) => !there.has(sessionKey(copy)));
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
  const all = [...listCopies(paths).values()];
  const copies = all.filter(isIdle);
  const alone = copiesAlone(copies, paths);
  const sum = (some: readonly Copy[]) => some.reduce((total, { file }) => total + copyBytes(file), 0);
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
    removeFormer(paths);
    return forgetIn(forgetting, scope);
  });
}

async function forgetIn(forgetting: Forgetting, { paths, dryRun }: ForgetIn): Promise<Pick<Found, "copies">> {
  const pulled = pulledSessions(paths, { excluded: true });
  const own = ownCopies(paths);
  const copies = [...own, ...pulled];
  const idle = new Set(own.filter(isIdle).map(sessionKey));
  const done = (found: ReadonlySet<string>) => {
    if (!dryRun) {
      keepCopyList(paths);
      remove(newsFile(paths));
    }
    return { copies: found.intersection(idle).size };
  };
  if ("ids" in forgetting) {
    const named = copies.filter(({ id, parentId = id, owner }) =>
      [...idsOf({ id, owner }), parentId].some((each) => isForgotten(forgetting, each, [])),
    );
    const { redact, exclude } = paths.rules;
    const rules = readRules(currentPaths({ ...paths, rules: { redact, exclude } }));
    for (const { file, id } of dryRun ? [] : named) {
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
  removeFormer(paths);
  for (const { file } of ownCopies(paths).filter(isIdle)) removeCopy(file);
  keepCopyList(paths);
}

/** Keeps the file from which a prompt hook tells what was done in sessions that are copies: their rows of the last hour. */

import { readJson, remove, replaceFile, statPath } from "../base/files.ts";
import { arrayOf } from "../base/json.ts";
import type { PathsWithRules } from "../config/config.ts";
import { findHost } from "../hosts/hosts.ts";
import { statUnpacked } from "../hosts/packed.ts";
import type { Entry, Row, Session } from "../hosts/session.ts";
import { type Told, toldCopies } from "../sessions/copy-list.ts";
import { currentExclusion } from "../sessions/gate.ts";
import { archivePlace, formerCopies, newsFile } from "../sessions/places.ts";
import { isMessage, settle, toRow } from "../transcripts/calls.ts";
import { readHead } from "../transcripts/head.ts";
import type { Rules } from "../transcripts/rules.ts";
import { offsetSince, readEntries } from "../transcripts/transcript.ts";

/** A session with its rows of the last hour. */
export interface NewsOf
  extends Pick<Session, "agent" | "id" | "parentId" | "file" | "cwd" | "startedAt" | "updatedAt"> {
  owner?: string | undefined;
  machine?: string | undefined;
  isHeadless?: boolean | undefined;
  rows: NewsRow[];
}

interface NewsRow {
  /** The byte behind its line in the copy. */
  end: number;
  /** True if it belongs to the message of the row before it. */
  goesOn?: true;
  row: Row;
}

const HOUR_MS = 3_600_000;
/** The most that is kept of a text: a digest shows 100 characters. */
const TEXT_MAX = 400;
/** Told of one session: more rows of an hour are hardly read. */
const ROWS_MAX = 500;

/** Reads the file; nothing where config.json was changed since: what it excludes may stand there. */
export function readNews(paths: PathsWithRules): NewsOf[] {
  return isCurrent(paths) ? (arrayOf(readJson(newsFile(paths))) as NewsOf[]) : []; // written by us, and whole
}

function isCurrent(paths: PathsWithRules): boolean {
  const [made, ...rules] = [newsFile(paths), paths.config, paths.rules.exclude.forgotten ?? ""].map(
    (file) => statPath(file)?.mtimeMs ?? 0,
  );
  return made !== 0 && rules.every((time) => time <= (made ?? 0));
}

/** Replaces what the file says of sessions whose copies were written; where it does not hold any more, what it says of all. */
export function keepNews(paths: PathsWithRules, written: ReadonlySet<string>): void {
  const since = Date.now() - HOUR_MS;
  const told = toldCopies(paths);
  const kept = readNews(paths).filter(
    ({ file, updatedAt }) => !written.has(file) && told.has(file) && Date.parse(updatedAt) > since,
  );
  const files = isCurrent(paths) ? [...written] : changedSince(told, since);
  const news = [...kept, ...newsIn(paths, files, { told, since })];
  const text = news.length > 0 ? JSON.stringify(news) : "";
  if (text === "" && kept.length === 0) remove(newsFile(paths));
  else replaceFile(newsFile(paths), text, { durable: false });
}

/** Reads the rows of copies since a time, of those sessions that hooks tell of. */
export function newsSince(paths: PathsWithRules, since: number): NewsOf[] {
  const told = new Map([...formerTold(paths), ...toldCopies(paths)]);
  return newsIn(paths, changedSince(told, since), { told, since });
}

/** Returns the copies of hosts' databases that an earlier version made and that are not taken over yet. */
function formerTold(paths: PathsWithRules): [string, Told][] {
  return formerCopies(paths).flatMap(({ file, agent = "", id = "", parentId }): [string, Told][] => {
    const isTaken = findHost(agent)?.store === undefined || statUnpacked(archivePlace(paths, { agent, id }));
    const changed = statPath(file)?.mtimeMs;
    return isTaken || changed === undefined ? [] : [[file, { agent, id, parentId, from: "store", changed }]];
  });
}

function changedSince(told: ReadonlyMap<string, Told>, since: number): string[] {
  return [...told].flatMap(([file, { changed = 0 }]) => (changed >= since || changed === 0 ? [file] : []));
}

function newsIn(
  paths: PathsWithRules,
  files: readonly string[],
  { told, since }: { told: ReadonlyMap<string, Told>; since: number },
): NewsOf[] {
  const rules = currentExclusion({ paths, settings: paths.rules });
  return files.flatMap((file) => {
    const about = told.get(file);
    if (about?.from !== "store") return [];
    try {
      return newsOf(file, about, { rules, since: new Date(since).toISOString() }) ?? [];
    } catch {
      return []; // gone since it was listed, or not ours to read
    }
  });
}

function newsOf(
  file: string,
  { agent, id, parentId, owner, machine }: Told,
  { rules, since }: { rules: Rules; since: string },
): NewsOf | undefined {
  const head = readHead(file);
  const offset = offsetSince(file, since);
  const entries = readEntries(file, { rules, head, from: { offset, line: 0 }, results: "ends" });
  const rows: NewsRow[] = [];
  let lastId: string | undefined;
  const isNew = ({ at }: Entry) => at === undefined || at >= since;
  for (const [entry, result] of settle(entries.filter(isNew))) {
    const goesOn = isMessage(entry) && entry.id !== undefined && entry.id === lastId;
    if (isMessage(entry)) lastId = entry.id;
    const end = Math.max(entry.end, result?.end ?? 0);
    rows.push({ end, row: slim(toRow(entry, result)), ...(goesOn && { goesOn }) });
  }
  const last = rows.at(-1)?.row.at;
  if (!head || last === undefined) return undefined;
  const { cwd, startedAt, isHeadless } = head;
  const facts = {
    agent,
    id,
    parentId: parentId ?? head.parentId,
    file,
    cwd,
    startedAt,
    owner,
    machine,
    isHeadless,
  };
  return { ...facts, updatedAt: last, rows: rows.slice(-ROWS_MAX) };
}

/** Returns a row with no more than a digest says of it. */
function slim(row: Row): Row {
  const { line, nth, at } = row;
  if (row.who !== "tool")
    return { line, nth, at, who: row.who, typed: row.typed, text: row.text.slice(0, TEXT_MAX) };
  const { who, tool, kind, paths, outcome, resultLine } = row;
  return {
    ...{ line, nth, at, who, tool, kind, paths, outcome, resultLine },
    target: "",
    input: "",
    result: "",
  };
}

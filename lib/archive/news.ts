/**
 * Keeps the file from which a prompt hook tells what was done in sessions of databases and of other people, which are copies: their
 * rows of the last hour.
 */

import { join } from "node:path";
import { readJson, remove, replaceFile, statPath } from "../base/files.ts";
import { arrayOf, recordOf, stringOf } from "../base/json.ts";
import type { PathsWithRules } from "../config/config.ts";
import { statStored } from "../hosts/names.ts";
import type { Entry, Row, Session } from "../hosts/session.ts";
import { type Copy, listCopies, ownCopies } from "../sessions/copy-list.ts";
import { currentExclusion } from "../sessions/gate.ts";
import { newsFile } from "../sessions/places.ts";
import { besideCopy } from "../sessions/pulled.ts";
import { type ReadRow, rowsWhenKnown } from "../transcripts/calls.ts";
import { readHead } from "../transcripts/head.ts";
import type { Rules } from "../transcripts/rules.ts";
import { offsetSince, readEntries } from "../transcripts/transcript.ts";

/** A session with its rows of the last hour. */
export interface NewsOf extends Omit<Session, "modifiedAt" | "size"> {
  isHeadless?: boolean | undefined;
  rows: ReadRow[];
}

const HOUR_MS = 3_600_000;
/** The most that is kept of a text: a digest shows 100 characters. */
const TEXT_MAX = 400;
/** Rows of one session, and sessions: a digest shows five, and more rows of an hour are hardly read. */
const MAX = { rows: 500, sessions: 20 };
/** The file in which an earlier version kept what was pulled. */
const FORMER = "shared-news.json";

/** Reads the file; nothing where config.json was changed since: what it excludes may stand there. */
export function readNews(paths: PathsWithRules): NewsOf[] {
  return isCurrent(paths) ? (arrayOf(readJson(newsFile(paths))) as NewsOf[]) : []; // written by us, and whole
}

function isCurrent(paths: PathsWithRules): boolean {
  const [made, ...rules] = [newsFile(paths), paths.config, paths.forgotten].map(
    (file) => statPath(file)?.mtimeMs ?? 0,
  );
  return made !== 0 && rules.every((time) => time <= (made ?? 0));
}

/** Replaces what the file says of sessions whose copies were written; where it does not hold any more, what it says of all. */
export function keepNews(paths: PathsWithRules, written: ReadonlySet<string>): void {
  const since = Date.now() - HOUR_MS;
  const copies = listCopies(paths);
  const kept = readNews(paths).filter(
    ({ file, updatedAt }) => !written.has(file) && copies.has(file) && Date.parse(updatedAt) > since,
  );
  const asked = isCurrent(paths) ? [...written].flatMap((file) => copies.get(file) ?? []) : copies.values();
  const news = [...kept, ...newsIn(paths, [...asked], since)]
    .sort((a, b) => Date.parse(b.updatedAt) - Date.parse(a.updatedAt))
    .slice(0, MAX.sessions);
  if (news.length === 0) remove(newsFile(paths));
  else replaceFile(newsFile(paths), JSON.stringify(news), { durable: false });
  remove(join(paths.home, FORMER));
}

/** Reads the rows of copies since a time, of this user's sessions that hooks tell of. */
export function newsSince(paths: PathsWithRules, since: number): NewsOf[] {
  return newsIn(paths, ownCopies(paths), since);
}

/** Returns whether hooks tell of a copy and it changed since a time; the time of one that was pulled is its owner's. */
function isNews({ file, from, owner, changed = 0 }: Copy, since: number): boolean {
  const time = owner === undefined ? changed : statStored(file)?.mtimeMs;
  const isTold = owner !== undefined || from === "store";
  return isTold && time !== undefined && (time >= since || time === 0);
}

function newsIn(paths: PathsWithRules, copies: readonly Copy[], since: number): NewsOf[] {
  const rules = currentExclusion(paths);
  const changed = copies.filter((copy) => isNews(copy, since));
  return changed.flatMap((copy) => {
    try {
      return newsOf(copy, { rules, since: new Date(since).toISOString() }) ?? [];
    } catch {
      return []; // gone since it was listed, or not ours to read
    }
  });
}

function newsOf(
  { file, agent, id, parentId, owner, machine }: Copy,
  { rules, since }: { rules: Rules; since: string },
): NewsOf | undefined {
  const head = readHead(file);
  const offset = offsetSince(file, since, rules);
  const entries = readEntries(file, { rules, head, from: { offset, line: 0 }, results: "ends" });
  const isNew = ({ at }: Entry) => at === undefined || at >= since;
  const rows = Array.from(rowsWhenKnown(entries.filter(isNew)), (each) => ({ ...each, row: slim(each.row) }));
  const last = rows.at(-1)?.row.at;
  if (!head || last === undefined) return undefined;
  const { cwd, startedAt, isHeadless, remote: project } = head;
  return {
    agent,
    id: head.id ?? id,
    parentId: parentId ?? head.parentId,
    file,
    cwd,
    project,
    startedAt,
    isHeadless,
    ...(owner !== undefined && { owner, machine, name: stringOf(recordOf(readJson(besideCopy(file))).name) }),
    updatedAt: last,
    rows: rows.slice(-MAX.rows),
  };
}

/** Returns a row with no more than a digest says of it. */
function slim(row: Row): Row {
  const { line, nth, at } = row;
  if (row.who !== "tool")
    return { line, nth, at, who: row.who, typed: row.typed, text: row.text.slice(0, TEXT_MAX) };
  const { who, tool, kind, paths, outcome, resultLine } = row;
  return {
    line,
    nth,
    at,
    who,
    tool,
    kind,
    paths,
    outcome,
    resultLine,
    target: "",
    input: "",
    result: "",
  };
}

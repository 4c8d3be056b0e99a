/**
 * Builds the digest: what other sessions did, redacted, named, compared with the viewer's edits, and marked once delivered.
 * The sessions are those of the agents' own places, or of the folders given instead.
 */

import { resolve } from "node:path";
import { type NewsOf, newsSince, readNews } from "../archive/news.ts";
import { statPath } from "../base/files.ts";
import { oneLine, onMachine, pathWithin } from "../base/text.ts";
import { pastTime } from "../base/time.ts";
import type { PathsWithRules, Settings } from "../config/config.ts";
import type { Said, Session, Viewer } from "../hosts/session.ts";
import { type Exclusion, exclusionBy } from "../sessions/gate.ts";
import { directoryHere, projectDirectories } from "../sessions/project.ts";
import { sharedBy, shortReference } from "../sessions/pulled.ts";
import { withNames } from "../sessions/record.ts";
import { identifySession, newestCopies, projectTest } from "../sessions/sessions.ts";
import { lastTime } from "../sessions/titles.ts";
import { readHead } from "../transcripts/head.ts";
import type { Rules } from "../transcripts/rules.ts";
import { addRow, emptyTally } from "../transcripts/tally.ts";
import { type Reading, readActivities, readOwnEdits, type SessionActivity } from "./activity.ts";
import { type Activity, isNews, type Overlap, renderDigest } from "./digest.ts";
import { type Look, newsAfter, type Sighting, takeLook } from "./look.ts";
import { type Advance, countSeenOf, passing, passingCounted, saveMarks } from "./marks.ts";

/** A look with the sessions of its changed files. */
interface View extends Omit<Look, "changed" | "mayHaveNews"> {
  sessions: readonly Session[];
  /** Adds a session's name; called only for those with news. */
  describe: (sessions: readonly Session[]) => Session[];
  /** Marks of files that hold nothing for the viewer. @default none */
  passed?: readonly Advance[];
  /** The latest work in sessions that are copies. @default nothing */
  copied?: readonly SessionActivity[];
}

interface DigestOptions {
  rules: Exclusion;
  maxChars: number;
  /** Only newer activity counts, whatever was seen before; nothing is marked then. */
  since?: Date | undefined;
  /** Milliseconds since the epoch: the rest is left for the next look. @default never */
  deadline?: number | undefined;
}

/** The digest as data. */
interface Report {
  sessions: (Omit<Activity, "name" | "isMinor"> & { name: string | null })[];
  overlaps: { session: string; file: string }[];
}

interface Updates {
  /** Null without news. */
  text: string | null;
  report: Report;
  /** A sentence for each session that could not be read. */
  problems: string[];
  /** The number of damaged lines. */
  skipped: number;
  /** Marks the news as seen. Call it once the text is delivered; false when the marks could not be saved. */
  commit(): boolean;
}

/** A session with news, as the digest shows it. */
interface News {
  activity: Activity;
  isNamed: boolean;
  /** Absolute paths. */
  edited: string[];
  /** Absolute paths of files that it did not succeed in editing yet. */
  tried: string[];
  latest: string;
}

const TEXT_MAX = 100; // promised: at most 100 of a quoted text
const NAME_MAX = 60; // a title at full length pushes what was done off the line
const COMMAND_AND_ANSWER = 2;
const PATH_MAX = 120; // longer ones are cut in the middle

export interface UpdateOptions {
  paths: PathsWithRules;
  settings: Pick<Settings, "activity" | "exclude" | "redact">;
  /** The session that looks. */
  current: Viewer;
  /** @default {settings.activity.scope} */
  scope?: "project" | "all" | undefined;
  /** @default {settings.activity.maxChars} */
  maxChars?: number | undefined;
  /** Only newer activity counts, whatever was seen before; nothing is marked then. */
  since?: Date | undefined;
  /** Milliseconds. @default now */
  now?: number | undefined;
  /** Milliseconds since the epoch: the rest is left for the next look. @default never */
  deadline?: number | undefined;
  /** A look already taken. */
  look?: Look | undefined;
}

/** Reads what is new in other sessions. Nothing counts as seen before `commit()`. */
export function readUpdates(options: UpdateOptions): Updates {
  const { paths, settings, current, since, now } = options;
  const scope = options.scope ?? settings.activity.scope;
  const look =
    options.look ?? takeLook({ paths, viewer: current, scope, now, changedAfter: since?.getTime() });
  const isGiven = paths.transcripts.length > 0;
  const isInProject = scope === "all" ? () => true : projectTest(current.cwd, { cwd: current.cwd, paths });
  const isWanted = (session: Session) =>
    session.parentId === undefined &&
    session.id !== current.id &&
    // A folder named by hand counts as the project's where the files do not say.
    (isInProject(session) || (isGiven && readHead(session.file)?.cwd === undefined));
  // Half of the time for finding the sessions, those with the newest rows first, whatever copying made of their files'
  // times, half for reading them: the next look goes on.
  const { deadline = Number.POSITIVE_INFINITY } = options;
  const until = (Date.now() + deadline) / 2;
  const passed: Advance[] = [];
  const wanted: Session[] = [];
  for (const { updatedAt, ...sighting } of newestFirst(look.changed, (Date.now() + until) / 2)) {
    const session = identifySession(sighting.found);
    if (session && isWanted(session)) wanted.push({ ...session, updatedAt });
    else passed.push(passing(sighting, look.marks));
    if (Date.now() > until) break;
  }
  const sessions = newestCopies(wanted);
  const describe = (found: readonly Session[]) => withNames(found, paths);
  const maxChars = options.maxChars ?? settings.activity.maxChars;
  const isAsked = since !== undefined;
  const news = isAsked ? newsSince(paths, since.getTime()) : look.mayHaveNews ? readNews(paths) : [];
  const viewer = { ...look.viewer };
  viewer.file ??= news.find(({ id }) => id === viewer.id)?.file;
  const copied = news
    .filter((each) => isWanted(sessionOf(each)))
    .flatMap((each) => activityIn(each, look, since) ?? []);
  return renderUpdates(
    { ...look, viewer, sessions, describe, copied, passed },
    { rules: exclusionBy(paths), maxChars, since, deadline: options.deadline },
  );
}

/** The least files whose last row is read, a few milliseconds: copying may have made old ones the newest. */
const DATED_MIN = 100;

/** Returns the files with the newest rows first; of too many for the time the ones that changed last. */
function newestFirst(changed: readonly Sighting[], until: number): (Sighting & { updatedAt: string })[] {
  const dated: (Sighting & { updatedAt: string })[] = [];
  for (const sighting of changed.toSorted((a, b) => b.modifiedAt - a.modifiedAt)) {
    const updatedAt = lastTime(sighting.found) ?? new Date(sighting.modifiedAt).toISOString();
    dated.push({ ...sighting, updatedAt });
    if (dated.length >= DATED_MIN && Date.now() > until) break;
  }
  return dated.sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
}

/** Reads what the sessions of a view did, and renders it. */
export function renderUpdates(view: View, { rules, maxChars, since, deadline }: DigestOptions): Updates {
  const reading = { look: view, since, rules, deadline };
  const { activities: read, problems } = readActivities(view.sessions, reading);
  const activities = [...read, ...(view.copied ?? [])];
  const active = activities.filter(({ did }) => isNews(did));
  const described = view.describe(active.map(({ session }) => session));
  const news = active
    .map((each, i) => ({ ...each, session: described[i] ?? each.session }))
    .filter(({ session }) => rules.admits(session))
    .map((each) => toNews(each, { ...view, rules }))
    .sort((a, b) => (a.latest < b.latest ? 1 : -1));
  const near = news.some(({ edited, tried }) => edited.length + tried.length > 0)
    ? findOverlaps(news, reading)
    : [];
  const overlaps = near.filter(({ isTried }) => !isTried);
  const text = renderDigest(
    news.map(({ activity }) => activity),
    { overlaps, maxChars },
  );
  const isWhole = text !== null || news.length === 0;
  return {
    text,
    report: {
      sessions: news.map(({ activity: { isMinor: _, ...activity }, isNamed }) =>
        isNamed ? activity : { ...activity, name: null },
      ),
      overlaps: overlaps.map(({ id, file }) => ({ session: id, file })),
    },
    problems,
    skipped: activities.reduce((sum, { skipped }) => sum + skipped, 0),
    commit: () =>
      since !== undefined || !isWhole || markSeen(view, activities, overlaps.length < near.length),
  };
}

/**
 * Sessions that have only read files so far are reported later, with what they do then: they are looked at when they change.
 * While another session tries to edit a file of the viewer's, the viewer's edits go on to count as made since it looked.
 */
function markSeen(view: View, activities: readonly SessionActivity[], isOwnKept: boolean): boolean {
  const advances = activities.flatMap(({ session, did, advance }) => {
    if (!advance || isNews(did) || did.read.size === 0) return advance ?? [];
    const stat = statPath(session.file);
    const isWhole = stat?.size === advance.mark.offset;
    return isWhole ? passing({ found: session, stat }, view.marks) : [];
  });
  return saveMarks(view, [...advances, ...(view.passed ?? [])], isOwnKept ? [] : undefined);
}

function toNews(
  { session, did, isHeadless = false }: SessionActivity,
  { viewer, now, rules }: Pick<View, "viewer" | "now"> & { rules: Rules },
): News {
  const called = session.name === undefined || rules.hasText(session.name) ? undefined : session.name;
  const latest = pastTime(did.latest) ?? session.updatedAt;
  // another person's paths are those of the project
  const here = session.owner === undefined ? directoryHere(session) : projectDirectories(viewer.cwd)[0];
  const top = here === undefined ? undefined : projectDirectories(here)[0];
  const absolute = (path: string) => (here === undefined ? path : resolve(here, path));
  const shown = (path: string) => pathFrom(absolute(path), [top, session.cwd]);
  const said = (row: Said | undefined) => (row ? oneLine(row.text, TEXT_MAX) : null);
  const edited = [...new Set([...did.edited.keys()].map(absolute))];
  const activity: Activity = {
    id: session.id,
    name: oneLine(shownName(session, called), NAME_MAX),
    agent: session.agent,
    ageSeconds: secondsSince(latest, now),
    messages: did.messages,
    firstUser: said(did.firstUser),
    lastAssistant: said(did.lastAssistant),
    edited: edited.map(shown),
    read: [...new Set([...did.read].map(shown))],
    ran: did.ran,
  };
  const isMinor = edited.length === 0 && (isHeadless || (did.ran === 0 && saysNothing(activity)));
  const tried = [...did.tried].map(absolute);
  return { activity: { ...activity, isMinor }, isNamed: called !== undefined, edited, tried, latest };
}

/** Returns what a session is called, with where it is from. */
function shownName(session: Session, called: string | undefined): string {
  const from = sharedBy(session);
  if (called === undefined) return shortReference(session);
  return from ? `${called} (${from.owner}@${from.machine})` : onMachine(called, session);
}

/** Returns whether nothing was said in a session but a slash command, which the host may have answered. */
function saysNothing({ firstUser, lastAssistant, messages }: Activity): boolean {
  if (firstUser === null) return lastAssistant === null;
  return /^\/[\w:.-]+(?:\s|$)/.test(firstUser) && messages <= COMMAND_AND_ANSWER;
}

function sessionOf({ rows: _, isHeadless: __, ...facts }: NewsOf): Session {
  return { ...facts, modifiedAt: facts.updatedAt, size: 0 };
}

/** Returns what was done in a session that is a copy since it was last seen, or since a time; undefined if nothing was. */
function activityIn(news: NewsOf, look: Look, since: Date | undefined): SessionActivity | undefined {
  const seen = since ? 0 : countSeenOf(news.id, look.marks);
  const after = seen > 0 || since ? "" : new Date(newsAfter(look)).toISOString();
  const rows = news.rows.filter(({ end, row: { at = after } }) => end > seen && at >= after);
  if (rows.length === 0) return undefined;
  const did = emptyTally();
  for (const { row, goesOn } of rows) addRow(did, row, { goesOn });
  const session = sessionOf(news);
  const advance = passingCounted(news.id, Math.max(...rows.map(({ end }) => end)));
  return { session, did, advance, skipped: 0, isHeadless: news.isHeadless };
}

function findOverlaps(news: readonly News[], reading: Reading): (Overlap & { isTried: boolean })[] {
  const { viewer, now } = reading.look;
  const edits = readOwnEdits(reading);
  // one file may have several paths: the last edit counts
  const inOrder = [...edits].sort(([, a], [, b]) => a.line - b.line);
  const own = new Map(inOrder.map(([path, { at }]) => [resolve(viewer.cwd, path), at]));
  const top = projectDirectories(viewer.cwd)[0];
  return news.flatMap(({ activity: { id, name }, edited, tried }) =>
    [...edited, ...tried].flatMap((path, i) => {
      if (!own.has(path)) return [];
      const file = pathFrom(path, [top, viewer.cwd]);
      const ageSeconds = secondsSince(own.get(path), now);
      return [{ id, name, file, ageSeconds, isTried: i >= edited.length }];
    }),
  );
}

/** Returns a path from the first of the folders that holds it. */
function pathFrom(path: string, folders: readonly (string | undefined)[]): string {
  const inside = folders.map((folder) => pathWithin(path, folder)).find((each) => each !== undefined);
  return oneLine(inside ?? path, PATH_MAX);
}

function secondsSince(at: string | undefined, now: number): number {
  const time = Date.parse(at ?? "");
  return Number.isNaN(time) ? 0 : Math.max(0, Math.floor((now - time) / 1000));
}

/** What a session is told of the others: their doings redacted, named, set against its own, and marked when delivered. */

import { isAbsolute, relative, resolve } from "node:path";
import { shortId } from "../base/text.ts";
import type { Settings } from "../config/config.ts";
import { oneLine } from "../redact/redact.ts";
import { projectDirectories, projectKey } from "../sessions/project.ts";
import { type Rules, readRules } from "../transcripts/rules.ts";
import type { Agent, Session } from "../transcripts/session.ts";
import { type Doings, readDoings, readOwnEdits } from "./activity.ts";
import { type Activity, isNews, type Overlap, renderDigest } from "./digest.ts";
import { FIRST_LOOK_MS, type Look } from "./look.ts";
import { settle } from "./settle.ts";

/** A look with the sessions behind its changed files. */
interface View extends Omit<Look, "changed"> {
  sessions: readonly Session[];
  /** Adds what a session is called; asked only for those with news. */
  describe: (session: Session) => Session;
}

interface TellingOptions {
  settings: Pick<Settings, "exclude" | "redact">;
  maxChars: number;
  /** Only what is newer, whatever was told before; nothing is marked then. */
  since?: Date | undefined;
  /** Milliseconds: what is not read by then is left for the next look. @default never */
  deadline?: number | undefined;
}

/** The digest as data. */
interface Report {
  sessions: {
    id: string;
    name: string | null;
    agent: Agent;
    ageSeconds: number;
    messages: number;
    firstUser: string | null;
    lastAssistant: string | null;
    edited: string[];
    read: string[];
    ran: number;
  }[];
  overlaps: { session: string; file: string }[];
}

export interface Updates {
  /** Null when there is nothing new. */
  text: string | null;
  report: Report;
  /** Sentences about sessions that could not be read. */
  problems: string[];
  /** Lines that could not be read. */
  skipped: number;
  /** Marks what was told. To be called once the text has been handed over; false when it could not be marked. */
  commit(): boolean;
}

/** A session with news, described, its paths made absolute. */
interface Told {
  session: Session;
  activity: Activity;
  /** Absolute paths. */
  edited: string[];
  latest: string;
}

const TEXT_MAX = 100;
const NAME_MAX = 60;
const PATH_MAX = 120;

/** Reads what the sessions of a view did and puts it into words. */
export function updatesOf(view: View, { settings, maxChars, since, deadline }: TellingOptions): Updates {
  const rules = readRules(settings);
  const show: Show = (text, max) => oneLine(rules.clean(text), max);
  const topOf = worktreeTops();
  const { looker, now, marks } = view;
  const { doings, problems } = readDoings(view.sessions, {
    marks,
    firstLookSince: new Date(now - FIRST_LOOK_MS).toISOString(),
    lookedSince: marks?.get(looker.id)?.since,
    since: since?.toISOString(),
    deadline,
    sources: looker.file === undefined ? view.recent : [looker.file, ...view.recent],
    rules,
  });
  const told = doings
    .filter(({ stretch }) => isNews(stretch))
    .map((did) => ({ ...did, session: view.describe(did.session) }))
    .filter(({ session }) => !rules.hasSession(rules.needsProject ? withProject(session) : session))
    .map((did) => tell(withoutName(did, rules), { now, show, topOf }))
    .sort((a, b) => (a.latest < b.latest ? 1 : -1));
  const overlaps = told.some(({ edited }) => edited.length > 0)
    ? overlapsOf(told, { view, since, show, rules })
    : [];
  const text = renderDigest(
    told.map(({ activity }) => activity),
    { overlaps, maxChars },
  );
  const isWhole = text !== null || told.length === 0;
  return {
    text,
    report: reportOf(told, overlaps),
    problems,
    skipped: doings.reduce((sum, { skipped }) => sum + skipped, 0),
    commit: () => since !== undefined || !isWhole || markTold(view, doings),
  };
}

type Show = (text: string, max: number) => string;

/** A name may hold what stays out. */
function withoutName(did: Doings, { hasText }: Rules): Doings {
  const { session } = did;
  const isHidden = session.name !== undefined && hasText(session.name);
  return isHidden ? { ...did, session: { ...session, name: undefined } } : did;
}

/** What was only read so far waits to be told with what comes of it. */
function markTold(view: View, doings: readonly Doings[]): boolean {
  const advances = doings.flatMap(({ stretch, advance }) =>
    advance && (isNews(stretch) || stretch.read.size === 0) ? [advance] : [],
  );
  return settle(view, advances);
}

function tell(
  { session, stretch }: Doings,
  { now, show, topOf }: { now: number; show: Show; topOf: (cwd: string) => string | undefined },
): Told {
  const latest = stretch.latest ?? session.updatedAt;
  const top = session.cwd === undefined ? undefined : topOf(session.cwd);
  const absolute = (path: string) => (session.cwd === undefined ? path : resolve(session.cwd, path));
  const shown = (path: string) => show(within(absolute(path), [top, session.cwd]), PATH_MAX);
  const edited = [...new Set([...stretch.edited.keys()].map(absolute))];
  const activity: Activity = {
    id: session.id,
    name: show(session.name ?? shortId(session.id), NAME_MAX),
    ageSeconds: ageOf(latest, now),
    messages: stretch.messages,
    firstUser: stretch.firstUser === undefined ? undefined : show(stretch.firstUser, TEXT_MAX),
    lastAssistant: stretch.lastAssistant === undefined ? undefined : show(stretch.lastAssistant, TEXT_MAX),
    edited: edited.map(shown),
    read: [...new Set([...stretch.read].map(shown))],
    ran: stretch.ran,
  };
  return { session, activity, edited, latest };
}

function withProject(session: Session) {
  return { ...session, project: session.cwd && projectKey(session.cwd) };
}

/** Finds the top of a directory's worktree, once for sessions that share it. */
function worktreeTops(): (cwd: string) => string | undefined {
  const known = new Map<string, string | undefined>();
  return (cwd) => {
    if (!known.has(cwd)) known.set(cwd, projectDirectories(cwd)[0]);
    return known.get(cwd);
  };
}

function overlapsOf(
  told: readonly Told[],
  { view, since, show, rules }: { view: View; since: Date | undefined; show: Show; rules: Rules },
): Overlap[] {
  const { looker, now, marks } = view;
  if (looker.file === undefined) return [];
  const own = readOwnEdits(looker.file, {
    rules,
    mark: since === undefined ? marks?.get(looker.id) : undefined,
    since: (since ?? new Date(now - FIRST_LOOK_MS)).toISOString(),
    resolvePath: (path) => resolve(looker.cwd, path),
  });
  const top = projectDirectories(looker.cwd)[0];
  return told.flatMap(({ activity, edited }) =>
    edited.flatMap((path) => {
      if (!own.has(path)) return [];
      const file = show(within(path, [top, looker.cwd]), PATH_MAX);
      return [{ id: activity.id, name: activity.name, file, ageSeconds: ageOf(own.get(path), now) }];
    }),
  );
}

function reportOf(told: readonly Told[], overlaps: readonly Overlap[]): Report {
  return {
    sessions: told.map(({ session, activity }) => ({
      id: session.id,
      name: session.name === undefined ? null : activity.name,
      agent: session.agent,
      ageSeconds: activity.ageSeconds,
      messages: activity.messages,
      firstUser: activity.firstUser ?? null,
      lastAssistant: activity.lastAssistant ?? null,
      edited: activity.edited,
      read: activity.read,
      ran: activity.ran,
    })),
    overlaps: overlaps.map(({ id, file }) => ({ session: id, file })),
  };
}

/** A path relative to the first of the folders that holds it. */
function within(path: string, folders: readonly (string | undefined)[]): string {
  for (const folder of folders) {
    const inside = folder === undefined ? "" : relative(folder, path);
    if (inside !== "" && !inside.startsWith("..") && !isAbsolute(inside)) return inside;
  }
  return path;
}

function ageOf(at: string | undefined, now: number): number {
  const time = Date.parse(at ?? "");
  return Number.isNaN(time) ? 0 : Math.max(0, Math.floor((now - time) / 1000));
}

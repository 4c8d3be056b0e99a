/** Lists sessions by their last row, with their first words. */

import { SessionMemoryError } from "../base/errors.ts";
import { alignColumns, columnsOf, fitColumns, sayTime } from "../base/terminal.ts";
import { onMachine, quoted, shortId } from "../base/text.ts";
import { formatLocal } from "../base/time.ts";
import type { Paths } from "../config/config.ts";
import { oneLine } from "../redact/redact.ts";
import type { Rules } from "../transcripts/rules.ts";
import type { Session } from "../transcripts/session.ts";
import { readEntries } from "../transcripts/transcript.ts";
import { describeSession, hasConversation, type ListOptions, listSessions } from "./sessions.ts";

/** How far into a file the first request is looked for. */
const BEGINNING_BYTES = 256 * 1024;

/** Returns the newest sessions by their last row, described: a copied file's own time says nothing. */
export function listByLastRow(
  paths: Paths,
  { since, limit, ...options }: Omit<ListOptions, "described"> & { since: string; limit: number },
): Session[] {
  const dated = listSessions(paths, { ...options, dated: true }).filter(
    ({ updatedAt }) => updatedAt >= since,
  );
  const listed: Session[] = [];
  for (const session of dated) {
    if (listed.length >= limit) break;
    if (hasConversation(session)) listed.push(describeSession(session, paths));
  }
  return listed;
}

/** Returns the session with the newest last row, other than the current one; of a project, if one is given. */
export function lastSession(
  paths: Paths,
  { cwd, current, project }: { cwd: string; current: string | undefined; project?: string },
): Session | undefined {
  return listSessions(paths, { cwd, project, dated: true }).find(
    (session) => session.id !== current && hasConversation(session),
  );
}

/** Returns the user's first words in a session. */
export function firstWords(file: string, rules: Rules): string | undefined {
  try {
    for (const { kind, text } of readEntries(file, { rules, to: BEGINNING_BYTES, unterminated: "accept" })) {
      if (kind === "user") return text;
    }
  } catch {
    // gone since it was listed
  }
  return undefined;
}

export interface ListingStyle {
  rules: Rules;
  /** IANA name. */
  timezone: string;
}

const TITLE_MAX = 80;
/** Columns of a name and of a folder at a terminal, and the width below which folders are short and sizes left out. */
const [NAME_MIN, FOLDER_MAX, FOLDER_NARROW, NARROW] = [20, 28, 16, 100];
const HEADER_TITLE_MAX = 160;
const PATH_MAX = 4096; // no path is longer, so none is cut

/** A session's cells in a listing: date of its last row, name or first words, short id, agent, folder, size. */
export function listingCells(session: Session, { rules, timezone }: ListingStyle): string[] {
  const { id, agent, cwd = "?", updatedAt, size } = session;
  const line = (text: string) => oneLine(rules.clean(text), PATH_MAX);
  const date = formatLocal(updatedAt, timezone).slice(0, 16);
  return [
    date,
    titleOf(session, rules),
    line(onMachine(shortId(id), session)),
    agent,
    line(cwd),
    formatSize(size),
  ];
}

/** How sessions are listed: below each how to go on with it; at a terminal in columns, else with `·` between the cells. */
interface ListStyle extends ListingStyle {
  resume: boolean;
  terminal: { home: string; columns: number } | undefined;
}

/** Returns a listing's lines. */
export function listingLines(sessions: readonly Session[], style: ListStyle): string[] {
  const { terminal, timezone, rules } = style;
  const cells = sessions.map((session) => listingCells(session, style));
  const dates = sessions.map(({ updatedAt }) => new Date(updatedAt));
  const rows = terminal
    ? listingColumns(cells, { ...terminal, dates, timezone })
    : cells.map((each) => each.filter(Boolean).join(" · "));
  if (!style.resume) return rows;
  return sessions.flatMap((session, i) => {
    const resume = resumeLine(session, rules);
    return [rows[i] ?? "", ...(resume === undefined ? [] : [`   ${resume}`])];
  });
}

/** A listed session as JSON has it. */
export function listedJson(session: Session, { rules, resume }: Pick<ListStyle, "rules" | "resume">) {
  const listed = { ...sessionJson(session, rules), size: session.size };
  return resume ? { ...listed, resume: resumeLine(session, rules) ?? null } : listed;
}

/** Returns the cells in columns of the terminal's width: times as people say them, `~` for home, the names as long as there is room. */
export function listingColumns(
  rows: readonly string[][],
  { dates, home, timezone, columns }: { dates: Date[]; home: string; timezone: string; columns: number },
): string[] {
  const now = new Date();
  const isNarrow = columns < NARROW;
  const cells = rows.map(([, title = "", id = "", agent = "", folder = "", size = ""], i) => {
    const path = home !== "" && folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder;
    const shown = shortPath(path, isNarrow ? FOLDER_NARROW : FOLDER_MAX);
    return [
      sayTime(dates[i] ?? now, { now, timezone }),
      title,
      id,
      agent,
      shown,
      ...(isNarrow ? [] : [size]),
    ];
  });
  const bare = alignColumns(cells.map(([time = "", , ...rest]) => [time, ...rest]));
  const room = columns - Math.max(0, ...bare.map(columnsOf)) - 3;
  const width = Math.max(NAME_MIN, room);
  return alignColumns(
    cells.map(([time = "", title = "", ...rest]) => [time, cutColumns(title, width), ...rest]),
  );
}

function shortPath(path: string, columns: number): string {
  return columnsOf(path) <= columns ? path : cutColumns(`…/${path.split("/").at(-1)}`, columns);
}

function cutColumns(text: string, columns: number): string {
  return columnsOf(text) <= columns ? text : fitColumns(text, columns);
}

/** Returns the command that goes on with a session in its host, fit to be printed. */
function resumeLine(session: Session, { clean }: Rules): string | undefined {
  const command = resumeCommand(session);
  return command === undefined ? undefined : oneLine(clean(command), PATH_MAX);
}

/**
 * Returns the command that goes on with a session.
 *
 * @throws {SessionMemoryError} `NOT_FOUND` where no host of this machine can.
 */
export function howToResume(session: Session, rules: Rules): string {
  const command = resumeLine(session, rules);
  if (command !== undefined) return command;
  const id = oneLine(rules.clean(shortId(session.id)), PATH_MAX);
  throw new SessionMemoryError("NOT_FOUND", `Cannot go on with ${id}: no host here can`, {
    hint: "leave out --resume to read it",
  });
}

/** The line above a session's log. Ids and folders come from files: they may hold line breaks too. */
export function sessionHeader(session: Session, { clean }: Rules): string {
  const { name, agent, cwd = "?" } = session;
  const id = onMachine(session.id, session);
  const title = oneLine(clean(name ?? id), HEADER_TITLE_MAX);
  return `# ${[title, ...[agent, id, cwd].map((text) => oneLine(clean(text), PATH_MAX))].join(" · ")}`;
}

/** A session as JSON has it. */
export function sessionJson(session: Session, { clean }: Rules) {
  const { id, name, agent, cwd, file, startedAt, updatedAt } = session;
  const shown = (text: string | undefined) => (text === undefined ? null : clean(text));
  return {
    id: shown(id),
    name: shown(name),
    agent,
    cwd: shown(cwd),
    file: shown(file),
    startedAt: startedAt ?? null,
    updatedAt,
  };
}

/** A session's name, or the words it began with in quotes: an id alone says nothing of what it was about. */
function titleOf({ name, file }: Session, rules: Rules): string {
  if (name !== undefined) return oneLine(rules.clean(name), TITLE_MAX);
  const words = firstWords(file, rules);
  return words === undefined ? "" : `"${oneLine(words, TITLE_MAX - 2)}"`;
}

function formatSize(bytes: number): string {
  const kib = Math.ceil(bytes / 1024);
  return kib < 1024 ? `${kib} KiB` : `${(kib / 1024).toFixed(1)} MiB`;
}

/** Returns the command that goes on with a session; undefined where no host of this machine can. */
export function resumeCommand({ agent, id, file, parentId, machine }: Session): string | undefined {
  const isElsewhere = parentId !== undefined || machine !== undefined;
  // A host would take such an id for an option.
  if (isElsewhere || id.startsWith("-")) return undefined;
  if (agent === "claude") return `claude --resume ${quoted(id)}`;
  if (agent === "pi") return `pi --session ${quoted(file)}`;
  return agent === "codex" ? `codex resume ${quoted(id)}` : undefined;
}

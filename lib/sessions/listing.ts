/**
 * Lists sessions by their last row, formats listings and resume commands, finds the session that a fork or subagent came from,
 * and reads a transcript as flat text.
 */

import { basename, isAbsolute, join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { isDirectory, listEntries } from "../base/files.ts";
import type { Line } from "../base/output.ts";
import { countColumns, cutColumns, sayTime } from "../base/terminal.ts";
import { compareText, oneLine, onMachine, projectName, quoted, shortId } from "../base/text.ts";
import { formatMinute } from "../base/time.ts";
import type { PathsWithRules } from "../config/config.ts";
import { hasPromptsAlone } from "../hosts/blocks.ts";
import { textOf } from "../hosts/format.ts";
import { findFormat, findHost, resumeNote } from "../hosts/hosts.ts";
import { statUnpacked } from "../hosts/packed.ts";
import type { Session } from "../hosts/session.ts";
import { readHead, tryHead } from "../transcripts/head.ts";
import { ownRules, type Rules } from "../transcripts/rules.ts";
import { readEntries } from "../transcripts/transcript.ts";
import { readOrigin } from "./project.ts";
import { sharedBy, sharedSessions } from "./pulled.ts";
import { PATH_MAX, sessionJson } from "./session-header.ts";
import {
  byLastRow,
  describeSessions,
  hasConversation,
  type ListOptions,
  listSessions,
  projectDirectory,
} from "./sessions.ts";

/** The bytes of a file that are searched for the first request. */
const BEGINNING_BYTES = 256 * 1024;

interface LastRowOptions extends ListOptions {
  /** ISO time. */
  since?: string | undefined;
  limit?: number;
  /** True if others' sessions are among them. @default {false} */
  shared?: boolean | undefined;
}

/** Returns the newest sessions in which something was said, described. By the last row: a copied file's time says nothing. */
export function listByLastRow(
  paths: PathsWithRules,
  { since = "", limit = Number.POSITIVE_INFINITY, shared = false, ...options }: LastRowOptions = {},
): Session[] {
  const isWanted = ({ updatedAt }: Session) => updatedAt >= since;
  const found: Session[] = [];
  for (const session of byLastRow(paths, options)) {
    if (!isWanted(session)) break;
    if (hasConversation(session)) found.push(session);
    if (found.length === limit) break;
  }
  const own = describeSessions(found, paths);
  if (!shared) return own;
  const all = [...own, ...listShared(paths, options).filter(isWanted)];
  return all.sort((a, b) => compareText(b.updatedAt, a.updatedAt)).slice(0, limit);
}

/** Returns the sessions that others share and that are not here as one's own. */
function listShared(paths: PathsWithRules, { agent, project, subagents, cwd }: ListOptions): Session[] {
  const directory = projectDirectory({ project, cwd });
  const origin = directory === undefined ? undefined : readOrigin(directory);
  const wanted = project?.toLowerCase();
  const isOfProject = (session: Session) => {
    if (wanted === undefined) return true;
    if (directory !== undefined) return session.project === origin;
    return [session.project, session.cwd].some((path) => projectName(path ?? "").toLowerCase() === wanted);
  };
  const own = new Set(listSessions(paths, { subagents: true, cwd }).map(({ id }) => id));
  return sharedSessions(paths).filter(
    (session) =>
      !own.has(sharedBy(session)?.id ?? "") &&
      isOfProject(session) &&
      (subagents || session.parentId === undefined) &&
      (agent ?? session.agent) === session.agent,
  );
}

/** Returns the user's first words in a session. */
export function firstWords(file: string, rules: Rules): string | undefined {
  try {
    const progress = { offset: 0, line: 0, skipped: 0 };
    const isOver = () => progress.offset > BEGINNING_BYTES;
    for (const { kind, text } of readEntries(file, { rules, progress, isOver, unterminated: "accept" })) {
      if (kind === "user") return text;
    }
  } catch {
    // gone since it was listed
  }
  return undefined;
}

const TITLE_MAX = 80; // a line with its columns
/** A longer id is cut where names need the room and the cut one still means one of those listed. */
const ID_MIN = 13;
/** The fewest columns of a name, and those below which the other cells give way: a name says which session it is. */
const [NAME_MIN, NAME_WANTED] = [16, 40];
const FOLDER_MAX = 16; // most folders' names
const NARROW = 100; // a narrower terminal has no room for all cells

/** Returns a session's cells in a listing: date of its last row, name or first words, short id, agent, folder, size. */
function listingCells(session: Session, { rules, timezone }: ListStyle): string[] {
  const { id, agent, cwd = "?", updatedAt, size } = session;
  const line = (text: string) => oneLine(text, PATH_MAX);
  const date = formatMinute(updatedAt, timezone);
  const place = [onMachine(shortId(id), session), agent, cwd].map(line);
  return [date, showTitle(session, rules), ...place, `${formatSize(size)}${marks(session)}`];
}

/** Says what of a session is left, where its transcript is gone, and which session it was forked or restored from. */
function marks({ file, archived }: Session): string {
  if (hasPromptsAlone(file)) return " (prompts alone)";
  const origin = originId(file);
  const from = origin === undefined ? "" : ` (from ${oneLine(shortId(origin), PATH_MAX)})`;
  return archived ? `${from} (archive)` : from;
}

/** Returns the id of the session that this one was forked or restored from; undefined when the transcript names none. */
export function originId(file: string): string | undefined {
  const from = tryHead(file)?.forkedFrom;
  return from && basename(from, ".jsonl").split("_").at(-1); // of a file, its name ends with the id
}

/** The style of a listing: below each session the command that goes on with it; at a terminal in columns, else with `·` between the cells. */
interface ListStyle {
  rules: Rules;
  /** IANA name. */
  timezone: string | undefined;
  resume: boolean;
  /** Columns of the terminal. */
  columns: number | undefined;
}

export function listingLines(sessions: readonly Session[], style: ListStyle): Line[] {
  const { columns } = style;
  const cells = sessions.map((session) => listingCells(session, style));
  const rows =
    columns === undefined
      ? cells.map((each): Line => ({ kind: "text", parts: [each.filter(Boolean).join(" · ")] }))
      : listingColumns(
          cells.map((row, i) => row.with(0, sayTime(sessions[i]?.updatedAt ?? "", style.timezone))),
          columns,
        );
  return rows.flatMap((row, i) => {
    const resume = style.resume ? resumeLine(sessions[i] as Session) : undefined;
    if (resume === undefined) return [row];
    const about = resumeNote((sessions[i] as Session).agent);
    const parts = [`   ${resume}`, ...(about === undefined ? [] : [`  # ${about}`])];
    return [row, { kind: "text", parts }];
  });
}

export function listedJson(session: Session, { resume }: ListStyle) {
  const { size, archived } = session;
  const kept = hasPromptsAlone(session.file) ? { promptsAlone: true } : archived ? { archived } : {};
  const listed = { ...sessionJson(session), size, ...kept };
  if (!resume) return listed;
  const about = resumeNote(session.agent);
  return {
    ...listed,
    resume: resumeLine(session) ?? null,
    ...(about === undefined ? {} : { resumeNote: about }),
  };
}

/**
 * Returns the cells in columns: of folders their last part, of names as much as the terminal's width leaves. Where that is too
 * little for names, the others give way, in this order: long ids, sizes, folders.
 */
export function listingColumns(rows: readonly string[][], columns: number): Line[] {
  const ids = rows.map(([, , id = ""]) => id);
  const whole = rows.map((row) => row.with(4, cutColumns(projectName(row[4] ?? ""), FOLDER_MAX)));
  const cut = whole.map((row) => row.with(2, shortenId(row[2] ?? "", ids)));
  const forms = [whole, cut, cut.map((row) => row.slice(0, 5)), cut.map((row) => row.slice(0, 4))];
  const fitting = forms.find((form) => roomForNames(form, columns) >= NAME_WANTED);
  const shown = columns < NARROW ? (fitting ?? forms.at(-1) ?? []) : (fitting ?? cut);
  const room = Math.max(NAME_MIN, roomForNames(shown, columns));
  const aligned = alignColumns(shown.map((row) => row.with(1, cutColumns(row[1] ?? "", room))));
  return aligned.map(([time = "", title = "", id = "", ...rest]) => ({
    kind: "text",
    parts: [["time", time], ["name", title], ["faint", id], rest.join("")],
  }));
}

/** Lines up rows of cells by filling each up to the next column; the last cell of a row keeps its length. */
function alignColumns(rows: readonly (readonly string[])[]): string[][] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, countColumns(cell));
  }
  return rows.map((row) =>
    row.map((cell, i) =>
      i === row.length - 1 ? cell : cell + " ".repeat((widths[i] ?? 0) - countColumns(cell) + 2),
    ),
  );
}

/** Returns the columns that the others leave for names. */
function roomForNames(rows: readonly string[][], columns: number): number {
  const others = alignColumns(rows.map((row) => row.with(1, "")));
  return columns - Math.max(0, ...others.map((row) => countColumns(row.join(""))));
}

/** Returns the shortest beginning of an id that no other of the ids has; of another machine's the whole. */
function shortenId(id: string, ids: readonly string[]): string {
  if (id.includes("@")) return id;
  for (let length = ID_MIN; length < id.length; length++) {
    const beginning = id.slice(0, length);
    if (ids.every((other) => other === id || !other.startsWith(beginning))) return beginning;
  }
  return id;
}

/**
 * Returns the command that goes on with a session: it makes it resumable first where its host has it no longer, has it on another
 * machine, or would look for it in a folder that is gone.
 */
export function commandToGoOn(session: Session): string | undefined {
  const { id, agent, file, cwd, parentId, machine, owner, archived } = session;
  if (owner !== undefined) return undefined;
  const isWhole = parentId === undefined && !hasPromptsAlone(file);
  const restorer = isWhole && !id.startsWith("-") ? findHost(agent)?.restorer : undefined;
  const isFolderGone = cwd !== undefined && isAbsolute(cwd) && !isDirectory(cwd);
  const isElsewhere = archived || machine !== undefined || (isFolderGone && restorer?.needsFolder);
  return restorer && isElsewhere ? `session-memory restore ${quoted(id)}` : resumeCommand(session);
}

/** Returns the command that goes on with a session, as a line to print. */
function resumeLine(session: Session): string | undefined {
  const command = commandToGoOn(session);
  return command === undefined ? undefined : oneLine(command, PATH_MAX);
}

/**
 * Returns the command that resumes a session.
 *
 * @throws {SessionMemoryError} `NOT_FOUND` where no host of this machine can.
 */
export function howToResume(session: Session): string {
  const command = resumeLine(session);
  if (command !== undefined) return command;
  const id = oneLine(shortId(session.id), PATH_MAX);
  throw new SessionMemoryError("NOT_FOUND", `Cannot go on with ${id}: no host here can`, {
    hint: "leave out --resume to read it",
  });
}

/** Returns a session's name, or the words it began with in quotes: an id alone says nothing of what it was about. */
function showTitle({ name, file }: Session, rules: Rules): string {
  if (name !== undefined) return oneLine(name, TITLE_MAX);
  const words = firstWords(file, rules);
  return words === undefined ? "" : `"${oneLine(words, TITLE_MAX - 2)}"`;
}

function formatSize(bytes: number): string {
  const kib = Math.ceil(bytes / 1024);
  return kib < 1024 ? `${kib} KiB` : `${(kib / 1024).toFixed(1)} MiB`;
}

/** Returns the command that resumes a session; undefined if no host of this machine can. */
export function resumeCommand({
  agent,
  id,
  file,
  parentId,
  machine,
  archived,
}: Pick<Session, "agent" | "id" | "file" | "parentId" | "machine" | "archived">): string | undefined {
  const isElsewhere = parentId !== undefined || machine !== undefined || archived === true;
  // A host would take such an id for an option.
  if (isElsewhere || id.startsWith("-")) return undefined;
  return findHost(agent)
    ?.resume.replace("<id>", () => quoted(id))
    .replace("<file>", () => quoted(file));
}

/** Returns the transcript of the session that this one came from; undefined when none is known. */
export function parentFile(session: Session): string | undefined {
  const head = readHead(session.file);
  return head && (head.forkedFrom ?? findFormat(session.agent).origin?.(session, readHead));
}

/** A transcript as flat text, with the line of each message. */
interface SessionFile {
  /** File name. */
  path: string;
  absPath: string;
  mtimeMs: number;
  size: number;
  /** sha256 of content and line map. */
  hash: string;
  /** One line per message: `User: …` or `Assistant: …`. */
  content: string;
  /** For each line of `content` its 1-based line in the transcript. */
  lineMap: number[];
}

/** Reads a whole transcript's messages; null when it cannot be read. */
export async function parseSessionFile(absPath: string): Promise<SessionFile | null> {
  try {
    const stat = statUnpacked(absPath);
    if (!stat) return null;
    const { mtimeMs, size } = stat;
    const lines: string[] = [];
    const lineMap: number[] = [];
    for (const entry of readEntries(absPath, { rules: ownRules(), unterminated: "accept" })) {
      if (entry.kind !== "user" && entry.kind !== "assistant") continue;
      const text = extractSessionText(entry.text);
      if (text === null) continue;
      lines.push(`${entry.kind === "user" ? "User" : "Assistant"}: ${text}`);
      lineMap.push(entry.line);
    }
    const content = lines.join("\n");
    // The global: importing node:crypto would double the start of everything that reads transcripts.
    const text = new TextEncoder().encode(`${content}\n${lineMap.join(",")}`);
    const hash = Buffer.from(await crypto.subtle.digest("SHA-256", text)).toString("hex");
    return { path: basename(absPath), absPath, mtimeMs, size, hash, content, lineMap };
  } catch {
    return null; // promised: no reason is wanted, validateSessionFile gives it
  }
}

/** Returns the words of a message's content on one line; null without any. */
export function extractSessionText(content: unknown): string | null {
  const blocks = Array.isArray(content) ? content : [content];
  const parts = blocks
    .map((block) =>
      textOf(typeof block === "string" ? block : [block])
        .replace(/\s+/g, " ")
        .trim(),
    )
    .filter(Boolean);
  return parts.join(" ") || null;
}

/** Lists the `*.jsonl` files of a directory; none when it cannot be read. */
export async function listSessionFiles(directory: string): Promise<string[]> {
  return listEntries(directory)
    .filter((entry) => entry.isFile() && entry.name.endsWith(".jsonl"))
    .map(({ name }) => join(directory, name))
    .sort();
}

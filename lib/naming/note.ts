/** A session's end as a markdown note: its messages, its text, its file, which never replaces another one, and its removal. */

import { dirname, join } from "node:path";
import { describeError, hasCode, SessionMemoryError } from "../base/errors.ts";
import { createFile, ensureDirectory, entriesOf, namesIn, readIfExists, readText } from "../base/files.ts";
import type { Paths } from "../config/config.ts";
import { type ForgetIn, type Forgetting, forgetFiles, writtenFiles } from "../store/state.ts";
import type { Rules } from "../transcripts/rules.ts";
import type { Entry } from "../transcripts/session.ts";
import { readEntries } from "../transcripts/transcript.ts";

/** The parts of a note. All texts are redacted and on one line. */
interface Note {
  /** Local date and time of the last message, with the zone's name. */
  time: string;
  sessionKey: string;
  sessionId: string;
  source: string;
  /** The messages' place: `<file>:<first>-<last>`. */
  transcript: string;
  /** `User: …` and `Assistant: …`. */
  lines: string[];
}

/** Notes of one name and day; more means that something saves in a loop. */
const SAME_NAME_MAX = 1000;

/** Returns the note's text; the same for the same session, whenever it is made. */
export function renderNote({ time, sessionKey, sessionId, source, transcript, lines }: Note): string {
  return `\
# Session: ${time}

- **Session Key**: ${sessionKey}
- **Session ID**: ${sessionId}
- **Source**: ${source}
- **Transcript**: ${transcript}

## Conversation Summary

${lines.join("\n")}
`;
}

/** Returns the id of the session that a note is about; undefined for a text that is no note of ours. */
function sessionOfNote(text: string): string | undefined {
  const header =
    /^# Session: .+\n\n- \*\*Session Key\*\*: .*\n- \*\*Session ID\*\*: (.+)\n- \*\*Source\*\*: .*\n/;
  return header.exec(text)?.[1];
}

/** Returns the file that holds just this text already: `<date>-<slug>.md` or, without a slug, any of that date. */
export function findNote(
  folder: string,
  text: string,
  { date, slug }: { date: string; slug?: string | undefined },
) {
  const start = slug === undefined ? `${date}-` : `${date}-${slug}`;
  const rest = slug === undefined ? /\.md$/ : /^(?:-\d+)?\.md$/;
  return namesIn(folder)
    .filter((name) => name.startsWith(start) && rest.test(name.slice(start.length)))
    .map((name) => join(folder, name))
    .find((file) => readText(file) === text);
}

/** Writes a new file `<name>.md`, or `<name>-2.md` and so on; one that holds just this text already will do. */
export function writeNote(folder: string, name: string, text: string): { path: string; created: boolean } {
  ensureDirectory(folder);
  for (let number = 1; number <= SAME_NAME_MAX; number++) {
    const path = join(folder, `${name}${number === 1 ? "" : `-${number}`}.md`);
    if (createFile(path, text)) return { path, created: true };
    if (readText(path) === text) return { path, created: false };
  }
  throw new SessionMemoryError(
    "STORAGE_ERROR",
    `Cannot save "${name}.md": ${SAME_NAME_MAX} notes have that name`,
    { hint: "move old notes away, or choose another name with --slug" },
  );
}

/** A conversation is named by its first and last entries. */
const HEAD = 1000;
const TAIL = 1000;

interface ConversationEnd {
  /** User and assistant messages with text, at most as many as asked for. */
  messages: Entry[];
  /** The first and last entries of all kinds. */
  entries: Entry[];
}

/**
 * Reads a transcript's last `count` messages, with their lines.
 *
 * @throws {SessionMemoryError} `NOT_FOUND` when it is gone, `PARSE_ERROR` when it cannot be read.
 */
export function readEnd(file: string, { count, rules }: { count: number; rules: Rules }): ConversationEnd {
  const head: Entry[] = [];
  const tail: Entry[] = [];
  const messages: Entry[] = [];
  try {
    for (const entry of readEntries(file, { rules, unterminated: "accept" })) {
      if (head.length < HEAD) head.push(entry);
      else pushWithin(tail, entry, TAIL);
      if (isMessage(entry)) pushWithin(messages, entry, count);
    }
  } catch (cause) {
    if (hasCode(cause, "ENOENT")) {
      throw new SessionMemoryError("NOT_FOUND", `Cannot read "${file}": the transcript is gone`, {
        hint: "session-memory session-reader <session> shows what the index holds of it",
        cause,
      });
    }
    throw new SessionMemoryError("PARSE_ERROR", `Cannot read "${file}": ${describeError(cause)}`, {
      hint: "see what is wrong with session-memory embed --validate-only",
      cause,
    });
  }
  return { entries: [...head, ...tail.slice(-TAIL)], messages: messages.slice(-count) };
}

/** Adds to a list of which the last `count` are wanted, and lets go of the others now and then. */
function pushWithin(entries: Entry[], entry: Entry, count: number): void {
  entries.push(entry);
  if (entries.length >= 2 * count + 100) entries.splice(0, entries.length - count);
}

function isMessage({ kind, text }: Entry): boolean {
  return (kind === "user" || kind === "assistant") && text.trim() !== "";
}

/** The folder in which save-session puts notes by default. */
const USUAL_FOLDER = "memory";

/**
 * Removes the notes that are ours, and returns them and the others that are about the same: those in the state folder,
 * those recorded, and those beside them or in `memory` of these directories.
 */
export function forgetNotes(
  forgetting: Forgetting,
  { paths, dryRun, directories }: ForgetIn & { directories: Iterable<string> },
): { ours: string[]; others: string[] } {
  return forgetFiles(findNotes(forgetting, paths, directories), { paths, dryRun });
}

function findNotes(forgetting: Forgetting, paths: Paths, directories: Iterable<string>): string[] {
  const written = writtenFiles(paths).filter(({ path }) => path.endsWith(".md"));
  const own = entriesOf(paths.notes).filter((entry) => entry.isDirectory());
  const folders = [
    ...own.map(({ name }) => join(paths.notes, name)),
    ...written.map(({ path }) => dirname(path)),
    ...Array.from(directories, (directory) => join(directory, USUAL_FOLDER)),
  ];
  const found = [...new Set(folders)].flatMap(notesIn).filter((file) => isMeant(file, forgetting));
  const recorded = written.filter(({ path, sessionId }) =>
    "ids" in forgetting ? forgetting.ids.has(sessionId) && readIfExists(path) !== undefined : false,
  );
  return [...new Set([...found, ...recorded.map(({ path }) => path)])];
}

function isMeant(file: string, forgetting: Forgetting): boolean {
  const text = readText(file);
  const id = sessionOfNote(text);
  if (id === undefined) return false;
  return "ids" in forgetting ? forgetting.ids.has(id) : forgetting.hasText(text);
}

function notesIn(folder: string): string[] {
  return entriesOf(folder)
    .filter((entry) => entry.isFile() && entry.name.endsWith(".md"))
    .map(({ name }) => join(folder, name))
    .sort();
}

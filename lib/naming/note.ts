/** A session's end as a markdown note: its text, and its file, which never replaces another one. */

import { join } from "node:path";
import { SessionMemoryError } from "../base/errors.ts";
import { createFile, ensureDirectory, namesIn, textOf } from "../base/files.ts";

/** What a note says. All texts are redacted and on one line. */
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
export function sessionOfNote(text: string): string | undefined {
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
    .find((file) => textOf(file) === text);
}

/** Writes a new file `<name>.md`, or `<name>-2.md` and so on; one that holds just this text already will do. */
export function writeNote(folder: string, name: string, text: string): { path: string; created: boolean } {
  ensureDirectory(folder);
  for (let number = 1; number <= SAME_NAME_MAX; number++) {
    const path = join(folder, `${name}${number === 1 ? "" : `-${number}`}.md`);
    if (createFile(path, text)) return { path, created: true };
    if (textOf(path) === text) return { path, created: false };
  }
  throw new SessionMemoryError(
    "STORAGE_ERROR",
    `Cannot save "${name}.md": ${SAME_NAME_MAX} notes have that name`,
    { hint: "move old notes away, or choose another name with --slug" },
  );
}

/** One line on a project's last session, for a session that begins: from its meta file, else from its own words. */

import { FOREIGN_LABEL, quote, shortId } from "../base/text.ts";
import { formatAge } from "../base/time.ts";
import type { Paths } from "../config/config.ts";
import { oneLine } from "../redact/redact.ts";
import { firstWords } from "../sessions/listing.ts";
import { metaFile, readMeta } from "../sessions/meta.ts";
import { listSessions } from "../sessions/sessions.ts";
import { readLastEntries } from "../transcripts/backward.ts";
import { type Rules, rulesOf } from "../transcripts/rules.ts";
import type { Session } from "../transcripts/session.ts";

const LINE_MAX_CHARS = 400;
const DAY_MS = 86_400_000;
const AGE_MAX_MS = 14 * DAY_MS;
/** A file's time may be earlier than its last row's where it was restored, but hardly by more. */
const FILE_AGE_MAX_MS = AGE_MAX_MS + 30 * DAY_MS;
const NAME_CHARS = 80;
/** Two marks, and a blank where the words end in a backslash. */
const QUOTES_CHARS = 3;
/** The last answer of a session is looked for among so many entries. */
const LAST_ENTRIES = 20;

interface WelcomeOptions {
  paths: Paths;
  /** The session that begins. */
  session: { id: string; cwd: string };
  /** Milliseconds. @default now */
  now?: number;
}

/** Returns the line; undefined when no other session of the project went on within two weeks. */
export function welcomeLine({ paths, session, now = Date.now() }: WelcomeOptions): string | undefined {
  const { id, cwd } = session;
  const changedAfter = now - FILE_AGE_MAX_MS;
  const newest = listSessions(paths, { project: cwd, cwd, described: true, changedAfter, limit: 2 });
  const last = newest.find((each) => each.id !== id);
  const age = last ? now - Date.parse(last.updatedAt) : Number.POSITIVE_INFINITY;
  if (!last || age > AGE_MAX_MS) return undefined;
  const { name, said } = aboutSession(last, paths);
  const before = `${FOREIGN_LABEL} the last session in this project was ${name} (${formatAge(age / 1000)} ago)`;
  const after = ` Its summary comes with @@${shortId(last.id)} in a prompt.`;
  const sentence = oneLine(said, LINE_MAX_CHARS - [...before, ...after].length - QUOTES_CHARS - 2);
  return sentence === "" ? `${before}.${after}` : `${before}: ${quote(sentence)}${after}`;
}

function aboutSession(session: Session, paths: Paths): { name: string; said: string } {
  const rules = rulesOf(paths);
  const shown = (text: string | undefined) =>
    text === undefined || rules.hasText(text) ? "" : rules.clean(text);
  const { meta } = readMeta(metaFile(paths, session));
  const open = /^(?:Open|Next|Last): .+$/m.exec(meta?.summary ?? "")?.[0];
  const name = oneLine(shown(session.name) || (firstWords(session.file, rules) ?? session.id), NAME_CHARS);
  const said = meta ? [meta.description, open].filter(Boolean).join(" ") : lastAnswer(session, rules);
  return { name: quote(name), said: shown(said) };
}

function lastAnswer({ file }: Session, rules: Rules): string | undefined {
  const { entries } = readLastEntries(file, { rules, count: LAST_ENTRIES });
  return entries.findLast(({ kind, text }) => kind === "assistant" && text.trim() !== "")?.text;
}

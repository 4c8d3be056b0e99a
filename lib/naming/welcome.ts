/**
 * Writes one line on a project's last session, for a session that begins: from its meta file, else from its own words.
 */

import { FIRST_LOOK_MS } from "../activity/look.ts";
import { changedAt, changedMs } from "../base/files.ts";
import { ownCommand } from "../base/runtime.ts";
import { FOREIGN_LABEL, oneLine, quote, quoted, sharedReference, shortId } from "../base/text.ts";
import { DAY_MS, formatAge } from "../base/time.ts";
import type { PathsWithRules } from "../config/config.ts";
import { statUnpacked } from "../hosts/packed.ts";
import type { Entry, Session } from "../hosts/session.ts";
import { splitWords } from "../language/words.ts";
import { storedTranscripts } from "../sessions/found.ts";
import { metaFile, RULES, readMeta } from "../sessions/meta.ts";
import type { TranscriptFile } from "../sessions/places.ts";
import { recentTranscripts } from "../sessions/places.ts";
import { findName } from "../sessions/record.ts";
import type { Held, Shared } from "../sessions/resolve.ts";
import { hasConversation, identifySession, projectTest, visibleSession } from "../sessions/sessions.ts";
import { lastTime } from "../sessions/titles.ts";
import { type Rules, readRules } from "../transcripts/rules.ts";

const LINE_MAX_CHARS = 400;
const AGE_MAX_MS = 14 * DAY_MS;
/** The last session is among the files changed last, unless more were copied since. */
const AMONG = 100;
const NAME_CHARS = 80;
/** Entries from a transcript's end that are searched for the assistant's last text. */
const LAST_ENTRIES = 20;
/** Two marks, and a blank where the words end in a backslash. */
const QUOTES_CHARS = 3;

/** A session as the line describes it. Texts are not redacted yet. */
interface About {
  id: string;
  name: string | undefined;
  said: string | undefined;
}

/** With the time of its last row, in milliseconds. */
type Dated = About & { at: number };

interface WelcomeOptions {
  /** The session that begins. */
  id: string;
  cwd: string;
  /** The session of the project that others went on with last. */
  last?: Held | undefined;
  /** True if the first prompt brings the digest, which names the sessions of the last hour. */
  hasDigest: boolean;
}

/**
 * Returns the line for a session that begins; undefined when no other one of the project went on within two weeks, or when the
 * digest will name the last one.
 */
export async function welcomeLine(
  paths: PathsWithRules,
  { id, cwd, last, hasDigest }: WelcomeOptions,
): Promise<string | undefined> {
  const oldest = Date.now() - AGE_MAX_MS;
  const isDigested = (at: number) => hasDigest && at > Date.now() - FIRST_LOOK_MS;
  const shared = last?.shared && aboutShared(last.session, last.shared);
  for (const { found, at } of newestFiles(paths, cwd)) {
    if (Date.parse(at) < Math.max(oldest, shared?.at ?? 0)) break;
    if (found.id === id || found.ephemeral) continue;
    const about = await readAbout(found, { paths, cwd });
    if (!about || about.id === id) continue;
    return isDigested(Date.parse(at))
      ? undefined
      : formatLine({ ...about, at: Date.parse(at) }, readRules(paths.rules));
  }
  if (!shared || shared.at < oldest || isDigested(shared.at)) return undefined;
  return formatLine(shared, readRules(paths.rules));
}

/** Describes what others went on with last. */
function aboutShared({ name, updatedAt }: Session, shared: Shared): Dated {
  const reference = sharedReference(shared);
  return {
    id: reference,
    name: name ?? reference,
    said: shared.meta?.description ?? "",
    at: Date.parse(updatedAt),
  };
}

/** Returns the project's transcripts with the times of their last rows, newest first. */
function newestFiles(paths: PathsWithRules, cwd: string): { found: TranscriptFile; at: string }[] {
  const all = [...recentTranscripts(paths, { directory: cwd, cwd }), ...storedTranscripts(paths)];
  const files = all.flatMap((found) => {
    const stat = statUnpacked(found.file);
    return stat?.isFile() ? [{ found, stat }] : [];
  });
  files.sort((a, b) => changedMs(b.stat) - changedMs(a.stat));
  const dated = files.slice(0, AMONG).map(({ found, stat }) => ({
    found,
    at: lastTime(found) ?? changedAt(stat),
  }));
  return dated.sort((a, b) => (a.at < b.at ? 1 : -1));
}

/** Describes a session of the project by its meta file, else by its transcript. */
async function readAbout(
  found: TranscriptFile,
  { paths, cwd }: { paths: PathsWithRules; cwd: string },
): Promise<About | undefined> {
  const session = identifySession(found);
  if (!session || session.parentId !== undefined || !projectTest(cwd, { cwd, paths })(session))
    return undefined;
  if (!visibleSession(found, paths)) return undefined;
  const { meta } = readMeta(metaFile(paths, session));
  if (!meta) return await fromTranscript(session, paths);
  // What it did after it was described may have closed what was open.
  const wentOnTo = (await lastEntry(session, paths, () => true))?.at ?? "";
  const open = wentOnTo <= meta.updatedAt ? /^(?:Open|Next|Last): .+$/m.exec(meta.summary)?.[0] : undefined;
  const name = found.name ?? meta.name;
  // A name of first words is its own description. The open part comes first: the line may be cut.
  const asked = meta.model === RULES ? `Asked: ${meta.description}` : meta.description;
  const isName = splitWords(meta.description).join() === splitWords(name).join();
  const told = [open, isName ? "" : asked].flatMap((text) => text || []);
  const said = told.map((text) => text.replace(/(?<![.!?…])$/, ".")).join(" ");
  return { id: session.id, name, said };
}

async function fromTranscript(session: Session, paths: PathsWithRules): Promise<About | undefined> {
  if (!hasConversation(session)) return undefined;
  const { firstWords } = await import("../sessions/listing.ts");
  const name = findName(session, paths) ?? firstWords(session.file, readRules(paths.rules));
  const isAnswer = ({ kind, text }: Entry) => kind === "assistant" && text.trim() !== "";
  return { id: session.id, name, said: (await lastEntry(session, paths, isAnswer))?.text };
}

/** Returns the last of a session's newest entries that is wanted. */
async function lastEntry(
  { file }: Session,
  paths: PathsWithRules,
  isWanted: (entry: Entry) => boolean,
): Promise<Entry | undefined> {
  const { readLast } = await import("../transcripts/transcript.ts");
  const { entries } = readLast(file, { rules: readRules(paths.rules), count: LAST_ENTRIES });
  return entries.slice(-LAST_ENTRIES).findLast(isWanted);
}

function formatLine({ id, at, ...about }: Dated, rules: Rules): string {
  const shown = (text = "") => (rules.hasText(text) ? "" : rules.clean(text));
  const name = quote(oneLine(shown(about.name) || id, NAME_CHARS));
  const before = `${FOREIGN_LABEL} the last session in this project was ${name} (${formatAge((Date.now() - at) / 1000)} ago)`;
  const command = ownCommand("session-reader").map(quoted).join(" ");
  const after = ` Read on: ${command} ${quoted(shortId(id))} --outline`;
  const sentence = oneLine(
    shown(about.said),
    LINE_MAX_CHARS - [...before, ...after].length - QUOTES_CHARS - 2,
  );
  return sentence === "" ? `${before}.${after}` : `${before}: ${quote(sentence)}${after}`;
}

/**
 * Writes one line on a project's last session, for a session that begins: from its meta file, else from its own words.
 */

import { FIRST_LOOK_MS } from "../activity/look.ts";
import { changedAt, changedMs } from "../base/files.ts";
import { ownCommand } from "../base/runtime.ts";
import { FOREIGN_LABEL, oneLine, quote, quoted, repeats, shortId } from "../base/text.ts";
import { DAY_MS, formatAge } from "../base/time.ts";
import type { PathsWithRules } from "../config/config.ts";
import type { Session } from "../hosts/session.ts";
import { storedTranscripts } from "../sessions/found.ts";
import { metaFile, RULES, readMeta, type SessionMeta } from "../sessions/meta.ts";
import { recentTranscripts } from "../sessions/places.ts";
import { readTheirs, shortReference } from "../sessions/pulled.ts";
import { findName } from "../sessions/record.ts";
import { hasConversation, identifySession, projectTest, visibleAmong } from "../sessions/sessions.ts";
import { lastTime } from "../sessions/titles.ts";
import { statUnpacked } from "../transcripts/files.ts";
import { readRules } from "../transcripts/rules.ts";

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

/** A session that may be the last: the time of its last row in milliseconds, and what it is, read when it is asked. */
interface Candidate {
  at: number;
  about: () => About | undefined | Promise<About | undefined>;
}

interface WelcomeOptions {
  /** The session that begins. */
  id: string;
  cwd: string;
  /** The session of the project that others went on with last. */
  last?: Session | undefined;
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
  const now = Date.now();
  const candidates = [...ownCandidates(paths, { id, cwd }), ...(last ? [pulled(last)] : [])];
  for (const { at, about } of candidates.sort((a, b) => b.at - a.at)) {
    if (!(at >= now - AGE_MAX_MS)) break;
    const told = await about();
    if (!told || told.id === id) continue;
    return hasDigest && at > now - FIRST_LOOK_MS ? undefined : formatLine(told, (now - at) / 1000);
  }
  return undefined;
}

function pulled(session: Session): Candidate {
  const id = shortReference(session);
  const { name = id, updatedAt } = session;
  return {
    at: Date.parse(updatedAt),
    about: () => ({ id, name, said: readTheirs(session).meta?.description }),
  };
}

/** Returns the transcripts that changed last, other than the session's that begins. */
function ownCandidates(paths: PathsWithRules, { id, cwd }: Pick<WelcomeOptions, "id" | "cwd">): Candidate[] {
  const isOfProject = projectTest(cwd, { cwd, paths });
  const all = [...recentTranscripts(paths, { directory: cwd, cwd }), ...storedTranscripts(paths)];
  const files = all.flatMap((found) => {
    const stat = found.id === id || found.ephemeral ? undefined : statUnpacked(found.file);
    return stat?.isFile() ? [{ found, stat }] : [];
  });
  files.sort((a, b) => changedMs(b.stat) - changedMs(a.stat));
  return files.slice(0, AMONG).map(({ found, stat }) => ({
    at: Date.parse(lastTime(found) ?? changedAt(stat)),
    about: () => {
      const session = identifySession(found);
      const isMeant = session && session.parentId === undefined && isOfProject(session);
      return isMeant && visibleAmong([session], paths).length > 0 ? readAbout(session, paths) : undefined;
    },
  }));
}

/** Describes a session by its meta file, else by its first words and its last answer. */
async function readAbout(session: Session, paths: PathsWithRules): Promise<About | undefined> {
  const { id, file } = session;
  const rules = readRules(paths);
  const { readLast } = await import("../transcripts/transcript.ts");
  const last = readLast(file, { rules, count: LAST_ENTRIES }).entries.slice(-LAST_ENTRIES);
  const { meta } = readMeta(metaFile(paths, session));
  if (meta) {
    const name = session.name ?? meta.name;
    return { id, name, said: describedBy(meta, { name, wentOnTo: last.at(-1)?.at }) };
  }
  if (!hasConversation(session)) return undefined;
  const { firstWords } = await import("../sessions/listing.ts");
  const answer = last.findLast(({ kind, text }) => kind === "assistant" && text.trim() !== "");
  return { id, name: findName(session, paths) ?? firstWords(file, rules), said: answer?.text };
}

/** Returns what a meta file says beyond the name. The open part comes first: the line may be cut. */
function describedBy(
  { model, description, summary, updatedAt }: SessionMeta,
  { name, wentOnTo = "" }: { name: string; wentOnTo: string | undefined },
): string {
  // What it did after it was described may have closed what was open.
  const open = wentOnTo <= updatedAt ? /^(?:Open|Next|Last): .+$/m.exec(summary)?.[0] : undefined;
  const asked = model === RULES ? `Asked: ${description}` : description;
  // A name of first words is its own description.
  const told = [open, repeats(description, [name]) ? "" : asked].flatMap((text) => text || []);
  return told.map((text) => text.replace(/(?<![.!?…])$/, ".")).join(" ");
}

function formatLine({ id, name, said = "" }: About, ageSeconds: number): string {
  const called = quote(oneLine(name || id, NAME_CHARS));
  const before = `${FOREIGN_LABEL} the last session in this project was ${called} (${formatAge(ageSeconds)} ago)`;
  const command = ownCommand("session-reader").map(quoted).join(" ");
  const after = ` Read on: ${command} ${quoted(shortId(id))} --outline`;
  const sentence = oneLine(said, LINE_MAX_CHARS - [...before, ...after].length - QUOTES_CHARS - 2);
  return sentence === "" ? `${before}.${after}` : `${before}: ${quote(sentence)}${after}`;
}

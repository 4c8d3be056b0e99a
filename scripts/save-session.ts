#!/usr/bin/env bun

/**
 * Saves the end of a session as a dated Markdown note, named after its topic.
 *
 * Each message is one redacted line of at most 8,000 characters; the note names their lines in the transcript.
 *
 * @module
 */

import { resolve } from "node:path";
import { describeError, SessionMemoryError } from "../lib/base/errors.ts";
import { changedAt } from "../lib/base/files.ts";
import { oneLine } from "../lib/base/text.ts";
import { formatDate, formatLocal, systemTimezone } from "../lib/base/time.ts";
import {
  filled,
  integer,
  type Run,
  refuseTogether,
  runScript,
  text,
  toggle,
  usageError,
  warn,
} from "../lib/cli.ts";
import { type Config, defaultConfig, expandPath, type Paths } from "../lib/config/config.ts";
import type { Session } from "../lib/hosts/session.ts";
import {
  type AskedForSlug,
  chooseSlug,
  findNote,
  readEnd,
  renderNote,
  SLUG_TEMPERATURE,
  type SlugOptions,
  sanitizeSlug,
  timeSlug,
  writeNote,
} from "../lib/naming/note.ts";
import { metaFile, RULES, readMeta } from "../lib/sessions/meta.ts";
import { resolveSession } from "../lib/sessions/resolve.ts";
import { readTitles } from "../lib/sessions/titles.ts";
import { recordWritten } from "../lib/store/state.ts";
import { log } from "../lib/transcripts/event-log.ts";
import { statUnpacked } from "../lib/transcripts/files.ts";
import { type Rules, readRules, shownText } from "../lib/transcripts/rules.ts";

const USAGE = `\
Usage: session-memory save-session [<session>] [options]

Writes <dir>/YYYY-MM-DD-<slug>.md with the session's last messages and prints its path. A session saved
again unchanged gives the same file; another one of that name gets -2, -3 and so on.
<session>: id, unique start of an id (4+), name, part of a name, transcript path, or "last";
the session that runs this when none is named.

Options:
  --dir <folder>    Where notes go (default: memory)
  --messages <n>    Last messages to keep (default: 15)
  --slug <words>    Name of the note (default: what the session was about, by rule)
  --llm-slug        Let the model of config.json name it
  --sessions <path> Read this file or folder instead of the agents' own (repeatable)
  --json            One JSON document       --quiet  No remarks on stderr

Examples:
  session-memory save-session last
  session-memory save-session discord --dir notes --messages 30
`;

const MESSAGES = 15; // promised
const MESSAGE_MAX = 8000; // two pages; pasted files are longer
const FIELD_MAX = 1000; // of what a host calls its session

export interface SaveOptions {
  sessionFile: string;
  /** The directory that contains the notes' folder. */
  workspaceDir: string;
  sessionKey: string;
  sessionId: string;
  /** The source of the session: `cli`, `discord`, an agent's name. */
  source: string;
  /** @default {15} */
  messageCount?: number | undefined;
  /** Lets a model name the note. */
  slugOptions?: SlugOptions | AskedForSlug | undefined;
  /** The notes' folder in `workspaceDir`. @default {"memory"} */
  directory?: string | undefined;
  /** The note's name, reduced to letters and digits; no model is asked then. */
  slug?: string | undefined;
  /** A known topic, better than rules could derive. */
  topic?: string | undefined;
  /** The command that ended the session, where that saves it. */
  savedOn?: string | undefined;
  /** Its places, time zone, names and redaction. @default {those without config.json} */
  config?: Pick<Config, "paths" | "settings"> | undefined;
}

interface Saved {
  /** The note's path. */
  path: string;
  /** False when an identical note already existed. */
  created: boolean;
  /** Number of messages in the note. */
  messages: number;
}

/** Saves the end of a session as a note. Returns null and logs the reason when it cannot. Never throws. */
export async function saveSessionToMemory(options: SaveOptions): Promise<string | null> {
  const { config = unconfigured(), sessionId: session } = options;
  try {
    return (await saveSession({ ...options, config })).path;
  } catch (error) {
    const reason = describeError(error);
    log(config.paths.log, { event: "save-session", ok: false, session, reason });
    return null;
  }
}

/**
 * Saves the end of a session as a note, and logs that.
 *
 * @throws {SessionMemoryError} `NOT_FOUND` when nothing was said in it, `PARSE_ERROR` when it cannot be read,
 * `STORAGE_ERROR` when the folder cannot be written.
 */
export async function saveSession(options: SaveOptions): Promise<Saved> {
  const { config = unconfigured(), sessionFile, sessionId, messageCount: count = MESSAGES } = options;
  const rules = readRules(config.paths);
  const end = readEnd(sessionFile, { count, rules });
  if (end.messages.length === 0) {
    const message = `Cannot save session "${sessionId}": nothing was said in it`;
    throw new SessionMemoryError("NOT_FOUND", message, { hint: "name another session" });
  }
  const folder = resolve(options.workspaceDir, options.directory ?? "memory");
  try {
    const { path, created } = await placeNote(folder, { ...end, rules }, { ...options, config });
    log(config.paths.log, { event: "save-session", ok: true, session: sessionId, path, created }, rules);
    return { path, created, messages: end.messages.length };
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error)) throw error;
    throw new SessionMemoryError("STORAGE_ERROR", `Cannot save to "${folder}": ${describeError(error)}`, {
      hint: "choose another folder with --dir",
      cause: error,
    });
  }
}

/** Writes the note of a session's end under a name of its topic, unless it is there already. */
async function placeNote(
  folder: string,
  { rows, messages, rules }: ReturnType<typeof readEnd> & { rules: Rules },
  options: SaveOptions & { config: Pick<Config, "paths" | "settings"> },
): Promise<Omit<Saved, "messages">> {
  const { sessionFile, sessionId, sessionKey, source, savedOn, config } = options;
  const { timezone = systemTimezone(), participants } = config.settings;
  // Transcripts without times have the file's.
  const stat = statUnpacked(sessionFile);
  const at = messages.findLast((said) => said.at)?.at ?? (stat ? changedAt(stat) : new Date().toISOString());
  const field = (value: string) => oneLine(rules.clean(value), FIELD_MAX);
  const lines = messages.map(({ who, text }) => `${field(participants[who])}: ${oneLine(text, MESSAGE_MAX)}`);
  const note = renderNote(`${formatLocal(at, timezone)} ${timezone}`, lines, {
    "Session Key": field(rules.hasText(sessionKey) ? sessionId : sessionKey),
    "Session ID": field(sessionId),
    Source: field(source),
    Transcript: `${field(sessionFile)}:${messages[0]?.line}-${messages.at(-1)?.line}`,
    ...(savedOn !== undefined && { Saved: `on ${savedOn}` }),
  });
  const date = formatDate(at, timezone);
  const given = options.slug === undefined ? undefined : sanitizeSlug(options.slug) || timeSlug(at, timezone);
  const present = findNote(folder, note, { date, slug: given });
  if (present) return { path: present, created: false };
  const topic = shownText(options.topic, rules);
  const named = { rows, at, timezone, rules, topic, slugOptions: options.slugOptions };
  const slug = given ?? (await chooseSlug(lines.join("\n"), named));
  const written = writeNote(folder, `${date}-${slug}`, note);
  if (written.created) recordWritten(config.paths, { path: written.path, content: note, sessionId });
  return written;
}

const SCRIPT = {
  usage: USAGE,
  flags: { messages: integer({ min: 1 }), slug: text, llmSlug: toggle, dir: filled },
  words: [0, 1],
  readsAnyVolute: true,
} as const;

async function main(run: Run<typeof SCRIPT.flags>): Promise<void> {
  const { values, words, env, cwd, asking, show } = run;
  const { slug, dir = "memory" } = values;
  refuseTogether(values, "slug", "llmSlug");
  if (slug !== undefined && sanitizeSlug(slug) === "")
    warn(`--slug "${slug}" has no letters or digits, so the time of day names the note`);
  const reference = words[0] ?? asking.current;
  if (reference === undefined) throw usageError("Expected a session", 'name one; "last" is the most recent');
  const session = resolveSession(reference, asking);
  const saved = await saveSession({
    ...noteOptions(session, run),
    workspaceDir: cwd,
    directory: expandPath(dir, env, cwd),
    messageCount: values.messages,
    slug,
    slugOptions: values.llmSlug ? await configuredSlug(run) : undefined,
  });
  show({ ...saved, sessionId: session.id }, [saved.path]);
}

function unconfigured(): Config {
  return defaultConfig(process.env, process.cwd());
}

/** Returns the topic that the user or a model gave the session; undefined leaves it to the rules. */
function knownTopic(session: Session, paths: Paths): string | undefined {
  const { meta } = readMeta(metaFile(paths, session));
  return readTitles(session).given ?? (meta && meta.model !== RULES ? meta.name : undefined);
}

/** Returns the options that come from config.json and the session's meta file. */
export function noteOptions(session: Session, config: Config) {
  return {
    sessionFile: session.file,
    sessionKey: session.name ?? session.id,
    sessionId: session.id,
    source: session.agent,
    topic: knownTopic(session, config.paths),
    config,
  };
}

async function configuredSlug(config: Config): Promise<AskedForSlug> {
  const { configuredSender } = await import("../lib/model/configured-model.ts");
  const send = await configuredSender(config, SLUG_TEMPERATURE);
  if (!send) {
    throw new SessionMemoryError("NO_MODEL", "Cannot ask a model for a name: config.json names none", {
      hint: "add an llm block to config.json, or leave out --llm-slug",
    });
  }
  return { send, warn: (reason) => warn(`the model named nothing, so rules did: ${reason}`) };
}

if (import.meta.main) await runScript(SCRIPT, main);

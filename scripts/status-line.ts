#!/usr/bin/env bun
/**
 * Prints one line for a host's status line: sessions known, other sessions with news, texts told to agents today.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { type Look, lookForDigest, newsAfter } from "../lib/activity/look.ts";
import { readTold, toldOn } from "../lib/activity/told.ts";
import { commandLine, parseStrictly } from "../lib/base/command.ts";
import { parseRecord, stringOf } from "../lib/base/json.ts";
import { isTerminal, writeFully } from "../lib/base/output.ts";
import { counted } from "../lib/base/text.ts";
import {
  currentDirectory,
  hookEnvironment,
  type Paths,
  readHookSettings,
  resolvePaths,
  withFolders,
} from "../lib/config/config.ts";
import { countKnown, silentSizes } from "../lib/index/known-sessions.ts";

const USAGE = `\
Usage: session-memory status-line

Prints one line for a host's status line, such as Claude Code's: how many sessions are known, how many others of this
project have news for this one, and how many texts agents were told today. Reads the host's JSON (session_id, cwd) on
stdin; without any it counts for the current folder. Prints nothing where activity.statusLine is false, and never fails.

Options:
      --json, --quiet    One JSON document (known, news, told); nothing more

Examples:
  session-memory status-line < /dev/null
  echo '{"session_id": "7c41f0b2", "cwd": "/home/dev/shop"}' | session-memory status-line
`;

const STDIN = 0; // POSIX

interface Status {
  /** Sessions in the index. */
  known: number;
  /** Other sessions of the project, but those in which nothing was said, that changed since this one looked. */
  news: number;
  /** Texts that were injected today. */
  told: number;
}

/** Reads the figures; undefined where they are switched off. Costs opening the index, and a stat per transcript of the project. */
async function readStatus(input: string, now: Date): Promise<Status | undefined> {
  const { env } = hookEnvironment();
  if (env.SESSION_MEMORY_DISABLE === "1") return undefined;
  const places = resolvePaths(env);
  const settings = readHookSettings(places);
  if (!settings?.activity.statusLine) return undefined;
  const { session_id, transcript_path, cwd } = parseRecord(input) ?? {};
  const transcript = stringOf(transcript_path);
  const paths = withFolders(places, { settings, env, transcript });
  const viewer = {
    id: stringOf(session_id) ?? "",
    file: transcript,
    cwd: stringOf(cwd) ?? currentDirectory(),
  };
  return {
    known: countKnown(paths, now.toISOString()).count,
    news: await countNews(paths, lookForDigest({ paths, viewer, activity: settings.activity })),
    told: toldOn(readTold(paths.log), now, settings.timezone).length,
  };
}

/**
 * Counts the changed transcripts, without those in which the index found nothing said and that are as they were then, and
 * without those whose last row is old: their files were copied.
 */
async function countNews(paths: Pick<Paths, "database">, look: Look | undefined): Promise<number> {
  if (!look || look.changed.length === 0) return 0;
  const { lastTime } = await import("../lib/sessions/titles.ts");
  const [silent, after] = [silentSizes(paths), newsAfter(look)];
  return look.changed.filter(
    ({ found, stat }) =>
      silent.get(found.id ?? "") !== stat.size && !(Date.parse(lastTime(found) ?? "") <= after),
  ).length;
}

function formatStatus({ known, news, told }: Status): string {
  return [
    `${counted(known, "session")} known`,
    ...(news > 0 ? [`${counted(news, "other session")} with news`] : []),
    ...(told > 0 ? [`${counted(told, "note")} to agents today`] : []),
  ].join(" · ");
}

function readInput(): string {
  try {
    return isTerminal(STDIN) ? "" : readFileSync(STDIN, "utf8");
  } catch {
    return ""; // closed
  }
}

/** Returns what is printed: nothing where it is switched off or fails, since a host shows whatever it is. */
async function answer(isJson: boolean): Promise<string> {
  try {
    const status = await readStatus(readInput(), new Date());
    if (isJson) return `${JSON.stringify(status ?? null)}\n`;
    return status ? `${formatStatus(status)}\n` : "";
  } catch {
    return "";
  }
}

const FLAGS = new Map([
  ["json", false],
  ["quiet", false],
]);

/** Flags cost twice what the line does: a host gives none. */
async function runWithFlags(): Promise<void> {
  const { runMain } = await import("../lib/cli.ts");
  await runMain(USAGE, async (args) => {
    writeFully(await answer(parseStrictly(args, FLAGS).given.json !== undefined));
  });
}

if (import.meta.main) {
  if (commandLine().length === 0) writeFully(await answer(false));
  else await runWithFlags();
}

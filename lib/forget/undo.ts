/** Removes entries from `exclude` in config.json. */

import { SessionMemoryError } from "../base/errors.ts";
import { defaultSettings, type Paths, type Settings } from "../config/config.ts";
import { readHookSettings, removeExclusions } from "../config/config-file.ts";
import { oneLine, redact } from "../redact/redact.ts";
import { readmitForgotten } from "../share/forget-shared.ts";

type Exclude = Settings["exclude"];

const PREFIX_MIN = 4;
const SHOWN_MAX = 10;
const SHOWN_CHARS = 60;

/**
 * Removes the exclusions that match and returns them. `project` is the argument as a project directory.
 *
 * @throws {SessionMemoryError} `NOT_FOUND` when nothing is excluded under it.
 */
export async function undoExclusion(
  what: string,
  { paths, project, dryRun }: { paths: Paths; project: string; dryRun: boolean },
): Promise<Exclude> {
  const isChosen = excludedAs(what, project);
  const { exclude } = readHookSettings(paths.config, defaultSettings()) ?? defaultSettings();
  const found = filterExclude(exclude, isChosen);
  if (countOf(found) === 0) throw notExcluded(what, exclude);
  if (dryRun) return found;
  const removed = await removeExclusions(paths.config, isChosen);
  readmitForgotten(paths, [...removed.sessions, ...removed.projects]);
  return removed;
}

/** Matches a session by id or id prefix, a project by directory or name, a pattern exactly. */
function excludedAs(what: string, project: string): (key: keyof Exclude, entry: string) => boolean {
  return (key, entry) => {
    if (key === "projects") return entry === what || entry === project;
    return entry === what || (key === "sessions" && what.length >= PREFIX_MIN && entry.startsWith(what));
  };
}

function filterExclude(exclude: Exclude, isChosen: (key: keyof Exclude, entry: string) => boolean): Exclude {
  const chosen = (key: keyof Exclude) => exclude[key].filter((entry) => isChosen(key, entry));
  return { sessions: chosen("sessions"), projects: chosen("projects"), patterns: chosen("patterns") };
}

function countOf({ sessions, projects, patterns }: Exclude): number {
  return sessions.length + projects.length + patterns.length;
}

function notExcluded(what: string, exclude: Exclude): SessionMemoryError {
  const all = [...exclude.sessions, ...exclude.projects, ...exclude.patterns];
  const shown = all.slice(-SHOWN_MAX).map((entry) => oneLine(redact(entry), SHOWN_CHARS));
  return new SessionMemoryError(
    "NOT_FOUND",
    `Cannot undo "${oneLine(redact(what), 200)}": config.json does not exclude it`,
    { hint: shown.length > 0 ? `config.json excludes ${shown.join(", ")}` : "config.json excludes nothing" },
  );
}

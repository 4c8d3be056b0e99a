/** What the user keeps out of everything we hold: sessions, projects, and words. */

import { basename, sep } from "node:path";
import type { Settings } from "./config.ts";
import { SessionMemoryError } from "./errors.ts";

/** What is known of a session when it is decided whether it stays out. */
export interface Excludable {
  id: string;
  name?: string | undefined;
  cwd?: string | undefined;
  /** Its project's directory. */
  project?: string | undefined;
}

export interface Exclusion {
  /** Whether a session stays out: by its id (or its first four characters and more), its name, or its project. */
  hasSession(session: Excludable): boolean;
  /** Whether a text stays out. */
  hasText(text: string): boolean;
  /** Whether sessions can be told only with their directory. */
  readonly needsProject: boolean;
}

const PREFIX_MIN = 4;

/** Reads the `exclude` block of config.json. */
export function readExclusion({ sessions, projects, patterns }: Settings["exclude"]): Exclusion {
  const names = sessions.map((name) => name.toLowerCase());
  const texts = patterns.map((pattern) => new RegExp(pattern, "u"));
  return {
    hasSession(session) {
      const id = session.id.toLowerCase();
      const called = session.name?.toLowerCase();
      if (
        names.some(
          (name) => id === name || called === name || (name.length >= PREFIX_MIN && id.startsWith(name)),
        )
      )
        return true;
      const places = [session.cwd, session.project].filter((place) => place !== undefined);
      return projects.some((project) => places.some((place) => isWithin(place, project)));
    },
    hasText: (text) => texts.some((pattern) => pattern.test(text)),
    needsProject: projects.length > 0,
  };
}

/** @throws {SessionMemoryError} `NOT_FOUND` for a session that the user keeps out. */
export function refuseExcluded(session: Excludable, settings: Settings["exclude"]): void {
  if (!readExclusion(settings).hasSession(session)) return;
  throw new SessionMemoryError("NOT_FOUND", `Cannot use session "${session.id}": it is kept out`, {
    hint: "take it out of exclude in config.json",
  });
}

/** A project is named by its directory, or by that directory's last part. */
function isWithin(place: string, project: string): boolean {
  if (!project.includes("/") && !project.includes(sep)) {
    return basename(place).toLowerCase() === project.toLowerCase();
  }
  const directory = project.replace(/[/\\]+$/, "");
  return place === directory || place.startsWith(`${directory}/`) || place.startsWith(`${directory}${sep}`);
}

/** Decides what the user excludes: sessions, projects, texts. */

import { basename, sep } from "node:path";
import type { Settings } from "../config/config.ts";
import type { Entry } from "./session.ts";

/** The facts about a session that decide whether it is excluded. */
interface Excludable {
  id: string;
  name?: string | undefined;
  cwd?: string | undefined;
  /** Its project's directory. */
  project?: string | undefined;
  /** The session that started it: a subagent stays out with it. */
  parentId?: string | undefined;
}

export interface Exclusion {
  /** Whether a session is excluded by its id (of a UUID, its first four characters or more), name or project. */
  hasSession(session: Excludable): boolean;
  /** Whether a text is excluded. */
  hasText(text: string): boolean;
  /** Whether an entry is excluded by its text or by a tool's target. */
  hasEntry(entry: Pick<Entry, "text" | "tool" | "patch">): boolean;
  /** Whether any text is excluded. */
  readonly hasPatterns: boolean;
  /** Whether the decision needs a session's directory. */
  readonly needsProject: boolean;
}

const PREFIX_MIN = 4;
/** Only these ids are ever shortened: another may well be a prefix of the next one. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Reads the `exclude` block of config.json. */
export function readExclusion({ sessions, projects, patterns }: Settings["exclude"]): Exclusion {
  const names = new Set(sessions.map((name) => name.toLowerCase()));
  const beginnings = [...names].filter((name) => name.length >= PREFIX_MIN && !UUID.test(name));
  const texts = patterns.map((pattern) => new RegExp(pattern, "u"));
  const hasText = (text: string) => texts.some((pattern) => pattern.test(text));
  const hasId = (id: string | undefined) =>
    id !== undefined &&
    (names.has(id) || (UUID.test(id) && beginnings.some((beginning) => id.startsWith(beginning))));
  return {
    hasSession(session) {
      if (hasId(session.id.toLowerCase()) || hasId(session.parentId?.toLowerCase())) return true;
      if (session.name !== undefined && names.has(session.name.toLowerCase())) return true;
      const places = [session.cwd, session.project].filter((place) => place !== undefined);
      return projects.some((project) => places.some((place) => isWithin(place, project)));
    },
    hasText,
    hasEntry: ({ text, tool, patch = "" }) =>
      texts.length > 0 &&
      [text, patch, tool?.target ?? "", tool?.input ?? "", ...(tool?.paths ?? [])].some(hasText),
    hasPatterns: texts.length > 0,
    needsProject: projects.length > 0,
  };
}

/** A project is given by its directory or by that directory's last part. */
function isWithin(place: string, project: string): boolean {
  if (!project.includes("/") && !project.includes(sep)) {
    return basename(place).toLowerCase() === project.toLowerCase();
  }
  const directory = project.replace(/[/\\]+$/, "");
  return place === directory || place.startsWith(`${directory}/`) || place.startsWith(`${directory}${sep}`);
}

/**
 * Decides which sessions may be read: none that config.json excludes by id, name or project, nor copies of forgotten
 * ones. The list of sessions hands out what passes; whoever stores, copies or sends takes what is kept out by now from here,
 * with the rules for texts, as one value: `exclusionBy` by settings that were just read, `currentExclusion` after a wait, since
 * something may have been excluded meanwhile. Rows need only `readRules`, which their reader takes.
 */

import { currentPaths, type PathsWithRules } from "../config/config.ts";
import type { PartlyKnown } from "../hosts/session.ts";
import { tryHead } from "../transcripts/head.ts";
import { type Excludable, type Rules, readExclusion, readRules } from "../transcripts/rules.ts";
import { readName } from "./meta.ts";
import { projectKey, remembering } from "./project.ts";
import { hostTitle } from "./titles.ts";

/** A session as far as a store knows it. */
type Stored = Excludable & PartlyKnown<"agent" | "file" | "size">;

/**
 * Returns a test for sessions that may be read. Names are looked up where an entry may be one: our stores have none of a session
 * that is excluded. Where a store does not say where one worked, or rules hide it, the transcript decides, if it is there.
 */
function admitting(paths: PathsWithRules): (session: Stored) => boolean {
  let exclusion: ReturnType<typeof readExclusion> | undefined;
  const isHidden = (path: string) => path.includes("[redacted:");
  const keyOf = remembering(projectKey);
  const namesOf = ({ id, agent = "", file = "", size = 0, name, parentId }: Stored) => [
    name ?? (file === "" ? undefined : hostTitle({ agent, file, size })),
    ...[id, parentId].map((each) => each && readName({ agent, id: each }, paths)),
  ];
  return (session) => {
    exclusion ??= readExclusion(paths); // not before a session is asked about: most runs ask for texts alone
    const { hasSession, needsNames, needsProject } = exclusion;
    const { id, name, parentId } = session;
    if (hasSession({ id, name, parentId })) return false;
    if (needsNames && namesOf(session).some((each) => each && hasSession({ id, name: each }))) return false;
    if (!needsProject) return true;
    const { file = "", project } = session;
    const isUnsure = session.cwd === undefined || isHidden(session.cwd) || isHidden(project ?? "");
    const found = isUnsure && file !== "" ? tryHead(file)?.cwd : undefined;
    const cwd = found ?? session.cwd;
    const isKnown = project !== undefined && (found === undefined || !isHidden(project));
    return !hasSession({ ...session, cwd, project: isKnown ? project : cwd && keyOf(cwd) });
  };
}

/** The texts, rows and sessions that config.json keeps out at one moment, for code that stores, copies or sends. */
export interface Exclusion extends Rules {
  /** The paths, with what of them is kept out. */
  paths: PathsWithRules;
  admits: ReturnType<typeof admitting>;
}

/** Returns what is kept out by now: a run may have waited for whoever was excluding something. */
export function currentExclusion(paths: PathsWithRules): Exclusion {
  return exclusionBy(currentPaths(paths));
}

/** Returns what a configuration keeps out, whatever config.json says by now. */
export function exclusionBy(paths: PathsWithRules): Exclusion {
  return { ...readRules(paths), paths, admits: admitting(paths) };
}

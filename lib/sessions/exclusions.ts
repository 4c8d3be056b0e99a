/** Finds what `exclude` of config.json keeps out, and which of its entries keep nothing out: those are mistyped. */

import { isAbsolute } from "node:path";
import { isDirectory } from "../base/files.ts";
import { type ExcludeSettings, expandHome, type PathsWithRules, seeingExcluded } from "../config/config.ts";
import type { Session } from "../hosts/session.ts";
import { ENTRY, forgottenTest } from "../transcripts/forgotten.ts";
import { readHead } from "../transcripts/head.ts";
import { fitting } from "../transcripts/rules.ts";
import { projectKey } from "./project.ts";
import { listSessions } from "./sessions.ts";

interface ExclusionOptions {
  paths: PathsWithRules;
  exclude: ExcludeSettings;
  cwd: string;
}

/** Returns the number of transcripts, the excluded ones included. */
export function countWithExcluded({ paths, cwd }: Pick<ExclusionOptions, "paths" | "cwd">): number {
  return listSessions(seeingExcluded(paths), { subagents: true, excluded: true, cwd }).length;
}

/**
 * Returns the entries of `exclude.projects` that fit no session and no folder. A session forgotten by one is enough for it: its
 * transcripts may be gone.
 */
export function unfitProjects({ paths, exclude, cwd }: ExclusionOptions): string[] {
  const { projects } = exclude;
  const isFolder = (entry: string) => {
    const path = expandHome(entry, paths.expand("~"));
    return isAbsolute(path) && isDirectory(path);
  };
  const left = new Set(projects.filter((entry) => !isFolder(entry)));
  const isForgotten = forgottenTest(paths.forgotten);
  for (const entry of left) if (isForgotten?.(ENTRY + entry)) left.delete(entry);
  if (left.size === 0) return [];
  const tests = new Map([...left].map((project) => [project, fitting(project, paths)]));
  const all = { ...seeingExcluded(paths), transcripts: [] };
  for (const session of listSessions(all, { subagents: true, excluded: true, cwd })) {
    if (left.size === 0) break;
    const place = readPlace(session);
    for (const project of left)
      if (place && tests.get(project)?.({ id: session.id, ...place })) left.delete(project);
  }
  return [...left];
}

/** Returns a session's directory and project; undefined where its transcript names none, or cannot be read. */
function readPlace({ file, cwd: known }: Session): { cwd: string; project: string } | undefined {
  try {
    const cwd = known ?? readHead(file)?.cwd;
    return cwd === undefined ? undefined : { cwd, project: projectKey(cwd) };
  } catch {
    return undefined;
  }
}

/** Says that an entry keeps nothing out. */
export function unfitLine(entry: string): string {
  return `"${entry}" in exclude.projects matches no session and no folder: nothing is excluded by it`;
}

/** Checks transcripts and meta files, and what config.json says of them. */

import { type Finding, info, warning } from "../base/findings.ts";
import { counted } from "../base/text.ts";
import type { ExcludeSettings, PathsWithRules } from "../config/config.ts";
import { HOSTS } from "../hosts/hosts.ts";
import { isWhole } from "../transcripts/forgotten.ts";
import { unfitLine, unfitProjects } from "./exclusions.ts";
import { findTranscripts } from "./found.ts";
import { damagedMetas, metaFiles, readMeta } from "./meta.ts";
import { untakenVolute } from "./volute.ts";

interface SessionCheck {
  paths: PathsWithRules;
  exclude: ExcludeSettings;
  cwd: string;
}

export function* checkSessions({ paths, exclude, cwd }: SessionCheck): Generator<Finding> {
  const untaken = untakenVolute(cwd, paths.volute);
  if (untaken) {
    const { folder, transcripts } = untaken;
    const what = `${folder} holds ${counted(transcripts, "session")} that hooks and the index do not read`;
    // it may have come with a clone, or be the user's own
    yield info(what, `add ${JSON.stringify(folder)} to volute in config.json if it is yours`);
  }
  for (const { agent, check } of HOSTS)
    if (check) yield* check(findTranscripts(paths, { agent, subagents: true }).map(({ file }) => file));
  const damaged = damagedMetas(paths);
  if (damaged.length > 0) {
    const what = `${counted(damaged.length, "damaged meta file")} set aside, the first as ${damaged[0]}`;
    yield warning(what, "copy what you wrote there out of them, then delete them");
  }
  for (const file of metaFiles(paths)) {
    const { problem } = readMeta(file);
    if (problem !== undefined)
      yield warning(`${file} is damaged: ${problem}`, "correct it, or run session-memory index-meta");
  }
  if (!isWhole(paths.forgotten)) {
    const what = `${paths.forgotten} is damaged: rows that were forgotten are read again`;
    yield { level: "error", what, remedy: "restore it from a backup, or delete it and forget them again" };
  }
  for (const entry of unfitProjects({ paths, exclude, cwd }))
    yield warning(unfitLine(entry), "correct it in config.json, or take it out");
}

/** Checks transcripts and meta files, and what config.json says of them. */

import { type Finding, info, warning } from "../base/findings.ts";
import { counted } from "../base/text.ts";
import type { ExcludeSettings, PathsWithRules } from "../config/config.ts";
import { HOSTS } from "../hosts/hosts.ts";
import { unfitLine, unfitProjects } from "./exclusions.ts";
import { findTranscripts } from "./found.ts";
import { damagedMetas } from "./meta.ts";
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
  for (const entry of unfitProjects({ paths, exclude, cwd }))
    yield warning(unfitLine(entry), "correct it in config.json, or take it out");
}

/** Checks transcripts and meta files, and what config.json says of them. */

import { basename, dirname, join } from "node:path";
import { statPath } from "../base/files.ts";
import { type Finding, info, warning } from "../base/findings.ts";
import { counted } from "../base/text.ts";
import type { ExcludeSettings, PathsWithRules } from "../config/config.ts";
import type { Host } from "../hosts/host.ts";
import { HOSTS } from "../hosts/hosts.ts";
import { canUnpack, UNPACKING } from "../hosts/packed.ts";
import type { Session } from "../hosts/session.ts";
import { unfitLine, unfitProjects } from "./exclusions.ts";
import { findTranscripts } from "./found.ts";
import { damagedMetas } from "./meta.ts";
import { untakenVolute } from "./volute.ts";

interface SessionCheck {
  paths: PathsWithRules;
  exclude: ExcludeSettings;
  sessions: readonly Session[];
  cwd: string;
}

export function* checkSessions({ paths, exclude, sessions, cwd }: SessionCheck): Generator<Finding> {
  const untaken = untakenVolute(cwd, paths.volute);
  if (untaken) {
    const { folder, transcripts } = untaken;
    const what = `${folder} holds ${counted(transcripts, "session")} that hooks and the index do not read`;
    // it may have come with a clone, or be the user's own
    yield info(what, `add ${JSON.stringify(folder)} to volute in config.json if it is yours`);
  }
  for (const host of HOSTS) yield* checkTranscripts(host, paths, sessions);
  const damaged = damagedMetas(paths);
  if (damaged.length > 0) {
    const what = `${counted(damaged.length, "damaged meta file")} set aside, the first as ${damaged[0]}`;
    yield warning(what, "copy what you wrote there out of them, then delete them");
  }
  for (const entry of unfitProjects({ paths, exclude, cwd }))
    yield warning(unfitLine(entry), "correct it in config.json, or take it out");
}

/** Finds sessions of several files that their host mixes up, files that cannot be unpacked here, and empty ones. */
function* checkTranscripts(
  { agent, name, severalFiles, compresses, emptiedWhy }: Host,
  paths: PathsWithRules,
  sessions: readonly Session[],
): Generator<Finding> {
  if (severalFiles) {
    const { names, shown, what, remedy } = severalFiles;
    const places = findTranscripts(paths, { agent })
      .filter(({ file }) => names.test(basename(file)))
      .map(({ file }) => join(dirname(file), basename(file).replace(names, shown)));
    for (const place of new Set(places.filter((place, i) => places.indexOf(place) !== i)))
      yield warning(`${what}: ${place}`, remedy);
  }
  if (compresses && !canUnpack()) {
    const packed = sessions.filter((session) => session.agent === agent && !statPath(session.file)).length;
    const what = `${counted(packed, "compressed session")} of ${name} cannot be read here`;
    if (packed > 0) yield warning(what, UNPACKING);
  }
  if (emptiedWhy !== undefined) {
    const [first, ...others] = findTranscripts(paths, { agent, subagents: true }).filter(
      ({ file }) => statPath(file)?.size === 0,
    );
    const more = others.length > 0 ? ` (and ${counted(others.length, "more like this")})` : "";
    const what = `the transcript of a session of ${name} is empty: `;
    if (first) yield info(what + first.file + more, emptiedWhy);
  }
}

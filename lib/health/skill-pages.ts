/** Our skill pages in the folders of hosts that no plugin of ours brings them to. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { namesIn, readText, replaceFile } from "../base/files.ts";
import { type Environment, findProgram, ROOT } from "../base/runtime.ts";
import { quoted } from "../base/text.ts";
import type { Paths } from "../config/config.ts";
import { isAsWritten, recordWritten } from "../store/state.ts";
import { HOSTS, type Host } from "../transcripts/hosts.ts";
import type { Session } from "../transcripts/session.ts";
import type { Finding } from "./index-health.ts";

interface SkillPage {
  /** What people call the host. */
  host: string;
  file: string;
  text: string;
}

/** Returns the pages that a host's folder lacks, or has as we wrote them before; none that somebody changed. */
export function pagesToWrite({ name, skills }: Host, paths: Paths): SkillPage[] {
  if (skills === undefined) return [];
  return namesIn(join(ROOT, "skills")).flatMap((skill) => {
    const file = join(paths.expand(skills), skill, "SKILL.md");
    const text = pageFor(readText(join(ROOT, "skills", skill, "SKILL.md")));
    const isOurs = !existsSync(file) || isAsWritten(paths, file);
    return isOurs && readText(file) !== text ? [{ host: name, file, text }] : [];
  });
}

/** Returns a page that names our folder: these hosts know no variable for it, and no approval by a page. */
function pageFor(page: string): string {
  return page
    .replace(/^allowed-tools:.*\n/m, "")
    .replace(/^`ROOT` is [\s\S]*?\n\n/m, "")
    .replace(/\bROOT\//g, `${quoted(ROOT)}/`);
}

/** Writes a page and records it as ours. */
export function writePage({ file, text }: SkillPage, paths: Paths): void {
  replaceFile(file, text);
  recordWritten(paths, { path: file, content: text, sessionId: "" });
}

/** Finds hosts whose agents cannot ask for what is read of their sessions. */
export function checkSkills(sessions: readonly Session[], paths: Paths, env: Environment): Finding[] {
  return HOSTS.filter(
    ({ agent, skills, program }) =>
      skills !== undefined &&
      sessions.some((session) => session.agent === agent && session.machine === undefined) &&
      findProgram(program, env) !== undefined &&
      !existsSync(join(paths.expand(skills), "session-search")),
  ).map(({ name }) => ({
    level: "info",
    what: `${name} has no skills of session-memory`,
    remedy: "run session-memory setup",
  }));
}

/** One line on what a project's last session was about, for a session that begins. Read from its meta file alone. */

import { statSync } from "node:fs";
import { FOREIGN_LABEL, quote, shortId } from "../base/text.ts";
import { formatAge } from "../base/time.ts";
import type { Paths, Settings } from "../config/config.ts";
import { compilePatterns, oneLine, redact } from "../redact/redact.ts";
import { findTranscripts } from "../sessions/find.ts";
import { metaFile, readMeta, type SessionMeta } from "../sessions/meta.ts";
import { projectKey } from "../sessions/project.ts";
import { readExclusion } from "../transcripts/exclusion.ts";

const LINE_MAX_CHARS = 400;
const AGE_MAX_MS = 14 * 86_400_000;
const NAME_CHARS = 80;
/** Two marks, and a blank where the words end in a backslash. */
const QUOTES_CHARS = 3;
/** An id so long is unique, and can be typed; those made of the time are told apart by the millisecond only. */

export interface WelcomeOptions {
  paths: Paths;
  settings: Pick<Settings, "redact" | "exclude">;
  /** The session that begins. */
  session: { id: string; cwd: string };
  /** Milliseconds. @default now */
  now?: number;
}

/** Undefined when no session of the last two weeks has a meta file. */
export function welcomeLine({
  paths,
  settings,
  session,
  now = Date.now(),
}: WelcomeOptions): string | undefined {
  const { hasSession } = readExclusion(settings.exclude);
  const project = projectKey(session.cwd);
  for (const { id, agent, at } of recentSessions(paths, { session, now })) {
    const { meta } = readMeta(metaFile(paths, { id, agent }));
    // Folder names are ambiguous: the meta file knows the directory.
    if (!meta || projectKey(meta.cwd) !== project) continue;
    if (hasSession({ ...meta, id, project })) continue;
    return lineOf(meta, {
      age: formatAge((now - at) / 1000),
      patterns: compilePatterns(settings.redact.extra),
    });
  }
  return undefined;
}

/** The project's sessions of the last two weeks but this one, newest first. */
function recentSessions(paths: Paths, { session, now }: Required<Pick<WelcomeOptions, "session" | "now">>) {
  const found = findTranscripts(paths, { directory: session.cwd, cwd: session.cwd, recent: true });
  return found
    .flatMap(({ file, id, agent }) => {
      const at =
        id === undefined || id === session.id
          ? undefined
          : statSync(file, { throwIfNoEntry: false })?.mtimeMs;
      if (id === undefined || agent === undefined || at === undefined || now - at > AGE_MAX_MS) return [];
      return [{ id, agent, at }];
    })
    .sort((a, b) => b.at - a.at);
}

function lineOf(meta: SessionMeta, { age, patterns }: { age: string; patterns: readonly RegExp[] }): string {
  const clean = (text: string, max: number) => oneLine(redact(text, patterns), max);
  const name = quote(clean(meta.name, NAME_CHARS));
  const before = `${FOREIGN_LABEL} the last session in this project was ${name} (${age} ago): `;
  const after = ` Its summary comes with @@${shortId(meta.sessionId)} in a prompt.`;
  const open = /^(?:Open|Next|Last): .+$/m.exec(meta.summary)?.[0] ?? "";
  const said = [meta.description, open].filter(Boolean).join(" ");
  const sentence = clean(said, LINE_MAX_CHARS - [...before, ...after].length - QUOTES_CHARS);
  return `${before}${quote(sentence)}${after}`;
}

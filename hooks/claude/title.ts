/** The title that a session's meta file has for it, offered to the host where the user has set none. */

import { statSync } from "node:fs";
import type { Paths, Settings } from "../../lib/config/config.ts";
import { isCircumstantial } from "../../lib/naming/summarize.ts";
import { oneLine } from "../../lib/redact/redact.ts";
import { givenTitle } from "../../lib/sessions/ends.ts";
import { metaFile, readMeta } from "../../lib/sessions/meta.ts";
import { cleaner } from "../../lib/transcripts/clean.ts";
import type { Prompt } from "../prompt.ts";

const TITLE_CHARS = 100;

/** Undefined where there is no meta file yet, where its name says no more than place and date, and where a title is set. */
export function titleFor(
  { session: { id, file } }: Prompt,
  { paths, settings }: { paths: Paths; settings: Pick<Settings, "redact"> },
): string | undefined {
  const { meta } = readMeta(metaFile(paths, { id, agent: "claude" }));
  if (!meta || isCircumstantial(meta.name) || hasTitle(file)) return undefined;
  return oneLine(cleaner(settings.redact)(meta.name), TITLE_CHARS) || undefined;
}

/** Not every version of the client says so in the hook's input. */
function hasTitle(file: string | undefined): boolean {
  const size = file === undefined ? undefined : statSync(file, { throwIfNoEntry: false })?.size;
  return (
    file !== undefined && size !== undefined && givenTitle({ agent: "claude", file, size }) !== undefined
  );
}

/** Offers the name in a session's meta file to the host as a title, unless the user has set one. */

import { statSync } from "node:fs";
import type { Paths, Settings } from "../../lib/config/config.ts";
import { isCircumstantial } from "../../lib/naming/summarize.ts";
import { oneLine, redactor } from "../../lib/redact/redact.ts";
import { givenTitle } from "../../lib/sessions/discovery.ts";
import { metaFile, readMeta } from "../../lib/sessions/meta.ts";
import type { Prompt } from "../prompt.ts";

const TITLE_CHARS = 100;

/** Returns the title; undefined without a meta file, for a name that is only place and date, and where a title is set. */
export function titleFor(
  { session: { id, file } }: Prompt,
  { paths, settings }: { paths: Paths; settings: Pick<Settings, "redact"> },
): string | undefined {
  const { meta } = readMeta(metaFile(paths, { id, agent: "claude" }));
  if (!meta || isCircumstantial(meta.name) || hasTitle(file)) return undefined;
  return oneLine(redactor(settings.redact.extra)(meta.name), TITLE_CHARS) || undefined;
}

/** Not every version of the client sends the title with the hook's input. */
function hasTitle(file: string | undefined): boolean {
  const size = file === undefined ? undefined : statSync(file, { throwIfNoEntry: false })?.size;
  return (
    file !== undefined && size !== undefined && givenTitle({ agent: "claude", file, size }) !== undefined
  );
}

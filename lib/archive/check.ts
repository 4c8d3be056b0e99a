/** Says what the archive holds, and why nothing new comes into it. */

import { join } from "node:path";
import { type Finding, info, warning } from "../base/findings.ts";
import { counted } from "../base/text.ts";
import type { PathsWithRules, Settings } from "../config/config.ts";
import { whyUnreadable } from "../hosts/blocks.ts";
import { storedNames } from "../hosts/names.ts";
import { keepCopyList } from "../sessions/copy-list.ts";
import { describeArchive, nothingNew, whyStopped } from "./archive.ts";

export function* checkArchive(paths: PathsWithRules, settings: Settings): Generator<Finding> {
  if (paths.transcripts.length > 0) return;
  keepCopyList(paths);
  const { copies, bytes, alone, aloneBytes, others, otherBytes } = describeArchive(paths);
  for (const name of storedNames(paths.copies).sort()) {
    const why = whyUnreadable(join(paths.copies, name));
    if (why) yield warning(why.message, why.hint ?? "delete it");
  }
  if (copies > 0) {
    const only =
      alone === 0 ? "" : `; ${counted(alone, "session")} ${alone === 1 ? "lives" : "live"} only there`;
    const size = `${(bytes / 2 ** 20).toFixed(1)} of ${settings.archive.maxMb} MB`;
    const removing = "session-memory forget --archive removes it";
    yield info(
      `the archive holds ${counted(copies, "session")} in ${size}${only}`,
      whyStopped(paths, settings) === "off"
        ? `archive.enabled is false: ${removing}`
        : `${removing}; archive.enabled: false makes no more`,
    );
  }
  if (others > 0) {
    const what = `${counted(others, "session")} of hosts' databases, of prompts alone or of others take`;
    const remedy = "archive.maxMb does not count them; session-memory forget removes them";
    yield info(`${what} ${(otherBytes / 2 ** 20).toFixed(1)} MB`, remedy);
  }
  const nothing = nothingNew(paths, settings, { aloneBytes });
  if (nothing) yield (nothing.isWarning ? warning : info)(nothing.what, nothing.remedy);
}

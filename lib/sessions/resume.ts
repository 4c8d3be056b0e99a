/** How to go on with a session in the host it is from. */

import { quoted } from "../base/text.ts";
import type { Session } from "../transcripts/session.ts";

/** Returns the command that goes on with a session; undefined where no host of this machine can. */
export function resumeCommand({ agent, id, file, parentId, machine }: Session): string | undefined {
  const isElsewhere = parentId !== undefined || machine !== undefined;
  // A host would take such an id for an option.
  if (isElsewhere || id.startsWith("-")) return undefined;
  if (agent === "claude") return `claude --resume ${quoted(id)}`;
  if (agent === "pi") return `pi --session ${quoted(file)}`;
  return agent === "codex" ? `codex resume ${quoted(id)}` : undefined;
}

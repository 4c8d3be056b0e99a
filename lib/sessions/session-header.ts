/** Says which session is shown: on the line above its log, and in JSON. Loaded by every reader, so it lists nothing. */

import type { Line } from "../base/output.ts";
import { oneLine, onMachine } from "../base/text.ts";
import { hasPromptsAlone } from "../hosts/blocks.ts";
import { placeOnDisk } from "../hosts/packed.ts";
import type { Session } from "../hosts/session.ts";

const TITLE_MAX = 160; // a header has a line of its own
/** No path is longer, so none is cut. */
export const PATH_MAX = 4096;

/** Returns the line above a session's log. Ids and folders come from files: they may hold line breaks too. */
export function sessionHeader(session: Session): Line {
  const { name, agent, cwd = "?" } = session;
  const id = onMachine(session.id, session);
  const title = oneLine(name ?? id, TITLE_MAX);
  const kept = hasPromptsAlone(session.file) ? ["prompts alone: its transcript is gone"] : [];
  const facts = [title, ...[agent, id, cwd].map((text) => oneLine(text, PATH_MAX)), ...kept];
  return { kind: "row", parts: [["name", `# ${facts.join(" · ")}`]] };
}

export function sessionJson(session: Session) {
  const { id, name = null, agent, cwd = null, file, startedAt = null, updatedAt, machine } = session;
  return {
    id,
    name,
    agent,
    cwd,
    file: placeOnDisk(file),
    startedAt,
    updatedAt,
    ...(machine === undefined ? {} : { machine }),
  };
}

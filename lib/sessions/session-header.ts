/** Says which session is shown: on the line above its log, and in JSON. Loaded by every reader, so it lists nothing. */

import type { Line } from "../base/output.ts";
import { oneLine, onMachine } from "../base/text.ts";
import { hasPromptsAlone } from "../hosts/blocks.ts";
import { placeOnDisk } from "../hosts/packed.ts";
import type { Session } from "../hosts/session.ts";
import type { Rules } from "../transcripts/rules.ts";

const TITLE_MAX = 160; // a header has a line of its own
/** No path is longer, so none is cut. */
export const PATH_MAX = 4096;

/** Returns the line above a session's log. Ids and folders come from files: they may hold line breaks too. */
export function sessionHeader(session: Session, { clean }: Rules): Line {
  const { name, agent, cwd = "?" } = session;
  const id = onMachine(session.id, session);
  const title = oneLine(clean(name ?? id), TITLE_MAX);
  const kept = hasPromptsAlone(session.file) ? ["prompts alone: its transcript is gone"] : [];
  const facts = [title, ...[agent, id, cwd].map((text) => oneLine(clean(text), PATH_MAX)), ...kept];
  return { kind: "row", parts: [["name", `# ${facts.join(" · ")}`]] };
}

export function sessionJson(session: Session, { clean }: Rules) {
  const { id, name, agent, cwd, file, startedAt, updatedAt, machine } = session;
  const shown = (text: string | undefined) => (text === undefined ? null : clean(text));
  return {
    id: shown(id),
    name: shown(name),
    agent,
    cwd: shown(cwd),
    file: shown(placeOnDisk(file)),
    startedAt: startedAt ?? null,
    updatedAt,
    ...(machine === undefined ? {} : { machine }),
  };
}

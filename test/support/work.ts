/** A session's work as Claude Code records it: what was said, run and edited, a minute apart from each other. */

import { claudeAssistant, claudeToolResult, claudeUser } from "./claude.ts";
import { type TemporaryHome, writeClaude } from "./home.ts";
import { type Row, uuidFrom } from "./rows.ts";

/** `["fails", command, output]`, `["edits", file, before, after]`, and `misses` for an edit that fails. */
export type Turn = readonly [
  "user" | "says" | "fails" | "runs" | "reads" | "edits" | "misses" | "writes",
  ...string[],
];

/** Rows of a session that begins on a day of February 2026 at ten. */
function workRows(
  sessionId: string,
  { day, cwd }: { day: number; cwd: string },
  turns: readonly Turn[],
): Row[] {
  return turns.flatMap(([what, one = "", two = "", three = ""], minute) => {
    const common = { sessionId, cwd, at: new Date(Date.UTC(2026, 1, day, 10, minute)).toISOString() };
    const id = `toolu_${uuidFrom(`${sessionId} ${minute}`)}`;
    const call = (name: string, input: Row, content: string, isError = false) => [
      ...claudeAssistant({ ...common, tools: [{ name, input, id }] }),
      claudeToolResult({ ...common, toolUseId: id, content, isError }),
    ];
    if (what === "user") return [claudeUser({ ...common, text: one })];
    if (what === "says") return claudeAssistant({ ...common, text: one });
    if (what === "fails") return call("Bash", { command: one }, two, true);
    if (what === "runs") return call("Bash", { command: one }, two);
    if (what === "reads") return call("Read", { file_path: one }, two || "text");
    if (what === "writes") return call("Write", { file_path: one, content: two }, "written");
    const edit = { file_path: one, old_string: two, new_string: three };
    return what === "misses" ? call("Edit", edit, "No match.", true) : call("Edit", edit, "updated");
  });
}

/** Writes a session of such rows, whose id comes from its name. */
export function writeWork(
  home: TemporaryHome,
  name: string,
  { day = 1, cwd = "/srv/shop" }: { day?: number; cwd?: string },
  ...turns: readonly Turn[]
): string {
  const id = uuidFrom(name);
  return writeClaude(home, { id, rows: workRows(id, { day, cwd }, turns) });
}

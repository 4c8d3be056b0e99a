/** Factory Droid's sessions: a line that names the session, then messages near Claude Code's, with hooks' runs among them. */

import { type JsonRecord, parseRecord, recordOf, recordsOf, stringOf } from "../base/json.ts";
import {
  assistantEntries,
  type BareEntry,
  deedEntries,
  type RowsWith,
  type Tools,
  typedText,
  withoutAttached,
} from "./format.ts";
import type { HostFile } from "./host.ts";

export const host: HostFile = {
  name: "Factory Droid",
  program: "droid",
  resume: "droid --resume <id>",

  matches({ type, id, cwd }) {
    if (type === "session_start") return typeof id === "string" && typeof cwd === "string";
    return type === "message" && isContext(id);
  },

  facts: ({ type, id, cwd, callingSessionId: parentId }) =>
    type === "session_start" ? { id, cwd, parentId } : {},

  entries(record) {
    const { role, content } = recordOf(record.message);
    if (record.type !== "message" || isPutIn(record)) return [];
    if (role === "assistant") return assistantEntries(content, { tools: TOOLS });
    if (role !== "user") return [];
    const text = typedText(content, (block) => withoutAttached(block, REMINDER).trim());
    const said: BareEntry = { kind: "user", text };
    return [...deedEntries(content).map(bareResult), said];
  },

  parentIn: /^\{"type":"session_start"[^\n]*"callingSessionId":"([^"\n]+)"/,

  title: (_, rowsWith) => lastTitle(rowsWith, true),

  *madeTitles(rowsWith) {
    yield lastTitle(rowsWith, false);
  },
};

const TOOLS: Tools = { Execute: { kind: "command" } };

/** The client's own words to the model, in rows of their own or beside a person's. */
const REMINDER = /<(system-reminder)>/;

/** Returns whether the client put a row there: what it tells the model alone, or that a hook ran. */
function isPutIn({ id, message }: JsonRecord): boolean {
  const { visibility } = recordOf(message);
  return isContext(id) || visibility === "llm_only" || visibility === "user_only";
}

/** Returns whether a row tells the model what the client knows. */
function isContext(id: unknown): boolean {
  return stringOf(id)?.startsWith("context-") === true;
}

/** Returns the title that the user set, or the one that the client made. */
function lastTitle(rowsWith: RowsWith, isSet: boolean): string | undefined {
  for (const { type, title, isSessionTitleManuallySet } of rowsWith('"session_start"'))
    if (type === "session_start" && (isSessionTitleManuallySet === true) === isSet) return stringOf(title);
  return undefined;
}

/** The text around the output of a command. */
const FAILED = /^Error: Command failed \(exit code: -?\d+\)\n/;
const EXITED = /\n*\[Process exited with code -?\d+\]\s*$/;

/** Returns a result without that, and the changes that one of an edit lists. */
function bareResult(entry: BareEntry): BareEntry {
  const patch = patchIn(entry.text);
  return {
    ...entry,
    text: patch === undefined ? entry.text.replace(FAILED, "").replace(EXITED, "") : "",
    patch,
  };
}

const SIGNS: Record<string, string> = { added: "+", removed: "-" };

/** Returns the changed lines of an edit, which its result lists as JSON. */
function patchIn(text: string): string | undefined {
  const { diffLines } = (text.startsWith('{"') && parseRecord(text)) || {};
  const changed = recordsOf(diffLines);
  if (changed.length === 0) return undefined;
  return ["@@", ...changed.map(({ type, content }) => `${SIGNS[String(type)] ?? " "}${content}`)].join("\n");
}

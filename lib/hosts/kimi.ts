/**
 * Kimi Code's sessions: a log of each agent's input and deeds, beside it the state of the session. Words and deeds are logged
 * twice: as what is added to the context, which is read, and as messages of the agent.
 */

import { dirname, join, sep } from "node:path";
import { readJson } from "../base/files.ts";
import { arrayOf, type JsonRecord, numberOf, recordOf, stringOf } from "../base/json.ts";
import { idWithin } from "../base/text.ts";
import { type BareEntry, textOf, toCall, typedText, withoutAttached } from "./format.ts";
import type { HostFile } from "./host.ts";

export const host: HostFile = {
  name: "Kimi Code",
  program: "kimi",
  resume: "kimi -r <id>",
  skills: "($KIMI_CODE_HOME|~/.kimi-code)/skills",

  timeKey: "time",

  matches({ type, protocol_version, created_at }) {
    return type === "metadata" && typeof protocol_version === "string" && created_at !== undefined;
  },

  facts: ({ type, created_at, environmentDisclosure }) => ({
    startedAt: type === "metadata" ? created_at : undefined,
    cwd: type === "profile.bind" ? recordOf(environmentDisclosure).cwd : undefined,
  }),

  beside(file) {
    const [session = "", agents, agent = ""] = file.split(sep).slice(-4);
    if (agents !== "agents") return {}; // a copy of ours
    const { cwd } = readState(file);
    return agent === MAIN ? { id: session, cwd } : { id: idWithin(session, agent), parentId: session, cwd };
  },

  entries(record) {
    switch (record.type) {
      case "context.append_message":
        return [typedEntry(recordOf(record.message))];
      case "context.append_loop_event":
        return eventEntries(recordOf(record.event));
      case "context.apply_compaction":
        return [{ kind: "summary", text: textOf(record.summary) }];
      default:
        return [];
    }
  },

  tree: {
    live: "but edited away",
    node({ type, message, event, count }) {
      const { id = recordOf(event).uuid, origin } = recordOf(message);
      if (type === "context.undo") return { id: "", takesBackFrom: numberOf(count) };
      return typeof id === "string"
        ? { id, isPrompt: type === "context.append_message" && isPerson(origin) }
        : undefined;
    },
  },

  *title(file) {
    const { title, isCustomTitle } = readState(file);
    if (isCustomTitle === true) yield stringOf(title);
  },

  titleFile: stateFile,
};

/** The agent that talks with the user. */
const MAIN = "main";

/** Returns the file with the state of a session, three folders above the log of an agent. */
function stateFile(file: string): string {
  return join(dirname(dirname(dirname(file))), "state.json");
}

function readState(file: string): JsonRecord {
  return recordOf(readJson(stateFile(file)));
}

/** Returns what a person typed, or an agent told the one that it started; "" for what the client, a hook or a tool added. */
function typedEntry({ id, content, origin }: JsonRecord): BareEntry {
  const typed = isPerson(origin);
  const isSaid = typed || recordOf(origin).name === "subagent";
  const text = isSaid ? typedText(content, (block) => withoutAttached(block, DOCUMENT)) : "";
  return { kind: "user", id: stringOf(id), text, typed };
}

/** A file that a prompt names. */
const DOCUMENT = /<(document)[\s>]/;

function isPerson(origin: unknown): boolean {
  return recordOf(origin).kind === "user";
}

/** The line that the client appends to the output of a command that fails. */
const FAILED = /\n?Command failed with exit code: -?\d+\.?\s*$/;

function eventEntries(event: JsonRecord): BareEntry[] {
  const { type, uuid, toolCallId, name, args, part, result } = event;
  const id = stringOf(uuid);
  if (type === "content.part") return [{ kind: "assistant", id, text: textOf(arrayOf([part])) }];
  if (type === "tool.call") return [{ ...toCall({ id: toolCallId, name, input: args }), id }];
  if (type !== "tool.result") return [];
  const { output, isError } = recordOf(result);
  return [
    {
      kind: "result",
      text: textOf(output).replace(FAILED, ""),
      callId: stringOf(toolCallId),
      isError: isError === true,
    },
  ];
}

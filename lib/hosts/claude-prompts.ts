/**
 * Claude Code's prompts: what a person typed and what the client wrote; and its file of every one, of all projects, which its
 * clean-up leaves: the sessions in it, with their prompts as rows of a transcript.
 */

import { isRecord, type JsonRecord, numberOf, recordOf, stringOf } from "../base/json.ts";
import { isUuid } from "../base/text.ts";
import { isoTime, textOf, withoutAttached } from "./format.ts";
import { recordsIn } from "./lines.ts";
import type { HostStore, Reading, StoredSession } from "./store.ts";

/** Beginnings of user texts that the client wrote itself. */
const NOT_TYPED = [
  "<local-command-",
  "<bash-",
  "<task-notification",
  "[Request interrupted by user",
  "Caveat: The messages below",
  "Base directory for this skill:",
];
/** Put into a prompt by the client: reminders, and what the editor shows. */
const PUT_IN = /<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics)[\s>]/;
/** A slash command: of one that the client runs itself its name comes first, of one that is a prompt its message. */
export const TYPED_COMMAND = /^\s*<command-(name|message)>/;
/** Commands of the host that take words which are not for the agent. */
const HOST_COMMANDS = new Set(
  (
    "add-dir agents branch cd clear color compact config context copy cost effort export fast fork help hooks ide " +
    "keybindings login logout mcp memory model output-style permissions plugin plugins privacy-settings release-notes " +
    "reload-plugins rename resume rewind sandbox skills stats status statusline tag tasks terminal-setup theme tui usage " +
    "vim voice"
  ).split(" "),
);

/** Returns the words behind a slash command, after its name without a plugin's; "" without words, and for the host's own. */
export function typedCommand(text: string): string {
  const name = /<command-name>\/?([^<]*)<\/command-name>/.exec(text)?.[1] ?? "";
  const words = /<command-args>([\s\S]*)<\/command-args>/.exec(text)?.[1]?.trim() ?? "";
  const isHosts = TYPED_COMMAND.exec(text)?.[1] === "name" && HOST_COMMANDS.has(name);
  return words === "" || isHosts ? "" : `/${name.split(":").at(-1)} ${words}`;
}

/** Returns what a person typed of a text, or "" for one that the client wrote, and for its own commands. */
export function typedPart(text: string): string {
  const start = text.trimStart();
  if (start.startsWith("<command-") && TYPED_COMMAND.test(start)) return typedCommand(start);
  if (/^[<[CB]/.test(start) && NOT_TYPED.some((beginning) => start.startsWith(beginning))) return "";
  const typed = withoutAttached(text, PUT_IN);
  // The client warms a subagent up with this one word.
  return typed.trim() === "" || typed === "Warmup" ? "" : typed;
}

/** The typed text, and its time in milliseconds. */
interface Prompt {
  text: string;
  at: number;
}

interface Typed {
  cwd: string;
  prompts: Prompt[];
}

export const prompts: HostStore & { files: string } = {
  files: "history.jsonl",
  hasHostRows: true,
  beside: () => [],
  open(file) {
    const sessions = readPrompts(file);
    return {
      sessions: () => [...sessions].map(storedSession).sort((a, b) => b.changed - a.changed),
      read: (id, after) => readTyped(id, sessions.get(id), after),
      close() {},
    };
  },
};

function readPrompts(file: string): ReadonlyMap<string, Typed> {
  const sessions = new Map<string, Typed>();
  for (const record of recordsIn(file)) addPrompt(sessions, record);
  return sessions;
}

function addPrompt(sessions: Map<string, Typed>, record: JsonRecord): void {
  const { sessionId, timestamp, project } = record;
  const [id, at] = [stringOf(sessionId) ?? "", numberOf(timestamp)];
  // Older versions wrote no session.
  if (!isUuid(id) || at === undefined || isoTime(at) === undefined) return;
  const text = promptText(record);
  if (typedPart(text) === "") return;
  const known = sessions.get(id) ?? { cwd: stringOf(project) ?? "", prompts: [] };
  sessions.set(id, known);
  if (!known.prompts.some((prompt) => prompt.at === at && prompt.text === text))
    known.prompts.push({ text, at });
}

/** A command: its name, without a slash in it as paths have, and its words. */
const COMMAND = /^\/([\w:.-]+)(?:\s+([\s\S]*))?$/;
const PASTED = /\[Pasted text #(\d+)(?: \+\d+ lines)?\]/g;

/** Returns what was typed as a transcript has it: with what was pasted in its place, and a command by its parts. */
function promptText({ display, pastedContents }: JsonRecord): string {
  const pasted = recordOf(pastedContents);
  const text = textOf(display).replace(PASTED, (mark, key) => {
    const content = isRecord(pasted[key]) ? stringOf(pasted[key].content) : undefined;
    return content ?? mark;
  });
  // Runs a command of the shell.
  if (text.startsWith("!")) return "";
  const [, name, words = ""] = COMMAND.exec(text) ?? [];
  if (name === undefined) return text;
  return `<command-name>/${name}</command-name>\n<command-args>${words}</command-args>`;
}

function storedSession([id, { cwd, prompts }]: [string, Typed]): StoredSession {
  const times = prompts.map(({ at }) => at);
  const [started, changed] = [Math.min(...times), Math.max(...times)];
  return { id, cwd, title: "", started, changed };
}

function readTyped(id: string, typed: Typed | undefined, after: string | undefined): Reading {
  const { cwd = "", prompts = [] } = typed ?? {};
  const from = Number(after ?? 0);
  const isAnew = from > prompts.length;
  const uuid = (n: number) => (n < 0 ? null : `${id}-${n}`);
  const rows = prompts.map(({ text, at }, n) => ({
    type: "user",
    sessionId: id,
    uuid: uuid(n),
    parentUuid: uuid(n - 1),
    timestamp: isoTime(at),
    cwd,
    message: { role: "user", content: text },
  }));
  return { lines: isAnew ? rows : rows.slice(from), last: `${prompts.length}`, isAnew };
}

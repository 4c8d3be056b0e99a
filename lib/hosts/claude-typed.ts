/** Tells what a person typed in Claude Code from what the client wrote. */

import { withoutAttached } from "./format.ts";

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
export const COMMAND = /^\s*<command-(name|message)>/;
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
  const isHosts = COMMAND.exec(text)?.[1] === "name" && HOST_COMMANDS.has(name);
  return words === "" || isHosts ? "" : `/${name.split(":").at(-1)} ${words}`;
}

/** Returns what a person typed of a text, or "" for one that the client wrote, and for its own commands. */
export function typedPart(text: string): string {
  const start = text.trimStart();
  if (start.startsWith("<command-") && COMMAND.test(start)) return typedCommand(start);
  if (/^[<[CB]/.test(start) && NOT_TYPED.some((beginning) => start.startsWith(beginning))) return "";
  const typed = withoutAttached(text, PUT_IN);
  // The client warms a subagent up with this one word.
  return typed.trim() === "" || typed === "Warmup" ? "" : typed;
}

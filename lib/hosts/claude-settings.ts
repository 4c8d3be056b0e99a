/** Changes what Claude Code has of us beside the plugin: whether it is the model, and its status line. */

import { readIfExists } from "../base/files.ts";
import { type JsonRecord, parseRecord, recordOf, stringOf } from "../base/json.ts";
import { changeConfig, changedSettings, writeSettings } from "../config/config-file.ts";

/** The `llm` block that `setup` writes for Claude Code as the model. */
const ASKED_HOST = { command: "claude" };

/** Makes Claude Code the model where none is configured, or takes that back as it was written. Returns whether it did. */
export async function setHostAsModel(config: string, isAsked: boolean): Promise<boolean> {
  return await changeConfig(config, ({ llm, ...others }) => {
    if (isAsked) return llm === undefined ? { ...others, llm: ASKED_HOST } : undefined;
    return isHostModel(llm) ? others : undefined;
  });
}

/** Returns whether an `llm` block is the one that makes Claude Code the model, as it was written. */
export function isHostModel(llm: unknown): boolean {
  return JSON.stringify(llm) === JSON.stringify(ASKED_HOST);
}

/** Our status line's command, as set-up writes it from whatever folder it is in. */
const OWN_STATUS_LINE = /^\/bin\/sh "[^"]*\/bin\/session-memory" status-line$/;

/** Reads whether Claude Code's settings have a status line, and whether it is ours; undefined where they cannot be read. */
export function readStatusLine(file: string): { isNone: boolean; isOurs: boolean } | undefined {
  const settings = parseRecord(readIfExists(file) ?? "{}");
  return settings && { isNone: settings.statusLine === undefined, isOurs: isOwnLine(settings.statusLine) };
}

function isOwnLine(statusLine: unknown): boolean {
  const { type, command, ...others } = recordOf(statusLine);
  const isAsWritten = type === "command" && Object.keys(others).length === 0;
  return isAsWritten && OWN_STATUS_LINE.test(stringOf(command) ?? "");
}

/** Sets the status line unless one is set, or takes ours out. */
export function setStatusLine(file: string, command: string | undefined): void {
  const change = (settings: JsonRecord) => {
    const { statusLine, ...others } = settings;
    if (command === undefined) return isOwnLine(statusLine) ? others : settings;
    return statusLine === undefined ? { ...others, statusLine: { type: "command", command } } : settings;
  };
  writeSettings(changedSettings(file, change));
}

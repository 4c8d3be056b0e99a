/** What set-up changes for Claude Code beside its plugin: whether it is the model, and its status line. */

import { readIfExists } from "../base/files.ts";
import { parseRecord, recordOf, stringOf } from "../base/json.ts";
import { changeConfig, formatSettings } from "../config/config-file.ts";
import { writeHooks } from "./host-hooks.ts";

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
  if (!settings) return undefined;
  const { statusLine } = settings;
  const { type, command, ...others } = recordOf(statusLine);
  const isAsWritten = type === "command" && Object.keys(others).length === 0;
  const isOurs = isAsWritten && OWN_STATUS_LINE.test(stringOf(command) ?? "");
  return { isNone: statusLine === undefined, isOurs };
}

/** Sets the status line unless one is set, or takes ours out. */
export function setStatusLine(file: string, command: string | undefined): void {
  const found = readStatusLine(file);
  if (!found || !(command === undefined ? found.isOurs : found.isNone)) return;
  const { statusLine: _, ...others } = parseRecord(readIfExists(file) ?? "{}") ?? {};
  const next = command === undefined ? others : { ...others, statusLine: { type: "command", command } };
  writeHooks({ path: file, next: formatSettings(next) });
}

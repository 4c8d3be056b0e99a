/** Reads from config.json the few values the prompt hook needs, with plain checks: loading the schema costs a start. */

import { readIfExists } from "../base/files.ts";
import { isRecord, parseJson } from "../base/json.ts";
import { defaultSettings, type Paths } from "./config.ts";
import { MACHINE_NAME } from "./machine.ts";
import type { Settings, SyncedFolder } from "./schema.ts";

/** Returns the settings the prompt hook needs; undefined when config.json exists and is invalid. */
export function readHookSettings(paths: Pick<Paths, "config">): Settings | undefined {
  const settings = defaultSettings();
  const text = readIfExists(paths.config);
  if (text === undefined) return settings;
  let file: unknown;
  try {
    file = parseJson(text);
  } catch {
    return undefined;
  }
  if (!isRecord(file)) return undefined;
  const { activity, exclude, redact, titles = false, transcripts = [] } = file;
  const volute = stringList(file.volute);
  if (typeof titles !== "boolean" || !volute) return undefined;
  if (!Array.isArray(transcripts) || !transcripts.every(isSyncedFolder)) return undefined;
  settings.transcripts = transcripts;
  settings.titles = titles;
  settings.volute = volute;
  if (activity !== undefined) {
    if (!isRecord(activity)) return undefined;
    const { scope = "project", maxChars = 500, welcome = true } = activity;
    if (scope !== "project" && scope !== "all") return undefined;
    if (typeof maxChars !== "number" || !Number.isInteger(maxChars) || maxChars < 1) return undefined;
    if (typeof welcome !== "boolean") return undefined;
    settings.activity = { scope, maxChars, welcome };
  }
  if (exclude !== undefined) {
    if (!isRecord(exclude)) return undefined;
    for (const key of ["sessions", "projects", "patterns"] as const) {
      const list = stringList(exclude[key]);
      if (!list) return undefined;
      settings.exclude[key] = list;
    }
  }
  if (redact !== undefined) {
    const extra = isRecord(redact) ? stringList(redact.extra) : undefined;
    if (!extra) return undefined;
    settings.redact = { extra };
  }
  return settings;
}

function isSyncedFolder(value: unknown): value is SyncedFolder {
  if (!isRecord(value) || typeof value.path !== "string" || value.path === "") return false;
  return typeof value.machine === "string" && MACHINE_NAME.test(value.machine);
}

function stringList(value: unknown): string[] | undefined {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.some((item) => typeof item !== "string")) return undefined;
  return value;
}

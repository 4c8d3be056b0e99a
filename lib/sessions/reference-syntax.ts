/** What the characters of a reference alone tell: a path, a machine, a place in a session. */

import { join, resolve } from "node:path";
import type { Paths } from "../config/config.ts";

export interface LineRange {
  from: number;
  to: number;
  /** Whether both ends were named. */
  isRange: boolean;
}

/** `<session>:<line>` or `<session>:<from>-<to>`. */
const PLACE = /^([\s\S]+):([\d-]+)$/;
const LINES = /^([1-9]\d{0,9})(?:-([1-9]\d{0,9}))?$/;
const ID_BEGINNING = /^[0-9a-f][0-9a-f-]{7,}$/i;

/** The session and the lines of a place; undefined for anything else. */
export function placeIn(wanted: string): { session: string; lines: LineRange; isId: boolean } | undefined {
  const [, session, after = ""] = PLACE.exec(wanted) ?? [];
  const lines = linesIn(after);
  return session === undefined || !lines ? undefined : { session, lines, isId: ID_BEGINNING.test(session) };
}

/** A line or a range of lines; undefined for anything else. */
export function linesIn(text: string): LineRange | undefined {
  const [, first, last = first] = LINES.exec(text) ?? [];
  const lines = { from: Number(first), to: Number(last), isRange: text.includes("-") };
  return lines.from <= lines.to ? lines : undefined;
}

/** A path is told by its suffix, so that no other file is ever touched on a reference's word. */
export function pathOf(wanted: string, cwd: string): string | undefined {
  if (!wanted.endsWith(".jsonl")) return undefined;
  if (!wanted.startsWith("~/")) return resolve(cwd, wanted);
  // Asked for, not imported: the module costs a tenth of an empty start.
  return join(process.getBuiltinModule("node:os").homedir(), wanted.slice(2));
}

/** `<session>@<machine>`: a session of another machine whose transcripts are synced to this one. */
export function splitMachine(
  reference: string,
  synced: Paths["synced"],
): { wanted: string; machine?: string | undefined } {
  const [, wanted = "", machine] = /^(.+)@([^@]+)$/.exec(reference) ?? [];
  return synced.some((folder) => folder.machine === machine) ? { wanted, machine } : { wanted: reference };
}

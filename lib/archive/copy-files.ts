/** Writes and removes the files of a copy: the copy itself, the outputs from beside its transcript, the notes on a pulled session. */

import { readdirSync, rmdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { remove } from "../base/files.ts";
import type { JsonRecord } from "../base/json.ts";
import { writeBlocks } from "../hosts/blocks.ts";
import { removeStored, statStored, storedNames } from "../hosts/names.ts";
import { COPIED_OUTPUTS, ownFolder } from "../hosts/outputs.ts";
import type { CopyOf } from "../sessions/places.ts";
import { besideCopy } from "../sessions/pulled.ts";

/** The session of a copy, with the one that it works for. */
export interface CopyFor extends CopyOf {
  parent?: string | undefined;
}

interface CopyText {
  /** The session of the copy, and what is noted of it. */
  note: JsonRecord;
  /** The time that the copy gets, ISO. @default now */
  at?: string | undefined;
  /** True if it is on disk before it counts, since nothing else could make it again. */
  durable: boolean;
  /** The bytes at its beginning that stay as they are. @default none */
  keep?: number;
}

/** Writes lines in place of a copy that may be there, or behind what is kept of it. */
export function writeLines(file: string, lines: string, { note, at, durable, keep = 0 }: CopyText): void {
  const writer = writeBlocks(file, { durable, about: note, keep });
  try {
    writer.write(Buffer.from(lines));
  } catch (error) {
    writer.abandon();
    throw error;
  }
  writer.end({}, at);
}

/** A place that is longer has no room in a note: such a session is read from its beginning. */
const PLACE_MAX = 36;

/** Returns the place up to which a session was read, as far as its copy's note has room for it. */
export function placeInNote(place: unknown): string | undefined {
  return typeof place === "string" && Buffer.byteLength(place) <= PLACE_MAX ? place : undefined;
}

/** Returns where a copy has an output. */
export function outputPlace(copy: string, output: string): string {
  return join(ownFolder(copy, COPIED_OUTPUTS), basename(output));
}

/** Returns the outputs of a copy, without their suffix. */
export function listOutputs(copy: string): string[] {
  const folder = ownFolder(copy, COPIED_OUTPUTS);
  return storedNames(folder).map((name) => join(folder, name));
}

/** Returns the bytes of a copy on disk, with those of its outputs. */
export function copyBytes(copy: string): number {
  return [copy, ...listOutputs(copy)].reduce((sum, file) => sum + (statStored(file)?.size ?? 0), 0);
}

/** Removes a copy with what lies beside it, and its folders where they are empty then. */
export function removeCopy(file: string): void {
  for (const each of [...listOutputs(file), file]) removeStored(each);
  remove(besideCopy(file));
  const outputs = ownFolder(file, COPIED_OUTPUTS);
  for (const folder of [outputs, dirname(outputs)]) {
    try {
      if (readdirSync(folder).length === 0) rmdirSync(folder);
    } catch {
      // it is missing, or it has just got a file
    }
  }
}

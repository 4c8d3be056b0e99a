/**
 * Takes over the copies that an earlier version had elsewhere: packed ones in `archive/<agent>/`, and lines of databases and
 * prompts in a folder of each host. Its files stay for whoever goes back to it until it has written none for thirty days, the
 * rules change, or something is forgotten.
 */

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { listEntries, readIfExists, readJson, remove, replaceFile, statPath } from "../base/files.ts";
import { arrayOf, numberOf, recordOf } from "../base/json.ts";
import { shortHash } from "../base/text.ts";
import { DAY_MS } from "../base/time.ts";
import type { Paths, PathsWithRules } from "../config/config.ts";
import { appendBlocks, readNote } from "../hosts/blocks.ts";
import { BLOCKED } from "../hosts/names.ts";
import { copiesFolder } from "../hosts/table.ts";
import { keepCopyList } from "../sessions/copy-list.ts";
import { archivePlace } from "../sessions/places.ts";
import { redactionVersion } from "../transcripts/rules.ts";
import { type CopyFor, listOutputs, outputPlace, placeInNote, writeLines } from "./copy-files.ts";
import { formerFolders, takenOver } from "./former-places.ts";

/** The time that the files of the earlier version stay after its last: a user may want to go back. */
const STAY_MS = 30 * DAY_MS;
/** The kinds of its files by the ends of their names. */
const KINDS = [
  { end: `.jsonl${BLOCKED}`, from: undefined },
  { end: ".prompts-alone.jsonl", from: "prompts" },
  { end: ".jsonl", from: "store" },
];
/** Its note of a host's copies: when each session had changed, the hash of its title, its last place, whether it holds secrets. */
const NOTE = "copied.json";
/** The form of that note that is understood. */
const NOTE_FORMAT = 5;

/** A copy of the earlier version. */
interface Former {
  path: string;
  whose: CopyFor;
  /** `store` or `prompts`, whose lines are not packed; undefined for a packed copy. */
  from: string | undefined;
}

/** Lists the copies in a folder, and those of subagents in the folders that their parents' ids name. */
function formerIn(folder: string, { agent, parent }: Omit<CopyFor, "id">): Former[] {
  return listEntries(folder).flatMap((entry): Former[] => {
    const path = join(folder, entry.name);
    if (entry.isDirectory())
      return parent === undefined ? formerIn(path, { agent, parent: idIn(entry.name) }) : [];
    const kind = KINDS.find(({ end }) => entry.name.endsWith(end));
    if (!kind) return [];
    const id = idIn(entry.name.slice(0, -kind.end.length));
    return [{ path, whose: { agent, id, parent }, from: kind.from }];
  });
}

/** Returns the id that a file or folder is named by. */
function idIn(stem: string): string {
  try {
    return decodeURIComponent(stem);
  } catch {
    return stem;
  }
}

/** Writes the copies of the earlier version where ours are, and again one that it went on with; removes its files where they need not stay. */
export function takeFormer(paths: PathsWithRules): void {
  const former = takeAll(paths);
  const { redact, exclude } = paths.rules;
  const rules = shortHash(JSON.stringify([redactionVersion(redact), exclude])).toString(36);
  const mark = takenOver(paths);
  const known = readIfExists(mark);
  const isUnused = (file: string) => Date.now() - (statPath(file)?.ctimeMs ?? 0) > STAY_MS;
  if (known === undefined) replaceFile(mark, rules);
  else if (known !== rules || [mark, ...former].every(isUnused)) removeFolders(paths);
}

/** Removes the files of the earlier version; copies of its own that nothing else holds are taken over before. */
export function removeFormer(paths: PathsWithRules): void {
  takeAll(paths);
  removeFolders(paths);
}

function removeFolders(paths: Paths): void {
  const folders = [paths.archive, ...formerFolders(paths).map(({ folder }) => folder)];
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  remove(takenOver(paths));
}

/** Takes over every copy, and returns their paths. */
function takeAll(paths: Paths): string[] {
  const former = formerFolders(paths).flatMap(({ folder, agent }) => formerIn(folder, { agent }));
  const targets = former.map((copy) => {
    const target = archivePlace(paths, copy.whose);
    try {
      if (copy.from === undefined) takePacked(copy, target);
      else takeLines(copy, target, paths);
    } catch {
      // removed, or written anew, by that version meanwhile
    }
    return target;
  });
  keepCopyList(paths, { written: targets });
  return former.map(({ path }) => path);
}

/** Takes over a packed copy with its outputs, unless we have one of a state as new. */
function takePacked({ path, whose }: Former, target: string): void {
  const file = path.slice(0, -BLOCKED.length);
  const [old, taken] = [readNote(file), readNote(target)];
  const at = (note: typeof old) => String(note?.modified ?? "");
  if (!old || (taken && (taken.from !== undefined || at(taken) >= at(old)))) return;
  const take = (from: string, to: string, note = {}) =>
    appendBlocks(to, new Uint8Array(), { from, note, durable: true });
  for (const output of listOutputs(file)) take(output, outputPlace(target, output));
  take(file, target, { ...whose });
}

/** Takes over the lines of a database's session, or of prompts, unless we have those of a state as new. */
function takeLines({ path, whose, from }: Former, target: string, paths: Paths): void {
  const about = recordOf(readJson(join(copiesFolder(paths, whose.agent), NOTE)));
  const noted = about.format === NOTE_FORMAT ? recordOf(about.sessions)[whose.id] : [];
  const [changed, title, last, hasSecrets] = arrayOf(noted);
  const taken = readNote(target);
  const isBehind = (numberOf(taken?.changed) ?? 0) < (numberOf(changed) ?? 0);
  if (taken && !(taken.from === from && isBehind)) return;
  const facts = { changed, title, last: placeInNote(last), secrets: hasSecrets === true || undefined };
  const at = statPath(path)?.mtime.toISOString();
  writeLines(target, readFileSync(path, "utf8"), { note: { ...whose, ...facts, from }, at, durable: true });
}

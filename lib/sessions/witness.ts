/**
 * What looking for transcripts asks of the file system, and, where a witness is wanted, each question with its answer:
 * kept after a look that found nothing, they tell the next one that it would find the same (lib/sessions/glance.ts).
 */

import {
  type Dirent,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { answerTo, codeOf, type Glance, kindOf, type Question, stateOf } from "./glance.ts";

/** What was asked since `beginWitness`. */
interface Witness {
  /** In order; states as they were given, since putting thousands into words would be in vain where there is news. */
  asked: [question: Question, path: string, answer: string | Stats | undefined][];
  /** False once an answer may already be another one although its state is the same. */
  settled: boolean;
}

/** Clocks of file systems tick every few milliseconds, or every one or two seconds: there, times are whole seconds. */
const TICK_MS = 20;
const COARSE_TICK_MS = 2500;

let witness: Witness | undefined;

/** Takes down what is asked from now on, beginning with these files, whose content is about to be read. */
export function beginWitness(files: readonly string[]): void {
  witness = { asked: [], settled: true };
  for (const file of files) askState(file);
}

/** Gives back how to put into words all that was asked since; undefined when it would not show each change. */
export function endWitness(): (() => Glance["answers"]) | undefined {
  const ended = witness;
  witness = undefined;
  return ended?.settled ? () => answersOf(ended) : undefined;
}

function answersOf({ asked }: Witness): Glance["answers"] {
  const answers = new Map<string, Glance["answers"][number]>();
  for (const [question, path, answer] of asked) {
    const key = `${question} ${path}`;
    // Of two answers the first stays: the second one then differs when the glance is checked.
    if (answers.has(key)) continue;
    answers.set(key, [question, path, typeof answer === "string" ? answer : stateOf(answer)]);
  }
  return [...answers.values()];
}

/** What a folder holds; nothing when it is not there, no folder, or not ours to read. */
export function entriesOf(folder: string): Dirent[] {
  if (witness) askState(folder);
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** A file's text; "" when it cannot be read, which means the same here as not being there. */
export function textOf(file: string): string {
  if (witness) askState(file);
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** A path's stat; undefined when there is nothing, or nothing that we may reach. */
export function statOf(path: string): Stats | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (witness) note("state", path, stat);
    return stat;
  } catch (error) {
    if (witness) note("state", path, codeOf(error));
    return undefined; // below a file, or behind a folder that we may not enter
  }
}

/** Whether a path leads to a file. */
export function isFile(path: string): boolean {
  return kindAt(path) === "file";
}

/** Whether a path leads to a folder. */
export function isDirectory(path: string): boolean {
  return kindAt(path) === "directory";
}

/** Whether a path leads to anything. */
export function isThere(path: string): boolean {
  return kindAt(path) !== "";
}

/** Whether a path is a file itself, not a link to one. */
export function isPlainFile(path: string): boolean {
  let isPlain = false;
  try {
    isPlain = lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
    if (witness) note("plain", path, String(isPlain));
  } catch (error) {
    if (witness) note("plain", path, codeOf(error));
  }
  return isPlain;
}

/** Where a path leads when all links are followed; undefined when it leads nowhere. */
export function realPathOf(path: string): string | undefined {
  try {
    const real = realpathSync(path);
    if (witness) note("real", path, real);
    return real;
  } catch (error) {
    if (witness) note("real", path, codeOf(error));
    return undefined;
  }
}

function kindAt(path: string): string {
  let kind = "";
  try {
    kind = kindOf(statSync(path, { throwIfNoEntry: false }));
    if (witness) note("kind", path, kind);
  } catch (error) {
    if (witness) note("kind", path, codeOf(error));
  }
  return kind;
}

/** Asked before the content is: what changes in between shows. */
function askState(path: string): void {
  const answer = answerTo("state", path);
  if (witness?.settled && isUnsettled(answer)) witness.settled = false;
  note("state", path, answer);
}

/** Whether a second change may leave the same time as the last one. */
function isUnsettled(state: string): boolean {
  const changed = Number(state.split(" ")[1]);
  if (Number.isNaN(changed)) return false; // not there: being there later is another answer
  return Math.abs(Date.now() - changed) < (changed % 1000 === 0 ? COARSE_TICK_MS : TICK_MS);
}

function note(question: Question, path: string, answer: string | Stats | undefined): void {
  witness?.asked.push([question, path, answer]);
}

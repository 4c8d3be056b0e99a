/**
 * References by their characters alone: finds `@@name` in a prompt, splits paths, machines and places, and compares
 * a reference with names.
 *
 * Pure, and fast for prompts without any, which is nearly all of them.
 */

import { join, resolve } from "node:path";
import { editDistance } from "../base/text.ts";
import type { Paths } from "../config/config.ts";
import { unpackedName } from "../hosts/names.ts";
import type { LineRange } from "../hosts/session.ts";

/** One mention of a session. */
export interface Reference {
  /** As written in the prompt, with `@@`, without the question. */
  written: string;
  /** The name or id to resolve. */
  name: string;
  /** `~2`: the number of ancestors to include. */
  ancestors: number;
  /** `@@name: question`. */
  question: string | undefined;
}

const NAME_MAX_CHARS = 120; // names have at most 80
const QUESTION_MAX_CHARS = 1000; // a prompt of several pages is not a question
const ANCESTORS_MAX = 9; // one digit
/** The text behind a reference that is examined. */
const AFTER_CHARS = 1200;

/**
 * At the start of a line or after white space or an opening mark. A name in quotes is anything on one line; else it
 * begins with a letter or digit and ends on one, behind the owner and machine of a shared session or before the machine of
 * a synced one. Its generation or a place in it, and its question, follow directly. A name that is called, as a decorator's is,
 * is not one.
 */
const REFERENCE =
  /(?<=^|[\s([{,;“„«—–]|(?<!=)["'])@@(?:"([^"\n]{1,120})"|“([^”\n]{1,120})”|((?:[\p{L}\p{N}._-]+@[\p{L}\p{N}._-]+:)?[\p{L}\p{N}](?:[\p{L}\p{N}._-]*[\p{L}\p{N}_])?(?:@[\p{L}\p{N}_-]+)?))(?:~(\d{1,3})|(:[1-9]\d*(?:-\d+)?(?!\d)))?(?!(?:\.[\w.]+)?[\p{L}\p{N}@/\\([]|::)/gu;

/** Returns whether a prompt mentions any session. */
export function hasReference(prompt: string): boolean {
  return findReferences(prompt).length > 0;
}

/** Returns the references of a prompt in order, each once. */
export function findReferences(prompt: string): Reference[] {
  if (!prompt.includes("@@")) return [];
  const text = withoutCode(prompt);
  const found = new Map<string, Reference>();
  for (const match of text.matchAll(REFERENCE)) {
    const [whole, quoted, curly, bare = ""] = match;
    const after = text.slice(match.index + whole.length, match.index + whole.length + AFTER_CHARS);
    // As it was written: what looks like code inside quotes is part of the name.
    const written = prompt.slice(match.index, match.index + whole.length);
    const inQuotes = quoted ?? curly;
    const named = (inQuotes === undefined ? bare : written.slice(3, 3 + inQuotes.length)).trim();
    const name = named && named + (match[5] ?? "");
    if (name === "" || name.length > NAME_MAX_CHARS) continue;
    const reference = {
      written,
      name,
      ancestors: Math.min(Number(match[4] ?? 0), ANCESTORS_MAX),
      question: questionIn(after),
    };
    const key = `${name.toLowerCase()}~${reference.ancestors}:${reference.question ?? ""}`;
    if (!found.has(key)) found.set(key, reference);
  }
  return [...found.values()];
}

/** Blanks out code and diffs, keeping positions. */
function withoutCode(prompt: string): string {
  const blank = (code: string) => code.replace(/[^\n]/g, " ");
  return prompt
    .replace(/^[ \t]*(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^[ \t]*\1[`~]*[ \t]*$|(?![\s\S]))/gm, blank)
    .replace(/(`{1,2})(?!`)[^\n]*?[^`\n]\1(?!`)/g, blank)
    .replace(/^(?: {4,}|\t)(?![-*+•]|\d+[.)]).*$/gm, blank)
    .replace(/^[ +-]?@@+ -\d[^\n]*/gm, blank);
}

/** Returns the text after `: ` up to the end of the line or the next reference. */
function questionIn(after: string): string | undefined {
  const match = /^:[ \t]+([^\n]+)/.exec(after);
  const question = match?.[1]?.split(/\s@@(?=["“\p{L}\p{N}])/u)[0]?.trim();
  return question ? question.slice(0, QUESTION_MAX_CHARS).toWellFormed() : undefined;
}

/** Rows shown before and after a line that is asked for alone. */
const AROUND = 10; // promised

const LINES = /^([1-9]\d{0,9})(?:-([1-9]\d{0,9}))?$/;

/** Returns the session and the lines of a place, such as `<session>:7` or `<session>:7-9,12`; undefined for anything else. */
export function placeIn(wanted: string): { session: string; lines: LineRange[] } | undefined {
  const colon = wanted.lastIndexOf(":");
  const lines = linesIn(wanted.slice(colon + 1));
  return colon < 1 || !lines ? undefined : { session: wanted.slice(0, colon), lines };
}

/** Reads lines and ranges of lines, comma-separated; undefined for anything else. */
export function linesIn(text: string): LineRange[] | undefined {
  const around = /[-,]/.test(text) ? 0 : AROUND;
  const ranges = text.split(/, */).map((part) => {
    const [, first, last = first] = LINES.exec(part) ?? [];
    return { from: Number(first), to: Number(last), around };
  });
  return ranges.every(({ from, to }) => from <= to) ? ranges.sort((a, b) => a.from - b.from) : undefined;
}

/** Returns the path that a reference is. Only the suffix of a transcript makes it one, so that a reference reaches no other file. */
export function asPath(wanted: string, cwd: string): string | undefined {
  if (!unpackedName(wanted).endsWith(".jsonl")) return undefined;
  if (!wanted.startsWith("~/")) return resolve(cwd, wanted);
  // Asked for, not imported: the module costs a tenth of an empty start.
  return join(process.getBuiltinModule("node:os").homedir(), wanted.slice(2));
}

/** Splits `<session>@<machine>`: a session of another machine whose transcripts are synced to this one. */
export function splitMachine(
  reference: string,
  synced: Paths["synced"],
): { wanted: string; machine?: string | undefined } {
  const [, wanted = "", machine] = /^(.+)@([^@]+)$/.exec(reference) ?? [];
  return synced.some((folder) => folder.machine === machine) ? { wanted, machine } : { wanted: reference };
}

/** Something with names. */
interface Named {
  names: readonly string[];
}

/** Shorter beginnings of ids are too likely to be words. */
const PREFIX_MIN = 4;

/** A session as references know it. */
export interface Referable {
  /** Its id, and others that it is known by. */
  ids: readonly string[];
  /** The former path of its transcript. */
  file?: string;
  names: readonly string[];
}

/** Returns whether a reference is long enough to be the beginning of an id, without the owner and machine of a shared one. */
export function isBeginning(reference: string): boolean {
  return reference.replace(/^[^@\s]+@[^:@\s]+:/, "").length >= PREFIX_MIN;
}

/**
 * Returns the items that a reference means, by the surest way in which any is meant: by an id, by the beginning of one alone, by
 * name, by the beginning of several.
 */
export function findMeant<T extends Referable>(reference: string, all: readonly T[]): T[] {
  const same = all.filter(({ ids, file }) => ids.includes(reference) || file === reference);
  if (same.length > 0) return same;
  const begun = findBegun(reference, all);
  if (begun.length === 1) return begun;
  const named = findNamed(reference, all);
  return named.length > 0 ? named : begun;
}

/** Returns the items with an id that begins with a reference. */
export function findBegun<T extends Referable>(reference: string, all: readonly T[]): T[] {
  const wanted = reference.toLowerCase();
  if (!isBeginning(reference)) return [];
  return all.filter(({ ids }) => ids.some((id) => id.toLowerCase().startsWith(wanted)));
}

/** Returns the items with a reference for a name. */
function findNamed<T extends Pick<Referable, "names">>(reference: string, all: readonly T[]): T[] {
  const folded = foldName(reference);
  return all.filter(({ names }) => names.some((name) => foldName(name) === folded));
}

/** Folds a name for comparison: case, `-`, `_` and character width do not matter. */
function foldName(name: string): string {
  const plain = isAscii(name) ? name : name.normalize("NFKC");
  return plain
    .toLowerCase()
    .replace(/[\s_-]+/g, " ")
    .trim();
}

function isAscii(text: string): boolean {
  // Without the u flag: a Unicode class takes milliseconds to compile.
  return !/[^\x00-\x7f]/.test(text);
}

/** Returns those whose name has all words of the reference, or their beginnings; without any, those within the fewest typos. */
export function likeName<T extends Named>(reference: string, all: readonly T[]): T[] {
  const wanted = foldName(reference);
  const words = wanted.split(" ");
  if (wanted.length < 2) return [];
  const folded = all.map((item) => ({ item, names: item.names.map(ownWords) }));
  const found = folded.filter(({ names }) =>
    names.some((name) => words.every((word) => holdsWord(name, word))),
  );
  return found.length > 0 ? found.map(({ item }) => item) : mistyped(wanted, folded);
}

/** Returns a name's own words: a session that began with a question to another one mentions that one's name. */
function ownWords(name: string): string {
  return foldName(name.includes("@@") ? name.replace(REFERENCE, " ") : name);
}

/** Returns the most similar names by shared letters, best first. */
export function nearest<T extends Named>(reference: string, all: readonly T[], count: number): T[] {
  const wanted = pairs(foldName(reference));
  const score = ({ names }: T) => Math.max(0, ...names.map((name) => likeness(wanted, ownWords(name))));
  const scored = all.map((item) => ({ item, score: score(item), first: item.names[0] ?? "" }));
  scored.sort((a, b) => b.score - a.score || (a.first < b.first ? -1 : 1));
  return scored.slice(0, count).map(({ item }) => item);
}

/** The share of letter pairs that two similar names have in common. */
const NEAR = 0.6;

/** Returns whether a name is so like a reference that it may be meant. */
export function isLikeName(reference: string, name: string): boolean {
  return likeness(pairs(foldName(reference)), foldName(name)) >= NEAR;
}

/** Scripts without spaces have no word boundaries: there a word counts at any position. */
function holdsWord(name: string, word: string): boolean {
  if (!name.includes(word) || !isAscii(word)) return name.includes(word);
  const isWord = (part: string) => (word.length > 1 ? part.startsWith(word) : part === word);
  return name.split(" ").some(isWord) || name.split(/[^\p{L}\p{N}\p{M}]+/u).some(isWord);
}

/** Allows one typo in four letters, three at most. */
function mistyped<T>(wanted: string, all: readonly { item: T; names: readonly string[] }[]): T[] {
  const limit = Math.min(3, wanted.length >> 2);
  const isComparable = (name: string) =>
    Math.abs(name.length - wanted.length) <= limit && digits(name) === digits(wanted);
  const scored = all.map(({ item, names }) => {
    const typos = names.filter(isComparable).map((name) => editDistance(wanted, name));
    return { item, typos: Math.min(...typos) };
  });
  const least = Math.min(limit, ...scored.map(({ typos }) => typos));
  return limit === 0 ? [] : scored.filter(({ typos }) => typos === least).map(({ item }) => item);
}

/** `deploy 2` is not a typo of `deploy 3`. */
function digits(name: string): string {
  return name.replace(/\D+/g, " ").trim();
}

/** Returns the share of common character pairs, from 0 to 1. */
function likeness(wanted: Set<string>, name: string): number {
  let shared = 0;
  for (let i = 0; i + 1 < name.length; i++) if (wanted.has(name.slice(i, i + 2))) shared++;
  return (2 * shared) / Math.max(1, name.length - 1 + wanted.size);
}

function pairs(text: string): Set<string> {
  const found = new Set<string>();
  for (let i = 0; i + 1 < text.length; i++) found.add(text.slice(i, i + 2));
  return found;
}

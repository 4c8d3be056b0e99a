/**
 * The keys of forgotten rows: whatever fork, copy or restored session holds a row, one of its keys is among them. Their salted
 * hashes lie sorted in a file beside config.json, each with that of the entry of `exclude` it was kept for, and are searched
 * without being loaded. A key counts while config.json has that entry, so that all of it is forgotten at one moment.
 */

import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { dirname, join } from "node:path";
import { readBytes, readIfExists, readJson, replaceFile, statPath } from "../base/files.ts";
import { arrayOf, type JsonRecord, parseRecord, recordOf } from "../base/json.ts";
import { withLock } from "../base/locks.ts";
import { shortHash } from "../base/text.ts";
import { type Format, type RawEntry, readBareEntry } from "../hosts/format.ts";
import { redact } from "../redact/redact.ts";

type KeyedRow = Pick<RawEntry, "id" | "at" | "kind" | "text" | "callId">;

/** The keys that identify forgotten rows. */
export interface ForgottenTest {
  /** True if a key was kept; undefined where nothing was forgotten. */
  isForgotten: ((key: string) => boolean) | undefined;
  clean: (text: string) => string;
}

/**
 * Returns a key that every copy of a row shares, as forks make them; undefined where the host gives rows no id. Short ids (pi's
 * eight digits) are unique within a file only; with their time, and what else tells them apart, they are everywhere.
 */
export function rowKey(
  { id, at = "" }: Pick<KeyedRow, "id" | "at">,
  more: () => string = () => "",
): string | undefined {
  return id === undefined || id.length >= 32 ? id : `${id}@${at}${more()}`;
}

/** The keys of a row that has a time. */
interface RowKeys {
  id: string | undefined;
  /** The key of its time and speaker, which rows of other sessions may share: `words` are asked too. */
  time: string;
  words: () => string[];
}

/** Returns the keys of a row; undefined for one without a time. */
export function makeKeys(
  { at, kind, text, ...row }: KeyedRow,
  agent: string,
  { clean }: Pick<ForgottenTest, "clean">,
): RowKeys | undefined {
  if (at === undefined) return undefined;
  const time = `${agent} ${at} ${kind}`;
  // as its host has them, and as copies of ours do
  const words = () =>
    [text, redact(text), clean(text)].map((each) => `${time} ${shortHash(lettersIn(each))}`);
  return { id: rowKey({ ...row, at }), time, words };
}

function lettersIn(text: string): string {
  return text.replace(/\[redacted:[^\]]*\]|\P{L}/gu, "");
}

/**
 * Returns a test for rows, given in file order. A result goes with its call, and what has no time and is nobody's prompt with the
 * row before it.
 */
export function forgottenRows(agent: string, rules: ForgottenTest): (row: KeyedRow) => boolean {
  const { isForgotten } = rules;
  if (!isForgotten) return () => false;
  const calls = new Map<string, boolean>();
  let isOut = false;
  const hasKey = ({ id, time, words }: RowKeys) =>
    (id !== undefined && isForgotten(id)) || (isForgotten(time) && words().some(isForgotten));
  return (row) => {
    const [keys, { kind, callId = "" }] = [makeKeys(row, agent, rules), row];
    const isOfCall = kind === "result" ? calls.get(callId) : undefined;
    isOut = isOfCall ?? (keys ? hasKey(keys) : isOut && kind !== "user");
    if (kind === "tool") calls.set(callId, isOut);
    return isOut;
  };
}

/** Returns a test for records, given in file order; one that gives no rows goes with the record before it. */
export function recordTest(
  agent: string,
  format: Format,
  rules: ForgottenTest,
): (record: JsonRecord) => boolean {
  if (!rules.isForgotten) return () => false;
  const isForgotten = forgottenRows(agent, rules);
  const place = { line: 0, nth: 0, offset: 0, end: 0 };
  const options = { head: { agent } };
  let isOut = false;
  return (record) => {
    for (const row of readBareEntry(format, record, place, options)) isOut = isForgotten(row);
    return isOut;
  };
}

/** Bytes of a record: the hash of a key, then that of its entry of `exclude`. The first record is the salt. */
const WIDTH = 16;
const HASH = WIDTH / 2;
/** Bytes that are read at once. */
const BLOCK = 1024 * WIDTH;

/** Begins the key that is kept of an entry of `exclude` itself. */
export const ENTRY = "entry ";

/** Returns the sessions and projects that config.json excludes at this moment. */
function excludedNow(file: string): string[] {
  const { sessions, projects } = recordOf(recordOf(readJson(configBeside(file))).exclude);
  return [...arrayOf(sessions), ...arrayOf(projects)].map(String);
}

function configBeside(file: string): string {
  return join(dirname(file), "config.json");
}

/** Returns a text that changes with what is forgotten; undefined where nothing was. */
export function forgottenState(file: string | undefined): string | undefined {
  const files = file === undefined ? [] : [file, earlierFile(file), configBeside(file)];
  const [keys, earlier, config] = files.map(statPath);
  if (!keys && !earlier) return undefined;
  return [keys, earlier, config].map((stat) => `${stat?.size} ${stat?.mtimeMs}`).join();
}

/** Returns a test for keys that were kept; undefined where nothing was forgotten. */
export function forgottenTest(file: string | undefined): ForgottenTest["isForgotten"] {
  if (file === undefined) return undefined;
  const end = statPath(file)?.size ?? 0;
  const earlier = new Set(readIfExists(earlierFile(file))?.match(/(?<=")[0-9a-z]+(?=")/g));
  if (end <= WIDTH && earlier.size === 0) return undefined;
  const blocks: Buffer[] = [];
  const blockAt = (at: number) => (blocks[at / BLOCK] ??= readBlock(file, at));
  const hashAt = (at: number) => blockAt(at - (at % BLOCK)).readDoubleLE(at % BLOCK);
  const hash = (text: string) => saltedHash(blockAt(0), text);
  let inForce: Set<number> | undefined;
  return (key) => {
    if (earlier.has(shortHash(key).toString(36))) return true;
    const wanted = end > 0 ? hash(key) : 0;
    let [low, high] = [1, end / WIDTH];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (hashAt(middle * WIDTH) < wanted) low = middle + 1;
      else high = middle;
    }
    for (let at = low * WIDTH; at < end && hashAt(at) === wanted; at += WIDTH) {
      inForce ??= new Set(excludedNow(file).map(hash));
      if (inForce.has(hashAt(at + HASH))) return true;
    }
    return false;
  };
}

/** Returns whether a file of keys is as we write them: a damaged one forgets no row. */
export function isWhole(file: string): boolean {
  const bytes = readBytes(file, Number.POSITIVE_INFINITY);
  if (bytes === undefined) return statPath(file) === undefined;
  if (bytes.length % WIDTH !== 0) return false;
  let last = 0;
  for (let at = WIDTH; at < bytes.length; at += WIDTH) {
    const key = bytes.readDoubleLE(at);
    if (!Number.isSafeInteger(key) || key < last) return false;
    last = key;
  }
  return true;
}

function saltedHash(begin: Buffer, text: string): number {
  return shortHash(begin.toString("latin1", 0, WIDTH) + text);
}

function readBlock(file: string, position: number): Buffer {
  const descriptor = openSync(file, "r");
  const block = Buffer.alloc(BLOCK);
  readSync(descriptor, block, 0, BLOCK, position);
  closeSync(descriptor);
  return block;
}

const LOCK_WAIT_MS = 10_000; // a writer writes two files

/** Keeps keys, each under its entry of `exclude`, beside the ones in force; then puts them in force. */
export async function keepForgotten<T>(
  file: string,
  kept: Iterable<readonly [entry: string, keys: readonly string[]]>,
  commit: () => T,
): Promise<Awaited<T>> {
  return await withLock(`${file}.lock`, LOCK_WAIT_MS, async () => {
    const before = statPath(file) ? readFileSync(file) : Buffer.from(crypto.randomUUID().slice(-WIDTH));
    const hash = (text: string) => saltedHash(before, text);
    const inForce = new Set(excludedNow(file).map(hash));
    const records: [key: number, entry: number][] = [];
    for (let at = WIDTH; at < before.length; at += WIDTH) {
      const entry = before.readDoubleLE(at + HASH);
      if (inForce.has(entry)) records.push([before.readDoubleLE(at), entry]);
    }
    for (const [entry, keys] of kept)
      for (const key of [ENTRY + entry, ...keys]) records.push([hash(key), hash(entry)]);
    records.sort(([key, entry], [other, its]) => key - other || entry - its);
    const once = records.filter(
      ([key, entry], i) => key !== records[i - 1]?.[0] || entry !== records[i - 1]?.[1],
    );
    const bytes = new Uint8Array(new Float64Array(once.flat()).buffer);
    replaceFile(file, Buffer.concat([before.subarray(0, WIDTH), bytes]));
    const earlier = readIfExists(earlierFile(file))?.split("\n");
    const left = earlier?.filter((line) => inForce.has(hash(String(parseRecord(line)?.entry))));
    if (left) replaceFile(earlierFile(file), left.join("\n"));
    return await commit();
  });
}

/** The file in which an earlier version kept keys, a line for each entry of `exclude`. */
function earlierFile(file: string): string {
  return `${file}.ndjson`;
}

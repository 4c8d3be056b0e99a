/**
 * Redacts the entries of a session in their order, and remembers what was taken out as a secret, to take it out of the session's
 * other rows: the password that a command names bare was announced in a file that was read before it, or is announced later.
 *
 * Indexing notes which rows announce secrets, by their bytes' place, never the secrets. Whoever reads a session, forward from a
 * cursor, backward or around a line, begins with what those few rows announce, so all see the same. What rows
 * announce that are not indexed yet is known only once they were read: backward, a newer row may show what an older one announces.
 */

import { appendFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { ensureDirectory, readIfExists, statPath } from "../base/files.ts";
import { mapTexts, parseRecord } from "../base/json.ts";
import { escapePattern, isUuid, shortHash } from "../base/text.ts";
import type { Entry, ToolCall } from "../hosts/session.ts";
import { matches } from "../redact/features.ts";
import { isStandIn } from "../redact/looks.ts";
import { type Redactor, removeControls, type Taken } from "../redact/redact.ts";
import { leavesKeyOpen, replaceKeyLines } from "../redact/secrets.ts";
import type { Rules } from "./rules.ts";

/** The most values that are kept of a session: a file of thousands of passwords is data. */
const VALUES_MAX = 256;
/** The most rows that are noted of a session: each is read again by whoever reads the session. */
const ROWS_MAX = 64;
/** Shorter ones are words with a number, like a user's or a machine's name. */
const VALUE_MIN = 7;
const VALUE_MAX = 200;
/** Secrets that are recognised only at a place of their own: elsewhere they are a number, a phrase or an address. */
const UNKEPT = /^(?:code|pin|card|mnemonic|private-key|url-user|cookie|password-hash|custom)$/;

/** The secrets of one transcript. */
export interface SecretMemory {
  /** Returns what redacts the texts of the rows that begin at these bytes. */
  cleaner(rows: readonly number[], taken?: Taken): <T>(value: T) => T;
  /** Returns what was first met since this was last asked. */
  takeNew(): string[];
  /** Notes the rows that announce secrets, for whoever reads the session next. */
  keep(): void;
}

interface SecretSource {
  rules: Pick<Rules, "clean" | "noted">;
  /** Reads the entries of the row at a byte offset, with inputs and results. */
  entriesAt?(offset: number): readonly Entry[];
  /** True if the transcript is another than the one whose rows were noted. @default {false} */
  isAnew?: boolean | undefined;
}

/** Returns the memory of a transcript, which reads the noted rows when a text is first asked for. */
export function secretMemory(
  file: string,
  { rules: { clean, noted }, entriesAt, isAnew = false }: SecretSource,
): SecretMemory {
  const key = shortHash(basename(file).replace(/\..*/s, "")).toString(36);
  const known = noSecrets();
  let isLoaded = false;
  const load = () => {
    isLoaded = true;
    const printed = printedBy();
    const former = notedRows(noted, key);
    for (const offset of isAnew ? [] : former) {
      known.rows.add(offset);
      const entries = entriesAt?.(offset) ?? [];
      const texts = entries.map((entry) => [...textsOf(entry), printed(entry)?.text]);
      clean(texts, noting(known, [offset]));
    }
    known.fresh = [];
    known.isUnkept = isAnew && former.length > 0;
  };
  return {
    cleaner(rows, taken) {
      const note = noting(known, rows, taken);
      return (value) => {
        if (!isLoaded) load();
        return replaceValues(clean(value, note), known.kinds);
      };
    },
    takeNew() {
      const values = known.fresh;
      known.fresh = [];
      return values;
    },
    keep() {
      if (!known.isUnkept || noted === undefined) return;
      ensureDirectory(dirname(noted));
      const line = JSON.stringify({ session: key, rows: [...known.rows] });
      appendFileSync(noted, `${line}\n`, { mode: 0o600 });
      known.isUnkept = false;
    },
  };
}

/** The secrets of a session with the kind of each, the rows that announce them, and what is new of both. */
function noSecrets() {
  return {
    kinds: new Map<string, string>(),
    rows: new Set<number>(),
    fresh: [] as string[],
    isUnkept: false,
  };
}

/** Returns what keeps the secrets that are taken out of rows, as far as there is room. */
function noting(known: ReturnType<typeof noSecrets>, places: readonly number[], also?: Taken): Taken {
  const { kinds, rows } = known;
  return (value, kind) => {
    also?.(value, kind);
    const added = places.filter((offset) => !rows.has(offset));
    if (kinds.has(value) || !isKept(value, kind) || !hasRoom(kinds.size, rows.size, added.length)) return;
    kinds.set(value, kind);
    known.fresh.push(value);
    for (const offset of added) rows.add(offset);
    known.isUnkept ||= added.length > 0;
  };
}

function hasRoom(values: number, rows: number, added: number): boolean {
  return values < VALUES_MAX && (added === 0 || rows + added <= ROWS_MAX);
}

function textsOf({ text, patch, tool }: Entry): (string | undefined)[] {
  return [text, patch, tool?.target, tool?.input, tool?.json];
}

/** The rest of a key that was cut comes with the next result, after a few words and the call. */
const KEY_REACH = 6;

/**
 * Returns a test for entries in their order: whether one may be shown, unless it is forgotten. An excluded prompt excludes its
 * answer, up to the next prompt.
 */
export function entryTest({ hasEntry }: Rules): (raw: Entry, isForgotten?: boolean) => boolean {
  let isAnswerExcluded = false;
  return (raw, isForgotten = false) => {
    const isExcluded = hasEntry(raw);
    if (raw.kind === "user") isAnswerExcluded = isExcluded;
    return !isForgotten && !isExcluded && !isAnswerExcluded;
  };
}

/** Returns what redacts entries in their order, and gives none for one that is forgotten or excluded. */
export function cleanEntries(
  rules: Rules,
  memory: Pick<SecretMemory, "cleaner">,
): (raw: Entry, isForgotten?: boolean) => Entry | undefined {
  const isShown = entryTest(rules);
  const inTurn = textsInTurn();
  const printed = printedBy();
  return (raw, isForgotten) => {
    const withoutKey = inTurn(raw.text);
    if (!isShown(raw, isForgotten)) return undefined;
    const rows = [raw.offset];
    const redact: Redactor = (value, taken) =>
      memory.cleaner(rows, taken)(withoutKey ? mapTexts(value, withoutKey) : value);
    const output = printed(raw);
    const judged = output && memory.cleaner(output.rows)(output.text);
    const isSecret = output && judged && lastLine(judged) !== lastLine(output.text);
    return redactEntry(isSecret ? { ...raw, text: lastLine(judged) } : raw, redact);
  };
}

/** Returns what prepares the texts of each row, if anything, asked in their order: soon after a key that was cut, its rest is taken out. */
export function textsInTurn(): (text: string) => ((text: string) => string) | undefined {
  let sinceKey = Number.POSITIVE_INFINITY;
  return (text) => {
    const isAfterKey = sinceKey++ < KEY_REACH;
    const isOpen = leavesKeyOpen(text);
    if (isOpen !== undefined) sinceKey = isOpen ? 0 : Number.POSITIVE_INFINITY;
    return isAfterKey ? replaceKeyLines : undefined;
  };
}

/** Returns an entry with its texts redacted. Named one by one: what a format adds to a raw entry is not redacted. */
function redactEntry(raw: Entry, redact: Redactor): Entry {
  const { line, nth, offset, end, id, kind, typed, at, callId, contextTokens, isError, state } = raw;
  const tool = raw.tool && redactCall(raw.tool, redact);
  return {
    line,
    nth,
    offset,
    end,
    id,
    kind,
    typed,
    at,
    callId,
    contextTokens,
    isError,
    state,
    text: tool ? `${tool.name} ${tool.target}`.trim() : redact(raw.text),
    patch: raw.patch && redact(raw.patch),
    topics: raw.topics && redact(raw.topics),
    tool,
    edit: raw.edit && redactCall(raw.edit, redact),
  };
}

function redactCall({ json, kind, name, target, paths, input }: ToolCall, redact: Redactor): ToolCall {
  const secrets = new Map<string, string>();
  if (json !== undefined) redact(json, (value, kind) => secrets.set(value, kind));
  // what its name makes a secret is one in the text without the name
  const clean = <T>(value: T) => replaceValues(redact(value), secrets);
  return { kind, name: clean(name), target: clean(target), paths: clean(paths), input: clean(input) };
}

/** The most commands that are held until their output comes. */
const COMMANDS_MAX = 64;
/** The most of a command that is judged with its output. */
const COMMAND_CHARS = 1000;

/** The longest output that is a word, whatever colours it is printed in. */
const OUTPUT_CHARS = 300;

/** Returns what joins the output of a command to its line where it is one word, which a command may print for secret. */
function printedBy(): (entry: Entry) => { text: string; rows: number[] } | undefined {
  const commands = new Map<string, { line: string; offset: number }>();
  return ({ kind, tool, callId = "", text, offset }) => {
    if (tool?.kind === "command") {
      const line = (tool.input ?? tool.target).trim().slice(0, COMMAND_CHARS);
      commands.set(callId, { line: line.slice(line.lastIndexOf("\n") + 1), offset });
      if (commands.size > COMMANDS_MAX) commands.delete(commands.keys().next().value ?? "");
    }
    const command = kind === "result" ? commands.get(callId) : undefined;
    if (!command || text.length > OUTPUT_CHARS) return undefined;
    const word = removeControls(text).trim();
    if (!/^\S{6,200}$/.test(word)) return undefined;
    return { text: `$ ${command.line}\n${word}`, rows: [command.offset, offset] };
  };
}

function lastLine(text: string): string {
  return text.slice(text.lastIndexOf("\n") + 1);
}

/** Returns whether a value is told from ordinary words and ids wherever it stands. */
function isKept(value: string, kind: string): boolean {
  if (value.length < VALUE_MIN || value.length > VALUE_MAX || UNKEPT.test(kind)) return false;
  if (/\s|\[redacted:/.test(value) || isUuid(value) || matches("hex", value) || isStandIn(value))
    return false;
  return matches("mixes", value);
}

/** Replaces secrets in the texts of a value, where they stand by themselves, by the mark of their kind. */
function replaceValues<T>(value: T, kinds: ReadonlyMap<string, string>): T {
  if (kinds.size === 0) return value;
  return mapTexts(value, (text) => [...kinds].reduce(replaceSecret, text));
}

function replaceSecret(text: string, [secret, kind]: [secret: string, kind: string]): string {
  if (!text.includes(secret)) return text;
  const before = /^\w/.test(secret) ? "(?<![A-Za-z0-9])" : "";
  const after = /\w$/.test(secret) ? "(?![A-Za-z0-9])" : "";
  return text.replace(new RegExp(before + escapePattern(secret) + after, "g"), `[redacted:${kind}]`);
}

let lastRead: { file: string; state: string; rows: ReadonlyMap<string, readonly number[]> } | undefined;

/** Returns the noted rows of a session: the last line that names it counts. */
function notedRows(file: string | undefined, session: string): readonly number[] {
  const stat = file === undefined ? undefined : statPath(file);
  if (file === undefined || !stat) return [];
  const state = `${stat.size} ${stat.mtimeMs}`;
  if (lastRead?.file !== file || lastRead.state !== state) {
    const lines = (readIfExists(file) ?? "").split("\n").flatMap((line): [string, number[]][] => {
      const { session: id, rows } = parseRecord(line) ?? {};
      return typeof id === "string" && Array.isArray(rows) ? [[id, rows.map(Number)]] : [];
    });
    lastRead = { file, state, rows: new Map(lines) };
  }
  return lastRead.rows.get(session) ?? [];
}

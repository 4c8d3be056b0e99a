/** The interface of transcript formats, and the parts that several of them share. */

import { arrayOf, isRecord, type JsonRecord, numberOf, recordOf, recordsOf, stringOf } from "../base/json.ts";
import { headed } from "../base/text.ts";
import { DAY_MS } from "../base/time.ts";
import { partHanded } from "./handed.ts";
import { rowEntries } from "./plain-row.ts";
import type { Agent, CallKind, Entry, PartlyKnown, Session, ToolCall } from "./session.ts";
import { CALL_KINDS, type RawCall, toolCall } from "./tool-call.ts";

type EntryPlace = Pick<Entry, "line" | "nth" | "offset" | "end">;

/** Facts of a whole transcript, from its first rows. */
export interface Head extends Pick<Session, "agent" | "cwd" | "startedAt" | "parentId">, PartlyKnown<"id"> {
  /** The address of the repository it works in, where the host notes it (Codex). */
  remote?: string | undefined;
  /** The session that this one was forked or restored from: its id (Codex, Claude Code), or the path of its transcript (pi). */
  forkedFrom?: string | undefined;
  /** True if a program started it, without a person at it. */
  isHeadless?: boolean | undefined;
  /** Codex: whether typed messages are marked by events of their own. */
  typedEvents?: boolean | undefined;
  /** True if the file is a copy of ours, in our plain form, of a session whose host writes another. */
  isInPlainForm?: true;
}

/** Facts of a session as a host writes them; a value of another kind is left out. */
export type HeadFacts = { [F in Exclude<keyof Head, "agent" | "isInPlainForm">]?: unknown };

/** Adds facts to a head, the first of each. */
export function addFacts(head: Head, facts: HeadFacts): void {
  for (const key of ["id", "cwd", "parentId", "remote", "forkedFrom"] as const)
    head[key] ??= stringOf(facts[key]);
  head.startedAt ??= isoTime(facts.startedAt);
  for (const key of ["isHeadless", "typedEvents"] as const)
    if (typeof facts[key] === "boolean") head[key] ??= facts[key];
}

/** The key under which the first row of our copy keeps what is beside the transcript. */
export const TOLD = "session-memory";

/**
 * Whether tool results and whole inputs are wanted too: of long ones all or no more than the ends, or only those of some calls,
 * where others come without a text but what an error says.
 */
export type Results = boolean | "ends" | ((call: ToolCall, line: number) => boolean);

export interface EntryOptions {
  head: Head;
  /** Reads an output that the host keeps in a file beside the transcript, by the path that a row names. */
  outputAt?: ((path: string) => string | undefined) | undefined;
  /** The records after a byte offset, as far as they are asked for. */
  later?: ((offset: number) => Iterable<JsonRecord>) | undefined;
}

/** A row's identity and parent in the conversation tree. */
export interface TreeNode {
  id: string;
  parentId?: string | undefined;
  /** A typed prompt: two of them under one parent are an edit, and one of them was abandoned. */
  isPrompt?: boolean;
  /** The rows that this row revokes: from a row on, or from a prompt on that is counted from the end. */
  takesBackFrom?: string | number | undefined;
}

/** An entry as it is read, before what its neighbours say of it is known. */
export interface RawEntry extends Omit<Entry, "tool"> {
  tool?: RawCall;
  /** On `tool` entries: the directory the call was made in. */
  workdir?: string | undefined;
  /** On `user` entries that answer a tool: the user's text for the call, or "". */
  settle?: ((call: ToolCall) => string) | undefined;
  /** On entries that count only by what the rows behind them say: whether they do. */
  counts?: ((later: Iterable<JsonRecord>) => boolean) | undefined;
}

/** Returns an entry with the input of its call. */
export function wholeEntry(raw: RawEntry): Entry {
  const { tool, ...entry } = raw;
  return tool ? { ...entry, tool: { ...tool, input: tool.readInput() } } : entry;
}

/** An entry as a format reads it from a record: `readBareEntry` adds the place that it lacks, and the record's id and time. */
export type BareEntry = Omit<RawEntry, keyof EntryPlace> & Partial<Pick<EntryPlace, "line">>;

export interface Format {
  /** True if a record can only come from this host. */
  matches(record: JsonRecord): boolean;
  /** The facts of the whole session in a record; it began with the first row that has a time where none says so. */
  facts(record: JsonRecord, head: Head): HeadFacts;
  /** The entries of a record, in their order; those without words do not count. */
  entries(record: JsonRecord, options: Omit<EntryOptions, "later">): BareEntry[];
  /** The message that a record is a state of, where hosts write several: the last one counts. */
  messageOf?(record: JsonRecord): string | undefined;
  /** The title of a session that its user may have set: of several the first that holds a word. */
  title?(file: string, rowsWith: RowsWith): string | undefined | Iterable<string | undefined>;
  /** The titles that the host made up, in use where the user set none. */
  madeTitles?(rowsWith: RowsWith): Iterable<string | undefined>;
  /** The file beside a transcript that may hold its title too. */
  titleFile?(file: string): string;
  /** The facts of the whole session in the path of a transcript and in files beside it: our copies keep these in a row. */
  beside?(file: string): HeadFacts;
  /** The key under which rows have their time. @default `timestamp`, in the row or its message */
  timeKey?: string;
  /** True if no later row adds to a head with a directory and a time. @default once it has an id */
  isHeadComplete?(head: Head): boolean;
  /** The id of the session that this one works for, in the first 4 KiB: where a place does not tell subagents. */
  parentIn?: RegExp;
  /** The transcript of the session that this one came from, where its head does not name it. */
  origin?(session: Pick<Session, "id" | "file" | "parentId">, readHead: ReadHead): string | undefined;
  /** A prompt as it was typed, without what hooks said, which its host puts into the prompts that it gives them. */
  typedPrompt?(prompt: string): string;
  /** The output of a command that failed, by what the host tells a hook of it. @default its `error` */
  failedOutput?(event: JsonRecord): string | undefined;
  /** The data that an extension keeps in a record under its own type. */
  kept?(record: JsonRecord, type: string): unknown;
  /** The links between rows, if a conversation can go on from one that is not its last. */
  tree?: Tree;
  /** True if rows may name their own place, which counts in place of the file's line. */
  namesPlaces?: boolean;
}

/** The last rows of both ends of a transcript that hold a text, the last first. */
export type RowsWith = (text: string) => Iterable<JsonRecord>;
export type ReadHead = (file: string) => Head | undefined;

interface Tree {
  /** The rows that count: the way to the last one, or all but the rows below a prompt that was edited away. */
  live: "way to the last row" | "but edited away";
  /** The record's place in the tree, if it has one. */
  node(record: JsonRecord): TreeNode | undefined;
  /** The row this record declares to be the live end of the conversation. */
  leaf?(record: JsonRecord): string | undefined;
}

/** Returns the title in the last row of a type: an empty one removes those before it. */
export function lastTitle(
  rowsWith: RowsWith,
  type: string,
  read: (row: JsonRecord) => unknown,
): string | undefined {
  for (const row of rowsWith(`"${type}"`))
    if (row.type === type || row.subtype === type) return stringOf(read(row));
  return undefined;
}

/** Returns a record's place in a tree of rows by the keys that hosts give it; undefined for one without an id. */
export function treeNode(
  record: JsonRecord,
  isPrompt: boolean,
  takesBackFrom?: TreeNode["takesBackFrom"],
): TreeNode | undefined {
  const id = rowId(record);
  const parentId =
    stringOf(record.parentUuid) ?? stringOf(record.logicalParentUuid) ?? stringOf(record.parentId);
  return id === undefined ? undefined : { id, parentId, isPrompt, takesBackFrom };
}

function rowId(record: JsonRecord): string | undefined {
  return stringOf(record.uuid) ?? stringOf(record.id);
}

/** Returns a record's entries. One nested too deeply for the stack gives none and affects no other record. */
export function readBareEntry(
  format: Format,
  record: JsonRecord,
  place: EntryPlace,
  options: EntryOptions,
): RawEntry[] {
  try {
    const read: RawEntry[] = [];
    const { offset, end } = place;
    const named = format.namesPlaces ? numberOf(record.line) : undefined;
    const line = named ?? place.line;
    let nth = named === undefined ? place.nth : (numberOf(record.nth) ?? 0);
    // One by one, without a copy more than needed: this runs for every row there is.
    for (const given of format.entries(record, options))
      for (const entry of given.kind === "user" ? partHanded(given) : [given]) {
        if (isContent(entry) && entry.counts?.(options.later?.(end) ?? []) !== false)
          read.push({
            line,
            nth: nth++,
            offset,
            end,
            id: rowId(record),
            at: rowTime(record, format),
            ...entry,
            ...(entry.kind === "user" && { typed: isTyped(entry, record, options.head) }),
          });
      }
    return read;
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

/** Returns whether a person typed an entry: by the flags of its row, else as its session is a person's. */
function isTyped({ typed }: BareEntry, record: JsonRecord, { parentId, isHeadless }: Head): boolean {
  return record.typed !== false && parentId === undefined && (typed ?? isHeadless !== true);
}

/** Returns the time that a host wrote on a row. */
export function rowTime(record: JsonRecord, { timeKey }: Format): string | undefined {
  if (timeKey !== undefined) return isoTime(record[timeKey]);
  return isoTime(record.timestamp) ?? isoTime(recordOf(record.message).timestamp);
}

function isContent({ kind, text, settle }: BareEntry): boolean {
  return kind === "tool" || kind === "result" || settle !== undefined || text.trim() !== "";
}

/** A time within its ranges: what reads it may rely on it being one. */
const ISO =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{3})?Z$/;

/** Converts a time as hosts write it (ISO text, or milliseconds or seconds since 1970) to ISO UTC; undefined for one to come. */
export function isoTime(value: unknown): string | undefined {
  if (typeof value === "string") {
    // Hosts write ISO with a Z: taken as it is, since parsing each would be a fifth of the reading time.
    if (ISO.test(value)) return value < latestTime() ? value : undefined;
    return toIso(Date.parse(value));
  }
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  return toIso(value < 1e11 ? value * 1000 : value);
}

/** Converts milliseconds to ISO UTC. */
function toIso(ms: number): string | undefined {
  return ms >= 0 && ms < Date.now() + DAY_MS ? new Date(ms).toISOString() : undefined;
}

let latest = { ms: 0, iso: "" };

/** Returns the time from which rows would be dated later than now, whichever machine's clock wrote them. */
function latestTime(): string {
  const ms = Date.now();
  if (ms > latest.ms) latest = { ms: ms + DAY_MS / 2, iso: new Date(ms + DAY_MS).toISOString() };
  return latest.iso;
}

/** Returns the text of a message's content: a string, or its text blocks joined by newlines, without images and others. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  const parts: string[] = [];
  for (const block of arrayOf(content)) {
    if (typeof block === "string") parts.push(block);
    else if (isRecord(block) && isTextBlock(block) && typeof block.text === "string") parts.push(block.text);
  }
  return parts.join("\n");
}

/** Returns the typed part of a message, block by block: an attachment ends with its block. */
export function typedText(content: unknown, typedIn: (block: string) => string): string {
  const blocks = typeof content === "string" ? [content] : arrayOf(content).map((block) => textOf([block]));
  return blocks
    .map((block) => typedIn(block))
    .filter(Boolean)
    .join("\n");
}

/** Returns a block without what its client attached: from a tag, named by the first group, to where that was closed last. */
export function withoutAttached(block: string, tag: RegExp, most = 64): string {
  const found = tag.exec(block);
  const close = `</${found?.[1]}>`;
  const end = found ? block.lastIndexOf(close) : -1;
  if (!found || end < found.index || most === 0) return block;
  const left = block.slice(0, found.index) + block.slice(end + close.length);
  return withoutAttached(left.trim(), tag, most - 1);
}

/** Returns what a person typed in a block in which the client puts that into a tag: the first or, behind what it attached, the last. */
export function wrappedText(block: string, name: string): string {
  const wrapped = new RegExp(`\\s*<${name}\\b[^>]*>([\\s\\S]*?)</${name}>`, "gy");
  const typed = Array.from(block.matchAll(wrapped), ([, words = ""]) => words.trim());
  if (typed.length > 0) return typed.join("\n");
  const last = block.lastIndexOf(`<${name}>`);
  return last > 0 ? wrappedText(block.slice(last), name) : block;
}

/** Returns whether a content block holds words of the conversation. */
function isTextBlock(block: JsonRecord): boolean {
  return block.type === "text" || block.type === "input_text" || block.type === "output_text";
}

/** The start of our additions to a result: `[Seen Before] …`. */
const OWN_WORDS = headed("Seen Before");

/** Returns a result without what our own hook added to it, for hosts that keep no copy without that. */
export function withoutOwnWords(text: string): string {
  const at = text.indexOf(OWN_WORDS);
  return at > 0 && text[at - 1] === "\n" ? text.slice(0, at).trimEnd() : text;
}

/** Sums the tokens under some keys of a message's usage; undefined when the host reports none. */
export function sumTokens(usage: unknown, keys: readonly string[]): number | undefined {
  const tokens = recordOf(usage);
  let sum = 0;
  for (const key of keys) sum += numberOf(tokens[key]) ?? 0;
  return sum > 0 ? sum : undefined;
}

interface SaidOptions extends Pick<RawEntry, "contextTokens" | "workdir"> {
  tools?: Tools;
}

/** Returns what an assistant message says and calls, in block order. */
export function assistantEntries(
  content: unknown,
  { contextTokens, workdir, tools }: SaidOptions = {},
): BareEntry[] {
  if (typeof content === "string") return [{ kind: "assistant", text: content, contextTokens }];
  const entries: BareEntry[] = [];
  for (const block of recordsOf(content)) {
    if (isTextBlock(block)) entries.push({ kind: "assistant", text: textOf([block]), contextTokens });
    else if (isCall(block)) entries.push({ ...toCall(block, tools), workdir });
  }
  return entries;
}

function isCall({ type }: JsonRecord): boolean {
  return type === "tool_use" || type === "toolCall" || type === "server_tool_use";
}

/** The kinds of a host's tools whose names, and arguments' names, do not tell. */
export type Tools = Readonly<Record<string, Tool>>;

interface Tool {
  kind: CallKind;
  /** Returns the arguments by the names that most hosts give them. */
  input?: (given: JsonRecord) => JsonRecord;
}

/** Returns a tool call's entry. */
export function toCall(block: JsonRecord, tools: Tools = {}): BareEntry {
  const name = stringOf(block.name) ?? "tool";
  const told = CALL_KINDS.find((each) => each === (block.action === "run" ? "command" : block.action));
  const { kind = told, input } = (Object.hasOwn(tools, name) ? tools[name] : undefined) ?? {};
  const given = block.input ?? block.arguments;
  const tool = toolCall(name, input && isRecord(given) ? input(given) : given, kind);
  return { kind: "tool", text: `${tool.name} ${tool.target}`.trim(), tool, callId: stringOf(block.id) };
}

export interface Answer {
  question: string;
  /** The choices. */
  options: string[];
  answer: string;
}

/** Writes the answers, each followed by its question. */
export function answerText(answers: readonly Answer[]): string {
  return answers
    .map(({ question, options, answer }) => {
      const choices = options.length > 0 ? `; options: ${options.join(" | ")}` : "";
      return question === "" ? answer : `${answer}\n(asked: ${question}${choices})`;
    })
    .join("\n");
}

/** Returns the labels of a question's options. */
export function optionLabels(options: unknown): string[] {
  return arrayOf(options).flatMap((option) => {
    const label = isRecord(option) ? (stringOf(option.label) ?? stringOf(option.value)) : stringOf(option);
    return label === undefined ? [] : [label];
  });
}

export const plain: Format = {
  matches(record) {
    return plainMessage(record) !== undefined;
  },

  facts: ({ cwd }) => ({ cwd }),

  entries(record) {
    const { role, content } = plainMessage(record) ?? {};
    if (role === "summary") return [{ kind: "summary", text: textOf(content) }];
    if (role === "user" || role === "assistant") {
      return [{ kind: role, text: textOf(content) }, ...deedEntries(content)];
    }
    const isResult = role === "tool" || role === "toolResult";
    return isResult ? [{ kind: "result", text: textOf(content) }] : [];
  },
};

/** Returns the format of the copies that are made of a host's store: plain lines, below one that names the session. */
export function copiedFormat(agent: Agent): Format {
  return {
    ...plain,
    namesPlaces: true,

    matches(record) {
      return record.host === agent;
    },

    entries(record, options) {
      return rowEntries(record) ?? plain.entries(record, options);
    },

    facts: ({ host, session: id, cwd, parent: parentId, remote }) =>
      host === agent ? { id, cwd, parentId, remote } : {},

    title(_, rowsWith) {
      for (const { host, title } of rowsWith('"host"'))
        if (host === agent) return stringOf(title) || undefined;
      return undefined;
    },
  };
}

/** Returns the message of a plain line, or undefined for any other line. */
function plainMessage(record: JsonRecord): JsonRecord | undefined {
  const message = record.type === "message" ? recordOf(record.message) : record;
  const hasContent = typeof message.content === "string" || Array.isArray(message.content);
  return typeof message.role === "string" && hasContent ? message : undefined;
}

const STATES = ["rejected", "running"] as const;

/** Returns the calls and the results of a message, in the form of most hosts. */
export function deedEntries(content: unknown): BareEntry[] {
  return recordsOf(content).flatMap(readDeed);
}

function readDeed(block: JsonRecord): BareEntry[] {
  if (isCall(block)) return [toCall(block)];
  if (block.type !== "tool_result") return [];
  return [
    {
      kind: "result",
      text: textOf(block.content),
      callId: stringOf(block.tool_use_id),
      isError: block.is_error === true,
      state: STATES.find((each) => each === block.state),
      patch: stringOf(block.patch),
    },
  ];
}

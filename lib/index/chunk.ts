/**
 * Cuts conversation into exchanges, then into chunks small enough to find and to quote, each with a situational header.
 *
 * A chunk is cut between messages; inside one only when it alone is too long, and then the pieces overlap.
 */

import { truncate } from "../base/text.ts";
import { localTime } from "../base/time.ts";
import { describeActs } from "../language/speech.ts";
import { estimateTokens, positionWithin } from "../language/tokens.ts";
import { topicsOf } from "../language/topics.ts";
import { splitJoined } from "../language/words.ts";
import type { Chunk, Entry } from "../transcripts/session.ts";

/** Messages are gathered up to this many tokens, so that a chunk is about an exchange and rarely near 500. */
const GATHER_TOKENS = 320;
/** And no further than this from line to line: between them lie the rows of tool work. */
const GATHER_LINES = 60;
/** A message beyond this many is cut. */
const WHOLE_TOKENS = 400;
/** "Assistant: " and the line break. */
const LABEL_TOKENS = 4;
/** Characters of the first message that say what an exchange is about. */
const CONTEXT_CHARACTERS = 160;
/** Characters of one tool call that are searchable. */
const TOOL_CHARACTERS = 240;
/** Characters of one message that are searchable: a longer one is a paste, which would push all else out of the session. */
const MESSAGE_CHARACTERS = 200_000;

export interface ChunkContext {
  sessionId: string;
  /** Index of the first chunk made. */
  firstIndex: number;
  participants: { user: string; assistant: string };
  /** IANA name. */
  timezone: string;
}

/** A user or assistant message, or a piece of one, with the tool calls that followed it. */
interface Message {
  speaker: "user" | "assistant";
  text: string;
  tokens: number;
  line: number;
  id: string | undefined;
  at: string | undefined;
  tools: string;
}

/** A user message and everything that follows until the next one. */
export interface Exchange {
  entries: Entry[];
  /** Whether a later user message has closed it. */
  closed: boolean;
}

/** Groups entries by user message: each exchange is a user message and all that follows until the next one. */
export function* exchanges(entries: Iterable<Entry>): Generator<Exchange> {
  let current: Entry[] = [];
  for (const entry of entries) {
    if (entry.kind === "user" && current.length > 0) {
      yield { entries: current, closed: true };
      current = [];
    }
    current.push(entry);
  }
  if (current.length > 0) yield { entries: current, closed: false };
}

/** Cuts the entries of one exchange into chunks; none when nobody said anything in it. */
export function chunkExchange(entries: readonly Entry[], context: ChunkContext): Chunk[] {
  const messages = readMessages(entries);
  const first = messages[0];
  if (first === undefined) return [];
  const about = exchangeSubject(first);
  return gather(messages).map((group, i) =>
    makeChunk(group, { context, about, index: context.firstIndex + i }),
  );
}

/** Returns a chunk's full-text columns; `extra` holds what the tokenizer would miss: parts of joined words. */
export function fullTextColumns(
  chunk: Pick<Chunk, "content" | "header" | "tools">,
): [content: string, header: string, tools: string, extra: string] {
  const { content, header, tools } = chunk;
  return [content, headerWords(header), tools, splitJoined(content, tools)];
}

/** Returns the exchange's messages, with each tool call beside the text it followed. */
function readMessages(entries: readonly Entry[]): Message[] {
  const messages: Message[] = [];
  let waiting: string[] = [];
  const attachTools = (to: Message | undefined) => {
    if (to === undefined || waiting.length === 0) return;
    const lines = waiting.map((call) => truncate(call.replaceAll("\n", " "), TOOL_CHARACTERS));
    to.tools = [to.tools, ...lines].filter((line) => line !== "").join("\n");
    waiting = [];
  };
  for (const entry of entries) {
    if (entry.kind === "tool") {
      if (entry.tool) waiting.push(`${entry.tool.name} ${entry.tool.target}`);
      continue;
    }
    if (entry.kind !== "user" && entry.kind !== "assistant") continue;
    const text = keepEnds(entry.text.trimEnd());
    if (text.trim() === "") continue;
    attachTools(messages.at(-1));
    messages.push({
      speaker: entry.kind,
      text,
      tokens: estimateTokens(text) + LABEL_TOKENS,
      line: entry.line,
      id: entry.id,
      at: entry.at,
      tools: "",
    });
  }
  attachTools(messages.at(-1));
  return messages;
}

/** Returns the beginning and the end of a message that is too long to be all searchable. */
function keepEnds(text: string): string {
  if (text.length <= MESSAGE_CHARACTERS) return text;
  const half = MESSAGE_CHARACTERS / 2;
  return `${text.slice(0, half)}\n…\n${text.slice(-half)}`.toWellFormed();
}

/** Groups messages by the wanted size; a message that is too long alone becomes several groups. */
function gather(messages: readonly Message[]): Message[][] {
  const groups: Message[][] = [];
  let group: Message[] = [];
  let tokens = 0;
  const close = () => {
    if (group.length > 0) groups.push(group);
    group = [];
    tokens = 0;
  };
  for (const message of messages) {
    const isFar = group[0] !== undefined && message.line - group[0].line > GATHER_LINES;
    if (isFar || tokens + message.tokens > GATHER_TOKENS) close();
    if (message.tokens > WHOLE_TOKENS) {
      for (const piece of cutMessage(message)) groups.push([piece]);
      continue;
    }
    group.push(message);
    tokens += message.tokens;
  }
  close();
  return groups;
}

/** Cuts a message into overlapping pieces, each with its role; the tool calls stay with the last. */
function cutMessage(message: Message): Message[] {
  return cutText(message.text).map((text, i, { length }) => {
    const tools = i === length - 1 ? message.tools : "";
    return { ...message, text, tokens: estimateTokens(text) + LABEL_TOKENS, tools };
  });
}

function makeChunk(
  group: readonly Message[],
  { context, about, index }: { context: ChunkContext; about: string; index: number },
): Chunk {
  const rows: Chunk["rows"] = [];
  let content = "";
  for (const { speaker, text, line } of group) {
    if (content !== "") content += "\n";
    rows.push({ start: content.length, line });
    content += `${speaker === "user" ? "User" : "Assistant"}: ${text}`;
  }
  const topics = topicsOf(content);
  const { hasDecision, hasAction } = describeActs(content);
  const first = group[0] as Message;
  const header = writeHeader(context, { at: first.at, topics, about });
  return {
    sessionId: context.sessionId,
    index,
    at: first.at,
    firstLine: first.line,
    lastLine: (group.at(-1) as Message).line,
    entryIds: [...new Set(group.flatMap(({ id }) => (id === undefined ? [] : [id])))],
    speakers: [...new Set(group.map(({ speaker }) => speaker))],
    topics,
    hasDecision,
    hasAction,
    content,
    rows,
    header,
    tools: group.flatMap(({ tools }) => (tools === "" ? [] : [tools])).join("\n"),
    tokens: group.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

/** Returns the exchange in one line: the start of its first message, after anything an editor has put before it. */
function exchangeSubject({ speaker, text }: Message): string {
  const line = text
    .slice(0, CONTEXT_CHARACTERS * 6)
    .replace(/^(?:<([a-z_-]+)>[\s\S]*?<\/\1>\s*)+(?=\S)/, "")
    .slice(0, CONTEXT_CHARACTERS * 3)
    .replace(/\s+/g, " ")
    .trim()
    .replaceAll("]", ")");
  return `${speaker === "user" ? "User asks" : "Assistant says"}: ${truncate(line, CONTEXT_CHARACTERS)}`;
}

/** The size of the pieces, without what each repeats of the one before. */
const PIECE_TOKENS = 200;
/** What a piece repeats, at most: a fifth of it. */
const OVERLAP_TOKENS = 36;

const BOUNDARIES = [/^[ \t]*```[ \t]*\n/gm, /\n\s*\n/g, /\n/g, /[.!?]["')\]]*\s|[。！？]/g, /\s/g];

/** Cuts a long text into pieces, each repeating the end of the one before. */
function cutText(text: string): string[] {
  const ends = findCuts(text);
  return ends
    .map((end, i) => text.slice(i === 0 ? 0 : overlapStart(text, ends[i - 1] as number), end).trim())
    .filter((piece) => piece !== "");
}

function findCuts(text: string): number[] {
  const ends: number[] = [];
  const total = estimateTokens(text);
  // Even pieces rather than full ones and a short rest.
  const wanted = Math.ceil(total / Math.ceil(total / PIECE_TOKENS));
  for (let from = 0; ; ) {
    const limit = positionAfter(text, from, wanted + 30);
    if (limit >= text.length) break;
    from = cutBetween(text, positionAfter(text, from, wanted - 50), limit);
    ends.push(from);
  }
  ends.push(text.length);
  return ends;
}

/** Returns how far a text goes from `start` within `tokens` tokens: a character at least, no surrogate pair cut. */
function positionAfter(text: string, start: number, tokens: number): number {
  const fits = positionWithin(text, { start, end: text.length, tokens });
  return Math.max(wholePosition(text, fits), start + 1);
}

function cutBetween(text: string, least: number, limit: number): number {
  const window = text.slice(least, limit);
  for (const boundary of BOUNDARIES) {
    let end = 0;
    for (const match of window.matchAll(boundary)) end = match.index + match[0].length;
    if (end > 0) return least + end;
  }
  return limit;
}

/** Returns where the piece after a cut starts, so that it repeats the end of the one before. */
function overlapStart(text: string, cut: number): number {
  let start = Math.max(0, cut - OVERLAP_TOKENS * 5);
  while (estimateTokens(text, start, cut) > OVERLAP_TOKENS) start += Math.max(1, (cut - start) >> 3);
  const window = text.slice(start, cut);
  for (const boundary of [/\n\s*/, /[.!?]\s+|[。！？]/, /\s+/]) {
    const match = boundary.exec(window);
    // a later one would leave too little overlap
    if (match !== null && match.index < window.length / 2) return start + match.index + match[0].length;
  }
  return wholePosition(text, start);
}

/** Returns the position, or the one before it when it lies inside a surrogate pair. */
function wholePosition(text: string, position: number): number {
  if (position <= 0 || position >= text.length) return position;
  const isLow = (text.charCodeAt(position) & 0xfc00) === 0xdc00;
  return isLow && (text.charCodeAt(position - 1) & 0xfc00) === 0xd800 ? position - 1 : position;
}

const MONTHS = "January February March April May June July August September October November December".split(
  " ",
);

/** Returns the header's lines and the blank one that ends it; `about` is the exchange in one line. */
function writeHeader(
  { participants, timezone }: ChunkContext,
  { at, topics, about }: { at: string | undefined; topics: readonly string[]; about: string },
): string {
  return (
    `[Session from ${formatMoment(at, timezone)}]\n` +
    `[Participants: ${participants.user} and ${participants.assistant}]\n` +
    `[Topics: ${topics.join(", ")}]\n[Context: ${about}]\n\n`
  );
}

/** Returns a chunk's header without labels, names and clock, which are the same everywhere: date, topics, context. */
function headerWords(header: string): string {
  const [session = "", , topics = "", context = ""] = header.split("\n");
  const date = session.slice("[Session from ".length, -1).split(" at ")[0] ?? "";
  const subject = context.replace(/^\[Context: (?:User asks|Assistant says): |\]$/g, "");
  return `${date}\n${topics.slice("[Topics: ".length, -1)}\n${subject}`;
}

/** Formats a moment: `February 5, 2026 at 10:30 AM Melbourne time`. */
function formatMoment(iso: string | undefined, timezone: string): string {
  const time = iso === undefined ? Number.NaN : Date.parse(iso);
  if (Number.isNaN(time)) return "an unknown date";
  const { year, month, day, hour, minute } = localTime(new Date(time), timezone);
  const clock = `${hour % 12 || 12}:${String(minute).padStart(2, "0")} ${hour < 12 ? "AM" : "PM"}`;
  return `${MONTHS[month - 1]} ${day}, ${year} at ${clock} ${zoneName(timezone)}`;
}

/** Names a zone: `Australia/Melbourne` → Melbourne time; `UTC` stays. */
function zoneName(timezone: string): string {
  const city = timezone.slice(timezone.lastIndexOf("/") + 1);
  return city === timezone ? timezone : `${city.replaceAll("_", " ")} time`;
}

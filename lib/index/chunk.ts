/**
 * Cuts conversation into exchanges, then into chunks small enough to find and to quote, each with a situational header.
 *
 * A chunk is cut between messages; inside one only when it alone is too long, and then the pieces overlap.
 */

import { truncate, withoutMiddle } from "../base/text.ts";
import { localTime, MONTHS } from "../base/time.ts";
import type { Row, Said } from "../hosts/session.ts";
import { readMeaning } from "../language/meaning.ts";
import { estimateTokens, positionWithin } from "../language/tokens.ts";
import { type Header, joinContent } from "./chunk-text.ts";

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
  /** Index of the first chunk made. */
  firstIndex: number;
  participants: { user: string; assistant: string };
  /** IANA name. */
  timezone: string;
}

/** A piece of an exchange, small enough to find and to quote. */
export interface Chunk {
  /** Position in the session, from 0. */
  index: number;
  at: string | undefined;
  /** Its messages in order, or one piece of a long message. */
  rows: readonly Said[];
  /** The text of its rows. */
  content: string;
  header: Header;
  hasDecision: boolean;
  hasAction: boolean;
  /** One line per tool call: searchable, never shown. */
  tools: string;
  tokens: number;
}

/** A message, or a piece of one, with the tool calls that followed it. */
interface PieceOfMessage extends Pick<Chunk, "tokens" | "tools"> {
  row: Said;
}

/** Returns the rows that are searchable, messages without the middle of a paste: no summaries, and nothing that is blank. */
export function searchableRows(rows: readonly Row[]): Row[] {
  return rows.flatMap((row): Row[] => {
    if (row.who === "tool") return [row];
    const text = row.who === "summary" ? "" : keepEnds(row.text.trimEnd());
    return text.trim() === ""
      ? []
      : [{ line: row.line, nth: row.nth, at: row.at, who: row.who, typed: row.typed, text }];
  });
}

/** Cuts the searchable rows of one exchange into chunks; none when nobody said anything in it. */
export function chunkExchange(rows: readonly Row[], context: ChunkContext): Chunk[] {
  const messages = cutMessages(rows);
  const first = messages[0];
  if (first === undefined) return [];
  const { user, assistant } = context.participants;
  const about = {
    participants: `${user} and ${assistant}`,
    speaker: first.row.who,
    subject: exchangeSubject(first.row.text),
  };
  return gather(messages).map((group, i) =>
    makeChunk(group, { context, about, index: context.firstIndex + i }),
  );
}

/** Returns the exchange's messages, with each tool call beside the text it followed. */
function cutMessages(rows: readonly Row[]): PieceOfMessage[] {
  const messages: PieceOfMessage[] = [];
  let waiting: string[] = [];
  const attachTools = (to: PieceOfMessage | undefined) => {
    if (to === undefined || waiting.length === 0) return;
    const lines = waiting.map((call) => truncate(call.replaceAll("\n", " "), TOOL_CHARACTERS));
    to.tools = [to.tools, ...lines].filter((line) => line !== "").join("\n");
    waiting = [];
  };
  for (const row of rows) {
    if (row.who === "tool") {
      waiting.push(`${row.tool} ${row.target}`);
      continue;
    }
    attachTools(messages.at(-1));
    messages.push({ row, tokens: estimateTokens(row.text) + LABEL_TOKENS, tools: "" });
  }
  attachTools(messages.at(-1));
  return messages;
}

const MISSING = "\n…\n";

/** Returns the beginning and the end of a message that is too long to be all searchable. */
function keepEnds(text: string): string {
  if (text.length <= MESSAGE_CHARACTERS) return text;
  return withoutMiddle(text, MESSAGE_CHARACTERS + MISSING.length, { mark: () => MISSING });
}

/** Groups messages by the wanted size; a message that is too long alone becomes several groups. */
function gather(messages: readonly PieceOfMessage[]): PieceOfMessage[][] {
  const groups: PieceOfMessage[][] = [];
  let group: PieceOfMessage[] = [];
  let tokens = 0;
  const close = () => {
    if (group.length > 0) groups.push(group);
    group = [];
    tokens = 0;
  };
  for (const message of messages) {
    const isFar = group[0] !== undefined && message.row.line - group[0].row.line > GATHER_LINES;
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
function cutMessage({ row, tools }: PieceOfMessage): PieceOfMessage[] {
  return cutRow(row).map((piece, i, { length }) => {
    const tokens = estimateTokens(piece.text) + LABEL_TOKENS;
    return { row: piece, tokens, tools: i === length - 1 ? tools : "" };
  });
}

function makeChunk(
  group: readonly PieceOfMessage[],
  {
    context,
    about,
    index,
  }: { context: ChunkContext; about: Pick<Header, "participants" | "speaker" | "subject">; index: number },
): Chunk {
  const rows = group.map(({ row }) => row);
  const content = joinContent(rows);
  const { topics, hasDecision, hasAction } = readMeaning(content);
  const { at } = rows[0] as Said;
  return {
    index,
    at,
    rows,
    content,
    header: { ...formatMoment(at, context.timezone), ...about, topics },
    hasDecision,
    hasAction,
    tools: group.flatMap(({ tools }) => (tools === "" ? [] : [tools])).join("\n"),
    tokens: group.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

/** Returns the start of an exchange's first message on one line, after anything an editor has put before it. */
function exchangeSubject(text: string): string {
  const line = text
    .slice(0, CONTEXT_CHARACTERS * 6)
    .replace(/^(?:<([a-z_-]+)>[\s\S]*?<\/\1>\s*)+(?=\S)/, "")
    .slice(0, CONTEXT_CHARACTERS * 3)
    .replace(/\s+/g, " ")
    .trim()
    .replaceAll("]", ")");
  return truncate(line, CONTEXT_CHARACTERS);
}

/** The size of the pieces, without what each repeats of the one before. */
const PIECE_TOKENS = 200;
/** The most of a piece that is a repetition: a fifth of it. */
const OVERLAP_TOKENS = 36;

const BOUNDARIES = [/^[ \t]*```[ \t]*\n/gm, /\n\s*\n/g, /\n/g, /[.!?]["')\]]*\s|[。！？]/g, /\s/g];

/** Cuts a long message into pieces, each repeating the end of the one before. */
function cutRow(row: Said): Said[] {
  const { text } = row;
  const ends = findCuts(text);
  // in code points, as SQL counts them
  let [counted, points] = [0, 0];
  return ends.flatMap((end, i) => {
    const start = i === 0 ? 0 : overlapStart(text, ends[i - 1] as number);
    const piece = text.slice(start, end);
    const said = piece.trim();
    if (said === "") return [];
    const from = start + piece.length - piece.trimStart().length;
    points += [...text.slice(counted, from)].length;
    counted = from;
    return { ...row, text: said, part: { from: points, to: points + [...said].length } };
  });
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

/** Returns a moment as a header has it: `February 5, 2026`, `10:30 AM Melbourne time`. */
function formatMoment(iso: string | undefined, timezone: string): Pick<Header, "day" | "clock"> {
  const time = iso === undefined ? Number.NaN : Date.parse(iso);
  if (Number.isNaN(time)) return { day: "an unknown date", clock: undefined };
  const { year, month, day, hour, minute } = localTime(new Date(time), timezone);
  const clock = `${hour % 12 || 12}:${String(minute).padStart(2, "0")} ${hour < 12 ? "AM" : "PM"}`;
  return { day: `${MONTHS[month - 1]} ${day}, ${year}`, clock: `${clock} ${zoneName(timezone)}` };
}

/** Names a zone: `Australia/Melbourne` → Melbourne time; `UTC` stays. */
function zoneName(timezone: string): string {
  const city = timezone.slice(timezone.lastIndexOf("/") + 1);
  return city === timezone ? timezone : `${city.replaceAll("_", " ")} time`;
}

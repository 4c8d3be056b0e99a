/** Chunks as ranking sees them: how often the asked terms stand in each, and what stands beside what. */

import { readHeader } from "../index/header.ts";
import type { AskedTerms } from "./asked-terms.ts";
import type { ChunkRow } from "./candidates.ts";
import type { SessionRow } from "./corpus.ts";
import type { RankedDocument } from "./rank.ts";
import { findTerms, plainText } from "./term-counts.ts";

export interface DocumentOptions {
  asked: AskedTerms;
  sessions: ReadonlyMap<string, SessionRow>;
  /** Ids of the chunks that may be results. */
  candidates: ReadonlySet<number>;
  /** Only this speaker's words count. */
  speaker: "user" | "assistant" | undefined;
}

/** Tool calls count less than what was said. */
export const TOOL_WEIGHT = 0.5;
/** Topics by rule are one word for many things. */
const TOPIC_WEIGHT = 0.2;
/** Length need not be exact, and counting words costs more than all else. */
const WORD_CHARACTERS = 5.7;
/** What the name and the folder of the session count. */
const SESSION_WORDS_WEIGHT = 2;

/** Counts chunks, given by session and position. */
export function toDocuments(rows: readonly ChunkRow[], options: DocumentOptions): RankedDocument[] {
  const isNext = (a: ChunkRow | undefined, b: ChunkRow | undefined) =>
    a !== undefined && b !== undefined && a.sessionId === b.sessionId && a.index + 1 === b.index;
  const { speaker, candidates, sessions } = options;
  return rows.map((row, i) => {
    const counted = countChunk(row, options);
    // what the other speaker said may have made it a candidate
    const isSaid = speaker === undefined || counted.counts.some((count) => count > 0);
    return {
      ...counted,
      session: sessions.get(row.sessionId)?.parentId ?? row.sessionId,
      before: isNext(rows[i - 1], row) ? i - 1 : -1,
      after: isNext(row, rows[i + 1]) ? i + 1 : -1,
      isCandidate: isSaid && candidates.has(row.id),
      time: 0,
      literals: 0,
    };
  });
}

/** A stretch of the text that is counted. */
interface Part {
  start: number;
  end: number;
  weight: number;
  isUser: boolean;
}

function countChunk(
  row: ChunkRow,
  { asked, speaker }: DocumentOptions,
): Pick<RankedDocument, "counts" | "userCounts" | "words" | "userWords"> {
  const { vocabulary, sessionCounts } = asked;
  const counts = new Float64Array(vocabulary.size);
  const userCounts = new Float64Array(vocabulary.size);
  const content = plainText(row.content);
  const around = speaker === undefined ? readAround(row) : [];
  const parts = partsOf(content, around, speaker);
  findTerms(around.map(({ text }) => text).join("") + content, vocabulary, (number, index, share) => {
    const part = partAt(parts, index);
    counts[number] = (counts[number] as number) + share * part.weight;
    if (part.isUser) userCounts[number] = (userCounts[number] as number) + share;
  });
  if (speaker === undefined) {
    for (const [number, count] of sessionCounts.get(row.sessionId)?.entries() ?? []) {
      counts[number] = (counts[number] as number) + SESSION_WORDS_WEIGHT * count;
    }
  }
  const length = around.reduce((sum, { text, weight }) => sum + text.length * weight, content.length);
  return {
    counts,
    userCounts,
    words: length / WORD_CHARACTERS,
    userWords: userLength(parts) / WORD_CHARACTERS,
  };
}

/** What a chunk holds beside what was said in it. */
function readAround(row: ChunkRow): { text: string; weight: number }[] {
  const { date, topics, context } = readHeader(row);
  return [
    { text: plainText(`${row.tools}\n`), weight: TOOL_WEIGHT },
    { text: plainText(`${topics}\n`), weight: TOPIC_WEIGHT },
    { text: plainText(`${date}\n${context}\n`), weight: 1 },
  ];
}

/** What stands around it, then each speaker's words; what another than the wanted speaker said counts nothing. */
function partsOf(
  content: string,
  around: readonly { text: string; weight: number }[],
  speaker: DocumentOptions["speaker"],
): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const { text, weight } of around) {
    parts.push({ start: end, end: end + text.length, weight, isUser: false });
    end += text.length;
  }
  for (let start = 0; start >= 0; ) {
    const next = nextLabel(content, start + 1);
    const isUser = content.startsWith("User: ", start);
    const isWanted = speaker === undefined || (speaker === "user") === isUser;
    parts.push({
      start: end + start,
      end: end + (next < 0 ? content.length : next),
      weight: isWanted ? 1 : 0,
      isUser: isWanted && isUser,
    });
    start = next;
  }
  return parts;
}

/** Where the next speaker begins; -1 for nowhere. */
function nextLabel(content: string, from: number): number {
  const user = content.indexOf("\nUser: ", from);
  const assistant = content.indexOf("\nAssistant: ", from);
  const first = user < 0 ? assistant : assistant < 0 ? user : Math.min(user, assistant);
  return first < 0 ? -1 : first + 1;
}

function partAt(parts: readonly Part[], index: number): Part {
  let i = parts.length - 1;
  while (i > 0 && (parts[i] as Part).start > index) i--;
  return parts[i] as Part;
}

function userLength(parts: readonly Part[]): number {
  return parts.reduce((sum, { start, end, isUser }) => sum + (isUser ? end - start : 0), 0);
}

/** How many of some folded names stand in a chunk as they are. */
export function countLiterals({ content, tools }: ChunkRow, literals: readonly string[]): number {
  if (literals.length === 0) return 0;
  const text = `${content}\n${tools}`.toLowerCase();
  return literals.filter((literal) => text.includes(literal)).length;
}

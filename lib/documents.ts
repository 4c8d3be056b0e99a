/** Chunks as ranking sees them: how often the asked terms stand in each, and what stands beside what. */

import type { AskedTerms } from "./asked-terms.ts";
import type { ChunkRow } from "./candidates.ts";
import type { SessionRow } from "./corpus.ts";
import { headerWords } from "./header.ts";
import type { RankedDocument } from "./rank.ts";
import { countTerms } from "./term-counts.ts";

export interface DocumentOptions {
  asked: AskedTerms;
  sessions: ReadonlyMap<string, SessionRow>;
  /** Ids of the chunks that may be results. */
  candidates: ReadonlySet<number>;
  /** Only this speaker's words count. */
  speaker: "user" | "assistant" | undefined;
}

/** Tool calls and the parts of joined names count less than what was said. */
export const TOOL_WEIGHT = 0.5;
/** What the name and the folder of the session count. */
const SESSION_WORDS_WEIGHT = 2;

/** Counts chunks, given by session and position. */
export function toDocuments(rows: readonly ChunkRow[], options: DocumentOptions): RankedDocument[] {
  const isNext = (a: ChunkRow | undefined, b: ChunkRow | undefined) =>
    a !== undefined && b !== undefined && a.sessionId === b.sessionId && a.index + 1 === b.index;
  const { speaker, candidates } = options;
  return rows.map((row, i) => {
    const counted = countChunk(row, options);
    // what the other speaker said may have made it a candidate
    const isSaid = speaker === undefined || counted.counts.some((count) => count > 0);
    return {
      ...counted,
      session: sessionOf(options, row.sessionId),
      before: isNext(rows[i - 1], row) ? i - 1 : -1,
      after: isNext(row, rows[i + 1]) ? i + 1 : -1,
      isCandidate: isSaid && candidates.has(row.id),
      time: 0,
      literals: 0,
    };
  });
}

function sessionOf({ sessions }: DocumentOptions, id: string): number {
  const session = sessions.get(id);
  const parent = session?.parentId === undefined ? undefined : sessions.get(session.parentId);
  return (parent ?? session)?.number ?? -1;
}

function countChunk(
  row: ChunkRow,
  { asked, speaker }: DocumentOptions,
): Pick<RankedDocument, "counts" | "userCounts" | "words" | "userWords"> {
  const { vocabulary, sessionCounts } = asked;
  const counts = new Float64Array(vocabulary.size);
  const userCounts = new Float64Array(vocabulary.size);
  let userWords = 0;
  let words = 0;
  for (const { by, text } of speeches(row.content)) {
    if (speaker !== undefined && speaker !== by) continue;
    if (by === "user") userWords += countTerms(text, vocabulary, { counts: userCounts });
    else words += countTerms(text, vocabulary, { counts });
  }
  for (const [number, count] of userCounts.entries()) counts[number] = (counts[number] as number) + count;
  words += userWords;
  if (speaker === undefined) {
    words += countTerms(headerWords(row), vocabulary, { counts });
    words += TOOL_WEIGHT * countTerms(row.tools, vocabulary, { counts, weight: TOOL_WEIGHT });
    for (const [number, count] of sessionCounts.get(row.sessionId)?.entries() ?? []) {
      counts[number] = (counts[number] as number) + SESSION_WORDS_WEIGHT * count;
    }
  }
  return { counts, userCounts, userWords, words };
}

function* speeches(content: string): Generator<{ by: "user" | "assistant"; text: string }> {
  for (const part of content.split(/^(?=User: |Assistant: )/m)) {
    const isUser = part.startsWith("User: ");
    yield { by: isUser ? "user" : "assistant", text: part.slice(isUser ? 6 : 11) };
  }
}

/** How many of some folded names stand in a chunk as they are. */
export function countLiterals({ content, tools }: ChunkRow, literals: readonly string[]): number {
  if (literals.length === 0) return 0;
  const text = `${content}\n${tools}`.toLowerCase();
  return literals.filter((literal) => text.includes(literal)).length;
}

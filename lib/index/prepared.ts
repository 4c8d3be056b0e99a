/**
 * Exchanges cut and ready for the index, so that a second thread can do what needs no database. Plain and few values:
 * they cross threads.
 */

import type { Rules } from "../transcripts/rules.ts";
import type { Exchange, Session } from "../transcripts/session.ts";
import { type Head, readHead } from "../transcripts/transcript.ts";
import { chunkExchange, exchanges, fullTextColumns } from "./chunk.ts";
import { contentHash } from "./content-hash.ts";
import { hashBefore } from "./file-hash.ts";
import { type RowClaim, rowsToClaim } from "./row-claims.ts";
import { newWatch, type Watch, watchedEntries } from "./watched-entries.ts";

/** A chunk as its row holds it. */
export interface ReadyChunk {
  index: number;
  at: string | undefined;
  firstLine: number;
  lastLine: number;
  /** JSON. */
  speakers: string;
  /** JSON. */
  topics: string;
  hasDecision: boolean;
  hasAction: boolean;
  tokens: number;
  hash: Uint8Array;
  contextContent: string;
  /** The content is the end of `contextContent`. */
  contentLength: number;
  tools: string;
  /** JSON. */
  entryIds: string;
  /** Full-text columns beside content and tools. */
  header: string;
  extra: string;
}

/** An exchange of a transcript: where it stands, its rows, its chunks. */
export interface PreparedExchange {
  offset: number;
  firstLine: number;
  lastLine: number;
  closed: boolean;
  /** Skipped lines before it. */
  skipped: number;
  claims: RowClaim[];
  /** Its chunks when no row of it is a copy. */
  chunks: ReadyChunk[];
}

export interface PreparedFile {
  head: Head | undefined;
  exchanges: PreparedExchange[];
  watch: Omit<Watch, "skippedBefore">;
  /** The file's hash before the last exchange. */
  fileHash: string;
}

export interface PrepareOptions {
  participants: { user: string; assistant: string };
  timezone: string;
}

/** Reads a transcript from its start and cuts it. */
export function prepareFile(
  { id, file }: Pick<Session, "id" | "file">,
  { rules, ...options }: PrepareOptions & { rules: Rules },
): PreparedFile {
  const head = readHead(file);
  const watch = newWatch();
  const prepared: PreparedExchange[] = [];
  let firstIndex = 0;
  for (const exchange of exchanges(watchedEntries(file, { rules, head, watch }))) {
    const chunks = readyChunks(exchange, { ...options, sessionId: id, firstIndex });
    firstIndex += chunks.length;
    prepared.push({ ...placeOf(exchange, watch), claims: rowsToClaim(exchange.entries), chunks });
  }
  const { skippedBefore: _, ...rest } = watch;
  return { head, exchanges: prepared, watch: rest, fileHash: hashBefore(file, prepared.at(-1)?.offset ?? 0) };
}

/** Where an exchange stands. */
export function placeOf(
  { entries, closed }: Exchange,
  { skippedBefore }: Watch,
): Pick<PreparedExchange, "offset" | "firstLine" | "lastLine" | "closed" | "skipped"> {
  const first = entries[0];
  const last = entries.at(-1);
  if (!first || !last) throw new RangeError("Expected an exchange to have entries");
  const skipped = skippedBefore.get(first) ?? 0;
  skippedBefore.delete(first);
  return { offset: first.offset, firstLine: first.line, lastLine: last.line, closed, skipped };
}

/** An exchange's chunks with all that is computed of them. */
export function readyChunks(
  exchange: Exchange,
  context: PrepareOptions & { sessionId: string; firstIndex: number },
): ReadyChunk[] {
  return chunkExchange(exchange, context).map((chunk) => {
    const { header, extra } = fullTextColumns(chunk);
    const { index, at, firstLine, lastLine, hasDecision, hasAction, tokens, contextContent, tools } = chunk;
    return {
      index,
      at,
      firstLine,
      lastLine,
      speakers: JSON.stringify(chunk.speakers),
      topics: JSON.stringify(chunk.topics),
      hasDecision,
      hasAction,
      tokens,
      hash: contentHash(contextContent),
      contextContent,
      contentLength: chunk.content.length,
      tools,
      entryIds: JSON.stringify(chunk.entryIds),
      header,
      extra,
    };
  });
}

/** What was said in a chunk. */
export function contentOf({
  contextContent,
  contentLength,
}: Pick<ReadyChunk, "contextContent" | "contentLength">): string {
  return contentLength === 0 ? "" : contextContent.slice(-contentLength);
}

/**
 * A whole transcript cut and ready for the index, so that a second thread can do what needs no database. Plain data:
 * it crosses threads.
 */

import { chunkExchange, exchanges, fullTextColumns } from "./chunk.ts";
import { contentHash } from "./content-hash.ts";
import type { Chunk, Entry, Exchange, Session } from "./session.ts";
import { type Head, readHead } from "./transcript.ts";
import { newWatch, type Watch, watchedEntries } from "./watched-entries.ts";

export type FullTextColumns = ReturnType<typeof fullTextColumns>;

/** A chunk with all that is computed of it. */
export interface ReadyChunk {
  chunk: Chunk;
  hash: Uint8Array;
  columns: FullTextColumns;
}

export interface PreparedExchange {
  /** Its entries without their text. */
  entries: Entry[];
  closed: boolean;
  /** Skipped lines before it. */
  skipped: number;
  /** Its chunks when no row of it is a copy. */
  chunks: ReadyChunk[];
}

export interface PreparedFile {
  head: Head | undefined;
  exchanges: PreparedExchange[];
  watch: Omit<Watch, "skippedBefore">;
}

export interface PrepareOptions {
  participants: { user: string; assistant: string };
  timezone: string;
  redact: (text: string) => string;
}

/** Reads a transcript from its start and cuts it. */
export function prepareFile(
  { id, file }: Pick<Session, "id" | "file">,
  options: PrepareOptions,
): PreparedFile {
  const head = readHead(file);
  const { skippedBefore, ...watch } = newWatch();
  const shared = Object.assign(watch, { skippedBefore });
  const prepared: PreparedExchange[] = [];
  let firstIndex = 0;
  for (const exchange of exchanges(watchedEntries(file, { head, watch: shared }))) {
    const chunks = readyChunks(exchange, { ...options, sessionId: id, firstIndex });
    firstIndex += chunks.length;
    const first = exchange.entries[0];
    const skipped = (first && skippedBefore.get(first)) ?? 0;
    if (first) skippedBefore.delete(first);
    prepared.push({ entries: exchange.entries.map(withoutText), closed: exchange.closed, skipped, chunks });
  }
  const { skippedBefore: _, ...rest } = shared;
  return { head, exchanges: prepared, watch: rest };
}

/** An exchange's chunks with their hash and full text. */
export function readyChunks(
  exchange: Exchange,
  context: PrepareOptions & { sessionId: string; firstIndex: number },
): ReadyChunk[] {
  return chunkExchange(exchange, context).map((chunk) => ({
    chunk,
    hash: contentHash(chunk.contextContent),
    columns: fullTextColumns(chunk),
  }));
}

function withoutText({ line, offset, end, id, kind, at }: Entry): Entry {
  return { line, offset, end, id, kind, at, text: "" };
}

/** Chunks as ranking sees them: candidates with their neighbours, and how often the asked terms occur in each. */

import type { StoredDeed } from "../index/deed-rows.ts";
import type { SessionRow } from "../index/index-state.ts";
import { splitJoined } from "../language/words.ts";
import type { Store } from "../store/store.ts";
import { type ChunkFilter, type ChunkRow, keepMatching, readChunks, readChunksAt } from "./candidates.ts";
import { readOccurrences } from "./corpus.ts";
import { findStems } from "./query.ts";
import type { RankedDocument } from "./rank.ts";
import { deedText } from "./rows.ts";

interface DocumentOptions {
  /** The number of each asked stem. */
  numbers: ReadonlyMap<string, number>;
  sessions: ReadonlyMap<string, SessionRow>;
  /** The chunks that may be results. */
  candidates: ReadonlySet<ChunkRow>;
  /** The deeds that were found, by their chunk. */
  deeds: ReadonlyMap<ChunkRow, readonly StoredDeed[]>;
  /** Only this speaker's words count. */
  speaker: "user" | "assistant" | undefined;
}

/** The weight of an occurrence, by column of the full-text index. */
export const COLUMN_WEIGHTS = { content: 1, header: 0.7, tools: 0.5, extra: 0.5 };
/** Parts of names count half. */
const PART_WEIGHT = COLUMN_WEIGHTS.extra;
/** The weight of a word of the deeds beside a chunk. */
const DEED_WEIGHT = 0.3;
/** Length need not be exact, and counting words costs more than all else. */
const WORD_CHARACTERS = 5.7;

/** Counts chunks, given by session and position. */
export function toDocuments(rows: readonly ChunkRow[], options: DocumentOptions): RankedDocument[] {
  const { numbers, speaker, candidates, sessions, deeds } = options;
  const documents = rows.map((row, i) => ({
    counts: new Float64Array(numbers.size),
    words: (row.contextContent.length + COLUMN_WEIGHTS.tools * row.tools.length) / WORD_CHARACTERS,
    session: sessions.get(row.sessionId)?.parentId ?? row.sessionId,
    before: isNext(rows[i - 1], row) ? i - 1 : -1,
    after: isNext(row, rows[i + 1]) ? i + 1 : -1,
    isCandidate: candidates.has(row),
    time: 0,
    literals: 0,
    atEnd: 0,
  }));
  const add = (document: RankedDocument | undefined, stem: string, count: number) => {
    const number = numbers.get(stem) as number;
    if (document) document.counts[number] = (document.counts[number] as number) + count;
  };
  countDeeds(rows, { numbers, deeds }, (i, stem, count) => add(documents[i], stem, count));
  if (speaker === undefined)
    countIndexed(rows, numbers.keys(), (i, stem, count) => add(documents[i], stem, count));
  else {
    const texts = rows.map(({ content }) => saidBy(speaker, content));
    findStems(numbers.keys(), texts, (stem, i, column) =>
      add(documents[i], stem, column === 0 ? 1 : PART_WEIGHT),
    );
    // the other speaker's words may have made it a candidate
    for (const document of documents) document.isCandidate &&= document.counts.some((count) => count > 0);
  }
  return documents;
}

/** Counts stems in the deeds of chunks, each once: code that repeats a word says no more than a sentence. */
function countDeeds(
  rows: readonly ChunkRow[],
  { numbers, deeds }: Pick<DocumentOptions, "numbers" | "deeds">,
  add: (row: number, stem: string, count: number) => void,
): void {
  const done = rows.flatMap((row, i) => (deeds.get(row) ?? []).map((deed) => ({ i, text: deedText(deed) })));
  const counted = new Set<string>();
  findStems(
    numbers.keys(),
    done.map(({ text }) => [text, splitJoined(text)]),
    (stem, k) => {
      const { i } = done[k] as { i: number };
      if (counted.has(`${i} ${stem}`)) return;
      counted.add(`${i} ${stem}`);
      add(i, stem, DEED_WEIGHT);
    },
  );
}

/** Counts stems in chunks as the full-text index has them. */
function countIndexed(
  rows: readonly ChunkRow[],
  stems: Iterable<string>,
  add: (row: number, stem: string, count: number) => void,
): void {
  const asked = [...stems];
  for (const store of new Set(rows.map((row) => row.store))) {
    const places = new Map(rows.flatMap((row, i) => (row.store === store ? [[row.id, i] as const] : [])));
    const ids = JSON.stringify([...places.keys()]);
    for (const stem of asked) {
      for (const { id, column } of readOccurrences(store, stem, ids)) {
        const place = places.get(id);
        if (place !== undefined) add(place, stem, COLUMN_WEIGHTS[column]);
      }
    }
  }
}

/** Returns how many of some folded names occur in a chunk as they are. */
export function countLiterals({ content, tools }: ChunkRow, literals: readonly string[]): number {
  if (literals.length === 0) return 0;
  const text = `${content}\n${tools}`.toLowerCase();
  return literals.filter((literal) => text.includes(literal)).length;
}

function isNext(a: ChunkRow | undefined, b: ChunkRow | undefined): boolean {
  return (
    a !== undefined &&
    b !== undefined &&
    a.store === b.store &&
    a.sessionId === b.sessionId &&
    a.index + 1 === b.index
  );
}

/** Returns the words of one speaker in a chunk, and the parts of names in it. */
function saidBy(speaker: "user" | "assistant", content: string): string[] {
  const label = speaker === "user" ? "User: " : "Assistant: ";
  const parts = content.split(/\n(?=(?:User|Assistant): )/).filter((part) => part.startsWith(label));
  const said = parts.map((part) => part.slice(label.length)).join("\n");
  return [said, splitJoined(said)];
}

interface NeighbourOptions {
  /** Ids of the chunks that may be results; those beside the adjoining ones are added. */
  candidates: ReadonlySet<number>;
  /** Candidates whose neighbours are candidates too. */
  adjoining: ReadonlySet<number>;
  filter: ChunkFilter;
  /** True if chunks that only lend their words are read too. */
  isLending: boolean;
}

/** Returns the candidates with the chunks around them, which lend them words or may be the answer beside them. */
export function readWithNeighbours(
  store: Store,
  { candidates, adjoining, filter, isLending }: NeighbourOptions,
): { rows: ChunkRow[]; candidates: Set<ChunkRow> } {
  const rows = new Map(readChunks(store, [...candidates]).map((row) => [row.id, row]));
  const wanted = new Map<string, Set<number>>();
  const beside: ChunkRow[] = [];
  for (const row of rows.values()) {
    const indexes = wanted.get(row.sessionId) ?? new Set();
    wanted.set(row.sessionId, indexes);
    const reach = (adjoining.has(row.id) ? 1 : 0) + (isLending ? 1 : 0);
    for (let index = row.index - reach; index <= row.index + reach; index++) indexes.add(index);
  }
  for (const row of readChunksAt(store, wanted)) if (!rows.has(row.id)) beside.push(row);
  const near = beside.filter((row) => isBeside(row, rows, adjoining)).map(({ id }) => id);
  const kept = new Set([...candidates, ...keepMatching(store, near, filter)]);
  for (const row of beside) rows.set(row.id, row);
  const all = [...rows.values()];
  return { rows: all, candidates: new Set(all.filter(({ id }) => kept.has(id))) };
}

function isBeside(row: ChunkRow, rows: Map<number, ChunkRow>, adjoining: ReadonlySet<number>): boolean {
  for (const id of adjoining) {
    const candidate = rows.get(id);
    if (candidate?.sessionId === row.sessionId && Math.abs(candidate.index - row.index) === 1) return true;
  }
  return false;
}

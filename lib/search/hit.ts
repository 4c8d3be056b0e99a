/** Passages that may answer, gathered from ranked chunks, and hits: what is shown of a passage, as `--json` prints it. */

import type { SessionRow } from "../index/index-state.ts";
import type { ChunkRow } from "./candidates.ts";
import type { Nearest } from "./nearest.ts";
import type { RankedChunk, RetrievalOptions } from "./retrieval.ts";

/** A row of a hit that answers. */
export interface HitLine {
  line: number;
  who: "user" | "assistant" | "tool";
  /** A tool call's name, target and outcome. */
  tool?: string;
  /** True if the user took it back. */
  rewound?: true;
  text: string;
}

/** One result, as `--json` prints it. */
export interface Hit {
  session_id: string;
  name: string | null;
  agent: string;
  /** Name of the project's folder. */
  project: string | null;
  timestamp: string;
  topics: string[];
  speakers: string[];
  has_decision: boolean;
  has_action: boolean;
  /** The part of the question that it holds, 0 to 1, on the same scale in every index. */
  relevance_score: number;
  strength: "strong" | "weak";
  lines: HitLine[];
  /** Other places of the session where it is spoken of, best first. */
  also: [from: number, to: number][];
  content: string;
  /** The subject of the exchange, in one sentence. */
  context: string;
  /** Exchanges before and after. */
  before: string[];
  after: string[];
  /** Sessions that hold a copy. */
  also_in: string[];
  /** The owner who shares it, and the machine it comes from. */
  from?: { owner: string; machine: string };
  file: string;
  first_line: number;
  last_line: number;
  source_gone: boolean;
  explain?: Explanation;
}

/** A hit with what is printed of it beside its JSON. */
export interface FoundHit {
  hit: Hit;
  /** The beginning of its session's id that is unique. */
  shortId: string;
  /** Names of the sessions that hold a copy. */
  copies: string[];
  /** The row that says most, where rows were chosen. */
  best?: HitLine | undefined;
  /** What its session says of it later, where no hit shows it. */
  later?: HitLine | undefined;
  /** The position, from 1, of the first hit that is later in the same session. */
  laterHit?: number;
  /** Whether its session is known to say nothing of it later. */
  isLast?: boolean;
  passage: Passage;
}

export interface HitOptions extends RetrievalOptions {
  /** Chunks by meaning, for each phrasing best first. */
  nearest?: readonly (readonly Nearest[])[] | undefined;
  /** Redacts what was stored under older rules. */
  clean: (text: string) => string;
  /** Returns the current name of a session. */
  nameOf: (session: SessionRow) => string | undefined;
  /** Returns the machine whose transcript of the session is synced to this one. @default none */
  machineOf?: ((session: SessionRow) => string | undefined) | undefined;
  /** Code points that the rows of all hits may take together with their heads. */
  maxChars: number;
  /** True if each hit is shown on one line. @default {false} */
  isBrief?: boolean | undefined;
  /** True if whole exchanges are shown, not the rows that answer. @default {false} */
  isWhole?: boolean | undefined;
  /** Exchanges wanted before and after. */
  around: number;
  explain: boolean;
}

/** The origin of a score. */
export interface Explanation {
  /** Position in each phrasing's list, from 1; null: not among its first hundred. */
  ranks: (number | null)[];
  /** Position by meaning, where vectors were asked. */
  nearest: (number | null)[];
  /** For each phrasing: the part of it that occurs in the chunk itself, 0 to 1. */
  coverage: number[];
  /** True if the times a phrasing names fit. */
  timely: boolean;
}

/** A stretch of a session that may answer. */
export interface Passage {
  /** The chunk that was found first. */
  best: RankedChunk;
  /** The chunks that were found in it, best first. */
  found: RankedChunk[];
  first: ChunkRow;
  last: ChunkRow;
}

/** A passage is no longer than this, in lines of the transcript. */
const PASSAGE_LINES = 60;
/** A chunk beside a passage joins it when it scores at least so much of the best one's score. */
const JOINING_SHARE = 0.5;

/** Gathers ranked chunks into passages, best first; every chunk is in one of them. */
export function toPassages(ranked: readonly RankedChunk[]): Passage[] {
  const passages: Passage[] = [];
  const bySession = new Map<string, Passage[]>();
  for (const chunk of ranked) {
    const own = bySession.get(chunk.row.sessionId) ?? [];
    const joined = own.find((passage) => joins(chunk, passage));
    if (joined) extend(joined, chunk);
    else {
      const passage = { best: chunk, found: [chunk], first: chunk.row, last: chunk.row };
      passages.push(passage);
      bySession.set(chunk.row.sessionId, [...own, passage]);
    }
  }
  return passages;
}

/** Merges line ranges that overlap or adjoin; the order of the first of each stays. */
export function mergeRanges(ranges: readonly (readonly [number, number])[]): [number, number][] {
  const merged: [number, number][] = [];
  for (const [from, to] of ranges) {
    const touching = merged.filter(([a, b]) => from <= b + 1 && to >= a - 1);
    const first = touching[0];
    if (!first) {
      merged.push([from, to]);
      continue;
    }
    for (const other of touching.slice(1)) merged.splice(merged.indexOf(other), 1);
    first[0] = Math.min(from, ...touching.map(([a]) => a));
    first[1] = Math.max(to, ...touching.map(([, b]) => b));
  }
  return merged;
}

/** Returns whether a chunk is one of a passage's. */
export function isWithin({ store, sessionId, index }: ChunkRow, { first, last }: Passage): boolean {
  return (
    first.store === store && first.sessionId === sessionId && index >= first.index && index <= last.index
  );
}

function joins({ row, score }: RankedChunk, passage: Passage): boolean {
  const { best, first, last } = passage;
  if (row.store !== first.store) return false;
  const isBeside = row.index === first.index - 1 || row.index === last.index + 1;
  if (!isWithin(row, passage) && !(isBeside && score >= JOINING_SHARE * best.score)) return false;
  const lines = Math.max(row.lastLine, last.lastLine) - Math.min(row.firstLine, first.firstLine);
  return lines < PASSAGE_LINES;
}

function extend(passage: Passage, chunk: RankedChunk): void {
  const { row } = chunk;
  passage.found.push(chunk);
  if (row.index < passage.first.index) passage.first = row;
  if (row.index > passage.last.index) passage.last = row;
}

/** A search's results as they are handed out: the JSON shape, the text, and why each is there. */

import { formatLocal } from "../base/time.ts";
import { headerContext } from "../index/header.ts";
import { oneLine, redact } from "../redact/redact.ts";
import { speakersOf, topicsOf } from "./candidates.ts";
import type { SessionRow } from "./corpus.ts";
import type { Passage } from "./passages.ts";
import { type Retrieved, TIMELY } from "./retrieval.ts";

/** One result, as `--json` prints it. */
export interface SearchResult {
  session_id: string;
  name: string | null;
  agent: string;
  timestamp: string;
  topics: string[];
  speakers: string[];
  has_decision: boolean;
  has_action: boolean;
  /** 0 to 1: how much of the question the best result holds, the others in proportion. */
  relevance_score: number;
  content: string;
  /** What the exchange is about, in one sentence. */
  context: string;
  /** Exchanges before and after. */
  before: string[];
  after: string[];
  /** Other sessions that discuss the same or hold a copy. */
  also_in: string[];
  file: string;
  first_line: number;
  last_line: number;
  explain?: Explanation;
}

/** Where a score comes from. */
export interface Explanation {
  /** Position in each phrasing's list, from 1; null: not among its first hundred. */
  ranks: (number | null)[];
  /** Position by meaning, where vectors were asked. */
  nearest: (number | null)[];
  /** For each phrasing: the part of the question that stands in the chunk itself, 0 to 1. */
  coverage: number[];
  /** Whether the times a phrasing names fit. */
  timely: boolean;
}

const NAME_MAX = 60;

export interface ResultOptions {
  patterns: readonly RegExp[];
  /** What a session is called now. */
  nameOf: (session: SessionRow) => string | undefined;
  explain: boolean;
}

/** Passages as results. */
export function toResults(
  passages: readonly Passage[],
  found: Retrieved,
  options: ResultOptions,
): SearchResult[] {
  const clean = (text: string) => redact(text, options.patterns);
  const best = found.chunks[0]?.score ?? 1;
  const top = confidence(found);
  return passages.map((passage) => {
    const { row, session, score } = passage.best;
    const name = options.nameOf(session);
    return {
      session_id: session.id,
      name: name === undefined ? null : oneLine(clean(name), NAME_MAX),
      agent: session.agent,
      timestamp: row.timestamp,
      topics: unique(passage.chunks.flatMap(topicsOf)),
      speakers: unique(passage.chunks.flatMap(speakersOf)),
      has_decision: passage.chunks.some(({ hasDecision }) => hasDecision),
      has_action: passage.chunks.some(({ hasAction }) => hasAction),
      relevance_score: Math.round((1000 * top * score) / best) / 1000,
      content: clean(passage.content),
      context: clean(headerContext(row)),
      before: passage.before.map(clean),
      after: passage.after.map(clean),
      also_in: passage.alsoIn,
      file: session.file,
      first_line: passage.firstLine,
      last_line: passage.lastLine,
      ...(options.explain ? { explain: explain(passage, found) } : {}),
    };
  });
}

/** A result as text: where it stands, what was said, and around it. */
export function formatResult(
  result: SearchResult,
  { position, timezone }: { position: number; timezone: string | undefined },
): string {
  const title = onOneLine(result.name ?? result.session_id);
  const time = formatLocal(result.timestamp, timezone).slice(0, 16);
  const place = `${onOneLine(result.file)}:${result.first_line}-${result.last_line}`;
  const lines = [
    `${position}. ${title} · ${result.agent} · ${time} · ${place} · ${result.relevance_score.toFixed(2)}`,
  ];
  for (const text of result.before) lines.push("[before]", text);
  if (result.before.length > 0) lines.push("[found]");
  lines.push(result.content);
  for (const text of result.after) lines.push("[after]", text);
  if (result.also_in.length > 0)
    lines.push(`[also discussed in: ${result.also_in.map(onOneLine).join(", ")}]`);
  if (result.explain) lines.push(`[why: ${formatExplanation(result.explain)}]`);
  return lines.join("\n");
}

/** A file may be called anything: its name must not begin a line of its own. */
function onOneLine(name: string): string {
  return name.replace(/\s/g, " ");
}

/** How sure the best result is, 0 to 1: the part of the best phrasing that it holds. */
function confidence({ phrasings, chunks }: Retrieved): number {
  if (chunks.length === 0) return 0;
  const coverage = Math.max(0, ...phrasings.map(({ ranking }) => ranking.coverage));
  // what fits a time that was asked for is an answer even without a word in common
  return Math.max(coverage, isTimely(chunks[0]?.fits ?? []) ? 0.5 : 0.05);
}

function explain({ best }: Passage, { phrasings }: Retrieved): Explanation {
  const orNull = (rank: number | undefined) => rank ?? null;
  return {
    ranks: best.ranks.slice(0, phrasings.length).map(orNull),
    nearest: best.ranks.slice(phrasings.length).map(orNull),
    coverage: best.coverage.map((part) => Math.round(part * 100) / 100),
    timely: isTimely(best.fits),
  };
}

function formatExplanation({ ranks, nearest, coverage, timely }: Explanation): string {
  const words = ranks.map(
    (rank, i) => `phrasing ${i + 1} ${rank === null ? "not found" : `#${rank}`}, holds ${coverage[i]} of it`,
  );
  const meaning = nearest.map((rank, i) => `meaning ${i + 1} ${rank === null ? "not found" : `#${rank}`}`);
  return [...words, ...meaning, ...(timely ? ["time fits"] : [])].join("; ");
}

function isTimely(fits: readonly number[]): boolean {
  return fits.some((fit) => fit >= TIMELY);
}

function unique<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}

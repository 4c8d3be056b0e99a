/** Finds the hits of a search: passages with the rows that answer, how strong each is, and where else they are spoken of. */

import { countPoints } from "../base/output.ts";
import type { Participants } from "../config/config.ts";
import { subjectLine } from "../index/chunk-text.ts";
import type { SessionRow } from "../index/index-state.ts";
import { readTimeCues } from "../language/times.ts";
import { wordsOf } from "../language/words.ts";
import { oneLine } from "../redact/redact.ts";
import { type Store, sharedBy } from "../store/store.ts";
import { withAftermath } from "./aftermath.ts";
import { saidIn, sessionsWithCopy } from "./candidates.ts";
import { byBestSentence, type Choice, chooseRows, readChoice } from "./choose.ts";
import { uniquePrefix } from "./corpus.ts";
import type { Meaning, Nearest } from "./nearest.ts";
import {
  chunksAround,
  exchangeRows,
  isWithin,
  judge,
  type Passage,
  rowsOf,
  STRONG,
  toPassages,
} from "./passages.ts";
import {
  type Explanation,
  type FoundHit,
  footLines,
  type Hit,
  headOf,
  mergeRanges,
  nowhereLines,
  sessionFields,
  wholeRow,
} from "./print.ts";
import { isKept, type Term, wholeTerms } from "./query.ts";
import { bestFirst } from "./rank.ts";
import { type RankedChunk, type RetrievalOptions, type Retrieved, retrieve } from "./retrieval.ts";
import {
  type Clean,
  exchangesAround,
  joinChunks,
  oncePerRow,
  type PassageRow,
  type Row,
  withHolding,
} from "./rows.ts";

export interface HitOptions extends RetrievalOptions {
  /** What meaning finds, where vectors were asked. */
  meaning?: Meaning | undefined;
  /** Redacts what was stored under older rules. */
  clean: Clean;
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
  /** The directory of who asks: what came after the rows about its files is said. @default nothing is */
  cwd?: string | undefined;
  /** What the two who talk are called: their names are never missing words. */
  participants?: Participants | undefined;
  /** Exchanges wanted before and after. */
  around: number;
  explain: boolean;
}

/** What a search finds. */
interface Found {
  /** Strong ones first, best first. */
  hits: FoundHit[];
  /** Words of the question that no session holds, those of most phrasings first. */
  nowhere: string[];
}

/** Rare words named that a hit does not hold. */
const WITHOUT_MAX = 3;
/** Passages that are measured; those behind them are weak. */
const MEASURED = 30;
/** An explanation gives positions up to this one. */
const RANKS_SHOWN = 100;

/** Finds what answers a question, given in one or several phrasings. */
export function findHits(stores: readonly Store[], texts: readonly string[], options: HitOptions): Found {
  const found = retrieve(stores, texts, options);
  const passages = toPassages(found.chunks);
  const questions = found.phrasings.map(({ question }) => question);
  const terms = wholeTerms(questions).filter((term) => !isName(term, options) && !isTime(term, options));
  const nowhere = terms.filter(found.asked.isNowhere);
  const kept = terms.filter((term) => isKept(term, questions));
  const missing = kept.filter((term) => nowhere.includes(term));
  const rare = kept.filter((term) => found.asked.isRare(term));
  const measured = passages.slice(0, Math.max(MEASURED, options.limit));
  // of one phrasing every word is kept, which says little
  const judged = judge(measured, found, {
    rare: questions.length > 1 ? rare : missing,
    isName: (term) => isName(term, options),
  });
  const strengths = new Map(judged.map((one) => [one.passage, one]));
  const near = toPassages(options.meaning?.outliers ?? []);
  const isNear = (passage: Passage) => near.some(({ best }) => isWithin(best.row, passage));
  // an exchange at a requested time is an answer even with few words in common
  const isAtTime = (passage: Passage) => passage.found.some(({ isTimely }) => isTimely);
  const strengthOf = (passage: Passage) =>
    Math.max(strengths.get(passage)?.score ?? 0, isNear(passage) || isAtTime(passage) ? STRONG : 0);
  const strong = passages.filter((passage) => strengthOf(passage) >= STRONG);
  const weak = passages.filter((passage) => strengthOf(passage) < STRONG);
  const ordered = [...withNear(strong, near, options.limit), ...weak];
  const others = ordered.slice(options.limit);
  const choices = choicesOf(ordered.slice(0, options.limit), found, options);
  // of strong ones the one whose best sentence says most comes first
  const places = choices.map((_, rank) => rank);
  places.splice(0, strong.length, ...byBestSentence(choices.slice(0, strong.length)));
  const named = new Set<string>();
  const showing = places.map((place, i) => {
    const [passage, choice] = [ordered[place] as Passage, choices[place] as Choice];
    const { sessionId } = passage.first;
    const isFirst = !named.has(sessionId);
    named.add(sessionId);
    const also = isFirst ? otherPlaces(sessionId, others) : [];
    const score = strengthOf(passage);
    const held = strengths.get(passage)?.held;
    const lacks = (term: Term) => held && !held.has(term.stem) && !nowhere.includes(term);
    const without = rare.filter(lacks).slice(0, WITHOUT_MAX).map(wordOf);
    const isBest = i === 0 && missing.length === 0 && without.length === 0;
    const isOpen = !options.isBrief && (score >= STRONG || isBest);
    const one = { ...toFoundHit(passage, { found, options, score, also }), without, isOpen };
    return { passage, choice, isFirst, one };
  });
  const words = nowhere.map(wordOf);
  const maxChars = options.maxChars - countPoints(nowhereLines(words));
  return { hits: fillRows(showing, { ...options, maxChars }), nowhere: words };
}

/** Reads the rows of passages that may be shown. */
function choicesOf(passages: readonly Passage[], found: Retrieved, options: HitOptions): Choice[] {
  const deeds = new Set([...found.deeds.values()].flat().map(({ session, line }) => `${session} ${line}`));
  const worths = worthsOf(found);
  return passages.map((passage) =>
    readChoice(rowsOf(passage, { ...options, deeds }), { worths, measure: found.measure }),
  );
}

function wordOf({ words, stem }: Term): string {
  return words[0] ?? stem;
}

/** Returns whether a word means who speaks. */
function isName({ words }: Term, { participants }: HitOptions): boolean {
  const names = ["user", "assistant", participants?.user ?? "", participants?.assistant ?? ""];
  return words.some((word) => names.some((name) => wordsOf(name).includes(word)));
}

/** Returns whether a word means a time. */
function isTime({ words }: Term, { now, timezone }: HitOptions): boolean {
  const isNamed = (text: string) => readTimeCues(text, { now, timezone }) !== undefined;
  return words.some((word) => isNamed(word) || isNamed(`${word} 2026`) || /^\d{1,2}$/.test(word));
}

/** Adds near hits within the limit, the first of them always: only the last strong hit gives way. */
function withNear(strong: readonly Passage[], near: readonly Passage[], limit: number): Passage[] {
  const [first, ...rest] = near.filter(({ best }) => !strong.some((one) => isWithin(best.row, one)));
  if (!first) return [...strong];
  const at = Math.min(strong.length, limit - 1);
  return [...strong.slice(0, at), first, ...strong.slice(at), ...rest];
}

/** Returns the places of a session among passages that are not shown. */
function otherPlaces(sessionId: string, others: readonly Passage[]): [number, number][] {
  const own = others.filter(({ first }) => first.sessionId === sessionId);
  return mergeRanges(own.map(({ first, last }) => [first.firstLine, last.lastLine] as const));
}

function toFoundHit(
  passage: Passage,
  {
    found,
    options,
    score,
    also,
  }: { found: Retrieved; options: HitOptions; score: number; also: [number, number][] },
): Omit<FoundHit, "without" | "isOpen"> {
  const { clean, nameOf, around, explain } = options;
  const { row, session } = passage.best;
  const chunks = chunksAround(passage, 0);
  const said = saidIn(chunks);
  const name = nameOf(session);
  const from = sharedBy(session);
  const copies = sessionsWithCopy(row.store, session.id, row.timestamp);
  const hit: Hit = {
    ...sessionFields(session, { name, clean }),
    timestamp: row.timestamp,
    topics: [...new Set(chunks.flatMap(({ header }) => header.topics))],
    speakers: [...new Set(chunks.flatMap((chunk) => said(chunk).map(({ who }) => who)))],
    has_decision: chunks.some(({ hasDecision }) => hasDecision),
    has_action: chunks.some(({ hasAction }) => hasAction),
    relevance_score: Math.round(1000 * score) / 1000,
    strength: score >= STRONG ? "strong" : "weak",
    lines: [],
    also,
    content: clean(joinChunks(chunks, said)),
    context: clean(
      name === undefined
        ? subjectLine(row.header)
        : `in a discussion about "${name}": ${subjectLine(row.header)}`,
    ),
    ...exchangesAround(row, { count: around, clean, timezone: options.timezone }),
    also_in: copies.map(({ id }) => id),
    first_line: passage.first.firstLine,
    last_line: passage.last.lastLine,
    ...(explain ? { explain: explainBest(passage.best, found, options.meaning) } : {}),
  };
  const names = copies.map((copy) => nameOf(copy) ?? copy.id);
  // sessions differ only after the names of owner and machine
  const shortId = uniquePrefix(row.store, session.id, from ? session.id.length - from.id.length : 0);
  const machine = options.machineOf?.(session);
  const place = machine === undefined ? shortId : `${shortId}@${machine}`;
  return { hit, shortId: place, copies: names.map(clean) };
}

function explainBest(
  { row, isTimely }: RankedChunk,
  { rows, phrasings }: Retrieved,
  meaning: Meaning | undefined,
): Explanation {
  const isIt = (one: Pick<Nearest, "store" | "id">) => one.store === row.store && one.id === row.id;
  const at = rows.findIndex(isIt);
  const rankIn = (scores: Float64Array) => bestFirst(scores).slice(0, RANKS_SHOWN).indexOf(at) + 1 || null;
  return {
    ranks: phrasings.map(({ ranking }) => rankIn(ranking.scores)),
    nearest: (meaning?.lists ?? []).map((list) => list.findIndex(isIt) + 1 || null),
    coverage: phrasings.map(({ ranking: { own, total } }) =>
      total > 0 ? Math.round((100 * (own[at] ?? 0)) / total) / 100 : 0,
    ),
    timely: isTimely,
  };
}

/** Code points to choose from for a hit that is shown on one line: more than that has, so that its best row is among them. */
const LINE_CHARS = 1000;
/** Code points of the best hit where none is strong. */
const WEAK_CHARS = 450;
/** A range grows by a few digits when its rows are known. */
const RANGE_SLACK = 4;

/** A hit with the passage that it shows, and the rows to choose from. */
interface Showing {
  one: FoundHit;
  passage: Passage;
  choice: Choice;
  /** True if none of the hits before it is of its session. */
  isFirst: boolean;
}

/** Fills hits with their rows; returns those that have any to show. */
function fillRows(showing: readonly Showing[], options: HitOptions): FoundHit[] {
  if (options.isWhole) {
    fillWhole(showing, options);
    return showing.map(({ one }) => one);
  }
  const isCertain = showing.some(({ one }) => one.hit.strength === "strong");
  const budget = isCertain ? options.maxChars : Math.min(WEAK_CHARS, options.maxChars);
  const open = showing.filter(({ one }) => one.isOpen);
  fillLines(open, { options, budget });
  for (const each of showing) {
    if (each.isFirst && isBare(each.one)) each.one.isOpen = false;
    if (!each.one.isOpen) fillLines([each], { options, budget: LINE_CHARS, isOneLine: true });
  }
  return foldEmpty(showing.map(({ one }) => one));
}

/** Leaves out hits whose rows were all less worth than others', naming their place at the first hit of their session. */
function foldEmpty(hits: readonly FoundHit[]): FoundHit[] {
  const kept: FoundHit[] = [];
  for (const one of hits) {
    const { session_id, first_line, last_line, also } = one.hit;
    const first = kept.find(({ hit }) => hit.session_id === session_id);
    if (first && isBare(one)) {
      first.hit.also = mergeRanges([[first_line, last_line], ...first.hit.also, ...also]);
    } else kept.push(one);
  }
  for (const { hit } of kept)
    hit.also = hit.also.filter((range) => !kept.some((one) => isNamedBy(one.hit, hit, range)));
  return kept;
}

function isBare({ hit: { lines, before, after } }: FoundHit): boolean {
  return lines.length + before.length + after.length === 0;
}

/** Returns whether a range of one hit's session lies in what another one names in its head. */
function isNamedBy(hit: Hit, other: Hit, [from, to]: readonly [number, number]): boolean {
  return hit.session_id === other.session_id && hit.first_line <= from && to <= hit.last_line;
}

/** Chooses the rows of hits that are shown together, within code points for all; a hit's best row goes first. */
function fillLines(
  showing: readonly Showing[],
  { options, budget, isOneLine = false }: { options: HitOptions; budget: number; isOneLine?: boolean },
): void {
  const hits = showing.map(({ one }) => one);
  const rest = hits.flatMap((one, i) => [headOf(hits, i), ...footLines(one)]);
  const taken = new Set<string>();
  const choices = showing.map(({ choice, passage }): Choice => {
    const isWanted = choice.rows.map(oncePerRow(passage.first.sessionId, taken));
    return { ...choice, units: choice.units.filter(({ row }) => isWanted[row]) };
  });
  const chosen = chooseRows(choices, {
    budget: budget - countPoints(rest) - RANGE_SLACK * hits.length,
    rowCost: (row) => countPoints([wholeRow({ ...row, text: "" })]) + 1,
  });
  for (const [i, { one, choice, passage }] of showing.entries()) {
    let lines = chosen[i] ?? [];
    if (isOneLine && lines.length === 0) lines = firstInside(choice.rows);
    widen(one.hit, isOneLine ? lines.slice(0, 1) : lines);
    const { row, session } = passage.best;
    const style = { clean: options.clean, speaker: options.filter.speaker };
    const settle = (rows: readonly Row[]) =>
      withAftermath(withHolding(rows, { store: row.store, session }, style), {
        ...options,
        store: row.store,
        session,
      });
    one.hit.lines = settle(lines);
    one.best = settle(lines.slice(0, 1))[0];
  }
}

/** Chooses the first row of a passage, for one found by meaning or by its header: no row of it holds a word. */
function firstInside(rows: readonly PassageRow[]): Row[] {
  const first = rows.find(({ isInside }) => isInside);
  if (!first) return [];
  const { isInside: _, isOutput: __, ...row } = first;
  return [{ ...row, text: oneLine(row.text, LINE_CHARS) }];
}

/** Returns the worth of each stem of the phrasings; one that several use is worth more. */
function worthsOf({ phrasings, asked }: Retrieved): Map<string, number> {
  const worths = phrasings.flatMap(({ question: { terms } }) =>
    asked.weigh(terms).map(({ worth }, i) => ({ stem: terms[i]?.stem ?? "", worth })),
  );
  const byStem = [...Map.groupBy(worths, ({ stem }) => stem)];
  return new Map(byStem.map(([stem, same]) => [stem, (same[0]?.worth ?? 0) * Math.sqrt(same.length)]));
}

/** Shows whole exchanges, each as far as its share of the code points goes. */
function fillWhole(showing: readonly Showing[], { clean, maxChars }: HitOptions): void {
  const hits = showing.map(({ one }) => one);
  const taken = new Set<string>();
  let left = maxChars;
  for (const [i, { one, passage }] of showing.entries()) {
    const head = countPoints([headOf(hits, i)]) - 1;
    const { rows, length } = exchangeRows(passage, {
      clean,
      isWanted: oncePerRow(passage.first.sessionId, taken),
      maxChars: Math.floor(left / (hits.length - i)) - head,
    });
    one.hit.lines = rows;
    widen(one.hit, rows);
    left -= length + head;
  }
}

/** Widens a hit's range to the rows that it shows. */
function widen(hit: Hit, rows: readonly Row[]): void {
  hit.first_line = Math.min(hit.first_line, ...rows.map(({ line }) => line));
  hit.last_line = Math.max(hit.last_line, ...rows.map(({ line }) => line));
}

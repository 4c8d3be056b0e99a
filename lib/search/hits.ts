/**
 * Finds the hits of a question: ranks chunks, judges the passages that they form, chooses rows of the best ones, and makes the
 * hits of them.
 */

import { countPoints } from "../base/output.ts";
import { oneLine } from "../base/text.ts";
import type { LineSpan } from "../hosts/session.ts";
import { subjectLine } from "../index/chunk-text.ts";
import type { IndexedSession } from "../index/index-state.ts";
import { readTimeCues } from "../language/times.ts";
import { contentWords, foldText, isAskingWord, splitWords } from "../language/words.ts";
import type { Store } from "../store/store.ts";
import { saidIn, sessionsWithCopy } from "./candidates.ts";
import { chooseUnits, toShownRows } from "./choose.ts";
import { areTogether } from "./corpus.ts";
import { type Explanation, type Hit, type HitStyle, isStrong, type PassageFacts, STRONG } from "./hit.ts";
import type { Meaning, Nearest } from "./nearest.ts";
import {
  chunksAround,
  exchangeRows,
  isWithin,
  type Judged,
  judge,
  type Passage,
  rowsAround,
  toPassages,
} from "./passages.ts";
import {
  type Beyond,
  footLines,
  formatHead,
  leftOutLine,
  mergeRanges,
  nowhereLines,
  UNCERTAIN_CHARS,
  UNCERTAIN_HITS,
  wholeRow,
} from "./print.ts";
import { asTyped, isKept, isRepeated, type Question, type Term, wholeTerms } from "./query.ts";
import { bestFirst } from "./rank.ts";
import { type RankedChunk, type RetrievalOptions, type Retrieved, retrieve } from "./retrieval.ts";
import {
  exchangesAround,
  joinChunks,
  oncePerRow,
  type PassageRow,
  type ShownRow,
  takenBackBefore,
  withHolding,
  withSkipped,
} from "./rows.ts";
import { type AskedWorth, toUnits, type Unit } from "./units.ts";

export interface HitOptions extends RetrievalOptions {
  /** The results by meaning, if vectors were used. */
  meaning?: Meaning | undefined;
  style: HitStyle;
  /** Code points that the rows of all hits may take together with their heads. */
  maxChars: number;
  /** True if each hit is shown on one line. @default {false} */
  isBrief?: boolean | undefined;
  /** True if whole exchanges are shown, not the rows that answer. @default {false} */
  isWhole?: boolean | undefined;
  /** Says what came after rows of a session. @default nothing is said */
  after?:
    | ((rows: readonly ShownRow[], place: { store: Store; session: IndexedSession }) => ShownRow[])
    | undefined;
  /** Exchanges wanted before and after. */
  around: number;
  explain: boolean;
}

/** The result of a search. */
interface Found {
  /** Strong ones first, best first. */
  hits: Hit[];
  /** Words and names of the question that no session holds, those of most phrasings first, and two that none holds both. */
  nowhere: string[];
  beyond: Beyond;
  /** Code points of the printed answer: fewer where nothing is certain. */
  maxChars: number;
}

/** The words of a question by what they say of a hit that lacks them. */
interface AskedWords {
  /** The rare terms of a question beside its time; undefined if it asks for a time alone. */
  beside: Term[] | undefined;
  /** In no session. */
  nowhere: Term[];
  /** In most phrasings. */
  kept: Term[];
  /** Those of them in no session. */
  missing: Term[];
  /** In few sessions, and in most phrasings. */
  rare: Term[];
}

/** A passage that is shown, with the rows to choose from. */
interface Candidate extends Judged {
  rows: PassageRow[];
  units: Unit[];
}

/** A candidate with its rank among the shown ones. */
interface Draft extends Candidate {
  /** The parts of a hit that are known before its rows. */
  facts: Omit<Hit, "rows" | "isOpen">;
  /** True if none of those before it is of its session. */
  isFirst: boolean;
  isOpen: boolean;
}

/** A draft with its rows. */
interface Filled extends Draft {
  shown: ShownRow[];
  /** Its chosen units in the order of choice. */
  chosen: Unit[];
}

/** Rare words named that a hit does not hold. */
const WITHOUT_MAX = 3;
/** Passages that are measured; those behind them are weak. */
const MEASURED = 30;
/** Passages whose rows are looked at. */
const SHORTLIST = 16;
/** An explanation gives positions up to this one. */
const RANKS_SHOWN = 100;

/** The passages that may answer a question, before any is chosen. */
interface Retrieval {
  found: Retrieved;
  words: AskedWords;
  asked: AskedWorth;
  /** Best ranked first. */
  judged: Judged[];
  /** The first of them with their units. */
  candidates: Candidate[];
}

/** Finds the passages that may answer a question, given in one or several phrasings, and cuts the best of them into units. */
export function findCandidates(store: Store, texts: readonly string[], options: HitOptions): Retrieval {
  const found = retrieve(store, texts, options);
  const words = sortWords(found, options);
  const judged = judgeAll(found, words, options);
  const asked = askedWorth(found);
  const near = toPassages(options.meaning?.outliers ?? [])
    .filter(({ best }) => !judged.some((one) => isStrong(one) && isWithin(best.chunk, one.passage)))
    .map((passage) => ({ ...unmeasured(passage), score: STRONG }));
  const shortlist = [...judged.slice(0, Math.max(SHORTLIST, options.limit)), ...near];
  return { found, words, asked, judged, candidates: withUnits(shortlist, { found, asked, options }) };
}

/** Finds what answers a question, given in one or several phrasings. */
export function findHits(store: Store, texts: readonly string[], options: HitOptions): Found {
  const { found, words, asked, judged, candidates: all } = findCandidates(store, texts, options);
  const candidates = withNearest(byChance(all), options.limit);
  const others = judged.filter(({ passage }) => !candidates.some((one) => one.passage === passage));
  const drafts = draftHits(candidates, { found, words, others, options });
  const questions = found.phrasings.map(({ question }) => question);
  const absent = new Set(words.nowhere.map((term) => shownWord(term, questions)));
  const present = words.kept.filter((term) => !absent.has(shownWord(term, questions)));
  const apart = judged.some(isStrong) ? [] : apartWords(present, found);
  const nowhere = [...absent, ...apart];
  const beyond: Beyond = {
    strong: others.filter(isStrong).length,
    limit: options.limit,
  };
  const around = [...nowhereLines(nowhere), leftOutLine(beyond)];
  const maxChars = budgetFor(candidates.some(isStrong), options);
  const filled = fill(drafts, { asked, options: { ...options, maxChars: maxChars - countPoints(around) } });
  return { hits: filled.map((one) => toHit(one, { found, asked })), nowhere, beyond, maxChars };
}

/** Returns the code points of the answer. */
function budgetFor(isCertain: boolean, { maxChars, isBrief, isWhole, around }: HitOptions): number {
  const isShort = !(isCertain || isBrief || isWhole || around > 0);
  return isShort ? Math.min(maxChars, UNCERTAIN_CHARS) : maxChars;
}

function splitAt<T>(all: readonly T[], at: number): [T[], T[]] {
  return [all.slice(0, at), all.slice(at)];
}

/** Sorts the words of a question. Speakers' names and times do not count as words. */
function sortWords({ phrasings, asked }: Retrieved, options: HitOptions): AskedWords {
  const questions = phrasings.map(({ question }) => question);
  const terms = wholeTerms(questions).filter((term) => isTelling(term, options) && !isTime(term, options));
  const words = terms.filter(asked.isNowhere);
  const names = absentNames(questions, { asked, words });
  const absent = [...words, ...names];
  // a phrasing all of whose words occur says in other words what those of the others say
  const isCovered = questions.some((question) => !absent.some((term) => isKept(term, [question])));
  const kept = [...terms, ...names].filter((term) => isKept(term, questions));
  const nowhere = isCovered
    ? absent.filter((term) => kept.includes(term) || isRepeated(term, questions))
    : absent;
  return {
    nowhere,
    kept,
    beside: besideTime(terms, questions)?.filter((term) => !asked.isNowhere(term)),
    missing: nowhere.filter((term) => kept.includes(term)),
    rare: kept.filter((term) => asked.isRare(term)),
  };
}

/** Names the two rarest words that occur, where no session holds both; two words of one name by that name. */
function apartWords(terms: readonly Term[], { corpus, asked, phrasings }: Retrieved): string[] {
  const worth = (term: Term) => asked.weigh([term])[0]?.worth ?? 0;
  const [one, other] = terms.toSorted((a, b) => worth(b) - worth(a));
  if (!one || !other || areTogether(corpus, one.words, other.words)) return [];
  const questions = phrasings.map(({ question }) => question);
  const names = new Set([one, other].map((term) => shownWord(term, questions)));
  return [[...names].join(" together with ")];
}

/** Returns the names that stand nowhere as they were typed, though each of their words does. */
function absentNames(
  questions: readonly Question[],
  { asked, words }: { asked: Retrieved["asked"]; words: readonly Term[] },
): Term[] {
  const known = new Set(words.flatMap((term) => term.words));
  const names = new Set(questions.flatMap((question) => question.names));
  return [...names]
    .filter((name) => !splitWords(name).some((word) => known.has(word)) && asked.isNameNowhere(name))
    .map((name) => ({ stem: name, words: [name] }));
}

/** Returns the terms that describe the event, without `what did we talk about`; undefined if none are left. */
function besideTime(terms: readonly Term[], questions: readonly Question[]): Term[] | undefined {
  const telling = new Set(questions.flatMap(({ text }) => contentWords(text).map(foldText)));
  const beside = terms.filter(({ words }) => words.some((word) => telling.has(word)));
  return beside.length === 0 ? undefined : beside;
}

/** Judges the passages that ranked chunks form, best ranked first. */
function judgeAll(found: Retrieved, { rare, missing, beside }: AskedWords, options: HitOptions): Judged[] {
  const passages = toPassages(found.ranked);
  const [measured, others] = splitAt(passages, Math.max(MEASURED, options.limit));
  const judged = judge(measured, found, {
    // of one phrasing every word is kept, which says little
    rare: found.phrasings.length > 1 ? rare : missing,
    isTelling: (term) => isTelling(term, options),
  });
  const near = options.meaning?.outliers ?? [];
  // a time proves nothing without some of what is asked for beside it
  const isSure = ({ passage, held }: Judged) =>
    near.some(({ chunk }) => isWithin(chunk, passage)) ||
    (passage.found.some(({ isTimely }) => isTimely) && (beside?.some(({ stem }) => held?.has(stem)) ?? true));
  return [...judged, ...others.map(unmeasured)].map((one) =>
    isSure(one) ? { ...one, score: Math.max(one.score, STRONG) } : one,
  );
}

function unmeasured(passage: Passage): Judged {
  return { passage, score: 0, held: undefined, together: [] };
}

/** Returns the worth of the stems of a question; one that several phrasings use is worth more. */
function askedWorth({ phrasings, asked }: Retrieved): AskedWorth {
  const { numbers } = asked;
  const all = new Float64Array(numbers.size);
  const uses = new Float64Array(numbers.size);
  const each = phrasings.map(({ question: { terms } }) => {
    const own = new Float64Array(numbers.size);
    for (const { number, worth } of asked.weigh(terms)) {
      own[number] = worth;
      uses[number] = (uses[number] as number) + 1;
      all[number] = worth * Math.sqrt(uses[number] as number);
    }
    return toShares(own);
  });
  return { numbers, all: toShares(all), phrasings: each };
}

function toShares(worths: Float64Array): Float64Array {
  const total = worths.reduce((sum, worth) => sum + worth, 0) || 1;
  return worths.map((worth) => worth / total);
}

/** Cuts the rows of passages, best ranked first, into units; a row is one passage's. */
function withUnits(
  judged: readonly Judged[],
  { found, asked, options }: { found: Retrieved; asked: AskedWorth; options: HitOptions },
): Candidate[] {
  const { filter } = options;
  const taken = new Set<string>();
  const top = found.ranked[0]?.score || 1;
  const sessions = new Map<string, number>();
  for (const { session, score } of found.ranked)
    sessions.set(session.id, (sessions.get(session.id) ?? 0) + score);
  const most = Math.max(...sessions.values()) || 1;
  return judged.map((one) => {
    const { first, found: chunks } = one.passage;
    const rows = rowsAround(one.passage, { filter, deeds: found.deeds });
    const units = toUnits(rows, {
      asked,
      measure: found.measure,
      found: {
        session: (sessions.get(first.sessionId) ?? 0) / most,
        // what was done stands behind the words of its chunk
        chunk: ({ line, who }) => {
          const over = chunks.filter(
            ({ chunk }) => chunk.firstLine <= line && (line <= chunk.lastLine || who === "tool"),
          );
          return Math.max(0, ...over.map(({ score }) => score)) / top;
        },
        isTimely: chunks.some(({ isTimely }) => isTimely),
      },
    });
    const isOwn = new Set(rows.filter(oncePerRow(first.sessionId, taken)));
    return { ...one, rows, units: units.filter(({ row }) => isOwn.has(row)) };
  });
}

/** Each further passage is less likely to answer. real2, codebench, deeds: 0.5 … 0.9 print within 8 of 366. */
const NEXT_PASSAGE = 0.6;

/** Returns candidates, given best ranked first, strong ones first, and of these the one with the likeliest unit. */
function byChance(candidates: readonly Candidate[]): Candidate[] {
  const chances = new Map(
    candidates.map((one, rank) => [
      one,
      NEXT_PASSAGE ** rank * Math.max(0, ...one.units.map(({ chance }) => chance)),
    ]),
  );
  const chance = (one: Candidate) => chances.get(one) as number;
  return candidates.toSorted((a, b) => Number(isStrong(b)) - Number(isStrong(a)) || chance(b) - chance(a));
}

/** Returns the first candidates, the one that only meaning found in place of the last where it would be left out. */
function withNearest(ordered: readonly Candidate[], limit: number): Candidate[] {
  const at = ordered.findIndex((one) => one.held === undefined && isStrong(one));
  const near = ordered[at];
  if (!near || at < limit) return ordered.slice(0, limit);
  return [...ordered.slice(0, limit - 1), near];
}

/** From this score on a hit's rows are printed; the best hit's always are. */
const OPEN = 0.4;

function draftHits(
  candidates: readonly Candidate[],
  {
    found,
    words,
    others,
    options,
  }: { found: Retrieved; words: AskedWords; others: readonly Judged[]; options: HitOptions },
): Draft[] {
  const sessions = candidates.map(({ passage }) => passage.first.sessionId);
  const questions = found.phrasings.map(({ question }) => question);
  const open = options.isBrief ? 0 : candidates.some(isStrong) ? candidates.length : UNCERTAIN_HITS;
  return candidates.map((one, i): Draft => {
    const { passage, held, score } = one;
    const isFirst = sessions.indexOf(passage.first.sessionId) === i;
    const lacks = (term: Term) => held && !held.has(term.stem) && !words.nowhere.includes(term);
    const lacking = new Set(words.rare.filter(lacks).map((term) => shownWord(term, questions)));
    const without = [...lacking].slice(0, WITHOUT_MAX);
    const { chunk, session } = passage.best;
    const facts: Draft["facts"] = {
      session,
      at: chunk.timestamp,
      from: passage.first.firstLine,
      to: passage.last.lastLine,
      also: isFirst ? otherPlaces(passage, others) : [],
      score,
      without,
      copies: sessionsWithCopy(chunk.store, session.id, chunk.timestamp),
      passage: findFacts(passage, options),
      ...(options.explain && { explain: explainJudged(one, found, options.meaning) }),
    };
    return { ...one, facts, isFirst, isOpen: i < open && (i === 0 || score >= OPEN) };
  });
}

/** Returns a word of a question as it was typed first. */
function shownWord({ words: [folded], stem }: Term, questions: readonly Question[]): string {
  return asTyped(
    folded ?? stem,
    questions.map(({ text }) => text),
  );
}

/** Returns whether a word carries the subject of the question: it neither names a speaker nor asks for what was said. */
function isTelling(term: Term, options: HitOptions): boolean {
  return !isName(term, options) && !term.words.every(isAskingWord);
}

/** Returns whether a word means who speaks. */
function isName({ words }: Term, { style: { participants } }: HitOptions): boolean {
  const names = ["user", "assistant", participants?.user ?? "", participants?.assistant ?? ""];
  return words.some((word) => names.some((name) => splitWords(name).includes(word)));
}

/** Returns whether a word means a time. */
function isTime({ words }: Term, { now, timezone }: HitOptions): boolean {
  const isNamed = (text: string) => readTimeCues(text, { now, timezone }) !== undefined;
  return words.some((word) => isNamed(word) || isNamed(`${word} 2026`) || /^(?:\d{1,2}|20\d\d)$/.test(word));
}

/** Returns the places of a passage's session that are not shown. */
function otherPlaces({ first: { sessionId } }: Passage, others: readonly Judged[]): LineSpan[] {
  const own = others.filter(({ passage }) => passage.first.sessionId === sessionId);
  return mergeRanges(own.map(({ passage: { first, last } }) => [first.firstLine, last.lastLine] as const));
}

function findFacts(passage: Passage, { around, timezone }: HitOptions): PassageFacts {
  const { chunk } = passage.best;
  const chunks = chunksAround(passage, 0);
  const said = saidIn(chunks);
  return {
    topics: [...new Set(chunks.flatMap(({ header }) => header.topics))],
    speakers: [...new Set(chunks.flatMap((chunk) => said(chunk).map(({ who }) => who)))],
    hasDecision: chunks.some(({ hasDecision }) => hasDecision),
    hasAction: chunks.some(({ hasAction }) => hasAction),
    content: joinChunks(chunks, said),
    subject: subjectLine(chunk.header),
    ...exchangesAround(chunk, { count: around, timezone }),
  };
}

function explainJudged(
  { passage: { best }, together }: Judged,
  found: Retrieved,
  meaning: Meaning | undefined,
): Explanation {
  return { ...explainBest(best, found, meaning), together: wordsAsked(together, found), chosen: [] };
}

function explainBest(
  { chunk, isTimely }: RankedChunk,
  { chunks, phrasings }: Retrieved,
  meaning: Meaning | undefined,
): Pick<Explanation, "ranks" | "nearest" | "coverage" | "timely"> {
  const isIt = (one: Pick<Nearest, "store" | "id">) => one.store === chunk.store && one.id === chunk.id;
  const at = chunks.findIndex(isIt);
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

/** Returns the words of the question that have some stems. */
function wordsAsked(stems: readonly string[], { phrasings }: Retrieved): string[] {
  const terms = phrasings.flatMap(({ question }) => question.terms);
  return stems.map((stem) =>
    shownWord(
      terms.find((term) => term.stem === stem) ?? { stem, words: [] },
      phrasings.map(({ question }) => question),
    ),
  );
}

/** Code points of the row of a hit that is shown on one line: more than the line has. */
const LINE_CHARS = 1000;
/** The units among which the line's unit is chosen: the likeliest that is not a mere read or search. */
const LINE_UNITS = 5;
/** A range grows by a few digits when its rows are known. */
const RANGE_SLACK = 4;
/** The blank before a row's text, and the line that counts the rows left out before it. */
const GAP_CHARS = 14;

/** Gives drafts their rows. */
function fill(
  drafts: readonly Draft[],
  { asked, options }: { asked: AskedWorth; options: HitOptions },
): Filled[] {
  if (options.isWhole) return fillWhole(drafts, options);
  const open = drafts.filter(({ isOpen }) => isOpen);
  const { style } = options;
  const facts = open.map((draft) => draft.facts);
  const chosen = chooseUnits(
    open.map(({ units }, i) => ({
      units,
      headCost:
        countPoints([formatHead(facts, i, style), ...footLines(facts[i] as Draft["facts"], style)]) +
        RANGE_SLACK,
    })),
    {
      budget: options.maxChars,
      worths: asked.all,
      rowCost: (row) => countPoints([wholeRow({ ...row, text: "" })]) + GAP_CHARS,
    },
  );
  const filled = drafts.map((draft) => {
    const units = chosen[open.indexOf(draft)] ?? [];
    return units.length > 0
      ? withRows(draft, units, options)
      : withLine({ ...draft, isOpen: false }, options);
  });
  return foldEmpty(filled);
}

/** Gives a draft its chosen rows, and the remarks on them. */
function withRows(draft: Draft, chosen: Unit[], { filter, after }: HitOptions): Filled {
  const { chunk, session } = draft.passage.best;
  const rows = toShownRows(draft.rows, chosen);
  const place = { store: chunk.store, session };
  const counted = withSkipped(rows, chunk.store, session.number);
  const held = withHolding(counted, place, filter.speaker);
  const shown = after?.(held, place) ?? held;
  return { ...withTakenBack(widened(draft, rows), rows), shown, chosen };
}

/** Gives a draft the units that most likely answer, first those with a word of the question; without units, its first row. */
function withLine(draft: Draft, options: HitOptions): Filled {
  const held = draft.units.filter(({ features }) => features.all > 0);
  const best = (held.length > 0 ? held : draft.units).toSorted((a, b) => b.chance - a.chance);
  if (best.length > 0) return withRows(draft, best.slice(0, LINE_UNITS), options);
  return { ...draft, shown: firstInside(draft.rows), chosen: [] };
}

/** Leaves out hits whose rows were all less worth than others', naming their place at the first hit of their session. */
function foldEmpty(filled: readonly Filled[]): Filled[] {
  const isFolded = (one: Filled) => isBare(one) && !one.isFirst;
  const kept = filled.filter((one) => !isFolded(one));
  const isNamed = ([from, to]: LineSpan, { facts: { session } }: Filled) =>
    kept.some(({ facts }) => facts.session.id === session.id && facts.from <= from && to <= facts.to);
  return kept.map((one) => {
    let places = one.facts.also;
    if (one.isFirst) {
      for (const { facts } of filled.filter((other) => isFolded(other) && isOfSession(other, one)))
        places = mergeRanges([[facts.from, facts.to], ...places, ...facts.also]);
    }
    const also = places.filter((place) => !isNamed(place, one));
    return { ...one, facts: { ...one.facts, also } };
  });
}

function isOfSession({ facts }: Draft, other: Draft): boolean {
  return facts.session.id === other.facts.session.id;
}

function isBare({ chosen, isOpen, facts: { passage } }: Filled): boolean {
  return !isOpen && chosen.length === 0 && !passage?.before.length && !passage?.after.length;
}

/** Chooses the first row of a passage, for one found by meaning or by its header: no row of it holds a word. */
function firstInside(rows: readonly PassageRow[]): ShownRow[] {
  const first = rows.find(({ isInside }) => isInside);
  if (!first) return [];
  const { isInside: _, isOutput: __, ...row } = first;
  return [{ ...row, text: oneLine(row.text, LINE_CHARS) }];
}

/** Shows whole exchanges, each as far as its share of the code points goes. */
function fillWhole(drafts: readonly Draft[], { style, maxChars }: HitOptions): Filled[] {
  const facts = drafts.map((draft) => draft.facts);
  const taken = new Set<string>();
  let left = maxChars;
  return drafts.map((draft, i) => {
    const head = countPoints([formatHead(facts, i, style)]) - 1;
    const { rows, length } = exchangeRows(draft.passage, {
      isWanted: oncePerRow(draft.passage.first.sessionId, taken),
      maxChars: Math.floor(left / (drafts.length - i)) - head,
    });
    left -= length + head;
    return { ...withTakenBack(widened(draft, rows), rows), shown: rows, chosen: [] };
  });
}

/** Returns a draft with the lines that were taken back before the exchanges of its rows. */
function withTakenBack(draft: Draft, shown: readonly ShownRow[]): Draft {
  const { chunk, session } = draft.passage.best;
  const takenBack = takenBackBefore(shown, draft.rows, { store: chunk.store, session });
  return takenBack.length === 0 ? draft : { ...draft, facts: { ...draft.facts, takenBack } };
}

/** Returns a draft with its range widened to rows. */
function widened(draft: Draft, rows: readonly ShownRow[]): Draft {
  const lines = rows.map(({ line }) => line);
  const { from, to } = draft.facts;
  return {
    ...draft,
    facts: { ...draft.facts, from: Math.min(from, ...lines), to: Math.max(to, ...lines) },
  };
}

function toHit(
  { facts, shown, isOpen, chosen }: Filled,
  { found, asked }: { found: Retrieved; asked: AskedWorth },
): Hit {
  const stems = [...asked.numbers.keys()];
  const parts = chosen.map(({ row: { line }, held, chance }) => {
    const words = wordsAsked(
      stems.filter((_, i) => (held[i] as number) > 0),
      found,
    );
    return { line, words, worth: Math.round(100 * Math.log(chance)) / 100 };
  });
  const lead = chosen[0]?.row.line;
  return {
    ...facts,
    rows: shown,
    lead,
    isOpen,
    ...(facts.explain && { explain: { ...facts.explain, chosen: parts } }),
  };
}

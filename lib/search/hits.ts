/**
 * Finds the hits of a question: ranks chunks, joins them into passages, judges these by the units of their rows, chooses the
 * likeliest units, and makes the hits of them.
 */

import { countPoints } from "../base/output.ts";
import { oneLine } from "../base/text.ts";
import type { LineSpan } from "../hosts/session.ts";
import { joinContent, subjectLine } from "../index/chunk-text.ts";
import type { IndexedSession } from "../index/index-state.ts";
import { joinParts, readSaid } from "../index/stored-rows.ts";
import type { Store } from "../store/store.ts";
import { type AskedWords, isTelling, nowhereNames, shownWord, sortWords } from "./asked.ts";
import { sessionsWithCopy } from "./candidates.ts";
import { chooseUnits, toShownRows } from "./choose.ts";
import { type Explanation, type Hit, type HitStyle, isStrong, type PassageFacts, STRONG } from "./hit.ts";
import type { Meaning } from "./nearest.ts";
import { chunksAround, isWithin, type Passage, stemsOf, toCandidates, toPassages } from "./passages.ts";
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
import { bestFirst } from "./rank.ts";
import { type RetrievalOptions, type Retrieved, retrieve } from "./retrieval.ts";
import {
  exchangeRows,
  exchangesAround,
  markRewound,
  oncePerRow,
  type ShownRow,
  takenBackBefore,
  withHolding,
  withSkipped,
} from "./rows.ts";
import { type Judged, judge } from "./strength.ts";
import type { AskedWorth, Unit } from "./units.ts";

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
  /** Best first. */
  hits: Hit[];
  /** Words and names of the question that no session holds, those of most phrasings first, and two that none holds both. */
  nowhere: string[];
  beyond: Beyond;
  /** Code points of the printed answer: fewer where nothing is certain. */
  maxChars: number;
}

/** A search as all its steps see it. */
interface Search {
  store: Store;
  options: HitOptions;
  found: Retrieved;
  words: AskedWords;
  asked: AskedWorth;
  /** All that was found, best ranked first. */
  passages: Passage[];
  /** The first of them, judged, and the passages that only meaning found. */
  candidates: Judged[];
}

/** Passages that are judged; those behind them are only named. */
const JUDGED = 30;
/** Passages among which the hits are. */
const SHORTLIST = 16;

/** Finds the passages that may answer a question, given in one or several phrasings, and judges them by their units. */
export function findCandidates(store: Store, texts: readonly string[], options: HitOptions): Search {
  const { filter, limit, meaning } = options;
  const near = meaning?.outliers ?? [];
  const found = retrieve(store, texts, { ...options, beside: near.map(({ chunk }) => chunk.id) });
  const words = sortWords(found, options);
  const asked = askedWorth(found);
  const passages = toPassages(found.ranked);
  const judged = passages.slice(0, Math.max(JUDGED, limit));
  const isFound = (passage: Passage) => near.some(({ chunk }) => isWithin(chunk, passage));
  const alone = toPassages(near.filter(({ chunk }) => !judged.some((passage) => isWithin(chunk, passage))));
  const all = toCandidates(store, [...judged, ...alone], { asked, found, filter });
  const { rare, beside } = words;
  const scores = judge(all, found, { rare, isTelling: (term) => isTelling(term, options), worth: asked });
  // a time proves nothing without some of what is asked for beside it
  const isSure = ({ passage, held }: Judged) =>
    isFound(passage) ||
    (passage.found.some(({ isTimely }) => isTimely) && (beside?.some(({ stem }) => held.has(stem)) ?? true));
  const candidates = scores.map((one) =>
    isSure(one) ? { ...one, score: Math.max(one.score, STRONG) } : one,
  );
  return { store, options, found, words, asked, passages, candidates };
}

/** Finds what answers a question, given in one or several phrasings. */
export function findHits(store: Store, texts: readonly string[], options: HitOptions): Found {
  const search = findCandidates(store, texts, options);
  const { candidates, found, words } = search;
  const { limit, isBrief, isWhole, around } = options;
  const hits = chooseHits(search);
  const isShown = new Set(hits);
  const strong = candidates.filter((one) => isStrong(one) && !isShown.has(one)).length;
  const beyond: Beyond = { strong, limit };
  const nowhere = nowhereNames(words, found, { isCertain: candidates.some(isStrong) });
  const isShort = !(hits.some(isStrong) || isBrief || isWhole || around > 0);
  const maxChars = isShort ? Math.min(options.maxChars, UNCERTAIN_CHARS) : options.maxChars;
  const budget = maxChars - countPoints([...nowhereLines(nowhere), leftOutLine(beyond)]);
  return {
    hits: isWhole ? wholeHits(hits, search, budget) : unitHits(hits, search, budget),
    nowhere,
    beyond,
    maxChars,
  };
}

/** Returns the worth of the stems of a question; one that several phrasings use is worth more. */
function askedWorth({ questions, asked }: Retrieved): AskedWorth {
  const { numbers } = asked;
  const all = new Float64Array(numbers.size);
  const uses = new Float64Array(numbers.size);
  const each = questions.map(({ terms }) => {
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

/** Returns the hits, the one with the likeliest unit first; one that only meaning found is always among them. */
function chooseHits({ candidates, passages, options: { limit } }: Search): Judged[] {
  const shortlist = candidates.filter(
    ({ passage }, rank) => rank < Math.max(SHORTLIST, limit) || !passages.includes(passage),
  );
  const chanceOf = ({ units }: Judged) => Math.max(0, ...units.map(({ chance }) => chance));
  const ordered = shortlist.toSorted((a, b) => chanceOf(b) - chanceOf(a));
  const first = ordered.slice(0, limit);
  const near = ordered.find(({ passage }) => !passages.includes(passage));
  return near && !first.includes(near) ? [...first.slice(0, limit - 1), near] : first;
}

/** From this score on a hit's rows are printed; the best hit's always are. */
const OPEN = 0.4;
/** Code points of the row of a hit that is shown on one line: more than the line has. */
const LINE_CHARS = 1000;
/** The units among which the line's unit is chosen: the likeliest that is not a mere read or search. */
const LINE_UNITS = 5;
/** A range grows by a few digits when its rows are known. */
const RANGE_SLACK = 4;
/** The blank before a row's text, and the line that counts the rows left out before it. */
const GAP_CHARS = 14;

/** Makes hits of the units that are likeliest to answer. */
function unitHits(judged: readonly Judged[], search: Search, budget: number): Hit[] {
  const { options, asked } = search;
  const { style, isBrief, around } = options;
  const isFirst = (one: Judged) => judged.find((other) => isOfSession(other, one)) === one;
  // where all rows are another hit's, the place is named there
  const kept = judged.filter((one) => one.units.length > 0 || isFirst(one) || around > 0);
  const facts = kept.map((one) => factsOf(one, search, kept));
  const openMost = isBrief ? 0 : kept.some(isStrong) ? kept.length : UNCERTAIN_HITS;
  const choices = kept.map(({ units, score }, i) => ({
    units: i < openMost && (i === 0 || score >= OPEN) ? units : [],
    headCost:
      countPoints([formatHead(facts, i, style), ...footLines(facts[i] as Facts, style)]) + RANGE_SLACK,
  }));
  const rowCost = (row: ShownRow) => countPoints([wholeRow({ ...row, text: "" })]) + GAP_CHARS;
  const chosen = chooseUnits(choices, { budget, worths: asked.all, rowCost });
  return kept.map((one, i) => {
    const units = chosen[i] as Unit[];
    const isOpen = units.length > 0;
    return toHit(one, search, { facts: facts[i] as Facts, isOpen, units: isOpen ? units : lineUnits(one) });
  });
}

function isOfSession({ passage }: Judged, other: Judged): boolean {
  return passage.first.sessionId === other.passage.first.sessionId;
}

/** Returns the units that most likely answer, first those with a word of the question. */
function lineUnits({ units }: Judged): Unit[] {
  const held = units.filter(({ features }) => features.all > 0);
  return (held.length > 0 ? held : units).toSorted((a, b) => b.chance - a.chance).slice(0, LINE_UNITS);
}

/** The parts of a hit that are known before its rows. */
type Facts = Omit<Hit, "rows" | "isOpen">;

/** Rare words named that a hit does not hold. */
const WITHOUT_MAX = 3;

function factsOf(one: Judged, search: Search, kept: readonly Judged[]): Facts {
  const { store, found, words, options, passages } = search;
  const { passage, held, score } = one;
  const { best, first, last } = passage;
  const isOthers = (other: Passage) =>
    other.first.sessionId === first.sessionId && !kept.some((hit) => hit.passage === other);
  const places = passages
    .filter(isOthers)
    .map((other) => [other.first.firstLine, other.last.lastLine] as const);
  const lacking = words.named.filter((term) => !held.has(term.stem) && !words.nowhere.includes(term));
  const without = new Set(lacking.map((term) => shownWord(term, found.questions)));
  return {
    session: best.session,
    at: best.chunk.timestamp,
    from: first.firstLine,
    to: last.lastLine,
    also: kept.find((other) => isOfSession(other, one)) === one ? mergeRanges(places) : [],
    score,
    without: passages.includes(passage) ? [...without].slice(0, WITHOUT_MAX) : [],
    copies: sessionsWithCopy(store, first.sessionId, best.chunk.timestamp),
    passage: passageFacts(passage, search),
    ...(options.explain && { explain: explain(one, search) }),
  };
}

function passageFacts(passage: Passage, { store, found, options }: Search): PassageFacts {
  const { best } = passage;
  const chunks = chunksAround(found.chunks, passage, 0);
  const said = readSaid(
    store,
    chunks.map(({ id }) => id),
  );
  const rows = chunks.flatMap(({ id }) => said.get(id) ?? []);
  const { around: count, timezone } = options;
  return {
    topics: [...new Set(chunks.flatMap(({ header }) => header.topics))],
    speakers: [...new Set(rows.map(({ who }) => who))],
    hasDecision: chunks.some(({ hasDecision }) => hasDecision),
    hasAction: chunks.some(({ hasAction }) => hasAction),
    content: joinContent(joinParts(rows)),
    subject: subjectLine(best.chunk.header),
    ...exchangesAround({ store, session: best.session }, best.chunk, { count, timezone }),
  };
}

/** Makes a hit of units, with the remarks on its rows. */
function toHit(
  one: Judged,
  search: Search,
  { facts, units, isOpen }: { facts: Facts; units: readonly Unit[]; isOpen: boolean },
): Hit {
  const { store, found, asked, options } = search;
  const { session } = one.passage.best;
  const place = { store, session };
  const rows = units.length > 0 ? toShownRows(one.rows, units) : firstInside(one);
  const held = withHolding(withSkipped(rows, store, session.number), place, options.filter.speaker);
  const shown = options.after?.(held, place) ?? held;
  const hit = { ...withRange(facts, rows, place), rows: shown, isOpen, lead: units[0]?.row.line };
  if (!hit.explain) return hit;
  const chosen = units.map((unit) => ({
    line: unit.row.line,
    words: typedWords(stemsOf([unit], asked), found),
    worth: Math.round(100 * Math.log(unit.chance)) / 100,
  }));
  return { ...hit, explain: { ...hit.explain, chosen } };
}

/** Chooses the first row of a passage, for one found by meaning or by its header: no row of it holds a word. */
function firstInside({ rows, passage: { first } }: Judged): ShownRow[] {
  const row = rows.find(({ line }) => line >= first.firstLine);
  if (!row) return [];
  const { isOutput: _, ...shown } = row;
  return [{ ...shown, text: oneLine(row.text, LINE_CHARS) }];
}

/** Returns facts with the range widened to rows, other places outside it, and the lines that the user took back before them. */
function withRange(
  facts: Facts,
  rows: readonly ShownRow[],
  place: { store: Store; session: IndexedSession },
): Facts {
  const lines = rows.map(({ line }) => line);
  const [from, to] = [Math.min(facts.from, ...lines), Math.max(facts.to, ...lines)];
  const takenBack = takenBackBefore(rows, place);
  const also = facts.also.filter(([a, b]: LineSpan) => a < from || b > to);
  return { ...facts, from, to, also, ...(takenBack.length > 0 && { takenBack }) };
}

/** Makes hits of whole exchanges, each as far as its share of the code points goes. */
function wholeHits(judged: readonly Judged[], search: Search, budget: number): Hit[] {
  const { store, options } = search;
  const facts = judged.map((one) => factsOf(one, search, judged));
  const taken = new Set<string>();
  let left = budget;
  return judged.map(({ passage }, i): Hit => {
    const { best, first, last } = passage;
    const place = { store, session: best.session };
    const isNew = oncePerRow(first.sessionId, taken);
    const said = exchangeRows(place, [first.exchangeLine, last.exchangeLine]);
    const own = said.map(({ line, who, text }): ShownRow => ({ line, who, text })).filter(isNew);
    const most = Math.floor(left / (judged.length - i)) - countPoints([formatHead(facts, i, options.style)]);
    const rows = nearestRows(
      markRewound(own, store, best.session.number),
      [first.firstLine, last.lastLine],
      most,
    );
    left -= Math.floor(left / (judged.length - i)) - most + countPoints(rows.map((row) => wholeRow(row)));
    return { ...withRange(facts[i] as Facts, rows, place), rows: withHolding(rows, place), isOpen: true };
  });
}

/** Returns the rows between two lines, then those nearest to them, as far as the code points go; in their order. */
function nearestRows(rows: readonly ShownRow[], [from, to]: LineSpan, maxChars: number): ShownRow[] {
  const distance = ({ line }: ShownRow) => Math.max(from - line, line - to, 0);
  const kept = new Set<ShownRow>();
  let left = maxChars;
  for (const row of rows.toSorted((a, b) => distance(a) - distance(b) || a.line - b.line)) {
    left -= countPoints([wholeRow(row)]);
    if (left < 0 && kept.size > 0) break;
    kept.add(row);
  }
  return rows.filter((row) => kept.has(row));
}

/** An explanation gives positions up to this one. */
const RANKS_SHOWN = 100;

function explain({ passage: { best }, together }: Judged, { found }: Search): Explanation {
  const at = found.chunks.indexOf(best.chunk);
  const rankIn = (list: Float64Array) => bestFirst(list).slice(0, RANKS_SHOWN).indexOf(at) + 1 || null;
  return { ranks: found.lists.map(rankIn), together: typedWords(together, found), chosen: [] };
}

/** Returns the words of the question that have some stems. */
function typedWords(stems: readonly string[], { questions }: Retrieved): string[] {
  const terms = questions.flatMap((question) => question.terms);
  return stems.map((stem) =>
    shownWord(terms.find((term) => term.stem === stem) ?? { stem, words: [] }, questions),
  );
}

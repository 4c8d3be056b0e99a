/**
 * The terms that a conversation keeps coming back to: two words that belong together, and names of files, packages and
 * features however they are written (`AgentSession`, `agent-session`, `agent session`).
 */

import { spokenText } from "./speech.ts";
import { isFunctionWord, splitName } from "./words.ts";

/** Said in every session about code, so no topic of one. */
const GENERIC = new Set(
  `absolute accept action activity actual additional agent alias alternative amazing answer app application approach approved argument array article
assistant attempt attribute automatic available aware awesome backlog backslash based basic behavior behaviour best better block blog body bool
boolean border bracket branch bug build built builtin button call capability capture case category center change changelog char check claim claude
clean cleaner clear close code codebase column comma command commit common comparison compile complete completed complex component comprehensive
concern condition config configuration confirm connection consistent const constant contain contained content context continue convention conversation
cool copy core correct count cover create current custom dark data date deal debug decide decided decision deep default defensive define delete
deliverable demand demo dependency depth describe description design detail detailed development diff different digit directories directory discover
discovered discuss display doc dockerfile document documentation draft duplicate edge edit element email enable end engine enough ensure entire entry
epic error event example excellent excited exclude exist existing exit expect expected explain explicit export express extra face fail failing failure
fair fake fallback feasible feature feel feeling field file filter final finish fix flag flow folder follow format formatting found framing fresh full
function functionality future general generate gets git github gitlab good great group guess handle handler happy hard header helper high highlight
hold hook hope hour html human idea identifier identity image implement implementation import important improve improvement include incredible index
individual info initial inject inline input inspiring install instance instruction integer integration interface internal intro issue item javascript
job json keep key knowledge label large later latest layer learn left length level library light line link list live load local log logic lookup loop
loses love low lowercase main management manager manual map mark master match matter max mechanism memory mention merge message metadata method
minimal minute missing mode model module moment month morning move msg msgs multiple name native negative nested network nice node normal note notice
null number object offer old open operation option optional order original others output overall owner package page parallel param parameter parent
part pass path pattern people perfect person phase pipeline place plain plan point position positive possible post prefix prepare presence present
pretty prevent previous primary print prior problem process production program project promise prompt proper property proposal protocol proud provide
public pull push quality query question quick raw reach read readme ready real reason recent record redacted refactor reference regular related
relative release relevant remaining remember remove render rendering replace repo report reporting repository request require required requirement
research reset resolve resource respond response rest result return reuse review rework right role root round row rule run safe sample save scenario
schema scope screen script search second section seem select send sent separate sequence serve server service session set setting setup share shared
short show side signature simple simplify single size skip slash small solution sound sounds source space spec specific speed spot standard start
startup state static status step steps stop store straight strategy stream string strong structure style subdirectory subject success suggest suite
summary support sure switch syntax system table tag takes talk task team technical template term test text thinking thought ticket time title todo
token tomorrow tonight tool top total track tree trigger true turn type typescript underline understand unique unit unknown unused update upgrade
upper uppercase url usage useful user utils valid value var variable verify version view waiting warning web week weekend whole window wire wonder
word work worker working world wow wrap wrapper write written wrong yaml yeah year yesterday`.split(/\s+/),
);
/** Words that name what another word says more of: `plan mode`, `thinking level`; such a pair must come more often. */
const HEADS = new Set(
  `agent api app application branch builder cache cell chart check class client color colour compaction component controller coverage cycle dialog
document editor element engine entry event export factory field file filter filtering flag flow format group handler header helper highlighting hook
image import index input integration job key layer level library link list listener loader manager memory menu message migration mode model module
panel parser path pattern picker pipeline plan plugin policy pool prompt protocol query queue reader registry renderer rendering request resource
review role router rule runner schema score screen script search selector server service session sheet state status store stream style support system
tab table template test theme token tool tracker tracking tree upload usage view viewer widget window worker writer`.split(
    /\s+/,
  ),
);
/** Adverbs, and words that another one is missing to. */
const LOOSE = /ly$|['’]|n't$/;
/** `ETS backed`, `corrupted archives`: what was done to something is no name of it. */
const DONE = /[^e]ed$/;
const CODE_PATH =
  /\.(?:[cm]?[jt]sx?|md|py|exs?|html|s?css|jsonl?|sh|go|rs|rb|java|toml|ya?ml|txt|png|svg|heex|sql|lock)\b/gi;
const PATH = /(?<![\w.@-])(?:[\w.@-]*\/)+([\w.-]+)/g;
const CAMEL = /[a-z\d][A-Z]|[A-Z]{2}[a-z]+[A-Z]/;
const JOINED = new RegExp(`${CAMEL.source}|[_-]`);

/** Written like a joined name, and one word. */
const BRAND = /^(?:java|type|coffee)script$|^git(?:hub|lab)$/i;

/** Longer conversations are looked at in so many pieces, evenly. */
const PIECES_MAX = 100;
/** Of a piece so much is looked at. */
const PIECE_CHARS = 20_000;
/** Longer runs are data. */
const NAME_CHARS = 40;
const WORD_MIN = 3;
/** In so many pieces at least; of a short conversation in two. */
const PAIR_PIECES = 3;
/** A single word says less than two, so it is longer and comes more often. */
const SINGLE_MIN = { chars: 4, pieces: 4 };
const SHORT_PIECES = 8;
/** Single words among the terms, at most this part of them. */
const SINGLES_SHARE = 0.4;
/** To know how rare a word is may cost a look into an index. */
const SINGLES_TRIED = 20;
/** Parts of a name that somebody would say. */
const NAME_PARTS = 4;
/** The least normalised pointwise mutual information of two words. */
const TOGETHER_MIN = 0.25;
const JOINED_BONUS = 1.3;
const PAIR_BONUS = 2;

/** A term and in how many pieces it occurs. */
export interface Term {
  term: string;
  pieces: number;
}

interface Count {
  times: number;
  pieces: number;
  last: number;
  /** How often it is written as one name. */
  joined: number;
  /** As it is written first; as one name where it ever is. */
  form: string;
}

interface Counts {
  single: Map<string, Count>;
  pairs: Map<string, Count>;
  words: number;
}

/**
 * Returns a conversation's terms, the most characteristic first.
 *
 * @param rarity how much rarer a word is elsewhere than here, from 0 for a word of every conversation to 1
 */
export function keyTerms(
  pieces: readonly string[],
  { max, rarity = () => 0.5 }: { max: number; rarity?: (word: string, pieces: number) => number },
): Term[] {
  const step = Math.max(1, pieces.length / PIECES_MAX);
  const looked = Array.from(
    { length: Math.ceil(pieces.length / step) },
    (_, i) => pieces[Math.floor(i * step)] ?? "",
  );
  const counts: Counts = { single: new Map(), pairs: new Map(), words: 0 };
  for (const [at, text] of looked.entries()) countTerms(text, at, counts);
  const scored = [...scoredPairs(counts, looked.length), ...scoredSingles(counts, rarity)];
  scored.sort((a, b) => b.score - a.score || (a.term < b.term ? -1 : 1));
  const chosen: Term[] = [];
  let singles = Math.ceil(max * SINGLES_SHARE);
  const known = new Set<string>();
  for (const { term, parts, count } of scored) {
    if (chosen.length >= max) break;
    if (parts.some((part) => known.has(part)) || (parts.length === 1 && --singles < 0)) continue;
    for (const part of parts) known.add(part);
    chosen.push({ term, pieces: Math.max(1, Math.round(count.pieces * step)) });
  }
  return chosen;
}

interface Scored {
  term: string;
  parts: string[];
  count: Count;
  score: number;
}

function* scoredPairs({ single, pairs, words }: Counts, pieces: number): Generator<Scored> {
  const least = pieces <= SHORT_PIECES ? 2 : PAIR_PIECES;
  for (const [key, count] of pairs) {
    const parts = key.split(" ");
    const isGeneric = parts.some((part) => GENERIC.has(part));
    if (count.pieces < least + (isGeneric ? 1 : 0) || count.times < 3) continue;
    const [first = 1, second = 1] = parts.map((part) => single.get(part)?.times);
    // normalised pointwise mutual information
    const together =
      parts.length > 2
        ? 1
        : Math.log((count.times * words) / (first * second)) / Math.log(words / count.times);
    if (together < TOGETHER_MIN) continue;
    yield { term: count.form, parts, count, score: weight(count) * PAIR_BONUS * (0.5 + together) };
  }
}

function* scoredSingles(
  { single }: Counts,
  rarity: (word: string, pieces: number) => number,
): Generator<Scored> {
  const often = [...single].filter(
    ([word, { pieces }]) => pieces >= SINGLE_MIN.pieces && !GENERIC.has(word) && !DONE.test(word),
  );
  for (const [word, count] of often.sort((a, b) => b[1].pieces - a[1].pieces).slice(0, SINGLES_TRIED)) {
    const rare = word.length < SINGLE_MIN.chars ? 0 : rarity(word, count.pieces);
    if (rare > 0) yield { term: count.form, parts: [word], count, score: weight(count) * rare };
  }
}

function weight({ pieces, joined, times }: Count): number {
  return pieces ** 0.8 * (joined * 2 > times ? JOINED_BONUS : 1);
}

/** Counts the words of a piece, and those beside each other. */
function countTerms(text: string, piece: number, counts: Counts): void {
  const said = spokenText(text.slice(0, PIECE_CHARS).replace(/^(?:User|Assistant): /gm, ""))
    .replace(PATH, "|$1|")
    .replace(CODE_PATH, "|");
  for (const run of said.split(/[^\p{L}\p{N}_\s'’-]+|\n+/u)) {
    let before: Word | undefined;
    for (const written of run.split(/\s+/)) {
      const word = wordOf(written);
      counts.words += Math.max(1, word.parts.length);
      if (word.name !== undefined) add(counts.pairs, word.name, { form: word.form, piece, joined: true });
      for (const part of word.parts) {
        if (part.isTopical) add(counts.single, part.key, { form: part.form, piece });
      }
      if (before && word.isTopical && isPair(before.key, word.key))
        add(counts.pairs, `${before.key} ${word.key}`, { form: `${before.form} ${word.form}`, piece });
      before = word.isTopical && word.parts.length === 0 ? word : undefined;
      if (before) add(counts.single, word.key, { form: word.form, piece });
    }
  }
}

/** Returns whether a name, of a file for instance, says more than every project's do. */
export function isTopicName(name: string): boolean {
  const word = wordOf(name);
  return [word, ...word.parts].some(({ key, isTopical }) => isTopical && !GENERIC.has(key));
}

/** A word as it is counted. */
interface Word {
  /** What its forms have in common. */
  key: string;
  form: string;
  isTopical: boolean;
  /** Of a joined name. */
  parts: Word[];
  /** The parts' keys, where the whole may name something. */
  name: string | undefined;
}

/** Words come back: reading each once halves the time. */
const words = new Map<string, Word>();
const WORDS_KEPT = 20_000;

function wordOf(written: string): Word {
  let word = words.get(written);
  if (word) return word;
  if (words.size >= WORDS_KEPT) words.clear();
  word = readWord(written);
  words.set(written, word);
  return word;
}

function readWord(written: string): Word {
  const form = written
    .slice(0, NAME_CHARS)
    .replace(/['’]s?$/, "")
    .replace(/^[_'’-]+|[_'’-]+$/g, "");
  if (!JOINED.test(form) || BRAND.test(form)) {
    const lower = form.toLowerCase();
    return {
      key: singular(lower),
      form: singular(lower),
      isTopical: isTopical(lower),
      parts: [],
      name: undefined,
    };
  }
  const parts = form
    .split(/[_-]+/)
    .flatMap((part) => (CAMEL.test(part) ? splitName(part) : part))
    .filter(Boolean)
    .map((part) => wordOf(part.toLowerCase()));
  const isTitle = /^\p{Lu}\p{Ll}+(?:-\p{L}+)+$/u.test(form);
  const name = isName(parts) ? parts.map(({ key }) => key).join(" ") : undefined;
  return { key: form, form: isTitle ? form.toLowerCase() : form, isTopical: false, parts, name };
}

/** Returns whether joined words name something by themselves: two that may, or more of which one is no common word. */
function isName(parts: readonly Word[]): boolean {
  const [first, second] = parts;
  if (!first || !second || parts.length > NAME_PARTS) return false;
  if (parts.length > 2) return parts.some(({ key, isTopical }) => isTopical && !GENERIC.has(key));
  return first.isTopical && second.isTopical && isPair(first.key, second.key);
}

/** Returns whether two words may name something: at most the second one is a common word, and then one that others define. */
function isPair(first: string, second: string): boolean {
  if (first === second || GENERIC.has(first) || DONE.test(second)) return false;
  return !GENERIC.has(second) || HEADS.has(second);
}

function add(
  counts: Map<string, Count>,
  key: string,
  { form, piece, joined = false }: { form: string; piece: number; joined?: boolean },
): void {
  let count = counts.get(key);
  if (!count) {
    count = { times: 0, pieces: 0, last: -1, joined: 0, form };
    counts.set(key, count);
  }
  count.times++;
  if (joined && count.joined++ === 0) count.form = form;
  if (count.last !== piece) count.pieces++;
  count.last = piece;
}

function isTopical(word: string): boolean {
  return word.length >= WORD_MIN && !LOOSE.test(word) && !/\d/.test(word) && !isFunctionWord(word);
}

/** Joins singular and plural: `hooks` → `hook`. */
function singular(word: string): string {
  if (word.length < 4 || !/[^aisu]s$/.test(word)) return word;
  return word.replace(/(?<=(?:ch|sh|x|z|s))es$|s$/, "").replace(/(?<=\p{L}{2})ie$/u, "y");
}

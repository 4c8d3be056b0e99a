/** A statement in about eight words, ten at most: without lead-in, marks and asides, ended where nothing is left waiting. */

import { contentWords, hasUnspaced, isFunctionWord, withoutLeadIn } from "../language/words.ts";

/** A longer statement is cut. */
export const WORDS_MAX = 10;
/** A cut statement ends here, or sooner where a clause ends. */
const WORDS_CUT = 8;
export const WORDS_WANTED = 5;
/** Scripts without spaces: about as much as eight words say. */
const UNSPACED_MAX_CHARS = 24;
/** A longer line is pasted, not said. */
const SENTENCE_MAX_CHARS = 400;

/** Words that point at another sentence: a name does not end on them. */
const POINTING = /^(?:it|them|this|that|these|those|es|sie|das|ihn|ça|lo|la)$/i;
/** Begins a clause of its own, so the words before are whole. */
const BEGINNING = /^(?:i|you|we|they|he|she|it|there|which|who|ich|du|wir|sie|er|je|tu|nous|vous|yo|tú)$/i;
/** `one idea about how to …`, `do you know how to …`: what follows is the work. */
const HOW_TO = /^(?:(?:\S+ ){1,6}?(?:about|on|for|of) )?how to (?=\p{L}+ \S)/iu;
/** `give me a brief overview of …`, `I'm getting a …`, `the user wants to …`, `explain what does …`: what follows is the subject. */
const PRESENTING =
  /^(?:(?:i|we)(?:['’](?:m|re)| am| are) (?:getting|seeing|having|facing|hitting)|i have|the thing is(?: that)?|(?:the |our )?users? (?:wants?|needs?|should be able) to(?: be able to)?) (?:an? |some )?(?=\S+ \S)|^(?:(?:give|show|tell|get) (?:me|us)|here(?:['’]s| is| are)) (?:an? |the |some )?(?:(?:comprehensive|brief|short|quick|detailed|high-level) )?(?=\S+ \S)|(?<=^explain )what (?:does|do|is|are) /i;
/** A word that was cut by whoever wrote the statement. */
const ELIDED = /\S*(?:\.{3}|…)$/;
/** Words after which the object follows. */
const NOUN_NEXT =
  /^(?:an?|the|of|my|your|his|her|its|our|their|der|die|das|den|dem|ein|eine|einen|le|la|les|un|une|el|los|las)$/i;

/** A statement, shortened. */
export interface Phrase {
  name: string;
  /** Whether what it is about is only pointed at. */
  isHanging: boolean;
  /** Whether its last words waited for what was cut off. */
  isCut: boolean;
}

/** Returns a statement in at most ten words; undefined when nothing is said in it. */
export function phrase(statement: string): Phrase | undefined {
  if (statement.length > SENTENCE_MAX_CHARS * 3) return undefined;
  const plain = plainWords(statement);
  const led = withoutLeadIn(plain).replace(HOW_TO, "").replace(PRESENTING, "");
  const said = (/^(?:as|of|with|for|in|on|at)\b/i.test(led) ? plain : led).slice(0, SENTENCE_MAX_CHARS);
  const { words, isHanging, isCut } = hasUnspaced(said) ? unspacedPhrase(said) : spacedPhrase(said);
  const trimmed = words.replace(/^[\s\p{P}\p{S}]+(?<![@#([])|[\s\p{P}\p{S}]+$/gu, "");
  if (!saysEnough(trimmed)) return undefined;
  return { name: trimmed.charAt(0).toUpperCase() + trimmed.slice(1), isHanging, isCut };
}

function saysEnough(name: string): boolean {
  if (hasUnspaced(name)) return name.length >= 4;
  const terms = contentWords(name).length;
  return terms >= 2 || (terms === 1 && name.split(" ").length >= 3);
}

/** Strong words before what they are about. */
const STRONG = /\b(?:f+u+c+king|freaking|god ?damn(?:ed)?|damn(?:ed)?|bloody|stupid|shitty) (?=\p{L})/giu;

/** Markdown's marks away, and of a path its last part. */
function plainWords(text: string): string {
  return text
    .replace(/[*_`"“”„«»]{1,3}(?=\S)|(?<=\S)[*_`"“”„«»]{1,3}/g, (marks) => (marks === "_" ? "_" : ""))
    .replace(STRONG, "")
    .replace(/@?(?:[\w.-]*\/)+([\w.*-]+)/g, "$1")
    .replace(/(^|\s)@(?=[\w.])/g, "$1")
    .replace(/\([^)]*\)|\([^)]*$|^[^(]*[\p{L}\p{N}]\)/gu, " ")
    .replace(/^(?:[A-Z]+\d+\+?)+:\s+/, "")
    .replace(/\s+/g, " ")
    .trim();
}

function spacedPhrase(text: string): { words: string; isHanging: boolean; isCut: boolean } {
  const isElided = ELIDED.test(text);
  const all = text.replace(ELIDED, "").trim().split(" ");
  const isWhole = all.length <= WORDS_MAX;
  const end = isElided && isWhole ? elidedEnd(all) : isWhole ? all.length : clauseEnd(all);
  const words = dropParticiple(dropTail(all.slice(0, end)), all);
  const dropped = all.slice(words.length, end).map((word) => word.replace(/\p{P}+$/u, ""));
  const waiting = dropped[0] ?? "";
  return {
    words: words.join(" "),
    isHanging: end === all.length && POINTING.test(waiting),
    isCut:
      end < all.length && (NOUN_NEXT.test(all[end] ?? "") || (waiting !== "" && !BEGINNING.test(waiting))),
  };
}

/** Finds the end of a clause, else of a phrase, that is late enough to say something. */
function clauseEnd(words: string[]): number {
  const isClauseEnd = (end: number) => /[,;:–]$/.test(words[end - 1] ?? "");
  const startsClause = (at: number) => CLAUSE_START.test((words[at] ?? "").toLowerCase());
  for (let end = WORDS_CUT; end >= WORDS_WANTED; end--) {
    if (isClauseEnd(end) || startsClause(end)) return end;
  }
  for (let end = WORDS_CUT + 1; end <= WORDS_MAX; end++) if (isClauseEnd(end)) return end;
  // A few words and a side clause that would be cut in its middle: better a few whole ones.
  for (let end = WORDS_WANTED - 1; end >= 3; end--) if (isClauseEnd(end)) return end;
  if (startsClause(4)) return 4;
  return phraseEnd(words, (end) => isClauseEnd(end) || startsClause(end));
}

/** Finds the end before a preposition, so that no object is cut: `… the patterns [you find in …]` ends before them. */
function phraseEnd(words: string[], isClauseEnd: (end: number) => boolean): number {
  const relative = words.findIndex((word, at) => at > 3 && BEGINNING.test(word));
  const max = relative === -1 ? WORDS_MAX : relative - 1;
  const isEnd = (end: number) =>
    end <= max &&
    !(words[end] === "to" && words.slice(2, end).includes("from")) &&
    (isClauseEnd(end) ||
      (PREPOSITION.test(words[end] ?? "") &&
        !PREPOSITION.test(words[end - 1] ?? "") &&
        !needsMore(words, end - 1) &&
        !QUANTITY.test(words[end - 1] ?? "")));
  return [10, 9, 8, 7, 6, 5, 4, 3].find(isEnd) ?? WORDS_CUT;
}

/** Finds the end of what was certainly whole before the cut. */
function elidedEnd(words: string[]): number {
  const end = words.findLastIndex(
    (word, at) => at >= 3 && (CLAUSE_START.test(word) || PREPOSITION.test(word)),
  );
  return end === -1 ? words.length : end;
}

/** `a list of tasks`: only what follows says what it is. */
const QUANTITY =
  /^(?:list|set|number|kind|lot|part|bunch|couple|group|series|sort|type|overview|summary)s?$/i;
const PREPOSITION =
  /^(?:of|to|for|due|in|into|with|on|onto|from|by|during|via|using|through|based|between|against|without|after|before|über|für|mit|von|auf|dans|pour|avec|para|con|с|для)$/i;
const CLAUSE_START =
  /^(?:and|or|und|oder|et|ou|y|so|because|which|that|but|as|when|while|if|whether|since|instead|then|weil|damit|dass|aber|parce|mais|porque|pero|[—–-])$/;

/** Drops function words at the end: a name does not end on a word that needs another. */
export function dropTail(words: string[]): string[] {
  let end = words.length;
  while (end > 1 && needsMore(words, end - 1)) end--;
  return words.slice(0, end);
}

/** Returns whether a word only leads to the next one: `with`, `the`; not the `ones` of "the old ones", nor "is used". */
function needsMore(words: readonly string[], at: number): boolean {
  const word = (words[at] ?? "").replace(/\p{P}+$/u, "");
  const before = words[at - 1] ?? "";
  if (/^ones?$/i.test(word)) return isFunctionWord(before);
  return isFunctionWord(word) && !(/^\w+(?:ed|en|ne)$/.test(word) && AUXILIARY.test(before));
}

/** "documents generated [during …]": a participle whose rest was cut off goes with it. */
function dropParticiple(words: string[], all: readonly string[]): string[] {
  const next = all[words.length];
  const isWaiting =
    next !== undefined &&
    AFTER_PARTICIPLE.test(next) &&
    words.length > 3 &&
    !words.some((word) => AUXILIARY.test(word));
  return isWaiting && /^\p{Ll}{3,}(?:ed|ing|ated)$/u.test(words.at(-1) ?? "")
    ? dropTail(words.slice(0, -1))
    : words;
}

const AUXILIARY = /^(?:is|are|was|were|be|been|being|gets?|got|has|have|had|\w+n['’]?t)$/i;
const AFTER_PARTICIPLE = /^(?:by|during|from|with|within|to|via|through|for|in|on|at|into)$/i;

function unspacedPhrase(text: string): { words: string; isHanging: boolean; isCut: boolean } {
  const clause = text.split(/[，。、！？；：,.!?;]/u).find((part) => part.trim().length >= 4) ?? text;
  const characters = [...clause.trim()];
  const words = characters.slice(0, UNSPACED_MAX_CHARS).join("");
  return { words, isHanging: false, isCut: characters.length > UNSPACED_MAX_CHARS };
}

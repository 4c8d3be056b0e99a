/**
 * Tells what a rule is about that somebody laid down, and which two are about the same.
 *
 * A session that begins where rules hold compares them: how they are recognised (`standing.ts`) is not loaded then.
 */

import { characterPairs, isFunctionWord, isUnspacedWord, splitWords } from "./words.ts";

/** Says nothing of what a rule is about. */
const FORM = new Set(
  splitWords(`always never ever please from now on going forward future next time dont don t not no longer need needn have any more anymore you
    should must may can let me i want we only ok also and so just again me forget about the my rule what said ignore earlier immer nie niemals bitte ab jetzt
    sofort nicht mehr kein keine künftig zukunft nächstes mal toujours jamais ne désormais siempre nunca sempre não no ya всегда никогда не больше`),
);
const NEGATES =
  /\b(?:never|not|no|don['’]?t|avoid|stop|without|nie|niemals|nicht|keine?[nr]?|jamais|ne|nunca|não|no)\b|никогда|(?:^|\s)не\s|不要|别|ないで|しない/giu;

/** Says much in a rule, though it distinguishes nothing elsewhere. */
const TELLS_IN_RULES = new Set(["ask", "comment", "tell"]);

/** What a rule is about. */
export interface RuleGist {
  words: ReadonlySet<string>;
  /** Whether it forbids; undefined where its end is missing. */
  forbids: boolean | undefined;
}

/** A shorter word's ending is part of it. */
const STEM_CHARS = 4;

/** Returns what a rule is about: its words without those that make it a rule. */
export function gistOfRule(rule: string): RuleGist {
  const whole = rule.replace(/\S*…$/, "");
  const words = splitWords(whole)
    .flatMap((word) => (isUnspacedWord(word) ? characterPairs(word) : word))
    .filter((word) => TELLS_IN_RULES.has(word) || !(isFunctionWord(word) || FORM.has(word)))
    .map((word) => (word.length > STEM_CHARS ? word.replace(/(?:ing|ed|es|s)$/, "") : word));
  const negations = rule.match(NEGATES)?.length ?? 0;
  const forbids = whole === rule ? negations % 2 === 1 : undefined;
  return { words: new Set(words.length > 0 ? words : splitWords(rule)), forbids };
}

/** The least words that must agree: one alone is of too many rules. */
const SHARED_WORDS = 2;

/** Returns whether a sentence that takes something back is about this rule: all its words are the rule's. */
export function isTakenBackBy(rule: RuleGist, sentence: RuleGist): boolean {
  return sentence.words.size >= SHARED_WORDS && [...sentence.words].every((word) => rule.words.has(word));
}

/** Returns whether two rules are of the same words, whatever they say of them. */
export function isSameMatter(one: RuleGist, other: RuleGist): boolean {
  return one.words.size === other.words.size && [...one.words].every((word) => other.words.has(word));
}

/** Returns whether a text holds a line that says what a rule says, in the same words. */
export function saysRule(text: string, rule: RuleGist): boolean {
  return text.split("\n").some((line) => {
    const { words, forbids } = gistOfRule(line);
    const agrees = rule.forbids === undefined || forbids === rule.forbids;
    return agrees && [...rule.words].every((word) => words.has(word));
  });
}

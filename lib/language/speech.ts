/** What a sentence does, by its words alone: corrects, agrees, thanks, lays down a rule, decides, reports a finding. */

import { truncate } from "../base/text.ts";
import { describeText } from "./topics.ts";

/** "No, …", "still failing", "undo that": the work asked for before is not done. */
const CORRECTION =
  /^(?:no(?=[\s,.!;:–-]*(?:$|\n|(?:i|you|we|it|that|this|not|do|don['’]?t|the|please|wait|still|just|use|make|but)\b))|nope|nein\b|non\b|not (?:that|what|like|quite|right)|wrong|stop\b|wait\b|hmm|undo|revert|roll ?back|that(?:'s| is|’s)? (?:not|wrong|isn)|that does(?:n't| not)|this (?:is|does)(?:n't| not)|you (?:forgot|missed|didn|broke|should(?:n't| not)?|were supposed)|it(?:'s| is|’s)? (?:still|not)|it (?:still|does(?:n't| not)|did(?:n't| not))|das (?:ist|war|geht|stimmt) (?:nicht|falsch)|ce n'est pas|eso no)|\b(?:still (?:fail|broken|not|wrong|getting|see|the same|have|does)|does ?n[o']t work|did ?n[o']t work|not working|same (?:error|problem|issue)|(?:funktioniert|geht) (?:immer noch )?nicht|ne (?:marche|fonctionne) pas|no funciona)/i;

/** "Continue", "go on": the same work, further. */
const GO_ON =
  /^(?:please )?(?:continue|go on|go ahead|proceed|carry on|keep going|next|resume|do (?:it|that|so)|try again|retry|weiter|mach weiter|continue[rz]?|sigue|adelante|继续|続けて)\b[\s\w,.!]{0,40}$/iu;

const AGREEMENT =
  /^(?:yes|yep|yeah|yup|y|ok(?:ay)?|sure|fine|correct|exactly|right|agreed|sounds good|looks good|lgtm|perfect|great|good|nice|cool|awesome|excellent|ja|jep|genau|gut|passt|oui|d'accord|sí|si|vale|claro|是|好|はい|да)\b/iu;

const THANKS = /^(?:thank(?:s| you)?|thx|ty|cheers|danke|merci|gracias|谢谢|ありがとう|спасибо)\b/iu;

const PLEASANTRY =
  /^(?:please|do (?:it|that|so)|go (?:ahead|for it)|that works|works(?: for me)?|so much|very much|(?:work|job|stuff|one)\b|a lot|again|to me|bitte|por favor|s'il (?:te|vous) plaît)\b/iu;

/** What shall hold beyond the work at hand. */
const RULE =
  /(?<!\b(?:it|that|this|they|he|she|i|we|is|are|was|has|have|had|will|would|nearly|almost) )\b(?:always|never(?! ?mind| seen| been| had| got| works?))\b|\b(?:from now on|in (?:the )?future|remember (?:that|to)|(?:i|we) prefer|must not|mustn['’]?t|(?<=^|[,;:(] |\b(?:please|and|but|you|so|also|ok|yes|no) )do(?:n['’]?t| not) (?:ever|use|touch|change|edit|modify|commit|push|delete|remove|add|create|write|mock|guess|assume)|(?:do )?only (?:ever )?use|no (?:more )?(?:emojis?|comments|mocks)|nie(?:mals)?|immer(?! (?:wieder|noch))|ab jetzt|toujours|jamais|siempre|nunca)\b/i;

/** What was found to be the case. */
const FINDING =
  /\b(?:root cause|caused by|the (?:real |actual )?(?:problem|issue|bug|cause|reason|culprit|trick|key) (?:is|was)|turns? out|die ursache|la causa)\b/i;

/** A contrast is a choice only where somebody makes it. */
const CONTRAST = /\b(?:rather than|instead of)\b|\bprefer\b/gi;
const CHOOSING =
  /^(?:(?:we|i|you|they|user)\b|let['’]?s\b|(?:use|keep|do|make|put|take|write|store|call|run|go|switch|drop|move|replace|return|send|read)\b)|\b(?:we|i|user) (?:now )?(?:use|keep|chose|want|prefer|need|went|should|will)\b/i;

/** Thinking aloud, announcing a look, asking: nothing is settled by it. */
const TENTATIVE =
  /^(?:wait|hmm|actually,? wait|let me|looking|now (?:let me|i)|maybe|perhaps|alternatively|if\b|or\b|what if|one option|option \w\b|i (?:wonder|think|guess|believe|bet|see|notice|can see)|it (?:seems|looks|might|could))\b|\b(?:might|perhaps|probably|likely|not sure|unsure|could be|may be|whether|if we|seems to|appears to|we could|i could|you could|would (?:it|you)|should (?:we|i))\b|[?？]["')\]]*$/i;

/** Words that open an answer and say nothing. */
const FILLER =
  /^(?:perfect|great|excellent|done|good|ok(?:ay)?|sure|now|let me|let's|i'll|i will|i'm going to|i can see|i see|looking|first|next|got it|absolutely|certainly|of course|you're (?:absolutely )?right|here(?:'s| is| are)|alright|the user|summary|changes(?: made)?|what (?:i|was) (?:did|done|changed|fixed))\b[^.!?:]{0,60}[.!:]?$/i;

/** Returns whether a user's message says that the work before it is not done as wanted. */
export function isCorrection(text: string): boolean {
  return CORRECTION.test(text.trim());
}

/** Returns whether a user's message only says to go on with the work before it. */
export function isGoOn(text: string): boolean {
  return GO_ON.test(text.trim());
}

/** Returns whether a user's message is no more than agreement. */
export function isAgreement(text: string): boolean {
  return AGREEMENT.test(text.trim()) && saysNoMore(text);
}

/** Returns whether a user's message is no more than thanks. */
export function isThanks(text: string): boolean {
  return THANKS.test(text.trim()) && saysNoMore(text);
}

/** Returns whether nothing but a word is left of a message without its words of agreement and thanks. */
function saysNoMore(text: string): boolean {
  let rest = text.trim();
  for (let before = ""; before !== rest; ) {
    before = rest;
    rest = rest
      .replace(AGREEMENT, "")
      .replace(THANKS, "")
      .replace(PLEASANTRY, "")
      .replace(/^[\s\p{P}\p{S}]+/u, "");
  }
  return rest === "" || (rest.length <= 20 && !/\s/.test(rest));
}

/** Returns whether a sentence lays down what shall hold from then on. */
export function isRule(sentence: string): boolean {
  return RULE.test(sentence);
}

/** Returns whether a sentence states a choice that was made. */
export function isDecision(sentence: string): boolean {
  if (TENTATIVE.test(sentence) || !describeText(sentence).hasDecision) return false;
  const rest = sentence.replace(CONTRAST, " ");
  return rest === sentence || CHOOSING.test(sentence) || describeText(rest).hasDecision;
}

/** Returns whether a sentence states what was found to be the case. */
export function isFinding(sentence: string): boolean {
  return FINDING.test(sentence) && !TENTATIVE.test(sentence);
}

/** Returns the question that a text ends with, give or take a sentence. */
export function pendingQuestion(text: string): string | undefined {
  return sentences(text)
    .slice(-2)
    .findLast((sentence) => /[?？]["')\]*_`\s]*$/.test(sentence));
}

/** Returns the sentences of a text without Markdown's marks and fenced code. */
export function sentences(text: string): string[] {
  return text
    .replace(/```[\s\S]*?(?:```|$)/g, "\n")
    .replace(/^[ \t]*(?:\||\d+[.)][ \t]*$).*$/gm, "\n")
    .split(/(?<=[^\s\d][.!?。！？]["')\]]?)\s+|\n+/u)
    .map((sentence) =>
      sentence
        .replace(/^[\s>#*+-]*(?:\d+[.)]\s+)?/, "")
        .replace(/\*\*|__/g, "")
        .trim(),
    )
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence));
}

/** Returns the first sentences of a text that say something, up to `max` characters. */
export function gist(text: string, max: number): string {
  const all = sentences(text);
  const telling = all.filter((sentence) => !FILLER.test(sentence));
  let result = "";
  for (const sentence of telling.length > 0 ? telling : all) {
    if (result !== "" && result.length + sentence.length + 1 > max) break;
    result = result === "" ? sentence : `${result} ${sentence}`;
  }
  return truncate(result, max);
}

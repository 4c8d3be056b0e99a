/** The words of a text that name something, and sentences without how politeness begins them. */

import { characterPairs, isUnspaced } from "./identifiers.ts";
import { isFunctionWord } from "./stop-words.ts";

/** Said in every session, so it distinguishes none. */
const COMMON_WORDS = new Set(
  (
    "file files code line lines read write run add create change changes update fix check show test tests work working " +
    "first next last start started continue implement task tasks step steps user assistant claude agent session message " +
    "messages output input result results error errors issue project repo folder directory function current currently " +
    "existing following full good great right left sure done need want question answer example please"
  ).split(" "),
);

/** `app-123`, `shop-x4k.2`: a tracker's id, which says nothing about the work. */
const TICKET = /(?<![\w-])[a-z]\w*-(?:\d+|[a-z0-9]{3})(?:\.\d+)?(?![\w-])/gi;

const LEAD_INS = [
  /^(?:hey|hi|hello|hallo|yo|dear|good (?:morning|evening|afternoon)|moin|servus|guten (?:tag|morgen|abend)|bonjour|salut|hola|привет)(?: (?:claude|there|again|team|all|pi|codex|zusammen))?\b[\s,.!:–-]*/iu,
  /^(?:ok(?:ay)?|k|alright|all right|right|so|well|now|then|and|but|also|hmm+|great|good|nice|cool|perfect|awesome|yes|yeah|yep|no|nope|thanks|thank you|fair enough|oh|ah|wait|sorry|actually|anyway|first(?: of all)?|next|finally|btw|my (?:dude|man|friend)|dude|man|super|gut|also|ja|nein|danke|bien|vale|bon|claude(?=[,.!:])|finally|just|maybe|never ?mind|fyi|to be (?:fair|honest)|in that case)(?=[\s,.!:;–])[\s,.!:;–-]*/iu,
  /^(?:can|could|would|will) (?:you|we|i)(?: (?:please|maybe|also|just|kindly|now|perhaps|mind|be able to))*\b\s*/iu,
  /^(?:i(?:'d| would| really)? (?:like|love|want|need)|i(?:'m| am) (?:trying|looking|going|planning)|we (?:still )?(?:need|want|have to|should|could|must)|you (?:should|need|must|have to)|it'?s time|help me|i have to|we(?:'re| are) going) (?:you |us |me )?(?:to )?(?:please |also |now )*(?:need |want )?(?:(?:your|some) help (?:with|in|to) )?(?=\S)/iu,
  /^(?:let'?s|let us|let me|please|pls|kindly|just|go ahead and|feel free to|make sure (?:to|that)|try to|your task is to|the task is to|your job is to|i think (?:that )?(?:we|you|it) (?:should |could |can |need to )?|do you think|i was wondering if|is it possible to|would it be possible to|is there (?:a|any) way to|do you know|how about|what about|a question:?|quick question:?|question:?)\b[\s,:]*/iu,
  /^(?:kannst du|könntest du|kannst du mir|würdest du|bitte|ich (?:möchte|will|brauche|hätte gern)|wir (?:müssen|sollten|wollen|brauchen)|lass uns|mach(?:e)?(?: mir)? (?:bitte|mal))\b[\s,]*(?:bitte |mal |doch )*/iu,
  /^(?:peux-tu|pouvez-vous|pourrais-tu|je (?:veux|voudrais)|il faut|on doit|s'il te plaît|puedes|podrías|quiero|necesito|por favor|hay que)\b[\s,]*/iu,
  /^(?:можешь|пожалуйста|нужно|надо|давай|помоги)(?=\s)[\s,]*/iu,
  /^(?:请|請|帮我|幫我|麻烦|能不能|可以|我想|我要|你好|お願い|こんにちは)[，,、\s]*/u,
];

/** Returns the words of a text that name something, in lower case; ids, numbers and what every session says left out. */
export function contentWords(text: string): string[] {
  const words =
    text
      .toLowerCase()
      .replace(TICKET, " ")
      .match(/\p{L}[\p{L}\p{N}]+/gu) ?? [];
  return words
    .flatMap(unjoined)
    .filter((word) => !isFunctionWord(word) && !isCommon(word) && !/^[a-f\d]{8,}$/.test(word));
}

function isCommon(word: string): boolean {
  return COMMON_WORDS.has(word) || COMMON_WORDS.has(word.replace(/s$/, ""));
}

/** Splits a run of an unspaced script, which is a sentence, into pairs of characters that serve as its words. */
function unjoined(word: string): string[] {
  return isUnspaced(word.charCodeAt(0)) ? characterPairs(word) : [word];
}

/** Returns a sentence without what politeness and speech put before its subject. */
export function withoutLeadIn(sentence: string): string {
  let rest = sentence.trim();
  for (let before = ""; before !== rest; ) {
    before = rest;
    for (const pattern of LEAD_INS) rest = rest.replace(pattern, "").trimStart();
  }
  return rest;
}

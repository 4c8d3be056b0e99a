/** Words that say nothing of a subject: function words of the languages people prompt in, and how requests begin. */

import { characterPairs, isUnspaced } from "./identifiers.ts";

const FUNCTION_WORDS = new Set(
  (
    "a an the and or but nor so if then than as of in on at to for from by with without into onto over under about after " +
    "before between during until while because since though although is are was were be been being am do does did doing " +
    "done has have had having can could will would shall should may might must not no yes ok okay this that these those " +
    "there here it its i me my we us our you your he she they them their who whom whose which what when where why how " +
    "all any some each every both either neither one two also just only very really quite too again still already yet " +
    "please thanks thank hi hey hello let lets get got go going gonna want wanna need needs like via per more most much three four five six ten " +
    "many less little same other another such own out up down off now well maybe actually basically etc make makes making made " +
    "use using used thing things something anything everything stuff way bit lot kind sort able don doesn didn isn aren " +
    "wasn won ll ve re im dont doesnt cant think know see look looks looking tell say said try trying help mean new " +
    "der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine ist sind war waren sein hat " +
    "haben wird werden kann können soll sollen muss müssen mit ohne für von vom zum zur aus auf bei nach über unter vor " +
    "ich du er sie es wir ihr mich mir dich dir uns euch mein dein sein unser dass daß wenn weil wie was wer wo warum " +
    "noch immer wieder nur auch schon doch bitte danke mal hier dort jetzt dann also im am an in zu " +
    "le la les un une des du de et ou mais ne pas est sont être avoir avec sans pour par dans sur sous je tu il elle nous " +
    "vous ils elles mon ton son notre votre ce cette ces que qui quoi où quand comment pourquoi " +
    "el los las una unos unas y o pero no es son ser estar con sin para por en sobre yo tú él ella nosotros que qué como " +
    "cómo cuando por favor " +
    "и в не на что как это я ты мы вы он она они с из за по для от до"
  ).split(" "),
);

/** Said of every session of an agent, so it tells none from another. */
const COMMON_WORDS = new Set(
  (
    "file files code line lines read write run add create change changes update fix check show test tests work working " +
    "first next last start started continue implement task tasks step steps user assistant claude agent session message " +
    "messages output input result results error errors issue project repo folder directory function current currently " +
    "existing following full good great right left sure done need want question answer example please"
  ).split(" "),
);

/** `app-123`, `shop-x4k.2`: a tracker's name of a piece of work tells nobody what it is. */
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

/** Whether a word only holds others together. */
export function isFunctionWord(word: string): boolean {
  return FUNCTION_WORDS.has(word.toLowerCase());
}

/** The words of a text that name something, in lower case; ids, numbers and what every session says left out. */
export function contentWords(text: string): string[] {
  const words =
    text
      .toLowerCase()
      .replace(TICKET, " ")
      .match(/\p{L}[\p{L}\p{N}]+/gu) ?? [];
  return words
    .flatMap(unjoined)
    .filter((word) => !FUNCTION_WORDS.has(word) && !isCommon(word) && !/^[a-f\d]{8,}$/.test(word));
}

function isCommon(word: string): boolean {
  return COMMON_WORDS.has(word) || COMMON_WORDS.has(word.replace(/s$/, ""));
}

/** In scripts without spaces a run of letters is a sentence: its pairs of characters stand for its words. */
function unjoined(word: string): string[] {
  return isUnspaced(word.charCodeAt(0)) ? characterPairs(word) : [word];
}

/** A sentence without what politeness and speech put before its subject. */
export function withoutLeadIn(sentence: string): string {
  let rest = sentence.trim();
  for (let before = ""; before !== rest; ) {
    before = rest;
    for (const pattern of LEAD_INS) rest = rest.replace(pattern, "").trimStart();
  }
  return rest;
}

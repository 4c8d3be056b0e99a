/** Words as the index's tokenizer sees them: parts of joined names, stop words, and words that name something. */

/** Lower case, accents off: `Übergänge` → `ubergange`. */
export function foldText(text: string): string {
  const plain = /^[\x00-\x7f]*$/.test(text) ? text : text.normalize("NFD").replace(/\p{M}+/gu, "");
  return plain.toLowerCase();
}

/** Returns the folded words of a text in order; a run of a script without spaces is one word. */
export function splitWords(text: string): string[] {
  return foldText(text).match(/[\p{L}\p{N}\p{Co}]+/gu) ?? [];
}

/** Matches runs of scripts that write no spaces: Thai, Lao, Myanmar, Khmer, kana, ideographs, Hangul. */
const UNSPACED =
  /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]+/g;
const BESIDE_END = new RegExp(`^${UNSPACED.source}|${UNSPACED.source}$`);

/** Returns whether a word begins or ends in a script that writes no spaces, so that pairs of its characters stand for its words. */
export function isUnspacedWord(word: string): boolean {
  return BESIDE_END.test(word);
}

const SPACED = `(?!${UNSPACED.source})[\\p{L}\\p{M}\\p{N}]`;
/** Matches everywhere but within a word of a script that writes spaces. */
export const WORD_EDGE = `(?:(?<!${SPACED})|(?!${SPACED}))`;

/** Returns whether any of a text is in a script that writes no spaces. */
export function hasUnspaced(text: string): boolean {
  return text.search(UNSPACED) >= 0;
}

/**
 * Returns what the full-text tokenizer does not see in texts: the parts of `camelCase` names, and pairs of characters in
 * scripts that write no spaces, each once. The tokenizer itself splits at every other mark (`snake_case`, `some/path`).
 */
export function splitJoined(...texts: string[]): string {
  const found = new Set<string>();
  for (const text of texts) {
    for (const name of text.match(JOINED) ?? [])
      for (const part of splitName(name)) if (part.length > 1) found.add(part);
    for (const run of text.match(UNSPACED) ?? []) for (const pair of characterPairs(run)) found.add(pair);
  }
  return [...found].join(" ");
}

/** A word like fooBar, or with the last capital of HTTPServer; a longer one than 80 characters is data, not a name. */
const JOINED =
  /(?<![a-zA-Z\d])(?=[a-zA-Z\d]*(?:[a-z][A-Z]|[A-Z\d][A-Z][a-z]))[a-zA-Z\d]{1,80}(?![a-zA-Z\d])/g;

/** `parseHTMLFile2` → parse HTML File2. One part: the name is not a joined one. */
function splitName(name: string): string[] {
  return name.match(/\p{Lu}+(?!\p{Ll})[\d]*|\p{Lu}?\p{Ll}+[\d]*|\d+/gu) ?? [];
}

/** 数据库 → 数据, 据库; a single character stays one. */
export function characterPairs(run: string): string[] {
  if (run.length < 2) return [run];
  return Array.from({ length: run.length - 1 }, (_, i) => run.slice(i, i + 2));
}

const ENGLISH = `
a about above after again all already also always am an and any anybody anyone anything are around as ask asked at away
back be because been before being below between both but by came can come could d did do does doing done down during each
either else etc even ever every few for from further gave get give given go goes going gone got had has have having he her
here hers herself him himself his how however i if in instead into is it its itself just kind knew know known last least
less let like little ll lot m made make many may maybe me might mine more most much must my myself near need needed neither
never next no nobody none nor not nothing now of off often ok okay on once one ones only onto or other our ours ourselves
out over own per perhaps please put quite rather re really s said same saw say see seen shall she should since so some
somebody someone something still such t take taken tell than that the their theirs them themselves then there these they
thing things think this those though through thus till to together told too took toward towards under until up upon us use
used using ve very via want wanted wants was way ways we went were what whatever when where whether which whichever while
who whoever whom whose why will with within without would yes yet you your yours yourself`;

const OTHERS = `
aber als am an auch auf aus bei bis da das dass dem den der des die doch durch ein eine einem einen einer eines er es fur
gab habe haben hat hatte hatten hinter ich ihm ihn ihr ihre im in ist ja jetzt kann kein keine konnte man mehr mein mich
mir mit nach nicht noch nun nur ob oder ohne schon sehr sein seine sich sie sind so uber um und uns unser unter vom von vor
wann war waren warum was weil welche welcher welches welchen wem wen wenn wer werden wie wir wird wo woran worden wurde
wurden zu zum zur ans beim ins davon dabei dafur damit dazu daran darauf daraus darum wofur womit wovon wozu wieso weshalb
ai as au aux avec avoir avons c ce ces cet cette comment d dans de des du elle elles en est et etait ete eu il ils j je l
la le les leur leurs lors lui ma mais me meme mes mon n ne nos notre nous on ont ou par pas plus pour pourquoi qu quand que
quel quelle quelles quels qui quoi s sa sans se ses si son sont sous sur ta te tes toi ton tu un une vos votre vous y
al algo como con cual cuales cuando cuanto de del donde dos el ella ellas ellos en era eran eres es esa ese eso esta estaba
este esto fue fueron ha habia han hasta hay he la las le les lo los mas me mi mis muy no nos nosotros nuestra nuestro o
para pero por porque que quien se ser si sin sobre son su sus te tiene tu un una unas uno unos y ya yo
ao aos as ate com como da das de dela dele do dos e ela elas ele eles em era essa esse esta este eu foi foram ha isso isto
ja lhe mais mas me meu minha muito na nao nas nem no nos nossa nosso num o onde os ou para pela pelas pelo pelos por porque
qual quais quando que quem sao se sem ser seu sua tem um uma umas uns voce
а без бы был была были было быть в во вот все всё вы где да для до его ее её если есть же за и из или им их к как какая
какие какой какое когда которые который кто ли мне мой мы на над наш не него нее нет ни но о об он она они от очень по под
почему при с со так там то тоже только ты у уже чем что чтобы эта эти это этот я`;

/** Lower case, without accents. */
export const STOP_WORDS: ReadonlySet<string> = new Set(`${ENGLISH} ${OTHERS}`.trim().split(/\s+/));

/** Returns the patterns of a list, whose lines break it as `|` does. */
export function phrases({ raw: [list = ""] }: TemplateStringsArray): string {
  return list.trim().replace(/\s*\n\s*/g, "|");
}

/**
 * Words by which a question asks for what was said or came about, and that name nothing: where no session holds them, nothing
 * of what is asked for is missing. About thirty a language; a pattern stands for the forms of a word.
 */
const ASKING = new RegExp(
  `^(?:${phrases`
  accord(?:ing)?|settled?|decid(?:e[ds]?|ing)|decisions?|agree[ds]?|conclu(?:de[ds]?|sions?)|verdicts?|outcomes?|insist(?:s|ed|ing)?
  mention(?:s|ed)?|remark(?:s|ed)?|speak|spoken?|deals?|dealt|dealing|discuss(?:es|ed|ions?)|conversations?|chats?|became|becomes?
  happen(?:s|ed|ing)?|hold(?:s|ing)?|held|keeps?|kept|refus(?:e[ds]?|al)|suggest(?:s|ed|ions?)?|propos(?:e[ds]?|als?)
  recommend(?:s|ed|ations?)?|complain(?:s|ed|ts?)?|grumbl(?:e[ds]?|ing)|object(?:ed|ions?)|explain(?:s|ed)?|describ(?:e[ds]?|ing)
  claim(?:s|ed)?|turned|ended|cured?|reasons?|chose|chosen|choos(?:e|ing)|picked|prefer(?:s|red)?|consider(?:s|ed)?|thought
  notic(?:e[ds]?|ing)|reali[sz]ed?|survived?|far|wish(?:es|ed)?|supposed|planned|intended|exactly|eventually|afterwards?|meant
  entschieden|beschlossen|besprochen|gesagt|gemeint|erwahnt|passiert|geschehen|geworden|abgelehnt|gewahlt|vorgeschlagen|bleibt
  geblieben|blieb|ubrig|gelost|geklart|gehort|liegt|lag|hiess|heisst|kam|kommt|gekommen|ging|gelaufen|worum|darin|eigentlich
  decid[ei]e?s?|discute|dite?s?|passe|devenue?|choisie?|refusee?|proposee?|resolue?|parle|arrive|reste|pourtant|finalement
  paso|dijo|dijimos|decidimos|decidio|decidido|hablamos|hablado|salia|salio|quedo|queda|eligio|elegimos|resolvio|resuelto|propuso
  decidiu|disse|dissemos|falamos|falou|aconteceu|ficou|escolheu|escolhemos|resolveu|resolvido|combinamos|sugeriu
  решили|решено|сказали?|говорили|случилось|произошло|стало|стал|выбрали|обсуждали|осталось|предложили?`})$`,
);

/** Returns whether a folded word asks for what was said or came about, and names nothing itself. */
export function isAskingWord(word: string): boolean {
  return ASKING.test(word);
}

/** Words that say nothing in a name, though a question may be after them. */
const EMPTY_IN_NAMES = new Set(
  `although two three four five six ten another thank thanks hi hey hello lets gonna wanna needs well actually basically
makes making everything stuff bit sort able don doesn didn isn aren wasn won dont doesnt cant look looks looking try trying
help mean new konnen soll sollen muss mussen dich dir euch dein dass immer wieder bitte danke mal hier dort dann etre ou
estar favor`.split(/\s+/),
);

/** Returns whether a word only holds others together, in a name. */
export function isFunctionWord(word: string): boolean {
  const folded = foldText(word);
  return STOP_WORDS.has(folded) || EMPTY_IN_NAMES.has(folded);
}

/** The words of a command line that are worth marking in what it finds; shorter ones are in too many others. */
export function wordsToMark(args: readonly string[]): string[] {
  const words = args.filter((arg) => !arg.startsWith("-")).flatMap((arg) => arg.split(/[^\p{L}\p{N}_]+/u));
  return words.filter((word) => word.length >= 3 && !isFunctionWord(word));
}

/** Said in every session, so it distinguishes none; in the singular. */
const COMMON_WORDS = new Set(
  `file code line read write run add create change update fix check show test work working first next last start started
continue implement task step user assistant claude agent session message output input result error issue project repo folder
directory function current currently existing following full good great right left sure done need want question answer
example please talk talked discuss discussed happen happened`.split(/\s+/),
);

/** `app-123`, `shop-x4k.2`: a tracker's id, which says nothing about the work. */
const TICKET = /(?<![\w-])[a-z]\w*-(?:\d+|[a-z0-9]{3})(?:\.\d+)?(?![\w-])/gi;

/** Words of politeness and speech before the subject of a sentence; `|` parts phrases, which are patterns. */
const LEAD_INS = phrases`
  (?:hey|hi|hello|hallo|yo|dear|good (?:morning|evening|afternoon)|moin|servus|guten (?:tag|morgen|abend)|bonjour|salut|hola|привет)(?: (?:claude|there|again|team|all|pi|codex|zusammen))?
  ok(?:ay)?|k|alright|all right|right|so|well|now|then|and|but|also|hmm+|great|good|nice|cool|perfect|awesome|yes|yeah|yep|no|nope
  thanks|thank you|fair enough|oh|ah|wait|sorry|actually|anyway|first(?: of all)?|next|finally|btw|my (?:dude|man|friend)|dude|man
  super|gut|ja|nein|danke|bien|vale|bon|claude(?=[,.!:])|just|maybe|never ?mind|fyi|to be (?:fair|honest)|in that case
  (?:can(?:['’]?t)?|could|would|will) (?:you|we|i)(?: (?:please|maybe|also|just|kindly|now|perhaps|mind|be able to))*
  (?:(?:i(?:'d| would| really)? )?(?:like|love|want|need)(?= to\b)|(?:i )?would (?:like|love)|i(?:'d| would| really)? (?:like|love|want|need)|i(?:'m| am) (?:trying|looking|going|planning)|we (?:still )?(?:need|want|have to|should|could|must)|you (?:should|need|must|have to)|it'?s time|help me|i have to|the user wants to(?: be able to)?|i(?:['’]m| am) getting an?|i have an?|we(?:'re| are) going)(?: (?:you|us|me))?(?: to)?(?: (?:please|also|now))*(?: (?:need|want))?(?: (?:your|some) help (?:with|in|to))?
  let'?s|let us|let me|please|pls|kindly|go ahead and|feel free to|make sure (?:to|that)|try to|your task is to|the task is to|your job is to
  i think(?: that)? (?:we|you|it)(?: (?:should|could|can|need to))?|do you think|i was wondering if|is it possible to|would it be possible to
  is there (?:a|any) way to|do you know|how about|what about|a question|quick question|question|(?:it )?(?:looks|seems) (?:like|that)(?: here)?
  (?:give|show|tell|get) (?:me|us)(?: (?:an?|the|some))?
  (?:kannst du|könntest du|würdest du|bitte|ich (?:möchte|will|brauche|hätte gern)|wir (?:müssen|sollten|wollen|brauchen)|lass uns|mache?(?: mir)? (?:bitte|mal))(?: (?:bitte|mal|doch))*
  peux-tu|pouvez-vous|pourrais-tu|je (?:veux|voudrais)|il faut|on doit|s'il te plaît|puedes|podrías|quiero|necesito|por favor|hay que
  можешь|пожалуйста|нужно|надо|давай|помоги`;
const UNSPACED_LEAD_INS = "请|請|帮我|幫我|麻烦|能不能|可以|我想|我要|你好|お願い|こんにちは";
const LEADS_IN = new RegExp(
  `^(?:(?:${LEAD_INS})(?=[\\s,.!:;–]|$)[\\s,.!:;–-]*|(?:${UNSPACED_LEAD_INS})[，,、\\s]*)`,
  "iu",
);

/** Returns the words of a text that name something, in lower case; ids, numbers and what every session says left out. */
export function contentWords(text: string): string[] {
  const words =
    text
      .toLowerCase()
      .replace(TICKET, " ")
      .match(/\p{L}[\p{L}\p{N}]+/gu) ?? [];
  const isCommon = (word: string) => COMMON_WORDS.has(word) || COMMON_WORDS.has(word.replace(/s$/, ""));
  return words
    .flatMap((word) => (word.search(UNSPACED) === 0 ? characterPairs(word) : word))
    .filter((word) => !isFunctionWord(word) && !isCommon(word) && !/^[a-f\d]{8,}$/.test(word));
}

/** Returns a sentence without what politeness and speech put before its subject. */
export function withoutLeadIn(sentence: string): string {
  const rest = sentence.trim().replace(LEADS_IN, "");
  return rest === sentence ? rest : withoutLeadIn(rest);
}

/**
 * Recognises what a message or a sentence does (agrees, decides, forbids, names a cause), by its words alone; splits texts into
 * sentences; and finds what of a message its user typed.
 *
 * The words are about eight a language: English, German, French, Spanish, Portuguese, Russian, Chinese and Japanese.
 */

import { truncate } from "../base/text.ts";
import { contentWords } from "./words.ts";

/** Each line is of one language or more; `|` parts phrases, which are patterns. */
const PHRASES = {
  agrees: `yes|yeah|yep|y|ok|okay|sure|fine|great|perfect|good|nice|cool|correct|exactly|agreed|right|excellent|lgtm
    sounds good|looks good|ja|jep|genau|gut|passt|gerne|einverstanden|oui|d['’]accord|parfait|bien|sí|si|vale|claro
    perfecto|de acuerdo|sim|isso|да|хорошо|ладно|согласен|是的?|好的?|可以|はい|了解`,
  /** Agrees to what was proposed, whatever follows that takes nothing back: more than "ok", which goes on to something else. */
  consents: `yes|yeah|yep|go ahead|ja|oui|sí|sim|да|是的|はい`,
  restricts: `but|except|instead|not|no|only|don['’]t|aber|nur|nicht|mais|pas|sauf|pero|excepto|mas|но|但|でも`,
  /** Thanks, greets, or tells that it works. */
  thanks: `thanks|thank you|thx|ty|cheers|danke|vielen dank|merci|gracias|obrigad[oa]|спасибо|谢谢|ありがとう(?:ございます)?
    hi|hello|hey|yo|hallo|bonjour|hola|olá|привет|你好|こんにちは|(?:it|everything|all) work(?:s|ed)
    (?!nothing|none)\\S+ (?:works|is working) (?:now|again)`,
  goesOn: `continue|go on|go ahead|go for it|proceed|carry on|keep going|resume|next|try again|retry|do it|do that|do so
    weiter|mach weiter|continuez|vas-y|sigue|continúa|adelante|continua|продолжай|дальше|继续|続けて`,
  /** Said beside these, and nothing by itself. */
  beside: `please|then|now|so|much|very|a lot|again|and|that works|works(?: for me)?|well done|good job|work|job|stuff|one
    to me|it|with it|with that|bitte|por favor|s['’]il (?:te|vous) plaît|пожалуйста|请`,
  /** At the beginning of a message: the work before it is not done as wanted. */
  corrects: `no(?! (?:problem|worries|idea|clue|need|one|matter)\\b)|nope|not (?:that|what|like|quite|right)|wrong|stop|wait
    undo|revert|roll ?back|that(?:['’]s| is| was)? (?:not|wrong)|that (?:does|did|is)n['’]?t|you (?:forgot|missed|broke)
    it(?:['’]?s| is)? still|still (?:no|not|fails?|failing|broken|wrong|does|did|the same|an issue)|it (?:does|did|is)(?: not|n['’]?t)
    nein|falsch|halt|das (?:ist|war|geht|stimmt) (?:nicht|falsch)|non|faux|ce n['’]est pas|annule|eso no|está mal|deshaz
    não|errado|isso não|нет|не то|неправильно|неверно|不对|不是|错了?|いや|違う|違います`,
  /** Openings of an answer that refuses the words or deeds before it. */
  refuses: `no(?= *(?:[,.!:;–—-]|$| (?:we|i|it|that|this|you|not|don['’]?t|please|let)\\b))|nope|not (?:that|what|like (?:that|this))
    (?:that|this)(?:['’]?s| is) not (?:how|what|right|it)|wrong|(?:please )?(?:undo|revert|roll ?back|take (?:that|it|this) (?:back|out))
    actually,? (?:no|i think|let['’]?s)|nein|falsch|lass das|non|faux|annule|eso no|no hagas|deshaz|não|errado|desfaz
    нет|не надо|не то|отмени|откати|不要|不对|撤销|いや|違う|やめて|元に戻して`,
  /** The same, where it goes on with a word of what it answers. */
  refusesIt: `no|(?:please )?(?:don['’]?t|do not)|kein[ens]*|pas de|nada de`,
  /** Lays down what shall hold. */
  forbids: `from now on|off[- ]limits|must not|mustn['’]t|do not ever|(?:i|we) prefer|niemals|nie|auf keinen fall|immer(?! (?:wieder|noch))
    ab jetzt|jamais|toujours|ne \\S+ pas|désormais|nunca|siempre|jamás|sempre|a partir de (?:ahora|agora)
    никогда|всегда|нельзя|отныне|不要|别再|永远|必须|禁止|決して|必ず|絶対に|しないで`,
  /** Makes a choice, in whoever's mouth. */
  chooses: `(?:we|i|we['’]ve|i['’]ve|have|been) decided|settled on|(?:we|i|we['’]ve|i['’]ve) (?:agreed|chose|opted|went with)|(?:go|going) with
    let['’]?s (?:use|go with|keep|stick|drop)|we(?:['’]ll| will| should) (?:use|keep|stick|drop)|stick (?:with|to)
    decisions?(?::| is| was)|entschieden|beschlossen|wir (?:nehmen|bleiben|verwenden)
    nehmen wir|on (?:garde|prend|choisit)|decidimos|decidido|acordamos|elegimos|escolhemos|combinado|vamos (?:usar|com)
    решили|решено|решила?|договорились|决定|改用|決めた|決定|採用`,
  /** Tells of a choice or compares, as a bug's report does too. */
  decides: `decided|agreed|chose|chosen|opted|rejected|approved|concluded|went with|let['’]?s (?:go|not)|rather than
    instead of|prefer|decision to|entscheidung|lieber|statt|décidé|choisi|plutôt que|en vez de|escolhido|em vez de
    выбрали|вместо|选择`,
  /** Names a cause. */
  finds: `root cause|caused by|(?:cause|reason|culprit):|because|due to|triggered by|(?:came|comes|stems) from|turns? out
    turned out|that(?:['’]s| is| was) why|was (?:missing|stale|wrong|(?:not|never) \\w+ed)
    the (?:real |actual )?(?:problem|issue|bug|cause|reason|culprit|trick) (?:is|was)|die ursache|weil|lag an|liegt an
    la cause|à cause de|parce que|le problème (?:est|était)|la causa|el problema (?:es|era)|a causa|o problema (?:é|era)
    причина|потому что|оказалось|原因|因为`,
  leavesWork: `todos?|fixme|must|needs? to|have to|has to|remember to|don['’]t forget|make sure|next steps?|action items?
    follow[- ]?ups?|deadline|please|müssen|nicht vergessen|noch (?:zu tun|offen)|erledigen|il faut|à faire|hay que
    tenemos que|pendiente|precisa(?:mos)?|pendente|нужно|надо|не забыть|需要|待办|记得|必要がある|忘れずに`,
  /** Thinking aloud: nothing is settled by it. */
  wavers: `maybe|perhaps|might|probably|likely|not sure|unsure|could|whether|seems?|appears?|vielleicht|wahrscheinlich
    peut-être|quizás?|talvez|может|возможно|也许|可能|多分`,
  supposes: `i think|i guess|i suppose|i wonder|ich (?:denke|glaube)|je (?:pense|crois)|creo que|acho que|думаю|我觉得|と思う`,
  /** At the beginning of a sentence: announces, supposes or asks. */
  announces: `let me|i['’]?ll|i will|now|wait|looking|if|what if|should|would|option|or`,
  /** An order that is a rule where a clause begins with it: "it never works" forbids nothing. */
  orders: `never(?! ?mind)|always|(?:do not|don['’]?t)(?! (?:know|think|see|understand|remember|mind|care|worry|get|have|need|want|like)\\b)
    no (?:more|new|further)(?![^.]*(?:needed|required|necessary|=))|(?:avoid|stop) (?!doing\\b)\\S+ing|(?:leave|keep) [^,.]{1,60} (?:alone|untouched|unchanged)
    under no circumstances|next time(?:,| you\\b| we\\b| let\\b)|(?:you|we) (?:may|must|should|can) ?not|i (?:do not|don['’]t) want you to
    remember (?:that|to)`,
  /** Tells to take one of two. */
  takesOne: "(?:use|take|keep|pick|choose) [^.?!]{1,80} (?:instead|rather than)",
  /** Asks back: "can you revert that?" */
  takesOut: "(?:undo|revert|roll ?back|take (?:back|out)) (?:that|it|this|the last|your)",
  /** Behind a no: it refuses nothing. */
  accepts: `thanks?|thank you|(?:that|it|this)(?:['’]?s| is)? (?:fine|ok(?:ay)?|good|all|right|perfect)|all good|looks good|go ahead
    need|problems?|worries`,
  /** In a question: what to do next. */
  proposes: `want me to|(?:should|shall|can|may) (?:i|we)|would you like|proceed|sounds? good|ok(?:ay)?\\?|soll(?:en)? (?:ich|wir)
    dois-je|quieres que|devo`,
  /** Opens an answer and says nothing. */
  fills: `done|sure|now|let me|let['’]s|i['’]ll|i will|i['’]m going to|looking|first|next|got it|of course|you['’]re right
    here(?:['’]s| is| are)|alright|summary|perfect|great|good|ok(?:ay)?`,
};

const UNSPACED = /[\u3040-\u9fff]/;

/** In patterns without the u flag, which takes twice the time on every chunk and row. */
const LETTER = "a-z0-9\\u00c0-\\u024f\\u0400-\\u04ff";
const AT_START = `^[^${LETTER}]*`;

/** Matches the phrases of a list as whole words behind what `before` matches; those of scripts without spaces anywhere. */
export function matchPhrases(list: string, before = `(?<![${LETTER}])`): RegExp {
  const parts = Map.groupBy(listPatterns(list), (phrase) => UNSPACED.test(phrase));
  const [unspaced, spaced] = [true, false].map((is) => (parts.get(is) ?? ["(?!)"]).join("|"));
  const anywhere = before === AT_START ? "^[\\s，。、！？!?.,]*" : "";
  return new RegExp(`${before}(?:${spaced})(?![${LETTER}])|${anywhere}(?:${unspaced})`, "i");
}

function listPatterns(list: string): string[] {
  return list.split(/\s*\n\s*|\|(?![^(]*\))/);
}

const CONSENTS = matchPhrases(PHRASES.consents, AT_START);
const RESTRICTS = matchPhrases(PHRASES.restricts);
const CORRECTS = matchPhrases(PHRASES.corrects, AT_START);
const REFUSES = matchPhrases(PHRASES.refuses, AT_START);
const REFUSES_IT = matchPhrases(PHRASES.refusesIt, AT_START);
const FORBIDS = matchPhrases(PHRASES.forbids);
const ORDERS = matchPhrases(
  PHRASES.orders,
  "(?:^\\W*|[,;:(–-]\\s+|\\b(?:please|and|so|also|you|we|then|shall|must|should|ok|yes|no) )",
);
const CHOOSES = matchPhrases(PHRASES.chooses);
const TAKES_ONE = matchPhrases(
  PHRASES.takesOne,
  "^\\W*(?:(?:ok(?:ay)?|no|yes|please|and|then|so|also)\\W+)*",
);
const TAKES_OUT = matchPhrases(PHRASES.takesOut);
const ACCEPTS = matchPhrases(PHRASES.accepts, "^\\W*no\\W+");
const PROPOSES = matchPhrases(PHRASES.proposes);
const DECIDES = matchPhrases(`${PHRASES.chooses}|${PHRASES.decides}`);
const LEAVES_WORK = matchPhrases(PHRASES.leavesWork);
const FINDS = matchPhrases(PHRASES.finds);
const WAVERS = matchPhrases(PHRASES.wavers);
const SUPPOSES = matchPhrases(PHRASES.supposes);
const ANNOUNCES = matchPhrases(PHRASES.announces, AT_START);
const REPLIES = {
  thanks: matchPhrases(PHRASES.thanks),
  goesOn: matchPhrases(PHRASES.goesOn),
  agrees: matchPhrases(PHRASES.agrees, AT_START),
};
const REPLY_PHRASES = (["agrees", "thanks", "goesOn", "beside"] as const)
  .flatMap((act) => listPatterns(PHRASES[act]))
  .join("|");
const REPLY = new RegExp(`^(?:(?:${REPLY_PHRASES})(?:[\\s\\p{P}\\p{S}]+|$)){1,8}$`, "iu");
const ASKS = /[?？]["')\]*_`\s]*$/;
const FILLER = new RegExp(`^(?:${listPatterns(PHRASES.fills).join("|")})\\b[^.!?:]{0,60}[.!:]?$`, "i");
/** A longer message says more than a reply, whatever its words. */
const REPLY_CHARS = 80;

/** Returns what a message does that only agrees, thanks or says to go on; undefined for one that says more. */
export function readReply(text: string): keyof typeof REPLIES | undefined {
  const said = text.trim();
  if (said.length > REPLY_CHARS || !REPLY.test(said)) return undefined;
  return (["thanks", "goesOn", "agrees"] as const).find((act) => REPLIES[act].test(said));
}

/** Returns whether a message consents to what was proposed right before it. */
export function consents(message: string): boolean {
  const reply = readReply(message);
  if (reply !== undefined) return reply !== "thanks";
  const isPlain = message.length <= REPLY_CHARS && !ASKS.test(message) && !RESTRICTS.test(message);
  return isPlain && CONSENTS.test(message);
}

/** Returns whether a message answers an offer: with yes or no, with a word of it, or with what was asked for. */
export function isAnswer(text: string, offer: string): boolean {
  if (text.startsWith("/")) return false;
  if (/^(?:which|what|who|where|when|how)\b/i.test(pendingQuestion(offer) ?? "")) return !ASKS.test(text);
  const [first = ""] = /\p{L}+/u.exec(text.toLowerCase()) ?? [];
  return REPLIES.agrees.test(text) || CORRECTS.test(text) || contentWords(offer).includes(first);
}

/** Returns whether a user's message says that the work before it is not done as wanted. */
export function isCorrection(text: string): boolean {
  return CORRECTS.test(text);
}

const BARE_NO = /^\W*(?:no|nope|nein|non|não|нет|いや)(?!\p{L})/iu;
/** The text that hosts write behind the answer to a question of a menu. */
const CHOSEN = "(asked: ";

/** Returns whether a user's answer takes back what was said or done before it; a no to a question that proposes nothing does not. */
export function takesBack(answer: string, before: string): boolean {
  const [first = ""] = sentences(answer);
  if (answer.includes(CHOSEN) || ACCEPTS.test(answer)) return false;
  if (TAKES_OUT.test(first)) return true;
  const isRefusal = REFUSES.test(first) || (REFUSES_IT.test(first) && sharesWord(first, before));
  if (!isRefusal || ASKS.test(first)) return false;
  const question = BARE_NO.test(first) ? pendingQuestion(before) : undefined;
  return question === undefined || PROPOSES.test(question);
}

function sharesWord(text: string, before: string): boolean {
  const known = new Set(contentWords(before));
  return contentWords(text.split(/[,;:]/, 1)[0] ?? "").some((word) => known.has(word));
}

/** Returns whether a sentence forbids, or lays down what shall hold from then on. */
export function isRule(sentence: string): boolean {
  const own = sentence.replace(QUOTED, " … ");
  return (FORBIDS.test(own) || ORDERS.test(own)) && !ASKS.test(own) && !SUPPOSES.test(own);
}

/** Returns whether a sentence asks. */
export function isQuestion(sentence: string): boolean {
  return ASKS.test(sentence);
}

/** Returns whether a text names a cause. */
export function statesCause(text: string): boolean {
  return FINDS.test(text);
}

/** Returns whether a sentence states what was found to be the case. */
export function isFinding(sentence: string): boolean {
  return statesCause(sentence) && isSettled(sentence);
}

function isSettled(sentence: string): boolean {
  return ![ASKS, WAVERS, SUPPOSES, ANNOUNCES].some((act) => act.test(sentence));
}

/** Returns the question that a text ends with, give or take a sentence. */
export function pendingQuestion(text: string): string | undefined {
  return sentences(text)
    .slice(-2)
    .findLast((sentence) => ASKS.test(sentence));
}

/** Returns the question that a text ends with, after what it proposed where the question alone does not say that. */
export function pendingOffer(text: string): string | undefined {
  const question = pendingQuestion(text);
  if (question === undefined || (contentWords(question).length > 1 && !/^or\b/i.test(question)))
    return question;
  const before = sentences(text.slice(0, text.lastIndexOf(question))).at(-1);
  return before === undefined ? question : `${before} ${question}`;
}

/** Returns whether a question proposes what to do next. */
export function proposes(question: string): boolean {
  return PROPOSES.test(question);
}

/** Returns whether a question offers a choice, to which a yes says nothing. */
export function asksBetween(question: string): boolean {
  return /(?<!\p{L})(?:or|either|oder|ou|o|или|还是|それとも)(?!\p{L})/iu.test(question);
}

/** Returns whether a message asks for something: no reply, and no command of the host's without a word. */
export function isRequest(text: string): boolean {
  return readReply(text) === undefined && !/^\/\S*$/.test(text.trim());
}

/** Returns whether a text makes or tells of a choice. */
export function makesDecision(text: string): boolean {
  return DECIDES.test(text);
}

/** Returns whether a text leaves something to be done. */
export function leavesWork(text: string): boolean {
  return LEAVES_WORK.test(text);
}

/** Returns whether a sentence of the user's makes a choice. */
export function isChoice(sentence: string): boolean {
  return (CHOOSES.test(sentence) || TAKES_ONE.test(sentence)) && isSettled(sentence);
}

/** Returns the sentences of a text without Markdown's marks, tables and fenced code. */
export function sentences(text: string): string[] {
  return text
    .replace(/```[\s\S]*?(?:```|$)/g, "\n")
    .replace(/^[ \t]*(?:\||\d+[.)][ \t]*$).*$/gm, "\n")
    .split(/(?<=[^\s\d][.!?。！？]["')\]]?|\d{3}[.!?])\s+|(?<=[。！？])|\n+/u)
    .map((sentence) =>
      sentence
        .replace(/^[\s>#*+-]*(?:\d+[.)]\s+)?/, "")
        .replace(/\*\*|__/g, "")
        .trim(),
    )
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence));
}

/** Returns whether a text only opens or announces what follows: "Let me investigate". */
export function isFiller(text: string): boolean {
  return sentences(text).every((sentence) => FILLER.test(sentence));
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

/** Pasted text is long: its beginning and end are read. */
const READ_CHARS = 20_000;

/** Returns a message without what its user did not write: code, logs and tables, marks of clients, addresses. */
export function spokenText(text: string): string {
  const isLong = text.length > 2 * READ_CHARS;
  return (isLong ? `${text.slice(0, READ_CHARS)}\n${text.slice(-READ_CHARS)}` : text)
    .replace(/```[\s\S]*?(?:```|$)/g, "\n")
    .replace(/\[(?:redacted:[a-z0-9-]+|Image[^\][]{0,200}|REDACTED[^\][]{0,200})\]/gi, "\n")
    .replace(/\bhttps?:\/\/\S+|(?<![\w.-])[\w.-]{1,64}@[\w-]{1,63}\.[\w.]+/g, " ")
    .split("\n")
    .filter((line) => !isPasted(line))
    .join("\n");
}

/** A longer line, or one with a smaller share of letters and blanks, is not a sentence. */
const SENTENCE = { chars: 1500, letters: 0.6 };
/** Marks what a program wrote in words: a prompt, a log's level or time, an error, a statement. */
const PRINTED =
  /^(?:[$%❯➜>|│] |\(?\w+@[\w.-]+[:~]|\[[A-Z]+\] |<[a-z][\w-]* \S+=|\[?\d{4}-\d\d-\d\d[T ]\d|\d\d:\d\d:\d\d|at \S+ ?\(|Traceback|npm ERR|\w*(?:error|exception|warning)(?:\[\w+\])?: )|[;{}]$/i;

/** Returns whether a program wrote a line: a log, a prompt, a stack frame, a table, code. */
function isPasted(line: string): boolean {
  const text = line.trim();
  if (text === "") return false;
  const isIndented = /^(?:\s{4}|\t)\s*(?![-*•\s]|\d+[.)])/.test(line);
  const letters = text.match(/[\p{L}\s]/gu)?.length ?? 0;
  return (
    text.length > SENTENCE.chars ||
    isIndented ||
    PRINTED.test(text) ||
    letters < text.length * SENTENCE.letters
  );
}

/** Words of somebody else, or of a program. */
export const QUOTED =
  /"[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|`[^`]*`|「[^」]*」|『[^』]*』|(?<![\p{L}\p{N}])['‘][^'’]*['’](?![\p{L}\p{N}])/gu;

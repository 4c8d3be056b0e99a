/**
 * What a sentence does, by its words alone (corrects, agrees, thanks, lays down a rule, decides, reports a finding), what
 * of a message its user typed, and what a user's message is.
 */

import { truncate } from "../base/text.ts";
import { describeText } from "./topics.ts";
import { contentWords, hasUnspaced, withoutLeadIn } from "./words.ts";

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

/** Rules that hold beyond the work at hand. */
const RULE =
  /(?<!\b(?:it|that|this|they|he|she|i|we|is|are|was|has|have|had|will|would|nearly|almost) )\b(?:always|never(?! ?mind| seen| been| had| got| works?))\b|\b(?:from now on|in (?:the )?future|remember (?:that|to)|(?:i|we) prefer|must not|mustn['’]?t|(?<=^|[,;:(] |\b(?:please|and|but|you|so|also|ok|yes|no) )do(?:n['’]?t| not) (?:ever|use|touch|change|edit|modify|commit|push|delete|remove|add|create|write|mock|guess|assume)|(?:do )?only (?:ever )?use|no (?:more )?(?:emojis?|comments|mocks)|nie(?:mals)?|immer(?! (?:wieder|noch))|ab jetzt|toujours|jamais|siempre|nunca)\b/i;

/** Statements of a finding. */
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

/** Said in anger or despair: what it is about is seldom in it. */
const OUTBURST =
  /\b(?:\w*f+u+c+k\w*|fgs|ffs|wtf|om+f?g+|bull?shit\w*|shit\w*|damn\w*|crap\w*|sucks?|argh+|ugh+|scheiß\w*|verdammt\w*|putain|merde|mierda|joder)\b/iu;

const LEADING_OUTBURST = new RegExp(`^(?:${OUTBURST.source}\\W+)+`, "iu");

/** Returns whether a sentence holds strong language. */
export function isOutburst(sentence: string): boolean {
  return OUTBURST.test(sentence);
}

/** Returns whether a sentence has no strong language, or two words beside it. */
function saysMoreThanOutburst(sentence: string): boolean {
  const rest = sentence.replace(new RegExp(OUTBURST.source, "giu"), " ");
  return rest === sentence || contentWords(rest).length > 1;
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
  const informative = all.filter((sentence) => !FILLER.test(sentence));
  let result = "";
  for (const sentence of informative.length > 0 ? informative : all) {
    if (result !== "" && result.length + sentence.length + 1 > max) break;
    result = result === "" ? sentence : `${result} ${sentence}`;
  }
  return truncate(result, max);
}

/** Removes what the user did not write: pasted code, logs and tables, tags inserted by clients, addresses. */
export function spokenText(text: string): string {
  return withoutElements(text)
    .replace(/```[\s\S]*?(?:```|$)/g, "\n")
    .replace(SHELL_SESSION, "\n")
    .replace(/^(?:diff --git|@@ |index [0-9a-f]+\.\.|--- |\+\+\+ )[\s\S]*/m, "\n")
    .replace(/\[(?:redacted:[a-z0-9-]+|Image[^\][]{0,200}|REDACTED[^\][]{0,200})\]/gi, "\n")
    .replace(/\bhttps?:\/\/\S+|(?<![\w.-])[\w.-]{1,64}@[\w-]{1,63}\.[\w.]+/g, " ")
    .split("\n")
    .filter((line) => !isPasted(line))
    .join("\n");
}

/** A paragraph that begins with a prompt and its command: what follows was printed. */
const SHELL_SESSION = /(?<=^|\n\n)(?:\(\w+\) )?[\w.-]+@[\w.-]+[:~][^\n]*[$#] [^\n]*(?:\n[^\n]+)*/g;

const OPENING = /<([a-z][\w-]{0,60})(?:\s[^<>]{0,400})?>/g;
/** After so many elements that never end, text is taken for no markup. */
const UNENDED_MAX = 50;

/** Returns the text without elements that end, in one pass. */
function withoutElements(text: string): string {
  const unended = new Set<string>();
  let result = "";
  let done = 0;
  OPENING.lastIndex = 0;
  for (let match = OPENING.exec(text); match && unended.size < UNENDED_MAX; match = OPENING.exec(text)) {
    const closing = `</${match[1]}>`;
    const end = unended.has(closing) ? -1 : text.indexOf(closing, OPENING.lastIndex);
    if (end === -1) {
      unended.add(closing);
      continue;
    }
    result += `${text.slice(done, match.index)}\n`;
    done = end + closing.length;
    OPENING.lastIndex = done;
  }
  return result + text.slice(done);
}

/** Returns whether a program wrote a line: a log, a prompt, a stack frame, a table, code. */
function isPasted(line: string): boolean {
  const text = line.trim();
  if (text === "" || text.length > 1500 || text.startsWith("| ")) return text !== "";
  if (
    /^(?:[>|│┃┌└├╭╰*#]{1,3}\s*)?(?:\(\w+\) )?(?:\[[a-z][\w.-]*\] \S|\[?\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|at \S+ ?\(|File "|Traceback|Caused by|\S+@\S+[:~].*[$#] |[$%❯➜] |npm ERR|error(?:\[\w+\])?: |warning: |\w*(?:Error|Exception)\b)/.test(
      text,
    )
  )
    return true;
  if (/^\s{4,}\S|^\t/.test(line) && !/^\s*(?:[-*•]|\d+[.)])\s/.test(line)) return true;
  if (/^[│┃┌└├╭╰]/.test(text)) return true; // drawn by a terminal program
  const letters = text.match(/[\p{L}\s]/gu)?.length ?? 0;
  return (
    letters / text.length < 0.6 ||
    /[;{}]$|=>|^(?:const|var|def|SELECT|INSERT) |^(?:let \w+ ?[=:]|import [\w.]+$|import .+ from ["']|function \w*\(|class [A-Z])/.test(
      text,
    )
  );
}

export type UserAct = "request" | "rule" | "decision" | "question" | "remark";

/** Sentences looked at; what a longer message wants is said at its start or its end. */
const SENTENCES_MAX = 12;

/** Of a message that looks pasted, what may still ask for something. */
const UNSPOKEN_CHARS = 300;

/** Verbs that a request begins with, by their stem. */
const IMPERATIVE =
  /^(?:re-?)?(?:add|adjust|align|allow|analy[sz]e|answer|append|apply|archive|ask|assign|audit|automate|back|build|bump|call|change|check|choose|clarify|clean|clear|clone|close|collect|combine|commit|compare|compile|complete|condense|configure|confirm|connect|consider|consolidate|continue|convert|copy|correct|count|create|cut|debug|dedupe|define|delete|deploy|describe|design|determine|diagnose|disable|display|do|document|don['’]?t|download|draft|draw|drop|edit|enable|ensure|estimate|evaluate|examine|execute|expand|explain|explore|export|extend|extract|fetch|figure|fill|find|finish|fix|flip|focus|follow|format|forward|generate|get|give|go|grab|group|handle|have|hide|highlight|hold|identify|ignore|implement|import|improve|include|increase|inline|insert|inspect|install|instrument|integrate|introduce|invert|investigate|join|keep|kill|label|launch|leave|let(?! me\b(?! (?:know|see|have)))|limit|link|lint|list|load|log|look|lower|make|map|mark|match|measure|mention|merge|migrate|mock|modify|monitor|move|name|note|offer|open|optimi[sz]e|order|organi[sz]e|output|parse|paste|pick|pin|ping|place|plan|point|polish|port|post|prefix|prepare|print|profile|propose|protect|provide|prune|publish|pull|push|put|raise|read|rebase|record|redo|reduce|refactor|refer|refresh|register|release|reload|remember|remove|rename|render|reorder|repeat|replace|reply|report|request|research|reset|resolve|restart|restore|restructure|resume|retry|return|reuse|revert|review|revise|rewrite|rework|rotate|run|save|say|scan|search|see|select|send|separate|set|share|shorten|show|shrink|simplify|skip|sort|spawn|split|squash|start|stash|stick|stop|store|strip|structure|style|submit|suggest|summari[sz]e|support|swap|switch|sync|tag|take|tell|test|think|throw|tidy|track|transform|translate|trim|try|turn|tweak|type|undo|unify|untangle|update|upgrade|upload|use|validate|vendor|verify|wait|walk|warn|watch|websearch|wire|work|wrap|write)\b(?!['’]?s\b|\s+(?:is|are|was|were|has|seems?|looks?)\b)/i;

/** Asking for something in other words than an order. */
const WANTING =
  /\b(?:please|pls|(?:can|could|would|will) (?:you|we)|can you|i(?:['’]d| would) (?:like|love|rather)|i (?:want|need|prefer)|we (?:still |also )?(?:need|want|have|ought|must|should(?! be (?:good|fine|ok|okay|done|ready))|shouldl)|(?<!\bdo )you (?:should|need|must|have to|can)|(?:it|this|that|they|these|those|there|[\w.-]+) (?:should(?! be (?:good|fine|ok|okay|done|ready))|must|needs? to|has to|have to)|let['’]?s(?! see\b)|let us|(?:would|might|['’]d) (?:also )?be (?:nice|good|great|cool|better)|how about|how can (?:we|i)|is there (?:a|any) way|do you think (?:we|you|it)|next (?:step|task)|your task|the task|goal is|time to|bitte|kannst du|könntest du|ich (?:möchte|will|brauche)|wir (?:müssen|sollten|wollen|brauchen)|lass uns|peux-tu|pouvez-vous|je (?:veux|voudrais)|il faut|puedes|podrías|quiero|necesito|por favor|hay que|можешь|пожалуйста|нужно|надо|давай)(?=$|[^\p{L}])/iu;

/** Something does not work, which asks for a remedy. */
const COMPLAINT =
  /\b(?:does ?n[o']?t|do ?n[o']?t|did ?n[o']?t|is ?n[o']?t|won['’]?t|can(?:no|['’])?t|cannot) (?:work|seem|start|show|run|load|build|compile|open|find|render|scroll|match|update|save|change|get|have|appear|connect)|\b(?:fails?|failing|broken|breaks|crash(?:es|ed)?|flaky|wrong|stuck|hangs?|annoying|sucks?)\b|\b(?:an?|the|this|same) (?:\w+ )?(?:error|bug|regression)\b|\bstill (?:no|not|see|shows?|does)\b|:\(/i;
/** "now the docs" */
const NEXT_THING =
  /^(?:(?:and|ok|then|so),? )*(?:(?:now|next)(?:,| (?!(?:it|that|this|they|i|we|you|everything|all|there|even)\b))|(?:the )?same (?:thing )?(?:for|with)\b)/i;
/** "no deprecation alias!" */
const NO_SUCH_THING = /^no(?!.* (?:found|available)\b)(?: [\w-]+){1,4}!*$/i;
/** "should say when this can be null" */
const SUBJECTLESS =
  /^(?:should|could|can)(?: (?:probably|maybe|also|then))* (?!(?:be (?:good|fine|ok|okay|done|ready)|we|you|i|it|this|that|they|there|the|a)\b)\p{L}/iu;
/** "let me try the light theme": the speaker does it. */
const ANNOUNCING =
  /^(?:(?:ok|okay|alright|so|now|then|first),? )*(?:let me (?!know|see|have)|i(?:['’]ll| will)\b)/i;
/** "i suppose the workflow would be …" */
const SUPPOSING = /^i (?:suppose|guess|assume|hope)\b/i;
/** A longer sentence describes; a complaint is short. */
const COMPLAINT_CHARS = 140;

const QUESTION = /[?？]["')\]]*\s*$/;
const ASKING =
  /^(?:do(?= (?:you|we|i|they|these|those)\b)|(?:does|did|is|are|was|were|has|have)(?= (?:you|we|i|it|they|he|she|this|that|these|those|the|there|an?|any|my|our|your)\b)|what|why|how|where|when|which|who|whose|isn['’]?t|aren['’]?t|doesn['’]?t|warum|wie|wo|wann|wer|welche\w*|pourquoi|comment|qué|cómo|почему|как|где)(?=$|[^\p{L}])/iu;
/** A question about what is wanted rather than about what is. */
const PROPOSING =
  /\b(?:should(?:l)? (?:we|i|it|this|that|there|not)|shouldn['’]?t|(?:can|could|would|will) (?:you|we)\b|can(?:['’]t|not) (?:we|you)|do (?:we|i|you) (?:also |even |still )?(?:need|want|think)|how about|what if|want to|is there (?:a|any) way|any (?:\w+ )?(?:idea|suggestion|thought)s?(?! (?:why|what|how|where)))/i;
/** Asks for a reason or a fact, whatever else it says. */
const WONDERING =
  /^(?:why(?! not| don['’]?t)|how (?:was|is|are|does|do|did|come|many|much|sure)|when|which|who|whose|where|what (?:is|are|was|does|do|did|happens?))\b/i;

/** Tells what a user's message is. What was pasted into it, and what its client put in, counts for nothing. */
export function userAct(text: string): UserAct {
  const said = sentences(spokenText(text)).slice(0, SENTENCES_MAX);
  if (said.length === 0) return WANTING.test(text.slice(0, UNSPOKEN_CHARS)) ? "request" : "remark";
  // Told by their endings and marks these languages are not: nothing is lost by taking them for requests.
  if (isUnspacedText(said.join(" ")))
    return said.every((sentence) => QUESTION.test(sentence)) ? "question" : "request";
  const acts = said.map(sentenceAct);
  if (acts.every((act) => act === "rule" || act === "remark") && acts.includes("rule")) return "rule";
  for (const act of ["request", "rule", "decision", "question"] as const) if (acts.includes(act)) return act;
  return isCorrection(text) && said.some(saysMoreThanOutburst) ? "request" : "remark";
}

/** Returns whether a text is in a script without spaces, give or take some words of code. */
function isUnspacedText(text: string): boolean {
  const words = text.split(/\s+/);
  return words.filter(hasUnspaced).length * 8 >= words.length;
}

function sentenceAct(sentence: string): UserAct {
  const rest = withoutLeadIn(sentence.replace(LEADING_OUTBURST, ""));
  const isQuestion = QUESTION.test(sentence) || ASKING.test(rest);
  if (isRule(sentence) && !isQuestion) return "rule";
  if (!saysMoreThanOutburst(sentence)) return isQuestion ? "question" : "remark";
  if (isQuestion) {
    const isWrong = isCorrection(sentence) && !/^(?:wait|hmm)/i.test(sentence);
    const isWanted = (PROPOSING.test(sentence) && !WONDERING.test(rest)) || isWrong;
    return isWanted ? "request" : "question";
  }
  const isOrder = !SUPPOSING.test(rest) && clausesOf(sentence).some((clause) => IMPERATIVE.test(clause));
  if (isOrder || WANTING.test(sentence) || SUBJECTLESS.test(rest)) return "request";
  if (isCorrection(sentence) || NEXT_THING.test(sentence) || NO_SUCH_THING.test(sentence)) return "request";
  if (sentence.length <= COMPLAINT_CHARS && COMPLAINT.test(sentence)) return "request";
  return isDecision(sentence) ? "decision" : "remark";
}

/** Returns a sentence and what begins after a comma or an "and" in it, without politeness. */
function clausesOf(sentence: string): string[] {
  return sentence
    .replace(LEADING_OUTBURST, "")
    .split(/[,;:]\s+|\s+(?:and|then|but|und|dann)\s+|\s+[-–]\s+/i)
    .filter((clause) => !ANNOUNCING.test(clause))
    .map(withoutLeadIn);
}

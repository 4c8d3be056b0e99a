/** What a user's message is: a request, a rule, a decision, a question, or a remark. Judged by its words alone. */

import { isCorrection, isDecision, isRule, sentences } from "./speech.ts";
import { spokenText } from "./spoken-text.ts";
import { withoutLeadIn } from "./wording.ts";
import { hasUnspaced } from "./words.ts";

export type UserAct = "request" | "rule" | "decision" | "question" | "remark";

/** Sentences looked at; what a longer message wants is said at its start or its end. */
const SENTENCES_MAX = 12;

/** Of a message that looks pasted, what may still ask for something. */
const UNSPOKEN_CHARS = 300;

/** Verbs that a request begins with, by their stem. */
const IMPERATIVE =
  /^(?:re-?)?(?:add|adjust|align|allow|analy[sz]e|answer|append|apply|archive|ask|assign|audit|automate|back|build|bump|call|change|check|choose|clarify|clean|clear|clone|close|collect|combine|commit|compare|compile|complete|condense|configure|confirm|connect|consider|consolidate|continue|convert|copy|correct|count|create|cut|debug|dedupe|define|delete|deploy|describe|design|determine|diagnose|disable|display|do|document|don['’]?t|download|draft|draw|drop|edit|enable|ensure|estimate|evaluate|examine|execute|expand|explain|explore|export|extend|extract|fetch|figure|fill|find|finish|fix|flip|focus|follow|format|forward|generate|get|give|go|grab|group|handle|have|hide|highlight|hold|identify|ignore|implement|import|improve|include|increase|inline|insert|inspect|install|instrument|integrate|introduce|invert|investigate|join|keep|kill|label|launch|leave|let|limit|link|lint|list|load|log|look|lower|make|map|mark|match|measure|mention|merge|migrate|mock|modify|monitor|move|name|note|offer|open|optimi[sz]e|order|organi[sz]e|output|parse|paste|pick|pin|ping|place|plan|point|polish|port|post|prefix|prepare|print|profile|propose|protect|provide|prune|publish|pull|push|put|raise|read|rebase|record|redo|reduce|refactor|refer|refresh|register|release|reload|remember|remove|rename|render|reorder|repeat|replace|reply|report|request|research|reset|resolve|restart|restore|restructure|resume|retry|return|reuse|revert|review|revise|rewrite|rework|rotate|run|save|say|scan|search|see|select|send|separate|set|share|shorten|show|shrink|simplify|skip|sort|spawn|split|squash|start|stash|stick|stop|store|strip|structure|style|submit|suggest|summari[sz]e|support|swap|switch|sync|tag|take|tell|test|think|throw|tidy|track|transform|translate|trim|try|turn|tweak|type|undo|unify|untangle|update|upgrade|upload|use|validate|vendor|verify|wait|walk|warn|watch|websearch|wire|work|wrap|write)\b(?!['’]?s\b|\s+(?:is|are|was|were|has|seems?|looks?)\b)/i;

/** Asking for something in other words than an order. */
const WANTING =
  /\b(?:please|pls|(?:can|could|would|will) (?:you|we)|can you|i(?:['’]d| would)? (?:like|love|want|need|prefer)|i want|we (?:still |also )?(?:need|want|have|ought|must|should|shouldl)|you (?:should|need|must|have to|can)|(?:it|this|that|they|these|those|there|[\w.-]+) (?:should|must|needs? to|has to|have to)|let['’]?s|let us|how about|what about|how can (?:we|i)|is there (?:a|any) way|do you think (?:we|you|it)|next (?:step|task)|your task|the task|goal is|time to|bitte|kannst du|könntest du|ich (?:möchte|will|brauche)|wir (?:müssen|sollten|wollen|brauchen)|lass uns|peux-tu|pouvez-vous|je (?:veux|voudrais)|il faut|puedes|podrías|quiero|necesito|por favor|hay que|можешь|пожалуйста|нужно|надо|давай)(?=$|[^\p{L}])/iu;

/** Something does not work, which asks for a remedy. */
const COMPLAINT =
  /\b(?:does ?n[o']?t|do ?n[o']?t|did ?n[o']?t|is ?n[o']?t|won['’]?t|can(?:no|['’])?t|cannot) (?:work|seem|start|show|run|load|build|compile|open|find|render|scroll|match|update|save|change|get|have|appear|connect)|\b(?:fails?|failing|broken|breaks|crash(?:es|ed)?|flaky|wrong|stuck|hangs?|annoying|sucks?)\b|\b(?:an?|the|this|same) (?:\w+ )?(?:error|bug|regression)\b|\bstill (?:no|not|see|shows?|does)\b|:\(/i;
/** "now the docs" */
const NEXT_THING =
  /^(?:(?:and|ok|then|so),? )*(?:now|next)(?:,| (?!(?:it|that|this|they|i|we|you|everything|all|there|even)\b))/i;
/** "no deprecation alias!" */
const NO_SUCH_THING = /^no(?: [\w-]+){1,4}!*$/i;
/** A longer sentence describes; a complaint is short. */
const COMPLAINT_CHARS = 140;

const QUESTION = /[?？]["')\]]*\s*$/;
const ASKING =
  /^(?:(?:do|does|did|is|are|was|were|has|have)(?= (?:you|we|i|it|they|he|she|this|that|these|those|the|there|an?|any|my|our|your)\b)|what|why|how|where|when|which|who|whose|isn['’]?t|aren['’]?t|doesn['’]?t|warum|wie|wo|wann|wer|welche\w*|pourquoi|comment|qué|cómo|почему|как|где)(?=$|[^\p{L}])/iu;
/** A question about what is wanted rather than about what is. */
const PROPOSING =
  /\b(?:should(?:l)? (?:we|i|it|this|that|there|not)|shouldn['’]?t|(?:can|could|would|will) (?:you|we|i)\b|can(?:['’]t|not) (?:we|you)|do (?:we|i|you) (?:also |even |still )?(?:need|want|think)|what about|how about|what if|want to|is there (?:a|any) way|any (?:\w+ )?(?:idea|suggestion|thought)s?)/i;
/** Asks for a reason or a fact, whatever else it says. */
const WONDERING =
  /^(?:why(?! not| don['’]?t)|how (?:was|is|are|does|do|did|come|many|much|sure)|when|which|who|whose|where|what (?:is|are|was|does|do|did|happens?))\b/i;

/** Tells what a user's message is. What was pasted into it, and what its client put in, counts for nothing. */
export function userAct(text: string): UserAct {
  const said = sentences(spokenText(text)).slice(0, SENTENCES_MAX);
  if (said.length === 0) return WANTING.test(text.slice(0, UNSPOKEN_CHARS)) ? "request" : "remark";
  // Told by their endings and marks these languages are not: nothing is lost by taking them for requests.
  if (hasUnspaced(said.join("")))
    return said.every((sentence) => QUESTION.test(sentence)) ? "question" : "request";
  const acts = said.map(sentenceAct);
  if (acts.every((act) => act === "rule" || act === "remark") && acts.includes("rule")) return "rule";
  for (const act of ["request", "rule", "decision", "question"] as const) if (acts.includes(act)) return act;
  return isCorrection(text) ? "request" : "remark";
}

function sentenceAct(sentence: string): UserAct {
  const rest = withoutLeadIn(sentence);
  const isQuestion = QUESTION.test(sentence) || ASKING.test(rest);
  if (isRule(sentence) && !isQuestion) return "rule";
  if (isQuestion) {
    const isWanted = (PROPOSING.test(sentence) && !WONDERING.test(rest)) || isCorrection(sentence);
    return isWanted ? "request" : "question";
  }
  if (clausesOf(rest).some((clause) => IMPERATIVE.test(clause)) || WANTING.test(sentence)) return "request";
  if (isCorrection(sentence) || NEXT_THING.test(sentence) || NO_SUCH_THING.test(sentence)) return "request";
  if (sentence.length <= COMPLAINT_CHARS && COMPLAINT.test(sentence)) return "request";
  return isDecision(sentence) ? "decision" : "remark";
}

/** Returns a sentence and what begins after a comma or an "and" in it, without politeness. */
function clausesOf(sentence: string): string[] {
  return sentence.split(/[,;:]\s+|\s+(?:and|then|but|und|dann)\s+|\s+[-–]\s+/i).map(withoutLeadIn);
}

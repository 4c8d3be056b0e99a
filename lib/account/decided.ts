/** Tells what was decided and forbidden: by the user's own words, or by a yes to what was proposed right before; nothing else. */

import { splitWords } from "../base/text.ts";
import type { Said } from "../hosts/session.ts";
import {
  asksBetween,
  consents,
  isChoice,
  isQuestion,
  isRequest,
  isRule,
  pendingOffer,
  pendingQuestion,
  proposes,
  sentences,
  spokenText,
} from "../language/speech.ts";

/** Words of a session, with their line. */
export interface Words extends Pick<Said, "line" | "text"> {
  /** The assent, where these were proposed to the user. */
  accepted?: string;
}

/** Words up to which a question refers to the sentence before it. */
const NAMING_WORDS = 3;
/** Hosts write these for an answer to a menu, and for a plan that was approved. */
const CHOSEN = /\(asked: |^Approved the plan\b/;

/** Returns whether a message asks for something, rather than choose what was offered. */
export function isAsked(text: string): boolean {
  return isRequest(text) && !CHOSEN.test(text);
}

/** Returns what a message of the user decides, as the answer to what an assistant had said right before. */
export function decisionsIn(message: Said, before: Said | undefined): Words[] {
  const { text, line } = message;
  if (CHOSEN.test(text)) return isQuestion(text.split("(asked: ", 1)[0] ?? "") ? [] : [{ text, line }];
  const offer = before && acceptedOffer(text, before.text);
  if (before && offer !== undefined) return [{ text: offer, line: before.line, accepted: text }];
  return sentences(spokenText(text))
    .filter(isChoice)
    .map((sentence) => ({ text: sentence, line }));
}

/** Returns the proposal at the end of an answer, where a message accepts it; a yes to a choice of two accepts neither. */
function acceptedOffer(message: string, answer: string): string | undefined {
  if (!consents(message)) return undefined;
  const question = pendingQuestion(answer);
  if (question === undefined || !proposes(question) || asksBetween(question)) return undefined;
  // "Shall I?" alone names nothing.
  return splitWords(question).length > NAMING_WORDS ? question : pendingOffer(answer);
}

/** Returns the sentences of a message that forbid, or lay down what shall hold. */
export function rulesIn({ text, line }: Said): Words[] {
  return sentences(spokenText(text))
    .filter(isRule)
    .map((sentence) => ({ text: sentence, line }));
}

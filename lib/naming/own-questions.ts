/** Questions about the user's own work that a search answers well, to begin with. */

import type { Config, Reading } from "../config/config.ts";
import { sessionSearch } from "../search/session-search.ts";
import { nameOf } from "../sessions/record.ts";
import { listSessions } from "../sessions/sessions.ts";
import { readRules } from "../transcripts/rules.ts";
import type { Session } from "../transcripts/session.ts";
import { readEntries } from "../transcripts/transcript.ts";
import { isCircumstantial } from "./naming.ts";

const QUESTIONS = 3;
/** The newest sessions, of which the longest make the questions. */
const NEWEST = 50;
/** A session with fewer user messages, and no more bytes, is not worth a question. */
const MESSAGES_MIN = 3;
const WORK_BYTES = 200_000;
/** At most this many searches are made to find questions that have an answer. */
const TRIES = 12;

/** Returns at most three questions; none about sessions in which little was said. */
export async function suggestQuestions({ paths, settings, ...config }: Config): Promise<string[]> {
  const longest = listSessions(paths)
    .slice(0, NEWEST)
    .toSorted((a, b) => b.size - a.size);
  const questions: string[] = [];
  let tries = 0;
  for (const session of longest) {
    const name = nameOf(session, paths);
    if (name === undefined || isCircumstantial(name) || !isPlain(name) || isToy(session, paths)) continue;
    if (questions.length === QUESTIONS || ++tries > TRIES) break;
    const query = `what came of "${name}"?`;
    // By words alone: nothing is sent for a suggestion.
    const local = { ...config, paths, settings: { ...settings, embedding: undefined } };
    const { results } = await sessionSearch({ query, own: true }, { config: local, index: false });
    const [best] = results;
    // What was asked alone is no answer.
    const isAnswered = best?.lines.some(({ who }) => who !== "user");
    const isGood = isAnswered && best?.strength === "strong" && best.session_id === session.id;
    if (isGood && !questions.includes(query)) questions.push(query);
  }
  return questions;
}

/** Returns whether a name is words: neither too few to ask about, nor ids, hashes and paths. */
function isPlain(name: string): boolean {
  const words = name.split(" ");
  return words.length >= 3 && !/[0-9a-f]{7,}|\d{4,}|["/\\@_~$`{}<>|]|[A-Z]{4,}/.test(name);
}

/** Returns whether hardly anything was said. A long transcript holds work, however little the user said. */
function isToy({ file, size }: Session, paths: Reading): boolean {
  if (size > WORK_BYTES) return false;
  let messages = 0;
  for (const { kind } of readEntries(file, { rules: readRules(paths.rules) }))
    if (kind === "user") messages++;
  return messages < MESSAGES_MIN;
}

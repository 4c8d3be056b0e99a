/** Questions about the user's own work that a search answers well, to begin with: asked once, or what came of a session. */

import type { Config, PathsWithRules } from "../config/config.ts";
import { sessionSearch } from "../history/session-search.ts";
import type { Session } from "../hosts/session.ts";
import { isQuestion, matchPhrases, sentences, spokenText } from "../language/speech.ts";
import { contentWords } from "../language/words.ts";
import { listByLastRow } from "../sessions/listing.ts";
import { readRules } from "../transcripts/rules.ts";
import { readEntries } from "../transcripts/transcript.ts";
import { isCircumstantial } from "./meta-words.ts";

const QUESTIONS = 3;
/** The most sessions, and bytes of each, whose whole transcripts are read while the user waits. */
const SESSIONS_MAX = 50;
const BYTES_MAX = 32 * 1024 * 1024;
/** At most this many searches are made to find questions that have an answer. */
const TRIES = 24;
/** A question that a stranger to the session understands: it asks for a fact, and points at nothing on a screen. */
const ASKS = matchPhrases(
  "why|how|where|when|which|what|who|does|did|do|is|are|was|would|should",
  "^(?:(?:so|and|but|ok(?:ay)?),? )?",
);
const POINTS = matchPhrases("this|that|these|those|it|they|them|here|there|you|now");
const [WORDS_MIN, QUESTION_CHARS] = [3, 90];
/** A shorter answer says little to who does not remember the question. */
const ANSWER_CHARS = 20;
/** Says what comes next or is going on, not what came of it. */
const ANNOUNCES = matchPhrases(
  "let me|i'll|i will|i'm|i am|now (?:let me|i)|next,? i|(?:now )?[a-z]+ing",
  "^\\W*",
);

/**
 * Returns at most three questions, from the newest sessions of the current directory's project, then from all others; first
 * the ones whose first row found is an answer, not the question.
 */
export async function suggestQuestions(
  { paths, settings, ...config }: Config,
  cwd: string,
): Promise<string[]> {
  // By words alone: nothing is sent for a suggestion.
  const local = { ...config, paths, settings: { ...settings, embedding: undefined } };
  const byId = new Map(newestFirst(paths, cwd).map((each) => [each.id, each]));
  const sessions = [...byId.values()].filter(({ size }) => size <= BYTES_MAX);
  const [answered, found] = [new Set<string>(), new Set<string>()];
  let tries = 0;
  for (const session of sessions.slice(0, SESSIONS_MAX)) {
    const query = makeQuestion(session, paths);
    if (query === undefined) continue;
    if (answered.size + found.size === QUESTIONS || ++tries > TRIES) break;
    const { results } = await sessionSearch({ query, own: true }, { config: local, index: false });
    const [best] = results;
    const isOwn = best?.strength === "strong" && best.session_id === session.id;
    if (!isOwn || !isAnswer(best.lines.find(({ who }) => who !== "user"))) continue;
    (best.lines[0]?.who === "user" ? found : answered).add(query);
  }
  return [...answered, ...found];
}

/** Returns whether the first row after what was asked says something in sentences: neither an output nor a question is an answer. */
function isAnswer(row: { who: string; text: string } | undefined): boolean {
  if (row?.who !== "assistant" || row.text.length < ANSWER_CHARS) return false;
  return !ANNOUNCES.test(row.text) && !isQuestion(row.text);
}

/** Returns what one may ask about the last session with a name of its own: the current directory's project's, else any. */
export function questionByName(paths: PathsWithRules, cwd: string): string | undefined {
  return newestFirst(paths, cwd)
    .map(askByName)
    .find((question) => question !== undefined);
}

/** Yields the sessions of the current directory's project, then all, the ones with the newest rows first. */
function* newestFirst(paths: PathsWithRules, cwd: string): Generator<Session> {
  yield* listByLastRow(paths, { project: cwd, cwd });
  yield* listByLastRow(paths);
}

function askByName({ name }: Session): string | undefined {
  return name === undefined || isCircumstantial(name) ? undefined : `what came of "${name}"?`;
}

/** Returns what the user asked in a session last, else what one may ask about it by its name. */
function makeQuestion(session: Session, paths: PathsWithRules): string | undefined {
  let asked: string | undefined;
  for (const { kind, text } of readEntries(session.file, { rules: readRules(paths) }))
    if (kind === "user") asked = sentences(spokenText(text)).findLast(isOwnQuestion) ?? asked;
  return asked ?? askByName(session);
}

function isOwnQuestion(sentence: string): boolean {
  return (
    ASKS.test(sentence) &&
    isQuestion(sentence) &&
    !POINTS.test(sentence) &&
    sentence.length <= QUESTION_CHARS &&
    contentWords(sentence).length >= WORDS_MIN
  );
}

/** A question about the user's own work that a search answers well, to begin with: asked once, or about a file changed. */

import { folderName } from "../base/text.ts";
import type { Config, PathsWithRules } from "../config/config.ts";
import { sentences, spokenText } from "../language/speech.ts";
import { contentWords } from "../language/words.ts";
import { sessionSearch } from "../search/session-search.ts";
import { listByLastRow } from "../sessions/listing.ts";
import { readRules } from "../transcripts/rules.ts";
import type { Session } from "../transcripts/session.ts";
import { readEntries } from "../transcripts/transcript.ts";
import { isCircumstantial } from "./meta-words.ts";

/** Whole transcripts are read, while the user waits: of so many sessions, and none larger than this. */
const SESSIONS_MAX = 50;
const BYTES_MAX = 32 * 1024 * 1024;
/** At most this many searches are made to find a question that has an answer. */
const TRIES = 12;
/** A question that a stranger to the session understands: it asks for a fact, and points at nothing on a screen. */
const ASKS =
  /^(?:(?:so|and|but|ok(?:ay)?),? )?(?:why|how|where|when|which|what|who|does|did|do|is|are|was|would|should)\b.*[?？]$/i;
const POINTS = /\b(?:this|that|these|those|it|they|them|here|there|you|now)\b/i;
const [WORDS_MIN, QUESTION_CHARS] = [3, 90];
/** Names that every project has: of those nobody asks why they changed. */
const COMMON = /^(?:readme|changelog|index|main|mod|package|__init__)\b/i;
const IS_CODE = /\.(?!(?:mdx?|txt|json|lock|toml|ya?ml)$)\w+$/i;

/** Returns a question, from the newest sessions of the current directory's project, else from all others. */
export async function suggestQuestion(
  { paths, settings, ...config }: Config,
  cwd: string,
): Promise<string | undefined> {
  // By words alone: nothing is sent for a suggestion.
  const local = { ...config, paths, settings: { ...settings, embedding: undefined } };
  const here = listByLastRow(paths, { project: cwd, cwd });
  const all = listByLastRow(paths);
  const sessions = [...new Map([...here, ...all].map((each) => [each.id, each])).values()]
    .filter(({ size }) => size <= BYTES_MAX)
    .slice(0, SESSIONS_MAX);
  for (const asks of [questionsOf, questionOfName]) {
    let tries = 0;
    for (const session of sessions) {
      for (const query of asks(session, paths)) {
        if (++tries > TRIES) return undefined;
        const { results } = await sessionSearch({ query, own: true }, { config: local, index: false });
        const [best] = results;
        // What was asked alone is no answer.
        const isAnswered = best?.lines.some(({ who }) => who !== "user");
        if (isAnswered && best?.strength === "strong" && best.session_id === session.id) return query;
      }
    }
  }
  return undefined;
}

/** Returns what may be asked of a session in which nothing else can. */
function questionOfName({ name }: Session): string[] {
  return name === undefined || isCircumstantial(name) ? [] : [`what came of "${name}"?`];
}

/** Returns what the user asked in a session last, and what one may ask about the file that was changed most in it. */
function questionsOf({ file, cwd = "" }: Session, paths: PathsWithRules): string[] {
  let asked: string | undefined;
  const changes = new Map<string, number>();
  for (const { kind, text, tool } of readEntries(file, { rules: readRules(paths.rules) })) {
    if (kind === "user") asked = sentences(spokenText(text)).findLast(isQuestion) ?? asked;
    if (tool?.action !== "edit") continue;
    const own = tool.paths.filter((path) => path.startsWith(cwd) || !/^(?:[/\\]|\w:)/.test(path));
    for (const name of own.map(folderName)) changes.set(name, (changes.get(name) ?? 0) + 1);
  }
  const [changed] = [...changes.keys()]
    .filter((name) => !COMMON.test(name))
    .toSorted(
      (a, b) =>
        Number(IS_CODE.test(b)) - Number(IS_CODE.test(a)) || (changes.get(b) ?? 0) - (changes.get(a) ?? 0),
    );
  return [...(asked ? [asked] : []), ...(changed ? [`why did we change ${changed}?`] : [])];
}

function isQuestion(sentence: string): boolean {
  return (
    ASKS.test(sentence) &&
    !POINTS.test(sentence) &&
    sentence.length <= QUESTION_CHARS &&
    contentWords(sentence).length >= WORDS_MIN
  );
}

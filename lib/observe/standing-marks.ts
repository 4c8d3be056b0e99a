/**
 * Marks what a session's user laid down beyond its task: as the observer's model did in the ledger, and where it was said in
 * so many words.
 *
 * Transcript and ledger are the source: whenever a session is observed, the marks of its active branch take the place of
 * those that state.db had of it, so that what was rewound is gone.
 */

import { sha256 } from "../base/text.ts";
import type { PathsWithRules } from "../config/config.ts";
import { gistOfRule, isTakenBackBy } from "../language/rule-gist.ts";
import { sentences, spokenText } from "../language/speech.ts";
import { standingSentences, takingBack } from "../language/standing.ts";
import { contentWords } from "../language/words.ts";
import { oneLine } from "../redact/redact.ts";
import { sessionProject } from "../sessions/project.ts";
import { sessionPlace } from "../sessions/sessions.ts";
import { readRules } from "../transcripts/rules.ts";
import type { Entry, Session } from "../transcripts/session.ts";
import { foldLedger, type Ledger, type Observation } from "./observations.ts";
import {
  readStandingFor,
  replaceMarks,
  rulesHolding,
  type StandingMark,
  type StandingRule,
  WORDS,
  WORDS_CHARS,
} from "./standing-rules.ts";

interface Observed {
  paths: PathsWithRules;
  /** The conversation as it is now. */
  entries: readonly Entry[];
  ledger: Ledger;
}

/** Makes the mark of a message; one of its own words where no model named it. */
type Mark = (
  entry: Entry,
  about: Pick<StandingMark, "words" | "by"> & Partial<Pick<StandingMark, "id" | "kind" | "names">>,
) => StandingMark;

/** Stores what a session's user laid down. */
export async function keepStanding(session: Session, { paths, entries, ledger }: Observed): Promise<void> {
  const place = sessionPlace(session);
  const { cwd } = place;
  if (cwd === undefined) return replaceMarks(paths, session, []);
  const { clean } = readRules(paths.rules);
  const mark = marker(session, {
    project: clean(sessionProject(place) ?? cwd),
    cwd: clean(cwd),
    file: clean(session.file),
  });
  const said = entries.filter(
    ({ kind, callId, typed }) => kind === "user" && callId === undefined && typed !== false,
  );
  const observed = markedByModel(said, { mark, ledger });
  const lines = new Set(observed.map(({ line }) => line));
  const literal = said.flatMap((entry) =>
    (lines.has(entry.line) ? [] : standingSentences(entry.text)).map((sentence) =>
      mark(entry, { words: cutToLine(clean(sentence)), by: WORDS }),
    ),
  );
  const marks = [...observed, ...literal];
  const known = [...marksOfOthers(session, (await readStandingFor(cwd, paths)).marks), ...marks];
  const ends = said.flatMap((entry) =>
    takingBack(entry.text).flatMap((sentence) => {
      const names = takenBack(sentence, known, entry.at);
      if (names.length === 0) return [];
      return [mark(entry, { words: cutToLine(clean(sentence)), by: WORDS, kind: "end", names })];
    }),
  );
  replaceMarks(paths, session, [...marks, ...ends]);
}

function marker(session: Session, place: Pick<StandingMark, "project" | "cwd" | "file">): Mark {
  const { agent, id: sessionId, startedAt = "" } = session;
  return ({ line, at = startedAt }, { id, kind = "rule", names = [], ...about }) => {
    const own = id ?? makeId([sessionId, String(line), about.words]);
    return { agent, sessionId, id: own, line, at, ...place, ...about, kind, names };
  };
}

function markedByModel(
  said: readonly Entry[],
  { mark, ledger }: Pick<Observed, "ledger"> & { mark: Mark },
): StandingMark[] {
  return [...foldLedger(ledger).standing.values()].flatMap(({ observation, by }) => {
    const source = said.find(({ line }) => observation.sources.includes(line));
    if (!source) return [];
    const { id, standing, repeats, replaces = [] } = observation;
    const kind = repeats ? "repeat" : standing ? "rule" : "end";
    return [mark(source, { id, words: ownWords(observation, source), by, kind, names: repeats ?? replaces })];
  });
}

function marksOfOthers({ agent, id }: Session, marks: readonly StandingMark[]): StandingMark[] {
  return marks.filter((mark) => mark.agent !== agent || mark.sessionId !== id);
}

/** Returns the ids of what a sentence of a moment takes back. */
function takenBack(sentence: string, marks: readonly StandingMark[], at = ""): string[] {
  const gist = gistOfRule(sentence);
  return marks
    .filter((mark) => mark.at < at && isTakenBackBy(gistOfRule(mark.words), gist))
    .map(({ id }) => id);
}

function cutToLine(text: string): string {
  return oneLine(text, WORDS_CHARS);
}

/** Returns the rules that hold in a session's project, for its observer. */
export async function standingFor(session: Session, paths: PathsWithRules): Promise<StandingRule[]> {
  const { cwd } = sessionPlace(session);
  if (cwd === undefined) return [];
  return await rulesHolding(cwd, paths);
}

/** Returns the words of a user's message that an observation is about: all of a short one, else the sentence that shares most words. */
function ownWords({ text }: Observation, { text: message }: Entry): string {
  const whole = message.replace(/\s+/g, " ").trim();
  if ([...whole].length <= WORDS_CHARS) return cutToLine(whole);
  const about = new Set(contentWords(text));
  const score = (sentence: string) => contentWords(sentence).filter((word) => about.has(word)).length;
  const all = sentences(spokenText(message));
  const best = all.toSorted((a, b) => score(b) - score(a))[0] ?? whole;
  return cutToLine(best);
}

/** As long as an observation's, which the model names. */
const ID_CHARS = 6;

function makeId(parts: readonly string[]): string {
  const number = sha256().update(parts.join("\n")).digest().readUIntBE(0, 6);
  return `w${number
    .toString(36)
    .padStart(10, "0")
    .slice(1 - ID_CHARS)}`;
}

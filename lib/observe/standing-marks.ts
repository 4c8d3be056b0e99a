/**
 * Marks what a session's user laid down beyond its task: as the observer's model did in the ledger, by the openings of its
 * sentences, and as an agent was told to.
 *
 * Transcript and ledger are the source: whenever a session is observed, the marks of its active branch take the place of
 * the earlier ones in state.db, so that rewound ones are gone.
 */

import { escapePattern, folded, oneLine } from "../base/text.ts";
import type { PathsWithRules } from "../config/config.ts";
import type { Entry, Session } from "../hosts/session.ts";
import { sentences, spokenText } from "../language/speech.ts";
import { standingSentences } from "../language/standing.ts";
import { contentWords, WORD_EDGE } from "../language/words.ts";
import { sessionProject } from "../sessions/project.ts";
import { sessionPlace } from "../sessions/sessions.ts";
import { readRules } from "../transcripts/rules.ts";
import { foldLedger, type Ledger, type Observation, shortKey } from "./observations.ts";
import {
  AGENT,
  addMark,
  isSameWords,
  readStanding,
  replaceMarks,
  rulesHolding,
  type StandingMark,
  type StandingRule,
  WORDS,
  WORDS_CHARS,
} from "./standing-rules.ts";

interface Observed {
  session: Session;
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

/** Stores what a session's user laid down; nothing of a subagent's session, nor of one that a program started. */
export async function keepStanding({ session, paths, entries, ledger }: Observed): Promise<void> {
  const mark = markerFor(session, paths);
  if (!mark) return replaceMarks(paths, session, []);
  const said = typedRows(entries);
  const observed = markedByModel(said, { mark, ledger });
  const kept = [...observed, ...keptByAgent(session, said, paths)];
  const literal = said
    .flatMap((entry) => standingSentences(entry.text).map((words) => ({ entry, words })))
    .filter(
      ({ entry: { line }, words }) => !kept.some((one) => one.line === line && isSameWords(one, { words })),
    )
    .map(({ entry, words }) => mark(entry, { words, by: WORDS }));
  replaceMarks(paths, session, [...kept, ...literal]);
}

/** Returns the rows that a person typed. */
export function typedRows(entries: readonly Entry[]): Entry[] {
  return entries.filter(
    ({ kind, callId, typed }) => kind === "user" && callId === undefined && typed !== false,
  );
}

/** Returns what an agent was told to keep of a session, as far as the rows still stand. */
function keptByAgent({ agent, id }: Session, said: readonly Entry[], paths: PathsWithRules): StandingMark[] {
  return readStanding(paths).marks.filter(
    (mark) =>
      mark.by === AGENT &&
      mark.agent === agent &&
      mark.sessionId === id &&
      said.some(({ line }) => line === mark.line),
  );
}

/** Returns what makes the marks of a session; undefined where it names no directory. */
function markerFor(session: Session, paths: PathsWithRules): Mark | undefined {
  const place = sessionPlace(session);
  const { cwd } = place;
  if (cwd === undefined) return undefined;
  const { agent, id: sessionId, startedAt = "", file } = session;
  const at = readRules(paths).clean({ project: sessionProject(place) ?? cwd, cwd, file });
  return ({ line, at: time = startedAt }, { id, kind = "rule", names = "", words, by }) => {
    const said = cutToLine(words);
    const own = id ?? makeId([sessionId, String(line), said]);
    return { agent, sessionId, id: own, line, at: time, ...at, words: said, by, kind, names };
  };
}

/** A rule that was kept at the word of an agent, or that held already. */
interface KeptRule {
  mark: StandingMark;
  isNew: boolean;
}

/** Keeps words of the newest row of a session's user that holds them; undefined where none does. */
export async function keepWords(
  words: string,
  { session, entries, paths }: { session: Session; entries: readonly Entry[]; paths: PathsWithRules },
): Promise<KeptRule | undefined> {
  const mark = markerFor(session, paths);
  const entry = typedRows(entries).findLast(({ text }) => findWords(text, words) !== undefined);
  if (!mark || !entry) return undefined;
  const kept = mark(entry, { words: findWords(entry.text, words) ?? words, by: AGENT });
  const holding = (await rulesHolding(kept.cwd, paths)).find((rule) => isSameWords(rule.mark, kept));
  if (holding) return { mark: holding.mark, isNew: false };
  addMark(paths, kept);
  return { mark: kept, isNew: true };
}

/** Returns whole words as a text has them, whatever its blanks and capitals; undefined where it does not. */
export function findWords(text: string, words: string): string | undefined {
  const wanted = folded(words);
  if (wanted === "") return undefined;
  const row = new RegExp(`${WORD_EDGE}${escapePattern(wanted)}${WORD_EDGE}`, "iu");
  return folded(text).match(row)?.[0];
}

function markedByModel(
  said: readonly Entry[],
  { mark, ledger }: Pick<Observed, "ledger"> & { mark: Mark },
): StandingMark[] {
  return [...foldLedger(ledger).standing.values()].flatMap(({ observation, by }) => {
    const source = said.find(({ line }) => observation.sources.includes(line));
    if (!source) return [];
    const { id, standing, repeats, replaces = [] } = observation;
    // what says a rule again leaves it as it is
    const kind = standing && !repeats ? "rule" : "end";
    const names = repeats ? "" : replaces.join(" ");
    return [mark(source, { id, words: ownWords(observation, source), by, kind, names })];
  });
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

/** Returns the sentence of a user's message that shares most words with an observation of it; all of it where none does. */
function ownWords({ text }: Observation, { text: message }: Entry): string {
  const about = new Set(contentWords(text));
  const score = (sentence: string) => contentWords(sentence).filter((word) => about.has(word)).length;
  const [best = ""] = sentences(spokenText(message)).toSorted((a, b) => score(b) - score(a));
  return cutToLine(score(best) > 0 ? best : message);
}

/** As long as an observation's, which the model names. */
function makeId(parts: readonly string[]): string {
  return `w${shortKey(parts.join("\n")).slice(1)}`;
}

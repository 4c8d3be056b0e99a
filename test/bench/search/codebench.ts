/** Questions on real coding transcripts, with the lines that answer them; outside the repository, so possibly absent. */

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { defaultSettings } from "../../../lib/config/config.ts";
import { indexSessions } from "../../../lib/index/indexing.ts";
import { sessionAt } from "../../../lib/sessions/sessions.ts";
import type { Store } from "../../../lib/store/store.ts";
import type { Session } from "../../../lib/transcripts/session.ts";

const SHARED = resolve(import.meta.dir, "../../../../shared");
const BENCH = join(SHARED, "bench/codebench");
const TRANSCRIPTS = join(SHARED, "transcripts");

/** Answers, each a passage of a file. */
export interface Answer {
  file: string;
  firstLine: number;
  lastLine: number;
  isStrong?: boolean;
}

export interface BenchQuestion {
  id: string;
  type: string;
  question: string;
  /** The same asked in other words, as a model would. */
  phrasings: string[];
  gold: { file: string; lines: [number, number][] }[];
}

export interface Verdict {
  question: BenchQuestion;
  /** Rank of the first passage that touches the evidence, of the first of a right session; 0: none. */
  evidence: number;
  session: number;
  /** Whether the first right passage is a strong one; undefined where none is right. */
  isRightStrong: boolean | undefined;
}

export interface Scores {
  evidence1: number;
  evidence5: number;
  evidence10: number;
  meanReciprocal: number;
  session1: number;
  /** Of the questions whose evidence was found. */
  strongRight: number;
  questions: number;
}

export function hasCodebench(): boolean {
  return existsSync(join(BENCH, "dev.jsonl"));
}

/** Indexes the corpus, subagents included. */
export async function indexCodebench(store: Store): Promise<void> {
  const sessions = corpusFiles()
    .map(({ file }) => sessionAt(join(TRANSCRIPTS, file)))
    .filter((session): session is Session => session !== undefined);
  await indexSessions({ store, sessions, settings: { ...defaultSettings(), timezone: "UTC" } });
}

export function readQuestions(): BenchQuestion[] {
  const phrasings = new Map(
    readLines<{ id: string; phrasings: string[] }>("dev-phrasings.jsonl").map(({ id, phrasings }) => [
      id,
      phrasings,
    ]),
  );
  return readLines<Omit<BenchQuestion, "phrasings">>("dev.jsonl").map((question) => ({
    ...question,
    phrasings: phrasings.get(question.id) ?? [],
  }));
}

/** Judges what a search answers, ten passages at most, files absolute. */
export function judge(
  questions: readonly BenchQuestion[],
  answer: (question: BenchQuestion) => Answer[],
): { verdicts: Verdict[]; spans: number[] } {
  const roots = new Map(corpusFiles().map(({ file, root }) => [file, root]));
  const rootOf = (file: string) => roots.get(file) ?? file;
  const spans: number[] = [];
  const verdicts = questions.map((question) => {
    const answers = answer(question)
      .slice(0, 10)
      .map((found) => ({ ...found, file: found.file.slice(TRANSCRIPTS.length + 1) }));
    spans.push(...answers.map(({ firstLine, lastLine }) => lastLine - firstLine + 1));
    const right = new Set(question.gold.map(({ file }) => rootOf(file)));
    const sessions = [...new Set(answers.map(({ file }) => rootOf(file)))];
    return {
      question,
      evidence: answers.findIndex((found) => touches(found, question)) + 1,
      session: sessions.findIndex((session) => right.has(session)) + 1,
      isRightStrong: answers.find((found) => touches(found, question))?.isStrong,
    };
  });
  return { verdicts, spans: spans.sort((a, b) => a - b) };
}

/** Percentages over the questions that have an answer, of one type or of all. */
export function score(verdicts: readonly Verdict[], type?: string): Scores {
  const counted = verdicts.filter(
    ({ question }) => question.type !== "no-answer" && (type === undefined || question.type === type),
  );
  const share = (test: (verdict: Verdict) => boolean) => (100 * counted.filter(test).length) / counted.length;
  const within = (k: number) => share(({ evidence }) => evidence > 0 && evidence <= k);
  return {
    evidence1: within(1),
    evidence5: within(5),
    evidence10: within(10),
    meanReciprocal:
      (100 * counted.reduce((sum, { evidence }) => sum + (evidence > 0 ? 1 / evidence : 0), 0)) /
      counted.length,
    session1: share(({ session }) => session === 1),
    strongRight:
      (100 * counted.filter(({ isRightStrong }) => isRightStrong).length) /
      counted.filter(({ evidence }) => evidence > 0).length,
    questions: counted.length,
  };
}

function touches({ file, firstLine, lastLine }: Answer, { gold }: BenchQuestion): boolean {
  return gold.some(
    (range) => range.file === file && range.lines.some(([from, to]) => firstLine <= to && lastLine >= from),
  );
}

function corpusFiles(): { file: string; root: string }[] {
  return readFileSync(join(BENCH, "corpus.txt"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !/^(?:#|skip-)/.test(line))
    .map((line) => line.split("\t"))
    .map(([, root = "", file = ""]) => ({ root, file }));
}

function readLines<T>(name: string): T[] {
  return readFileSync(join(BENCH, name), "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);
}

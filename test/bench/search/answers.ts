/** What an answer costs to read: how many characters of a search's output go by until the answer is printed. */

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const SHARED = resolve(import.meta.dir, "../../../../shared/bench/answers/dev-answers.jsonl");
const DEED_QUESTIONS = join(import.meta.dir, "deed-questions.jsonl");

/** Texts that an output must hold, each in one of several forms. */
export type Needed = string[][];

/** A question that only a command, a changed line or an output answers. */
export interface DeedQuestion {
  id: string;
  question: string;
  phrasings: string[];
  all: Needed;
}

export interface Answers {
  /** Percent of the questions that have an answer. */
  within1000: number;
  within2500: number;
  /** Code points printed, white space runs as one. */
  mean: number;
  most: number;
  /** The same of the questions without an answer. */
  meanWithout: number;
  /** How many of these have a strong hit. */
  falselyStrong: number;
}

export function hasAnswers(): boolean {
  return existsSync(SHARED);
}

export function readAnswers(): Map<string, Needed> {
  return new Map(readLines<{ id: string; all: Needed }>(SHARED).map(({ id, all }) => [id, all]));
}

export function readDeedQuestions(): DeedQuestion[] {
  return readLines(DEED_QUESTIONS);
}

/** Scores outputs; `all` is undefined for a question without an answer. */
export function scoreAnswers(
  outputs: readonly { text: string; isStrong: boolean; all: Needed | undefined }[],
): Answers {
  const answerable = outputs.filter(({ all }) => all !== undefined);
  const others = outputs.filter(({ all }) => all === undefined);
  const ends = answerable.map(({ text, all = [] }) => endOfAnswer(text, all));
  const within = (most: number) => (100 * ends.filter((end) => end <= most).length) / ends.length;
  return {
    within1000: within(1000),
    within2500: within(2500),
    mean: mean(answerable.map(lengthOf)),
    most: Math.max(...outputs.map(lengthOf)),
    meanWithout: mean(others.map(lengthOf)),
    falselyStrong: others.filter(({ isStrong }) => isStrong).length,
  };
}

/** Where the last thing needed has been printed; white space runs count as one blank. */
function endOfAnswer(text: string, all: Needed): number {
  const printed = plain(text);
  const ends = all.map((forms) =>
    Math.min(
      ...forms.map((form) => {
        const at = printed.indexOf(plain(form));
        return at < 0 ? Number.POSITIVE_INFINITY : at + form.length;
      }),
    ),
  );
  return Math.max(...ends);
}

function plain(text: string): string {
  return text.toLowerCase().replace(/\s+/g, " ");
}

/** Code points, white space runs as one. */
function lengthOf({ text }: { text: string }): number {
  return [...plain(text)].length;
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / Math.max(1, numbers.length);
}

function readLines<T>(file: string): T[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);
}

/** The question sets about real sessions, in one form; outside the repository but for one, so possibly absent. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { resolvePaths } from "../../../lib/config/config.ts";
import type { HitJson } from "../../../lib/history/request.ts";
import type { Session } from "../../../lib/hosts/session.ts";
import { listSessions, sessionAt } from "../../../lib/sessions/sessions.ts";

const SHARED = resolve(import.meta.dir, "../../../../shared");
const TRANSCRIPTS = join(SHARED, "transcripts");
const REAL = join(SHARED, "bench/real2");
const CODEBENCH = join(SHARED, "bench/codebench");
const ANSWERS = join(SHARED, "bench/answers/dev-answers.jsonl");
const DEED_QUESTIONS = join(import.meta.dir, "deed-questions.jsonl");
/** Types whose questions other repositories may answer too: by a time, or by a file of the same name. */
const ANSWERED_ELSEWHERE = ["files", "temporal"];

export interface EvaluatedQuestion {
  id: string;
  type: string;
  /** The question, and the same in other words. */
  phrasings: string[];
  /** Texts that an output must hold, each in one of several forms; undefined where nothing answers. */
  needed: string[][] | undefined;
  /** The share of them that is enough. */
  enough: number;
  gold: { file: string; lines: [number, number][] }[];
  /** The repository that is left out when it is asked without an answer; undefined where it is not. */
  project: string | undefined;
  isOfSubagents: boolean;
}

export interface QuestionSet {
  set: string;
  corpus: Session[];
  questions: EvaluatedQuestion[];
  /** The sessions among which questions are asked without their own repository. */
  wider: Session[];
}

/** Reads the sets that are there. */
export function readSets(): QuestionSet[] {
  const real = existsSync(REAL)
    ? sessionsOf([...foldersIn(join(REAL, "claude")), ...foldersIn(TRANSCRIPTS)])
    : [];
  const coding = existsSync(CODEBENCH) ? codingCorpus() : [];
  return [
    { set: "real2", corpus: real, wider: real, questions: real.length > 0 ? realQuestions() : [] },
    { set: "codebench", corpus: coding, wider: real, questions: coding.length > 0 ? codingQuestions() : [] },
    { set: "deeds", corpus: coding, wider: real, questions: coding.length > 0 ? deedQuestions() : [] },
  ].filter(({ questions }) => questions.length > 0);
}

/** Returns whether a transcript is of a repository, by the folder that it lies in. */
export function isOfProject({ file }: Session, project: string): boolean {
  return file.includes(`/${project}/`);
}

/** Returns the code points until enough of what is needed has been printed; infinite where it is not. */
export function endOfAnswer(text: string, { needed = [], enough }: EvaluatedQuestion): number {
  const printed = plain(text);
  const ends = needed
    .map((forms) =>
      Math.min(
        ...forms.map((form) => {
          const at = printed.indexOf(plain(form));
          return at < 0 ? Number.POSITIVE_INFINITY : at + plain(form).length;
        }),
      ),
    )
    .sort((a, b) => a - b);
  return ends[Math.ceil(ends.length * enough) - 1] ?? Number.POSITIVE_INFINITY;
}

/** Returns for each text that is needed whether another holds one of its forms. */
export function heldIn(text: string, { needed = [] }: EvaluatedQuestion): boolean[] {
  const held = plain(text);
  return needed.map((forms) => forms.some((form) => held.includes(plain(form))));
}

/** Returns whether a result touches lines that answer. */
export function isEvidence(
  result: Pick<HitJson, "file" | "first_line" | "last_line">,
  question: EvaluatedQuestion,
): boolean {
  return question.gold.some(
    ({ file, lines }) =>
      result.file.endsWith(`/${file}`) &&
      lines.some(([from, to]) => result.first_line <= to && result.last_line >= from),
  );
}

/** Returns whether a result is of a session that answers. */
export function isOfSession({ file }: Pick<HitJson, "file">, { gold }: EvaluatedQuestion): boolean {
  const session = (path: string) => path.replace(/\/subagents\/.*$|\.jsonl$/, "");
  return gold.some((one) => session(file).endsWith(`/${session(one.file)}`));
}

function realQuestions(): EvaluatedQuestion[] {
  interface Line {
    id: string;
    type: string;
    question: string;
    phrasings: string[];
    gold: EvaluatedQuestion["gold"];
    answers: string[];
    answers_all?: string[][];
  }
  return readLines<Line>(join(REAL, "questions.jsonl")).map(
    ({ id, type, question, phrasings, gold, answers, answers_all = [] }) => ({
      id,
      type,
      phrasings: [question.replace(/\s+/g, " "), ...phrasings],
      needed: type === "no-answer" ? undefined : answers_all.length > 1 ? answers_all : [answers],
      enough: answers_all.length > 1 ? 2 / 3 : 1,
      gold,
      project: ANSWERED_ELSEWHERE.includes(type) ? undefined : gold[0]?.file.split("/").at(-2),
      isOfSubagents: false,
    }),
  );
}

function codingQuestions(): EvaluatedQuestion[] {
  interface Line {
    id: string;
    type: string;
    question: string;
    gold: EvaluatedQuestion["gold"];
  }
  const phrasings = new Map(
    readLines<{ id: string; phrasings: string[] }>(join(CODEBENCH, "dev-phrasings.jsonl")).map((one) => [
      one.id,
      one.phrasings,
    ]),
  );
  const needed = new Map(readLines<{ id: string; all: string[][] }>(ANSWERS).map(({ id, all }) => [id, all]));
  return readLines<Line>(join(CODEBENCH, "dev.jsonl")).map(({ id, type, question, gold }) => ({
    id,
    type,
    phrasings: [question, ...(phrasings.get(id) ?? [])],
    needed: needed.get(id),
    enough: 1,
    gold,
    project: needed.has(id) && !ANSWERED_ELSEWHERE.includes(type) ? projectOf(gold) : undefined,
    isOfSubagents: true,
  }));
}

/** Questions that only a command, a changed line or an output answers. */
function deedQuestions(): EvaluatedQuestion[] {
  interface Line {
    id: string;
    type: string;
    question: string;
    phrasings: string[];
    all: string[][];
  }
  return readLines<Line>(DEED_QUESTIONS).map(({ id, type, question, phrasings, all }) => ({
    id,
    type,
    phrasings: [question, ...phrasings],
    needed: all,
    enough: 1,
    gold: [],
    project: undefined,
    isOfSubagents: true,
  }));
}

/** Returns the repository that all evidence is of: `claude/spotter/…`, `pi/…`. */
function projectOf(gold: EvaluatedQuestion["gold"]): string | undefined {
  const projects = new Set(gold.map(({ file }) => (file.startsWith("pi/") ? "pi" : file.split("/")[1])));
  return projects.size === 1 ? [...projects][0] : undefined;
}

function codingCorpus(): Session[] {
  return readFileSync(join(CODEBENCH, "corpus.txt"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !/^(?:#|skip-)/.test(line))
    .map((line) => sessionAt(join(TRANSCRIPTS, line.split("\t")[2] ?? "")))
    .filter((session): session is Session => session !== undefined);
}

function sessionsOf(folders: readonly string[]): Session[] {
  const paths = { ...resolvePaths({ HOME: "/nonexistent" }), transcripts: [...folders] };
  return listSessions(paths, { subagents: true });
}

function foldersIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name));
}

function plain(text: string): string {
  return text.toLowerCase().replace(/[*`]/g, "").replace(/\s+/g, " ");
}

function readLines<T>(file: string): T[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);
}

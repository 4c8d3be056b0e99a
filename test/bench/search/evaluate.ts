#!/usr/bin/env bun
/**
 * Asks every question set in one process, one phrasing and four, and says what a change of the search is worth.
 *
 * Usage: bun test/bench/search/evaluate.ts [--keep <folder>] [--missed] [--present] [--sets real2,codebench,deeds]
 *
 * `--keep` leaves the indexes in a folder for the next run, `--present` asks nothing without its repository: a third of the
 * time. What is not there is skipped.
 *
 * @module
 */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Config, defaultConfig } from "../../../lib/config/config.ts";
import { type SearchAnswer, searchAsText } from "../../../lib/history/session-search.ts";
import type { Session } from "../../../lib/hosts/session.ts";
import { indexSessions } from "../../../lib/index/indexing.ts";
import { openStore } from "../../../lib/store/store.ts";
import { settingsWith } from "../../support/index.ts";
import { inTemporaryFolder } from "../measure.ts";
import { type Baseline, baselineOver } from "./baseline.ts";
import {
  type EvaluatedQuestion,
  endOfAnswer,
  isEvidence,
  isOfProject,
  isOfSession,
  readSets,
} from "./sets.ts";

/** The search of one question in one form. */
export interface Asked {
  question: EvaluatedQuestion;
  /** Code points until the answer is printed; infinite where it is not. */
  end: number;
  /** Code points printed. */
  length: number;
  isStrong: boolean;
  score: number;
  isEvidenceInFive: boolean;
  isSessionFirst: boolean;
}

/** What a set's questions gave: with their repository in the index, and those of a repository without it. */
export interface Evaluation {
  set: string;
  mode: "one" | "four";
  there: Asked[];
  /** Written without an answer. */
  unanswerable: Asked[];
  /** Asked with the question's own repository left out. */
  absent: Asked[];
  /** Those with an answer, asked of the plain search: bm25 over single rows. */
  plain: PlainlyAsked[];
}

/** What the plain search gives for a question. */
export interface PlainlyAsked extends Pick<Asked, "question" | "end" | "isEvidenceInFive"> {}

const LIMIT_OF_JSON = 10;

/** Indexes what the sets need once, and asks all of it. */
export async function evaluate(
  folder: string,
  { wanted, present = false }: { wanted?: readonly string[] | undefined; present?: boolean } = {},
): Promise<Evaluation[]> {
  const evaluations: Evaluation[] = [];
  for (const { set, corpus, questions, wider } of readSets()) {
    if (wanted && !wanted.includes(set)) continue;
    const whole = await indexed(join(folder, set), corpus);
    const plain = baselineOver(corpus);
    for (const mode of ["one", "four"] as const) {
      const asked = await askAll(whole, questions, mode);
      const evaluation: Evaluation = {
        set,
        mode,
        there: asked.filter(({ question }) => question.needed),
        unanswerable: asked.filter(({ question }) => !question.needed),
        absent: [],
        plain: questions
          .filter(({ needed }) => needed)
          .map((question) => askPlainly(plain, question, phrasingsOf(question, mode))),
      };
      for (const project of new Set(questions.map((question) => question.project))) {
        if (project === undefined || present) continue;
        const own = questions.filter((question) => question.project === project);
        const others = wider.filter((session) => !isOfProject(session, project));
        const name = `without-${project}`;
        evaluation.absent.push(...(await askAll(await indexed(join(folder, name), others), own, mode)));
      }
      evaluations.push(evaluation);
    }
  }
  return evaluations;
}

/** Returns the configuration of a home whose index holds some sessions; made where it is not there yet. */
export async function indexed(home: string, sessions: readonly Session[]): Promise<Config> {
  const config = configOf(home, sessions);
  if (existsSync(config.paths.database)) return config;
  mkdirSync(home, { recursive: true });
  const store = openStore(config.paths.database);
  await indexSessions({ store, paths: config.paths, sessions: [...sessions], settings: config.settings });
  store.close();
  return config;
}

function configOf(home: string, sessions: readonly Session[]): Config {
  const config = defaultConfig({ HOME: home, SESSION_MEMORY_HOME: home }, home);
  const transcripts = sessions.map(({ file }) => file);
  return { ...config, settings: settingsWith(), paths: { ...config.paths, transcripts } };
}

async function askAll(
  config: Config,
  questions: readonly EvaluatedQuestion[],
  mode: "one" | "four",
): Promise<Asked[]> {
  const asked: Asked[] = [];
  for (const question of questions) {
    const query = phrasingsOf(question, mode);
    const subagents = question.isOfSubagents;
    const resources = { config, index: false };
    const printed = await searchAsText({ query, subagents, cwd: config.paths.home }, resources);
    const more = { query, subagents, limit: LIMIT_OF_JSON, cwd: config.paths.home };
    const { results } = await searchAsText(more, resources);
    asked.push(judge(question, printed.text, results));
  }
  return asked;
}

export function phrasingsOf({ phrasings }: EvaluatedQuestion, mode: "one" | "four"): string[] {
  return mode === "one" ? phrasings.slice(0, 1) : phrasings;
}

function askPlainly(
  search: Baseline,
  question: EvaluatedQuestion,
  phrasings: readonly string[],
): PlainlyAsked {
  const rows = search(phrasings);
  const printed = rows.map(({ text }) => text).join("\n");
  return {
    question,
    end: endOfAnswer(printed, question),
    isEvidenceInFive: rows.slice(0, 5).some((row) => isEvidence(row, question)),
  };
}

function judge(question: EvaluatedQuestion, text: string, results: SearchAnswer["results"]): Asked {
  return {
    question,
    end: endOfAnswer(text, question),
    length: text.length + 1,
    isStrong: results[0]?.strength === "strong",
    score: results[0]?.relevance_score ?? 0,
    isEvidenceInFive: results.slice(0, 5).some((result) => isEvidence(result, question)),
    isSessionFirst: results[0] !== undefined && isOfSession(results[0], question),
  };
}

/** The figures of an evaluation on one line. */
export function describe({ set, mode, there, unanswerable, absent, plain }: Evaluation): string {
  const hasGold = there.some(({ question }) => question.gold.length > 0);
  const cells = [
    `${set} ${mode}`.padEnd(15),
    `n ${there.length}`,
    `2,500 ${percent(there, ({ end }) => end <= 2500)}`,
    `1,000 ${percent(there, ({ end }) => end <= 1000)}`,
    ...(hasGold ? [`evidence@5 ${percent(there, ({ isEvidenceInFive }) => isEvidenceInFive)}`] : []),
    ...(hasGold ? [`session@1 ${percent(there, ({ isSessionFirst }) => isSessionFirst)}`] : []),
    `strong ${percent(there, ({ isStrong }) => isStrong)}`,
    `characters ${mean(there)}`,
  ];
  if (unanswerable.length > 0) {
    const strong = percent(unanswerable, ({ isStrong }) => isStrong);
    cells.push(`| no answer n ${unanswerable.length} strong ${strong} characters ${mean(unanswerable)}`);
  }
  if (absent.length > 0) {
    const asked = new Set(absent.map(({ question }) => question.id));
    const same = there.filter(({ question }) => asked.has(question.id));
    cells.push(
      `| absent n ${absent.length} strong ${percent(absent, ({ isStrong }) => isStrong)}` +
        ` (with it ${percent(same, ({ isStrong }) => isStrong)}) AUC ${areaUnderCurve(same, absent).toFixed(3)} characters ${mean(absent)}`,
    );
  }
  const evidence = ` evidence@5 ${percent(plain, ({ isEvidenceInFive }) => isEvidenceInFive)}`;
  cells.push(
    `| plain bm25 over rows: 2,500 ${percent(plain, ({ end }) => end <= 2500)}${hasGold ? evidence : ""}`,
  );
  return cells.join("  ");
}

/** The chance that a question with an answer scores higher than one without. */
export function areaUnderCurve(there: readonly Asked[], absent: readonly Asked[]): number {
  let wins = 0;
  for (const a of there) {
    for (const b of absent) wins += a.score > b.score ? 1 : a.score === b.score ? 0.5 : 0;
  }
  return wins / Math.max(1, there.length * absent.length);
}

/** Returns the percentage that passes a test. */
export function share<T extends PlainlyAsked>(asked: readonly T[], test: (one: T) => boolean): number {
  return (100 * asked.filter(test).length) / Math.max(1, asked.length);
}

function percent<T extends PlainlyAsked>(asked: readonly T[], test: (one: T) => boolean): string {
  return share(asked, test).toFixed(1);
}

function mean(asked: readonly Asked[]): number {
  return Math.round(asked.reduce((sum, { length }) => sum + length, 0) / Math.max(1, asked.length));
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      keep: { type: "string" },
      missed: { type: "boolean", default: false },
      sets: { type: "string" },
      present: { type: "boolean", default: false },
    },
  });
  const show = async (folder: string) => {
    for (const evaluation of await evaluate(folder, {
      wanted: values.sets?.split(","),
      present: values.present,
    })) {
      console.log(describe(evaluation));
      if (!values.missed) continue;
      const { there, absent, unanswerable } = evaluation;
      const ids = (asked: readonly Asked[]) => asked.map(({ question }) => question.id).join(" ");
      console.log(`  missed: ${ids(there.filter(({ end }) => end > 2500))}`);
      console.log(`  not strong: ${ids(there.filter(({ isStrong }) => !isStrong))}`);
      console.log(
        `  falsely strong: ${ids([...unanswerable, ...absent].filter(({ isStrong }) => isStrong))}`,
      );
    }
  };
  if (values.keep === undefined) return await inTemporaryFolder(show);
  mkdirSync(values.keep, { recursive: true });
  await show(values.keep);
}

if (import.meta.main) await main();

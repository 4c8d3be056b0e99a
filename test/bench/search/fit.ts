#!/usr/bin/env bun
/**
 * Fits the weights by which search chooses units: those under which the units that hold the answer are likeliest among all
 * units of their question. Reports the likelihood on each repository with weights fitted on the others.
 *
 * Usage: bun test/bench/search/fit.ts [--keep <folder>] [--write]
 *
 * @module
 */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { findCandidates } from "../../../lib/search/hits.ts";
import { type Feature, UNIT_WEIGHTS } from "../../../lib/search/unit-weights.ts";
import type { Unit } from "../../../lib/search/units.ts";
import { openStore, type Store } from "../../../lib/store/store.ts";
import { inTemporaryFolder } from "../measure.ts";
import { indexed, phrasingsOf } from "./evaluate.ts";
import { hasLocomo, indexLocomo, pairOf } from "./locomo.ts";
import { heldIn, readSets } from "./sets.ts";

const FEATURES = Object.keys(UNIT_WEIGHTS) as Feature[];
const FILE = resolve(import.meta.dir, "../../../lib/search/unit-weights.ts");
const STEPS = 150;
const RATE = 0.1;
/** Holds weights near zero that few questions speak for. */
const PENALTY = 0.002;
/** Each of so many questions of the conversations is taken: they are many, and of one kind. */
const CHAT_STEP = 6;
/** A repository with fewer answers says nothing when it is left out. */
const GROUP_LEAST = 12;
const STYLE = { nameOf: () => undefined, shortId: () => "" };

/** The units of a question, by their features, and which of them answer. */
interface List {
  /** The repository that is left out together. */
  group: string;
  units: Float64Array[];
  answers: number[];
}

async function readLists(folder: string): Promise<List[]> {
  const lists: List[] = [];
  for (const { set, corpus, questions } of readSets()) {
    const store = openStore((await indexed(join(folder, set), corpus)).paths.database);
    for (const question of questions.filter(({ needed }) => needed)) {
      for (const mode of ["one", "four"] as const) {
        const units = unitsOf(store, phrasingsOf(question, mode), question.isOfSubagents);
        const held = units.map((unit) => heldIn(textOf(unit), question));
        for (const number of (question.needed ?? []).keys()) {
          const answers = held.flatMap((one, i) => (one[number] ? [i] : []));
          const group = question.project ?? question.gold[0]?.file.split("/").at(-2) ?? set;
          if (answers.length > 0) lists.push({ group, units: units.map(toVector), answers });
        }
      }
    }
    store.close();
  }
  if (hasLocomo()) lists.push(...(await chatLists(join(folder, "chats"))));
  return lists;
}

async function chatLists(folder: string): Promise<List[]> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const store = openStore(join(folder, "index.db"));
  const questions = await indexLocomo(store, folder);
  const lists = questions
    .filter((_, i) => i % CHAT_STEP === 0)
    .map(({ question, evidence }): List => {
      const { candidates } = candidatesOf(store, [question], false);
      const units = candidates.flatMap(({ passage, units }) =>
        units.map((unit) => ({ unit, place: pairOf(basename(passage.best.session.file), unit.row.line) })),
      );
      const answers = units.flatMap(({ place }, i) => (evidence.includes(place) ? [i] : []));
      return { group: "chats", units: units.map(({ unit }) => toVector(unit)), answers };
    });
  store.close();
  return lists.filter(({ answers }) => answers.length > 0);
}

function candidatesOf(store: Store, phrasings: readonly string[], subagents: boolean) {
  const options = {
    filter: { subagents },
    limit: 5,
    now: new Date(),
    maxChars: 2500,
    around: 0,
    explain: false,
  };
  return findCandidates(store, phrasings, { ...options, style: STYLE });
}

function unitsOf(store: Store, phrasings: readonly string[], subagents: boolean): Unit[] {
  return candidatesOf(store, phrasings, subagents).candidates.flatMap(({ units }) => units);
}

function textOf({ row: { tool = "", text }, start, end }: Unit): string {
  return `${tool} ${text.slice(start, end)}`;
}

function toVector({ features }: Unit): Float64Array {
  return Float64Array.from(FEATURES, (name) => features[name]);
}

/** Fits weights by Adam. */
function fit(lists: readonly List[]): Float64Array {
  const size = FEATURES.length;
  const weights = Float64Array.from(FEATURES, (name) => UNIT_WEIGHTS[name]);
  const [first, second] = [new Float64Array(size), new Float64Array(size)];
  for (let step = 1; step <= STEPS; step++) {
    const slope = new Float64Array(size);
    for (const list of lists) addSlope(list, weights, slope);
    for (let i = 0; i < size; i++) {
      const own = (slope[i] as number) / lists.length - PENALTY * (weights[i] as number);
      first[i] = 0.9 * (first[i] as number) + 0.1 * own;
      second[i] = 0.999 * (second[i] as number) + 0.001 * own * own;
      const mean = (first[i] as number) / (1 - 0.9 ** step);
      const spread = Math.sqrt((second[i] as number) / (1 - 0.999 ** step));
      weights[i] = (weights[i] as number) + (RATE * mean) / (spread + 1e-8);
    }
  }
  return weights;
}

/** Adds what raises the likelihood of a list's answers. */
function addSlope({ units, answers }: List, weights: Float64Array, slope: Float64Array): void {
  const chances = chancesOf(units, weights);
  const total = chances.reduce((sum, chance) => sum + chance, 0);
  const held = answers.reduce((sum, i) => sum + (chances[i] as number), 0);
  const isAnswer = new Set(answers);
  for (const [i, unit] of units.entries()) {
    const chance = chances[i] as number;
    const share = (isAnswer.has(i) ? chance / held : 0) - chance / total;
    for (let k = 0; k < slope.length; k++) slope[k] = (slope[k] as number) + share * (unit[k] as number);
  }
}

function chancesOf(units: readonly Float64Array[], weights: Float64Array): number[] {
  const scores = units.map((unit) => {
    let sum = 0;
    for (let k = 0; k < unit.length; k++) sum += (unit[k] as number) * (weights[k] as number);
    return sum;
  });
  const most = Math.max(...scores);
  return scores.map((score) => Math.exp(score - most));
}

/** Returns the mean logarithm of the answers' chance. */
function likelihood(lists: readonly List[], weights: Float64Array): number {
  const sum = lists.reduce((all, { units, answers }) => {
    const chances = chancesOf(units, weights);
    const total = chances.reduce((one, other) => one + other, 0);
    return all + Math.log(answers.reduce((one, i) => one + (chances[i] as number), 0) / total);
  }, 0);
  return sum / Math.max(1, lists.length);
}

function show(weights: Float64Array): string {
  return FEATURES.map((name, i) => `${name} ${(weights[i] as number).toFixed(1)}`).join("  ");
}

function write(weights: Float64Array): void {
  let text = readFileSync(FILE, "utf8");
  for (const [i, name] of FEATURES.entries())
    text = text.replace(new RegExp(`(\\n  ${name}: )[-\\d.]+`), `$1${(weights[i] as number).toFixed(1)}`);
  writeFileSync(FILE, text);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { keep: { type: "string" }, write: { type: "boolean", default: false } },
  });
  const run = async (folder: string) => {
    const lists = await readLists(folder);
    const before = Float64Array.from(FEATURES, (name) => UNIT_WEIGHTS[name]);
    for (const group of new Set(lists.map((list) => list.group))) {
      const [own, others] = [true, false].map((is) => lists.filter((list) => (list.group === group) === is));
      if (!own || !others || others.length === 0 || own.length < GROUP_LEAST) continue;
      const fitted = fit(others);
      console.log(
        `${group.padEnd(20)} n ${String(own.length).padStart(3)}  left out ${likelihood(own, fitted).toFixed(3)}  as it is ${likelihood(own, before).toFixed(3)}  ${show(fitted)}`,
      );
    }
    const all = fit(lists);
    console.log(
      `all n ${lists.length}  ${likelihood(lists, all).toFixed(3)}  as it is ${likelihood(lists, before).toFixed(3)}  ${show(all)}`,
    );
    if (values.write) write(all);
  };
  if (values.keep === undefined) return await inTemporaryFolder(run);
  await run(values.keep);
}

if (import.meta.main) await main();

/**
 * Fits the weights of the table that judges secrets (lib/redact/table.ts) to the fixtures, and measures what they reach on forms
 * that they were not fitted on.
 *
 *   bun test/bench/redact-fit.ts   fits on everything, and writes the weights into the table
 *   bun run bench redact-fit       measures, each family of forms left out once: neighbours in the fixtures
 */

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { replaceSecrets } from "../../lib/redact/secrets.ts";
import { featuresOf } from "../../lib/redact/table.ts";
import { seeded } from "../support/random.ts";
import { ROOT } from "../support/run.ts";
import { fillForm, readForms } from "../support/secrets.ts";
import { atLeast, atMost, type BenchRow, figure } from "./measure.ts";

const TABLE = join(ROOT, "lib/redact/table.ts");
/** Neighbours in a file are of one subject: commands, languages, settings. */
const FAMILY = 12;
const FOLDS = 8;
const EPOCHS = 60;
/** What is taken from an ordinary text costs more than what passes. */
const HARM = 2;

const SOURCES = [
  "lib",
  "scripts",
  "hooks",
  "docs",
  "skills",
  "node_modules/zod",
  "node_modules/openai",
  "node_modules/pg",
];

interface Value {
  /** The rows of the table that it has, by their place in it. */
  rows: number[];
  level: number;
}
interface Example {
  family: string;
  text: string;
  /** For each secret, the values that give it away when one of them is judged a secret. */
  secrets: Value[][];
  ordinary: Value[];
}

const lines = (text: string, put: (line: string, index: number) => string) =>
  text.split("\n").map(put).join("\n");
const PLACES: ((text: string) => string)[] = [
  (text) => text,
  (text) => `see:\n${text}\nand so on`,
  (text) => `Noted, here is it: ${text} ok.`,
  (text) => lines(text, (line) => `+  ${line}`),
  (text) => JSON.stringify({ output: text }),
  (text) => lines(text, (line, index) => `${index + 12}→${line}`),
];

const source = readFileSync(TABLE, "utf8");
/** A row up to its pattern: its name, the sign of its weights that a reader expects, and where it says nothing: `.`. */
const ROW = /^(\w+ [\w-]+) ([-+~])((?: (?:-?\d+|\.)){4})/gm;
const TABLE_ROWS = [...source.matchAll(ROW)].map(([, name = "", sign = "", weights = ""]) => ({
  name: name.replace(/^\w+/, (aspect) => aspect.toLowerCase()),
  sign,
  isOpen: weights
    .trim()
    .split(" ")
    .map((weight) => weight !== "."),
}));
const rowNames = TABLE_ROWS.map(({ name }) => name);

function readTaken(file: string): Example[] {
  const random = seeded(5);
  return readForms(file).flatMap((form, index) =>
    PLACES.flatMap((put) => [0, 1].map(() => example(form, put, `${file} ${Math.floor(index / FAMILY)}`))),
  );
  function example(form: string, put: (text: string) => string, family: string): Example {
    const { text, secrets } = fillForm(form, random);
    return { family, ...valuesOf(put(text), secrets), text: form };
  }
}

function readOrdinary(): Example[] {
  const all = readFileSync(join(ROOT, "test/fixtures/redact/ordinary.txt"), "utf8").split("\n");
  const texts = [...all.map((line) => line.replaceAll("⏎", "\n"))];
  const listed = texts.map((text, index) => ({
    family: `ordinary ${Math.floor(index / FAMILY)}`,
    ...valuesOf(text, []),
    text,
  }));
  return [...listed, ...readSources()];
}

/** The source and the pages of this project and of what it imports announce much, and hold no secret. */
function readSources(): Example[] {
  const files = SOURCES.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter(
        (name) =>
          /\.(?:ts|js|md|json)$/.test(name) &&
          !/fixtures|redact|secret|\.min\.|node_modules|tests?[./]/.test(name),
      )
      .map((name) => join(folder, name)),
  );
  return files.flatMap((file) => {
    const path = join(ROOT, file);
    if (!statSync(path).isFile() || statSync(path).size > 400_000) return [];
    const { ordinary } = valuesOf(readFileSync(path, "utf8"), []);
    return ordinary.length > 0
      ? [{ family: `source ${file.split("/").slice(0, 3).join("/")}`, text: file, secrets: [], ordinary }]
      : [];
  });
}

/** Returns what is judged in a text, by the secret that it gives away. */
function valuesOf(text: string, secrets: string[]): Pick<Example, "secrets" | "ordinary"> {
  const found = new Map(secrets.map((secret) => [secret, [] as Value[]]));
  const ordinary: Value[] = [];
  const judge = (isRight: boolean) => (inner: string, candidate: Parameters<typeof featuresOf>[1]) => {
    const shown = inner.slice(candidate.start, candidate.end);
    const secret =
      shown &&
      secrets.find(
        (each) =>
          shown.includes(each) || (each.includes(shown) && shown.length >= Math.min(100, each.length / 2)),
      );
    const value = {
      rows: featuresOf(inner, candidate).map(({ aspect, name }) => rowNames.indexOf(`${aspect} ${name}`)),
      level: candidate.level,
    };
    if (isRight && secret) found.get(secret)?.push(value);
    // a part of a secret is neither: what is known by its form is found whole
    else if (isRight && !(shown && secrets.some((each) => each.includes(shown)))) ordinary.push(value);
    return false;
  };
  // what is known by its form needs no judgement
  const left = replaceSecrets(text, undefined, judge(true));
  const open = secrets.filter(
    (secret) => left.includes(secret) || left.includes(JSON.stringify(secret).slice(1, -1)),
  );
  return { secrets: open.map((secret) => found.get(secret) ?? []), ordinary };
}

type Weights = Float64Array;
const SIZE = rowNames.length;
const score = (weights: Weights, { rows, level }: Value) =>
  rows.reduce((sum, row) => sum + (weights[row * 4 + level] ?? 0), 0);

/** Fits by a perceptron with a margin, averaged: of the values that give a secret away, the best counts. */
function fit(examples: readonly Example[]): Weights {
  // a placeholder is no secret at any level, even where no fixture shows one
  const weights = Float64Array.from({ length: SIZE * 4 }, (_, at) => {
    const { name, sign, isOpen } = TABLE_ROWS[at >> 2] ?? {};
    return isOpen?.[at & 3] && sign === "-" && name?.startsWith("look") ? PRIOR : 0;
  });
  const sum = new Float64Array(SIZE * 4);
  const random = seeded(7);
  const order = [...examples];
  const step = ({ rows, level }: Value, by: number) => {
    for (const row of rows) {
      const { sign, isOpen } = TABLE_ROWS[row] ?? {};
      const weight = (weights[row * 4 + level] ?? 0) + by;
      if (isOpen?.[level])
        weights[row * 4 + level] =
          sign === "+" ? Math.max(0, weight) : sign === "-" ? Math.min(0, weight) : weight;
    }
  };
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    for (let i = order.length - 1; i > 0; i--) {
      const j = random.integer(0, i);
      [order[i], order[j]] = [order[j] as Example, order[i] as Example];
    }
    const rate = 1 / (1 + epoch / 10);
    for (const { secrets, ordinary } of order) {
      for (const values of secrets) {
        const best = values.reduce<Value | undefined>(
          (best, value) => (!best || score(weights, value) > score(weights, best) ? value : best),
          undefined,
        );
        if (best && score(weights, best) < MARGIN) step(best, rate);
      }
      for (const value of ordinary) if (score(weights, value) > -MARGIN) step(value, -rate * HARM);
    }
    for (const [at, weight] of weights.entries()) {
      weights[at] = weight * FORGETTING;
      if (epoch >= EPOCHS / 2) sum[at] = (sum[at] ?? 0) + weight;
    }
  }
  return sum.map((weight) => Math.round((8 * weight) / EPOCHS));
}
const MARGIN = 2;
const PRIOR = -8;
const FORGETTING = 0.998;

function judgeAll(weights: Weights, examples: readonly Example[]) {
  const passes = new Map<string, number>();
  const taken = new Set<string>();
  let caught = 0;
  let all = 0;
  for (const { secrets, ordinary, text, family } of examples) {
    all++;
    if (secrets.every((values) => values.some((value) => score(weights, value) > 0))) caught++;
    else passes.set(text, (passes.get(text) ?? 0) + 1);
    if (!/^(?:taken|hostile|tokens)/.test(family) && ordinary.some((value) => score(weights, value) > 0))
      taken.add(text);
  }
  return { caught, all, passes, taken };
}

/** Tokens and passwords without anything around them but what stands around any word. */
function readTokens(): Example[] {
  const random = seeded(6);
  const forms = [...readForms("tokens.txt").map((line) => line.replace(/^\S+ /, "")), ...OPAQUE];
  return forms.flatMap((form, index) =>
    AROUND.map(([before, after]): Example => {
      const { text, secrets } = fillForm(form, random);
      return {
        family: `tokens ${Math.floor(index / FAMILY)}`,
        ...valuesOf(before + text + after, secrets),
        text: form,
      };
    }),
  );
}
const OPAQUE = [
  "b62:24",
  "b62:32",
  "b62:39",
  "b62:40",
  "b62:48",
  "b62:64",
  "b64:43",
  "b64url:43",
  "b64:86",
].map((kind) => `«@${kind}»`);
const AROUND = [
  ["", ""],
  ["use ", ", then deploy."],
  ['{"value": "', '"}'],
  ["export MY_VALUE=", "\nnpm test"],
  ["https://api.example.test/v1?x=", "&page=2"],
  ["curl -H 'X-Thing: ", "' https://api.example.test"],
  ["Bash echo ", " > out.txt"],
  ["<b>", "</b>"],
  ["密钥", "。"],
  ["(", ")"],
  ["`", "`"],
  ["+ value: [", "]"],
];

function readExamples() {
  const taken = [...readTaken("taken.txt"), ...readTaken("hostile.txt"), ...readTokens()];
  const ordinary = readOrdinary();
  return { taken, ordinary, all: [...taken, ...ordinary] };
}

/** The figures: what weights reach on the forms that they are fitted on, and on families that were left out. */
export async function rows(): Promise<BenchRow[]> {
  const { taken, ordinary, all } = readExamples();
  const weights = fit(all);
  const trained = judgeAll(weights, taken);
  const families = [...new Set(all.map(({ family }) => family))];
  let [caught, changed] = [0, 0];
  for (let fold = 0; fold < FOLDS; fold++) {
    const isOut = ({ family }: Example) => families.indexOf(family) % FOLDS === fold;
    const folded = fit(all.filter((example) => !isOut(example)));
    caught += judgeAll(folded, taken.filter(isOut)).caught;
    changed += judgeAll(folded, ordinary.filter(isOut)).taken.size;
  }
  const percent = (part: number, whole: number) => (100 * part) / whole;
  return [
    atLeast("secrets caught, fitted on all forms", percent(trained.caught, trained.all), 97),
    atMost("ordinary texts changed, fitted on all", judgeAll(weights, ordinary).taken.size, 0, { unit: "" }),
    atLeast("secrets caught, their families left out", percent(caught, trained.all), 92),
    figure("ordinary texts changed, their families left out", percent(changed, ordinary.length), {
      unit: "%",
    }),
  ];
}

/** Fits on everything, says what is still wrong, and writes the weights into the table. */
function writeWeights(): void {
  const { taken, ordinary, all } = readExamples();
  const weights = fit(all);
  for (const [form, count] of judgeAll(weights, taken).passes) console.log(`passes ${count}: ${form}`);
  for (const text of judgeAll(weights, ordinary).taken)
    console.log(`takes from: ${text.replaceAll("\n", "⏎")}`);
  let row = -1;
  const written = source.replace(ROW, (_, name: string, sign: string) => {
    row++;
    const shown = TABLE_ROWS[row]?.isOpen.map((isOpen, level) =>
      isOpen ? String(weights[row * 4 + level] || 0) : ".",
    );
    return `${name} ${sign} ${shown?.join(" ")}`;
  });
  writeFileSync(TABLE, written);
}

if (import.meta.main) writeWeights();

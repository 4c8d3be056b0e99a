/** What observations lose of real sessions, how small they are, and what rendering costs. */

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { estimateTokens } from "../../lib/language/tokens.ts";
import { foldLedger, type LedgerRecord, observationTokens } from "../../lib/observe/observations.ts";
import { observe, rawTokens } from "../../lib/observe/observe.ts";
import { compactionSummary, renderObservations } from "../../lib/observe/render-observations.ts";
import type { Entry } from "../../lib/transcripts/session.ts";
import { CLEAN, conversation, observing, randomTurn } from "../support/conversation.ts";
import { readActiveBranch } from "../support/entries.ts";
import { seeded } from "../support/random.ts";
import { ROOT } from "../support/run.ts";
import { atMost, type BenchRow, figure, median } from "./measure.ts";

const TRANSCRIPTS = join(ROOT, "..", "shared", "transcripts");
/** The session that is there without any real one. */
const GENERATED = "generated";
/** From here on a session must shrink to a fifth. */
const LARGE_TOKENS = 20_000;
const RENDER_TOKENS = 40_000;
const REPETITIONS = 9;
/** Of a tool result, as a summariser sees it. */
const RESULT_CHARS = 2000;

export async function rows(): Promise<BenchRow[]> {
  return [...(await realSessions()), ...(await speed())];
}

interface Observed {
  file: string;
  tokens: number;
  ratio: number;
  typed: number;
  /** What should be in the rendering and is not. */
  missing: string[];
}

/** Every transcript there is, observed by rule. */
async function realSessions(): Promise<BenchRow[]> {
  if (!existsSync(TRANSCRIPTS)) {
    console.error(
      `no real transcripts at ${TRANSCRIPTS}: coverage and compression on a generated session only`,
    );
  }
  const observed: Observed[] = [];
  for (const [file, entries] of sessions()) observed.push(await observeWhole(file, entries));
  const missing = observed.flatMap((session) => session.missing.map((what) => `${session.file}: ${what}`));
  for (const what of missing.slice(0, 5)) console.error(what);
  const typed = observed.reduce((sum, session) => sum + session.typed, 0);
  return [
    atMost("observations: typed messages and modified paths not rendered", missing.length, 0, {
      unit: "",
      detail: `${typed} messages`,
    }),
    ...compression(observed),
  ];
}

/** The bar is for real sessions: made-up ones have as many words of the user's as one likes. */
function compression(observed: readonly Observed[]): BenchRow[] {
  const large = observed.filter(({ file, tokens }) => file !== GENERATED && tokens >= LARGE_TOKENS);
  const worst = large.toSorted((a, b) => b.ratio - a.ratio)[0];
  const middle = median(large.map(({ ratio }) => ratio));
  if (!worst) return [];
  return [
    atMost("observations by rule / conversation, worst session", worst.ratio * 100, 20, {
      unit: "%",
      detail: `${large.length} sessions of ${LARGE_TOKENS} tokens and more, median ${(middle * 100).toFixed(1)} %`,
    }),
  ];
}

function* sessions(): Generator<[file: string, entries: Entry[]]> {
  const random = seeded(41);
  yield [GENERATED, conversation(Array.from({ length: 200 }, () => randomTurn(random)).flat())];
  if (!existsSync(TRANSCRIPTS)) return;
  for (const file of readdirSync(TRANSCRIPTS, { recursive: true, encoding: "utf8" }).sort()) {
    if (!file.endsWith(".jsonl")) continue;
    const { entries } = readActiveBranch(join(TRANSCRIPTS, file), { results: true });
    if (entries.length > 0) yield [file, entries];
  }
}

async function observeWhole(file: string, entries: Entry[]): Promise<Observed> {
  const records: LedgerRecord[] = [];
  await observe(observing(entries, { records }));
  const text = renderObservations(records) ?? "";
  const tokens = conversationTokens(entries);
  const typed = entries.filter(({ kind }) => kind === "user");
  return {
    file,
    tokens,
    ratio: estimateTokens(text) / tokens,
    typed: typed.length,
    missing: [...typed.flatMap((entry) => missingWords(entry, text)), ...missingPaths(entries, text)],
  };
}

/** User and assistant text, tool lines, and tool results as far as a summariser would see them. */
function conversationTokens(entries: readonly Entry[]): number {
  return entries.reduce(
    (total, { kind, text }) => total + estimateTokens(kind === "result" ? text.slice(0, RESULT_CHARS) : text),
    0,
  );
}

/** A short message stands there word for word, a longer one with its head and tail. */
function missingWords({ text, line }: Entry, rendered: string): string[] {
  const said = CLEAN(text);
  const parts = [...said].length <= 300 ? [said] : [said.slice(0, 150), said.slice(-60)];
  return parts.every((part) => rendered.includes(part)) ? [] : [`the message of line ${line}`];
}

function missingPaths(entries: readonly Entry[], rendered: string): string[] {
  const paths = entries.flatMap(({ tool }) => (tool?.action === "edit" ? tool.paths.map(CLEAN) : []));
  return [...new Set(paths)].filter((path) => !rendered.includes(`\n${path}\n`));
}

async function speed(): Promise<BenchRow[]> {
  const random = seeded(43);
  const records: LedgerRecord[] = [];
  let entries: Entry[] = [];
  while (observationTokens(foldLedger(records).observations) < RENDER_TOKENS) {
    const more = Array.from({ length: 300 }, () => randomTurn(random)).flat();
    entries = [...entries, ...conversation(more, { from: (entries.at(-1)?.line ?? 1) + 1 })];
    await observe(observing(entries, { records }));
  }
  const json = records.map((record) => JSON.stringify(record));
  const render = timed(() => renderObservations(records));
  const limited = timed(() => renderObservations(records, { maxChars: 10_000 }));
  const parse = timed(() => json.map((line) => JSON.parse(line)));
  const started = performance.now();
  await compactionSummary(observing(entries, { ledger: records }));
  const compaction = performance.now() - started;
  const size = `${observationTokens(foldLedger(records).observations)} tokens`;
  return [
    atMost(`rendering ${RENDER_TOKENS} tokens of observations`, render, 20, { unit: "ms", detail: size }),
    figure("rendering / parsing the ledger's JSON", render / parse, { unit: "x" }),
    atMost("rendering them within 10,000 characters", limited, 20, { unit: "ms" }),
    atMost("compaction in buffered mode", compaction, 100, {
      unit: "ms",
      detail: `${rawTokens(entries)} tokens of history`,
    }),
  ];
}

function timed(work: () => unknown): number {
  work();
  return median(
    Array.from({ length: REPETITIONS }, () => {
      const started = performance.now();
      work();
      return performance.now() - started;
    }),
  );
}

/**
 * A host as pi is one, in memory: a tree of rows in one file, custom entries that hold the ledger, compactions that keep
 * a tail, branches, forks and restarts, with an observer that fails in every way. `simulate` checks after each event
 * that nothing was lost.
 */

import { defaultSettings } from "../../lib/config/config.ts";
import type { Entry } from "../../lib/hosts/session.ts";
import type { CompleteJson } from "../../lib/model/answers.ts";
import { relocateLedger } from "../../lib/observe/ledger.ts";
import { foldLedger, type Ledger, type LedgerRecord } from "../../lib/observe/observations.ts";
import { observe } from "../../lib/observe/observe.ts";
import { reflect } from "../../lib/observe/reflect.ts";
import { compactionSummary } from "../../lib/observe/render-observations.ts";
import { redact } from "../../lib/redact/redact.ts";
import { conversation, randomTurn } from "./conversation.ts";
import { type Random, seeded } from "./random.ts";

interface Row {
  id: string;
  parent: string | undefined;
  line: number;
  /** Several for a message with calls. */
  entries: Entry[];
  record: LedgerRecord | undefined;
  /** Ids of the rows that the record was made from, whatever lines they have by now. */
  covers?: string[];
  /** On a compaction that we gave: the first row that stays raw. */
  keptFrom?: string | undefined;
}

interface Host {
  rows: Row[];
  leaf: string | undefined;
  /** Rows ever written: a fork is shorter, and must not give an id twice. */
  issued: number;
}

interface Simulated {
  events: Record<string, number>;
  /** Compactions that we gave; the host made the others itself. */
  given: number;
  problems: string[];
}

const EVENTS = [
  "turn",
  "turn",
  "turn",
  "step",
  "step",
  "failing step",
  "reflection",
  "compaction",
  "branch",
  "fork",
  "restart",
];

/** One run of random events. `problems` is what must never be: a lost message, a cursor that went back. */
export async function simulate(seed: number): Promise<Simulated> {
  const random = seeded(seed);
  const host: Host = { rows: [], leaf: undefined, issued: 0 };
  const result: Simulated = { events: {}, given: 0, problems: [] };
  for (let count = random.integer(6, 24); count > 0; count--) {
    const event = random.pick(EVENTS);
    result.events[event] = (result.events[event] ?? 0) + 1;
    const before = foldLedger(ledgerOf(host)).coversTo;
    const isMoved = event === "branch" || event === "fork";
    await run(host, { event, random, problems: result.problems });
    const after = foldLedger(ledgerOf(host)).coversTo;
    if (!isMoved && after < before)
      result.problems.push(`${event}: the cursor went from ${before} to ${after}`);
    result.problems.push(...lostMessages(host).map((problem) => `${event}: ${problem}`));
  }
  result.given = host.rows.filter(({ keptFrom }) => keptFrom !== undefined).length;
  return result;
}

async function run(
  host: Host,
  context: { event: string; random: Random; problems: string[] },
): Promise<void> {
  const { event, random, problems } = context;
  if (event === "turn") addTurn(host, random);
  else if (event === "step")
    await step(host, { random, complete: random.pick([undefined, goodModel(random)]) });
  else if (event === "failing step") {
    const before = JSON.stringify(ledgerOf(host));
    const failed = await step(host, { random, complete: badModel(random) });
    if (failed && JSON.stringify(ledgerOf(host)) !== before) problems.push("a failure changed the ledger");
  } else if (event === "reflection") {
    await reflect({ ...contextOf(host, random), force: true, focus: random.pick([undefined, "login"]) });
  } else if (event === "compaction") await compact(host, random);
  else if (event === "branch" && host.rows.length > 0) host.leaf = random.pick(host.rows).id;
  else if (event === "fork") fork(host);
  else if (event === "restart") host.rows = JSON.parse(JSON.stringify(host.rows)) as Row[];
}

/** Every entry of the branch is raw, or a record covers it; what the user said is in an observation, live or dropped by a record. */
function lostMessages(host: Host): string[] {
  const memory = foldLedger(ledgerOf(host));
  const path = pathOf(host);
  const kept = firstKept(path);
  const problems: string[] = [];
  const truth = new Set(path.flatMap(({ covers = [] }) => covers));
  for (const [index, row] of path.entries()) {
    const isClaimed = row.entries.some(({ line }) => memory.covered.has(line));
    if (isClaimed && !truth.has(row.id))
      problems.push(`row ${row.id} counts as covered and no record was made from it`);
    for (const entry of row.entries) {
      const isRaw = kept === -1 || index >= kept;
      if (!isRaw && !memory.covered.has(entry.line))
        problems.push(`line ${entry.line} is neither raw nor covered`);
      if (entry.kind !== "user" || !memory.covered.has(entry.line)) continue;
      const isNoted = [...memory.history.values()].some(({ sources }) => sources.includes(entry.line));
      if (!isNoted) problems.push(`the user's line ${entry.line} is covered but in no observation`);
    }
  }
  return problems;
}

function addTurn(host: Host, random: Random): void {
  const entries = conversation(randomTurn(random), { from: (host.rows.at(-1)?.line ?? 1) + 1 });
  for (const line of new Set(entries.map((entry) => entry.line))) {
    const id = `r${host.issued}`;
    append(host, {
      id,
      entries: entries.filter((entry) => entry.line === line).map((entry) => ({ ...entry, id })),
      record: undefined,
    });
  }
}

/** Where the raw part begins: a compaction counts while it is on the branch. */
function firstKept(path: readonly Row[]): number {
  const compaction = path.findLast(({ keptFrom }) => keptFrom !== undefined);
  return path.findIndex(({ id }) => id === compaction?.keptFrom);
}

function append(host: Host, row: Omit<Row, "parent" | "line">): void {
  host.rows.push({ ...row, parent: host.leaf, line: (host.rows.at(-1)?.line ?? 1) + 1 });
  host.leaf = row.id;
  host.issued++;
}

async function step(
  host: Host,
  { random, complete }: { random: Random; complete: CompleteJson | undefined },
): Promise<boolean> {
  const outcome = await observe({
    ...contextOf(host, random),
    entries: entriesOf(host),
    complete,
    when: random.pick(["due", "all"] as const),
    maxSteps: random.integer(1, 4),
    failures: random.integer(0, 2),
  });
  return outcome.failure !== undefined && outcome.steps === 0;
}

function contextOf(host: Host, random: Random) {
  const settings = {
    ...defaultSettings().observe,
    stepTokens: random.integer(1000, 3000),
    retainTokens: random.integer(0, 2000),
    reflectorTokens: 1500,
  };
  return {
    ledger: ledgerOf(host),
    settings,
    timezone: "UTC",
    redact,
    rowIds: true,
    append: (record: LedgerRecord) => {
      const lines = foldLedger([record]).covered;
      const covers = entriesOf(host).flatMap(({ id, line }) => (id && lines.has(line) ? [id] : []));
      append(host, { id: `l${host.issued}`, entries: [], record, covers });
    },
  };
}

async function compact(host: Host, random: Random): Promise<void> {
  const path = pathOf(host);
  const withEntries = path.filter(({ entries }) => entries.length > 0);
  if (withEntries.length < 2) return;
  const from = path.indexOf(random.pick(withEntries.slice(1)));
  // A host only ever cuts later than it did before.
  if (from <= firstKept(path)) return;
  const context = contextOf(host, random);
  const summary = await compactionSummary({
    ...context,
    settings: { ...context.settings, rules: random.chance(0.5) },
    entries: entriesOf(host),
    complete: random.pick([undefined, goodModel(random), badModel(random)]),
    keptIds: new Set(path.slice(from).map(({ id }) => id)),
  });
  // Without ours the host summarises itself: nothing is claimed of those rows.
  if (summary)
    append(host, { id: `c${host.issued}`, entries: [], record: undefined, keptFrom: path[from]?.id });
}

/** A new file with the rows of the branch alone, in new lines. */
function fork(host: Host): void {
  host.rows = pathOf(host).map((row, index) => {
    const line = index + 2;
    return { ...row, line, entries: row.entries.map((entry) => ({ ...entry, line })) };
  });
}

function pathOf(host: Host): Row[] {
  const byId = new Map(host.rows.map((row) => [row.id, row]));
  const path: Row[] = [];
  for (let row = byId.get(host.leaf ?? ""); row; row = byId.get(row.parent ?? "")) path.unshift(row);
  return path;
}

function entriesOf(host: Host): Entry[] {
  return pathOf(host).flatMap(({ entries }) => entries);
}

function ledgerOf(host: Host): Ledger {
  const data = pathOf(host).flatMap(({ record }) => record ?? []);
  return relocateLedger(data, entriesOf(host));
}

/** Cites given lines, and passes over some of what the user said. */
function goodModel(random: Random): CompleteJson {
  return async (request) => {
    const conversationPart = request.prompt.split("<new-conversation>")[1] ?? "";
    const lines = [...conversationPart.matchAll(/^\[(\d+)\]/gm)].map((match) => Number(match[1]));
    const observations = [...new Set(lines)]
      .filter(() => random.chance(0.5))
      .map((line) => ({
        priority: random.pick(["red", "🟡", "green"]),
        text: `Request: what line ${line} says`,
        sources: [line],
      }));
    const some =
      observations.length > 0
        ? observations
        : [{ priority: "green", text: "something happened", sources: [lines[0] ?? 0] }];
    return answer(request.schema.parse({ observations: some }));
  };
}

function badModel(random: Random): CompleteJson {
  const text = "and the same again and the same again";
  const observations = random.pick([
    [],
    [{ priority: "red", text: "cites nothing that was given", sources: [999_999] }],
    [1, 2, 3, 4].map(() => ({ priority: "red", text, sources: [2] })),
    [{ priority: "red", text: `${text} `.repeat(400), sources: [2] }],
  ]);
  const isThrowing = random.chance(0.3);
  return async (request) => {
    if (isThrowing) throw new Error("stream error");
    return answer(request.schema.parse({ observations }));
  };
}

function answer<T>(value: T) {
  return { value, model: "fake-1", usage: { input: 1, output: 1 }, tokens: 2, usd: 0 };
}

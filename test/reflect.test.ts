import { expect, test } from "bun:test";
import { SessionMemoryError } from "../lib/base/errors.ts";
import {
  foldLedger,
  isOpen,
  type LedgerRecord,
  type Observation,
  observationLine,
  observationTokens,
  type ReflectedRecord,
} from "../lib/observe/observations.ts";
import { observe } from "../lib/observe/observe.ts";
import { isReflectionDue, reflect } from "../lib/observe/reflect.ts";
import { answering, conversation, observationsOf, observing, type Turn } from "./support/conversation.ts";
import { fuzzSeed, type Random, SOAK, seeded } from "./support/random.ts";

function item(id: string, fields: Partial<Observation> = {}): Observation {
  return {
    id,
    at: "2026-02-12T10:00:00.000Z",
    local: "2026-02-12 10:00 UTC",
    priority: "yellow",
    text: `text of ${id}`,
    sources: [2],
    ...fields,
  };
}

function ledgerOf(observations: Observation[], closes: string[] = []): LedgerRecord[] {
  return [{ kind: "observed", observations, closes, coversTo: 2, covers: "2", by: "rules" }];
}

function randomItems(random: Random): Observation[] {
  return Array.from({ length: random.integer(1, 120) }, (_, index) =>
    item(`${index}`.padStart(5, "0").concat("x"), {
      priority: random.pick(["red", "yellow", "green"] as const),
      text: random.pick([
        "same words",
        `fact ${random.integer(0, 20)} ${"word ".repeat(random.integer(1, 60))}`,
      ]),
      sources: [index + 2],
      ...(random.chance(0.2) ? { subject: `run ${random.integer(0, 3)}` } : {}),
      ...(random.chance(0.3) ? { thread: true as const } : {}),
    }),
  );
}

function context(records: LedgerRecord[], settings: Partial<ReturnType<typeof observing>["settings"]> = {}) {
  const base = observing([], { records });
  return { ...base, settings: { ...base.settings, ...settings } };
}

/** Reflects by rule on a copy of a ledger, and returns the record that was made. */
async function reflectedBy(
  ledger: readonly LedgerRecord[],
  limit: number,
  focus?: string,
): Promise<ReflectedRecord> {
  const made: LedgerRecord[] = [];
  await reflect({
    ...context([...ledger], { reflectorTokens: limit }),
    append: (record) => void made.push(record),
    force: true,
    focus,
  });
  return made[0] as ReflectedRecord;
}

test("reflection by rule never grows, never empties, drops nothing open, and keeps order", async () => {
  const random = seeded(fuzzSeed("reflection by rule"));
  for (let round = 0; round < 150 * SOAK; round++) {
    const items = randomItems(random);
    const closed = items.filter(() => random.chance(0.5)).map(({ id }) => id);
    const ledger = ledgerOf(items, closed);
    const memory = foldLedger(ledger);
    const record = await reflectedBy(ledger, random.integer(1, 4000), random.pick([undefined, "fact 3"]));
    const after = foldLedger([...ledger, record]);
    expect(after.observations.length).toBeGreaterThan(0);
    expect(observationTokens(after.observations)).toBeLessThanOrEqual(observationTokens(memory.observations));
    expect(observationTokens(after.observations)).toBe(record.tokens);
    const kept = new Set(after.observations.map(({ id }) => id));
    const isKept = (wanted: Observation) =>
      items.some(
        ({ id, text, priority, thread }, i) =>
          kept.has(id) &&
          i >= items.indexOf(wanted) &&
          text === wanted.text &&
          priority === wanted.priority &&
          thread === wanted.thread,
      );
    for (const observation of items) if (isOpen(observation, memory)) expect(isKept(observation)).toBe(true);
    expect(after.observations).toEqual(items.filter(({ id }) => kept.has(id)));
  }
});

test("an open request and a decision that were said twice stay once, the later ones", async () => {
  const items = [
    item("aaaaaa", { priority: "red", text: 'Request: "fix the login test"', thread: true }),
    item("bbbbbb", { priority: "red", text: 'Decision: "keep the timeout"' }),
    item("cccccc", { priority: "red", text: 'Request: "fix the login test"', thread: true, sources: [9] }),
    item("dddddd", { priority: "red", text: 'decision:  "keep the timeout"', sources: [11] }),
    item("eeeeee", { priority: "yellow", text: "Asked: which port?", thread: true }),
    item("ffffff", { priority: "yellow", text: "Asked: which port?", thread: true, sources: [13] }),
    // done once and asked again: open
    item("gggggg", { priority: "red", text: 'Request: "run the tests"', thread: true }),
    item("hhhhhh", { priority: "red", text: 'Request: "run the tests"', thread: true, sources: [15] }),
    // asked twice and done the second time: the first is not known to be done
    item("iiiiii", { priority: "red", text: 'Request: "deploy it"', thread: true }),
    item("jjjjjj", { priority: "red", text: 'Request: "deploy it"', thread: true, sources: [17] }),
  ];
  const { dropped } = await reflectedBy(ledgerOf(items, ["gggggg", "jjjjjj"]), 100_000);
  expect([...dropped].sort()).toEqual(["aaaaaa", "bbbbbb", "eeeeee", "gggggg"]);
});

test("repeats and superseded states go, the latest stays", async () => {
  const items = [
    item("aaaaaa", { text: "the port is 8080" }),
    item("bbbbbb", { text: "`bun test` failed: 1 fail", subject: "run bun test" }),
    item("cccccc", { text: "The port  is 8080" }),
    item("dddddd", { text: "✅ `bun test` failed: x; then it passed", subject: "run bun test" }),
  ];
  expect((await reflectedBy(ledgerOf(items), 40_000)).dropped).toEqual(["aaaaaa", "bbbbbb"]);
});

test("what the focus names is kept before what is newer", async () => {
  const items = Array.from({ length: 40 }, (_, index) =>
    item(`id${1000 + index}`, {
      text: `${index === 0 ? "the deploy key" : "note"} ${index} ${"word ".repeat(20)}`,
    }),
  );
  expect((await reflectedBy(ledgerOf(items), 1000)).dropped).toContain("id1000");
  expect((await reflectedBy(ledgerOf(items), 1000, "Deploy")).dropped).not.toContain("id1000");
});

test("observations that cannot shrink below the limit are reflected on again only after growing", async () => {
  const open = Array.from({ length: 40 }, (_, index) =>
    item(`id${1000 + index}`, { priority: "red", text: `wish ${index} ${"word ".repeat(20)}` }),
  );
  const records = ledgerOf(open);
  const limit = 500;
  expect(isReflectionDue(foldLedger(records), limit)).toBe(true);
  await reflect(context(records, { reflectorTokens: limit }));
  expect(isReflectionDue(foldLedger(records), limit)).toBe(false);
  records.push(...ledgerOf([item("zzzzzz", { text: "one more" })]));
  expect(isReflectionDue(foldLedger(records), limit)).toBe(false);
  records.push(
    ...ledgerOf(
      open.slice(0, 8).map((observation) => ({ ...observation, id: `n${observation.id.slice(1)}` })),
    ),
  );
  expect(isReflectionDue(foldLedger(records), limit)).toBe(true);
});

const TURNS: Turn[] = [
  ["user", "never push to main"],
  ["user", "fix the login"],
  ["edit", "src/a.ts"],
  ["assistant", "The cause was a stale cache on 2026-02-11."],
  ["user", "now the docs"],
  ["edit", "README.md"],
  ["assistant", "The docs are updated with the new login flow."],
];

async function reflectable(): Promise<{ records: LedgerRecord[]; items: Observation[]; open: string[] }> {
  const records: LedgerRecord[] = [];
  await observe(observing(conversation(TURNS), { records }));
  const memory = foldLedger(records);
  const open = memory.observations.filter((observation) => isOpen(observation, memory)).map(({ id }) => id);
  return { records, items: observationsOf(records), open };
}

test("a model's reflection is taken when it keeps what is open and is smaller", async () => {
  const { records, items, open } = await reflectable();
  const others = items.filter(({ id }) => !open.includes(id));
  const complete = answering({
    observations: [
      ...open.map((id) => ({
        ids: [id],
        priority: "red",
        text: "ignored: what is open stays word for word",
      })),
      {
        ids: others.map(({ id }) => id),
        priority: "🟡",
        text: "✅ Login fixed (stale cache, 2026-02-11), docs updated",
      },
    ],
  });
  const outcome = await reflect({ ...context(records), complete, force: true, focus: "login" });
  expect(outcome.by).toBe("fake-1");
  const after = foldLedger(records);
  expect(after.observations.map(({ text }) => text)).toEqual([
    "User: never push to main",
    "✅ Login fixed (stale cache, 2026-02-11), docs updated",
    "User: now the docs",
  ]);
  expect(outcome.tokens.after).toBe(observationTokens(after.observations));
  expect(after.observations[1]?.sources.length).toBe(new Set(others.flatMap(({ sources }) => sources)).size);
  const again = await reflect({ ...context(records), complete, force: true, focus: "login" });
  expect(again.note).toBe("nothing is new since the last reflection");
  expect(complete.requests).toHaveLength(1);
  expect(complete.requests[0]?.prompt).toContain("Keep with particular care what concerns: login");
});

type Answer = (state: { items: Observation[]; open: string[] }) => unknown;

const refused: [string, Answer, RegExp][] = [
  ["nothing kept", () => [], /it kept nothing/],
  [
    "an open 🔴 dropped",
    ({ items, open }) =>
      items.filter(({ id }) => id !== open[0]).map(({ id, text }) => ({ ids: [id], priority: "red", text })),
    /dropped 1 open/,
  ],
  [
    "an invented id",
    ({ open }) => [
      ...open.map((id) => ({ ids: [id], priority: "red", text: "x" })),
      { ids: ["qqqqqq"], priority: "red", text: "y" },
    ],
    /invented the id qqqqqq/,
  ],
  [
    "an invented date",
    ({ items, open }) => [
      ...open.map((id) => ({ ids: [id], priority: "red", text: "x" })),
      {
        ids: items.filter(({ id }) => !open.includes(id)).map(({ id }) => id),
        priority: "yellow",
        text: "done on 2026-03-01",
      },
    ],
    /invented a date/,
  ],
  [
    "no smaller",
    ({ items }) => items.map(({ id, priority, text }) => ({ ids: [id], priority, text })),
    /no smaller/,
  ],
  [
    "a line without an end",
    ({ open }) => [{ ids: open, priority: "red", text: "and so on and on ".repeat(60) }],
    /too long/,
  ],
];

test.each(refused)("a model's reflection with %s is not taken", async (_, answer, reason) => {
  const { records, items, open } = await reflectable();
  const before = foldLedger(records).observations.map(observationLine);
  const complete = answering({ observations: answer({ items, open }) });
  const outcome = await reflect({ ...context(records), complete, force: true });
  expect(outcome.note).toMatch(reason);
  expect(foldLedger(records).observations.map(observationLine)).toEqual(before);
});

test("a model that fails leaves the reflection by rule", async () => {
  const { records } = await reflectable();
  const failure = new SessionMemoryError("MODEL_FAILED", "Cannot ask the model: gone");
  const outcome = await reflect({ ...context(records), complete: answering(failure), force: true });
  expect(outcome.note).toBe("the model's reflection failed: Cannot ask the model: gone");
  expect(records.at(-1)).toMatchObject({ kind: "reflected", by: "rules" });
});

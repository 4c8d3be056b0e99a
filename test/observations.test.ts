import { expect, test } from "bun:test";
import { parseLedgerRecord } from "../lib/observe/ledger.ts";
import {
  type Draft,
  foldLedger,
  isOpen,
  type LedgerRecord,
  nameDrafts,
  type Observation,
  openThreads,
} from "../lib/observe/observations.ts";
import { observe } from "../lib/observe/observe.ts";
import { conversation, observing, randomTurn } from "./support/conversation.ts";
import { fuzzSeed, seeded } from "./support/random.ts";

function observation(id: string, fields: Partial<Observation> = {}): Observation {
  return {
    id,
    at: "2026-02-12T13:30:05.000Z",
    local: "2026-02-12 14:30 Europe/Berlin",
    priority: "yellow",
    text: `what ${id} says`,
    sources: [3],
    ...fields,
  };
}

function observed(
  observations: Observation[],
  fields: Partial<Extract<LedgerRecord, { kind: "observed" }>> = {},
): LedgerRecord {
  return { kind: "observed", observations, coversTo: 9, covers: "2-9", by: "rules", ...fields };
}

test("drops are tombstones: what is dropped is gone from the memory and stays in its history", () => {
  const memory = foldLedger([
    observed([observation("aaaaaa"), observation("bbbbbb")]),
    { kind: "dropped", ids: ["aaaaaa"], reason: "" },
  ]);
  expect(memory.observations.map(({ id }) => id)).toEqual(["bbbbbb"]);
  expect([...memory.history.keys()]).toEqual(["aaaaaa", "bbbbbb"]);
});

test("observing a dropped observation again brings it back", () => {
  const memory = foldLedger([
    observed([observation("aaaaaa")]),
    { kind: "dropped", ids: ["aaaaaa"], reason: "branch left" },
    observed([observation("aaaaaa")], { covers: "" }),
  ]);
  expect(memory.observations.map(({ id }) => id)).toEqual(["aaaaaa"]);
  expect(memory.left.size).toBe(0);
});

test("dropping all begins anew: nothing is covered, and recall still finds what was", () => {
  const memory = foldLedger([
    observed([observation("aaaaaa")], { files: { read: ["a"], modified: ["b"] }, closes: ["aaaaaa"] }),
    { kind: "dropped", ids: "all", reason: "rebuild" },
  ]);
  expect(memory.observations).toEqual([]);
  expect(memory.covered.size).toBe(0);
  expect(memory.coversTo).toBe(0);
  expect(memory.files.modified.size).toBe(0);
  expect(memory.history.has("aaaaaa")).toBe(true);
});

test("reflection takes out and puts in, and what is put in stands where it happened", () => {
  const memory = foldLedger([
    observed([
      observation("aaaaaa", { sources: [2] }),
      observation("bbbbbb", { sources: [5] }),
      observation("cccccc", { sources: [8] }),
    ]),
    {
      kind: "reflected",
      observations: [observation("dddddd", { sources: [5, 6] })],
      dropped: ["bbbbbb"],
      basis: "x",
      tokens: 10,
      by: "fake-1",
    },
  ]);
  expect(memory.observations.map(({ id }) => id)).toEqual(["aaaaaa", "dddddd", "cccccc"]);
  expect(memory.reflected).toEqual({ basis: "x", tokens: 10 });
});

test("a request is open until it is closed; what lays down a rule stays open", () => {
  const request = observation("aaaaaa", { priority: "red", thread: true });
  const rule = observation("bbbbbb", { priority: "red", thread: true, rule: true });
  const done = observation("cccccc", { priority: "red", text: "✅ deployed" });
  const before = foldLedger([observed([request, rule, done])]);
  expect(openThreads(before).map(({ id }) => id)).toEqual(["aaaaaa", "bbbbbb"]);
  expect(isOpen(done, before)).toBe(false);
  const after = foldLedger([
    observed([request, rule, done]),
    observed([], { closes: ["aaaaaa", "bbbbbb"], covers: "" }),
  ]);
  expect(openThreads(after)).toEqual([]);
  expect([isOpen(request, after), isOpen(rule, after)]).toEqual([false, true]);
});

test("the same drafts get the same ids, and a taken id moves on", () => {
  const drafts: Draft[] = [
    { at: null, priority: "red", text: "User: hi", sources: [2] },
    { at: "2026-07-01T12:00:00.000Z", priority: "green", text: "Ran x", sources: [3] },
  ];
  const options = { taken: new Map<string, Observation>(), timezone: "Australia/Melbourne" };
  const first = nameDrafts(drafts, options);
  expect(nameDrafts(drafts, options)).toEqual(first);
  expect(first[0]?.local).toBeUndefined();
  expect(first[1]?.local).toBe("2026-07-01 22:00 Australia/Melbourne");
  for (const { id } of first) expect(id).toMatch(/^(?=.*[a-z])[a-z0-9]{6}$/);
  const other = observation(first[0]?.id ?? "");
  const moved = nameDrafts(drafts, { ...options, taken: new Map([[other.id, other]]) });
  expect(moved[0]?.id).not.toBe(other.id);
  expect(moved[1]).toEqual(first[1] as Observation);
});

test("a record written and read back is the same record", async () => {
  const random = seeded(fuzzSeed("ledger records"));
  const records: LedgerRecord[] = [];
  await observe(
    observing(conversation(Array.from({ length: 20 }, () => randomTurn(random)).flat()), {
      records,
      rowIds: true,
    }),
  );
  records.push({ kind: "dropped", ids: "all", reason: "rebuild" });
  records.push({
    kind: "reflected",
    observations: [observation("eeeeee")],
    dropped: ["a"],
    basis: "b",
    tokens: 3,
    by: "m",
    focus: "f",
  });
  for (const record of records) expect(parseLedgerRecord(JSON.parse(JSON.stringify(record)))).toEqual(record);
});

test.each([
  ["nothing", null],
  ["a list", []],
  ["an unknown kind", { kind: "merged", observations: [] }],
  ["no place", { kind: "observed", observations: [], covers: "1" }],
  ["a place that is no number", { kind: "observed", observations: [], coversTo: "9" }],
])("%s is no record", (_, value) => {
  expect(parseLedgerRecord(value)).toBeUndefined();
});

test("observations of a wrong shape are left out of a record", () => {
  const record = parseLedgerRecord({
    kind: "observed",
    coversTo: 4,
    observations: [
      { id: "aaaaaa", text: "x", priority: "purple" },
      { id: "bbbbbb", text: "y", priority: "red", sources: [1, "2"] },
      7,
    ],
  });
  expect(record).toEqual({
    kind: "observed",
    coversTo: 4,
    covers: "",
    by: "",
    observations: [{ id: "bbbbbb", at: null, priority: "red", text: "y", sources: [1] }],
  });
});

test("the same conversation gives the same ledger, byte for byte", async () => {
  const seed = fuzzSeed("same ledger");
  const run = async () => {
    const random = seeded(seed);
    const records: LedgerRecord[] = [];
    await observe(
      observing(conversation(Array.from({ length: 30 }, () => randomTurn(random)).flat()), { records }),
    );
    return JSON.stringify(records);
  };
  expect(await run()).toBe(await run());
});

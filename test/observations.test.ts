import { expect, test } from "bun:test";
import { parseLedgerRecord } from "../lib/observe/ledger.ts";
import type { LedgerRecord, Observation } from "../lib/observe/observations.ts";
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

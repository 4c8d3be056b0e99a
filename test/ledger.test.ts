import { expect, setSystemTime, test } from "bun:test";
import { appendFileSync, existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { defaultSettings } from "../lib/config/config.ts";
import type { Session } from "../lib/hosts/session.ts";
import {
  appendLedgerFile,
  LEDGER_ENTRY_TYPE,
  ledgerFile,
  readBackoff,
  readLedger,
  readLedgerFile,
} from "../lib/observe/ledger.ts";
import { foldLedger, type LedgerRecord } from "../lib/observe/observations.ts";
import { observeSession, readSessionMemory } from "../lib/observe/observe-session.ts";
import { ownRules } from "../lib/transcripts/rules.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { answering, linesOf, observationsOf } from "./support/conversation.ts";
import { readActiveBranch } from "./support/entries.ts";
import { homePerTest, temporaryHome, writeClaude, writePi } from "./support/home.ts";
import { PI_SESSION, piAssistant, piHeader, piUser } from "./support/pi.ts";
import { fuzzSeed, SOAK, seeded } from "./support/random.ts";
import { jsonl, type Row } from "./support/rows.ts";
import { ROOT, runCommand } from "./support/run.ts";

const home = homePerTest();

const RECORD: LedgerRecord = {
  kind: "observed",
  observations: [{ id: "aaaaaa", at: null, priority: "red", text: "User: größe 🔴", sources: [2] }],
  coversTo: 2,
  covers: "2",
  by: "rules",
};

function sessionOf(agent: Session["agent"], file: string, id = basename(file, ".jsonl")): Session {
  const at = "2026-02-03T14:30:00.000Z";
  return { id, agent, file, updatedAt: at, modifiedAt: at, size: 0 };
}

function claudeRows(count: number): Row[] {
  return Array.from({ length: count }, (_, index) => [
    claudeUser({
      text: `request number ${index}: ${"please ".repeat(300)}`,
      at: new Date(Date.UTC(2026, 1, 3, 14, index)).toISOString(),
    }),
    claudeAssistant({
      text: `done with number ${index}`,
      at: new Date(Date.UTC(2026, 1, 3, 14, index, 30)).toISOString(),
    }),
  ]).flat(2);
}

test("a torn tail is not read, costs no later record, and is counted", () => {
  const random = seeded(fuzzSeed("torn ledger"));
  const line = Buffer.from(`${JSON.stringify(RECORD)}\n`);
  for (let round = 0; round < 15 * SOAK; round++) {
    using home = temporaryHome();
    const file = ledgerFile(home.paths, "s1");
    appendLedgerFile(file, RECORD);
    const cut = random.integer(1, line.length - 1);
    appendFileSync(file, line.subarray(0, cut));
    expect(readLedgerFile(file)).toEqual({ records: [RECORD], skipped: 0 });
    appendLedgerFile(file, { ...RECORD, covers: "3" });
    const { records, skipped } = readLedgerFile(file);
    // Only the newline was missing: then the record was whole.
    const isWhole = cut === line.length - 1;
    expect(records).toEqual(
      isWhole ? [RECORD, RECORD, { ...RECORD, covers: "3" }] : [RECORD, { ...RECORD, covers: "3" }],
    );
    expect(skipped).toBe(isWhole ? 0 : 1);
  }
});

test("records are read back as they were written; what is none, or an observation of another shape, is left out", () => {
  const file = ledgerFile(home.paths, "s1");
  const [first] = RECORD.observations;
  const records = [
    { ...RECORD, coversToId: "row2", closes: ["bbbbbb"], files: { read: ["a.ts"], modified: [] } },
    { kind: "dropped", ids: "all", reason: "rebuild" },
    { kind: "reflected", observations: [first], dropped: ["a"], tokens: 3, by: "m", focus: "f" },
  ] as LedgerRecord[];
  for (const record of records) appendLedgerFile(file, record);
  const odd = [
    null,
    [],
    { kind: "merged" },
    { kind: "observed", covers: "1" },
    { kind: "observed", coversTo: "9" },
  ];
  const shapes = [{ ...first, priority: "purple" }, { ...first, sources: [2, "3"] }, 7];
  for (const value of [...odd, { ...RECORD, observations: shapes }])
    appendFileSync(file, jsonl([value as Row]));
  expect(readLedgerFile(file)).toEqual({ records: [...records, RECORD], skipped: odd.length });
});

test.each([
  ["../../etc/passwd", "=2E.=2F..=2Fetc=2Fpasswd"],
  [".hidden", "=2Ehidden"],
  ["a/b\\c", "a=2Fb=5Cc"],
  ["01a1f9c6-fd51", "01a1f9c6-fd51"],
  ["größe", "gr=C3=B6=C3=9Fe"],
])("the ledger of a session with the id %j stays in its folder", (id, stem) => {
  expect(ledgerFile(home.paths, id)).toBe(join(home.paths.observations, `${stem}.jsonl`));
});

test("two observers at once on one session lose and double nothing", async () => {
  const file = writeClaude(home, { id: "11111111-1111-4111-8111-111111111111", rows: claudeRows(60) });
  const script = join(home.root, "observer.ts");
  writeFileSync(
    script,
    `import { loadConfig } from ${JSON.stringify(join(ROOT, "lib/config/config.ts"))};
import { observeSession } from ${JSON.stringify(join(ROOT, "lib/observe/observe-session.ts"))};
const { paths, settings } = await loadConfig(process.env, "/");
const session = ${JSON.stringify(sessionOf("claude", file))};
for (let i = 0; i < 5; i++) await observeSession(session, { paths, settings, when: "all", waitMs: 20000 });`,
  );
  const runs = await Promise.all(
    [1, 2, 3].map(() => runCommand([process.execPath, script], { env: home.env })),
  );
  expect(runs.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual([1, 2, 3].map(() => [0, ""]));
  const { records, skipped } = readLedgerFile(ledgerFile(home.paths, sessionOf("claude", file).id));
  expect(skipped).toBe(0);
  const covers = records.flatMap((record) => (record.kind === "observed" ? record.covers.split(",") : []));
  expect(new Set(covers).size).toBe(covers.length);
  const said = linesOf(observationsOf(records)).filter((line) => line.includes("request number"));
  expect(said).toHaveLength(60);
  expect(existsSync(`${ledgerFile(home.paths, sessionOf("claude", file).id)}.lock`)).toBe(false);
});

test("after failures an observer in the background waits, longer each time, and by hand it may try at once", async () => {
  const file = writeClaude(home, { rows: claudeRows(60) });
  const session = sessionOf("claude", file);
  let now = Date.UTC(2026, 1, 3);
  const complete = answering({ observations: [] });
  const context = {
    paths: home.paths,
    settings: defaultSettings(),
    complete,
    when: "due" as const,
  };
  const statuses: string[] = [];
  // Half a day of turns every four minutes.
  for (let turn = 0; turn < 180; turn++, now += 240_000) {
    setSystemTime(now);
    statuses.push((await observeSession(session, context)).status);
  }
  expect(statuses.filter((status) => status === "failed")).toHaveLength(10);
  expect(new Set(statuses)).toEqual(new Set(["failed", "backing-off"]));
  expect(complete.requests).toHaveLength(10);
  expect(readBackoff(home.paths, session.id)).toMatchObject({ failures: 10, reason: "it observed nothing" });
  expect(readLedgerFile(ledgerFile(home.paths, session.id)).records).toEqual([]);
  const byHand = await observeSession(session, { ...context, complete: undefined, when: "all" });
  expect(byHand.status).toBe("observed");
  expect(readBackoff(home.paths, session.id)).toBeUndefined();
  setSystemTime();
});

test("an observation that was paid for and cannot be kept is not paid for again at the next turn", async () => {
  const session = sessionOf("claude", writeClaude(home, { rows: claudeRows(60) }));
  const answer = answering({ observations: [{ priority: "red", text: "asked", sources: [1] }] });
  const complete = async (request: Parameters<typeof answer>[0]) => {
    // in the place of the ledger's file, as a disk that takes nothing any more
    mkdirSync(ledgerFile(home.paths, session.id), { recursive: true });
    return answer(request);
  };
  const context = {
    paths: home.paths,
    settings: defaultSettings(),
    complete: complete as typeof answer,
    when: "due" as const,
  };
  await expect(observeSession(session, context)).rejects.toThrow();
  rmdirSync(ledgerFile(home.paths, session.id));
  expect((await observeSession(session, context)).status).toBe("backing-off");
  expect(answer.requests).toHaveLength(1);
});

/** A pi session: a trunk, and two branches that each have a ledger record of their own. */
function branchedPi(live: "left" | "right"): Row[] {
  const record = (id: string, text: string, line: number): Row => ({
    type: "custom",
    id,
    timestamp: "2026-02-03T14:31:00.000Z",
    customType: LEDGER_ENTRY_TYPE,
    data: {
      kind: "observed",
      observations: [
        {
          id: `${id}xx`,
          at: null,
          priority: "red",
          text,
          sources: [line],
          sourceIds: [line === 2 ? "u1" : `u-${id}`],
        },
      ],
      coversTo: line,
      coversToId: line === 2 ? "u1" : `u-${id}`,
      covers: String(line),
      by: "fake",
    },
  });
  const left = [
    piUser({ id: "u-left", parentId: "k0", text: "left" }),
    { ...record("left", "went left", 4), parentId: "u-left" },
  ];
  const right = [
    piUser({ id: "u-rite", parentId: "k0", text: "right" }),
    { ...record("rite", "went right", 6), parentId: "u-rite" },
  ];
  return [
    piHeader(),
    piUser({ id: "u1", parentId: null, text: "trunk" }),
    { ...record("k0", "the trunk", 2), parentId: "u1" },
    ...left,
    ...right,
    piAssistant({ id: "last", parentId: live === "left" ? "left" : "rite", text: "ok" }),
  ];
}

test.each([
  ["left", ["the trunk", "went left"]],
  ["right", ["the trunk", "went right"]],
] as const)("a pi session's ledger is that of its active branch: %s", (live, texts) => {
  using home = temporaryHome();
  const session = sessionOf("pi", writePi(home, { rows: branchedPi(live) }), PI_SESSION);
  const { entries, ledger } = readSessionMemory(session, { paths: home.paths, settings: defaultSettings() });
  expect(foldLedger(ledger).observations.map(({ text }) => text)).toEqual([...texts]);
  expect(entries.map(({ text }) => text)).toEqual(["trunk", live, "ok"]);
});

test("a pi session observed by hand goes on where its own records end, and counts nothing twice", async () => {
  const session = sessionOf("pi", writePi(home, { rows: branchedPi("right") }), PI_SESSION);
  const context = { paths: home.paths, settings: defaultSettings(), when: "all" as const };
  await observeSession(session, context);
  const texts = () =>
    foldLedger(readSessionMemory(session, context).ledger).observations.map(({ text }) => text);
  expect(texts()).toEqual(["the trunk", "went right"]);
  expect((await observeSession(session, context)).observed?.steps).toBe(0);
});

test("a fork's ledger stands on the fork's own lines", () => {
  const rows = branchedPi("right").filter(({ id }) => id !== "u-left" && id !== "left");
  const session = sessionOf("pi", writePi(home, { rows }), PI_SESSION);
  const entries = readActiveBranch(session.file, { results: true });
  const { ledger } = readLedger(session, { paths: home.paths, rules: ownRules(), entries });
  const memory = foldLedger(ledger);
  expect(memory.coversTo).toBe(4);
  expect(memory.observations.map(({ sources }) => sources)).toEqual([[2], [4]]);
  expect(entries.filter(({ line }) => !memory.covered.has(line)).map(({ text }) => text)).toEqual(["ok"]);
});

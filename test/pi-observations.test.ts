import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { registerObservationCommands } from "../hooks/pi/commands.ts";
import { registerObservations } from "../hooks/pi/observations.ts";
import { exclusively } from "../hooks/pi/state.ts";
import { estimateTokens } from "../lib/language/tokens.ts";
import { readBackoff } from "../lib/observe/ledger.ts";
import { readSessionMemory } from "../lib/observe/observe-session.ts";
import { setObserving } from "../lib/observe/set-observing.ts";
import { sessionAt } from "../lib/sessions/sessions.ts";
import { temporaryHome } from "./support/home.ts";
import { PI_SESSION, piAssistant, piEntry, piHeader, piLinked, piUser } from "./support/pi.ts";
import { type PiHost, type PiHostOptions, piHost } from "./support/pi-host.ts";
import type { Row } from "./support/rows.ts";

const WORDS = "The deploy notes say more about it. ".repeat(68);
const MODEL = {
  modelKeys: ["active"],
  observe: { observerTokens: 100_000, retainTokens: 0, stepTokens: 600 },
};

function turn(name: string): Row[] {
  return [
    piUser({ id: `u-${name}`, text: `${name}: keep port 8443. ${WORDS}` }),
    piAssistant({ id: `a-${name}`, text: `Kept for ${name}.` }),
  ];
}

function turns(...names: string[]): Row[] {
  return piLinked([piHeader(), ...names.flatMap(turn)]);
}

/** What a model says of the first line it is given. */
function observed(prompt: string): object {
  const line = Number(/<new-conversation>\\n\[(\d+)\]/.exec(prompt)?.[1]);
  return { observations: [{ priority: "red", text: `The port of line ${line} stays`, sources: [line] }] };
}

async function observingHost(options: PiHostOptions) {
  const home = temporaryHome();
  const host = await piHost(home, options);
  registerObservations(host.state);
  return Object.assign(host, { home, [Symbol.dispose]: () => home.remove() });
}

/** The event of a compaction that keeps the rows from `firstKept` on. */
function compaction(
  host: PiHost,
  { rows, firstKept, signal }: { rows: Row[]; firstKept: string; signal?: AbortSignal },
) {
  const branchEntries = rows.slice(1).map((row) => ({ ...row, id: String(row.id) }));
  const preparation = {
    firstKeptEntryId: firstKept,
    tokensBefore: 5000,
    messagesToSummarize: [1],
    turnPrefixMessages: [],
  };
  return host.emit("session_before_compact", { preparation, branchEntries, ...(signal ? { signal } : {}) });
}

function covers({ file, config, state }: PiHost, leafId?: string) {
  const session = sessionAt(file);
  if (!session) throw new Error("no session");
  const { ledger } = readSessionMemory(session, {
    paths: state.config.paths,
    settings: config.settings,
    leafId,
  });
  return ledger.flatMap((record) => (record.kind === "observed" ? [record.covers] : []));
}

test("a compaction waits for the step under way, and nothing is observed twice", async () => {
  const rows = turns("one", "two", "three");
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  using host = await observingHost({
    rows,
    config: MODEL,
    answer: async (prompt) => {
      await held;
      return observed(prompt);
    },
  });
  await host.emit("agent_settled");
  while (host.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const given = compaction(host, { rows, firstKept: "u-three" });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(host.asked).toHaveLength(1);
  release();
  const { compaction: made } = (await given) as { compaction: { summary: string } };
  expect(made.summary).toContain("The port of line 2 stays");
  expect(made.summary).toContain("The port of line 4 stays");
  await host.settled();
  expect(covers(host)).toEqual(["2-3", "4-5"]);
  expect(host.asked).toHaveLength(2);
});

test("a compaction that is called off does not wait for the step under way", async () => {
  const rows = turns("one", "two");
  using host = await observingHost({ rows, config: MODEL });
  const abort = new AbortController();
  let leave = () => {};
  const busy = exclusively(host.state, () => new Promise<void>((resolve) => (leave = resolve)));
  const given = compaction(host, { rows, firstKept: "u-two", signal: abort.signal });
  abort.abort();
  expect(await given).toBeUndefined();
  leave();
  await busy;
  expect(await compaction(host, { rows, firstKept: "u-two", signal: abort.signal })).toBeUndefined();
  expect(host.asked).toEqual([]);
});

test("a model that fails backs off, is told of without the key that it quotes, and asks for no early compaction", async () => {
  const key = `sk-proj-${"a1B2c3D4".repeat(6)}`;
  using host = await observingHost({
    rows: turns("one", "two"),
    config: { ...MODEL, observe: { ...MODEL.observe, observerTokens: 500 } },
    answer: async () => {
      throw new Error(`Incorrect API key provided: ${key}`);
    },
  });
  const { paths } = host.config;
  await host.emit("agent_settled");
  await host.settled();
  const reason = 'Cannot get an answer from "fake-1": Incorrect API key provided: [redacted:';
  expect(host.statuses.slice(1)).toEqual([
    ["session-index-observations", expect.stringContaining(`observing failed: ${reason}`)],
  ]);
  expect(readBackoff(paths, PI_SESSION)).toMatchObject({
    failures: 1,
    reason: expect.stringContaining(reason),
  });
  expect(readFileSync(paths.state).includes(key)).toBe(false);
  const { length } = host.asked;
  host.add([...turn("three"), ...turn("four")]);
  await host.emit("agent_settled");
  await host.settled();
  expect([host.asked.length, host.compactions]).toEqual([length, 0]);
});

test("mode, switch and thresholds set at run time hold from the next turn on", async () => {
  using host = await observingHost({
    rows: turns("one", "two"),
    config: MODEL,
    answer: async (prompt) => observed(prompt),
  });
  const asks = async (changes: Record<string, string>) => {
    await setObserving(host.config.paths, changes);
    await host.emit("agent_settled");
    await host.settled();
    return host.asked.length > 0;
  };
  expect(await asks({ mode: "blocking" })).toBe(false);
  expect(await asks({ mode: "buffered", auto: "off" })).toBe(false);
  expect(await asks({ auto: "on", stepTokens: "90000" })).toBe(false);
  expect(await asks({ stepTokens: "600" })).toBe(true);
});

describe("a conversation that has grown to the threshold", () => {
  const observe = { observerTokens: 900, retainTokens: 200, stepTokens: 600 };
  const answer = async (prompt: string) => observed(prompt);
  const QUESTION = [
    "session-memory can compact a conversation at 1,100 tokens, before pi has to: observations replace what is older. From now on?",
    "Yes: at 1,100 tokens",
    "Only when pi compacts by itself",
    "Off: no observations either",
  ];

  /** What comes of two turns in a session, and of one in the next, where a person chooses so. */
  async function told(choose?: (title: string, choices: string[]) => Promise<string | undefined>) {
    using home = temporaryHome();
    const sessions = [];
    for (const turnsOfIt of [2, 1]) {
      const rows = turns("one", "two", "three");
      const config = sessions.length === 0 ? { config: { observe } } : {};
      const host = await piHost(home, { rows, answer, ...config, ...(choose ? { choose } : {}) });
      registerObservations(host.state);
      for (let turnOfIt = 0; turnOfIt < turnsOfIt; turnOfIt++) {
        host.add(turn(`more ${turnOfIt}`));
        await host.emit("agent_settled");
        await host.settled();
        await Bun.sleep(1); // the question is not waited for
      }
      const { compactions, questions } = host;
      sessions.push({ compactions, questions, isObserved: host.asked.length > 0 });
    }
    return sessions;
  }

  const choice = (at: number) => async (_: string, choices: string[]) => choices[at];

  test.each([
    ["is compacted early once a person agreed, who is not asked again", choice(0), [2, 1], [1, 0], true],
    [
      "is left to pi's own threshold where that is chosen, and still observed",
      choice(1),
      [0, 0],
      [1, 0],
      true,
    ],
    ["is no longer observed where off is chosen", choice(2), [0, 0], [1, 0], false],
    [
      "is asked about again in another session where it was dismissed",
      async () => undefined,
      [0, 0],
      [1, 1],
      true,
    ],
    ["is compacted where there is nobody to ask", undefined, [2, 1], [0, 0], true],
  ])("%s", async (_, choose, compactions, questions, isObserved) => {
    const expected = [0, 1].map((at) => ({
      compactions: compactions[at],
      questions: Array(questions[at]).fill(QUESTION),
      isObserved: at === 0 || isObserved,
    }));
    expect<object[]>(await told(choose)).toEqual(expected);
  });

  test("is compacted without a question after /obs-auto-compact on", async () => {
    using host = await observingHost({
      ...{ rows: turns("one", "two", "three"), config: { observe }, answer },
      choose: () => new Promise(() => {}),
    });
    registerObservationCommands(host.state);
    await host.command("obs-auto-compact", "on");
    await host.emit("agent_settled");
    await host.settled();
    expect([host.compactions, host.questions]).toEqual([1, []]);
  });
});

test("by default the session's own model observes, said once a session; none, or the switch, turns it off", async () => {
  const small = { retainTokens: 0, stepTokens: 600 };
  const answer = async (prompt: string) => observed(prompt);
  const asked = async (config: object, model?: null) => {
    using host = await observingHost({
      rows: turns("one", "two"),
      config,
      answer,
      ...(model === null ? { model } : {}),
    });
    await host.emit("session_start");
    await host.emit("agent_settled");
    await host.settled();
    await host.emit("agent_settled");
    await host.settled();
    return { asked: host.asked.length, said: host.statuses.filter(([key]) => key.endsWith("-observer")) };
  };
  expect(await asked({ observe: small })).toEqual({
    asked: 1,
    said: [
      [
        "session-index-observer",
        "observing with fake/fake-1, at most $1.00 a day · to switch it off: /obs-auto-compact off",
      ],
    ],
  });
  const nothing = { asked: 0, said: [] };
  expect(await asked({ observe: { ...small, model: "none" } })).toEqual(nothing);
  expect(await asked({ observe: { ...small, auto: false } })).toEqual(nothing);
  expect(await asked({ observe: small }, null)).toEqual(nothing);
});

test("a model that hangs holds a compaction no longer than observe.timeoutMs; what it observed before stands in", async () => {
  const rows = turns("one", "two", "three", "four");
  let calls = 0;
  const answer = (prompt: string) =>
    calls++ === 0 ? Promise.resolve(observed(prompt)) : new Promise<object>(() => {});
  const observe = { observerTokens: 100_000, retainTokens: 0, stepTokens: 600, timeoutMs: 300 };
  using host = await observingHost({ rows, config: { observe }, answer });
  await host.emit("agent_settled");
  while (host.asked.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  const { compaction: made } = (await compaction(host, { rows, firstKept: "u-four" })) as {
    compaction: { summary: string };
  };
  expect(made.summary).toContain("The port of line 2 stays");
  expect(made.summary).toContain("User: three: keep port 8443.");
  expect(host.statuses.map(([, text]) => text)).toContain("compaction: waiting for the observer");
  await host.settled();
});

test("a model that hangs before it observed anything leaves the summary to pi", async () => {
  const rows = turns("one", "two");
  const observe = { mode: "blocking", timeoutMs: 200 };
  using host = await observingHost({
    rows,
    config: { observe },
    answer: () => new Promise<object>(() => {}),
  });
  expect(await compaction(host, { rows, firstKept: "u-two" })).toBeUndefined();
  expect(host.statuses.map(([, text]) => text)).toContain("compaction: observing what is left");
});

test("a compaction whose details are of a later version is left alone", async () => {
  const rows = turns("one", "two");
  using host = await observingHost({ rows, config: MODEL, answer: async (prompt) => observed(prompt) });
  const later = { id: "c", type: "compaction", details: { schemaVersion: 99 } };
  expect(await compaction(host, { rows: rows.toSpliced(2, 0, later), firstKept: "u-two" })).toBeUndefined();
});

test("the first, the second and the tenth compaction come at the same number of raw tokens", async () => {
  const observe = { observerTokens: 30_000, retainTokens: 8000, stepTokens: 8000 };
  const long = "The deploy notes say more about the gateway and its port. ".repeat(100);
  const exchange = (n: number) => [
    piUser({ id: `u${n}`, text: `${n}: keep port 8443. ${long}` }),
    piAssistant({ id: `a${n}`, text: `Kept ${n}. ${long}` }),
  ];
  using host = await observingHost({
    rows: piLinked([piHeader(), ...exchange(0)]),
    config: { observe },
    answer: async (prompt) => observed(prompt),
  });
  const tokens = exchange(0).reduce(
    (sum, row) => sum + estimateTokens(JSON.stringify((row.message as Row)?.content)) + 4,
    0,
  );
  const raws: number[] = [];
  for (let [n, raw] = [1, 1]; raws.length < 10 && n < 200; n++) {
    host.add(exchange(n));
    raw++;
    const { compactions } = host;
    await host.emit("agent_settled");
    await host.settled();
    if (host.compactions === compactions) continue;
    raws.push(raw * tokens);
    // As pi does: the newest 20,000 tokens stay as they are.
    raw = Math.floor(20_000 / tokens);
    const firstKeptEntryId = `u${n - raw + 1}`;
    const summary = { summary: "s", firstKeptEntryId, tokensBefore: 38_000, fromHook: true };
    host.add([piEntry("compaction", { id: `c${n}`, ...summary })]);
    if (n % 3 === 0)
      host.add([piEntry("branch_summary", { id: `b${n}`, fromId: "x", summary: "another branch" })]);
  }
  expect(raws).toHaveLength(10);
  const isAmiss = (raw: number) => raw < 38_000 * 0.95 || raw - tokens > 38_000 * 1.05;
  expect(raws.filter(isAmiss)).toEqual([]);
}, 60_000);

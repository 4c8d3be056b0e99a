import { expect, test } from "bun:test";
import { defaultSettings } from "../lib/config/config.ts";
import type { LedgerRecord } from "../lib/observe/observations.ts";
import { observe } from "../lib/observe/observe.ts";
import { compactionSummary, isCompactionDue } from "../lib/observe/render-observations.ts";
import { answering, conversation, observing, randomTurn, type Turn } from "./support/conversation.ts";
import { seeded } from "./support/random.ts";

const TURNS: Turn[] = [
  ["user", "never push to main; fix the login test"],
  ["edit", "src/login.ts"],
  ["assistant", "Fixed."],
  ["user", "now the docs"],
  ["edit", "README.md"],
  ["assistant", "Written."],
];
const entries = conversation(TURNS);
/** From "now the docs" on. */
const KEPT = new Set(["row5", "row6", "row7"]);
const RULES = { ...defaultSettings().observe, rules: true };

function options(records: LedgerRecord[] = [], more = {}) {
  return { ...observing(entries, { records, ...more }), keptIds: KEPT };
}

test("an empty memory never replaces context (PR#39)", async () => {
  for (const complete of [undefined, answering({ observations: [] }), answering(new Error("stream error"))]) {
    const records: LedgerRecord[] = [];
    expect(await compactionSummary(options(records, { complete }))).toBeUndefined();
    expect(records).toEqual([]);
  }
  // Looked at and nothing found: covered, but nothing to put in its place.
  const calls = conversation([
    ["read", "a.ts"],
    ["read", "b.ts"],
  ]);
  expect(
    await compactionSummary({ ...observing(calls, { complete: answering({ observations: [] }) }) }),
  ).toBeUndefined();
});

test("without a model rules stand in only where the settings allow it", async () => {
  expect(await compactionSummary(options())).toBeUndefined();
  const byRule = await compactionSummary(options([], { settings: RULES }));
  expect(byRule?.summary).toContain("User: never push to main; fix the login test");
  const afterFailure = await compactionSummary(
    options([], { settings: RULES, complete: answering(new Error("gone")) }),
  );
  expect(afterFailure?.summary).toBe(byRule?.summary as string);
});

test("a summary that covers only a part is not given", async () => {
  const records: LedgerRecord[] = [];
  await observe(observing(entries.slice(0, 1), { records }));
  expect(await compactionSummary(options(records))).toBeUndefined();
});

test("a conversation that holds nothing of what is kept is not the one compacted: nothing is given", async () => {
  const given = await compactionSummary({
    ...options([], { settings: RULES }),
    keptIds: new Set(["elsewhere"]),
  });
  expect(given).toBeUndefined();
});

test("files add up over compactions, the host's own included", async () => {
  const previousSummary =
    "## Goal\n…\n\n<read-files>\nsrc/a.ts\n</read-files>\n\n<modified-files>\nsrc/b.ts\n</modified-files>";
  const given = await compactionSummary({ ...options([], { settings: RULES }), previousSummary });
  expect(given?.details).toMatchObject({
    readFiles: ["src/a.ts"],
    modifiedFiles: ["src/b.ts", "src/login.ts"],
  });
});

test("a branch that is left is summarised from where it forked", async () => {
  const given = await compactionSummary({ ...observing(entries, { settings: RULES }), afterLine: 4 });
  expect(given?.summary).toContain("User: now the docs");
  expect(given?.summary).not.toContain("login");
  expect(given?.details).toMatchObject({ modifiedFiles: ["README.md"] });
});

test("a host compacts early at observer and retained tokens, when buffered and on", () => {
  const settings = defaultSettings().observe;
  expect([37_999, 38_000].map((tokens) => isCompactionDue(tokens, settings))).toEqual([false, true]);
  expect(isCompactionDue(1e6, { ...settings, mode: "blocking" })).toBe(false);
  expect(isCompactionDue(1e6, { ...settings, auto: false })).toBe(false);
});

test("a backlog is waited for in blocking mode, in buffered mode only a short one is", async () => {
  const random = seeded(9);
  const long = conversation(Array.from({ length: 60 }, () => randomTurn(random)).flat());
  const cite = ({ prompt }: { prompt: string }) => {
    const line = Number(/<new-conversation>\n\[(\d+)\]/.exec(prompt)?.[1]);
    return { observations: [{ priority: "yellow", text: `something about ${line}`, sources: [line] }] };
  };
  const settings = { ...defaultSettings().observe, stepTokens: 1000 };
  const compact = async (mode: "buffered" | "blocking", records: LedgerRecord[]) => {
    const complete = answering(cite);
    const given = await compactionSummary(
      observing(long, { records, complete, settings: { ...settings, mode } }),
    );
    return { given: given !== undefined, calls: complete.requests.length };
  };
  const { given, calls } = await compact("blocking", []);
  expect([given, calls > 12]).toEqual([true, true]);
  const records: LedgerRecord[] = [];
  expect(await compact("buffered", records)).toEqual({ given: false, calls: 6 });
  // What was observed stands, so that the backlog is gone after a few more.
  expect(records).toHaveLength(6);
});

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { readRules } from "../lib/transcripts/rules.ts";
import type { Entry } from "../lib/transcripts/session.ts";
import { claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { readActiveBranch, readEntries, readLastEntries } from "./support/entries.ts";
import { temporaryHome, write } from "./support/home.ts";

const KEY = `ghp_${"a1B2c3D4e5F6g7H8i9J0".repeat(2).slice(0, 36)}`;
const OWN = "VIOLET-7731";

const rules = readRules({
  redact: { extra: ["VIOLET-\\d+"] },
  exclude: { sessions: [], projects: [], patterns: ["aubergine"] },
});

/** Texts of an entry, in one. */
function textsOf({ text, tool, patch }: Entry): string {
  return JSON.stringify({ text, tool, patch });
}

const secrets = `${KEY} and ${OWN}`;
const rows = [
  claudeUser({ text: `use ${secrets}` }),
  ...claudeAssistant({
    text: `with ${secrets}`,
    tools: [
      { name: "Bash", id: "t1", input: { command: `echo ${secrets}` } },
      { name: "Edit", id: "t2", input: { file_path: `/home/dev/${OWN}/a.ts` } },
    ],
  }),
  claudeToolResult({ toolUseId: "t1", content: `gave ${secrets}`, isError: true }),
];
const marked = "[redacted:github-token] and [redacted:custom]";

describe("entries of the reader", () => {
  test("are redacted in every text, forward, backward and along the active branch", () => {
    using home = temporaryHome();
    const file = write(join(home.root, "a.jsonl"), rows);
    const expected = [
      ["user", `use ${marked}`],
      ["assistant", `with ${marked}`],
      ["tool", `Bash echo ${marked}`],
      ["tool", "Edit /home/dev/[redacted:custom]/a.ts"],
      ["result", `gave ${marked}`],
    ];
    for (const entries of [
      [...readEntries(file, { rules, results: true })],
      readLastEntries(file, { rules, results: true, count: 10 }).entries,
      readActiveBranch(file, { rules, results: true }).entries,
    ]) {
      expect(entries.map(({ kind, text }) => [kind, text] as string[])).toEqual(expected);
      expect(entries[3]?.tool).toMatchObject({
        name: "Edit",
        target: "/home/dev/[redacted:custom]/a.ts",
        action: "edit",
        paths: ["/home/dev/[redacted:custom]/a.ts"],
      });
      expect(entries[4]).toMatchObject({ callId: "t1", isError: true });
      for (const entry of entries) {
        expect(textsOf({ ...entry })).not.toContain(KEY);
        expect(textsOf({ ...entry })).not.toContain(OWN);
      }
    }
  });

  test("an excluded prompt takes its answer with it, an excluded answer only itself", () => {
    using home = temporaryHome();
    const turn = (prompt: string, ...answers: string[]) => [
      claudeUser({ text: prompt }),
      ...answers.flatMap((text) => claudeAssistant({ text })),
    ];
    const file = write(join(home.root, "a.jsonl"), [
      ...turn("the aubergine plan", "as you like", "done"),
      ...turn("the shop", "aubergine it is", "sold"),
      ...turn("another aubergine", "well"),
      ...turn("last", "words"),
    ]);
    const seen = ["the shop", "sold", "last", "words"];
    expect([...readEntries(file, { rules })].map(({ text }) => text)).toEqual(seen);
    expect(readActiveBranch(file, { rules }).entries.map(({ text }) => text)).toEqual(seen);
    for (let count = 1; count <= 5; count++) {
      const { entries } = readLastEntries(file, { rules, count });
      expect(entries.map(({ text }) => text)).toEqual(seen.slice(-count));
    }
  });
});

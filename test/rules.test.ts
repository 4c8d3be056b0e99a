import { expect, test } from "bun:test";
import { join } from "node:path";
import { resolvePaths } from "../lib/config/config.ts";
import { readRules } from "../lib/transcripts/rules.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { readActiveBranch, readEntries, readLastEntries } from "./support/entries.ts";
import { temporaryHome, write } from "./support/home.ts";

const rules = readRules({
  ...resolvePaths({ HOME: "/nowhere" }),
  rules: { redact: { extra: [] }, exclude: { sessions: [], projects: [], patterns: ["aubergine"] } },
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
  expect(readActiveBranch(file, { rules }).map(({ text }) => text)).toEqual(seen);
  for (let count = 1; count <= 5; count++) {
    const { entries } = readLastEntries(file, { rules, count });
    expect(entries.map(({ text }) => text)).toEqual(seen.slice(-count));
  }
});

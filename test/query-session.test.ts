import { expect, test } from "bun:test";
import { checkCitations } from "../lib/naming/conversation.ts";
import { claudeUser } from "./support/claude.ts";
import { serverPerFile } from "./support/fake-openai.ts";
import { homePerTest, writeClaude } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";

const server = serverPerFile();
const home = homePerTest();

const lines = new Map([
  [1, "WAL, because readers must not block the hook"],
  [2, "yes"],
  [3, "端口是 8443，参见 a-b/c (x)"],
]);
const checks: [string, number, string, boolean][] = [
  ["the words themselves", 1, "because readers must not", true],
  ["other white space", 1, "because  readers\n must not", true],
  ["quotes and dots around it", 1, '"… readers must not block …"', true],
  ["words that stand in another line", 2, "because readers must not", false],
  ["a paraphrase", 1, "as readers should not block", false],
  ["a word that every line has", 1, "the", false],
  ["a short word that says something", 1, "WAL", true],
  ["a short word with its mark", 1, "WAL,", true],
  ["a number", 3, "8443", true],
  ["a word of a script without spaces", 3, "端口", true],
  ["signs as they stand", 3, "b/c (x)", true],
  ["signs alone that have a meaning elsewhere", 1, ".*", false],
  ["a short line as a whole", 2, "yes", true],
  ["a line that is not there", 7, "because readers must not", false],
];

test.each(checks)("checkCitations(): %s", (_, line, excerpt, stands) => {
  const { citations } = checkCitations([{ line, excerpt }], "high", lines);
  expect(citations.length === 1).toBe(stands);
});

test("a citation of no line or of no words leaves the answer, with less confidence", async () => {
  home.configure({ llm: { baseUrl: server.baseUrl, apiKeyEnv: "KEY", model: "tiny" } });
  const id = uuidFrom("asked");
  writeClaude(home, { id, rows: [claudeUser({ text: "we hash with argon2", cwd: home.project })] });
  const nowhere = [
    { line: 0, excerpt: "argon2" },
    { line: -3, excerpt: "argon2" },
    { line: 1, excerpt: "" },
  ];
  const cited = { line: 1, excerpt: "argon2" };
  server.script(JSON.stringify({ answer: "argon2", confidence: "high", citations: [...nowhere, cited] }));
  const { confidence, citations, notes } = await home.json("query-session", id, "which hash?");
  expect([confidence, citations, notes]).toEqual([
    "medium",
    [expect.objectContaining(cited)],
    ["3 of 4 citations were not found in their lines and were dropped"],
  ]);
  expect(server.chats().length).toBe(1);
});

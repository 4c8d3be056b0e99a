import { expect, test } from "bun:test";
import { matchExpression, type Question, readQuestions } from "../lib/search/query.ts";

const readQuestion = (text: string) => readQuestions([text])[0] as Question;
const termsOf = (text: string) => readQuestion(text).terms.map(({ words }) => words[0]);

test("readQuestions() keeps content words, folded, and drops stop words of several languages", () => {
  expect(termsOf("What did we decide about the JOURNAL mode?")).toEqual(["decide", "journal", "mode"]);
  expect(termsOf("Warum haben wir die Übergänge geprüft?")).toEqual(["ubergange", "gepruft"]);
  expect(termsOf("почему мы выбрали журнал")).toEqual(["выбрали", "журнал"]);
});

test("readQuestions() reads a question of stop words alone with them", () => {
  expect(termsOf("to be or not to be")).toEqual(["to", "be", "or", "not"]);
  expect(readQuestion("?!").terms).toEqual([]);
});

test("readQuestions() takes a name whole and in parts, the parts for less", () => {
  const { terms, literals } = readQuestion("where is minimumContrastRatio set");
  expect(terms.map(({ words, weight }) => [words[0], weight])).toEqual([
    ["minimumcontrastratio", 1],
    ["set", 1],
    ["minimum", 0.5],
    ["contrast", 0.5],
    ["ratio", 0.5],
  ]);
  expect(literals).toEqual(["minimumcontrastratio"]);
  expect(readQuestion('snake_case_name in src/a-b.ts says "Cannot open file"').literals).toEqual([
    "snake_case_name",
    "src/a-b.ts",
    "cannot open file",
  ]);
});

test("readQuestions() takes words of one stem for one term, in each question by itself", () => {
  expect(readQuestions(["run the runs", "running"]).map(({ terms }) => terms)).toEqual([
    [{ stem: "run", words: ["run", "runs"], weight: 1 }],
    [{ stem: "run", words: ["running"], weight: 1 }],
  ]);
});

test("matchExpression() ORs, never ANDs, and quotes what could be syntax", () => {
  const { terms, literals } = readQuestion('sqlite NEAR(journal*) AND "agent-session.ts"');
  expect(matchExpression(terms, literals)).toBe(
    '"sqlite" OR "journal" OR "agent" OR "session" OR "ts" OR "agent session ts"',
  );
  expect(matchExpression([])).toBeUndefined();
});

test("readQuestions() sees when the first or the last of something is asked for", () => {
  const ends = (texts: string[]) => texts.map((text) => readQuestion(text).end);
  expect(ends(["which epic did we begin with", "the first attempt", "Was war am Anfang?"])).toEqual([
    "first",
    "first",
    "first",
  ]);
  expect(ends(["the last thing requested", "tests passing at the end", "was schließlich galt"])).toEqual([
    "last",
    "last",
    "last",
  ]);
  expect(ends(["what did we do the last week", "start the server", "from the first to the last"])).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

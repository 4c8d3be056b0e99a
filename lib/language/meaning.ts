/**
 * Finds what a text is about, and whether it decides or leaves work, without a model: its words are gone through once, and
 * each is looked up in one map of keywords and of the phrases that it may begin.
 */

import { type Act, listPhrases } from "./speech.ts";

const TOPICS_MAX = 3; // promised

/** The words of each topic, in the singular and without a verb's ending. */
const KEYWORDS = `
testing: test unittest pytest jest vitest playwright coverage fixture assert assertion mock flaky e2e
debugging: bug debug error crash exception traceback stacktrace fail failure broken regression fehler ошибка
deployment: deploy deployment release publish production staging rollout docker kubernetes pipeline ci
database: database sql sqlite postgres postgresql mysql migration schema query queries redis datenbank table
api: api endpoint rest graphql webhook http request json websocket
auth: auth authentication authorization login logout oauth password credential apikey sso
frontend: css html react component ui layout button svelte vue browser stylesheet theme color colour render
performance: performance slow slower latency benchmark speed optimize optimization cache caching profile
documentation: docs documentation readme changelog tutorial guide document dokumentation
git: git commit branch branches merge rebase worktree push pull github
configuration: config configuration configure setting env environment flag option
security: security vulnerability secret permission encryption encrypt sandbox
build: build compile compiler bundler webpack vite typescript dependency dependencies npm install package lint
refactoring: refactor rename cleanup restructure restructuring extract simplify simplified
planning: plan planning roadmap milestone todo epic issue task priority deadline
data: data csv dataset parse parser parsing export import spreadsheet
terminal: terminal cli shell bash command script keyboard tui
observability: log logging trace tracing telemetry otel opentelemetry metrics monitoring span dashboard
ai: model prompt llm agent embedding subagent compaction context token
design: design architecture architectural interface pattern abstraction
messaging: email mail discord slack chat newsletter post content tweet
scheduling: schedule calendar meeting cron reminder appointment
writing: draft article blog essay translation translate wording
finance: invoice budget price pricing cost payment tax`;

/** The topics of a text, and its acts. */
interface Meaning {
  /** Up to three, the most mentioned first; none where no word is known. */
  topics: string[];
  hasDecision: boolean;
  hasAction: boolean;
}

/** A keyword's form or a phrase, and what it says. */
interface KnownForm {
  text: string;
  topic?: string;
  act?: Act;
}

/** The known phrases, by the number of their first word. */
let known: Map<number, KnownForm[]> | undefined;

/** Returns the topics of a text, without a lone mention beside a strong one, and its acts. */
export function readMeaning(text: string): Meaning {
  const counts = new Map<string, number>();
  const acts = new Set<Act>();
  for (const { topic, act } of knownIn(text.toLowerCase())) {
    if (topic !== undefined) counts.set(topic, (counts.get(topic) ?? 0) + 1);
    if (act !== undefined) acts.add(act);
  }
  const topics = [...counts].toSorted((a, b) => b[1] - a[1]);
  const [, most = 0] = topics[0] ?? [];
  return {
    topics: topics.flatMap(([topic, count]) => (count * 4 >= most ? topic : [])).slice(0, TOPICS_MAX),
    hasDecision: acts.has("chooses") || acts.has("decides"),
    hasAction: acts.has("leavesWork") || text.includes("- [ ] "),
  };
}

/** Returns the keywords and phrases in a text in lower case, in order. No word is copied to be looked up. */
function knownIn(text: string): KnownForm[] {
  known ??= readKnown();
  const found: KnownForm[] = [];
  let start = -1;
  let number = 0;
  for (let at = 0; at <= text.length; at++) {
    const unit = at < text.length ? text.charCodeAt(at) : 0;
    if (isLetter(unit) || (isDigit(unit) && start >= 0)) {
      if (start < 0) start = at;
      number = addUnit(number, unit);
      continue;
    }
    if (start >= 0) addKnown(found, known.get(number), text, start);
    start = -1;
    number = 0;
    if (isUnspaced(unit)) addKnown(found, known.get(addUnit(0, unit)), text, at);
  }
  return found;
}

/** Adds those of the candidates that stand in a text at a place as whole words. */
function addKnown(
  found: KnownForm[],
  candidates: KnownForm[] | undefined,
  text: string,
  start: number,
): void {
  for (const candidate of candidates ?? []) {
    const end = start + candidate.text.length;
    if (!text.startsWith(candidate.text, start)) continue;
    const [last, next] = [text.charCodeAt(end - 1), text.charCodeAt(end)];
    if (isUnspaced(last) || !(isLetter(next) || isDigit(next))) found.push(candidate);
  }
}

/** Returns the keywords with their plurals and verb forms, and the phrases of acts, by the number of the first word. */
function readKnown(): Map<number, KnownForm[]> {
  const forms = [...topicsByForm()].map(([text, topic]): KnownForm => ({ text, topic }));
  const acts = (["chooses", "decides", "leavesWork"] as const).flatMap((act) =>
    listPhrases(act).map((text): KnownForm => ({ text, act })),
  );
  return Map.groupBy([...forms, ...acts], ({ text }) => numberOfFirst(text));
}

/** Maps keywords with their plurals and verb forms to topics; where two forms are the same, the plainer one counts. */
function topicsByForm(): Map<string, string> {
  const keywords = KEYWORDS.trim()
    .split("\n")
    .flatMap((line) => {
      const [topic = "", words = ""] = line.split(": ");
      return words.split(" ").map((word) => [word, topic] as const);
    });
  const forms = new Map<string, string>();
  const add = (stemOf: (word: string) => string | undefined, endings: readonly string[]) => {
    for (const [word, topic] of keywords) {
      const stem = stemOf(word);
      if (stem === undefined) continue;
      for (const ending of endings) if (!forms.has(stem + ending)) forms.set(stem + ending, topic);
    }
  };
  const endings = ["", "ing", "ed", "es", "s"];
  add((word) => word, ["", "s"]);
  add((word) => word, ["ing", "ed", "es"]);
  add((word) => (word.endsWith("e") ? word.slice(0, -1) : undefined), endings);
  add((word) => (/[^aeiou]$/.test(word) ? word + word.at(-1) : undefined), endings);
  return forms;
}

/** Returns the number of the word that a phrase begins with; of a script without spaces that of its first character. */
function numberOfFirst(phrase: string): number {
  const [word = ""] = /^[\u3040-\u9fff]|^[a-z\d\u00c0-\u04ff]+/.exec(phrase) ?? [];
  let number = 0;
  for (let at = 0; at < word.length; at++) number = addUnit(number, word.charCodeAt(at));
  return number;
}

/** Adds a character to a word's number; which word it is says the comparison of the texts. */
function addUnit(number: number, unit: number): number {
  return (Math.imul(number, 31) + unit) | 0;
}

/** Returns whether a character is a letter of the keywords' scripts, Latin and Cyrillic. */
function isLetter(unit: number): boolean {
  return (unit >= 97 && unit <= 122) || (unit >= 0xc0 && unit <= 0x4ff);
}

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57;
}

/** Returns whether a character is of a script in which phrases stand without spaces. */
function isUnspaced(unit: number): boolean {
  return unit >= 0x3040 && unit <= 0x9fff;
}

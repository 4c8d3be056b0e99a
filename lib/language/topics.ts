/** Finds what a text is about without a model: topics by a map of keywords, else its most telling words. */

import { contentWords } from "./words.ts";

const TOPICS_MAX = 3; // promised
/** The topic of a text that says nothing. */
export const NO_TOPIC = "conversation";

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

/** The topic of every form of a keyword, and what matches words that may be one. */
let keywords: { topics: Map<string, string>; pattern: RegExp } | undefined;

/** Returns up to three topics of a text, the most mentioned first; a lone mention beside a strong topic is none. */
export function topicsOf(text: string): string[] {
  keywords ??= { topics: topicsByForm(), pattern: formsLikely() };
  const { topics, pattern } = keywords;
  const found = mostFrequent(text.toLowerCase().match(pattern) ?? [], (word) => topics.get(word));
  const [, most = 0] = found[0] ?? [];
  if (most > 0)
    return found.flatMap(([topic, count]) => (count * 4 >= most ? topic : [])).slice(0, TOPICS_MAX);
  // else the words said most often, the longer ones first among equals
  const telling = mostFrequent(contentWords(text), (word) => word)
    .toSorted(([a, times], [b, others]) => others - times || b.length - a.length)
    .slice(0, TOPICS_MAX);
  return telling.length > 0 ? telling.map(([word]) => word) : [NO_TOPIC];
}

/** Matches words that begin as a form of a keyword does. Looking up only these saves a quarter of the time. */
function formsLikely(): RegExp {
  const starts = KEYWORDS.replace(/^.*: |e$/gm, "")
    .trim()
    .replace(/e?\s+/g, "|");
  // Without the u flag: the keywords are in Latin and Cyrillic letters, and every chunk is read.
  const letter = "a-z\\u00c0-\\u04ff";
  return new RegExp(`(?<![${letter}])(?<![${letter}]\\d+)(?:${starts})[${letter}\\d]*`, "g");
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

/** Counts the values that words map to, the most frequent first; words that map to none are left out. */
function mostFrequent(
  words: readonly string[],
  meaning: (word: string) => string | undefined,
): [string, number][] {
  // a loop, since every word of every chunk is counted
  const counts = new Map<string, number>();
  for (const word of words) {
    const meant = meaning(word);
    if (meant !== undefined) counts.set(meant, (counts.get(meant) ?? 0) + 1);
  }
  return [...counts].toSorted((a, b) => b[1] - a[1]);
}

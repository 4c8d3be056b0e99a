/** Finds what a text is about, and whether it decides or leaves work, without a model. */

import { leavesWork, makesDecision } from "./speech.ts";

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

/** The topics by their keywords, with plurals and verb forms. */
let known: Map<string, string> | undefined;

/** Returns the topics of a text, without a lone mention beside a strong one, and its acts. */
export function readMeaning(text: string): Meaning {
  known ??= topicsByForm();
  const counts = new Map<string, number>();
  for (const word of text.toLowerCase().match(/[a-z\u00c0-\u04ff][a-z\d\u00c0-\u04ff]*/g) ?? []) {
    const topic = known.get(word);
    if (topic !== undefined) counts.set(topic, (counts.get(topic) ?? 0) + 1);
  }
  const topics = [...counts].toSorted((a, b) => b[1] - a[1]);
  const [, most = 0] = topics[0] ?? [];
  return {
    topics: topics.flatMap(([topic, count]) => (count * 4 >= most ? topic : [])).slice(0, TOPICS_MAX),
    hasDecision: makesDecision(text),
    hasAction: leavesWork(text) || text.includes("- [ ] "),
  };
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

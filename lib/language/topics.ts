/**
 * What a text shows without a model: one to three topics, whether it holds a decision, whether something is
 * left to do. One pass over the words, by table.
 */

import { isFunctionWord } from "./words.ts";

interface Description {
  topics: string[];
  hasDecision: boolean;
  hasAction: boolean;
}

const TOPIC_MAX = 3;

/** Each topic's words; what follows `~` are endings that also count. */
const TOPICS: Record<string, string> = {
  testing:
    "test~s~ing~ed unittest pytest jest vitest playwright coverage fixture~s assert~s assertion~s mock~s~ed flaky e2e",
  debugging:
    "bug~s debug~ging~ged error~s crash~es~ed exception~s traceback stacktrace fail~s~ed~ing failure~s broken regression~s fehler ошибка",
  deployment:
    "deploy~s~ed~ing~ment release~s~d publish~ed~ing production staging rollout vercel netlify docker kubernetes pipeline ci",
  database:
    "database~s sql sqlite postgres postgresql mysql migration~s schema~s query~ing queries redis ecto datenbank table~s",
  api: "api~s endpoint~s rest graphql webhook~s http request~s json websocket",
  auth: "auth authentication authorization login logout oauth password~s credential~s apikey sso",
  frontend:
    "css html react component~s ui layout~s button~s svelte vue browser stylesheet theme~s color~s colour~s render~s~ed~ing liveview",
  performance:
    "performance slow~er latency benchmark~s speed optimize~d optimization cache~s~d caching profile~r profiling",
  documentation: "docs documentation readme changelog tutorial guide~s documented dokumentation",
  git: "git commit~s~ted~ting branch~es merge~d~s rebase~d worktree~s push~ed pull github",
  configuration: "config~s configuration~s configure~d settings setting env environment flag~s option~s",
  security: "security vulnerability vulnerabilities secret~s permission~s encryption encrypted sandbox",
  build:
    "build~s~ing compile~s~d~r bundler webpack vite typescript dependency dependencies npm install~ed package~s lint linter",
  refactoring:
    "refactor~ed~ing~s rename~d~s cleanup restructure~d restructuring extract~ed simplify simplified",
  planning: "plan~s~ned~ning roadmap milestone~s todo~s epic~s issue~s task~s priority priorities deadline~s",
  data: "data csv dataset~s parse~d~r~s parsing export~s~ed~ing import~s~ed~ing spreadsheet",
  terminal: "terminal cli shell bash command~s script~s keyboard tui",
  observability:
    "log~s~ging~ged trace~s tracing telemetry otel opentelemetry metrics monitoring span~s dashboard~s",
  ai: "model~s prompt~s llm agent~s embedding~s subagent~s compaction context tokens",
  design: "design~s~ed architecture architectural interface~s pattern~s abstraction~s",
  messaging: "email~s mail discord slack chat~s newsletter post~s~ing content tweet~s",
  scheduling: "schedule~d~s calendar meeting~s cron reminder~s appointment~s",
  writing: "draft~s~ed article~s blog essay~s translation~s translate~d wording",
  finance: "invoice~s budget~s price~s pricing cost~s payment~s tax~es",
};

/** Words that make a decision likely; `^` starts a pattern that must match from the word on. */
const DECISION_CUES = [
  "decided agreed settled opted chose chosen concluded rejected approved verdict",
  "entschieden entscheidung beschlossen geeinigt décidé décision choisi retenu convenu",
  "decidimos decidido decisión acordamos elegimos elegido decisão escolhemos escolhido combinamos",
  "решили решено решил решила выбрали договорились",
];
const DECISION_PHRASES: Record<string, RegExp> = {
  go: /go with\b/iy,
  going: /going with\b/iy,
  went: /went with\b/iy,
  let: /let['’]s (?:use|go|keep|stick|drop|leave|not)\b/iy,
  decision: /decisions?(?: (?:is|was|to|on)\b|\s*:)/iy,
  we: /we(?:['’]ll| will| should) (?:use|go with|keep|stick|drop|not)\b/iy,
  stick: /stick (?:with|to)\b/iy,
  rather: /rather than\b/iy,
  instead: /instead of\b/iy,
  prefer: /prefer\b/iy,
  wir: /wir (?:nehmen|bleiben|verwenden|machen)\b/iy,
  nehmen: /nehmen wir\b/iy,
  on: /on (?:garde|prend|part sur|choisit)\b/iy,
  vamos: /vamos (?:usar|a usar|com|con)\b/iy,
};

const ACTION_CUES = [
  "todo todos fixme must remind reminder deadline assigned erledigen",
  "müssen pendiente pendente нужно надо",
];
const ACTION_PHRASES: Record<string, RegExp> = {
  action: /action items?\b/iy,
  next: /next steps?\b/iy,
  follow: /follow[- ]?ups?\b/iy,
  need: /need to\b/iy,
  needs: /needs to\b/iy,
  have: /have to\b/iy,
  remember: /remember to\b/iy,
  don: /don['’]t forget\b/iy,
  make: /make sure\b/iy,
  please: /please\b/iy,
  nicht: /nicht vergessen\b/iy,
  noch: /noch (?:zu tun|offen)\b/iy,
  il: /il faut\b/iy,
  hay: /hay que\b/iy,
  tenemos: /tenemos que\b/iy,
  precisa: /precisa(?:mos)?\b/iy,
};

interface Cue {
  /** Index of the topic, or -1. */
  topic: number;
  decision?: RegExp | true;
  action?: RegExp | true;
}

const TABLE_SIZE = 4096;
/** The topics that rules give. */
export const TOPIC_NAMES: readonly string[] = Object.keys(TOPICS);
const CUES: Cue[] = [];
/** Open addressing: a word's hash and, beside it, its cue. */
const HASHES = new Int32Array(TABLE_SIZE);
const CUE_OF_HASH = new Int16Array(TABLE_SIZE).fill(-1);

/** Tells topics, decision and action by rule. */
export function describeText(text: string): Description {
  if (CUES.length === 0) fillTable();
  const counts = new Uint16Array(TOPIC_NAMES.length);
  let hasDecision = false;
  let hasAction = false;
  let hash = 0;
  let start = -1;
  for (let i = 0; i <= text.length; i++) {
    const unit = i < text.length ? text.charCodeAt(i) : 32;
    const letter = foldLetter(unit);
    if (letter !== 0) {
      if (start < 0) start = i;
      hash = (Math.imul(hash, 31) + letter) | 0;
      continue;
    }
    if (start < 0) continue;
    const cue = i - start > 1 ? findCue(hash) : undefined;
    if (cue !== undefined) {
      if (cue.topic >= 0) counts[cue.topic] = (counts[cue.topic] ?? 0) + 1;
      if (!hasDecision && cue.decision !== undefined) hasDecision = standsAt(cue.decision, text, start);
      if (!hasAction && cue.action !== undefined) hasAction = standsAt(cue.action, text, start);
    }
    hash = 0;
    start = -1;
  }
  return { topics: bestTopics(counts, text), hasDecision, hasAction: hasAction || text.includes("- [ ] ") };
}

/** Returns a letter in lower case, or 0 for anything else. */
function foldLetter(unit: number): number {
  if (unit < 128) {
    const lower = unit | 32;
    return lower >= 97 && lower <= 122 ? lower : 0;
  }
  if (unit < 0xc0) return 0;
  return (unit >= 0xc0 && unit <= 0xde) || (unit >= 0x410 && unit <= 0x42f) ? unit + 32 : unit;
}

function findCue(hash: number): Cue | undefined {
  for (let slot = hash & (TABLE_SIZE - 1); ; slot = (slot + 1) & (TABLE_SIZE - 1)) {
    const cue = CUE_OF_HASH[slot] as number;
    if (cue < 0) return undefined;
    if (HASHES[slot] === hash) return CUES[cue];
  }
}

function standsAt(cue: RegExp | true, text: string, position: number): boolean {
  if (cue === true) return true;
  cue.lastIndex = position;
  return cue.test(text);
}

/** Returns the topics with the most words, a lone mention beside a strong topic left out. */
function bestTopics(counts: Uint16Array, text: string): string[] {
  const found: number[] = [];
  let most = 0;
  for (let topic = 0; topic < counts.length; topic++) {
    const count = counts[topic] as number;
    if (count === 0) continue;
    found.push(topic);
    if (count > most) most = count;
  }
  if (found.length === 0) return [keyword(text)];
  const strong = found.filter((topic) => (counts[topic] as number) * 4 >= most);
  strong.sort((a, b) => (counts[b] as number) - (counts[a] as number));
  return strong.slice(0, TOPIC_MAX).map((topic) => TOPIC_NAMES[topic] as string);
}

/** Returns the fallback topic: the longest of the first words. */
function keyword(text: string): string {
  let best = "";
  const said = text.slice(0, 300).replace(/\[redacted[^\]]*\]?/gi, " ");
  for (const match of said.matchAll(/(?<![\p{L}\p{N}_:/])(?!User:|Assistant:)\p{L}{5,24}/gu)) {
    if (match[0].length > best.length && !isFunctionWord(match[0])) best = match[0];
  }
  return best === "" ? "conversation" : best.toLowerCase();
}

function fillTable(): void {
  for (const [topic, words] of Object.values(TOPICS).entries()) {
    for (const word of forms(words)) cueFor(word).topic = topic;
  }
  for (const words of DECISION_CUES) for (const word of forms(words)) cueFor(word).decision = true;
  for (const words of ACTION_CUES) for (const word of forms(words)) cueFor(word).action = true;
  for (const [word, phrase] of Object.entries(DECISION_PHRASES)) cueFor(word).decision = phrase;
  for (const [word, phrase] of Object.entries(ACTION_PHRASES)) cueFor(word).action = phrase;
}

function forms(words: string): string[] {
  return words.split(" ").flatMap((word) => {
    const [base = "", ...endings] = word.split("~");
    return [base, ...endings.map((ending) => base + ending)];
  });
}

function cueFor(word: string): Cue {
  let hash = 0;
  for (let i = 0; i < word.length; i++) hash = (Math.imul(hash, 31) + foldLetter(word.charCodeAt(i))) | 0;
  let slot = hash & (TABLE_SIZE - 1);
  while ((CUE_OF_HASH[slot] as number) >= 0 && HASHES[slot] !== hash) slot = (slot + 1) & (TABLE_SIZE - 1);
  if ((CUE_OF_HASH[slot] as number) < 0) {
    HASHES[slot] = hash;
    CUE_OF_HASH[slot] = CUES.push({ topic: -1 }) - 1;
  }
  return CUES[CUE_OF_HASH[slot] as number] as Cue;
}

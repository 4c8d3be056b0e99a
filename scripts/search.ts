#!/usr/bin/env bun

/**
 * Finds past conversation by what was said, with several phrasings of one question if you have them.
 *
 * Brings the full-text index up to date first, for a second at most.
 *
 * @module
 */

import { SessionMemoryError } from "../lib/base/errors.ts";
import {
  choiceFlag,
  integerFlag,
  note,
  parseFlags,
  print,
  printJson,
  runMain,
  timeFlag,
  usageError,
  useConfig,
} from "../lib/cli.ts";
import { type Config, loadConfig, pathsReading } from "../lib/config/config.ts";
import { type Behind, indexRecipe } from "../lib/index/freshness.ts";
import { isAllIndexed } from "../lib/index/stale.ts";
import { compilePatterns } from "../lib/redact/redact.ts";
import type { ChunkFilter } from "../lib/search/candidates.ts";
import { logSearch, readIndexSize, type SessionRow } from "../lib/search/corpus.ts";
import type { Nearest } from "../lib/search/nearest.ts";
import { toPassages } from "../lib/search/passages.ts";
import { formatResult, type SearchResult, toResults } from "../lib/search/results.ts";
import { retrieve } from "../lib/search/retrieval.ts";
import { type SearchFilters, toFilter } from "../lib/search/search-filters.ts";
import { nameOf } from "../lib/sessions/session-name.ts";
import { tendIndexes } from "../lib/store/given-indexes.ts";
import { openStore, type Store } from "../lib/store/store.ts";
import { readRules } from "../lib/transcripts/rules.ts";
import type { Session } from "../lib/transcripts/session.ts";

const USAGE = `\
Usage: bun scripts/search.ts <phrasing> [<phrasing>…] [options]

Several phrasings of one question, in different words, find far more than one.

Options:
  --limit <n>           Results to print (default: 5)
  --after, --before <t> Only then: 2026-02-03, 2026-02, yesterday, 7d, "last week"
  --speaker <who>       What user or assistant said, not where they occur
  --topic <t>           One of these topics (repeatable)
  --decision, --action  Only where something was decided, or is left to do
  --session <s>, --agent <a>, --project <folder or name>
  --context <n>         Exchanges before and after each result (default: 0)
  --min-score <x>       Only results of at least this score, 0 to 1 (default: 0)
  --no-index            Do not bring the index up to date first
  --explain             Say where each score comes from
  --subagents           Subagents' transcripts too
  --sessions <path>     Search this file or folder instead of the agents' own (repeatable)
  --json                One JSON document       --quiet  No remarks on stderr

Examples:
  bun scripts/search.ts "why WAL" "sqlite journal mode" "readers block writers"
  bun scripts/search.ts --speaker user --after "last week" "posting frequency"
`;

const AGENTS = ["claude", "pi", "codex", "plain"] as const;
const SPEAKERS = ["user", "assistant"] as const;
const LIMIT_DEFAULT = 5;
const LIMIT_MAX = 100;
const CONTEXT_MAX = 20;
/** How long the index is brought up to date before an answer. */
const INDEX_MS = 1000;
/** Chunks by meaning that take part, for each phrasing. */
const NEAREST = 50;

export interface SearchRequest {
  /** One question, or several phrasings of it. */
  query: string | string[];
  filters?: SearchFilters | undefined;
  /** @default {5} */
  limit?: number | undefined;
  /** Exchanges before and after each result. @default {0} */
  context?: number | undefined;
  /** @default {0} */
  minScore?: number | undefined;
  /** @default {false} */
  subagents?: boolean | undefined;
  /** Whether results say where their scores come from. @default {false} */
  explain?: boolean | undefined;
}

export interface SearchResources {
  /** @default the environment's and config.json's */
  config?: Config | undefined;
  /** Whether the index is brought up to date first. @default {true} */
  index?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

export interface SearchAnswer {
  /** Best first; empty when nothing is relevant. */
  results: SearchResult[];
  index: {
    sessions: number;
    chunks: number;
    vectors: number;
    /** What is not in the index yet. */
    behind: Behind;
    /** `on`, or `off: ` and why. */
    semantic: string;
  };
}

/** Searches past conversation. */
export async function sessionSearch(
  request: SearchRequest,
  resources: SearchResources = {},
): Promise<SearchAnswer> {
  const { index = true, signal } = resources;
  const config = resources.config ?? (await loadConfig(process.env, process.cwd()));
  const started = performance.now();
  const store = openStore(config.paths.database, { create: index });
  try {
    tendIndexes(config.paths, new Date());
    const behind = await freshen(store, { config, index, signal });
    const { results, semantic } = await answer(store, request, { config, signal });
    logSearch(store, { tookMs: performance.now() - started, results: results.length });
    return { results, index: { ...readIndexSize(store), behind, semantic } };
  } finally {
    store.close();
  }
}

interface Surroundings {
  config: Config;
  signal: AbortSignal | undefined;
}

/** Brings the index up to date as far as a second goes; tells what is left. */
async function freshen(
  store: Store,
  { config, index, signal }: Surroundings & { index: boolean },
): Promise<Behind> {
  const { settings, paths } = config;
  const { sessions: ids, projects } = settings.exclude;
  // Most people keep nothing out.
  if (ids.length + projects.length > 0) {
    (await import("../lib/index/held-sessions.ts")).removeKeptOut(store, settings.exclude);
  }
  if (isAllIndexed(store, paths, indexRecipe(settings))) return { sessions: 0, bytes: 0 };
  // what reads transcripts is half of the program, and mostly there is nothing new
  const [{ listSessions }, { catchUp, howFarBehind }] = await Promise.all([
    import("../lib/sessions/sessions.ts"),
    import("../lib/index/catch-up.ts"),
  ]);
  const sessions = listSessions(paths, { subagents: true, excluded: true });
  if (!index) return howFarBehind({ store, sessions, settings });
  return await catchUp({ store, home: paths.home, sessions, settings, deadlineMs: INDEX_MS, signal });
}

async function answer(
  store: Store,
  request: SearchRequest,
  { config, signal }: Surroundings,
): Promise<{ results: SearchResult[]; semantic: string }> {
  const { limit = LIMIT_DEFAULT, context = 0, minScore = 0, explain = false, subagents = false } = request;
  const texts = [request.query].flat();
  const filter = await toFilter(request.filters ?? {}, { store, config, subagents });
  const { nearest, semantic } = await byMeaning(store, texts, { config, filter, signal });
  const timezone = ownTimezone(config);
  const found = retrieve([store], texts, { filter, limit, now: new Date(), timezone, nearest });
  if (!found.isAnswered) return { results: [], semantic };
  const passages = toPassages(store, found.chunks, { limit, around: context });
  const results = toResults(passages, found, {
    patterns: compilePatterns(config.settings.redact.extra),
    nameOf: (session) => (session.sourceGone ? session.name : nameOf(asListed(session), config.paths)),
    explain,
  });
  return { results: results.filter(({ relevance_score }) => relevance_score >= minScore), semantic };
}

/** The chunks nearest in meaning to each phrasing, where vectors are configured and at hand. */
async function byMeaning(
  store: Store,
  texts: string[],
  { config, filter, signal }: Surroundings & { filter: ChunkFilter },
): Promise<{ nearest?: Nearest[][]; semantic: string }> {
  const { embedding } = config.settings;
  if (embedding === undefined) return { semantic: "off: no embedding in config.json" };
  const { vectorSource } = await import("../lib/index/chunk-vectors.ts");
  const source = vectorSource(store, embedding);
  if (source.mode === "off") return { semantic: `off: ${source.why}` };
  // the model client costs five empty starts
  const [{ embedTexts }, { openSpendLedger }, { nearestChunks }] = await Promise.all([
    import("../lib/model/llm.ts"),
    import("../lib/model/spend.ts"),
    import("../lib/search/nearest.ts"),
  ]);
  try {
    const spend = openSpendLedger(config.paths.home, config.settings);
    const redact = readRules(config.settings).clean;
    const { vectors } = await embedTexts(texts, {
      config: embedding,
      env: config.env,
      spend,
      redact,
      signal,
    });
    const nearest = vectors.map((vector) => nearestChunks(store, vector, { source, filter, limit: NEAREST }));
    return { nearest, semantic: "on" };
  } catch (error) {
    if (!(error instanceof SessionMemoryError)) throw error;
    return { semantic: `off: ${error.message}` };
  }
}

/** The zone that config.json names; undefined for the system's, whose name costs three empty starts to ask. */
function ownTimezone({ settings }: Config): string | undefined {
  return Object.getOwnPropertyDescriptor(settings, "timezone")?.value;
}

function asListed({ id, agent, file }: SessionRow): Session {
  return { id, agent, file, updatedAt: "", modifiedAt: "", size: 0 };
}

async function main(args: string[]): Promise<void> {
  const { values, words } = parseFlags(args, {
    limit: { type: "string" },
    after: { type: "string" },
    before: { type: "string" },
    speaker: { type: "string" },
    topic: { type: "string", multiple: true },
    decision: { type: "boolean" },
    action: { type: "boolean" },
    session: { type: "string" },
    agent: { type: "string" },
    project: { type: "string" },
    context: { type: "string" },
    "min-score": { type: "string" },
    "no-index": { type: "boolean", default: false },
    explain: { type: "boolean", default: false },
    subagents: { type: "boolean", default: false },
    sessions: { type: "string", multiple: true },
    json: { type: "boolean", default: false },
  });
  const request: SearchRequest = {
    query: phrasings(words),
    filters: {
      after: values.after,
      before: values.before,
      speaker: choiceFlag("--speaker", values.speaker, SPEAKERS),
      topics: values.topic,
      has_decision: values.decision,
      has_action: values.action,
      session: values.session,
      agent: choiceFlag("--agent", values.agent, AGENTS),
      project: values.project,
    },
    limit: integerFlag("--limit", values.limit, LIMIT_DEFAULT, { min: 1, max: LIMIT_MAX }),
    context: integerFlag("--context", values.context, 0, { max: CONTEXT_MAX }),
    minScore: scoreFlag(values["min-score"]),
    subagents: values.subagents,
    explain: values.explain,
  };
  const loaded = await loadConfig(process.env, process.cwd());
  useConfig(loaded);
  const config = { ...loaded, paths: pathsReading(loaded, values.sessions, process.cwd()) };
  for (const edge of ["after", "before"] as const) {
    const value = values[edge];
    if (value !== undefined) timeFlag(`--${edge}`, value, config.settings.timezone);
  }
  const answer = await sessionSearch(request, { config, index: !values["no-index"] });
  if (values.json) printJson(answer);
  else
    for (const [i, result] of answer.results.entries())
      print(formatResult(result, { position: i + 1, timezone: ownTimezone(config) }));
  if (answer.results.length === 0) note("nothing relevant found");
  note(describeIndex(answer.index));
}

function phrasings(words: string[]): string[] {
  const said = words.map((word) => word.trim()).filter((word) => word !== "");
  if (said.length > 0) return said;
  throw usageError(
    "Expected a phrasing of what you look for",
    'try bun scripts/search.ts "why WAL" "sqlite journal mode"',
  );
}

function scoreFlag(value: string | undefined): number {
  const score = value === undefined ? 0 : Number(value);
  if (value?.trim() === "" || !(score >= 0 && score <= 1)) {
    throw usageError(
      `Cannot use --min-score "${value}": expected a number from 0 to 1`,
      "try --min-score 0.3",
    );
  }
  return score;
}

/** How fresh an answer is, in one line. */
function describeIndex({ sessions, chunks, vectors, behind, semantic }: SearchAnswer["index"]): string {
  const size = `${sessions} sessions, ${chunks} chunks${vectors > 0 ? `, ${vectors} vectors` : ""}`;
  const state =
    behind.sessions === 0
      ? "up to date"
      : `behind by ${behind.sessions} sessions (${(behind.bytes / 1e6).toFixed(1)} MB): run bun scripts/embed.ts`;
  return `index: ${size}, ${state}; semantic ${semantic}`;
}

if (import.meta.main) await runMain(USAGE, main);

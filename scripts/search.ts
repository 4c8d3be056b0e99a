#!/usr/bin/env bun

/**
 * Finds past conversation by what was said, with several phrasings of one question if you have them.
 *
 * Brings the full-text index up to date first, for a second at most.
 *
 * @module
 */

import { readFileSync } from "node:fs";
import { counted, quoted } from "../lib/base/text.ts";
import {
  ANY_WORDS,
  choice,
  each,
  filled,
  integer,
  nearestNumber,
  note,
  type Run,
  refuseTogether,
  runScript,
  speaker,
  texts,
  time,
  toggle,
  usageError,
} from "../lib/cli.ts";
import type { SearchMode } from "../lib/history/request.ts";
import { type SearchAnswer, searchAsText } from "../lib/history/session-search.ts";
import { describeBehind } from "../lib/index/freshness.ts";
import { LIMIT_MAX } from "../lib/search/print.ts";
import type { SearchFilters } from "../lib/search/search-filters.ts";
import { AGENTS } from "../lib/sessions/hosts.ts";

export type { SearchResources } from "../lib/history/fresh-index.ts";
export type { SearchRequest } from "../lib/history/request.ts";
export { type SearchAnswer, searchAsText, sessionSearch } from "../lib/history/session-search.ts";

const USAGE = `\
Usage: session-memory search <phrasing> [<phrasing>…] [options]

Prints the rows that answer, each with its transcript line. Ask one question in 3 or 4 phrasings of different words.

  --limit <n>           Results (default: 5; 20 with --brief and --by-session)
  --max-chars <n>       Characters of all output (default: 2500; --brief and --by-session 4000, --full 10000)
  --brief, --by-session One line a result; or a session, with its places and best row (--resume: how to go on)
  --full, --context <n> Whole exchanges; exchanges before and after each result (default: 0)
  --after, --before <t> After or before a time: 2026-02-03, "14 July", yesterday, 7d; alone: its sessions
  --speaker <who>       What user, assistant or a participant said
  --topic <t>           One of these topics (repeatable); --topics lists them
  --decision, --action  Only where something was decided, or is left to do
  --session <s>, --agent <a>, --project <folder or name>
  --file <path>[:<n>]   Sessions that edited, read or discussed it (wrote its line n, or 3-9), and why
  --error <text>|-      Where it occurred, and what was done until the same command ran without it
  --command <words>     How it was run ("git push"), first the form that last succeeded: how often, how it ended
  --min-score <x>       Only results of at least this score, 0 to 1 (default: 0); strong is 0.54
  --no-index, --explain Do not bring the index up to date first; say where scores come from
  --subagents, --own    Subagents' transcripts too; nobody else's
  --sessions <path>     Search this file or folder instead of the agents' own (repeatable)
  --json, --quiet       One JSON document; no remarks on stderr

Examples:
  session-memory search "why WAL" "sqlite journal mode" "readers block writers"
  session-memory search --speaker user --after "last week" "posting frequency"
`;

const MAX_CHARS_LEAST = 200; // one head line and a row
const CONTEXT_MAX = 20; // more is reading: session-reader

const FLAGS = {
  limit: integer({ min: 1, max: LIMIT_MAX }),
  maxChars: integer({ min: MAX_CHARS_LEAST }),
  context: integer({ max: CONTEXT_MAX }),
  minScore: readScore,
  ...each(checkTime, "after", "before"),
  ...each(checkWords, "file", "error", "command"),
  speaker,
  session: filled,
  agent: choice(AGENTS),
  project: filled,
  topic: texts,
  ...each(toggle, "brief", "bySession", "resume", "full", "topics", "decision", "action"),
  ...each(toggle, "noIndex", "explain", "subagents", "own"),
};

async function main(run: Run<typeof FLAGS>): Promise<void> {
  const { values, words, settings, show } = run;
  const mode = modeFlag(values);
  if (values.resume && mode !== "sessions") {
    throw usageError("Cannot use --resume without --by-session", "add --by-session");
  }
  const { topics: isListing, topic: topics, decision, action, ...asked } = values;
  const options = { config: run, index: !values.noIndex, remark: note };
  if (isListing) {
    const { sessionTopics } = await import("../lib/history/topics.ts");
    const { topics, lines } = await sessionTopics(options, asked);
    show({ topics }, lines);
    return;
  }
  const filters = {
    ...asked,
    topics,
    has_decision: decision || undefined,
    has_action: action || undefined,
  };
  // given files and folders are searched alone
  const own = values.own || values.sessions !== undefined;
  const request = { ...asked, query: phrasings(words, filters), filters, mode, own };
  const { lines, results, blame, index, hasIndexed } = await searchAsText(request, options);
  show({ results, ...(blame && { blame }), index }, lines);
  const place = index.behind.sessions > 0 ? " in what is indexed so far" : "";
  if (results.length === 0 && !blame) note(`nothing relevant found${place}`);
  const semantic = settings.embedding && index.semantic;
  const isWrong = index.behind.sessions > 0 || (semantic && semantic !== "on");
  const meaning = semantic ? `; semantic ${semantic}` : "";
  if (hasIndexed || isWrong) note(`${describeIndex(index, values.sessions)}${meaning}`);
}

function modeFlag(values: { brief: boolean; bySession: boolean; full: boolean }): SearchMode {
  refuseTogether(values, "brief", "bySession", "full");
  const { brief, bySession, full } = values;
  return brief ? "brief" : bySession ? "sessions" : full ? "full" : "rows";
}

function phrasings(
  words: string[],
  { topics, file, error, command, after, before }: SearchFilters,
): string[] {
  const said = words.map((word) => word.trim()).filter((word) => word !== "");
  if (said.length > 0 || [file, error, command].some((asked) => asked !== undefined)) return said;
  if (topics) return topics;
  // a time alone lists its sessions
  if (after !== undefined || before !== undefined) return [];
  throw usageError(
    "Expected a phrasing of what you look for",
    'try session-memory search "why WAL" "sqlite journal mode"',
  );
}

/** Checks a time, which filters read themselves. */
async function checkTime(...given: Parameters<typeof time>): Promise<string> {
  await time(...given);
  return given[0];
}

/** Checks that a text holds words; "-" as an error is read from stdin. */
function checkWords(value: string, flag: string): string {
  const words = flag === "--error" && value === "-" ? readFileSync(0, "utf8") : value;
  if (/[\p{L}\p{N}]/u.test(words)) return words;
  throw usageError(`Cannot use ${flag}: expected words`, `name what to look for after ${flag}`);
}

function readScore(value: string): number {
  const score = Number(value);
  if (value.trim() === "" || !(score >= 0 && score <= 1)) {
    throw usageError(
      `Cannot use --min-score "${value}": expected a number from 0 to 1`,
      `try --min-score ${nearestNumber(value, { min: 0, max: 1, usual: 0.3 })}`,
    );
  }
  return score;
}

/** Describes how fresh an answer is, in one line. */
function describeIndex(
  { sessions, chunks, vectors, behind }: SearchAnswer["index"],
  given: readonly string[] = [],
): string {
  const embed = ["session-memory embed", ...given.map((path) => `--sessions ${quoted(path)}`)].join(" ");
  const held = [counted(sessions, "session"), counted(chunks, "chunk")];
  if (vectors > 0) held.push(counted(vectors, "vector"));
  const how = behind.sessions === 0 ? "" : `: run ${embed}`;
  return `index: ${held.join(", ")}, ${describeBehind(behind)}${how}`;
}

// its second is promised
if (import.meta.main) await runScript({ usage: USAGE, flags: FLAGS, words: ANY_WORDS, copiesMs: 1000 }, main);

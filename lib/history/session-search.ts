/** Searches past conversation for the command and for hosts: reads what is asked for, and answers at the door that has it. */

import { countPoints, type Line, plainText } from "../base/output.ts";
import { projectName } from "../base/text.ts";
import type { Config } from "../config/config.ts";
import type { Behind } from "../index/freshness.ts";
import { matchProject } from "../index/own-project.ts";
import { asksForOrder } from "../search/asked.ts";
import { type Hit, hitJson, isStrong, roundRelevance } from "../search/hit.ts";
import { findHits } from "../search/hits.ts";
import {
  type Beyond,
  nowhereLines,
  type PrintOptions,
  printBrief,
  printBySession,
  printFull,
  printHits,
  UNCERTAIN_CHARS,
} from "../search/print.ts";
import { hiddenSessions, toFilter } from "../search/search-filters.ts";
import { mayShowShared } from "../sessions/pulled.ts";
import type { Store } from "../store/store.ts";
import { withAftermath } from "./aftermath.ts";
import type { TimeFilter } from "./doors.ts";
import { logSearch, readIndexSize, type SearchResources, withFreshIndex } from "./fresh-index.ts";
import { type Answer, limitsOf, type Search, type SearchRequest } from "./request.ts";
import { located, makeStyle, resumeCommands } from "./style.ts";

/** Passages looked at for each session that is listed. */
const PLACES_PER_SESSION = 5;

export interface SearchAnswer extends Pick<Answer, "results" | "blame"> {
  index: {
    sessions: number;
    chunks: number;
    vectors: number;
    /** The transcripts that are not in the index yet. */
    behind: Behind;
    semantic: string;
  };
}

/** Searches past conversation. */
export async function sessionSearch(
  request: SearchRequest,
  resources: SearchResources = {},
): Promise<SearchAnswer> {
  const { results, blame, index } = await searchAsText(request, resources);
  return { results, ...(blame && { blame }), index };
}

/** The output of the command: the answer's lines, and whether the search brought the index up to date. */
interface PrintedAnswer extends SearchAnswer {
  lines: Line[];
  text: string;
  hasIndexed: boolean;
}

/** Searches past conversation; the answer's lines are what the command prints. */
export async function searchAsText(
  request: SearchRequest,
  resources: SearchResources = {},
): Promise<PrintedAnswer> {
  const started = performance.now();
  return await withFreshIndex(resources, async ({ store, config, behind }) => {
    const hasIndexed = Number(store.get("SELECT total_changes() AS n")?.n ?? 0) > 0;
    const search = await readRequest(request, store, { ...resources, config });
    const { lines, results, semantic, blame } = await answer(search);
    logSearch(store, { tookMs: performance.now() - started, results: results.length });
    const text = lines.map(plainText).join("\n");
    const index = { ...readIndexSize(store), behind, semantic };
    return { lines, text, results, blame, index, hasIndexed };
  });
}

async function readRequest(
  request: SearchRequest,
  store: Store,
  { config, signal, remark }: SearchResources & Pick<Search, "config">,
): Promise<Search> {
  const { filters = {}, subagents = false, cwd = process.cwd() } = request;
  const own = request.own === true || !mayShowShared(config.paths);
  return {
    store,
    config,
    request,
    signal,
    cwd,
    texts: [request.query ?? []].flat(),
    filter: await toFilter(filters, { store, config, subagents, own, remark }),
    style: makeStyle(store, config),
    isHidden: await hiddenSessions(store, { ...config, own }),
  };
}

/** Answers a question, or from what was done: about a file, an error or a command, or at a time. */
async function answer(search: Search): Promise<Answer> {
  const { texts, filter, request } = search;
  const { file, error, command } = request.filters ?? {};
  const isOfDeeds = [file, error, command].some((asked) => asked !== undefined);
  const times = isOfDeeds ? [] : await timesAsked(search);
  if (!isOfDeeds && times.length === 0) return await answerQuestion(search);
  const { findDeeds, findTimes, listSessionIds, printFound } = await import("./doors.ts");
  const found = isOfDeeds ? await findDeeds(search) : findTimes(search, times);
  if (texts.length === 0 || (!isOfDeeds && found.hits.length > 0)) return printFound(found, search);
  if (!isOfDeeds) return await answerQuestion(search);
  return await answerQuestion({ ...search, filter: { ...filter, among: listSessionIds(found.hits) } });
}

/** Returns the times that are asked for and nothing else: by the first phrasing, or by filters and every phrasing. */
async function timesAsked({ texts, filter, config, store }: Search): Promise<TimeFilter[]> {
  const { after, before, topics } = filter;
  if (topics !== undefined) return [];
  if (texts.length === 0) return [{ after, before }];
  const { readTimeAsked } = await import("../language/times.ts");
  const clock = { now: new Date(), timezone: config.settings.timezone };
  const paths = projectPaths(store);
  const names = [...new Set(paths.map((path) => projectName(path)))];
  const asked = texts.map((text) => readTimeAsked(text, clock, names));
  const [question] = asked;
  if (question === undefined || (question.times.length === 0 && asked.includes(undefined))) return [];
  const named = asked.flatMap((one) => one?.projects ?? []);
  const projects = named.length === 0 ? undefined : paths.filter((path) => named.includes(projectName(path)));
  if (after !== undefined || before !== undefined) return [{ after, before, projects }];
  const iso = (time: number) => new Date(time).toISOString();
  return question.times.map(({ from, to }) => ({ after: iso(from), before: iso(to), projects }));
}

/** Returns the projects of a store and the directories of its sessions. */
function projectPaths(store: Store): string[] {
  return store
    .all(
      "SELECT project AS path FROM sessions WHERE project IS NOT NULL UNION SELECT cwd FROM sessions WHERE cwd IS NOT NULL",
    )
    .map(({ path }) => String(path));
}

async function answerQuestion(search: Search): Promise<Answer> {
  const { store, texts, request, filter, style, config, cwd, isHidden } = search;
  const { mode: wanted = "rows", context = 0, minScore = 0, explain = false } = request;
  const { limit, maxChars } = limitsOf(request);
  const isByTime = wanted === "rows" && context === 0 && asksForOrder(texts);
  const mode = isByTime ? "sessions" : wanted;
  const { embedding, timezone } = config.settings;
  const { meaning, semantic } = embedding
    ? await (await import("../search/nearest.ts")).findByMeaning(store, texts, { ...search, embedding })
    : { semantic: "off: no embedding in config.json" };
  const found = findHits(store, texts, {
    filter,
    limit: mode === "sessions" ? limit * PLACES_PER_SESSION : limit,
    now: new Date(),
    timezone,
    meaning,
    isOwn: matchProject(cwd, config.paths),
    isHidden,
    after: (rows, place) => withAftermath(rows, { ...place, cwd }),
    style,
    maxChars,
    isBrief: mode === "brief" || mode === "sessions",
    isWhole: mode === "full",
    around: context,
    explain,
  });
  const hits = found.hits
    .filter((hit) => roundRelevance(hit) >= minScore)
    .map((hit) => located(hit, config.paths));
  const top = hits.length > 0 ? nowhereLines(found.nowhere) : [];
  const isShort = isByTime && !hits.some(isStrong);
  const left = (isShort ? Math.min(maxChars, UNCERTAIN_CHARS) : found.maxChars) - countPoints(top);
  const options = { ...style, maxChars: left, limit, isByTime, beyond: found.beyond };
  const lines = [...top, ...(await printed(hits, { ...request, mode }, { ...options, paths: config.paths }))];
  const results = isByTime ? hits.slice(0, limit) : hits;
  return { lines, results: results.map((hit) => hitJson(hit, style)), semantic };
}

/** Prints the hits of a question in a form. */
async function printed(
  hits: readonly Hit[],
  { mode, resume }: Pick<SearchRequest, "mode" | "resume">,
  {
    beyond,
    paths,
    limit,
    isByTime,
    ...options
  }: PrintOptions & { beyond: Beyond; paths: Config["paths"]; limit: number; isByTime: boolean },
): Promise<Line[]> {
  if (mode === "brief") return printBrief(hits, options);
  if (mode === "full") return printFull(hits, options);
  if (mode === "rows") return printHits(hits, beyond, options);
  const { isLook } = await import("../transcripts/command-lines.ts");
  const resumeOf = resume ? await resumeCommands(paths) : undefined;
  return printBySession(hits, { ...options, limit, isLook, resumeOf, isByTime });
}

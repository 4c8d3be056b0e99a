/** Searches past conversation for the command and for hosts: updates the index, finds, and formats the lines to print. */

import { hasContent, whyUnwritable } from "../base/files.ts";
import { countPoints, type Line, linesWithin, plainText } from "../base/output.ts";
import { projectName } from "../base/text.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { type Behind, findChanged, isAllIndexed, openIndex, unreadPulled } from "../index/freshness.ts";
import { hasNamesake, hostId, type IndexedSession } from "../index/index-state.ts";
import { matchProject } from "../index/own-project.ts";
import type { ChunkFilter } from "../search/candidates.ts";
import { uniquePrefix } from "../search/corpus.ts";
import { type Hit, type HitStyle, hitJson, readLoss, roundRelevance } from "../search/hit.ts";
import { findHits } from "../search/hits.ts";
import {
  type Beyond,
  LIMIT_MAX,
  nowhereLines,
  type PrintOptions,
  printBrief,
  printBySession,
  printFull,
  printHits,
} from "../search/print.ts";
import { hiddenSessions, type SearchFilters, toFilter } from "../search/search-filters.ts";
import { callingSession } from "../sessions/hosts.ts";
import { readName } from "../sessions/meta.ts";
import { archivePlace, findMachine } from "../sessions/places.ts";
import { mayShowShared, pulledSessions, sharedBy } from "../sessions/pulled.ts";
import { readRepositories } from "../store/repositories.ts";
import { IS_OWN, type Store, tendIndexes } from "../store/store.ts";
import { hasPromptsAlone, statUnpacked } from "../transcripts/files.ts";
import { readRules, shownText } from "../transcripts/rules.ts";
import { withAftermath } from "./aftermath.ts";
import type { Blamed, Verdict } from "./blame.ts";
import type { FindScope } from "./finds.ts";
import type { SearchPlace } from "./histories.ts";

const LIMIT_DEFAULT = 5;
const LIMIT_OF_LINES = 20;
/** Results and code points of all output, by mode. */
const MODES = {
  // of the 2,500 that are promised at most; the last tenth answers hardly a question
  rows: { limit: LIMIT_DEFAULT, maxChars: 2250 },
  brief: { limit: LIMIT_OF_LINES, maxChars: 4000 },
  sessions: { limit: LIMIT_OF_LINES, maxChars: 4000 },
  full: { limit: LIMIT_DEFAULT, maxChars: 10_000 },
};
/** The time allowed for updating the index before an answer. */
const INDEX_MS = 1000;
/** Passages looked at for each session that is listed. */
const PLACES_PER_SESSION = 5;

/** The form of printed hits: their rows, one line each, one line per session, or whole exchanges. */
export type SearchMode = keyof typeof MODES;

export interface SearchRequest {
  /** One question, or several phrasings of it; none where the filters ask for a file, an error or a command. */
  query?: string | string[] | undefined;
  filters?: SearchFilters | undefined;
  /** The form of the printed answer. @default {"rows"} */
  mode?: SearchMode | undefined;
  /** @default {5, or 20 where a result is one line} */
  limit?: number | undefined;
  /** Code points of all output. @default {by mode} */
  maxChars?: number | undefined;
  /** The directory whose project leads among equals. @default the working directory */
  cwd?: string | undefined;
  /** Exchanges before and after each result. @default {0} */
  context?: number | undefined;
  /** @default {0} */
  minScore?: number | undefined;
  /** @default {false} */
  subagents?: boolean | undefined;
  /** True if only own sessions are searched, not shared ones. @default {false} */
  own?: boolean | undefined;
  /** True if results explain their scores. @default {false} */
  explain?: boolean | undefined;
  /** True if each session printed by mode `sessions` has the command that resumes it. @default {false} */
  resume?: boolean | undefined;
}

export interface SearchResources {
  /** @default the environment's and config.json's */
  config?: Config | undefined;
  /** True if the index is brought up to date first. @default {true} */
  index?: boolean | undefined;
  /** Receives a remark on what a reference to a session came to mean. */
  remark?: ((text: string) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** One result, as `--json` prints it. */
export type HitJson = ReturnType<typeof hitJson>;

export interface SearchAnswer {
  /** Best first; empty when nothing is relevant. */
  results: HitJson[];
  /** The writers of the lines asked for. */
  blame?: Verdict[] | undefined;
  index: {
    sessions: number;
    chunks: number;
    vectors: number;
    /** The transcripts that are not in the index yet. */
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
    const { lines, results, semantic, blame } = await answer(store, request, { ...resources, config });
    logSearch(store, { tookMs: performance.now() - started, results: results.length });
    const text = lines.map(plainText).join("\n");
    const index = { ...readIndexSize(store), behind, semantic };
    return { lines, text, results, blame, index, hasIndexed };
  });
}

/** Notes how long a search took. */
function logSearch(store: Store, { tookMs, results }: { tookMs: number; results: number }): void {
  try {
    // an index run holds the lock for up to half a second: the answer does not wait for its own note
    store.exec("PRAGMA busy_timeout = 0");
    store.run("INSERT INTO searches (at, took_ms, results) VALUES ($at, $tookMs, $results)", {
      at: new Date().toISOString(),
      tookMs,
      results,
    });
  } catch {
    // one number less for the average
  } finally {
    store.exec("PRAGMA busy_timeout = 10000");
  }
}

/** Returns how much the index holds of own sessions. */
function readIndexSize(store: Store): { sessions: number; chunks: number; vectors: number } {
  const count = (sql: string) => Number(store.get(sql)?.n ?? 0);
  return {
    sessions: count("SELECT count(*) AS n FROM own_sessions"),
    chunks: count(`SELECT coalesce(sum(chunk_count), 0) AS n FROM index_state WHERE ${IS_OWN}`),
    vectors: count("SELECT count(*) AS n FROM chunks WHERE embedder IS NOT NULL"),
  };
}

/** Opens the index, brings it up to date where that is wanted and possible, and closes it after use. */
async function withFreshIndex<T>(
  { index: isWanted = true, signal, ...resources }: SearchResources,
  use: (opened: { store: Store; config: Config; behind: Behind }) => Promise<T>,
): Promise<T> {
  const loaded = resources.config ?? (await loadConfig(process.env, process.cwd()));
  const config = { currentSession: callingSession(loaded.env), ...loaded };
  const index = isWanted && whyUnwritable(config.paths.home) === undefined;
  const store = openIndex(config.paths.database, config.settings, { create: index });
  try {
    if (index) tendIndexes(config.paths, new Date());
    if (index && hasContent(config.paths.former))
      (await import("../index/former-index.ts")).takeFormerIndex(store, config);
    return await use({ store, config, behind: await updateIndex(store, { config, index, signal }) });
  } finally {
    store.close();
  }
}

/** Brings the index up to date as a search does. */
export async function refreshIndex(config: Config): Promise<void> {
  await withFreshIndex({ config }, async () => undefined);
}

/** The least passages of a topic that is listed. */
const TOPIC_PASSAGES_MIN = 2; // promised

/** Returns the topics that several passages have, most frequent first, with the numbers of their chunks and sessions. */
export async function sessionTopics(
  resources: SearchResources & Pick<SearchRequest, "subagents" | "maxChars"> = {},
): Promise<{ topics: { topic: string; chunks: number; sessions: number }[]; lines: Line[] }> {
  return await withFreshIndex(resources, async ({ store }) => {
    const topics = store
      .all(
        `SELECT value AS topic, count(*) AS chunks, count(DISTINCT session_id) AS sessions
         FROM session_chunks, json_each(topic_tags)
         WHERE session_id IN (SELECT id FROM own_sessions WHERE $subagents OR parent_id IS NULL)
         GROUP BY value HAVING count(*) >= $passages ORDER BY chunks DESC, topic`,
        { passages: TOPIC_PASSAGES_MIN, subagents: resources.subagents ? 1 : 0 },
      )
      .map(({ topic, chunks, sessions }) => ({
        topic: String(topic),
        chunks: Number(chunks),
        sessions: Number(sessions),
      }));
    const lines = topics.map(({ topic, chunks, sessions }): Line => {
      const counts = ` ${chunks}${sessions > 1 ? ` (${sessions} sessions)` : ""}`;
      return { kind: "text", parts: [["name", topic], counts] };
    });
    return { topics, lines: linesWithin(lines, maxCharsFor({ mode: "brief", ...resources })) };
  });
}

/** Updates the index for up to a second; returns what is left. */
async function updateIndex(
  store: Store,
  { config, index, signal }: SearchResources & { config: Config },
): Promise<Behind> {
  const { settings, paths } = config;
  if (isAllIndexed(store, paths)) return { sessions: 0, bytes: 0 };
  // the modules that read transcripts are half of the program, and mostly there is nothing new
  const [{ listSessions, visibleAmong }, { catchUp, readBehind }] = await Promise.all([
    import("../sessions/sessions.ts"),
    import("../index/indexing.ts"),
  ]);
  // Asked of those alone that changed: it may open files.
  const changed = findChanged(store, listSessions(paths, { subagents: true, excluded: true }), paths);
  const theirs = pulledSessions(paths, { files: unreadPulled(store, paths) });
  const sessions = [...visibleAmong(changed, paths), ...theirs];
  if (!index) return readBehind({ store, sessions });
  return await catchUp({ store, paths, sessions, settings, deadlineMs: INDEX_MS, signal });
}

interface Answer extends Pick<SearchAnswer, "blame"> {
  lines: Line[];
  results: HitJson[];
  semantic: string;
}

/** A search as all its steps see it. */
interface Search extends SearchPlace {
  style: HitStyle;
  config: Config;
  request: SearchRequest;
  /** The phrasings. */
  texts: string[];
  signal: AbortSignal | undefined;
}

async function answer(
  store: Store,
  request: SearchRequest,
  { config, signal, remark }: SearchResources & { config: Config },
): Promise<Answer> {
  const { filters = {}, subagents = false, cwd = process.cwd() } = request;
  const own = request.own === true || !mayShowShared(config.paths);
  const search: Search = {
    store,
    config,
    request,
    signal,
    texts: [request.query ?? []].flat(),
    filter: await toFilter(filters, { store, config, subagents, own, remark }),
    style: makeStyle(store, config),
    cwd,
    isHidden: await hiddenSessions(store, { ...config, own }),
  };
  const { file, error, command } = filters;
  const isOfDeeds = [file, error, command].some((asked) => asked !== undefined);
  const times = isOfDeeds ? [] : await timesAsked(search);
  if (!isOfDeeds && times.length === 0) return await answerQuestion(search);
  const { findHistory, makeScope, listSessionIds, timeHistory } = await import("./histories.ts");
  const scope = makeScope(search);
  const blamed = file === undefined ? undefined : await blameFile(file, search, scope);
  const found = isOfDeeds
    ? (blamed?.hits ?? findHistory(store, filters, scope))
    : times.flatMap((time) => timeHistory(store, { ...search.filter, ...time }));
  const hits = found
    .filter(({ session }) => !search.isHidden(session))
    .map((hit) => located(hit, config.paths));
  if (search.texts.length === 0 || (!isOfDeeds && hits.length > 0))
    return await answerDone(hits, search, { isOfDeeds, blamed });
  const among = isOfDeeds ? { among: listSessionIds(hits) } : {};
  return await answerQuestion({ ...search, filter: { ...search.filter, ...among } });
}

/** Finds who wrote the lines that a file is asked for with; undefined where it names none. */
async function blameFile(
  file: string,
  { store, cwd, config }: Search,
  scope: FindScope,
): Promise<Blamed | undefined> {
  if (!/:\d/.test(file)) return undefined;
  const { blame, linePlace } = await import("./blame.ts");
  const place = linePlace(file, cwd);
  return place && blame(place, { store, scope, rules: readRules(config.paths) });
}

/** A time that is asked for and nothing else, of some projects perhaps. */
type TimeFilter = Pick<ChunkFilter, "after" | "before" | "projects">;

/** Returns the times that are asked for and nothing else: by the first phrasing, or by filters and every phrasing. */
async function timesAsked({
  texts,
  filter: { after, before, topics },
  config,
  store,
}: Search): Promise<TimeFilter[]> {
  if (topics !== undefined) return [];
  if (texts.length === 0) return [{ after, before }];
  const { readTimeAsked } = await import("../language/times.ts");
  const clock = { now: new Date(), timezone: config.settings.timezone };
  const known = projectPaths(store);
  const asked = texts.map((text) =>
    readTimeAsked(text, clock, [...new Set(known.map((path) => projectName(path)))]),
  );
  const [question] = asked;
  if (question === undefined || (question.times.length === 0 && asked.includes(undefined))) return [];
  const names = new Set(asked.flatMap((one) => one?.projects ?? []));
  const projects = names.size === 0 ? undefined : known.filter((path) => names.has(projectName(path)));
  if (after !== undefined || before !== undefined) return [{ after, before, projects }];
  return question.times.map(({ from, to }) => ({
    after: new Date(from).toISOString(),
    before: new Date(to).toISOString(),
    projects,
  }));
}

/** Returns the projects of a store and the directories of its sessions. */
function projectPaths(store: Store): string[] {
  return store
    .all(
      "SELECT project AS path FROM sessions WHERE project IS NOT NULL UNION SELECT cwd FROM sessions WHERE cwd IS NOT NULL",
    )
    .map(({ path }) => String(path));
}

/** Prints what was done: about a file, an error, a command, or at a time. */
async function answerDone(
  hits: readonly Hit[],
  { request, texts, style }: Search,
  { isOfDeeds, blamed }: { isOfDeeds: boolean; blamed: Blamed | undefined },
): Promise<Answer> {
  const { printDone } = await import("./histories.ts");
  const { error, file, command } = request.filters ?? {};
  const isCommand = command !== undefined && file === undefined && error === undefined;
  const limit =
    request.limit ?? (!isOfDeeds ? LIMIT_OF_LINES : error === undefined ? LIMIT_MAX : LIMIT_DEFAULT);
  const shown = hits.slice(0, limit);
  const top = (blamed?.lines ?? []).map((line): Line => ({ kind: "text", parts: [line] }));
  const isBrief = request.mode === "brief" || (isOfDeeds && request.mode === "sessions");
  const isList = !isOfDeeds && texts.length === 0;
  const lines = printDone(shown, {
    ...style,
    total: hits.length,
    maxChars: maxCharsFor(isList ? { ...request, mode: "sessions" } : request) - countPoints(top),
    form: isCommand ? "commands" : isBrief ? "lines" : "rows",
  });
  const results = shown.map((hit) => hitJson(hit, style));
  return { lines: [...top, ...lines], results, semantic: "off: not asked", blame: blamed?.verdicts };
}

async function answerQuestion(search: Search): Promise<Answer> {
  const { store, texts, request, filter, style, config, cwd, isHidden } = search;
  const { mode = "rows", context = 0, minScore = 0, explain = false } = request;
  const limit = request.limit ?? MODES[mode].limit;
  const { embedding } = config.settings;
  const { meaning, semantic } = embedding
    ? await (await import("../search/nearest.ts")).findByMeaning(store, texts, { ...search, embedding })
    : { semantic: "off: no embedding in config.json" };
  const found = findHits(store, texts, {
    filter,
    limit: mode === "sessions" ? limit * PLACES_PER_SESSION : limit,
    now: new Date(),
    timezone: config.settings.timezone,
    meaning,
    isOwn: matchProject(cwd, config.paths),
    isHidden,
    after: (rows, place) => withAftermath(rows, { ...place, cwd }),
    style,
    maxChars: maxCharsFor(request),
    isBrief: mode === "brief" || mode === "sessions",
    isWhole: mode === "full",
    around: context,
    explain,
  });
  const hits = found.hits
    .filter((hit) => roundRelevance(hit) >= minScore)
    .map((hit) => located(hit, config.paths));
  const top = hits.length > 0 ? nowhereLines(found.nowhere) : [];
  const options = { ...style, maxChars: found.maxChars - countPoints(top) };
  const lines = [...top, ...(await printed(hits, request, { ...options, beyond: found.beyond, config }))];
  return { lines, results: hits.map((hit) => hitJson(hit, style)), semantic };
}

/** Returns a hit with our copy of its session where its transcript is gone: the index may not know of that yet. */
function located(hit: Hit, paths: Config["paths"]): Hit {
  const { session } = hit;
  if (paths.transcripts.length > 0 || sharedBy(session) || statUnpacked(session.file)) return hit;
  const file = archivePlace(paths, { agent: session.agent, id: hostId(session.id) });
  // what the index holds of a session is more than its prompts
  const isMore = statUnpacked(file) !== undefined && !hasPromptsAlone(file);
  return isMore ? { ...hit, session: { ...session, file, sourceGone: false } } : hit;
}

/** Returns how sessions are shown. */
function makeStyle(store: Store, { settings, paths }: Config): HitStyle {
  const nameOf = namer(paths);
  return {
    nameOf: oncePerSession(nameOf),
    shortId: oncePerSession((session) => {
      if (hasNamesake(store, session.id)) return session.file;
      const machine = findMachine(session.file, paths);
      return `${shortIdIn(store, session)}${machine === undefined ? "" : `@${machine}`}`;
    }),
    originAt: (path) => readRepositories(paths.repositories).get(path)?.at(-1)?.origin,
    timezone: settings.timezone,
    participants: settings.participants,
  };
}

/** Returns the shortest start of an id that is unique in the index. */
function shortIdIn(store: Store, session: IndexedSession): string {
  return uniquePrefix(store, session.id, session.id.length - (sharedBy(session) ?? session).id.length);
}

/** Returns a function that asks another one once for each session. */
function oncePerSession<T>(ask: (session: IndexedSession) => T): (session: IndexedSession) => T {
  const known = new Map<string, T>();
  return (session) => {
    const key = `${session.id} ${session.file}`;
    if (!known.has(key)) known.set(key, ask(session));
    return known.get(key) as T;
  };
}

/** Returns what gives a session's name: its meta file's, else its host's as it was when it was indexed. Opens no transcript. */
function namer(paths: Config["paths"]): (session: IndexedSession) => string | undefined {
  const rules = readRules(paths);
  return (session) =>
    shownText(sharedBy(session) ? session.name : (readName(session, paths) ?? session.name), rules);
}

function maxCharsFor({ maxChars, mode = "rows", context = 0 }: SearchRequest): number {
  return maxChars ?? MODES[context > 0 ? "full" : mode].maxChars;
}

async function printed(
  hits: readonly Hit[],
  request: SearchRequest,
  { config, beyond, ...options }: PrintOptions & { beyond: Beyond; config: Config },
): Promise<Line[]> {
  if (request.mode === "brief") return printBrief(hits, options);
  if (request.mode === "sessions") {
    const [{ commandToGoOn }, { sessionAt }, { isLook }] = await Promise.all([
      import("../sessions/listing.ts"),
      import("../sessions/sessions.ts"),
      import("../transcripts/command-lines.ts"),
    ]);
    const resumeOf = (hit: Hit) => {
      const isLost = sharedBy(hit.session) || readLoss(hit).isGone;
      const session = isLost ? undefined : sessionAt(hit.session.file, config.paths);
      return session && commandToGoOn({ ...session, machine: findMachine(session.file, config.paths) });
    };
    const sessions = { limit: request.limit ?? LIMIT_OF_LINES, isLook, ...(request.resume && { resumeOf }) };
    return printBySession(hits, { ...options, ...sessions });
  }
  return request.mode === "full" ? printFull(hits, options) : printHits(hits, beyond, options);
}

/** Answers a search from deeds: of a file, an error or a command, of a written line, or of a time. */

import { countPoints, type Line } from "../base/output.ts";
import { type ChunkFilter, filterSelect } from "../search/candidates.ts";
import { type Hit, hitJson } from "../search/hit.ts";
import { LIMIT_MAX } from "../search/print.ts";
import { markRewound, withHolding } from "../search/rows.ts";
import type { SearchFilters } from "../search/search-filters.ts";
import { readRules } from "../transcripts/rules.ts";
import { withAftermath } from "./aftermath.ts";
import type { Blamed } from "./blame.ts";
import { commandHistory } from "./commands.ts";
import { errorHistory } from "./errors.ts";
import { fileHistory } from "./file-history.ts";
import type { FindScope } from "./finds.ts";
import { type DoneForm, printDone } from "./print-done.ts";
import { type Answer, limitsOf, type Search, type SearchMode } from "./request.ts";
import { located } from "./style.ts";
import { timeHistory } from "./time-history.ts";

/** Hits of one door, and how they are printed. */
interface Found {
  hits: Hit[];
  form: DoneForm;
  /** The mode whose page they fill. */
  mode: SearchMode | undefined;
  /** The most that are printed, unless another number is asked for. */
  limit: number;
  blamed?: Blamed | undefined;
}

/** The ways to ask for deeds; of several the first one's are shown. */
const DOORS = { error: errorHistory, file: fileHistory, command: commandHistory };

/** Shown unless more are asked for; of a file or a command all are. */
const ERRORS_SHOWN = 5;
const SESSIONS_SHOWN = 20;

/** Finds what was done about the file, error or command that is asked for, or who wrote the file's lines. */
export async function findDeeds(search: Search): Promise<Found> {
  const { request, config } = search;
  const { filters = {}, mode } = request;
  const scope = makeScope(search);
  const blamed = await blameFile(search, scope);
  const hits = blamed?.hits ?? findHistory(search, filters, scope);
  const { file, error, command } = filters;
  const isCommand = command !== undefined && file === undefined && error === undefined;
  const isBrief = mode === "brief" || mode === "sessions";
  return {
    hits: hits.map((hit) => located(hit, config.paths)),
    form: isCommand ? "commands" : isBrief ? "lines" : "rows",
    mode,
    limit: error === undefined ? LIMIT_MAX : ERRORS_SHOWN,
    blamed,
  };
}

/** Finds who wrote the lines that a file is asked for with; undefined where it names none. */
async function blameFile(
  { request, store, cwd, config }: Search,
  scope: FindScope,
): Promise<Blamed | undefined> {
  const { file = "" } = request.filters ?? {};
  if (!/:\d/.test(file)) return undefined;
  const { blame, linePlace } = await import("./blame.ts");
  const place = linePlace(file, cwd);
  return place && blame(place, { store, scope, rules: readRules(config.paths) });
}

/** Finds what was done: of the first thing asked for, in the sessions that have the others too. */
function findHistory({ store }: Search, asked: SearchFilters, scope: FindScope): Hit[] {
  const [first, ...others] = (["error", "file", "command"] as const).flatMap((door) => {
    const words = asked[door];
    return words === undefined ? [] : (within: FindScope) => DOORS[door](store, words, within);
  });
  let within = scope;
  for (const find of others) within = { ...within, among: listSessionIds(find(within)) };
  return (first?.(within) ?? []).map((hit) => {
    const place = { store, session: hit.session };
    const rows = withHolding(markRewound(hit.rows, store, hit.session.number), place);
    return { ...hit, rows: withAftermath(rows, { ...within, ...place }) };
  });
}

/** Returns the ids of the sessions of hits. */
export function listSessionIds(hits: readonly Hit[]): string[] {
  return [...new Set(hits.flatMap(({ session, elsewhere = [] }) => [session.id, ...elsewhere]))];
}

/** Returns the scope of a search: its times, and the sessions with any chunk that passes its filter. */
function makeScope({ store, filter, config, cwd, isHidden }: Search): FindScope {
  const { session, among, agent, projects, after, before } = filter;
  const { sql, values, isOpen } = filterSelect({ session, among, agent, projects, subagents: true });
  const ids = isOpen
    ? undefined
    : store
        .all(`SELECT DISTINCT session_id FROM session_chunks WHERE id IN (${sql})`, values)
        .map(({ session_id }) => String(session_id));
  const subagents = filter.subagents === true || session !== undefined;
  return { cwd, paths: config.paths, isHidden, among: ids, subagents, after, before };
}

/** A time that is asked for and nothing else, of some projects perhaps. */
export type TimeFilter = Pick<ChunkFilter, "after" | "before" | "projects">;

/** Finds the sessions of some times. */
export function findTimes(search: Search, times: readonly TimeFilter[]): Found {
  const { store, config, filter, request, texts, isHidden } = search;
  const hits = times
    .flatMap((time) => timeHistory(store, { ...filter, ...time }))
    .filter(({ session }) => !isHidden(session))
    .map((hit) => located(hit, config.paths));
  const mode = texts.length === 0 ? "sessions" : request.mode;
  return { hits, form: request.mode === "brief" ? "lines" : "rows", mode, limit: SESSIONS_SHOWN };
}

/** Prints what was found at a door. */
export function printFound({ hits, form, mode, limit, blamed }: Found, { request, style }: Search): Answer {
  const shown = hits.slice(0, request.limit ?? limit);
  const top = (blamed?.lines ?? []).map((line): Line => ({ kind: "text", parts: [line] }));
  const maxChars = limitsOf({ ...request, mode }).maxChars - countPoints(top);
  const lines = printDone(shown, { ...style, total: hits.length, maxChars, form });
  const results = shown.map((hit) => hitJson(hit, style));
  return { lines: [...top, ...lines], results, semantic: "off: not asked", blame: blamed?.verdicts };
}

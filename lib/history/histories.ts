/** Finds what was done about a file, an error or a command, or at a time, as lines to print. */

import { countPoints, cutLine, joinFacts, type Line, linesWithin, type Part } from "../base/output.ts";
import { counted, oneLine, truncate } from "../base/text.ts";
import type { Config } from "../config/config.ts";
import type { Done } from "../hosts/session.ts";
import { type IndexedSession, SESSION_COLUMNS, toIndexedSession } from "../index/index-state.ts";
import { readDone, type Stored } from "../index/stored-rows.ts";
import { gist, readReply } from "../language/speech.ts";
import { contentWords } from "../language/words.ts";
import { type ChunkFilter, filterSelect } from "../search/candidates.ts";
import type { Hit } from "../search/hit.ts";
import {
  alsoLines,
  type Block,
  fit,
  formatHead,
  formatPlace,
  headLine,
  joinBlocks,
  LIMIT_MAX,
  type PrintOptions,
  rowLine,
  timePart,
} from "../search/print.ts";
import { markRewound, rowParts, type ShownRow, withHolding } from "../search/rows.ts";
import type { SearchFilters } from "../search/search-filters.ts";
import type { Store } from "../store/store.ts";
import { commandOrTarget } from "../transcripts/command-lines.ts";
import { findCommits } from "../transcripts/outcome.ts";
import { isChange } from "../transcripts/rows.ts";
import { tally } from "../transcripts/tally.ts";
import { withAftermath } from "./aftermath.ts";
import { commandHistory } from "./commands.ts";
import { errorHistory } from "./errors.ts";
import { fileHistory } from "./file-history.ts";
import { deedRow, doneHit, type FindScope, messagesWithin } from "./finds.ts";

interface DoneOptions extends PrintOptions {
  /** The number of results with the unprinted ones. @default the number printed */
  total?: number | undefined;
  /** Rows below each, one line each, or one line that begins with the command. @default {"rows"} */
  form?: "rows" | "lines" | "commands" | undefined;
}

const ROW_CHARS = 300;
const ANSWER_CHARS = 1100;
const LINE_CHARS = 160;
const SEPARATOR_CHARS = 3;
const CHARS_STEP = 500; // a round number to type

/** Prints what was done with its rows, as far as these fit. */
export function printDone(hits: readonly Hit[], options: DoneOptions): Line[] {
  const { form = "rows" } = options;
  const blocks = hits.map((hit, i): Block => {
    const head = form === "commands" ? commandLine(hit, i, options) : formatHead(hits, i, options);
    if (form !== "rows") return { head: cutLine(head, LINE_CHARS), rows: [], rest: [] };
    const rows = hit.rows.map((row) => {
      // what an only session ended with is wanted whole
      const most = hits.length === 1 && row.who === "assistant" ? ANSWER_CHARS : ROW_CHARS;
      return cutLine(rowLine("   ", ...rowParts(row, options.participants)), most);
    });
    return { head: cutLine(head, LINE_CHARS), rows, rest: alsoLines(hit.also) };
  });
  return fitDone(blocks, options);
}

/** Returns the line of a command, with where it ran last. */
function commandLine(hit: Hit, i: number, options: DoneOptions): Line {
  const [run] = hit.rows;
  const place: Part = ["name", formatPlace(hit, options)];
  const rest = [hit.summary, timePart(hit.at, options.timezone), place];
  // where it ran is not what gives way
  const room = LINE_CHARS - countPoints([headLine(i, joinFacts(rest))]) - SEPARATOR_CHARS;
  const facts = joinFacts([run?.tool && truncate(run.tool, room), ...rest]);
  return headLine(i, run?.text ? [...facts, ": ", ["said", run.text]] : facts);
}

/** Fits hits into their code points; a last line counts what is left out, and names the flags that show it. */
function fitDone(blocks: Block[], { maxChars, total = blocks.length }: DoneOptions): Line[] {
  const count = joinBlocks(blocks).length;
  const more = total - blocks.length;
  const most = Math.max(blocks.length, Math.min(total, LIMIT_MAX));
  const limit = most > blocks.length ? ` --limit ${most}` : "";
  const note = (left: string, flags: string): Line[] =>
    left === "" ? [] : [{ kind: "text", parts: [["faint", `… ${left}${flags && `:${flags}`}`]] }];
  const whole = countPoints([...joinBlocks(blocks), ...note(leftOut(more, 0), limit)]);
  const isOver = whole > maxChars;
  const needed = Math.ceil((whole * most) / blocks.length / CHARS_STEP) * CHARS_STEP;
  const flags = isOver ? `${limit} --max-chars ${needed}` : limit;
  const hits = blocks.length;
  const lines = fit(blocks, maxChars - countPoints(note(leftOut(more, isOver ? count : 0), flags)));
  return linesWithin(lines, maxChars, (cut) => {
    const kept = lines.length - cut;
    const shown = lines.slice(0, kept).filter(({ kind }) => kind === "result").length;
    return note(leftOut(more + hits - shown, count - kept), flags);
  });
}

/** Says what is left out: hits, or where all are there, rows of them. */
function leftOut(hits: number, rows: number): string {
  if (hits > 0) return `${hits} more`;
  return rows > 0 ? `${counted(rows, "more row")}` : "";
}

/** The ways to ask for deeds; of several the first one's are shown. */
const DOORS = { error: errorHistory, file: fileHistory, command: commandHistory };

/** Finds what was done: of the first thing asked for, in the sessions that have the others too. */
export function findHistory(store: Store, asked: SearchFilters, scope: FindScope): Hit[] {
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

/** The parts of a search that limit where it looks. */
export interface SearchPlace extends Pick<FindScope, "cwd"> {
  store: Store;
  filter: ChunkFilter;
  config: Pick<Config, "paths">;
  /** Returns whether a session may not be shown. */
  isHidden: (session: IndexedSession) => boolean;
}

/** Returns the scope of a search: its times, and the sessions with any chunk that passes its filter. */
export function makeScope({ store, filter, config, cwd, isHidden }: SearchPlace): FindScope {
  const { session, among, agent, projects, subagents, after, before } = filter;
  const { sql, values, isOpen } = filterSelect({ session, among, agent, projects, subagents: true });
  const ids = isOpen
    ? undefined
    : store
        .all(`SELECT DISTINCT session_id FROM session_chunks WHERE id IN (${sql})`, values)
        .map(({ session_id }) => String(session_id));
  return {
    cwd,
    paths: config.paths,
    isHidden,
    among: ids,
    subagents: subagents === true || session !== undefined,
    after,
    before,
  };
}

/** Lines of work behind the last words of a time. */
const WORK_LINES = 400;
const SAID_CHARS = 240;
/** The answer with which the only session of a time ended. */
const CLOSING_CHARS = 1000;
/** A shorter answer says only that something is done. */
const SUBSTANTIAL_CHARS = 120;
/** The rows that fit on a page of 4,000 characters, for all sessions of a time. */
const DAY_ROWS = 18;

/** Finds the sessions that pass a filter with a time, the latest first. */
export function timeHistory(store: Store, filter: ChunkFilter): Hit[] {
  const { sql, values } = filterSelect(filter);
  const columns = SESSION_COLUMNS.split(", ").map((column) => `s.${column}`);
  const rows = store.all(
    `SELECT ${columns.join(", ")}, min(c.first_line) AS first, max(c.last_line) AS last, max(c.timestamp) AS at
       FROM chunks c JOIN sessions s ON s.number = c.session
       WHERE c.id IN (${sql}) GROUP BY s.number ORDER BY at DESC`,
    values,
  );
  return rows.map((row) => {
    const [session, from, to] = [toIndexedSession(row), Number(row.first), Number(row.last)];
    const messages = messagesWithin(store, session.number, { from, to });
    const deeds = readDone(store, session.number, { after: from - 1, to: to + WORK_LINES }).filter(
      ({ at }) => filter.before === undefined || at <= filter.before,
    );
    return doneHit({
      session,
      at: String(row.at),
      summary: summarize(messages.length, deeds),
      rows: tellingRows(messages, deeds, { cwd: session.cwd, sessions: rows.length }),
      from,
      to,
      also: [],
    });
  });
}

/** Returns what was asked and done in a time, and the answer with which it ended; more of it where fewer sessions share the page. */
function tellingRows(
  messages: readonly ShownRow[],
  deeds: readonly Stored<Done>[],
  { sessions, cwd }: { sessions: number; cwd: string | undefined },
): ShownRow[] {
  const asked = messages.filter(({ who, text }) => who === "user" && readReply(text) === undefined);
  const commits = deeds.filter((deed) => commitsIn(deed).length > 0);
  const done = commits.at(-1) ?? deeds.findLast(isChange);
  const answers = messages.filter(({ who }) => who === "assistant");
  const last = answers.findLast(({ text }) => text.length >= SUBSTANTIAL_CHARS) ?? answers.at(-1);
  // of a long message its beginning, which says what came of the work
  const closing = answers.find(({ line }) => line === last?.line);
  const first = asked[0] ?? messages[0];
  const [firsts, room] = [
    [first, closing].filter((one) => one !== undefined),
    Math.floor(DAY_ROWS / sessions),
  ];
  const others = [
    ...(done ? [done] : []).map((deed) => doneRow(deed, cwd)),
    ...commits.slice(0, -1).map((deed) => doneRow(deed, cwd)),
    ...asked.slice(1).toSorted((a, b) => contentWords(b.text).length - contentWords(a.text).length),
  ];
  const most = sessions === 1 ? CLOSING_CHARS : SAID_CHARS;
  const shown = [...firsts, ...others.slice(0, Math.max(1, room - firsts.length))];
  return shown
    .map((row) => ({ ...row, text: row === closing ? gist(row.text, most) : oneLine(row.text, SAID_CHARS) }))
    .sort((a, b) => a.line - b.line);
}

function commitsIn(deed: Done): string[] {
  if (deed.kind !== "command") return [];
  return findCommits({ ...deed, target: commandOrTarget(deed) });
}

/** Returns commits with their subjects, or an edit. */
function doneRow(deed: Stored<Done>, cwd: string | undefined): ShownRow {
  if (isChange(deed)) return deedRow(deed, { cwd, text: "" });
  return deedRow({ ...deed, target: "git commit" }, { cwd, text: [...new Set(commitsIn(deed))].join("; ") });
}

function summarize(messages: number, deeds: readonly Done[]): string {
  const { edited, ran } = tally(deeds);
  const done = [
    edited.size > 0 ? `edited ${counted(edited.size, "file")}` : "",
    ran > 0 ? `ran ${counted(ran, "command")}` : "",
  ];
  return [counted(messages, "message"), ...done].filter(Boolean).join(", ");
}

/** Finds what was done about a file, an error or a command, or at a time, as lines to print and as JSON. */

import {
  countPoints,
  cutLine,
  joinFacts,
  type Line,
  linesWithin,
  type Part,
  plainText,
} from "../base/output.ts";
import { counted, folderName, truncate } from "../base/text.ts";
import type { Participants } from "../config/config.ts";
import { SESSION_COLUMNS, toSessionRow } from "../index/index-state.ts";
import { readDone } from "../index/stored-rows.ts";
import { gist, replyOf } from "../language/speech.ts";
import type { Store } from "../store/store.ts";
import { commitsOf } from "../transcripts/outcome.ts";
import type { Done } from "../transcripts/session.ts";
import { tally } from "../transcripts/tally.ts";
import { isChange } from "../transcripts/tool-call.ts";
import { withAftermath } from "./aftermath.ts";
import { type ChunkFilter, filterSelect } from "./candidates.ts";
import { commandHistory } from "./commands.ts";
import { commandOrTarget } from "./endings.ts";
import { errorHistory } from "./error-history.ts";
import { fileHistory } from "./file-history.ts";
import { deedRow, type Find, type FindScope, messagesWithin, type RowStyle } from "./finds.ts";
import {
  alsoLines,
  type Block,
  fit,
  LIMIT_MAX,
  linesOf,
  rangeOf,
  result,
  row,
  rowParts,
  sessionFields,
  timePart,
} from "./print.ts";
import { type Clean, markRewound, type Row, withHolding } from "./rows.ts";

interface FindStyle {
  /** Code points of all output, its line ends included. */
  maxChars: number;
  /** IANA name. @default the system's */
  timezone?: string | undefined;
  /** Returns the current name of a session. */
  nameOf: (session: Find["session"]) => string | undefined;
  /** Returns the shortest unique start of a session's id. */
  shortId: (session: Find["session"]) => string;
  clean: Clean;
  /** What the two who talk are called. @default User and Assistant */
  participants?: Participants | undefined;
  /** How many there are with those that are not printed. @default as many as are printed */
  total?: number | undefined;
  /** True if each find is one line. @default {false} */
  isBrief?: boolean | undefined;
}

const NAME_MAX = 44;
const PROJECT_MAX = 24;
const ROW_CHARS = 300;
const LINE_CHARS = 160;
const CHARS_STEP = 500; // a round number to type

/** Prints finds with their rows, as far as these fit. */
export function printFinds(finds: readonly Find[], style: FindStyle): Line[] {
  const blocks = finds.map((find, i): Block => {
    const head = cutLine(result(i, headFacts(find, style)), LINE_CHARS);
    if (style.isBrief) return { head, rows: [], rest: [] };
    const rows = find.rows.map((line) =>
      cutLine(row("   ", ...rowParts(line, style.participants)), ROW_CHARS),
    );
    return { head, rows, rest: alsoLines(find.also) };
  });
  return fitFinds(blocks, style);
}

/** Prints one line for each distinct command, with where it ran last. */
export function printCommands(finds: readonly Find[], style: FindStyle): Line[] {
  const blocks = finds.map((find, i): Block => {
    const [run] = find.rows;
    const place: Part = ["name", placeOf(find, style)];
    const facts = joinFacts([run?.tool, find.summary, timePart(find.timestamp, style.timezone), place]);
    const said: Part[] = run?.text ? [": ", ["said", run.text]] : [];
    return { head: cutLine(result(i, [...facts, ...said]), LINE_CHARS), rows: [], rest: [] };
  });
  return fitFinds(blocks, style);
}

function headFacts(find: Find, style: FindStyle): Part[] {
  const { session, timestamp, summary } = find;
  const name = style.nameOf(session);
  const project = projectOf(session);
  return joinFacts([
    ["name", placeOf(find, style)],
    name && truncate(style.clean(name).replace(/\s+/g, " "), NAME_MAX),
    project && truncate(style.clean(project), PROJECT_MAX),
    timePart(timestamp, style.timezone),
    summary,
  ]);
}

function projectOf({ project, cwd }: Find["session"]): string | undefined {
  return folderName(project ?? cwd ?? "") || undefined;
}

function placeOf({ session, firstLine, lastLine }: Find, { shortId }: FindStyle): string {
  return `${shortId(session)}:${rangeOf(firstLine, lastLine)}`;
}

/** Fits finds into their code points; a last line counts what is left out, and names the flags that show it. */
function fitFinds(blocks: Block[], { maxChars, total = blocks.length }: FindStyle): Line[] {
  const count = linesOf(blocks).length;
  const more = total - blocks.length;
  const most = Math.max(blocks.length, Math.min(total, LIMIT_MAX));
  const limit = most > blocks.length ? ` --limit ${most}` : "";
  const note = (left: string, flags: string): Line[] =>
    left === "" ? [] : [{ kind: "text", parts: [["faint", `… ${left}${flags && `:${flags}`}`]] }];
  const whole = countPoints([...linesOf(blocks), ...note(leftOut(more, 0), limit)]);
  const isOver = whole > maxChars;
  const needed = Math.ceil((whole * most) / blocks.length / CHARS_STEP) * CHARS_STEP;
  const flags = isOver ? `${limit} --max-chars ${needed}` : limit;
  const finds = blocks.length;
  const lines = fit(blocks, maxChars - countPoints(note(leftOut(more, isOver ? count : 0), flags)));
  return linesWithin(lines, maxChars, (cut) => {
    const kept = lines.length - cut;
    const shown = lines.slice(0, kept).filter(({ kind }) => kind === "result").length;
    return note(leftOut(more + finds - shown, count - kept), flags);
  });
}

/** Says what is left out: finds, or where all are there, rows of them. */
function leftOut(finds: number, rows: number): string {
  if (finds > 0) return `${finds} more`;
  return rows > 0 ? `${counted(rows, "more row")}` : "";
}

/** Converts a find to one of the results of `--json`. */
export function findJson(find: Find, { clean, nameOf }: Pick<FindStyle, "clean" | "nameOf">) {
  const { session, timestamp, summary, rows, also, firstLine, lastLine } = find;
  return {
    ...sessionFields(session, { name: nameOf(session), clean }),
    timestamp,
    topics: [],
    speakers: [...new Set(rows.flatMap(({ who }) => (who === "tool" ? [] : [who])))],
    has_decision: false,
    has_action: false,
    relevance_score: find.isPossible ? 0.4 : 1,
    strength: find.isPossible ? ("weak" as const) : ("strong" as const),
    summary: clean(summary),
    lines: rows,
    also,
    content: rows.map((row) => plainText({ kind: "row", parts: rowParts(row) })).join("\n"),
    context: clean(summary),
    before: [],
    after: [],
    also_in: [],
    first_line: firstLine,
    last_line: lastLine,
  };
}

/** The deeds to look for. */
interface Asked {
  file?: string | undefined;
  error?: string | undefined;
  command?: string | undefined;
}

/** Finds what was done: of the first thing asked for, in the sessions that have the others too. */
export function findHistory(store: Store, { file, error, command }: Asked, scope: FindScope): Find[] {
  const searches = [
    ...(error === undefined ? [] : [(within: FindScope) => errorHistory(store, error, within)]),
    ...(file === undefined ? [] : [(within: FindScope) => fileHistory(store, file, within)]),
    ...(command === undefined ? [] : [(within: FindScope) => commandHistory(store, command, within)]),
  ];
  const [first, ...others] = searches;
  let within = scope;
  for (const search of others) within = { ...within, among: sessionsOf(search(within)) };
  const finds = first?.(within) ?? [];
  return finds.map((find) => {
    markRewound(find.rows, store, find.session.number);
    const { session } = find;
    const rows = withHolding(find.rows, { store, session }, within);
    return { ...find, rows: withAftermath(rows, { ...within, store, session }) };
  });
}

/** Returns the ids of the sessions of finds. */
export function sessionsOf(finds: readonly Find[]): string[] {
  return [...new Set(finds.flatMap(({ session, elsewhere = [] }) => [session.id, ...elsewhere]))];
}

/** Converts a filter to a scope: its times, and the sessions with any chunk that passes it. */
export function scopeOf(
  store: Store,
  { session, among, agent, projects, subagents, after, before }: ChunkFilter,
  rest: Pick<FindScope, "cwd" | "clean">,
): FindScope {
  const { sql, values, isOpen } = filterSelect({ session, among, agent, projects, subagents: true });
  const ids = isOpen
    ? undefined
    : store.db
        .prepare(`SELECT DISTINCT session_id FROM session_chunks WHERE id IN (${sql})`)
        .all(values)
        .map(({ session_id }) => String(session_id));
  return { ...rest, among: ids, subagents: subagents === true || session !== undefined, after, before };
}

/** Lines of work behind the last words of a time. */
const WORK_LINES = 400;
const SAID_CHARS = 240;

/** Finds the sessions that pass a filter with a time, the latest first. */
export function timeHistory(store: Store, filter: ChunkFilter, scope: FindScope): Find[] {
  const { sql, values } = filterSelect(filter);
  const columns = SESSION_COLUMNS.split(", ").map((column) => `s.${column}`);
  const rows = store.db
    .prepare(
      `SELECT ${columns.join(", ")}, min(c.first_line) AS first, max(c.last_line) AS last, max(c.timestamp) AS at
       FROM chunks c JOIN sessions s ON s.number = c.session
       WHERE c.id IN (${sql}) GROUP BY s.number ORDER BY at DESC`,
    )
    .all(values);
  return rows.map((row) => {
    const [session, from, to] = [toSessionRow(row), Number(row.first), Number(row.last)];
    const messages = messagesWithin(store, session.number, { from, to });
    const deeds = readDone(store, session.number, { after: from - 1, to: to + WORK_LINES }).filter(
      ({ at }) => filter.before === undefined || at <= filter.before,
    );
    const asked = messages.find(({ who, text }) => who === "user" && replyOf(text) === undefined);
    const done = deeds.findLast((deed) => commitsIn(deed).length > 0) ?? deeds.findLast(isChange);
    const last = messages.findLast(({ who }) => who === "assistant")?.line;
    // of a long message its beginning, which says what came of the work
    const closing = messages.find(({ line, who }) => who === "assistant" && line === last);
    const shown: (Row | undefined)[] = [
      asked ?? messages[0],
      done && doneRow(done, { cwd: session.cwd, clean: scope.clean }),
      closing && { ...closing, text: gist(closing.text, SAID_CHARS) },
    ];
    const known = shown.filter((one) => one !== undefined).sort((a, b) => a.line - b.line);
    return {
      session,
      timestamp: String(row.at),
      summary: summaryOf(messages.length, deeds),
      rows: known.map((one) => ({ ...one, text: scope.clean(one.text) })),
      firstLine: from,
      lastLine: to,
      also: [],
    };
  });
}

function commitsIn(deed: Done): string[] {
  if (deed.kind !== "command") return [];
  return commitsOf({ ...deed, target: commandOrTarget(deed) });
}

/** Returns commits with their subjects, or an edit. */
function doneRow(deed: Done, style: RowStyle): Row {
  if (isChange(deed)) return deedRow(deed, { ...style, text: "" });
  return deedRow({ ...deed, target: "git commit" }, { ...style, text: commitsIn(deed).join("; ") });
}

function summaryOf(messages: number, deeds: readonly Done[]): string {
  const { edited, ran } = tally(deeds);
  const done = [
    edited.size > 0 ? `edited ${counted(edited.size, "file")}` : "",
    ran > 0 ? `ran ${counted(ran, "command")}` : "",
  ];
  return [counted(messages, "message"), ...done].filter(Boolean).join(", ");
}

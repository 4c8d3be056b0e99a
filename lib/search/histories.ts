/** What was done about a file, an error or a command: found, as text within a budget, and as `--json` prints it. */

import { truncate } from "../base/text.ts";
import { formatLocal } from "../base/time.ts";
import { PARTICIPANTS, type Participants } from "../config/config.ts";
import { sharedBy } from "../store/replica.ts";
import type { Store } from "../store/store.ts";
import { type ChunkFilter, filterSelect } from "./candidates.ts";
import { commandHistory } from "./command-history.ts";
import { isSourceGone } from "./corpus.ts";
import { errorHistory } from "./error-history.ts";
import { fileHistory } from "./file-history.ts";
import type { Find, FindScope } from "./finds.ts";
import { markRewound, type Row } from "./rows.ts";

interface FindStyle {
  /** Code points of all output, its line ends included. */
  maxChars: number;
  /** IANA name. @default the system's */
  timezone?: string | undefined;
  /** Returns the current name of a session. */
  nameOf: (session: Find["session"]) => string | undefined;
  /** Returns the shortest unique start of a session's id. */
  shortId: (session: Find["session"]) => string;
  clean: (text: string) => string;
  /** What the two who talk are called. @default User and Assistant */
  participants?: Participants | undefined;
  /** True if each find is one line. @default {false} */
  isBrief?: boolean | undefined;
}

const NAME_MAX = 44;
const PROJECT_MAX = 24;
const ROW_CHARS = 300;
const ALSO_MAX = 6;
const LINE_CHARS = 160;

interface Block {
  head: string;
  rows: string[];
  also: string[];
}

/** Prints finds: rows go first, from the last find on, then what else there is, so that as many as can are named. */
export function printFinds(finds: readonly Find[], style: FindStyle): string {
  const blocks = finds.map((find, i): Block => {
    const also = find.also.slice(0, ALSO_MAX).map(([from, to]) => rangeOf(from, to));
    const more = find.also.length > ALSO_MAX ? [`${find.also.length - ALSO_MAX} more`] : [];
    return {
      head: truncate(`${i + 1}. ${headOf(find, style)}`, LINE_CHARS),
      rows: style.isBrief ? [] : find.rows.map((row) => truncate(rowOf(row, style.participants), ROW_CHARS)),
      also: also.length > 0 && !style.isBrief ? [`   also ${[...also, ...more].join(", ")}`] : [],
    };
  });
  return fitBlocks(blocks, style.maxChars);
}

/** Prints one line for each distinct command, with where it ran last. */
export function printCommands(finds: readonly Find[], style: FindStyle): string {
  const lines = finds.map((find, i) => {
    const [row] = find.rows;
    const said = row?.text ? `: ${row.text}` : "";
    const when = formatLocal(find.timestamp, style.timezone).slice(0, 16);
    return truncate(
      `${i + 1}. ${row?.tool} · ${find.summary} · ${when} · ${placeOf(find, style)}${said}`,
      LINE_CHARS,
    );
  });
  return fitLines(lines, style.maxChars);
}

function headOf(find: Find, style: FindStyle): string {
  const { session, timestamp, summary } = find;
  const name = style.nameOf(session);
  const project = projectOf(session);
  return [
    placeOf(find, style),
    name === undefined ? "" : truncate(style.clean(name).replace(/\s+/g, " "), NAME_MAX),
    project === undefined ? "" : truncate(style.clean(project), PROJECT_MAX),
    formatLocal(timestamp, style.timezone).slice(0, 16),
    summary,
  ]
    .filter(Boolean)
    .join(" · ");
}

function projectOf({ project, cwd }: Find["session"]): string | undefined {
  return (project ?? cwd)
    ?.replace(/\/\.git\/?$|\/+$/g, "")
    .split(/[/\\]/)
    .at(-1);
}

function placeOf({ session, firstLine, lastLine }: Find, { shortId }: FindStyle): string {
  return `${shortId(session)}:${rangeOf(firstLine, lastLine)}`;
}

function rangeOf(from: number, to: number): string {
  return from === to ? `${from}` : `${from}-${to}`;
}

function rowOf({ line, who, tool, rewound, text }: Row, participants: Participants = PARTICIPANTS): string {
  const start = who === "tool" ? (tool ?? "") : `${participants[who]}:`;
  return `   L${line}${rewound ? " (rewound)" : ""} ${start} ${text}`.trimEnd();
}

function fitBlocks(blocks: Block[], maxChars: number): string {
  const lines = () => blocks.flatMap(({ head, rows, also }) => [head, ...rows, ...also]);
  const isOver = () => lengthOf(lines()) > maxChars;
  for (const keep of [3, 2, 1, 0]) {
    for (const block of blocks.slice(1).toReversed()) {
      while (isOver() && block.rows.length > keep) dropRow(block);
    }
  }
  for (const block of blocks.toReversed()) while (isOver() && block.also.length > 0) block.also.pop();
  const [first] = blocks;
  while (first && isOver() && first.rows.length > 0) dropRow(first);
  return fitLines(lines(), maxChars);
}

/** Drops a row between the first, which says what, and the last, which says how it ended. */
function dropRow({ rows }: Block): void {
  if (rows.length > 2) rows.splice(1, 1);
  else rows.pop();
}

function fitLines(all: readonly string[], maxChars: number): string {
  const lines = [...all];
  const rest = () => (lines.length < all.length ? [`… ${all.length - lines.length} more`] : []);
  while (lines.length > 0 && lengthOf([...lines, ...rest()]) > maxChars) lines.pop();
  return [...lines, ...rest()].join("\n");
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + [...line].length + 1, 0);
}

/** Converts a find to one of the results of `--json`. */
export function findJson(find: Find, { clean, nameOf }: Pick<FindStyle, "clean" | "nameOf">) {
  const { session, timestamp, summary, rows, also, firstLine, lastLine } = find;
  const name = nameOf(session);
  const project = projectOf(session);
  const from = sharedBy(session);
  return {
    session_id: from?.id ?? session.id,
    name: name === undefined ? null : clean(name),
    agent: session.agent,
    project: project === undefined ? null : clean(project),
    timestamp,
    topics: [],
    speakers: [...new Set(rows.flatMap(({ who }) => (who === "tool" ? [] : [who])))],
    has_decision: false,
    has_action: false,
    relevance_score: 1,
    strength: "strong" as const,
    summary: clean(summary),
    lines: rows,
    also,
    content: rows.map((row) => rowOf(row).trim()).join("\n"),
    context: clean(summary),
    before: [],
    after: [],
    also_in: [],
    ...(from ? { from: { owner: from.owner, machine: from.machine } } : {}),
    file: from ? session.id : session.file,
    first_line: firstLine,
    last_line: lastLine,
    source_gone: from ? session.sourceGone : isSourceGone(session),
  };
}

/** The deeds to look for. */
interface Asked {
  file?: string | undefined;
  error?: string | undefined;
  command?: string | undefined;
}

/** Finds what was done: of the first thing asked for, in the sessions that have the others too. */
export function findDeeds(store: Store, { file, error, command }: Asked, scope: FindScope): Find[] {
  const searches = [
    ...(error === undefined ? [] : [(within: FindScope) => errorHistory(store, error, within)]),
    ...(file === undefined ? [] : [(within: FindScope) => fileHistory(store, file, within)]),
    ...(command === undefined ? [] : [(within: FindScope) => commandHistory(store, command, within)]),
  ];
  const [first, ...others] = searches;
  let within = scope;
  for (const search of others) within = { ...within, among: sessionsOf(search(within)) };
  const finds = first?.(within) ?? [];
  for (const { rows, session } of finds) markRewound(rows, store, session.number);
  return finds;
}

/** Returns the ids of the sessions of finds. */
export function sessionsOf(finds: readonly Find[]): string[] {
  return [...new Set(finds.flatMap(({ session, elsewhere = [] }) => [session.id, ...elsewhere]))];
}

/** Converts a filter to a scope: its times, and the sessions with any chunk that passes it. */
export function scopeOf(
  store: Store,
  { session, among, agent, project, subagents, after, before }: ChunkFilter,
  rest: Pick<FindScope, "cwd" | "clean">,
): FindScope {
  const { sql, values, isOpen } = filterSelect({ session, among, agent, project, subagents: true });
  const ids = isOpen
    ? undefined
    : store.db
        .prepare(`SELECT DISTINCT session_id FROM session_chunks WHERE id IN (${sql})`)
        .all(values)
        .map(({ session_id }) => String(session_id));
  return { ...rest, among: ids, subagents: subagents === true || session !== undefined, after, before };
}

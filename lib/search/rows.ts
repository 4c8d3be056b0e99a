/** Reads the rows of part of a session from the index: their words, deeds, lines and exchanges. */

import type { Part } from "../base/output.ts";
import { oneLine, withoutMiddle } from "../base/text.ts";
import { formatMinute } from "../base/time.ts";
import { PARTICIPANTS, type Participants } from "../config/config.ts";
import type { Done, LineSpan, Outcome, Said, Speaker } from "../hosts/session.ts";
import { joinContent } from "../index/chunk-text.ts";
import { type IndexedSession, rewoundLines } from "../index/index-state.ts";
import { readRows, type Stored } from "../index/stored-rows.ts";
import type { Store } from "../store/store.ts";
import { isOfFiles } from "../transcripts/rows.ts";
import { exchangeLines, type IndexedChunk } from "./candidates.ts";

/** Something said or done, as it is printed. */
export interface ShownRow {
  /** The transcript's line. */
  line: number;
  who: Speaker | "tool";
  /** A tool call's name, target and outcome. */
  tool?: string;
  /** The call itself, where the row is one and not its output; no part of JSON. */
  deed?: Stored<Done>;
  /** True if the user took it back: the conversation went on from a row before it. */
  rewound?: true;
  /** True if a file that it changed, or speaks of, was changed since and no longer holds what was added. */
  changed?: true;
  /** The line of the user's answer that took it back: `L1400`. */
  takenBack?: string;
  /** The rows of the session between the one shown before it and itself; no part of JSON. */
  skipped?: number;
  text: string;
}

/** A row among which those to show are chosen. */
export interface PassageRow extends ShownRow {
  /** True if it is the result of a tool call. */
  isOutput?: true;
}

/** Returns a row's line, who said it and its words, or the call and what it did. */
export function rowParts(
  { line, who, tool = "", rewound, changed, takenBack, text }: ShownRow,
  participants: Participants = PARTICIPANTS,
): Part[] {
  const marks = [rewound && "rewound", takenBack && `taken back: ${takenBack}`, changed && "changed since"];
  const start: Part[] = [
    ["place", `L${line}`],
    ...marks.flatMap((mark): Part[] => (mark ? [" ", ["bad", `(${mark})`]] : [])),
  ];
  const by: Part = who === "tool" ? ["tool", tool] : [who, `${participants[who]}:`];
  return [...start, " ", by, ...(text.trim() === "" ? [] : ([" ", ["said", text.trimEnd()]] as Part[]))];
}

/** Returns rows, the revoked ones marked. */
export function markRewound<R extends ShownRow>(rows: readonly R[], store: Store, session: number): R[] {
  const spans = rewoundLines(store, session);
  const isRewound = ({ line }: R) => spans.some(([from, to]) => line >= from && line <= to);
  return rows.map((row) => (isRewound(row) ? { ...row, rewound: true } : row));
}

/** Returns rows in line order, each with the number of rows left out before it. */
export function withSkipped(rows: readonly ShownRow[], store: Store, session: number): ShownRow[] {
  const count = "SELECT count(*) AS n FROM rows WHERE session = ? AND line > ? AND line < ?";
  return rows.map((row, i) => {
    const before = rows[i - 1];
    const skipped = before ? Number(store.get(count, session, before.line, row.line)?.n ?? 0) : 0;
    return skipped > 0 ? { ...row, skipped } : row;
  });
}

/** Code points of the row that holds. */
const HOLDING_CHARS = 300;

/** A session's place in the index. */
interface Place {
  store: Store;
  session: Pick<IndexedSession, "number">;
}

/** Puts the row that holds now, the next one of the same speaker, before a row that the user revoked. */
export function withHolding(
  rows: readonly ShownRow[],
  { store, session: { number } }: Place,
  speaker: Speaker = "user",
): ShownRow[] {
  const first = rows.findIndex(({ rewound }) => rewound);
  if (first === -1) return [...rows];
  const spans = rewoundLines(store, number);
  const next = `SELECT line, text FROM rows r WHERE session = $number AND who = $speaker AND line > $end
    AND NOT EXISTS (SELECT 1 FROM rewound w WHERE w.session = r.session AND r.line BETWEEN w.first_line AND w.last_line)
    ORDER BY line, nth LIMIT 1`;
  const before = rows.slice(0, first);
  const moved = new Map<number, ShownRow>();
  for (const { line, rewound } of rows.slice(first)) {
    const span = rewound && spans.find((one) => isIn(line, one));
    const found = span && store.get(next, { number, speaker, end: span[1] });
    if (!found) continue;
    const held = { line: Number(found.line), who: speaker, text: oneLine(String(found.text), HOLDING_CHARS) };
    const isSame = (row: ShownRow) => row.line === held.line && row.who === speaker;
    // the best row of a hit may be the one that holds: it is first already
    if (!before.some(isSame)) moved.set(held.line, rows.find(isSame) ?? held);
  }
  const holds = [...moved.values()];
  return [...before, ...holds, ...rows.slice(first).filter((row) => !holds.includes(row))];
}

function isIn(line: number, [from, to]: LineSpan): boolean {
  return line >= from && line <= to;
}

/** Returns the lines that the user took back before what is shown, to ask anew, where no shown row is one of them. */
export function takenBackBefore(
  shown: readonly ShownRow[],
  { store, session: { number } }: Place,
): LineSpan[] {
  const spans = rewoundLines(store, number);
  if (spans.length === 0) return [];
  const asked = store
    .all("SELECT line FROM rows WHERE session = ? AND who = 'user' ORDER BY line", number)
    .map(({ line }) => Number(line))
    .filter((line) => !spans.some((span) => isIn(line, span)));
  return spans.filter((span) => {
    const next = asked.findIndex((line) => line > span[1]);
    const [begin, end = Number.POSITIVE_INFINITY] = asked.slice(next).slice(0, 2);
    const isAnew = ({ line }: ShownRow) => begin !== undefined && line >= begin && line < end;
    return next >= 0 && !shown.some(({ line }) => isIn(line, span)) && shown.some(isAnew);
  });
}

/** Returns what was said in some exchanges of a session, from the one that begins on a line to the one of another, in order. */
export function exchangeRows(
  { store, session: { number } }: Place,
  [from, to]: LineSpan,
): Stored<Said<Speaker>>[] {
  const [end = Number.POSITIVE_INFINITY] = exchangeLines(store, number, {
    line: to + 1,
    count: 1,
    isBefore: false,
  });
  const rows = readRows(store, number, { after: from - 1, to: Math.min(end - 1, Number.MAX_SAFE_INTEGER) });
  return rows.filter((row): row is Stored<Said<Speaker>> => row.who === "user" || row.who === "assistant");
}

/**
 * Returns a test that passes each row of a session once, so that no two hits show it; of calls that are printed alike, such
 * as an edit that was made again, it passes the first.
 */
export function oncePerRow(sessionId: string, taken: Set<string>): (row: ShownRow) => boolean {
  return ({ line, who, tool = "", text }) => {
    const keys = [
      `${sessionId} ${line} ${who} ${tool}`,
      ...(who === "tool" ? [`${sessionId} ${tool} ${text}`] : []),
    ];
    if (keys.some((key) => taken.has(key))) return false;
    for (const key of keys) taken.add(key);
    return true;
  };
}

/** Code points of an exchange before or after a result. */
const AROUND_CHARS = 2000;

/** Returns the exchanges before and after a chunk's own, in order, long ones without their middle, each after its own time. */
export function exchangesAround(
  place: Place,
  { exchangeLine }: Pick<IndexedChunk, "exchangeLine">,
  { count, timezone }: { count: number; timezone: string | undefined },
): { before: string[]; after: string[] } {
  if (count === 0) return { before: [], after: [] };
  const beside = (line: number, isBefore: boolean) =>
    exchangeLines(place.store, place.session.number, { line, count, isBefore }).map((begin) => {
      const rows = exchangeRows(place, [begin, begin]);
      const text = withoutMiddle(joinContent(rows), AROUND_CHARS, { mark: () => "\n…\n" });
      return `${formatMinute(rows[0]?.at ?? "", timezone)} ${text}`;
    });
  return { before: beside(exchangeLine, true), after: beside(exchangeLine + 1, false) };
}

/** Code points of a path, and of a command. */
const TARGET_MAX = 100;
export const COMMAND_MAX = 220;
const SIGNS: Partial<Record<Outcome, string>> = {
  failed: " failed",
  rejected: " rejected",
  running: " running",
};

/** Returns the text of a deed by which it was found. */
export function deedText({ target, input, result }: Stored<Done>): string {
  return `${target}\n${input}\n${result}`;
}

/** Returns deeds as rows: each call, and what came of it. */
export function toDeedRows(deeds: readonly Stored<Done>[], cwd: string | undefined): PassageRow[] {
  return deeds.flatMap((deed) => {
    const { line, resultLine, kind, outcome, input, result } = deed;
    const who = "tool" as const;
    const said =
      kind === "read" ? "" : input.startsWith(deed.target) ? input.slice(deed.target.length) : input;
    const call = {
      line,
      who,
      tool: callHead(deed, cwd),
      deed,
      text: said.trimStart(),
    };
    // what files held says nothing of the work
    const isInformative = result !== "" && !(outcome === "done" && isOfFiles(deed));
    if (!isInformative) return [call];
    const tool = writeHead({ ...deed, target: "output" });
    return [
      call,
      {
        line: resultLine ?? line,
        who,
        tool,
        text: result.trimStart(),
        isOutput: true as const,
      },
    ];
  });
}

/** Returns a call on one line: its tool, what it was called with, and how it ended. */
export function callHead(deed: Done, cwd: string | undefined): string {
  const max = deed.kind === "command" ? COMMAND_MAX : TARGET_MAX;
  return writeHead({ ...deed, target: cutMiddle(relativeTo(cwd, deed.target), max) });
}

function writeHead({ tool, target, outcome }: Done): string {
  return `[${tool} ${target}]${SIGNS[outcome] ?? ""}`;
}

/** Returns a path as it is named from a session's directory. */
function relativeTo(cwd: string | undefined, target: string): string {
  return cwd !== undefined && target.startsWith(`${cwd}/`) ? target.slice(cwd.length + 1) : target;
}

/** Keeps the beginning and the end of a long text: of a path its name, of a command what it runs. */
function cutMiddle(text: string, max: number): string {
  const line = [...text.replace(/\s+/g, " ").trim()];
  if (line.length <= max) return line.join("");
  const tail = Math.floor(max * 0.6);
  return `${line.slice(0, max - tail - 1).join("")}…${line.slice(-tail).join("")}`;
}

/** Finds which sessions wrote lines of a file that is here, why, and what sessions did to it since. */

import { resolve } from "node:path";
import { usageError } from "../base/command.ts";
import { SessionMemoryError } from "../base/errors.ts";
import { isFile, statPath } from "../base/files.ts";
import { counted, formatRange, rangesOf } from "../base/text.ts";
import type { LineSpan } from "../hosts/session.ts";
import { rewoundLines } from "../index/index-state.ts";
import { isFiller, readReply } from "../language/speech.ts";
import type { Hit } from "../search/hit.ts";
import type { ShownRow } from "../search/rows.ts";
import type { Store } from "../store/store.ts";
import { readFully, withFile } from "../transcripts/files.ts";
import type { Rules } from "../transcripts/rules.ts";
import { findTouches, type Touched } from "./file-history.ts";
import { deedRow, doneHit, type FindScope, messagesWithin } from "./finds.ts";
import { type Change, lineKey, replay, type Trace } from "./replay.ts";

/** Lines of a file. */
interface LinePlace {
  /** Absolute. */
  path: string;
  /** As the user wrote it. */
  name: string;
  from: number;
  to: number;
}

/** The origin of consecutive lines. */
export interface Verdict {
  lines: [from: number, to: number];
  verdict: "written" | "no session wrote it" | "cannot tell";
  why?: string;
  session_id?: string;
  /** The transcript's line of the call that wrote them. */
  line?: number;
}

/** A shorter line (`} else {`) stands in too many files to say who wrote it. */
const KEY_MIN = 12; // promised
/** The most lines of one question: a screen. */
const LINES_MAX = 200;
/** Lines before a change in which the request and the reason for it are looked for. */
const REACH = { request: 2000, reason: 40 };
/** Nobody wrote a larger file line by line; one of nothing but newlines takes a second or two. */
const FILE_MAX = 8 * 1024 * 1024;
const CHANGES_SHOWN = 3;
const LATER_SHOWN = 5;
const CHANGE_CHARS = 220;

/** Reads `src/a.ts:120` and `src/a.ts:120-134`; undefined for a file whose name ends so, and where no line is named. */
export function linePlace(file: string, cwd: string): LinePlace | undefined {
  const [, name = "", first = "", last = first] = /^(.+?):(\d+)(?:-(\d+))?$/.exec(file.trim()) ?? [];
  if (name === "" || statPath(resolve(cwd, file.trim()))) return undefined;
  return { path: resolve(cwd, name), name, from: Number(first), to: Number(last) };
}

/** The input of a search for lines. */
interface BlameScope {
  store: Store;
  scope: FindScope;
  rules: Rules;
}

/** The writers of lines: the sessions, and a verdict on each line; in words where no session is certain. */
export interface Blamed {
  hits: Hit[];
  verdicts: Verdict[];
  lines: string[];
}

/**
 * Finds who wrote some lines of a file, by its text as it is now.
 *
 * @throws {SessionMemoryError} `NOT_FOUND` if the file or line does not exist.
 */
export function blame(place: LinePlace, scope: BlameScope): Blamed {
  return blameText(readFile(place).split(/\r?\n/), place, scope);
}

function readFile({ path, name, from, to }: LinePlace): string {
  const hint = `search --file ${name} lists the sessions that had to do with it`;
  const asked = `Cannot find line ${formatRange(from, to)} of ${name}`;
  if (from < 1 || from > to) throw usageError(`${asked}: lines count from 1 upwards`, hint);
  if (!isFile(path))
    throw new SessionMemoryError("NOT_FOUND", `Cannot read ${name}: no such file here`, { hint });
  const read = (descriptor: number, size: number) => readFully(descriptor, 0, size).toString("utf8");
  const text = withFile(path, read, { max: FILE_MAX });
  const count = text === "" ? 0 : text.replace(/\r?\n$/, "").split("\n").length;
  if (to <= count && to - from < LINES_MAX) return text;
  const why =
    to - from >= LINES_MAX ? `at most ${LINES_MAX} lines at once` : `it has ${counted(count, "line")}`;
  throw new SessionMemoryError("NOT_FOUND", `${asked}: ${why}`, { hint });
}

/** Finds who wrote some of the lines of a file. */
function blameText(
  lines: readonly string[],
  { path, name, from, to }: LinePlace,
  { store, scope, rules }: BlameScope,
): Blamed {
  const { names, touched } = findTouches(store, path, { ...scope, subagents: true });
  const changes = toChanges(touched, store);
  const keys = lines.map((line) => lineKey(rules.clean(line)));
  const asked = keys.slice(from - 1, to);
  const traces = replay(changes, new Set(asked), { names, rules });
  const judged = asked.map((key, i) => {
    const [line = "", number] = [lines[from - 1 + i], from + i];
    const isHiddenText = key !== lineKey(line);
    return judgeLine({ key, number, trace: traces.get(key), count: count(keys, key), isHiddenText });
  });
  const verdicts = joinVerdicts(judged);
  const uncertain = verdicts.filter(({ verdict }) => verdict !== "written");
  const inWords = ({ lines: [from, to], verdict, why }: Verdict) =>
    `${name}:${formatRange(from, to)}: ${verdict}${why ? ` (${why})` : ""}`;
  return { hits: makeBlameHits(store, judged, changes), verdicts, lines: uncertain.map(inWords) };
}

function count(keys: readonly string[], wanted: string): number {
  return keys.filter((key) => key === wanted).length;
}

interface JudgedLine {
  number: number;
  key: string;
  verdict: Verdict["verdict"];
  why?: string;
  writers: readonly Change[];
}

interface LineFacts {
  key: string;
  number: number;
  trace: Trace | undefined;
  /** The number of times it stands in the file. */
  count: number;
  /** True if a secret was taken out of it. */
  isHiddenText: boolean;
}

function judgeLine({ key, number, trace, count, isHiddenText }: LineFacts): JudgedLine {
  const { writers = [], how = "nowhere" } = trace ?? {};
  const doubt =
    key.length < KEY_MIN
      ? `shorter than ${KEY_MIN} characters`
      : count > 1
        ? `the same line is ${count} times in the file`
        : how === "possible"
          ? "that command or edit may have written it"
          : isHiddenText && how !== "certain"
            ? "it holds a secret"
            : undefined;
  if (doubt !== undefined) return { number, key, verdict: "cannot tell", why: doubt, writers };
  return { number, key, verdict: how === "certain" ? "written" : "no session wrote it", writers };
}

/** Joins lines that follow each other and have one verdict. */
function joinVerdicts(judged: readonly JudgedLine[]): Verdict[] {
  const joined: Verdict[] = [];
  for (const { number, verdict, why, writers } of judged) {
    const [writer] = verdict === "written" ? writers : [];
    const session = writer && { session_id: writer.session.id, line: writer.deed.line };
    const last = joined.at(-1);
    const isSame = last?.verdict === verdict && last.why === why && last.session_id === session?.session_id;
    if (last && isSame && last.line === session?.line) last.lines[1] = number;
    else joined.push({ lines: [number, number], verdict, ...(why && { why }), ...session });
  }
  return joined;
}

/** Returns what sessions did to the file by which a line may have come into it, in the order of time. */
function toChanges(touched: readonly Touched[], store: Store): Change[] {
  const rewound = new Map<number, LineSpan[]>();
  const isRewound = ({ session: { number }, deed: { line } }: Touched) => {
    const spans = rewound.get(number) ?? rewoundLines(store, number);
    rewound.set(number, spans);
    return spans.some(([from, to]) => line >= from && line <= to);
  };
  return touched
    .filter(hasHappened)
    .map((touch): Change => ({ ...touch, isRewound: isRewound(touch) }))
    .sort(byTime);
}

function hasHappened({ how, deed: { outcome } }: Touched): boolean {
  return how !== "read" && outcome !== "failed" && outcome !== "rejected";
}

function byTime(a: Change, b: Change): number {
  if (a.deed.at !== b.deed.at) return a.deed.at < b.deed.at ? -1 : 1;
  return a.deed.session - b.deed.session || a.deed.line - b.deed.line || a.deed.nth - b.deed.nth;
}

/** Returns the sessions that wrote the lines, the ones that may have, and the ones that edited the file after the first. */
function makeBlameHits(store: Store, judged: readonly JudgedLine[], changes: readonly Change[]): Hit[] {
  const written = judged.filter(({ verdict }) => verdict === "written");
  const unsure = judged.filter(({ verdict, key }) => verdict === "cannot tell" && key !== "");
  const writers = hitsBySession(store, written, "wrote");
  const known = new Set(writers.map(({ session }) => session.id));
  const candidates = hitsBySession(store, unsure, "may have written").filter(
    ({ session }) => !known.has(session.id),
  );
  const last = written
    .flatMap((each) => each.writers)
    .sort(byTime)
    .at(-1);
  if (!last) return candidates;
  for (const { session } of candidates) known.add(session.id);
  return [...writers, ...candidates, ...laterHits(changes, last, known)];
}

function hitsBySession(store: Store, judged: readonly JudgedLine[], verb: string): Hit[] {
  const pairs = judged.flatMap((line) => line.writers.map((writer) => ({ line, writer })));
  return [...Map.groupBy(pairs, ({ writer }) => writer.session.id).values()].map((own) => {
    const changes = [...new Set(own.map(({ writer }) => writer))].sort(byTime);
    const numbers = [...new Set(own.map(({ line }) => line.number))];
    const ranges = rangesOf(numbers).map(([from, to]) => formatRange(from, to));
    const [first, last] = [changes[0] as Change, changes.at(-1) as Change];
    const shown = changes.length > CHANGES_SHOWN ? changes.slice(-CHANGES_SHOWN) : changes;
    const rows = [
      ...findReasons(store, shown[0] as Change),
      ...shown.map((change) => changeRow(change, linesBy(own, change))),
    ];
    return doneHit(
      {
        session: first.session,
        at: last.deed.at,
        summary: `${verb} ${numbers.length === 1 ? "line" : "lines"} ${ranges.join(", ")}`,
        rows,
        from: rows[0]?.line ?? first.deed.line,
        to: last.deed.line,
        also: [],
      },
      { isPossible: verb !== "wrote" },
    );
  });
}

function linesBy(own: readonly { line: JudgedLine; writer: Change }[], change: Change): string[] {
  return own.filter(({ writer }) => writer === change).map(({ line }) => `+${line.key}`);
}

/** Returns the request that a change was made for, and what the agent said last before it. */
function findReasons(store: Store, { session, deed }: Change): ShownRow[] {
  const from = deed.line - REACH.request;
  const messages = messagesWithin(store, session.number, { from, to: deed.line - 1 });
  const request = messages.findLast(({ who, text }) => who === "user" && readReply(text) === undefined);
  const reason = messages.findLast(
    ({ who, line, text }) => who === "assistant" && line >= deed.line - REACH.reason && !isFiller(text),
  );
  const isBehind = reason && reason.line > (request?.line ?? 0);
  return [...(request ? [request] : []), ...(isBehind ? [reason] : [])];
}

function changeRow({ deed, session }: Change, lines: readonly string[]): ShownRow {
  const text = [...new Set(lines)].join(" ").slice(0, CHANGE_CHARS);
  return deedRow(deed, { text, cwd: session.cwd });
}

/** Returns the sessions that edited the file after a change, the newest first. */
function laterHits(changes: readonly Change[], last: Change, known: ReadonlySet<string>): Hit[] {
  const later = changes.filter(
    (change) =>
      change.how === "edited" &&
      !change.isUnsure &&
      byTime(change, last) > 0 &&
      !known.has(change.session.id),
  );
  return [...Map.groupBy(later, ({ session }) => session.id).values()]
    .sort((a, b) => byTime(b.at(-1) as Change, a.at(-1) as Change))
    .slice(0, LATER_SHOWN)
    .map((own) => {
      const [first, newest] = [own[0] as Change, own.at(-1) as Change];
      return doneHit(
        {
          session: first.session,
          at: newest.deed.at,
          summary: `edited it ${own.length}x since`,
          rows: [changeRow(newest, [])],
          from: first.deed.line,
          to: newest.deed.line,
          also: [],
        },
        { isPossible: true },
      );
    });
}

/**
 * Writes a conversation as text for a model, within a limit (its first request, what compactions kept of it, the messages a
 * question is about, and its end, with a mark wherever something was left out), and checks that the lines a model cites
 * hold what it quotes.
 */

import { fit } from "../base/fit.ts";
import { counted, folded, withoutMiddle } from "../base/text.ts";
import type { Row } from "../hosts/session.ts";
import { isFunctionWord } from "../language/words.ts";
import { callText } from "../transcripts/log.ts";

/** Shares of the limit where not all fits; what one does not need is the others'. */
const SHARES = { head: 0.15, summaries: 0.25, relevant: 0.35, end: 0.25 };
/** No single message takes more than this part of the limit, unless all fits. */
const MESSAGE_SHARE = 1 / 8;

interface ConversationOptions {
  maxBytes: number;
  /** True if each message begins with its line of the transcript: `L812 User: …`. @default {false} */
  lines?: boolean;
  /** The relevance of a row to the question, 0 for none. Calls are shown only where one is asked. */
  relevance?: ((row: Row) => number) | undefined;
}

/** Renders the rows of a conversation, and counts the ones left out. */
export function conversationText(
  all: readonly Row[],
  { maxBytes, lines, relevance }: ConversationOptions,
): { text: string; omitted: number } {
  const rows = all.filter((row) => (row.who === "tool" ? relevance : row.text.trim()));
  const most = Math.floor(maxBytes * MESSAGE_SHARE);
  const cut = new Map(rows.map((row) => [row, rendered(row, { lines, most })]));
  const ranks = rankRows(cut, relevance);
  const blocks = [...cut].map(([row, text]) => ({
    rank: ranks.get(row) ?? Number.MAX_VALUE,
    forms: relevance
      ? [
          [rendered(row, { lines }), ""],
          [text, ""],
        ]
      : [[text, ""]],
  }));
  const marks = new Map<string, number>();
  const gap = (count: number) => {
    const mark = `[… ${counted(count, "entry", "entries")} left out …]`;
    marks.set(mark, count);
    return [mark, ""];
  };
  const fitted = fit(blocks, { maxChars: maxBytes + 2, size: countBytes, gap });
  return {
    text: fitted.slice(0, -1).join("\n"),
    omitted: fitted.reduce((sum, line) => sum + (marks.get(line) ?? 0), 0),
  };
}

function countBytes(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
}

/** Ranks rows so that each part of the conversation has its share of whatever room there is. */
function rankRows(
  texts: ReadonlyMap<Row, string>,
  relevance: (row: Row) => number = () => 0,
): Map<Row, number> {
  const rows = [...texts.keys()];
  const scored = rows.map((row) => ({ row, score: relevance(row) })).filter(({ score }) => score > 0);
  const parts: [share: number, rows: Row[]][] = [
    [SHARES.head, rows.filter(({ who }) => who === "user").slice(0, 1)],
    [SHARES.summaries, rows.filter(({ who }) => who === "summary").reverse()],
    [SHARES.relevant, scored.sort((a, b) => b.score - a.score).map(({ row }) => row)],
    [SHARES.end, rows.filter(({ who }) => who !== "tool").reverse()],
  ];
  const ranks = new Map<Row, number>();
  for (const [share, part] of parts) {
    let rank = 0;
    for (const row of part) {
      rank += Buffer.byteLength(texts.get(row) ?? "") / share;
      ranks.set(row, Math.min(rank, ranks.get(row) ?? rank));
    }
  }
  return ranks;
}

const SPEAKERS = { user: "User", assistant: "Assistant", summary: "Summary of what came before" };

/** Renders a row in some bytes: a call with its whole input, where that is not limited, and its result, which has a line of its own. */
function rendered(
  row: Row,
  { lines, most = Number.POSITIVE_INFINITY }: { lines: boolean | undefined; most?: number },
): string {
  const onLine = (line: number, text: string) => (lines ? `L${line} ${text}` : text);
  if (row.who !== "tool")
    return onLine(row.line, `${SPEAKERS[row.who]}: ${shortened(row.text.trim(), most)}`);
  const { tool, target, input } = row;
  const whole = input.startsWith(target) ? input : `${target}\n${input}`;
  const called = input === "" || most < Number.POSITIVE_INFINITY ? shortened(target, most / 2) : whole;
  const call = onLine(row.line, `[${tool} ${called}]`);
  const result = shortened(row.result.trim(), most / 2);
  return result === "" ? call : `${call}\n\n${onLine(row.resultLine ?? row.line, `Result: ${result}`)}`;
}

/** The most bytes of the mark between what is kept. */
const MARK_BYTES = 60;

/** Cuts from the middle: a message says what it wants at its start and what came of it at its end. */
function shortened(text: string, maxBytes: number): string {
  const bytes = Buffer.byteLength(text);
  const kept = Math.floor((text.length * (maxBytes - MARK_BYTES)) / bytes);
  const mark = (missing: number) => `\n[… ${missing} characters left out …]\n`;
  return bytes <= maxBytes ? text : withoutMiddle(text, kept + mark(text.length).length, { mark });
}

/** A result may be megabytes long; its beginning says what it is about. */
const TEXT_CHARS = 20_000;
/** The words before and after carry over: an answer seldom repeats its question. */
const NEIGHBOUR = 0.3;
/** Tool results are long and match everything. */
const RESULT_WEIGHT = 0.6;

/** Returns a function that gives a row's relevance to a question by its words, 0 for none. */
export async function relevanceTo(question: string, rows: readonly Row[]): Promise<(row: Row) => number> {
  const [{ readQuestions }, { makeMeasure }, { inverseFrequency }] = await Promise.all([
    import("../search/query.ts"),
    import("../search/measure.ts"),
    import("../search/rank.ts"),
  ]);
  const [{ terms } = { terms: [] }] = readQuestions([question]);
  // a call and its result are two texts of one row
  const texts = rows.flatMap((row) =>
    searchedTexts(row).map((text, i) => ({ row, text, weight: i === 1 ? RESULT_WEIGHT : 1 })),
  );
  const measure = makeMeasure(terms.map(({ stem }) => stem));
  const held = measure(texts.map(({ text }) => text)).map((found) => new Set(found.map(({ stem }) => stem)));
  const worth = new Map(
    terms.map(({ stem }) => {
      const count = held.filter((stems) => stems.has(stem)).length;
      return [stem, inverseFrequency(texts.length, count)];
    }),
  );
  const own = held.map((stems) => stems.values().reduce((sum, stem) => sum + (worth.get(stem) ?? 0), 0));
  const scores = new Map<Row, number>();
  for (const [i, { row, weight }] of texts.entries()) {
    const beside = NEIGHBOUR * Math.max(own[i - 1] ?? 0, own[i + 1] ?? 0);
    const score = ((own[i] ?? 0) + beside) * weight;
    scores.set(row, Math.max(scores.get(row) ?? 0, score));
  }
  return (row) => scores.get(row) ?? 0;
}

function searchedTexts(row: Row): string[] {
  if (row.who !== "tool") return [row.text.slice(0, TEXT_CHARS)];
  return [callText(row), ...(row.result === "" ? [] : [row.result.slice(0, TEXT_CHARS)])];
}

export type Confidence = "high" | "medium" | "low";

export interface Citation {
  line: number;
  excerpt: string;
}

const LOWERED: Record<Confidence, Confidence> = { high: "medium", medium: "low", low: "low" };

/**
 * Keeps the citations whose excerpt occurs in their line, white space aside, each once. Confidence goes
 * down a step when one was dropped, and to the bottom when none is left.
 */
export function checkCitations(
  cited: readonly Citation[],
  confidence: Confidence,
  lines: ReadonlyMap<number, string>,
): { citations: Citation[]; confidence: Confidence; notes: string[] } {
  const citations: Citation[] = [];
  let dropped = 0;
  for (const { line, excerpt } of cited) {
    const wanted = folded(excerpt).replace(/^(?:"|“|…|\.\.\.|\s)+|(?:"|”|…|\.\.\.|\s)+$/g, "");
    if (!standsIn(lines.get(line) ?? "", wanted)) dropped++;
    else if (!citations.some((known) => known.line === line && known.excerpt === wanted))
      citations.push({ line, excerpt: wanted });
  }
  const notes: string[] = [];
  if (dropped > 0)
    notes.push(`${dropped} of ${cited.length} citations were not found in their lines and were dropped`);
  if (cited.length === 0) notes.push("no line was cited");
  if (citations.length === 0) return { citations, confidence: "low", notes };
  return { citations, confidence: dropped > 0 ? LOWERED[confidence] : confidence, notes };
}

/** Words that every line has cite nothing, unless they are the whole line. */
function standsIn(text: string, wanted: string): boolean {
  if (wanted === "" || text === wanted) return wanted !== "";
  return text.includes(wanted) && !wanted.split(" ").every(isFunctionWord);
}

/** Returns the text of each transcript line, with white space folded. */
export function textByLine(rows: readonly Row[]): Map<number, string> {
  const lines = new Map<number, string>();
  const add = (line: number, text: string) => {
    const before = lines.get(line);
    lines.set(line, before === undefined ? folded(text) : `${before} ${folded(text)}`);
  };
  for (const row of rows) {
    add(row.line, row.who === "tool" ? callText(row) : row.text);
    if (row.who === "tool" && row.resultLine !== undefined) add(row.resultLine, row.result);
  }
  return lines;
}

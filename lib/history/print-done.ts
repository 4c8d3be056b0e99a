/** Prints what was done, within a budget of code points. */

import { countPoints, cutLine, joinFacts, type Line, linesWithin, type Part } from "../base/output.ts";
import { counted, truncate } from "../base/text.ts";
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
import { rowParts } from "../search/rows.ts";

/** Rows below each, one line each, or one line that begins with the command. */
export type DoneForm = "rows" | "lines" | "commands";

interface DoneOptions extends PrintOptions {
  /** The number of results with the unprinted ones. @default the number printed */
  total?: number | undefined;
  /** @default {"rows"} */
  form?: DoneForm | undefined;
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

/**
 * The plain search that ours is held against: bm25 over single rows, any content word of the question, the best rows whole and
 * in order. No passages, no fusion, no choice of rows; the rows are those that the reader gives, with what tools were given
 * and answered.
 */

import { contentWords } from "../../../lib/language/words.ts";
import { openScratch } from "../../../lib/store/sqlite.ts";
import { ownRules } from "../../../lib/transcripts/rules.ts";
import type { Session } from "../../../lib/transcripts/session.ts";
import { insideOf, stepsOf } from "../../../lib/transcripts/steps.ts";
import { readEntries } from "../../../lib/transcripts/transcript.ts";

/** A row of a transcript, as it is printed. */
export interface BaselineRow {
  file: string;
  first_line: number;
  last_line: number;
  text: string;
}

/** Returns the best rows for some phrasings of one question, best first. */
export type Baseline = (phrasings: readonly string[]) => BaselineRow[];

/** More rows than fill what is printed. */
const ROWS = 50;

/** Indexes the rows of sessions in memory. */
export function baselineOver(sessions: readonly Session[]): Baseline {
  const db = openScratch();
  db.exec(
    "CREATE VIRTUAL TABLE rows USING fts5(text, file UNINDEXED, line UNINDEXED, tokenize='porter unicode61')",
  );
  const insert = db.prepare("INSERT INTO rows VALUES (?, ?, ?)");
  const seen = new Set<string>();
  db.transaction(() => {
    for (const { file } of sessions) {
      for (const { line, id, text } of rowsOf(file)) {
        // a fork repeats rows with their ids
        const key = `${id ?? file} ${text}`;
        if (seen.has(key)) continue;
        seen.add(key);
        insert.run(text, file, line);
      }
    }
  });
  const find = db.prepare("SELECT text, file, line FROM rows WHERE rows MATCH ? ORDER BY bm25(rows) LIMIT ?");
  return (phrasings) => {
    const words = [...new Set(phrasings.flatMap(contentWords))];
    if (words.length === 0) return [];
    const rows = find.all(words.map((word) => `"${word.replaceAll('"', "")}"`).join(" OR "), ROWS);
    return rows.map(({ text, file, line }) => ({
      file: String(file),
      first_line: Number(line),
      last_line: Number(line),
      text: `L${line} ${text}`,
    }));
  };
}

function rowsOf(file: string): { line: number; id: string | undefined; text: string }[] {
  const entries = [...readEntries(file, { rules: ownRules(), results: "ends", unterminated: "accept" })];
  return stepsOf(entries)
    .filter(({ entry }) => entry.kind !== "summary")
    .map((step) => {
      const { line, id, kind, text } = step.entry;
      const { input, result } = insideOf(step);
      const said =
        kind === "user" ? `User: ${text}` : kind === "assistant" ? `Assistant: ${text}` : `[${text}]`;
      return {
        line,
        id,
        text: [said, input === "" || text.includes(input) ? "" : input, result].filter(Boolean).join("\n"),
      };
    });
}

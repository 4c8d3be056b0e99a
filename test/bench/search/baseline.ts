/**
 * The plain search that ours is held against: bm25 over single rows, any content word of the question, the best rows whole and
 * in order. No passages, no fusion, no choice of rows; the rows are those that the reader gives, with what tools were given
 * and answered.
 */

import type { Session } from "../../../lib/hosts/session.ts";
import { contentWords } from "../../../lib/language/words.ts";
import { openScratch } from "../../../lib/store/sqlite.ts";
import { toRows } from "../../../lib/transcripts/calls.ts";
import { callText, describeInside } from "../../../lib/transcripts/log.ts";
import { ownRules } from "../../../lib/transcripts/rules.ts";
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
      for (const { line, id, text } of searchedRows(file)) {
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

function searchedRows(file: string): { line: number; id: string | undefined; text: string }[] {
  const entries = [...readEntries(file, { rules: ownRules(), results: "ends", unterminated: "accept" })];
  const ids = new Map(entries.map(({ line, id }) => [line, id]));
  return toRows(entries)
    .filter(({ who }) => who !== "summary")
    .map((row) => {
      const { line } = row;
      const id = ids.get(line);
      if (row.who !== "tool")
        return { line, id, text: `${row.who === "user" ? "User" : "Assistant"}: ${row.text}` };
      const { input, result } = describeInside(row);
      const [called, more] = [callText(row), row.input === "" ? "" : input];
      const inside = more === "" || called.includes(more) ? "" : more;
      return { line, id, text: [`[${called}]`, inside, result].filter(Boolean).join("\n") };
    });
}

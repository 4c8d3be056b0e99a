/** Words as the index's own tokenizer reads them: their stems, and where they occur in texts. */

import { openDatabase, type SqlDatabase } from "../store/sqlite.ts";

/** Called for each occurrence of a word: the text it is in, by number and column, and the position among its words. */
type TermVisitor = (stem: string, text: number, column: number, position: number) => void;

/** Columns of a text that are counted apart. */
const TEXT_COLUMNS = 6;

const COLUMNS = Array.from({ length: TEXT_COLUMNS }, (_, i) => `c${i}`);
const SCHEMA = `
CREATE VIRTUAL TABLE texts USING fts5(${COLUMNS.join(", ")}, tokenize = 'porter unicode61', content = '');
CREATE VIRTUAL TABLE occurrences USING fts5vocab(texts, instance);`;

let scratch: SqlDatabase | undefined;

/** Returns the stem of each word; a word that the tokenizer cuts has that of its first part. */
export function stemWords(words: Iterable<string>): Map<string, string> {
  const unique = [...new Set(words)];
  const stems = new Map(unique.map((word) => [word, word]));
  const rows = fill(unique.map((word) => [word]))
    .prepare("SELECT term, doc FROM occurrences WHERE offset = 0")
    .all();
  for (const { term, doc } of rows) stems.set(unique[Number(doc) - 1] as string, String(term));
  return stems;
}

/** Finds stems in texts, each given by columns. */
export function findStems(
  stems: Iterable<string>,
  texts: readonly (readonly string[])[],
  visit: TermVisitor,
): void {
  const find = fill(texts).prepare("SELECT doc, col, offset FROM occurrences WHERE term = ?");
  for (const stem of new Set(stems)) {
    for (const { doc, col, offset } of find.all(stem)) {
      visit(stem, Number(doc) - 1, Number(String(col).slice(1)), Number(offset));
    }
  }
}

/** Puts texts into the scratch table in place of those before. */
function fill(texts: readonly (readonly string[])[]): SqlDatabase {
  if (!scratch) {
    scratch = openDatabase(":memory:");
    scratch.exec(SCHEMA);
  }
  const db = scratch;
  const insert = db.prepare(
    `INSERT INTO texts (rowid, ${COLUMNS.join(", ")}) VALUES (?${", ?".repeat(TEXT_COLUMNS)})`,
  );
  db.transaction(() => {
    db.exec("INSERT INTO texts (texts) VALUES ('delete-all')");
    for (const [i, columns] of texts.entries()) {
      insert.run(i + 1, ...COLUMNS.map((_, column) => columns[column] ?? ""));
    }
  });
  return db;
}

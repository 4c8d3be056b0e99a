/** Deeds as search finds and shows them: tool calls by their text, with the chunk each belongs to. */

import { DEED_COLUMNS, deedFrom, readDeeds, type StoredDeed } from "../index/deed-rows.ts";
import type { SessionRow } from "../index/index-state.ts";
import type { Store } from "../store/store.ts";
import { type ChunkFilter, whereOf } from "./candidates.ts";
import type { Row } from "./rows.ts";

/** A deed that matches, and the chunk in or behind which it was done. */
export interface FoundDeed {
  chunk: number;
  deed: StoredDeed;
}

/** So much more is asked for before filtering than after. */
const OVERFETCH = 3;
const TARGET_MAX = 90;
const COMMAND_MAX = 200;
/** Of these a result that went well says nothing. */
const PLAIN_DONE: ReadonlySet<string> = new Set(["edit", "write", "read", "search"]);

/** Returns the deeds that match a full-text expression and the filter, best first by bm25. */
export function matchingDeeds(
  store: Store,
  match: string,
  { filter, limit }: { filter: ChunkFilter; limit: number },
): FoundDeed[] {
  const { where, values } = whereOf(filter);
  return store.db
    .prepare(
      `SELECT c.id AS chunk, ${DEED_COLUMNS} FROM
         (SELECT rowid AS id, bm25(deeds_fts) AS score FROM deeds_fts WHERE deeds_fts MATCH $match
          ORDER BY score LIMIT $wanted) AS f
       CROSS JOIN deeds d ON d.id = f.id
       CROSS JOIN sessions s ON s.number = d.session
       CROSS JOIN session_chunks c ON c.id = (SELECT id FROM session_chunks
         WHERE session_id = s.id AND first_line <= d.line ORDER BY first_line DESC, chunk_index DESC LIMIT 1)
       WHERE ${where} ORDER BY f.score LIMIT $limit`,
    )
    .all({ ...values, match, limit, wanted: limit * OVERFETCH })
    .map((row) => ({ chunk: Number(row.chunk), deed: deedFrom(row) }));
}

/** Returns the text of a deed by which it was found. */
export function deedText({ target, input, result }: StoredDeed): string {
  return `${target}\n${input}\n${result}`;
}

/** Returns the deeds of a session on some lines as rows: each call, and what came of it. */
export function deedRowsOf(
  store: Store,
  { number, cwd }: SessionRow,
  {
    from,
    to,
    clean,
    isWanted,
  }: { from: number; to: number; clean: (text: string) => string; isWanted: (deed: StoredDeed) => boolean },
): Omit<Row, "isInside">[] {
  const deeds = readDeeds(store, number, { after: from - 1, to }).filter(isWanted);
  return deeds.flatMap((deed) => {
    const { line, resultLine, kind, outcome, input, result } = deed;
    const target = relativeTo(cwd, deed.target);
    const failed = outcome === "failed" || outcome === "rejected" ? ` ${outcome}` : "";
    const head = clean(`[${deed.tool} ${cut(target, kind === "command" ? COMMAND_MAX : TARGET_MAX)}]`);
    const said =
      kind === "read" ? "" : input.startsWith(deed.target) ? input.slice(deed.target.length) : input;
    const call = row({ line, tool: `${head}${failed}`, text: clean(said) });
    const isInformative = result !== "" && !(outcome === "done" && PLAIN_DONE.has(kind));
    if (!isInformative) return [call];
    return [
      call,
      {
        ...row({ line: resultLine ?? line, tool: `[${deed.tool} output]${failed}`, text: clean(result) }),
        isOutput: true,
      },
    ];
  });
}

function row({ line, tool, text }: { line: number; tool: string; text: string }): Omit<Row, "isInside"> {
  return { line, lastLine: line, who: "tool", tool, text: text.replace(/^\s+/, "") };
}

function relativeTo(cwd: string | undefined, target: string): string {
  return cwd !== undefined && target.startsWith(`${cwd}/`) ? target.slice(cwd.length + 1) : target;
}

/** Keeps the beginning and the end of a long text: of a path its name, of a command what it runs. */
function cut(text: string, max: number): string {
  const line = [...text.replace(/\s+/g, " ").trim()];
  if (line.length <= max) return line.join("");
  const tail = Math.floor(max * 0.6);
  return `${line.slice(0, max - tail - 1).join("")}…${line.slice(-tail).join("")}`;
}

/**
 * Reads what was done in sessions, and makes hits of it: places described in a few words, with the rows that show them.
 *
 * The room answers what was done about a file, an error or a command, or at a time, and how it ended:
 *
 * - A deed is a row: a call with its outcome, its change and the telling part of its output, in a session (`SessionDeed`).
 * - One query: `matchDeeds` reads the deeds that match words of their columns. Each door reads of a deed how it concerns what is
 *   asked for: `readTouch` a file, `likest` an error, `hasWords` a command; `matchMessages` reads what was said of it.
 * - One place where likes come together: a door groups deeds (by session, by command) and makes a hit of each group (`doneHit`,
 *   `deedRow`, `spokenHits`). `findHistory` asks several doors at once, `withAftermath` adds what came of a row.
 * - One printer: `printDone`.
 * - How a failure ended (`findEnding`, `rankSteps`) serves `--error` and Seen before alike. Seen before alone is told unasked, so
 *   it has guards: `isAlike`, `noiseIn`, `programThat`, `isElsewhere`, and of whose deeds may be told `mayTell`.
 * - Who wrote a line (`blame`) replays all that was done to its file (`replay`).
 */

import { rangesOf, truncate } from "../base/text.ts";
import type { Done, Said, Speaker } from "../hosts/session.ts";
import { type IndexedSession, SESSION_COLUMNS, toIndexedSession } from "../index/index-state.ts";
import type { matchProject } from "../index/own-project.ts";
import { ROW_COLUMNS, readSaid, type Stored, toDone } from "../index/stored-rows.ts";
import type { Hit } from "../search/hit.ts";
import { COMMAND_MAX, callHead, type ShownRow } from "../search/rows.ts";
import type { Store } from "../store/store.ts";

/** The score of what may be what was asked for, and is not certain to be: below that of a strong hit. */
const POSSIBLE = 0.4;

/** Makes the hit of what was done in a session, which is what was asked for, or may be. */
export function doneHit(
  hit: Pick<Hit, "session" | "at" | "rows" | "from" | "to" | "also" | "elsewhere"> & { summary: string },
  { isPossible = false } = {},
): Hit {
  return { ...hit, score: isPossible ? POSSIBLE : 1, isOpen: true, without: [], copies: [] };
}

/** The sessions to look at. */
export interface FindScope {
  /** Ids. @default all */
  among?: readonly string[] | undefined;
  /** ISO times. */
  after?: string | undefined;
  before?: string | undefined;
  /** True if subagents' sessions are looked at too. @default {false} */
  subagents?: boolean | undefined;
  /** The directory of who asks. */
  cwd: string;
  /** The file that notes where repositories were. */
  paths: Parameters<typeof matchProject>[1];
  /** Returns whether a session may not be named. @default all may */
  isHidden?: ((session: IndexedSession) => boolean) | undefined;
}

/** Chunks looked at for one question. */
const CHUNKS_MAX = 2000;

/** Deeds looked at for one question. */
const DEEDS_MAX = 20_000;

/** A deed, and the session that did it. */
export interface SessionDeed {
  deed: Stored<Done>;
  session: IndexedSession;
}

/** Reads the deeds in scope that match a full-text expression over their columns: the newest, or the `best` that match. */
export function matchDeeds(
  store: Store,
  match: string,
  scope: Omit<FindScope, "cwd" | "paths">,
  best?: number,
): SessionDeed[] {
  const rows = store.all(
    `SELECT ${ROW_COLUMNS} FROM deeds_fts JOIN rows r ON r.id = deeds_fts.rowid WHERE deeds_fts MATCH ?
       ORDER BY ${best === undefined ? "r.at DESC" : "bm25(deeds_fts)"} LIMIT ?`,
    match,
    best ?? DEEDS_MAX,
  );
  return withSessions(store, rows.map(toDone), scope).map(([deed, session]) => ({ deed, session }));
}

/** A message that was found. */
interface SessionMessage {
  message: ShownRow;
  at: string;
  session: IndexedSession;
}

/** Reads the messages in scope of chunks that match a full-text expression, with their sessions, newest first. */
export function matchMessages(
  store: Store,
  match: string,
  scope: FindScope,
  isWanted: (text: string) => boolean,
): SessionMessage[] {
  const chunks = store
    .all(
      `SELECT c.id, c.session, c.timestamp AS at FROM chunks_fts f JOIN chunks c ON c.id = f.rowid
       WHERE chunks_fts MATCH ? ORDER BY c.timestamp DESC LIMIT ?`,
      `content : ${match}`,
      CHUNKS_MAX,
    )
    .map(({ id, session, at }) => ({ id: Number(id), session: Number(session), at: String(at) }));
  const wanted = withSessions(store, chunks, scope);
  const said = readSaid(
    store,
    wanted.map(([{ id }]) => id),
  );
  return wanted.flatMap(([{ id, at }, session]) => {
    const message = said
      .get(id)
      ?.map(shownMessage)
      .find(({ text }) => isWanted(text));
    return message ? [{ message, at, session }] : [];
  });
}

/** The number of lines between which places count as one. */
const NEAR_LINES = 40;
/** Characters shown before the name that was spoken of. */
const SAID_BEFORE = 100;

/** Makes a hit of each session in which something was spoken of, at the first message; `name` is in the part of it shown. */
export function spokenHits(spoken: readonly (SessionMessage & { name?: string })[], summary: string): Hit[] {
  return [...Map.groupBy(spoken, ({ session }) => session.number).values()].map((places) => {
    const [first, ...others] = places.toSorted((a, b) => a.message.line - b.message.line);
    const { session, message, name = "" } = first as (typeof spoken)[number];
    const { text } = message;
    const from = text.indexOf(name) - SAID_BEFORE;
    return doneHit({
      session,
      at:
        places
          .map(({ at }) => at)
          .toSorted()
          .at(-1) ?? "",
      summary,
      rows: [{ ...message, text: from <= 0 ? text : `…${text.slice(from)}` }],
      from: message.line,
      to: message.line,
      also: rangesOf(
        others.map((place) => place.message.line),
        NEAR_LINES,
      ),
    });
  });
}

/** Pairs what was found with its session, as far as both are in scope. */
export function withSessions<T extends { session: number; at: string }>(
  store: Store,
  found: readonly T[],
  { among, subagents = false, after = "", before = "~", isHidden = () => false }: Partial<FindScope>,
): [T, IndexedSession][] {
  const numbers = JSON.stringify([...new Set(found.map(({ session }) => session))]);
  const isWanted = ({ id, parentId }: IndexedSession) =>
    (among?.includes(id) ?? true) && (subagents || parentId === undefined);
  const sessions = new Map(
    store
      .all(
        `SELECT ${SESSION_COLUMNS} FROM sessions WHERE number IN (SELECT value FROM json_each(?))`,
        numbers,
      )
      .map(toIndexedSession)
      .filter((session) => isWanted(session) && !isHidden(session))
      .map((session) => [session.number, session]),
  );
  return found.flatMap((one): [T, IndexedSession][] => {
    const session = sessions.get(one.session);
    return session && one.at >= after && one.at <= before ? [[one, session]] : [];
  });
}

/** Converts a deed to a row; `text` is the part worth showing, and paths are named from `cwd`. */
export function deedRow(
  deed: Stored<Done>,
  { text, cwd }: { text: string; cwd: string | undefined },
): ShownRow {
  const { line, kind, target, input } = deed;
  // of a command of several lines the first mostly says nothing: `git commit -m "$(cat <<'EOF'`
  const isLong = kind === "command" && input.startsWith(target);
  const called = isLong ? truncate(input.replace(/\s+/g, " ").trim(), COMMAND_MAX) : target;
  const tool = callHead({ ...deed, target: called }, cwd);
  return { line, who: "tool", tool, deed, text: text.replace(/\s+/g, " ").trim() };
}

/** Reads the messages on some lines of a session, in order, each on one line. */
export function messagesWithin(
  store: Store,
  session: number,
  { from, to }: { from: number; to: number },
): ShownRow[] {
  return store
    .all(
      "SELECT line, who, text FROM rows WHERE session = ? AND line BETWEEN ? AND ? AND who <> 'tool' ORDER BY line, nth",
      session,
      from,
      to,
    )
    .map(({ line, who, text }) =>
      shownMessage({ line: Number(line), who: who as Speaker, text: String(text) }),
    );
}

/** Returns a message, or a piece of one, on one line. */
function shownMessage({ line, who, text }: Pick<Said<Speaker>, "line" | "who" | "text">): ShownRow {
  return { line, who, text: text.replace(/\s+/g, " ").trim() };
}

/** Returns a full-text phrase of a text's words; undefined when it has none. */
export function toPhrase(text: string): string | undefined {
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.length === 0 ? undefined : `"${words.join(" ")}"`;
}

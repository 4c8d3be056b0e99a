/** An index made for one test: a store of its own over a home's transcripts, and what it holds as plain values. */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultSettings, type PathsWithRules, type Settings } from "../../lib/config/config.ts";
import type { IndexReport } from "../../lib/index/index-state.ts";
import { type IndexOptions, indexSessions } from "../../lib/index/indexing.ts";
import type { HitOptions } from "../../lib/search/hits.ts";
import { listSessions } from "../../lib/sessions/sessions.ts";
import { openStore, type Store } from "../../lib/store/store.ts";
import { claudeAssistant, claudeUser } from "./claude.ts";
import type { TemporaryHome } from "./home.ts";
import type { Row } from "./rows.ts";

/** The default settings in UTC, with some of them changed. */
export function settingsWith(changes: Partial<Settings> = {}): Settings {
  return { ...defaultSettings(), timezone: "UTC", ...changes };
}

/** What a search of one test's index asks, in UTC and at a fixed time. */
export const HITS: HitOptions = {
  filter: {},
  limit: 5,
  now: new Date("2026-02-10T12:00:00Z"),
  timezone: "UTC",
  style: {
    timezone: "UTC",
    nameOf: ({ name }) => name,
    shortId: ({ id }) => id.slice(0, 8),
  },
  maxChars: 2500,
  around: 0,
  explain: false,
};

/** Indexes all sessions of a home, oldest first. */
export async function indexHome(
  { paths }: { paths: PathsWithRules },
  store: Store,
  options: Partial<Omit<IndexOptions, "store">> = {},
): Promise<IndexReport> {
  const sessions = listSessions(paths, { subagents: true }).reverse();
  return await indexSessions({ store, paths, sessions, settings: settingsWith(), ...options });
}

/** Opens a home's own index, until the home is removed at the latest. */
export function openHomeStore(home: TemporaryHome): Store {
  const store = openStore(home.paths.database);
  home.atEnd.push(() => store.close());
  return store;
}

/** Opens a new index that is no home's. */
export function openNewStore(): Store {
  return openStore(join(mkdtempSync(join(tmpdir(), "session-memory-store-")), "memory.db"));
}

/** A prompt and its answer as rows, at a minute of the day. */
export function turn(
  prompt: string,
  answer: string,
  {
    minute = 0,
    sessionId,
    tools = [],
  }: { minute?: number; sessionId?: string; tools?: { name: string; input: Row }[] } = {},
): Row[] {
  const at = (second: number) => new Date(Date.UTC(2026, 1, 3, 14, minute, second)).toISOString();
  const session = sessionId === undefined ? {} : { sessionId };
  return [
    claudeUser({ ...session, text: prompt, at: at(0) }),
    ...claudeAssistant({ ...session, text: answer, at: at(20), tools }),
  ];
}

/** All that search can find, without what differs between two runs (ids, creation times). */
export function contentOf(store: Store): unknown {
  const all = (sql: string) => store.prepare(sql).all();
  return {
    chunks: all(
      `SELECT session_id, chunk_index, timestamp, speakers, topic_tags, has_decision, has_action, first_line, last_line,
         exchange_line, hex(content_hash), content, context_content, tools, token_count,
         hex(embedding) AS embedding, embedding_failures
       FROM session_chunks ORDER BY session_id, chunk_index`,
    ),
    sessions: all(
      "SELECT id, agent, file, cwd, project, parent_id, started_at, source_gone, compacted_line FROM sessions ORDER BY id",
    ),
    state: all(
      `SELECT session_id, file_path, file_hash, chunk_count, status, size, cursor_offset, cursor_line, next_chunk,
         skipped_lines, error FROM index_state ORDER BY session_id`,
    ),
    words: all("SELECT term, doc, cnt FROM chunks_vocab ORDER BY term"),
    fullText: Number(store.prepare("SELECT count(*) AS n FROM chunks_fts").get()?.n),
    keys: all("SELECT key, id, line FROM row_keys JOIN sessions ON number = session ORDER BY key"),
    copies: all("SELECT * FROM copies ORDER BY 1, 2"),
    rows: all(
      `SELECT s.id, line, nth, at, who, text, result_line, kind, tool, target, paths, input, outcome, result
       FROM rows JOIN sessions s ON number = session ORDER BY s.id, line, nth`,
    ),
    exchanges: all(
      `SELECT s.id, line, nth, participants, speaker, subject
       FROM exchanges JOIN sessions s ON number = session ORDER BY s.id, line, nth`,
    ),
    rewound: all(
      "SELECT id, first_line, last_line FROM rewound JOIN sessions ON number = session ORDER BY 1, 2",
    ),
    deedWords: all("SELECT term, doc, cnt FROM deeds_vocab ORDER BY term"),
  };
}

/** The contents of a session's chunks, in order. */
export function chunksOf(store: Store, sessionId: string): string[] {
  return store
    .prepare("SELECT content FROM session_chunks WHERE session_id = ? ORDER BY chunk_index")
    .all(sessionId)
    .map((row) => String(row.content));
}

/** How many chunks hold a word, asked of the full-text index. */
export function countMatches(store: Store, word: string): number {
  const match = `"${word.replaceAll('"', '""')}"`;
  return Number(store.prepare("SELECT count(*) AS n FROM chunks_fts WHERE chunks_fts MATCH ?").get(match)?.n);
}

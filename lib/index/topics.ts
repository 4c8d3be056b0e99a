/**
 * Topics of whole sessions, from the words that they keep coming back to and the files they edit most; and topics of chunks
 * that a model gives in place of the rules' ones: twenty chunks a call, kept by content hash and never paid twice.
 */

import { SessionMemoryError } from "../base/errors.ts";
import { TOPIC_NAMES } from "../language/topics.ts";
import { isTopicName, keyTerms } from "../language/vocabulary.ts";
import type { CompleteJson } from "../model/answers.ts";
import { forgottenSoFar, isStillThere, type Store } from "../store/store.ts";
import { forgetTopics, putTopics } from "./chunk-rows.ts";

const TOPICS_MAX = 8;
/** A short session has few. */
const CHUNKS_PER_TOPIC = 4;
const FILES_MAX = 2;
const EDITS_MIN = 3;
/** Elsewhere a word must be so much rarer; from the second on it is as rare as can be. */
const RARER = { least: 3, most: 30 };
/** Others write meanwhile. */
const SESSIONS_PER_TRANSACTION = 20;

interface Stale {
  number: number;
  id: string;
  chunks: number;
}

interface Topic {
  topic: string;
  chunks: number;
}

interface UpdateOptions {
  /** Only these sessions. @default all */
  ids?: readonly string[] | undefined;
  deadlineMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Makes the topics of sessions that have none, or have changed by a quarter since they were made. */
export async function updateSessionTopics(
  store: Store,
  { ids, deadlineMs = Number.POSITIVE_INFINITY, signal }: UpdateOptions = {},
): Promise<void> {
  const end = performance.now() + deadlineMs;
  const stale = staleSessions(store, ids);
  if (stale.length === 0) return;
  const corpus = corpusOf(store);
  while (stale.length > 0 && performance.now() < end && !signal?.aborted) {
    const forgotten = forgottenSoFar(store);
    const made = stale.splice(0, SESSIONS_PER_TRANSACTION).map((session) => ({
      session,
      topics: topicsOf(store, session, corpus),
    }));
    store.db.transaction(() => {
      // what was forgotten meanwhile may be in them: the next run rebuilds them
      if (forgottenSoFar(store) !== forgotten) return;
      for (const { session, topics } of made) saveTopics(store, session, topics);
    });
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function staleSessions(store: Store, ids: readonly string[] | undefined): Stale[] {
  return store.db
    .prepare(
      `SELECT s.number, s.id, i.chunk_count FROM index_state i JOIN sessions s ON s.id = i.session_id
         LEFT JOIN topic_marks m ON m.session_id = i.session_id
       WHERE i.chunk_count > 0 AND ($ids IS NULL OR s.id IN (SELECT value FROM json_each($ids)))
         AND (m.chunks IS NULL OR abs(i.chunk_count - m.chunks) * 4 > m.chunks)
       ORDER BY i.last_indexed DESC, s.number DESC`,
    )
    .all({ ids: ids ? JSON.stringify(ids) : null })
    .map((row) => ({ number: Number(row.number), id: String(row.id), chunks: Number(row.chunk_count) }));
}

/** How often words occur in the index. */
interface Corpus {
  chunks: number;
  /** Returns the number of chunks with a word. */
  count(word: string): number;
}

function corpusOf({ db }: Store): Corpus {
  const find = db.prepare(
    "SELECT max(doc) AS chunks FROM chunks_vocab WHERE term IN (SELECT value FROM json_each(?))",
  );
  const all = db.prepare("SELECT coalesce(sum(chunk_count), 0) AS n FROM index_state").get();
  return {
    chunks: Number(all?.n),
    count: (word) => Number(find.get(JSON.stringify(possibleStems(word)))?.chunks ?? 0),
  };
}

/** Returns what the tokenizer may make of a word. One that it makes into something else counts as rare. */
function possibleStems(word: string): string[] {
  const ends = [/s$/, /e$/, /ing$/, /ed$/, /ers?$/, /or$/, /ion$/, /ations?$/];
  return [word, word.replace(/y$/, "i"), ...ends.map((end) => word.replace(end, ""))];
}

function topicsOf(store: Store, { number, id, chunks }: Stale, corpus: Corpus): Topic[] {
  const texts = store.db
    .prepare("SELECT content FROM session_chunks WHERE session_id = ? ORDER BY chunk_index")
    .all(id)
    .map(({ content }) => String(content));
  const max = Math.min(TOPICS_MAX, 1 + Math.ceil(chunks / CHUNKS_PER_TOPIC));
  const terms = keyTerms(texts, { max, rarity: rarityIn(corpus, chunks) });
  const topics = terms.map(({ term, pieces }) => ({ topic: term, chunks: pieces }));
  return [...topics, ...editedMost(store, number)].filter(({ topic }) => !TOPIC_NAMES.includes(topic));
}

/** Returns how much rarer a word is in other sessions than in one of so many chunks. */
function rarityIn(corpus: Corpus, chunks: number): (word: string, here: number) => number {
  const others = Math.max(1, corpus.chunks - chunks);
  return (word, here) => {
    const elsewhere = Math.max(0.5, corpus.count(word) - here) / others;
    const times = here / chunks / elsewhere;
    return times < RARER.least ? 0 : Math.min(1, Math.log(times) / Math.log(RARER.most));
  };
}

/** Returns the names of the files a session edits most. */
function editedMost({ db }: Store, number: number): Topic[] {
  return db
    .prepare(
      `SELECT target, count(*) AS edits FROM deeds WHERE session = ? AND kind IN ('edit', 'write')
       GROUP BY target HAVING edits >= ? ORDER BY edits DESC, target LIMIT ?`,
    )
    .all(number, EDITS_MIN, FILES_MAX)
    .map(({ target, edits }) => ({
      topic: fileTopic(String(target)),
      chunks: Number(edits),
    }))
    .filter(({ topic }) => isTopicName(topic));
}

/** `src/tui-renderer.test.ts` → tui-renderer. */
function fileTopic(path: string): string {
  const name = path.split(/[\\/]/).at(-1) ?? "";
  return name.replace(/\.\w+$/, "").replace(/^test[_.-]|[_.-](?:test|spec)s?$/gi, "");
}

function saveTopics(store: Store, { id, chunks }: Stale, topics: readonly Topic[]): void {
  forgetTopics(store, id);
  const save = store.db.prepare("INSERT OR IGNORE INTO session_topics VALUES (?, ?, ?, ?)");
  for (const { topic, chunks } of topics) save.run(topicKey(topic), id, topic, chunks);
  store.db.prepare("INSERT INTO topic_marks VALUES (?, ?)").run(id, chunks);
}

/** `AgentSession`, `agent-session` and `agent sessions` are one topic; the search's filter reads them alike. */
function topicKey(topic: string): string {
  return topic
    .toLowerCase()
    .replace(/[\s_-]+/g, "")
    .replace(/s$/, "");
}

interface TopicRunOptions {
  store: Store;
  complete: CompleteJson;
  redact: (text: string) => string;
  /** Only this session's chunks, and only in full batches: a session that goes on changes its last ones. @default all */
  session?: string | undefined;
  /** Calls at most. @default no limit */
  maxCalls?: number | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

export interface TopicReport {
  /** Chunks whose topics a model gave. */
  refined: number;
  left: number;
  tokens: number;
  usd: number | null;
  /** The reason that the run ended early. */
  stopped: SessionMemoryError | undefined;
}

export const CHUNKS_PER_CALL = 20;
const CHUNK_TOPICS_MAX = 3;
const MAX_TOKENS = 1500;

interface Untagged {
  id: number;
  hash: Uint8Array;
  content: string;
}

/** Refines the topics of every chunk that no model has seen. */
export async function refineTopics(options: TopicRunOptions): Promise<TopicReport> {
  const { store, session, signal, maxCalls = Number.POSITIVE_INFINITY } = options;
  const report: TopicReport = { refined: 0, left: 0, tokens: 0, usd: 0, stopped: undefined };
  const total = countUntagged(store);
  let after = 0;
  for (let calls = 0; calls < maxCalls && !signal?.aborted; calls++) {
    const batch = untaggedChunks(store, { after, session });
    const last = batch.at(-1);
    if (!last || (session !== undefined && batch.length < CHUNKS_PER_CALL)) break;
    after = last.id;
    try {
      await refineBatch(options, batch, report);
    } catch (error) {
      if (!(error instanceof SessionMemoryError)) throw error;
      if (!signal?.aborted) report.stopped = error;
      break;
    }
    options.onProgress?.(report.refined, total);
  }
  report.left = countUntagged(store);
  return report;
}

async function refineBatch(
  { store, complete, redact, signal }: TopicRunOptions,
  batch: readonly Untagged[],
  report: TopicReport,
): Promise<void> {
  // its schema costs four empty starts
  const { TOPICS_SYSTEM, topicsAnswer, topicsPrompt } = await import("../model/prompts.ts");
  const forgotten = forgottenSoFar(store);
  const answer = await complete({
    feature: "topics",
    system: TOPICS_SYSTEM,
    prompt: topicsPrompt(batch.map(({ content }) => redact(content))),
    schema: topicsAnswer,
    maxTokens: MAX_TOKENS,
    signal,
  });
  report.tokens += answer.tokens;
  report.usd = report.usd === null || answer.usd === null ? null : report.usd + answer.usd;
  const keep = store.db.prepare(
    "INSERT OR REPLACE INTO topic_cache (content_hash, topics, model) VALUES (?, ?, ?)",
  );
  store.db.transaction(() => {
    const isSure = forgottenSoFar(store) === forgotten;
    for (const { chunk, tags } of answer.value.topics) {
      const tagged = batch[chunk - 1];
      const topics = cleanTopics(tags, redact);
      if (!tagged || topics.length === 0 || (!isSure && !isStillThere(store, tagged))) continue;
      keep.run(tagged.hash, JSON.stringify(topics), answer.model);
      putTopics(store, tagged.id, topics);
      report.refined++;
    }
  });
}

/** Cleans tags, which may not end the header's line or close its bracket. */
function cleanTopics(tags: readonly string[], redact: (text: string) => string): string[] {
  const clean = tags.map((tag) =>
    redact(tag)
      .toLowerCase()
      .replace(/[\][\n\r,]+/g, " ")
      .trim(),
  );
  return [...new Set(clean.filter((tag) => tag !== ""))].slice(0, CHUNK_TOPICS_MAX);
}

const UNTAGGED =
  "FROM session_chunks c WHERE NOT EXISTS (SELECT 1 FROM topic_cache t WHERE t.content_hash = c.content_hash)";

function untaggedChunks(
  store: Store,
  { after, session }: { after: number; session: string | undefined },
): Untagged[] {
  return store.db
    .prepare(
      `SELECT id, content_hash, content ${UNTAGGED} AND id > ?1 AND (?2 IS NULL OR session_id = ?2)
       ORDER BY id LIMIT ?3`,
    )
    .all(after, session ?? null, CHUNKS_PER_CALL)
    .map((row) => ({
      id: Number(row.id),
      hash: row.content_hash as Uint8Array,
      content: String(row.content),
    }));
}

function countUntagged(store: Store): number {
  return Number(store.db.prepare(`SELECT count(*) AS n ${UNTAGGED}`).get()?.n ?? 0);
}

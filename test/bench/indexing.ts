/** How fast transcripts are indexed: 3,000 generated sessions, 78,000 messages, 48 MB. */

import { Database } from "bun:sqlite";
import { appendFileSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { resolvePaths } from "../../lib/config/config.ts";
import { indexSessions } from "../../lib/index/indexing.ts";
import { listSessions } from "../../lib/sessions/sessions.ts";
import { openStore } from "../../lib/store/store.ts";
import { settingsWith } from "../support/index.ts";
import { seeded } from "../support/random.ts";
import { scriptPath } from "../support/run.ts";
import { sessionText, writeCorpus } from "./corpus.ts";
import {
  atMost,
  type BenchRow,
  bun,
  emptyScript,
  inTemporaryFolder,
  interleaved,
  timeProcess,
} from "./measure.ts";

const COLD_RUNS = 3;
const WARM_RUNS = 7;

/** Everything the bars of indexing ask. */
export async function rows(): Promise<BenchRow[]> {
  return await inTemporaryFolder(async (folder) => {
    const claude = join(folder, "claude");
    const corpus = writeCorpus(claude);
    const env = { HOME: folder, CLAUDE_CONFIG_DIR: claude, PATH: process.env.PATH };
    return [...(await coldIndex(folder, { claude, corpus })), ...(await warmIndex(folder, { env, corpus }))];
  });
}

/** A first run over all sessions against a bare loop over the same files. */
async function coldIndex(
  folder: string,
  { claude, corpus }: { claude: string; corpus: string[] },
): Promise<BenchRow[]> {
  const times = await interleaved(
    {
      bare: async () => bareLoop(join(folder, "bare.db"), corpus),
      ours: () => fullIndex(join(folder, "ours.db"), claude),
    },
    COLD_RUNS,
  );
  const detail = `${times.ours.toFixed(0)} ms / ${times.bare.toFixed(0)} ms`;
  return [atMost("cold full-text index of 48 MB / bare loop", times.ours / times.bare, 2.3, { detail })];
}

/** Parses, inserts chunk rows and two FTS5 porter columns, 100 files a transaction, and nothing else. */
function bareLoop(path: string, files: readonly string[]): number {
  removeDatabase(path);
  const started = performance.now();
  const db = new Database(path);
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = NORMAL");
  db.run(`CREATE TABLE session_chunks (id INTEGER PRIMARY KEY, session_id TEXT, chunk_index INTEGER, timestamp TEXT,
    content TEXT, context_content TEXT, UNIQUE (session_id, chunk_index))`);
  db.run("CREATE INDEX by_time ON session_chunks(timestamp)");
  db.run("CREATE VIRTUAL TABLE chunks_fts USING fts5(content, header, tokenize = 'porter unicode61')");
  const insert = db.prepare("INSERT INTO session_chunks VALUES (NULL, ?, ?, ?, ?, ?)");
  const insertText = db.prepare("INSERT INTO chunks_fts (rowid, content, header) VALUES (?, ?, ?)");
  for (let from = 0; from < files.length; from += 100) {
    db.run("BEGIN");
    for (const file of files.slice(from, from + 100)) {
      for (const [index, { session, at, text }] of bareChunks(file).entries()) {
        const header = `[Session from ${at}]`;
        const { lastInsertRowid } = insert.run(session, index, at, text, `${header}\n\n${text}`);
        insertText.run(lastInsertRowid, text, header);
      }
    }
    db.run("COMMIT");
  }
  db.close();
  return performance.now() - started;
}

interface BareChunk {
  session: string;
  at: string;
  text: string;
}

function bareChunks(file: string): BareChunk[] {
  const chunks: BareChunk[] = [];
  for (const line of readFileSync(file, "utf8").split("\n")) {
    if (line === "") continue;
    const row = JSON.parse(line);
    const { content } = row.message;
    if (typeof content === "string") {
      chunks.push({ session: row.sessionId, at: row.timestamp, text: `User: ${content}` });
    } else if (row.type === "assistant") {
      const chunk = chunks.at(-1);
      for (const block of content)
        if (chunk && block.type === "text") chunk.text += `\nAssistant: ${block.text}`;
    }
  }
  return chunks;
}

async function fullIndex(path: string, claude: string): Promise<number> {
  removeDatabase(path);
  const started = performance.now();
  const store = openStore(path);
  const paths = resolvePaths({ HOME: claude, CLAUDE_CONFIG_DIR: claude });
  await indexSessions({
    store,
    paths,
    sessions: listSessions(paths, { subagents: true }),
    settings: settingsWith(),
  });
  store.close();
  return performance.now() - started;
}

function removeDatabase(path: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
}

/** Runs of the script over an index that is up to date, and over one where a session has grown. */
async function warmIndex(
  folder: string,
  { env, corpus }: { env: Record<string, string | undefined>; corpus: string[] },
): Promise<BenchRow[]> {
  const embed = bun(scriptPath("embed"), "--quiet");
  await timeProcess(embed, { env });
  const empty = bun(emptyScript(folder));
  const random = seeded(2);
  let grown = 0;
  const times = await interleaved(
    {
      empty: async () => (await timeProcess(empty, { env })).ms,
      unchanged: async () => (await timeProcess(embed, { env })).ms,
      grown: async () => {
        const number = 10_000 + grown++;
        const file = corpus[grown * 37] ?? "";
        appendFileSync(file, sessionText(random, { number, rows: 12, bytes: 9000 }));
        return (await timeProcess(embed, { env })).ms;
      },
    },
    WARM_RUNS,
  );
  const against = (ms: number) => ({ detail: `${ms.toFixed(1)} ms / ${times.empty.toFixed(1)} ms` });
  return [
    atMost(
      "embed, nothing changed / empty start",
      times.unchanged / times.empty,
      10,
      against(times.unchanged),
    ),
    atMost("embed, one session grew / empty start", times.grown / times.empty, 15, against(times.grown)),
  ];
}

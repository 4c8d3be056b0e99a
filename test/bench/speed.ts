/**
 * How fast whole commands are, on 3,000 and on 20,000 generated sessions: beside a bare loop, and beside earlier versions of
 * ours that run in turn with this one.
 */

import { Database } from "bun:sqlite";
import { appendFileSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { resolvePaths } from "../../lib/config/config.ts";
import { openStore } from "../../lib/store/store.ts";
import { indexHome } from "../support/index.ts";
import { seeded } from "../support/random.ts";
import { ROOT, runCommand } from "../support/run.ts";
import { sessionText, writeCorpus } from "./corpus.ts";
import {
  atMost,
  type BenchRow,
  bun,
  figure,
  inTemporaryFolder,
  interleaved,
  peakMemory,
  timeProcess,
  times,
} from "./measure.ts";

const [COLD_RUNS, RUNS, RUNS_OF_MANY] = [3, 15, 7];
const MANY = { sessions: 20_000, rows: 12, bytes: 6000 };
const PHRASINGS = [
  "why does the worker queue time out",
  "worker timeout retry",
  "queue handler latency regression",
];

/** A command that is timed: its script and arguments, and the bar of its ratio to an earlier version. */
interface Command {
  name: string;
  words: [script: string, ...args: string[]];
  before: string;
  bar: number;
  /** True if a session has gone on since the last run. */
  isGrown?: boolean;
}

const SESSION = "00000bb7"; // the last but eight of 3,000
const [LIGHT, WIDE] = ["8763353", "ae396cfb"] as const;
const SEARCH: Command = { name: "search", words: ["search", PHRASINGS[0] ?? ""], before: WIDE, bar: 0.65 };
const COMMANDS: Command[] = [
  SEARCH,
  { name: "search, three phrasings", words: ["search", ...PHRASINGS], before: WIDE, bar: 0.65 },
  { ...SEARCH, name: "search, one session grew", isGrown: true },
  { name: "reader", words: ["session-reader", SESSION], before: LIGHT, bar: 1 },
  { name: "list", words: ["session-reader", "--list"], before: LIGHT, bar: 1 },
  { name: "embed, nothing changed", words: ["embed"], before: LIGHT, bar: 1 },
  { name: "activity-summary", words: ["activity-summary"], before: LIGHT, bar: 1 },
];

export async function rows(): Promise<BenchRow[]> {
  return await inTemporaryFolder(async (folder) => {
    const claude = join(folder, "claude");
    const corpus = writeCorpus(claude);
    const cold = await coldIndex(folder, { claude, corpus });
    const earlier = { [LIGHT]: await checkOut(LIGHT, folder), [WIDE]: await checkOut(WIDE, folder) };
    const some = await commandRows(folder, { corpus, earlier, commands: COMMANDS, runs: RUNS });
    rmSync(claude, { recursive: true });
    const commands: Command[] = [
      { ...SEARCH, name: "search, 20,000 sessions", bar: 0.8 },
      { name: "list, 20,000 sessions", words: ["session-reader", "--list"], before: LIGHT, bar: 1 },
    ];
    const many = { corpus: writeCorpus(claude, MANY), earlier, commands, runs: RUNS_OF_MANY };
    return [...cold, ...some, ...(await commandRows(folder, many))];
  });
}

interface Corpus {
  corpus: readonly string[];
  /** The folders of earlier versions, as far as this clone has them. */
  earlier: Readonly<Record<string, string | undefined>>;
  commands: readonly Command[];
  runs: number;
}

/** Times commands of this version and of the earlier one in turn, each with an index of its own, and measures the memory of a search. */
async function commandRows(folder: string, { corpus, earlier, commands, runs }: Corpus): Promise<BenchRow[]> {
  const random = seeded(2);
  let grown = 0;
  const rows: BenchRow[] = [];
  const state = (version: string) => join(folder, `${version}-${corpus.length}`);
  const start = async (version: string, root: string, [script, ...args]: Command["words"]) => {
    const env = environment(folder, state(version));
    return (await timeProcess(bun(join(root, "scripts", `${script}.ts`), "--quiet", ...args), { env })).ms;
  };
  for (const { name, words, before, bar, isGrown } of commands) {
    const root = earlier[before];
    if (root === undefined) continue;
    await start("now", ROOT, ["embed"]);
    await start(before, root, ["embed"]);
    const grow = () => {
      if (!isGrown) return;
      appendFileSync(
        corpus[++grown * 37] ?? "",
        sessionText(random, { number: 100_000 + grown, rows: 12, bytes: 9000 }),
      );
    };
    const medians = await interleaved(
      {
        before: () => {
          grow();
          return start(before, root, words);
        },
        now: () => start("now", ROOT, words),
      },
      runs,
    );
    const detail = times(medians.now, medians.before);
    rows.push(atMost(`${name} / ${before}`, medians.now / medians.before, bar, { detail }));
  }
  const [script, ...args] = SEARCH.words;
  const search = bun(join(ROOT, "scripts", `${script}.ts`), "--quiet", ...args);
  const memory = await peakMemory(search, { env: environment(folder, state("now")) });
  const bar = { unit: "MiB" };
  if (corpus.length < MANY.sessions) return [...rows, figure("  memory of a search", memory, bar)];
  return [...rows, atMost("  memory of a search", memory, 150, bar)];
}

function environment(folder: string, state: string): Record<string, string | undefined> {
  return {
    HOME: folder,
    CLAUDE_CONFIG_DIR: join(folder, "claude"),
    SESSION_MEMORY_HOME: state,
    PATH: process.env.PATH,
  };
}

/** Puts an earlier version of ours into a folder, with the libraries of this one; undefined where this is no clone that has it. */
async function checkOut(commit: string, folder: string): Promise<string | undefined> {
  const place = join(folder, commit);
  const archive = `${place}.tar`;
  mkdirSync(place, { recursive: true });
  const { exitCode } = await runCommand(["git", "archive", "--output", archive, commit]);
  if (exitCode !== 0) {
    console.error(`skipped: this clone has no ${commit} to compare with`);
    return undefined;
  }
  await runCommand(["tar", "xf", archive, "-C", place]);
  symlinkSync(join(ROOT, "node_modules"), join(place, "node_modules"));
  return place;
}

/** A first run over all sessions against a bare loop over the same files. */
async function coldIndex(
  folder: string,
  { claude, corpus }: { claude: string; corpus: string[] },
): Promise<BenchRow[]> {
  const medians = await interleaved(
    {
      bare: async () => bareLoop(join(folder, "bare.db"), corpus),
      ours: () => fullIndex(join(folder, "ours.db"), claude),
    },
    COLD_RUNS,
  );
  const detail = times(medians.ours, medians.bare);
  return [atMost("cold full-text index of 48 MB / bare loop", medians.ours / medians.bare, 2.8, { detail })];
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
  await indexHome({ paths }, store);
  store.close();
  return performance.now() - started;
}

function removeDatabase(path: string): void {
  for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
}

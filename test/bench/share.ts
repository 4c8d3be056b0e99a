/** How fast memory is shared through a real PostgreSQL on loopback, and what a replica costs a search. */

import { copyFileSync, rmSync } from "node:fs";
import { heldSessions } from "../../lib/index/held-sessions.ts";
import { indexSessions } from "../../lib/index/indexing.ts";
import { removeSession } from "../../lib/index/session-rows.ts";
import { findHits } from "../../lib/search/hits.ts";
import { openStore, type Store } from "../../lib/store/store.ts";
import { settingsWith } from "../support/index.ts";
import { hasPostgres, type Postgres, startPostgres } from "../support/postgres.ts";
import { seeded } from "../support/random.ts";
import { scriptPath } from "../support/run.ts";
import { initHub, type Sharer, say, sharer, uuid } from "../support/share.ts";
import { sentence } from "./corpus.ts";
import { atMost, type BenchRow, bun, figure, interleaved, median, timeProcess } from "./measure.ts";
import { type EvaluatedQuestion, isEvidence, readCodebench } from "./search/sets.ts";

const CHUNKS = 100_000;
const PER_SESSION = 100;
const TURNS = 9;
const SEARCHES = 15;
const HITS = {
  filter: { subagents: true },
  limit: 10,
  now: new Date("2026-11-20T12:00:00Z"),
  timezone: "UTC",
  clean: (text: string) => text,
  nameOf: ({ name }: { name: string | undefined }) => name,
  maxChars: 2500,
  around: 0,
  explain: false,
};
const QUESTION = "why does the worker queue time out";

export async function rows(): Promise<BenchRow[]> {
  if (!hasPostgres()) return [];
  const postgres = await startPostgres();
  try {
    await initHub(postgres);
    return await measure(postgres);
  } finally {
    postgres.stop();
  }
}

/** The coding questions, asked of one index and of the same sessions split over two machines that share. */
async function splitQuestions(postgres: Postgres): Promise<BenchRow[]> {
  const codebench = readCodebench();
  if (!codebench) return [];
  using alice = sharer(postgres, { role: "alice", machine: "desk" });
  using bob = sharer(postgres, { role: "bob", machine: "laptop" });
  const whole = openStore(alice.paths.database);
  await indexSessions({ store: whole, sessions: codebench.corpus, settings: settingsWith() });
  const files = new Map(
    heldSessions(whole).map(({ id, parentId, file }) => [
      parentId === undefined ? id : `${parentId}/${id}`,
      file,
    ]),
  );
  const isFound = (stores: Store[], question: EvaluatedQuestion) =>
    findHits(stores, question.phrasings, HITS)
      .hits.slice(0, 5)
      .some(({ hit }) => {
        const file = files.get(hit.file.replace(/^[^:]*@[^:]*:/, "")) ?? hit.file;
        return isEvidence({ ...hit, file }, question);
      });
  const ask = (stores: Store[]) => codebench.questions.filter((question) => isFound(stores, question)).length;
  const together = ask([whole]);
  whole.db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  whole.close();
  copyFileSync(alice.paths.database, bob.paths.database);
  keepHalf(alice, 0);
  keepHalf(bob, 1);
  for (const home of [alice, bob, alice]) await timeShare(home);
  const lost = [alice, bob].map(({ paths }) => {
    const stores = [openStore(paths.database), openStore(paths.shared)];
    const found = ask(stores);
    for (const store of stores) store.close();
    return together - found;
  });
  return [
    atMost("share: questions lost at evidence@5, split over two machines", Math.max(...lost), 1, {
      unit: "questions",
      detail: `${lost.join(" and ")} of ${together}`,
    }),
  ];
}

/** Every other session with its subagents, as if it had been worked on in this person's clone. */
function keepHalf({ paths, project }: Sharer, half: number): void {
  const store = openStore(paths.database);
  const roots = [...new Set(heldSessions(store).map(({ id, parentId }) => parentId ?? id))].sort();
  for (const { number, storedId, id, parentId } of heldSessions(store)) {
    if (roots.indexOf(parentId ?? id) % 2 !== half) removeSession(store, { number, id: storedId });
  }
  const now = new Date().toISOString();
  store.db.prepare("UPDATE sessions SET cwd = ?, project = ?, updated_at = ?").run(project, project, now);
  store.db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  store.close();
}

async function measure(postgres: Postgres): Promise<BenchRow[]> {
  const split = await splitQuestions(postgres);
  using alice = sharer(postgres, { role: "alice", machine: "desk" });
  using bob = sharer(postgres, { role: "bob", machine: "laptop" });
  fill(alice);
  const publish = await timeShare(alice, "--publish");
  const pull = await timeShare(bob, "--pull");
  const size = Number(
    postgres.sql(
      "SELECT pg_total_relation_size('session_memory.chunks') + pg_total_relation_size('session_memory.sessions')",
    )[0],
  );
  const idle = await repeat(TURNS, () => timeShare(alice));
  const turns = await repeat(TURNS, (i) => {
    say(
      alice,
      uuid(500_000),
      ...Array.from({ length: i + 1 }, (_, k): [string, string] => [`question ${k}`, `answer ${k}`]),
    );
    return timeShare(alice, "--publish");
  });
  const replica = Bun.file(bob.paths.shared).size;
  return [
    atMost("share: publish 100 k chunks", publish / 1000, 30, { unit: "s" }),
    atMost("share: pull 100 k chunks", pull / 1000, 30, { unit: "s" }),
    figure("share: nothing to do, whole process", median(idle), { unit: "ms" }),
    atMost("share: a turn with its indexing, beside nothing to do", median(turns) - median(idle), 150, {
      unit: "ms",
      detail: `${median(turns).toFixed(0)} ms in all`,
    }),
    figure("share: hub, bytes a chunk", size / CHUNKS),
    figure("share: replica, bytes a chunk", replica / CHUNKS),
    ...split,
    ...(await searches(alice, bob)),
  ];
}

async function timeShare(home: Sharer, ...args: string[]): Promise<number> {
  const { ms } = await timeProcess(bun(scriptPath("share"), "--quiet", ...args), {
    env: home.env,
    cwd: home.project,
  });
  return ms;
}

async function repeat(times: number, work: (i: number) => Promise<number>): Promise<number[]> {
  const took: number[] = [];
  for (let i = 0; i < times; i++) took.push(await work(i));
  return took;
}

/** The same small index: alone, with a share block whose hub refuses, and with a replica of 100 k chunks. */
async function searches(alice: Sharer, bob: Sharer): Promise<BenchRow[]> {
  rmSync(alice.paths.database, { force: true });
  for (const home of [alice, bob]) say(home, uuid(600_000), [QUESTION, "the lock is held while it waits"]);
  const search = (env: NodeJS.ProcessEnv) => async () =>
    (await timeProcess(bun(scriptPath("search"), QUESTION, "--quiet"), { env, cwd: alice.project })).ms;
  using alone = sharer(
    { url: () => "postgresql://alice@127.0.0.1:9/memory" },
    { role: "alice", machine: "alone", share: { projects: {} } },
  );
  using refused = sharer(
    { url: () => "postgresql://alice@127.0.0.1:9/memory" },
    { role: "alice", machine: "refused" },
  );
  for (const home of [alone, refused])
    say(home, uuid(600_000), [QUESTION, "the lock is held while it waits"]);
  const { without, away, beside } = await interleaved(
    { without: search(alone.env), away: search(refused.env), beside: search(bob.env) },
    SEARCHES,
  );
  return [
    atMost("share: shell search, hub away, against no share block", away / without, 1.1, {
      detail: `${away.toFixed(0)} ms / ${without.toFixed(0)} ms`,
    }),
    atMost("share: shell search beside a replica of 100 k chunks", beside / without, 1.5, {
      detail: `${beside.toFixed(0)} ms / ${without.toFixed(0)} ms`,
    }),
  ];
}

/** 1,000 sessions of 100 chunks, half of them with a deed, put into the index without transcripts. */
function fill({ paths, project }: Sharer): void {
  const random = seeded(7);
  const store = openStore(paths.database);
  for (let first = 0; first < CHUNKS; first += PER_SESSION) addSession(store, first, { project, random });
  store.close();
}

function addSession(
  { db }: Store,
  first: number,
  { project, random }: { project: string; random: ReturnType<typeof seeded> },
): void {
  const number = first / PER_SESSION + 1;
  const id = uuid(number);
  const at = new Date(Date.now() - first * 1000).toISOString();
  db.transaction(() => {
    db.prepare(
      "INSERT INTO sessions (number, id, agent, file, cwd, project, updated_at, source_gone) VALUES (?, ?, 'claude', ?, ?, ?, ?, 1)",
    ).run(number, id, `/gone/${id}.jsonl`, project, project, at);
    db.prepare(
      `INSERT INTO index_state (session_id, file_path, file_hash, last_indexed, chunk_count, status, size, modified)
       VALUES (?, ?, '', ?, ?, 'complete', 0, ?, '')`,
    ).run(id, `/gone/${id}.jsonl`, at, PER_SESSION, at);
    const chunk = db.prepare(
      `INSERT INTO session_chunks (session_id, chunk_index, timestamp, speakers, topic_tags, first_line, last_line,
         exchange_line, content_hash, content, context_content, tools, entry_ids, token_count, row_lines, created_at)
       VALUES (?, ?, ?, '["user","assistant"]', '["data"]', ?, ?, ?, x'00', ?, ?, 'Bash bun test', '[]', 150, '0:1', ?)`,
    );
    const deed = db.prepare(
      `INSERT INTO deeds (session, line, exchange_line, timestamp, kind, tool, target, input, outcome, result)
       VALUES (?, ?, ?, ?, 'command', 'Bash', 'bun test', '', 'done', ?)`,
    );
    for (let idx = 0; idx < PER_SESSION; idx++) {
      const content = `User: ${sentence(random, 60)}\nAssistant: ${sentence(random, 100)}`;
      const header = `[Session from February 3, 2026 at 2:30 PM UTC]\n[Participants: User, Assistant]\n[Topics: data]\n[Context: ${sentence(random, 12)}]\n\n`;
      chunk.run(id, idx, at, 2 * idx + 1, 2 * idx + 2, 2 * idx + 1, content, header + content, at);
      if (idx % 2 === 0) deed.run(number, 2 * idx + 2, 2 * idx + 1, at, sentence(random, 40));
    }
  });
}

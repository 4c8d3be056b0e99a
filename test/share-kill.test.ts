/** Two publishers and a reader, ended by SIGKILL at any moment: the hub and the replica become what was said, no more and no less. */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { openStore } from "../lib/store/store.ts";
import { write } from "./support/home.ts";
import { type Database, hasPostgres } from "./support/postgres.ts";
import { fuzzSeed, seeded } from "./support/random.ts";
import { starting } from "./support/run.ts";
import { conversation, hubPerBlock, type Sharer, sharer, uuid, wordsIn } from "./support/share.ts";

const ROUNDS = 6;
const SESSIONS = 4;

describe.skipIf(!hasPostgres())("killed at random", () => {
  const postgres = hubPerBlock();

  test("two publishers and a reader leave the hub and the replica as what was said", async () => {
    const random = seeded(fuzzSeed("share kill"));
    using desk = sharer(postgres, { role: "alice", machine: "desk" });
    using laptop = sharer(postgres, { role: "alice", machine: "laptop" });
    using bob = sharer(postgres, { role: "bob", machine: "tower" });
    const said = new Map<string, [string, string][]>();
    /** The first session is on both machines, and grows on one or the other. */
    const grow = (home: Sharer, number: number) => {
      const id = uuid(number);
      const pairs = said.get(id) ?? [];
      const turn = pairs.length;
      if (turn > 3 && random.chance(0.2)) pairs.splice(random.integer(0, turn - 1));
      pairs.push([
        `question ${number} ${turn} ${random.integer(0, 1e6)}`,
        `answer ${"word ".repeat(random.integer(1, 300))}`,
      ]);
      said.set(id, pairs);
      write(
        join(home.paths.claude, "projects", "-shop", `${id}.jsonl`),
        conversation(home.project, id, pairs),
      );
    };
    const lengths: number[] = [];
    let killed = 0;
    for (let round = 0; round < ROUNDS; round++) {
      grow(desk, 1 + random.integer(0, SESSIONS - 1));
      grow(laptop, 11 + random.integer(0, SESSIONS - 1));
      const typical = Math.max(...lengths.slice(-6), 300);
      const runs = [desk, laptop, bob].map((home) => {
        // the reader is killed too, and one in six ends by itself
        const after = round > 0 && random.chance(0.84) ? random.next() * typical : undefined;
        return run(home, after);
      });
      for (const { ms, wasKilled } of await Promise.all(runs)) {
        if (wasKilled) killed++;
        else lengths.push(ms);
      }
    }
    console.error(`share kill: ${killed} processes killed in ${ROUNDS} rounds`);
    expect(killed).toBeGreaterThan(ROUNDS / 2);
    for (const home of [desk, laptop, bob]) expect((await run(home, undefined)).exitCode).toBe(0);

    const published = Object.fromEntries(
      [desk, laptop].flatMap((home) =>
        Object.entries(wordsIn(home.paths.database)).map(([id, words]) => [
          `alice@${home === desk ? "desk" : "laptop"}:${id}`,
          words,
        ]),
      ),
    );
    expect(Object.keys(published).length).toBe(said.size);
    expect(hubRows(postgres)).toEqual(
      Object.fromEntries(
        [desk, laptop].flatMap((home) =>
          Object.entries(rowsIn(home)).map(([id, rows]) => [
            `alice@${home === desk ? "desk" : "laptop"}:${id}`,
            rows,
          ]),
        ),
      ),
    );
    expect(wordsIn(bob.paths.shared)).toEqual(published);
    expect(
      postgres.sql(
        "SELECT owner, agent, id FROM session_memory.sessions GROUP BY 1, 2, 3 HAVING count(*) > 1",
      ),
    ).toEqual([]);
    expectSound(bob);
  });
});

async function run(home: Sharer, killAfter: number | undefined) {
  const started = performance.now();
  const child = Bun.spawn([...starting("share"), "--quiet"], {
    env: home.env,
    cwd: home.project,
    stdout: "ignore",
    stderr: "ignore",
  });
  const timer = killAfter === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killAfter);
  await child.exited;
  clearTimeout(timer);
  return {
    ms: performance.now() - started,
    wasKilled: child.signalCode === "SIGKILL",
    exitCode: child.exitCode,
  };
}

/** What was said in the sessions of the hub, by session. */
function hubRows(postgres: Database): Record<string, string[]> {
  const rows = postgres.sql(
    `SELECT json_build_array('alice@' || s.machine || ':' || s.id, json_agg(r ->> 'text' ORDER BY e.line, (r ->> 'line')::integer))
     FROM session_memory.sessions s JOIN session_memory.exchanges e ON e.session = s.number, jsonb_array_elements(e.body -> 'rows') r
     WHERE e.hash IS NOT NULL GROUP BY s.machine, s.id ORDER BY 1::text`,
  );
  return Object.fromEntries(rows.map((row) => JSON.parse(row) as [string, string[]]));
}

/** What was said in the sessions of an index, by session. */
function rowsIn({ paths }: Sharer): Record<string, string[]> {
  const { db, close } = openStore(paths.database);
  const rows = db.prepare(
    "SELECT s.id, r.text FROM rows r JOIN sessions s ON s.number = r.session ORDER BY r.line, r.nth",
  );
  const byId = Object.groupBy(rows.all(), ({ id }) => String(id));
  close();
  return Object.fromEntries(
    Object.entries(byId).map(([id, own = []]) => [id, own.map(({ text }) => String(text))]),
  );
}

/** Full text that fits its rows, and a file without damage. */
function expectSound({ paths }: Sharer): void {
  const { db, close } = openStore(paths.shared);
  db.exec("INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('integrity-check', 0)");
  const count = (table: string) => Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n);
  expect(count("chunks_fts")).toBe(count("session_chunks"));
  expect(count("deeds_fts")).toBe(count("rows WHERE who = 'tool'"));
  expect(db.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  close();
}

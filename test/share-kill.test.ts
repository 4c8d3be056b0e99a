/** Two publishers and a reader, ended by SIGKILL at any moment: the hub and the replica become what was said, no more and no less. */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { openStore } from "../lib/store/store.ts";
import { write } from "./support/home.ts";
import { killPoints, runKilled } from "./support/kill.ts";
import { type Database, hasPostgres } from "./support/postgres.ts";
import { fuzzSeed, seeded } from "./support/random.ts";
import {
  conversation,
  hubPerBlock,
  pulledWords,
  type Sharer,
  sharer,
  uuid,
  wordsIn,
} from "./support/share.ts";

const SESSIONS = 4;

describe.skipIf(!hasPostgres())("killed at any moment", () => {
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
    /** Lets all three share at once, each killed after a part of the time that it takes undisturbed. */
    const shareAll = (parts: (number | undefined)[] = [], typical = 0) => {
      grow(desk, 1 + random.integer(0, SESSIONS - 1));
      grow(laptop, 11 + random.integer(0, SESSIONS - 1));
      const runs = [desk, laptop, bob].map(({ env, project }, at) => {
        const after = parts[at] === undefined ? undefined : parts[at] * typical;
        return runKilled(["share", "--quiet"], { env, cwd: project }, after);
      });
      return Promise.all(runs);
    };
    const typical = Math.max(...(await shareAll()).map(({ ms }) => ms));
    const points = killPoints(3);
    let killed = 0;
    for (const at of points.keys()) {
      // the reader is killed too, and now and then one of them ends by itself
      const parts = [0, 1, 2].map((who) =>
        random.chance(0.84) ? points[(at + who) % points.length] : undefined,
      );
      killed += (await shareAll(parts, typical)).filter(({ isKilled }) => isKilled).length;
    }
    expect(killed).toBeGreaterThan(0);
    for (const home of [desk, laptop, bob]) await home.ok("share", "--quiet");

    const published = Object.fromEntries(
      [desk, laptop].flatMap((home) =>
        Object.entries(wordsIn(home)).map(([id, words]) => [
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
    expect(pulledWords(bob)).toEqual(published);
    expect(
      postgres.sql(
        "SELECT owner, agent, id FROM session_memory.sessions GROUP BY 1, 2, 3 HAVING count(*) > 1",
      ),
    ).toEqual([]);
    expectSound(bob);
  });
});

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
  const db = openStore(paths.database);
  const rows = db.prepare(
    "SELECT s.id, r.text FROM rows r JOIN own_sessions s ON s.number = r.session ORDER BY r.line, r.nth",
  );
  const byId = Object.groupBy(rows.all(), ({ id }) => String(id));
  db.close();
  return Object.fromEntries(
    Object.entries(byId).map(([id, own = []]) => [id, own.map(({ text }) => String(text))]),
  );
}

/** Full text that fits its rows, and a file without damage. */
function expectSound({ paths }: Sharer): void {
  const db = openStore(paths.database);
  db.exec("INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('integrity-check', 0)");
  const count = (table: string) => Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n);
  expect(count("chunks_fts")).toBe(count("session_chunks"));
  expect(count("deeds_fts")).toBe(count("rows WHERE who = 'tool'"));
  expect(db.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  db.close();
}

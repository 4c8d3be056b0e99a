/** Exchanges as they are shared, what a reader makes of them, and a hub whose tables have none. */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { openStore } from "../lib/store/store.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { writeClaude } from "./support/home.ts";
import { hasPostgres } from "./support/postgres.ts";
import {
  hubPerBlock,
  initHub,
  PROJECT,
  pulledWords,
  type Sharer,
  say,
  sharer,
  uuid,
} from "./support/share.ts";

const ORIGIN = "00000000-0000-4000-9000-000000000002";
/** The rows of a shared session in a replica, in a line each. */
function rowsIn({ paths }: Sharer, id: string): string[] {
  const store = openStore(paths.database);
  const rows = store
    .prepare(
      `SELECT r.line, r.nth, r.who, coalesce(r.text, r.tool || ' ' || r.target || ': ' || r.outcome) AS text
       FROM rows r JOIN sessions s ON s.number = r.session WHERE s.id = ? ORDER BY r.line, r.nth`,
    )
    .all(id);
  store.close();
  return rows.map(({ line, nth, who, text }) => `${line}.${nth} ${who}: ${text}`);
}

describe.skipIf(!hasPostgres())("an exchange", () => {
  const postgres = hubPerBlock();
  const raw = (exchanges: { line: number; nth?: number; rows: object[] | string; seq?: number }[]) => {
    postgres.sql(
      `INSERT INTO session_memory.origins (id, machine) VALUES ('${ORIGIN}', 'mallet') ON CONFLICT DO NOTHING;
       INSERT INTO session_memory.sessions (agent, id, origin, machine, audience, project, seq, folder, updated_at, lines, chunks)
       VALUES ('claude', 'raw', '${ORIGIN}', 'mallet', 'team_app', '${PROJECT}', ${exchanges[0]?.seq ?? 1}, '', '2026-02-12', 1, 1)
       ON CONFLICT (owner, agent, id) DO UPDATE SET seq = excluded.seq`,
      "mallory",
    );
    for (const { line, nth = 0, rows, seq = 1 } of exchanges) {
      const body = typeof rows === "string" ? rows : JSON.stringify({ rows });
      postgres.sql(
        `INSERT INTO session_memory.exchanges (session, line, nth, seq, hash, body)
         SELECT number, ${line}, ${nth}, ${seq}, '\\x00', '${body}' FROM session_memory.sessions WHERE id = 'raw'
         ON CONFLICT (session, line, nth) DO UPDATE SET seq = excluded.seq, body = excluded.body`,
        "mallory",
      );
    }
  };
  const said = (line: number, text: string, nth = 0) => ({ line, nth, at: "2026-02-12", who: "user", text });
  const RAW = "mallory@mallet:raw";

  test("of more rows than the hub takes in one is sent as several, and arrives whole", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "laptop" });
    const row = { sessionId: uuid(1), cwd: alice.project };
    const calls = Array.from({ length: 2100 }, (_, i) => i);
    writeClaude(alice, {
      id: uuid(1),
      rows: [
        claudeUser({ ...row, text: "count the charts" }),
        ...calls.flatMap((i) =>
          claudeAssistant({
            ...row,
            tools: [{ name: "Bash", id: `toolu_${i}`, input: { command: `count ${i}` } }],
          }),
        ),
        ...claudeAssistant({ ...row, text: "There are 2100." }),
      ],
    });
    await alice.share();
    await bob.share();
    const rows = rowsIn(bob, `alice@desk:${uuid(1)}`);
    expect([rows.length, rows[0], rows.at(-1)]).toEqual([
      2102,
      "1.0 user: count the charts",
      "2102.0 assistant: There are 2100.",
    ]);
    expect(
      postgres.sql("SELECT jsonb_array_length(body -> 'rows') FROM session_memory.exchanges ORDER BY line"),
    ).toEqual(["2000", "102"]);
    postgres.sql("DELETE FROM session_memory.sessions");
  });

  test("with messages as long as an index keeps them arrives whole", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "laptop" });
    const [question, answer] = ["数".repeat(199_000), "図".repeat(199_000)];
    say(alice, uuid(1), [question, answer]);
    await alice.share();
    await bob.share();
    expect(rowsIn(bob, `alice@desk:${uuid(1)}`)).toEqual([
      `1.0 user: ${question}`,
      `2.0 assistant: ${answer}`,
    ]);
    postgres.sql("DELETE FROM session_memory.sessions");
  });

  test("that goes, shrinks or gives rows to another leaves the others as they are", async () => {
    using bob = sharer(postgres, { role: "bob", machine: "laptop" });
    raw([
      { line: 1, rows: [said(1, "one"), said(3, "three")] },
      { line: 5, rows: [said(5, "five")] },
      { line: 8, rows: [said(8, "eight")] },
    ]);
    await bob.share();
    const texts = () => rowsIn(bob, RAW).map((line) => line.replace(/^\S+ user: /, ""));
    expect(texts()).toEqual(["one", "three", "five", "eight"]);
    // the first takes in what was the second's, and the last one's first row moves
    raw([{ line: 1, rows: [said(1, "one"), said(3, "three"), said(5, "five, now here")], seq: 2 }]);
    postgres.sql(
      "UPDATE session_memory.exchanges SET hash = NULL, body = NULL, seq = 2 WHERE line = 5 AND session IN (SELECT number FROM session_memory.sessions WHERE id = 'raw')",
    );
    await bob.share();
    expect(texts()).toEqual(["one", "three", "five, now here", "eight"]);
    raw([
      { line: 1, rows: [said(1, "one")], seq: 3 },
      { line: 3, rows: [said(3, "three alone"), said(4, "four")], seq: 3 },
    ]);
    await bob.share();
    expect(texts()).toEqual(["one", "three alone", "four", "eight"]);
    const words = pulledWords(bob)[RAW] ?? [];
    expect(words).toEqual(["User: one", "User: three alone", "User: four", "User: eight"]);
    postgres.sql("DELETE FROM session_memory.sessions");
  });
});

describe.skipIf(!hasPostgres())("a hub of an older version", () => {
  const postgres = hubPerBlock();

  test("holds nothing of a session's former form once its machine publishes it", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "tower" });
    say(alice, uuid(1), ["what do the drawers hold", "charts"]);
    await alice.share();
    postgres.sql(
      `INSERT INTO session_memory.chunks (session, idx, seq, hash, body, content)
       SELECT number, 0, 1, '\\x01', '{}', 'User: what do the cellars hold' FROM session_memory.sessions`,
      "alice",
    );
    say(alice, uuid(1), ["what do the drawers hold", "charts"], ["and the lamp", "is lit"]);
    await alice.share();
    await bob.share();
    expect(rowsIn(bob, `alice@desk:${uuid(1)}`)).toEqual([
      "1.0 user: what do the drawers hold",
      "2.0 assistant: charts",
      "3.0 user: and the lamp",
      "4.0 assistant: is lit",
    ]);
    expect(postgres.sql("SELECT count(*) FROM session_memory.chunks")).toEqual(["0"]);
  });

  test("is neither written nor read until it is migrated, and a word says how", async () => {
    postgres.sql(
      "DROP TABLE session_memory.exchanges; UPDATE session_memory.facts SET value = '3' WHERE name = 'version'",
    );
    using alice = sharer(postgres, { role: "alice", machine: "laptop" });
    say(alice, uuid(2), ["and the lamp", "is lit"]);
    for (const way of ["--publish", "--pull"]) {
      const { exitCode, stderr } = await alice.run("share", way);
      expect([exitCode, stderr]).toEqual([
        1,
        `error: HUB_ERROR: Cannot use the hub ${postgres.address}: its tables are version 3, this program knows 4\nhint: run bun ${join(import.meta.dirname, "..", "scripts/share.ts")} --init <role> there\n`,
      ]);
    }
    await initHub(postgres);
    expect((await alice.share()).published).toEqual({ sessions: 1, chunks: 1, withdrawn: 0 });
  });
});

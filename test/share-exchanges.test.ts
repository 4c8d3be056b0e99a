/** Exchanges as they are shared, what a reader makes of them, and a hub whose tables have none. */

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readNote } from "../lib/hosts/blocks.ts";
import { joinContent } from "../lib/index/chunk-text.ts";
import { contentHash, putTopics } from "../lib/index/session-rows.ts";
import { readChunkTexts } from "../lib/index/stored-rows.ts";
import { keepPaid, putPaidTopics } from "../lib/store/paid.ts";
import { openStore } from "../lib/store/store.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { writeClaude } from "./support/home.ts";
import { hasPostgres } from "./support/postgres.ts";
import {
  conversation,
  hubPerBlock,
  initHub,
  PROJECT,
  pulledWords,
  type Sharer,
  say,
  sharer,
  uuid,
  wordsIn,
} from "./support/share.ts";

const ORIGIN = "00000000-0000-4000-9000-000000000002";
/** A session as version 3 published it: a long message in pieces, a command that failed, an edit. */
const LONG = Array.from({ length: 90 }, (_, i) => `Drawer ${i} holds the chart of voyage ${i * 7}.`).join(
  " ",
);

/** The rows of a shared session in a replica, in a line each. */
function rowsIn({ paths }: Sharer, id: string): string[] {
  const store = openStore(paths.database);
  const rows = store.db
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

  test("keeps the topics that its owner's model gave, each with its chunk", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "laptop" });
    say(alice, uuid(1), ["what do the drawers hold", LONG], ["and the chest", "nothing"]);
    await alice.ok("embed");
    const store = openStore(alice.paths.database);
    const ids = store.db.prepare("SELECT id FROM chunks ORDER BY chunk_index").all();
    const [text] = readChunkTexts(store, [Number(ids[1]?.id)]);
    const hash = text && contentHash({ header: text.header, content: joinContent(text.rows) });
    putTopics(store, Number(text?.id), ["old charts"]);
    keepPaid(store.db, alice.paths.database);
    putPaidTopics(
      store.db,
      { hash: hash ?? new Uint8Array(), session: uuid(1) },
      { topics: ["old charts"], model: "tiny" },
    );
    store.close();
    await alice.share();
    await bob.share();
    const topics = (file: string) => {
      const { db, close } = openStore(file);
      const found = db.prepare("SELECT topic_tags FROM session_chunks ORDER BY chunk_index").all();
      close();
      return found.map(({ topic_tags }) => String(topic_tags));
    };
    expect(topics(bob.paths.database)).toEqual(topics(alice.paths.database));
    expect(topics(bob.paths.database)[1]).toBe('["old charts"]');
    postgres.sql("DELETE FROM session_memory.sessions");
  });

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

  test("whose rows stand in another's place, or anywhere, ends no pull", async () => {
    using bob = sharer(postgres, { role: "bob", machine: "laptop" });
    raw([
      { line: 1, rows: [said(1, "one"), said(9, "nine"), said(4, "back again"), said(9, "nine once more")] },
      { line: 5, rows: [said(2, "before its place"), said(9, "nine of another")] },
      { line: 6, rows: [said(6, "six")] },
      { line: 2_000_000_000, rows: "[]" },
      { line: 7, rows: '{"rows": {"0": 1}, "topics": 7}' },
    ]);
    await bob.share();
    expect(rowsIn(bob, RAW).length).toBeGreaterThan(0);
    expect(Object.keys(pulledWords(bob))).toEqual([RAW]);
    postgres.sql("DELETE FROM session_memory.sessions");
  });

  test("that is added to a session, grows or changes keeps the blocks of its copy that are before it", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "laptop" });
    const pairs = Array.from({ length: 40 }, (_, i): [string, string] => [
      `what holds drawer ${i}`,
      Array.from({ length: 900 }, (_, at) => `chart${(i * 7919 + at * 104729) % 99991}`).join(" "),
    ]);
    const copy = () => {
      const names = readdirSync(bob.paths.copies).filter((name) => name.endsWith(".jsonl.gz"));
      expect(names).toHaveLength(1);
      const file = join(bob.paths.copies, names[0] ?? "");
      const { owner, machine, agent, id, seq } = readNote(file.replace(/\.gz$/, "")) ?? {};
      expect({ owner, machine, agent, id }).toEqual({
        owner: "alice",
        machine: "desk",
        agent: "claude",
        id: uuid(1),
      });
      return { bytes: readFileSync(file), seq: Number(seq) };
    };
    const rows = conversation(alice.project, uuid(1), [...pairs, ["and the chest", "nothing"]]);
    const shared = async (said: typeof rows) => {
      writeClaude(alice, { id: uuid(1), rows: said });
      await alice.share();
      await bob.share();
      const words = pulledWords(bob)[`alice@desk:${uuid(1)}`];
      expect(words).toEqual(wordsIn(alice)[uuid(1)] as string[]);
      return copy();
    };
    const HEADER = 1024;
    const whole = await shared(rows.slice(0, -2));
    const grown = await shared(rows);
    expect(grown.seq).toBeGreaterThan(whole.seq);
    const kept = grown.bytes.subarray(HEADER, whole.bytes.length);
    expect(kept.equals(whole.bytes.subarray(HEADER))).toBe(true);
    const changed = await shared(JSON.parse(JSON.stringify(rows).replace("nothing", "a map")));
    const first = 64 * 1024; // bytes of blocks that hold none of what changed
    expect(changed.bytes.subarray(HEADER, first).equals(grown.bytes.subarray(HEADER, first))).toBe(true);
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

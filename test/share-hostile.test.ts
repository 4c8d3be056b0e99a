/** A member who writes raw rows to the hub: every reader still finds what it found before, and `health` names the rows. */

import { beforeAll, describe, expect, test } from "bun:test";
import { openStore } from "../lib/store/store.ts";
import { hasPostgres } from "./support/postgres.ts";
import { hubPerBlock, PROJECT, pulledWords, type Sharer, say, sharer, uuid } from "./support/share.ts";

const ORIGIN = "00000000-0000-4000-9000-000000000001";
const CONSTRAINTS = ["origins_claims", "sessions_claims", "exchanges_claims"];

interface RawSession {
  id: string;
  agent?: string;
  seq?: string;
  updatedAt?: string;
  claim?: number;
  project?: string;
  number?: string;
}

describe.skipIf(!hasPostgres())("a hostile member", () => {
  const postgres = hubPerBlock();
  beforeAll(() => {
    postgres.sql(
      `INSERT INTO session_memory.origins (id, machine) VALUES ('${ORIGIN}', 'mallet')`,
      "mallory",
    );
  });

  const session = ({
    id,
    agent = "claude",
    seq = "1",
    updatedAt,
    claim = 1,
    project = PROJECT,
    ...raw
  }: RawSession) =>
    `INSERT INTO session_memory.sessions (${raw.number ? "number, " : ""}agent, id, origin, machine, audience, project, seq,
       folder, updated_at, lines, chunks) ${raw.number ? "OVERRIDING SYSTEM VALUE " : ""}
     VALUES (${raw.number ? `${raw.number}, ` : ""}'${agent}', '${id}', '${ORIGIN}', 'mallet', 'team_app', '${project}', ${seq},
       '', '${updatedAt ?? new Date().toISOString()}', 1, ${claim});`;
  const row =
    "jsonb_build_object('line', n, 'nth', 0, 'who', 'user', 'at', '2026-01-01', 'text', 'flood ' || n)";
  const exchanges = (
    id: string,
    count: number,
    body = `jsonb_build_object('rows', jsonb_build_array(${row}))`,
  ) =>
    `INSERT INTO session_memory.exchanges (session, line, nth, seq, hash, body)
     SELECT number, n, 0, 1, '\\x00', ${body}
     FROM session_memory.sessions, generate_series(0, ${count - 1}) AS n WHERE id = '${id}' AND owner = 'mallory';`;
  /** Runs work on the hub as it was before it checked what rows claim. */
  const unchecked = async (work: () => Promise<void>) => {
    const table = (name: string) => name.slice(0, name.indexOf("_"));
    const checks = CONSTRAINTS.map((name) => ({
      name,
      sql: postgres
        .sql(`SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = '${name}'`)
        .join(" "),
    }));
    for (const { name } of checks) {
      postgres.sql(`ALTER TABLE session_memory.${table(name)} DROP CONSTRAINT IF EXISTS ${name}`);
    }
    try {
      await work();
    } finally {
      postgres.sql("DELETE FROM session_memory.sessions WHERE owner = 'mallory'");
      postgres.sql(`UPDATE session_memory.origins SET seq = 0 WHERE id = '${ORIGIN}'`);
      for (const { name, sql } of checks) {
        if (sql) postgres.sql(`ALTER TABLE session_memory.${table(name)} ADD CONSTRAINT ${name} ${sql}`);
      }
    }
  };

  const HITS = ["why are refunds booked twice", "what is the port", "who wakes the elevator"];
  const honest = () => {
    const alice = sharer(postgres, { role: "alice", machine: "desk" });
    const bob = sharer(postgres, { role: "bob", machine: "laptop" });
    for (const [at, question] of HITS.entries()) say(alice, uuid(at + 1), [question, `answer ${at}`]);
    const remove = () => {
      postgres.sql("DELETE FROM session_memory.sessions");
      alice.remove();
      bob.remove();
    };
    return { alice, bob, [Symbol.dispose]: remove };
  };
  const ofAlice = (bob: Sharer) => Object.keys(pulledWords(bob)).filter((id) => id.startsWith("alice@"));
  const ALL = HITS.map((_, at) => `alice@desk:${uuid(at + 1)}`);

  test("is refused claims that cannot be true", () => {
    for (const row of [
      { id: "a", claim: 2_147_483_647 },
      { id: "a", claim: -1 },
      { id: "a", seq: "9223372036854775807" },
      { id: "a", seq: "-1" },
    ]) {
      expect(postgres.refusal(session(row), "mallory")).toContain("sessions_claims");
    }
    expect(
      postgres.refusal(
        `UPDATE session_memory.origins SET seq = 9223372036854775807 WHERE id = '${ORIGIN}'`,
        "mallory",
      ),
    ).toContain("origins_claims");
    postgres.sql(session({ id: "many" }), "mallory");
    const many = "(SELECT jsonb_build_object('rows', jsonb_agg('{}'::jsonb)) FROM generate_series(1, 2001))";
    for (const claim of [exchanges("many", 1, many), exchanges("many", 0).replace("0, -1", "-1, -1")])
      expect(postgres.refusal(claim, "mallory")).toContain("exchanges_claims");
    // a number taken ahead of its turn would end another member's publishing
    expect(postgres.refusal(session({ id: "ahead", number: "1000" }), "mallory")).toContain(
      "permission denied",
    );
    postgres.sql("DELETE FROM session_memory.sessions WHERE owner = 'mallory'");
  });

  test("who claims what cannot be takes nothing from others, and health names the session", async () => {
    using people = honest();
    const { alice, bob } = people;
    const claims = [
      session({ id: "last", seq: "9223372036854775807" }),
      session({ id: "below", seq: "-7" }),
      session({ id: "twin" }) + session({ id: "twin", agent: "codex" }),
      session({ id: "odd", agent: "x1" }) + session({ id: "odd", agent: "x2" }),
      session({ id: "dateless", updatedAt: "zzzz" }),
    ];
    const huge = session({ id: "huge", claim: 2_147_483_647, updatedAt: "2099-01-01" });
    const named = async () => {
      const { findings } = JSON.parse((await bob.run("health", "--json")).stdout);
      return findings
        .map(({ what }: { what: string }) => what)
        .filter((what: string) => what.includes("mallory"));
    };
    await alice.share();
    await bob.share();
    expect(ofAlice(bob)).toEqual(ALL);
    await unchecked(async () => {
      postgres.sql(claims.join("") + huge, "mallory");
      for (let round = 0; round < 2; round++) {
        await bob.share();
        expect(ofAlice(bob)).toEqual(ALL);
      }
      // what is said later arrives too
      say(alice, uuid(9), ["what came later", "this"]);
      await alice.share();
      await bob.share();
      expect(ofAlice(bob)).toEqual([...ALL, `alice@desk:${uuid(9)}`]);
      expect(await named()).toEqual([expect.stringMatching(/^5 sessions .*mallory@mallet:\w+/)]);
    });
    await bob.share();
    expect(await named()).toEqual([]);
  });

  test("fills no more of a replica than an equal share, whatever is claimed", async () => {
    using people = honest();
    const { alice, bob } = people;
    bob.configure({ share: { maxChunks: 10 } });
    await alice.share();
    await unchecked(async () => {
      const updatedAt = new Date().toISOString(); // of all, so that they are read in the order of their ids
      const drops = Array.from(
        { length: 30 },
        (_, at) => session({ id: `drop${at}`, updatedAt }) + exchanges(`drop${at}`, 1),
      );
      postgres.sql(
        session({ id: "flood", updatedAt }) + exchanges("flood", 5000) + drops.join(""),
        "mallory",
      );
      await bob.share();
      const held = pulledWords(bob);
      expect(ofAlice(bob)).toEqual(ALL);
      expect(held["mallory@mallet:flood"]).toBeUndefined();
      expect(Object.values(held).flat()).toHaveLength(10);
      // a session that grows after it was read is counted again
      postgres.sql(
        exchanges("drop29", 40)
          .replace("generate_series(0, 39)", "generate_series(1, 40)")
          .replace("n, 0, 1,", "n, 0, 2,"),
        "mallory",
      );
      postgres.sql("UPDATE session_memory.sessions SET seq = 2 WHERE id = 'drop29'", "mallory");
      await bob.share();
      expect(ofAlice(bob)).toEqual(ALL);
      expect(Object.values(pulledWords(bob)).flat().length).toBeLessThanOrEqual(10);
    });
  });

  test("is read no further than the newest of countless empty sessions", async () => {
    using people = honest();
    const { alice, bob } = people;
    await alice.share();
    const empty = (from: number, to: number) =>
      postgres.sql(
        `INSERT INTO session_memory.sessions (agent, id, origin, machine, audience, project, seq, folder, updated_at, lines, chunks)
         SELECT 'claude', 'empty' || n, '${ORIGIN}', 'mallet', 'team_app', '${PROJECT}', n, '',
           to_char(timestamp '2026-01-01' + n * interval '1 s', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 1, 1
         FROM generate_series(${from}, ${to}) n`,
        "mallory",
      );
    empty(1, 6000);
    for (const n of [1, 6000]) postgres.sql(exchanges(`empty${n}`, 1), "mallory");
    expect((await bob.share()).pulled).toEqual({ sessions: 5000 + ALL.length, chunks: 4, removed: 0 });
    const { results } = await bob.json("search", "flood");
    expect(results.map(({ session_id }: { session_id: string }) => session_id)).toEqual(["empty6000"]);
    empty(6001, 6010);
    expect((await bob.share()).pulled).toEqual({ sessions: 10, chunks: 0, removed: 10 });
    expect(ofAlice(bob)).toEqual(ALL);
  });

  test("has no session that is newer than the moment it was read", async () => {
    using people = honest();
    const { alice, bob } = people;
    await alice.share();
    postgres.sql(
      session({ id: "future", updatedAt: "2099-01-01T00:00:00.000Z" }) + exchanges("future", 1),
      "mallory",
    );
    const times = () => {
      const store = openStore(bob.paths.database);
      const rows = store.prepare(
        `SELECT updated_at AS at, (SELECT max(timestamp) FROM session_chunks c WHERE c.session_id = s.id) AS chunk
         FROM sessions s WHERE id = 'mallory@mallet:future'`,
      );
      const found = rows.get();
      store.close();
      return found;
    };
    const before = new Date().toISOString();
    await bob.share();
    const { at } = times() ?? {};
    expect(String(at) >= before && String(at) <= new Date().toISOString()).toBe(true);
    // read again, it does not grow younger
    say(alice, uuid(8), ["another", "one"]);
    await alice.share();
    await Bun.sleep(5);
    postgres.sql(session({ id: "more" }) + exchanges("more", 1), "mallory");
    await bob.share();
    expect(times()?.at).toBe(at);
    postgres.sql("DELETE FROM session_memory.sessions WHERE owner = 'mallory'");
  });

  test("is read past whatever the fields of a row hold", async () => {
    using people = honest();
    const { alice, bob } = people;
    await alice.share();
    const odd = [
      "null",
      "[]",
      "7",
      '"text"',
      "{}",
      "-1",
      "1e300",
      "[[[]]]",
      '[{"a":{}}]',
      "true",
      '["x",null,3,{}]',
    ];
    const ofDeed = [
      "line",
      "resultLine",
      "at",
      "kind",
      "tool",
      "target",
      "paths",
      "input",
      "outcome",
      "result",
    ];
    const known = '{"who": "user", "line": LINE, "nth": 1, "text": "odd words"}';
    const ofExchange = odd.flatMap((value) => [
      value,
      `{"rows": ${value}}`,
      `{"rows": [${value}, ${known}]}`,
      `{"rows": [${known}], "topics": ${value}}`,
      `{"rows": [${known}], "topics": [${value}]}`,
      ...ofDeed.flatMap((field) => [
        `{"rows": [{"who": "tool", "line": LINE, "nth": 0, "${field}": ${value}}, ${known}]}`,
        `{"rows": [{"who": "user", "text": "even", "line": LINE, "nth": 0, "${field}": ${value}}, ${known}]}`,
      ]),
      ...["who", "nth", "text"].map((field) => `{"rows": [{"who": "user", "${field}": ${value}}, ${known}]}`),
    ]);
    for (const [at, value] of odd.entries()) {
      const id = `odd${at}`;
      postgres.sql(session({ id, updatedAt: value.replaceAll("'", "") }), "mallory");
      postgres.sql(
        `UPDATE session_memory.sessions SET meta = '${value}', parent_id = 'odd${(at + 1) % 3}', started_at = '${value}',
           observations = '${value}', folder = '../${value}', name = '${value}', updated_at = now()::text WHERE id = '${id}'`,
        "mallory",
      );
    }
    const bodiesOf = ofExchange
      .map((body, at) => `('${body.replaceAll("LINE", `${at * 10}`)}'::jsonb, ${at * 10})`)
      .join(", ");
    postgres.sql(
      `INSERT INTO session_memory.exchanges (session, line, nth, seq, hash, body)
       SELECT number, r.line, 0, 1, '\\x00', r.body FROM session_memory.sessions, (VALUES ${bodiesOf}) AS r(body, line)
       WHERE id = 'odd1'`,
      "mallory",
    );
    await bob.share();
    expect(ofAlice(bob)).toEqual(ALL);
    const store = openStore(bob.paths.database);
    const find = store.prepare(
      "SELECT group_concat(text) AS text FROM rows WHERE session = (SELECT number FROM sessions WHERE id = ?)",
    );
    const times = (id: string) => String(find.get(id)?.text).split("odd words").length - 1;
    expect(times("mallory@mallet:odd1")).toBe(ofExchange.filter((body) => body.includes(known)).length);
    store.close();
    const found = await bob.json("search", "why are refunds booked twice");
    expect(found.results[0].id ?? found.results[0].session_id).toContain(uuid(1));
    for (const command of ["session-reader", "report", "query-session"] as const) {
      const args = command === "query-session" ? ["mallory@mallet:odd1", "what"] : ["mallory@mallet:odd1"];
      const { stderr } = await bob.run(command, ...args);
      expect(stderr).not.toMatch(/\bat .*\.ts:\d+/);
    }
  });
});

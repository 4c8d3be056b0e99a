/** Sharing through a real PostgreSQL: what arrives, what does not, and what comes back. */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { write } from "./support/home.ts";
import { hasPostgres } from "./support/postgres.ts";
import {
  conversation,
  hubPerBlock,
  initHub,
  PROJECT,
  pulledWords,
  say,
  sharer,
  uuid,
} from "./support/share.ts";

describe.skipIf(!hasPostgres())("sharing", () => {
  const postgres = hubPerBlock();

  const count = (table: string, where = "true") =>
    Number(postgres.sql(`SELECT count(*) FROM session_memory.${table} WHERE ${where}`)[0]);

  test("gives to one what another said, after one share each, with the name of owner and machine", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "laptop" });
    say(alice, uuid(1), [
      "why are refunds booked twice",
      "the webhook is retried; the ledger key was random",
    ]);
    expect(await alice.share()).toMatchObject({ published: { sessions: 1, chunks: 1, withdrawn: 0 } });
    expect(await bob.share()).toMatchObject({ pulled: { sessions: 1, chunks: 1, removed: 0 } });
    expect(pulledWords(bob)).toEqual({
      [`alice@desk:${uuid(1)}`]: [
        "User: why are refunds booked twice\nAssistant: the webhook is retried; the ledger key was random",
      ],
    });
    // again: nothing to do
    expect(await alice.share()).toMatchObject({
      published: { sessions: 0, chunks: 0 },
      pulled: { sessions: 0 },
    });
    expect(await bob.share()).toMatchObject({
      published: { sessions: 0 },
      pulled: { sessions: 0, chunks: 0 },
    });
    // a further turn alone travels
    say(
      alice,
      uuid(1),
      ["why are refunds booked twice", "the webhook is retried; the ledger key was random"],
      ["and now", "a stable key"],
    );
    expect(await alice.share()).toMatchObject({ published: { sessions: 1 } });
    await bob.share();
    expect(pulledWords(bob)[`alice@desk:${uuid(1)}`]).toHaveLength(2);
  });

  test("refuses rows over the limits, and reads past those of a hub from before them", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "laptop" });
    say(alice, uuid(31), ["what wakes the elevator", "the capacitor beside the relay"]);
    await alice.share();
    const session = `(SELECT number FROM session_memory.sessions WHERE id = '${uuid(31)}')`;
    const insert = (idx: number, column: string, value: string) =>
      `INSERT INTO session_memory.chunks (session, idx, seq, hash, at, ${column})
       VALUES (${session}, ${idx}, 9, '\\x00', '2026-01-01T00:00:00Z', ${value})`;
    expect(postgres.refusal(insert(7, "content", "repeat('x', 65537)"), "alice")).toContain("chunks_limits");
    expect(
      postgres.refusal(insert(7, "body", "jsonb_build_object('tools', repeat('x', 1048576))"), "alice"),
    ).toContain("chunks_limits");
    expect(
      postgres.refusal("UPDATE session_memory.sessions SET observations = repeat('x', 1048577)", "alice"),
    ).toContain("sessions_limits");
    const exchange = (rows: string) =>
      `INSERT INTO session_memory.exchanges (session, line, nth, seq, hash, body)
       VALUES (${session}, 7, 0, 9, '\\x00', jsonb_build_object('rows', ${rows}))`;
    expect(postgres.refusal(exchange("repeat('x', 1048576)"), "alice")).toContain("exchanges_limits");
    for (const table of ["chunks", "exchanges", "sessions"]) {
      postgres.sql(`ALTER TABLE session_memory.${table} DROP CONSTRAINT ${table}_limits`);
    }
    postgres.sql(insert(7, "content", "repeat('x', 6 * 1024 * 1024)"));
    postgres.sql(exchange("repeat('x', 6 * 1024 * 1024)"));
    postgres.sql(`UPDATE session_memory.sessions SET meta = jsonb_build_object('summary', repeat('x', 5000000)),
      observations = repeat('x', 5000000), name = repeat('n', 5000000) WHERE number = ${session}`);
    await bob.share();
    expect(pulledWords(bob)[`alice@desk:${uuid(31)}`]).toEqual([
      "User: what wakes the elevator\nAssistant: the capacitor beside the relay",
    ]);
    postgres.sql(`DELETE FROM session_memory.sessions WHERE id = '${uuid(31)}'`);
  });

  test("keeps one session of a transcript that two machines of one owner have, the longer one", async () => {
    using desk = sharer(postgres, { role: "alice", machine: "desk" });
    using laptop = sharer(postgres, { role: "alice", machine: "laptop" });
    const rows = conversation(desk.project, uuid(2), [
      ["one", "uno"],
      ["two", "due"],
      ["three", "tre"],
    ]);
    const file = (home: typeof desk) => join(home.paths.claude, "projects", "-shop", `${uuid(2)}.jsonl`);
    const here = rows.map((row) => ({ ...row, cwd: laptop.project }));
    write(file(desk), rows.slice(0, 4));
    write(file(laptop), here.slice(0, 4));
    await desk.share();
    await laptop.share();
    const at = () =>
      postgres.sql(`SELECT machine, lines, chunks FROM session_memory.sessions WHERE id = '${uuid(2)}'`);
    const before = at();
    expect(before).toHaveLength(1);
    expect(before[0]).toStartWith("desk|4|");
    write(file(laptop), here);
    await laptop.share();
    expect(at()[0]).toStartWith("laptop|6|");
    await desk.share();
    expect(at()).toHaveLength(1);
    expect(at()[0]).toStartWith("laptop|6|");
    // neither reads its own session from elsewhere
    expect(
      [desk, laptop].map(({ paths }) =>
        Object.keys(pulledWords({ paths })).filter((id) => id.endsWith(uuid(2))),
      ),
    ).toEqual([[], []]);
  });

  test("publishes a synced session under its own machine's name", async () => {
    using laptop = sharer(postgres, { role: "alice", machine: "laptop" });
    const sync = join(laptop.root, "sync");
    laptop.configure({ transcripts: [{ path: sync, machine: "desk" }] });
    write(
      join(sync, "projects", "-x", `${uuid(3)}.jsonl`),
      conversation(laptop.project, uuid(3), [["hello", "there"]]),
    );
    await laptop.share();
    expect(postgres.sql(`SELECT machine FROM session_memory.sessions WHERE id = '${uuid(3)}'`)).toEqual([
      "desk",
    ]);
  });

  test("shows an outsider nothing, lets nobody write for another, and hides the rows from the tables' owner", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using eve = sharer(postgres, { role: "eve", machine: "mallet", share: { projects: { "*": "eve" } } });
    say(alice, uuid(4), ["secret plan", "we ship on Friday"]);
    await alice.share();
    expect(await eve.share()).toMatchObject({ pulled: { sessions: 0, chunks: 0 } });
    const tables = ["sessions", "exchanges", "chunks", "forgotten"];
    for (const role of ["eve", "hub_admin"]) {
      for (const table of tables)
        expect(postgres.sql(`SELECT * FROM session_memory.${table}`, role)).toEqual([]);
    }
    expect(
      postgres.sql("SELECT count(*) FROM session_memory.sessions WHERE owner = 'alice'", "bob")[0],
    ).not.toBe("0");
    const [origin = ""] = postgres.sql("SELECT origin FROM session_memory.sessions WHERE owner = 'alice'");
    const [own = ""] = postgres.sql("SELECT id FROM session_memory.origins", "eve");
    const forged = (owner: string, of: string, audience: string) =>
      `INSERT INTO session_memory.sessions (owner, agent, id, origin, machine, audience, project, seq, folder, updated_at, lines, chunks)
       VALUES ('${owner}', 'claude', 'forged', '${of}', 'm', '${audience}', 'p', 1, '', '2026', 1, 1)`;
    expect(postgres.refusal(forged("eve", own, "eve"), "eve")).toBe("");
    const exchange = `INSERT INTO session_memory.exchanges (session, line, nth, seq)
      SELECT number, 3, 0, 1 FROM session_memory.sessions WHERE id = '${uuid(4)}'`;
    expect(postgres.refusal(exchange, "bob")).toContain("row-level security");
    for (const sql of [
      forged("alice", origin, "team_app"),
      forged("eve", origin, "eve"),
      forged("eve", own, "team_app"),
      "UPDATE session_memory.sessions SET owner = 'alice' WHERE owner = 'eve'",
    ]) {
      expect(postgres.refusal(sql, "eve")).toContain("row-level security");
    }
    postgres.sql("UPDATE session_memory.sessions SET name = 'mine' WHERE owner = 'alice'", "bob");
    postgres.sql("DELETE FROM session_memory.sessions WHERE owner = 'alice'", "bob");
    postgres.sql("UPDATE session_memory.exchanges SET line = 99", "bob");
    postgres.sql("DELETE FROM session_memory.exchanges", "bob");
    expect([
      count("sessions", "owner = 'alice' AND name = 'mine'"),
      count("sessions", `id = '${uuid(4)}'`),
      count(
        "exchanges",
        `line < 99 AND session IN (SELECT number FROM session_memory.sessions WHERE id = '${uuid(4)}')`,
      ),
    ]).toEqual([0, 1, 1]);
    postgres.sql("DELETE FROM session_memory.sessions WHERE owner = 'eve'", "eve");
  });

  test("empties a revoked reader's replica at its next pull, and fills it again", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using carol = sharer(postgres, { role: "carol", machine: "laptop" });
    say(alice, uuid(5), ["what is the port", "8443"]);
    await alice.share();
    await carol.share();
    expect(Object.keys(pulledWords(carol))).toContain(`alice@desk:${uuid(5)}`);
    postgres.sql("REVOKE team_app FROM carol");
    expect((await carol.share("--pull")).pulled?.removed).toBeGreaterThan(0);
    expect(pulledWords(carol)).toEqual({});
    postgres.sql("GRANT team_app TO carol");
    await carol.share("--pull");
    expect(Object.keys(pulledWords(carol))).toContain(`alice@desk:${uuid(5)}`);
  });

  test("refills a hub that was restored from an older backup, and its readers follow", async () => {
    const database = `${postgres.name}_restored`;
    const backup = `${postgres.name}_backup`;
    const create = (name: string, how: string) =>
      postgres.sql(`CREATE DATABASE ${name} ${how}`, "postgres", "postgres");
    create(database, "OWNER hub_admin");
    const at = { url: (role: string) => postgres.url(role, { database }) };
    await initHub(at);
    using alice = sharer(at, { role: "alice", machine: "desk" });
    using bob = sharer(at, { role: "bob", machine: "laptop" });
    say(alice, uuid(6), ["first", "one"]);
    await alice.share();
    await bob.share();
    create(backup, `TEMPLATE ${database}`);
    say(alice, uuid(6), ["first", "one"], ["second", "two"]);
    say(alice, uuid(7), ["another", "session"]);
    await alice.share();
    await bob.share();
    const whole = pulledWords(bob);
    expect(Object.keys(whole)).toHaveLength(2);
    postgres.sql(`DROP DATABASE ${database}`, "postgres", "postgres");
    create(database, `TEMPLATE ${backup}`);
    await bob.share();
    expect(Object.keys(pulledWords(bob))).toEqual([`alice@desk:${uuid(6)}`]);
    say(alice, uuid(8), ["after the restore", "still here"]);
    await alice.share();
    await bob.share();
    expect(pulledWords(bob)).toMatchObject(whole);
    expect(Object.keys(pulledWords(bob))).toHaveLength(3);
  });

  test("takes a session back that is kept out, or of a project that is shared no more", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "laptop" });
    say(alice, uuid(9), ["keep", "this"]);
    say(alice, uuid(10), ["drop", "this"]);
    await alice.share();
    await bob.share();
    alice.configure({ exclude: { sessions: [uuid(10)] } });
    expect(await alice.share()).toMatchObject({ published: { withdrawn: 1 } });
    await bob.share();
    const held = () => Object.keys(pulledWords(bob)).filter((id) => /0000000(09|10)$/.test(id));
    expect(held()).toEqual([`alice@desk:${uuid(9)}`]);
    alice.configure({ share: { projects: { "github.com/acme/other": "team_app" } } });
    expect(await alice.share()).toMatchObject({ published: { withdrawn: 1 } });
    await bob.share();
    expect(held()).toEqual([]);
  });

  test("refuses an audience that one is not in, with a word about it", async () => {
    using eve = sharer(postgres, { role: "eve", machine: "mallet" });
    say(eve, uuid(12), ["let me", "in"]);
    const { stderr, exitCode } = await eve.run("share");
    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      `error: HUB_ERROR: Cannot use the hub ${postgres.address}: it refuses the rows\nhint: name an audience in share.projects that is you or a role that you are in\n`,
    );
  });

  test("shares with whom the longest fitting name says, nothing that none fits, and says so where there is none", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk", share: { projects: {} } });
    say(alice, uuid(13), ["private", "matter"]);
    const { stderr, exitCode } = await alice.run("share");
    expect({ stderr, exitCode }).toEqual({
      exitCode: 1,
      stderr: `error: CONFIG_INVALID: Cannot share: config.json names no project\nhint: add "share": {"projects": {"github.com/acme/shop": "<role>"}} to config.json\n`,
    });
    alice.configure({
      share: { projects: { "github.com/acme/*": "alice", "github.com/acme/shop2": "team_app" } },
    });
    await alice.share();
    const audience = `SELECT audience FROM session_memory.sessions WHERE id = '${uuid(13)}'`;
    expect(postgres.sql(audience)).toEqual(["alice"]);
    alice.configure({ share: { projects: { "github.com/acme/*": "alice", [PROJECT]: "team_app" } } });
    await alice.share();
    expect(postgres.sql(audience)).toEqual(["team_app"]);
  });

  test("--dry-run shows what would be sent, --status what was", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    say(alice, uuid(14), ["where is /home/alice/code", `in ${alice.home}/code`]);
    const { stdout } = await alice.run("share", "--dry-run", "--json");
    const plan = JSON.parse(stdout);
    expect(plan).toMatchObject({
      sessions: 1,
      chunks: 1,
      projects: [{ project: PROJECT, audience: "team_app", sessions: 1, chunks: 1 }],
      samples: [`${uuid(14).slice(0, 8)} User: where is ~/code`],
    });
    expect(plan.bytes).toBeGreaterThan(100);
    expect(count("sessions", `id = '${uuid(14)}'`)).toBe(0);
    const status = async () => JSON.parse((await alice.run("share", "--status", "--json")).stdout);
    const hub = `${postgres.address}`;
    expect(await status()).toEqual({
      hub,
      machine: "desk",
      projects: [{ project: PROJECT, audience: "team_app", published: 0, pulled: 0, behind: 1 }],
      lastPublish: null,
      lastPull: null,
    });
    await alice.share("--publish");
    expect(await status()).toMatchObject({
      projects: [{ published: 1, behind: 0 }],
      lastPublish: expect.any(String),
      lastPull: null,
    });
  });

  test("caps the replica by age and by chunks, the newest first", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "laptop", share: { maxChunks: 3 } });
    await alice.run("share", "--leave");
    for (const [at, id] of [20, 21, 22].entries()) {
      say(alice, uuid(id), [`one ${at}`, "a"], [`two ${at}`, "b"]);
    }
    await alice.share();
    postgres.sql(
      `UPDATE session_memory.sessions SET updated_at = CASE id WHEN '${uuid(20)}' THEN '2099-01-03' WHEN '${uuid(21)}' THEN '2099-01-02' ELSE '2099-01-01' END WHERE id IN ('${uuid(20)}','${uuid(21)}','${uuid(22)}')`,
    );
    await bob.share();
    expect(Object.keys(pulledWords(bob))).toEqual([`alice@desk:${uuid(20)}`]);
    bob.configure({ share: { maxChunks: 1000 } });
    await bob.share();
    const all = [20, 21, 22].map((id) => `alice@desk:${uuid(id)}`);
    expect(Object.keys(pulledWords(bob))).toEqual(expect.arrayContaining(all));
    postgres.sql(`UPDATE session_memory.sessions SET updated_at = '2020-01-01' WHERE id = '${uuid(22)}'`);
    await bob.share();
    expect(Object.keys(pulledWords(bob))).not.toContain(`alice@desk:${uuid(22)}`);
  });
});

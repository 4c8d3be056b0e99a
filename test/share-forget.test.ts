/** What was forgotten leaves the hub and every replica, and nothing brings it back. */

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { write, writeMeta } from "./support/home.ts";
import { hasPostgres } from "./support/postgres.ts";
import { conversation, hubPerBlock, pulledWords, say, sharer, uuid } from "./support/share.ts";

/** Returns whether the bytes of a file hold a word. */
function holds(file: string, word: string): boolean {
  return existsSync(file) && readFileSync(file, "latin1").includes(word);
}

describe.skipIf(!hasPostgres())("forget", () => {
  const postgres = hubPerBlock();

  const rowsOf = (id: string) =>
    postgres.sql(
      `SELECT (SELECT count(*) FROM session_memory.sessions WHERE id = '${id}'),
         (SELECT count(*) FROM session_memory.exchanges c JOIN session_memory.sessions s ON s.number = c.session WHERE s.id = '${id}')`,
    )[0];

  test("of a session leaves no row at the hub, takes it from replicas, and no other machine brings it back", async () => {
    using desk = sharer(postgres, { role: "alice", machine: "desk" });
    using laptop = sharer(postgres, { role: "alice", machine: "laptop" });
    using bob = sharer(postgres, { role: "bob", machine: "tower" });
    const id = uuid(1);
    say(desk, id, ["where is the marmot", "under the rock"]);
    // the same transcript on the other machine, a little longer later
    const file = join(laptop.paths.claude, "projects", "-shop", `${id}.jsonl`);
    const rows = conversation(laptop.project, id, [
      ["where is the marmot", "under the rock"],
      ["and now", "asleep"],
    ]);
    write(file, rows.slice(0, 2));
    await desk.share();
    await laptop.share();
    await bob.share();
    expect(Object.keys(pulledWords(bob))).toEqual([`alice@desk:${id}`]);

    const { exitCode, stderr } = await desk.run("forget", id, "--yes");
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(rowsOf(id)).toBe("1|1");
    expect(await desk.share()).toMatchObject({ published: { withdrawn: 1 } });
    expect(rowsOf(id)).toBe("0|0");
    expect(await bob.prompt("hello")).toContain("marmot");
    const held = () =>
      [bob.paths.database, `${bob.paths.database}-wal`, bob.paths.log].filter((file) =>
        holds(file, "marmot"),
      );
    expect(held()).not.toEqual([]);
    expect(await bob.share()).toMatchObject({ pulled: { removed: 1 } });
    expect(pulledWords(bob)).toEqual({});
    expect(held()).toEqual([]);

    await laptop.share();
    write(file, rows);
    await laptop.share();
    expect(rowsOf(id)).toBe("0|0");
    expect(postgres.dump()).not.toContain("marmot");
    expect(postgres.dump()).not.toContain(id);

    await desk.run("forget", "--undo", id);
    await desk.share();
    await laptop.share();
    expect(rowsOf(id)).not.toBe("0|0");
    postgres.sql("DELETE FROM session_memory.sessions");
  });

  test("of a pattern takes the words from the hub and from replicas, and leaves the rest", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "tower" });
    const id = uuid(2);
    say(alice, id, ["the walrus sings", "it does"], ["the seal swims", "it does too"]);
    await alice.share();
    await bob.share();
    expect(pulledWords(bob)[`alice@desk:${id}`]).toHaveLength(2);
    await alice.run("forget", "--pattern", "walrus", "--yes");
    await alice.share();
    await bob.share();
    expect(pulledWords(bob)[`alice@desk:${id}`]).toEqual(["User: the seal swims\nAssistant: it does too"]);
    expect(postgres.dump()).not.toContain("walrus");
    expect([bob.paths.database, `${bob.paths.database}-wal`].filter((file) => holds(file, "walrus"))).toEqual(
      [],
    );
    postgres.sql("DELETE FROM session_memory.sessions");
  });

  test("of a pattern takes back a session of which nothing is left, with its name", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "tower" });
    const [whole, named] = [uuid(12), uuid(13)];
    say(alice, whole, ["where is the tapir", "the tapir sleeps"]);
    say(alice, named, ["what is the port", "8443"]);
    writeMeta(alice, { sessionId: whole, name: "tapir hunt", description: "the tapir", summary: "a tapir" });
    writeMeta(alice, { sessionId: named, name: "tapir port", description: "a port", summary: "8443" });
    await alice.share();
    await bob.share();
    expect(Object.keys(pulledWords(bob)).toSorted()).toEqual([whole, named].map((id) => `alice@desk:${id}`));
    await alice.run("forget", "--pattern", "tapir", "--yes");
    expect(holds(alice.paths.state, "tapir")).toBe(false);
    expect(await alice.share()).toMatchObject({ published: { withdrawn: 1 } });
    expect([rowsOf(whole), rowsOf(named)]).toEqual(["0|0", "1|1"]);
    expect(postgres.dump()).not.toContain("tapir");
    expect(await bob.share()).toMatchObject({ pulled: { removed: 1 } });
    expect(Object.keys(pulledWords(bob))).toEqual([`alice@desk:${named}`]);
    expect([bob.paths.database, `${bob.paths.database}-wal`].filter((file) => holds(file, "tapir"))).toEqual(
      [],
    );
    // what nothing was forgotten of stays where its transcript or its folder is gone
    rmSync(join(alice.paths.claude, "projects"), { recursive: true });
    expect(await alice.share()).toMatchObject({ published: { withdrawn: 0 } });
    expect(rowsOf(named)).toBe("1|1");
    postgres.sql("DELETE FROM session_memory.sessions");
  });

  test("of a session takes the pages that a colleague made of it, but none that was written elsewhere", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "tower" });
    say(alice, uuid(14), ["where is the gecko", "on the wall"]);
    say(alice, uuid(15), ["where is the newt", "in the pond"]);
    await alice.share();
    await bob.share();
    const elsewhere = join(bob.root, "gecko.html");
    for (const id of [14, 15]) await bob.ok("report", `alice@desk:${uuid(id)}`);
    await bob.ok("report", `alice@desk:${uuid(14)}`, "--out", elsewhere);
    const pages = () => readdirSync(bob.paths.reports).map((name) => join(bob.paths.reports, name));
    const about = (word: string) => pages().filter((page) => holds(page, word)).length;
    expect([about("gecko"), about("newt")]).toEqual([1, 1]);
    await alice.run("forget", uuid(14), "--yes");
    await alice.share();
    await bob.share();
    expect([about("gecko"), about("newt"), holds(elsewhere, "gecko")]).toEqual([0, 1, true]);
    await bob.run("forget", `alice@desk:${uuid(15)}`, "--yes");
    expect(about("newt")).toBe(0);
    postgres.sql("DELETE FROM session_memory.sessions");
  });

  test("of a colleague's session takes it from the own replica for good, down to the bytes, and from nobody else", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "tower" });
    const id = uuid(3);
    say(alice, id, ["where is the okapi", "in the wood"]);
    await alice.share();
    await bob.share();
    const shown = await bob.run("forget", `alice@desk:${id}`, "--dry-run", "--json");
    expect(JSON.parse(shown.stdout)).toMatchObject({ removed: { sharedChunks: 1 } });
    await bob.run("forget", `alice@desk:${id}`, "--yes");
    const held = () => ["", "-wal"].some((part) => holds(bob.paths.database + part, "okapi"));
    expect(held()).toBe(false);
    await bob.share();
    expect(held()).toBe(false);
    expect(rowsOf(id)).toBe("1|1");
    await bob.run("forget", "--undo", `alice@desk:${id}`);
    await bob.share();
    expect(held()).toBe(true);
  });

  test("of a project takes own and others' sessions of it", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "tower" });
    say(alice, uuid(4), ["where is the lynx", "on the hill"]);
    say(bob, uuid(5), ["where is the hare", "in the field"]);
    await alice.share();
    await bob.share();
    await bob.run("forget", "--project", bob.project, "--yes");
    expect(pulledWords(bob)).toEqual({});
    await bob.share();
    expect(pulledWords(bob)).toEqual({});
    expect([rowsOf(uuid(4)), rowsOf(uuid(5))]).toEqual(["1|1", "0|0"]);
  });

  test("setup --remove names what is at the hub", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    say(alice, uuid(6), ["where is the vole", "gone"]);
    await alice.share();
    const { stdout } = await alice.run("setup", "--remove");
    expect(stdout).toContain(`what was shared at ${postgres.address}: before you delete anything`);
  });
});

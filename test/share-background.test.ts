/** Sharing beside a session: after a turn and at its start, with rests after failures, and never where somebody waits. */

import { describe, expect, test } from "bun:test";
import { holding } from "./support/forget.ts";
import { hasPostgres } from "./support/postgres.ts";
import { hubPerBlock, listenAsHub, pulledWords, type Sharer, say, sharer, uuid } from "./support/share.ts";

const after = (home: Sharer, id: string, file: string) =>
  home.run("hooks/background.ts", "--session", id, "--file", file, "--cwd", home.project);
const atStart = (home: Sharer) => home.run("hooks/background.ts", "--begin", "--cwd", home.project);

describe.skipIf(!hasPostgres())("in the background", () => {
  const postgres = hubPerBlock();

  test("a turn is published when it has ended, and read at the start of a colleague's session", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "tower" });
    const file = say(alice, uuid(1), ["where is the heron", "by the pond"]);
    await after(alice, uuid(1), file);
    expect(postgres.sql("SELECT id FROM session_memory.sessions")).toEqual([uuid(1)]);
    await atStart(bob);
    expect(Object.keys(pulledWords(bob))).toEqual([`alice@desk:${uuid(1)}`]);
  });

  test("after --leave it stays away until share.ts is run by hand", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    const file = say(alice, uuid(3), ["where is the crane", "in the marsh"]);
    await alice.share();
    const { stdout } = await alice.run("share", "--leave");
    expect(stdout).toMatch(
      /^took 1 session from 127\.0\.0\.1:\d+\/memory_\w+ and deleted what was read from it\n$/,
    );
    await after(alice, uuid(3), file);
    const there = () => postgres.sql(`SELECT id FROM session_memory.sessions WHERE id = '${uuid(3)}'`);
    expect(there()).toEqual([]);
    await alice.share();
    expect(there()).toEqual([uuid(3)]);
  });

  test("--leave takes others' words out of every file, and no earlier one brings them back", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "tower" });
    say(alice, uuid(5), ["where is the bittern", "in the reeds"]);
    await alice.share();
    await bob.share();
    expect(holding(bob, "bittern")).not.toEqual([]);
    await bob.run("share", "--leave");
    expect(holding(bob, "bittern")).toEqual([]);
    expect((await bob.json("search", "where is the bittern")).results).toEqual([]);
  });
});

describe("a hub that is away", () => {
  test("is tried again after a while, not after each turn; health and --status say what fails", async () => {
    const hub = await listenAsHub((socket) => socket.destroy());
    using alice = sharer(hub, { role: "alice", machine: "desk" });
    const file = say(alice, uuid(4), ["where is the ibis", "at the nile"]);
    for (let turn = 0; turn < 3; turn++) await after(alice, uuid(4), file);
    expect(hub.connections()).toBe(1);
    await alice.run("share");
    expect(hub.connections()).toBe(2);
    const label = `127.0.0.1:${hub.port}/memory`;
    const status = JSON.parse((await alice.run("share", "--status", "--json")).stdout);
    const { error } = status;
    expect([status.hub, status.lastPublish]).toEqual([label, null]);
    expect(error).toStartWith(`Cannot reach the hub ${label}: `);
    const health = JSON.parse((await alice.run("health", "--json")).stdout);
    expect(health.sends).toContain(`shared sessions to 127.0.0.1:${hub.port}`);
    const whats = health.findings.map(({ what }: { what: string }) => what);
    expect(whats).toContain(`sharing fails: ${error}`);
    hub.close();
  });

  test("is never asked by a search, a prompt hook, a reader, a digest or a session's start itself", async () => {
    const hub = await listenAsHub(() => {});
    using alice = sharer(hub, { role: "alice", machine: "desk" });
    const file = say(alice, uuid(5), ["where is the egret", "on the cow"]);
    for (const [script, ...args] of [
      ["search", "egret", "--json"],
      ["session-reader", uuid(5)],
      ["session-reader", "--list"],
      ["activity-summary", "--current", uuid(5)],
      ["health"],
      ["share", "--status"],
      ["share", "--dry-run"],
    ] as const) {
      expect([script, (await alice.run(script, ...args)).exitCode]).toEqual([script, 0]);
    }
    await alice.prompt("look at @@egret", { session_id: uuid(5), transcript_path: file });
    expect(hub.connections()).toBe(0);
    hub.close();
  });
});

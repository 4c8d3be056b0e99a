/** What one session of our own can do to the publishing of all: nothing; and what is sent of each. */

import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { writeClaude, writeMeta } from "./support/home.ts";
import { hasPostgres } from "./support/postgres.ts";
import { conversation, hubPerBlock, pulledWords, say, sharer, uuid } from "./support/share.ts";

describe.skipIf(!hasPostgres())("publishing", () => {
  const postgres = hubPerBlock();
  const at = (id: string, columns: string) =>
    postgres.sql(`SELECT ${columns} FROM session_memory.sessions WHERE id = '${id}'`)[0];
  const findings = async (home: ReturnType<typeof sharer>): Promise<string[]> =>
    JSON.parse((await home.run("health", "--json")).stdout).findings.map(
      ({ what }: { what: string }) => what,
    );

  test("cuts a description of our own to what the hub takes, and sends the rest", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    using bob = sharer(postgres, { role: "bob", machine: "laptop" });
    for (const id of [1, 2]) say(alice, uuid(id), [`what wakes the elevator ${id}`, "the capacitor"]);
    writeMeta(alice, {
      sessionId: uuid(1),
      name: `elevator ${"n".repeat(5000)}`,
      description: `it wakes ${"\u{1f6d7}".repeat(400_000)}`,
      summary: `the capacitor "${"\\".repeat(1_400_000)}`,
      tags: Array.from({ length: 5000 }, (_, tag) => `tag${tag}${"t".repeat(300)}`),
    });
    expect(await alice.share()).toMatchObject({ published: { sessions: 2, chunks: 2 } });
    await bob.share();
    expect(Object.keys(pulledWords(bob))).toEqual([1, 2].map((id) => `alice@desk:${uuid(id)}`));
    expect(
      at(
        uuid(1),
        "left(name, 10), left(meta ->> 'summary', 14), left(meta ->> 'description', 9), octet_length(meta::text) < 1048576",
      ),
    ).toBe("elevator n|the capacitor |it wakes |t");
    postgres.sql("DELETE FROM session_memory.sessions");
  });

  test("goes on past a session that the hub refuses, and health names it until it is taken", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    for (const id of [4, 5, 6, 7]) say(alice, uuid(id), [`question ${id}`, "answer"]);
    postgres.sql(`ALTER TABLE session_memory.sessions ADD CONSTRAINT picky CHECK (id <> '${uuid(5)}')`);
    expect(await alice.share()).toMatchObject({ published: { sessions: 3, chunks: 3 } });
    expect(postgres.sql("SELECT id FROM session_memory.sessions ORDER BY id")).toEqual([4, 6, 7].map(uuid));
    expect(await findings(alice)).toContainEqual(
      `the hub does not take 1 session: ${uuid(5)} (new row for relation "sessions" violates check constraint "picky")`,
    );
    postgres.sql("ALTER TABLE session_memory.sessions DROP CONSTRAINT picky");
    expect(await alice.share()).toMatchObject({ published: { sessions: 1 } });
    expect((await findings(alice)).join("\n")).not.toContain("the hub does not take");
    postgres.sql("DELETE FROM session_memory.sessions");
  });

  test("redacts the folder that a link leads to, and names none that is kept out", async () => {
    using alice = sharer(postgres, { role: "alice", machine: "desk" });
    alice.configure({ redact: { extra: ["heron-\\d+"] }, exclude: { patterns: ["walrus"] } });
    for (const [id, name] of [
      [8, "heron-77"],
      [9, "walrus"],
    ] as const) {
      const cwd = join(alice.project, `link${id}`);
      mkdirSync(join(alice.project, "clients", name), { recursive: true });
      symlinkSync(join("clients", name), cwd);
      writeClaude(alice, { id: uuid(id), rows: conversation(cwd, uuid(id), [["where", "here"]]) });
    }
    await alice.share();
    expect([8, 9].map((id) => at(uuid(id), "'<' || folder || '>'"))).toEqual([
      "<clients/[redacted:custom]>",
      "<>",
    ]);
    postgres.sql("DELETE FROM session_memory.sessions");
  });
});

/** Every host of the table: its sessions outlive what it keeps them in. */

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { copiesFolder, HOSTS } from "../lib/transcripts/hosts.ts";
import { codexAnswer, codexMeta, codexPrompt } from "./support/codex.ts";
import { type TemporaryHome, temporaryHome, writeCodex, writePi } from "./support/home.ts";
import { HOST_WRITERS, type HostSession, hostId } from "./support/hosts.ts";
import { piAssistant, piHeader, piUser } from "./support/pi.ts";
import { uuidFrom } from "./support/rows.ts";

const AT = "2026-02-03T14:30:00.000Z";
const WRITERS: Record<string, (home: TemporaryHome, session: HostSession) => string> = {
  ...HOST_WRITERS,
  pi: (home, { id, cwd }) =>
    writePi(home, {
      id,
      rows: [
        piHeader({ id, cwd }),
        piUser({ text: "Raise the zebra limit" }),
        piAssistant({ text: "Raised." }),
      ],
    }),
  codex: (home, { id, cwd }) =>
    writeCodex(home, {
      id,
      at: AT,
      rows: [
        codexMeta({ id, cwd, at: AT }),
        ...codexPrompt({ text: "Raise the zebra limit", at: AT }),
        ...codexAnswer({ text: "Raised.", at: AT }),
      ],
    }),
};

test("every host of the table is tried", () => {
  expect(Object.keys(WRITERS).toSorted()).toEqual(HOSTS.map(({ agent }) => agent).toSorted());
});

function copies({ paths }: TemporaryHome, agent: string): string[] {
  const folder = copiesFolder(paths, agent);
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
}

describe.each(Object.keys(WRITERS))("a session of %s", (agent) => {
  test("is read from its copy as before when its host has deleted it", async () => {
    using home = temporaryHome();
    const id = agent in HOST_WRITERS ? hostId(agent, "limit") : uuidFrom("limit");
    const file = WRITERS[agent]?.(home, {
      id,
      cwd: home.project,
      at: AT,
      title: "Zebra limits",
      steps: [
        { says: "user", text: "Raise the zebra limit" },
        { runs: "make check-limits", output: "error: zebra quota exceeded", exit: 2 },
        { says: "assistant", text: "Raised." },
      ],
    });
    const old = new Date(AT);
    if (file !== undefined) utimesSync(file, old, old);
    await home.ok("hooks/background.ts", "--begin", "--cwd", home.project);
    // A database is copied by the first, a day before.
    for (const copy of copies(home, agent)) utimesSync(copy, old, old);
    await home.ok("hooks/background.ts", "--begin", "--cwd", home.project);
    const read = () =>
      Promise.all([["--tools"], ["--outline"]].map((flags) => home.ok("session-reader", id, ...flags)));
    const before = await read();
    expect(before[0]).toContain("zebra limit");
    for (const name of readdirSync(home.home))
      if (name !== ".session-memory") rmSync(join(home.home, name), { recursive: true });
    for (const host of HOSTS)
      expect([host.agent, existsSync(home.paths.expand(host.home))]).toEqual([host.agent, false]);
    await home.ok("hooks/background.ts", "--begin", "--cwd", home.project);
    expect(await read()).toEqual(before);
    // What is copied of a database as it is used goes with whatever is forgotten; the archive's copy stays.
    await home.ok("forget", "--pattern", "words that nobody said", "--yes");
    expect(await read()).toEqual(before);
    expect(await home.ok("session-reader", "--list")).toContain(id.slice(0, 8));
    const { results } = JSON.parse(await home.ok("search", "zebra limit", "--json"));
    expect(results[0]).toMatchObject({ session_id: id, agent, source_gone: false, archived: true });
  });
});

/** Transcripts of other machines beside the own ones: found, told apart, counted once, of the same project. */

import { describe, expect, test } from "bun:test";
import { mkdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../lib/config/config.ts";
import { linesName } from "../lib/hosts/names.ts";
import { normalizeRemote } from "../lib/sessions/project.ts";
import { resolveSession } from "../lib/sessions/resolve.ts";
import { listSessions } from "../lib/sessions/sessions.ts";
import { codexMeta, codexPrompt } from "./support/codex.ts";
import { type TemporaryHome, temporaryHome, write, writeClaude } from "./support/home.ts";
import { turn } from "./support/index.ts";
import { runScript } from "./support/run.ts";

const OWN = "11111111-1111-4111-8111-111111111111";
const THEIRS = "22222222-2222-4222-8222-222222222222";

/** A home whose config.json names a folder synced from the machine `desk`. */
function homeWithDesk(): TemporaryHome & { desk: string } {
  const home = temporaryHome();
  const desk = join(home.root, "sync", "desk");
  mkdirSync(desk, { recursive: true });
  home.configure({ transcripts: [{ path: desk, machine: "desk" }] });
  return { ...home, desk, [Symbol.dispose]: () => home.remove() };
}

async function pathsOf(home: TemporaryHome) {
  return (await loadConfig(home.env, home.project)).paths;
}

function rowsOf(sessionId: string, cwd: string, turns = 1) {
  return Array.from({ length: turns }, (_, minute) =>
    turn(`how do refunds work, part ${minute}`, "they are booked twice", { minute, sessionId }),
  )
    .flat()
    .map((row) => ({ ...row, cwd }));
}

describe("config.json transcripts", () => {
  test("are listed beside the own sessions, with the machine's name", async () => {
    using home = homeWithDesk();
    writeClaude(home, { id: OWN, rows: rowsOf(OWN, home.project) });
    write(join(home.desk, "projects", "-elsewhere", `${THEIRS}.jsonl`), rowsOf(THEIRS, "/home/them/shop"));
    write(
      join(home.desk, "rollouts", "rollout-2026-02-03T14-30-00-019c8a4c-0000-79a1-aa28-7738fc5ab61a.jsonl"),
      [codexMeta({ cwd: "/home/them/shop" }), ...codexPrompt({ text: "deploy it" })],
    );
    const listed = listSessions(await pathsOf(home)).map(({ id, agent, machine }) => [id, agent, machine]);
    expect(listed.sort()).toEqual([
      ["019c8a4c-0000-79a1-aa28-7738fc5ab61a", "codex", "desk"],
      [OWN, "claude", undefined],
      [THEIRS, "claude", "desk"],
    ]);
  });

  test("count a session once that lies in both places: the longer copy, the own one of equals", async () => {
    using home = homeWithDesk();
    const rows = rowsOf(OWN, home.project, 3);
    const own = writeClaude(home, { id: OWN, rows: rows.slice(0, 4) });
    const copy = join(home.desk, "projects", "-x", `${OWN}.jsonl`);
    const chosen = async () => listSessions(await pathsOf(home)).map(({ file, machine }) => [file, machine]);
    write(copy, rows.slice(0, 2));
    utimesSync(copy, new Date("2030-01-01"), new Date("2030-01-01"));
    expect(await chosen()).toEqual([[own, undefined]]);
    write(copy, rows.slice(0, 4));
    expect(await chosen()).toEqual([[own, undefined]]);
    write(copy, rows.slice(0, 6));
    expect(await chosen()).toEqual([[copy, "desk"]]);
  });

  test("are searched, and read by <session>@<machine>", async () => {
    using home = homeWithDesk();
    write(join(home.desk, "projects", "-x", `${THEIRS}.jsonl`), rowsOf(THEIRS, "/home/them/shop"));
    const options = { env: home.env, cwd: home.project };
    const { stdout } = await runScript("search", ["refunds booked twice", "--json"], options);
    const found = (JSON.parse(stdout) as { results: { session_id: string }[] }).results;
    expect(found.map(({ session_id }) => session_id)).toEqual([THEIRS]);
    const shown = await runScript("search", ["refunds booked twice"], options);
    const [, place = ""] = shown.stdout.split(" ");
    expect(place).toMatch(new RegExp(`^${THEIRS.slice(0, 8)}@desk:\\d+-\\d+$`));
    const read = await runScript("session-reader", [place], options);
    expect(read.stdout).toStartWith("# ");
    expect(read.stdout).toContain(`${THEIRS}@desk`);
    const list = await runScript("session-reader", ["--list"], options);
    expect(list.stdout).toContain(`${THEIRS.slice(0, 8)}@desk`);
    const context = { paths: await pathsOf(home), cwd: home.project };
    expect(resolveSession(`${THEIRS.slice(0, 8)}@desk`, context).id).toBe(THEIRS);
    expect(() => resolveSession(`${THEIRS.slice(0, 8)}@laptop`, context)).toThrow("Cannot find session");
  });

  test("belong to the project whose origin is theirs, in any spelling and any directory", async () => {
    using home = homeWithDesk();
    const remote = (folder: string, url: string) => {
      write(join(folder, ".git", "HEAD"), "ref: refs/heads/main\n");
      write(join(folder, ".git", "config"), `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${url}\n`);
    };
    remote(home.project, "https://token@github.com/Acme/shop.git");
    const there = join(home.root, "elsewhere", "checkout");
    remote(there, "git@github.com:acme/shop.git");
    write(join(home.desk, "projects", "-x", `${THEIRS}.jsonl`), rowsOf(THEIRS, there));
    const { env } = home;
    const projectOf = async (directory: string) => {
      const { stdout } = await runScript("session-reader", ["--list", "--json", "--project", directory], {
        env,
        cwd: home.project,
      });
      return (JSON.parse(stdout) as { sessions: { id: string }[] }).sessions.map(({ id }) => id);
    };
    expect(await projectOf(home.project)).toEqual([THEIRS]);
  });

  test("never count a sync tool's conflict copy or old version as a session, in the agents' own places too", async () => {
    using home = homeWithDesk();
    const rows = rowsOf(OWN, home.project);
    const own = writeClaude(home, { id: OWN, rows });
    const beside = own.slice(0, -".jsonl".length);
    for (const copy of CONFLICT_COPIES) {
      write(join(home.desk, "projects", "-x", copy.replace("ID", OWN)), rows);
      write(beside.replace(OWN, copy.replace("ID", OWN)), rows);
    }
    write(join(home.desk, ".stversions", `${THEIRS}.jsonl`), rowsOf(THEIRS, home.project));
    expect(listSessions(await pathsOf(home)).map(({ file }) => file)).toEqual([own]);
  });
});

const CONFLICT_COPIES = [
  "ID.sync-conflict-20260203-143000-ABCDEFG.jsonl",
  "ID (conflicted copy 2026-02-03 143000).jsonl",
  "ID (Ann's conflicted copy 2026-02-03).jsonl",
  "ID_conflict-20260203-143000.jsonl",
  "ID_desk_Feb-03-143000-2026_Conflict.jsonl",
  "ID.Conflict.jsonl",
  "ID.conflict1.jsonl",
  "ID (SFConflict ann@example.com 2026-02-03-14-30-00).jsonl",
  "ID-DESKTOP-7Q2.jsonl",
  "ID (1).jsonl",
  "ID 2.jsonl",
  "ID~20260203-143000.jsonl",
  "agent-a1b2c3d (1).jsonl",
  "2026-02-03T14-30-00-000Z_ID.sync-conflict-20260203-143000-ABCDEFG.jsonl",
  "rollout-2026-02-03T14-30-00-ID (1).jsonl",
];

describe("linesName", () => {
  test.each([
    `${OWN}.jsonl`,
    "agent-a1b2c3d.jsonl",
    "agent-acompact-fffbd0.jsonl",
    `2026-02-03T14-30-00-000Z_${OWN}.jsonl`,
    "2026-02-03T14-30-00-000Z_merge-conflict-2.jsonl",
    `rollout-2026-02-03T14-30-00-${OWN}.jsonl`,
    "discord.jsonl",
  ])("takes %s for a session", (name) => {
    expect(linesName(name)).toBe(name);
  });
});

describe("normalizeRemote", () => {
  test.each([
    "git@github.com:acme/shop.git",
    "github.com:acme/shop",
    "https://github.com/acme/shop",
    "https://x-access-token:ghs_0123456789@GitHub.com/Acme/Shop.git",
    "https://github.com:443//acme/shop.git?ref=main",
    "git+ssh://git@github.com/acme/shop.git",
  ])("makes github.com/acme/shop of %s", (address) => {
    expect(normalizeRemote(address)).toBe("github.com/acme/shop");
  });

  test("keeps what tells servers and repositories apart", () => {
    expect(
      [
        "ssh://git@git.example.com:2222/Team/App.git",
        "https://git.example.com/Team/App.git",
        "https://git.example.com:443/Team/App.git",
        "https://git.example.com:8443/Team/App.git",
        "https://dev.azure.com/acme/shop/_git/shop",
        "git@ssh.dev.azure.com:v3/acme/shop/shop",
        "ssh://git@[::1]:22/acme/shop",
      ].map(normalizeRemote),
    ).toEqual([
      "git.example.com/Team/App",
      "git.example.com/Team/App",
      "git.example.com/Team/App",
      "git.example.com:8443/Team/App",
      "dev.azure.com/acme/shop/_git/shop",
      "ssh.dev.azure.com/v3/acme/shop/shop",
      "[::1]/acme/shop",
    ]);
  });

  test.each([
    "/srv/git/shop.git",
    "../shop",
    "file:///srv/git/shop.git",
    "C:\\code\\shop",
    "C:/code/shop",
    "",
    "origin",
  ])("has no name for %p, which is another thing on every machine", (address) => {
    expect(normalizeRemote(address)).toBeUndefined();
  });
});

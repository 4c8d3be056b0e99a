/** Hosts where printing is not the point: the table, clients that write meanwhile, a host of one's own. What is printed: golden/hosts/. */

import { describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { dashedPath, FOREIGN_LABEL } from "../lib/base/text.ts";
import { HOSTS } from "../lib/hosts/hosts.ts";
import { archivePlace } from "../lib/sessions/places.ts";
import { readEntries } from "./support/entries.ts";
import { type TemporaryHome, temporaryHome, write } from "./support/home.ts";
import { AGENTS, hostId, layHost, run } from "./support/hosts.ts";
import { jsonl, uuidFrom } from "./support/rows.ts";
import { ROOT, runCommand, startScript } from "./support/run.ts";

test("every host of the table has fixtures, a golden transcript, and a row in docs/hosts.md", () => {
  const agents = HOSTS.map(({ agent }) => agent).sort();
  expect(AGENTS.toSorted()).toEqual(agents);
  const golden = readdirSync(join(import.meta.dir, "golden", "hosts")).map((name) =>
    name.replace(".txt", ""),
  );
  expect(golden.sort()).toEqual(agents);
  const page = readFileSync(join(ROOT, "docs/hosts.md"), "utf8");
  const [, tried = ""] = page.split("<!-- end of hosts -->"); // the table before it is made from the values
  const own = HOSTS.filter(({ agent }) => agent !== "pi" && agent !== "codex" && agent !== "claude");
  expect(own.filter(({ name }) => !tried.includes(`| ${name} |`)).map(({ name }) => name)).toEqual([]);
});

const read = async (home: TemporaryHome, id: string): Promise<string[]> =>
  (await home.json("session-reader", id)).entries.map(({ text }: { text: string }) => text);

describe("opencode's database", () => {
  test("is not opened again while nothing was written", async () => {
    using home = temporaryHome();
    layHost(home, "opencode");
    await home.ok("session-reader", "--list");
    const copy = `${archivePlace(home.paths, { agent: "opencode", id: hostId("opencode") })}.gz`;
    const before = statSync(copy);
    await home.ok("session-reader", "--list");
    expect([statSync(copy).mtimeMs, before.mode & 0o777]).toEqual([before.mtimeMs, 0o600]);
  });

  test.each([
    [
      "view",
      "CREATE VIEW session AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i AS id FROM n",
    ],
    ["virtual table", "CREATE VIRTUAL TABLE session USING fts5(id)"],
  ])("with a %s in a table's place, which need never end, is not asked", async (_, sql) => {
    using home = temporaryHome();
    layHost(home, "qwen");
    const [database = ""] = layHost(home, "opencode");
    run(database, `DROP TABLE session; ${sql}`);
    // a process of its own, for nothing ends such a query
    const options = { env: home.env, cwd: home.project };
    const { stdout, stderr, exitCode } = await startScript("session-reader", ["--list"], options);
    expect([exitCode, stdout.match(/ · qwen · /g)?.length]).toEqual([0, 1]);
    expect(stderr).toContain('opencode.db": it has no table "session"');
  });
});

describe("OpenClaw's databases", () => {
  const ID = hostId("openclaw");
  const LONG = `The answer is long: ${"word ".repeat(400)}`.trim();
  const hex = (bytes: Uint8Array) => `X'${Buffer.from(bytes).toString("hex")}'`;

  /** Lays the conversation with a long last answer, compressed as the client does. */
  function lay(home: TemporaryHome): string {
    const [database = ""] = layHost(home, "openclaw", "zebra", {
      words: { "The zebra limit is 20 now.": LONG },
    });
    const json = eventsOf().at(-1) ?? "";
    run(
      database,
      `UPDATE transcript_events SET event_json = NULL, event_zstd = ${hex(zstdCompressSync(json))},
      event_utf8_bytes = ${Buffer.byteLength(json)} WHERE event_json LIKE '%The answer is long%'`,
    );
    return database;
  }
  /** Returns the events of the conversation. */
  function eventsOf(): string[] {
    const sql = readFileSync(
      join(import.meta.dir, "fixtures/hosts/openclaw/zebra/agents/main/agent/openclaw-agent.sqlite.sql"),
      "utf8",
    );
    return Array.from(
      sql.matchAll(/INSERT OR REPLACE INTO transcript_events .*?VALUES \('[^']*', \d+, '((?:[^']|'')*)'/g),
      ([, json = ""]) => json.replaceAll("''", "'").replace("The zebra limit is 20 now.", LONG),
    );
  }
  const touch = "UPDATE session_windows SET updated_at = updated_at + 1";
  const say = (id: string, seq: number, place: number, text: string) => {
    const event = {
      type: "message",
      id,
      timestamp: "2026-02-03T15:00:00.000Z",
      message: { role: "user", content: text },
    };
    return `INSERT INTO transcript_events VALUES ('${ID}', ${seq}, '${JSON.stringify(event)}', 0, NULL, ${JSON.stringify(event).length});
      INSERT OR REPLACE INTO session_transcript_active_events VALUES ('${ID}', ${place}, ${seq}); ${touch}`;
  };

  test("are read beside a client that writes, compressed events too, of every agent, and appended to; another branch is another end", async () => {
    using home = temporaryHome();
    const database = lay(home);
    const second = database.replace("/main/", "/second/");
    mkdirSync(dirname(second), { recursive: true });
    cpSync(database, second);
    const other = uuidFrom("other");
    run(
      second,
      `UPDATE session_nodes SET current_session_id = '${other}'; UPDATE session_windows SET session_id = '${other}';
       UPDATE transcript_events SET session_id = '${other}', event_json = replace(event_json, 'zebra', 'gnu');
       UPDATE session_transcript_active_events SET session_id = '${other}'`,
    );
    expect((await read(home, ID)).at(-1)).toBe(LONG);
    expect((await read(home, other)).slice(0, 1)).toEqual(["Raise the gnu limit to 20, please"]);
    await home.ok("embed");
    run(database, say("m1", 90, 90, "more words"));
    expect((await read(home, ID)).slice(-2)).toEqual([LONG, "more words"]);
    expect(await home.json("embed")).toMatchObject({ sessions: 1, newChunks: 1 });
    run(database, say("m2", 91, 90, "another question"));
    expect((await read(home, ID)).slice(-2)).toEqual([LONG, "another question"]);
  });

  test.each(["identity", "zstd"])(
    "show what was reset or deleted from its archive (%s)",
    async (encoding) => {
      using home = temporaryHome();
      const database = lay(home);
      const before = await read(home, ID);
      const lines = Buffer.from(`${eventsOf().join("\n")}\n`);
      run(
        database,
        `DELETE FROM transcript_events; DELETE FROM session_transcript_active_events; DELETE FROM session_windows;
      INSERT INTO session_transcript_archives VALUES ('${ID}', '1', 'deleted', '${encoding}', ${hex(encoding === "zstd" ? zstdCompressSync(lines) : lines)}, 'a.jsonl', 5)`,
      );
      expect(await read(home, ID)).toEqual(before);
      expect(await read(home, ID)).toEqual(before);
      const { sessions } = await home.json("session-reader", "--list");
      expect([sessions.length, sessions[0].cwd]).toEqual([1, "/home/dev/shop"]);
    },
  );

  test("are never read as less: what cannot be is a warning, and the others are read", async () => {
    using home = temporaryHome();
    const database = lay(home);
    layHost(home, "openclaw", "zebra", { id: uuidFrom("whole"), words: { zebra: "whole" } });
    run(
      database,
      "UPDATE transcript_events SET event_utf8_bytes = event_utf8_bytes + 7 WHERE event_zstd NOT NULL",
    );
    const { stdout, stderr } = await home.run("session-reader", "--list");
    expect([stdout.match(/ · openclaw · /g)?.length, stdout.includes("Zebra limits")]).toEqual([1, true]);
    expect(stderr).toContain(`Cannot read session ${ID} of `);
    expect(stderr).toContain("a compressed event is damaged");
    expect((await home.run("session-reader", "--list")).stderr).toBe(stderr);
    run(
      database,
      `DELETE FROM transcript_events; DELETE FROM session_transcript_active_events; ${touch};
      INSERT INTO session_transcript_cold_archives VALUES ('${ID}', 'cold.zst', 5, 'file', NULL)`,
    );
    const again = await home.run("session-reader", "--list");
    expect(again.stderr).toContain("its archive is a file that is not read: cold.zst");
  });
});

test("Cursor's transcripts tell their directory by the name of their folder, where only one directory has it", async () => {
  using home = temporaryHome();
  const [id = "", folder = "", last = ""] = [
    uuidFrom("cursor"),
    home.project.slice(0, -1),
    home.project.at(-1),
  ];
  const lay = (cwd: string) =>
    write(join(home.home, ".cursor/projects", dashedPath(cwd), "agent-transcripts", id, `${id}.jsonl`), [
      { role: "user", message: { content: "Count the ostriches" } },
    ]);
  lay(home.project);
  const cwds = async () =>
    (await home.json("session-reader", "--list")).sessions.map(({ cwd }: { cwd: string | null }) => cwd);
  expect(await cwds()).toEqual([home.project]);
  for (const twin of [`${folder}-${last}`, `${folder}.${last}`]) mkdirSync(twin);
  lay(`${folder}-${last}`);
  expect(await cwds()).toEqual([null]);
});

test("what we added to a result that Qwen Code keeps nowhere without that is cut off", () => {
  using home = temporaryHome();
  const error = `File not found: a.ts\n\n[Seen Before] ${FOREIGN_LABEL}\n- the zebra was ended so`;
  const part = { functionResponse: { id: "c", name: "read_file", response: { error } } };
  const file = write(join(home.root, "x.jsonl"), [
    {
      ...{ uuid: "1", sessionId: "s", timestamp: "2026-11-22T21:32:05.629Z", cwd: "/a", type: "tool_result" },
      message: { role: "user", parts: [part] },
      toolCallResult: { callId: "c", status: "error", resultDisplay: error },
    },
  ]);
  const [result] = [...readEntries(file, { results: true })];
  expect([result?.text, result?.isError]).toEqual(["File not found: a.ts", true]);
});
/** A host that nobody has: its file, and a line of the table. */
const ACME_FILE = `import { stringOf } from "../base/json.ts";
import { toCall } from "./format.ts";
import type { HostFile } from "./host.ts";

export const host: HostFile = {
  name: "Acme Agent",
  program: "acme",
  resume: "acme go-on <id>",
  skills: "($ACME_HOME|~/.acme)/skills",
  hooks: {
    installedIn: "settings.json",

    written: { second: 1, events: { Asked: { moment: "prompt" }, Rested: { moment: "turn" } } },
  },
  matches: (record) => typeof record.acme === "string",
  facts: ({ session, folder, timestamp }) => ({ id: session, cwd: folder, startedAt: timestamp }),
  entries(record) {
    const text = stringOf(record.text) ?? "";
    if (record.acme === "asked") return [{ kind: "user", text }];
    if (record.acme === "answered") return [{ kind: "assistant", text }];
    if (record.acme !== "ran") return [];
    return [toCall({ id: record.timestamp, name: "shell", input: { command: text } })];
  },
  title: (_, rowsWith) => [...rowsWith('"called"')].map(({ called }) => stringOf(called))[0],
};
`;
const ACME_LINE =
  '{ agent: "acme", home: "($ACME_HOME|~/.acme)", transcripts: ["talks/*/<id>.log.jsonl"], load: () => import("./acme.ts") },\n';

test("a fifth host is a file and a line: it is listed, read, searched, gone on with, set up and reported", async () => {
  using home = temporaryHome();
  const root = join(home.root, "copy");
  for (const name of "lib scripts hooks bin skills package.json tsconfig.json bunfig.toml".split(" "))
    cpSync(join(ROOT, name), join(root, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  writeFileSync(join(root, "lib/hosts/acme.ts"), ACME_FILE);
  const table = join(root, "lib/hosts/table.ts");
  const line = /^export const TABLE: readonly HostLine\[\] = \[\n/m;
  writeFileSync(
    table,
    readFileSync(table, "utf8").replace(line, (start) => start + ACME_LINE),
  );
  const moved = join(home.root, "acme-home");
  const row = (acme: string, text: string, second: number) => ({
    ...{ acme, text, session: "talk-0001", folder: home.project },
    timestamp: `2026-02-03T14:30:0${second}.000Z`,
  });
  const rows = [
    row("asked", "Where do the narwhals live?", 0),
    row("ran", "ls narwhals", 1),
    row("answered", "In the north.", 2),
  ];
  mkdirSync(join(moved, "talks", "today"), { recursive: true });
  writeFileSync(
    join(moved, "talks/today/talk-0001.log.jsonl"),
    jsonl(...rows, { acme: "named", called: "Narwhal talk" }),
  );
  const bin = join(home.root, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "acme"), "#!/bin/sh\n", { mode: 0o755 });
  const env = { ...home.env, ACME_HOME: moved, PATH: `${bin}:${home.env.PATH}` };
  const run = async (name: string, ...args: string[]) => {
    const command = [process.execPath, join(root, "scripts", `${name}.ts`), ...args];
    const { stdout, stderr, exitCode } = await runCommand(command, { env, cwd: home.project });
    expect([name, args, exitCode, exitCode === 0 ? "" : stderr]).toEqual([name, args, 0, ""]);
    return stdout;
  };
  const [listed] = JSON.parse(
    await run("session-reader", "--list", "--agent", "acme", "--resume", "--json"),
  ).sessions;
  expect(listed).toMatchObject({
    id: "talk-0001",
    name: "Narwhal talk",
    cwd: home.project,
    resume: "acme go-on talk-0001",
  });
  expect(await run("session-reader", "talk-0001")).toContain(
    "L2 [2026-02-03 14:30:01] [shell ls narwhals]\n",
  );
  const [found] = JSON.parse(
    await run("search", "where do narwhals live", "--agent", "acme", "--json"),
  ).results;
  expect(found).toMatchObject({ session_id: "talk-0001", agent: "acme" });
  expect(await run("search", "--command", "ls")).toContain("ls narwhals");
  expect(await run("setup", "--yes", "--quiet")).toContain(
    `Acme Agent: ${join(bin, "acme")}, 1 session since `,
  );
  expect(readdirSync(join(moved, "skills"))).toEqual(["session-search"]);
  const { hooks } = JSON.parse(readFileSync(join(moved, "settings.json"), "utf8"));
  const asked = { hook_event_name: "Asked", session_id: "talk-0002", prompt: "as in @@talk-0001" };
  const told = await runCommand(["/bin/sh", "-c", hooks.Asked[0].hooks[0].command], {
    ...{ env, cwd: home.project },
    stdin: JSON.stringify({ ...asked, cwd: home.project }),
  });
  expect(told.stdout).toContain("Narwhal talk");
  expect(readFileSync((await run("report", "talk-0001")).trim(), "utf8")).toContain("Acme Agent");
}, 60_000);

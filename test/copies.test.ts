/** Our copies of sessions: one kind of file in one place, listed from a table, taken over from where versions before had theirs. */

import { Database } from "bun:sqlite";
import { describe, expect, setSystemTime, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { writePulled } from "../lib/archive/pulled-copy.ts";
import { readNote, writeBlocks } from "../lib/hosts/blocks.ts";
import { archivePlace } from "../lib/sessions/places.ts";
import { chain, claudeAssistant, claudeUser } from "./support/claude.ts";
import { type TemporaryHome, temporaryHome, write, writeClaude } from "./support/home.ts";
import { hostId, layHost, run, sayInOpencode } from "./support/hosts.ts";
import { uuidFrom } from "./support/rows.ts";
import { runCommand, starting } from "./support/run.ts";

const DAY_MS = 86_400_000;

/** Writes a session that was idle for days, and its copy; returns the transcript. */
async function copied(home: TemporaryHome, topic: string, days = 2): Promise<string> {
  const rows = chain([
    claudeUser({ text: `Where do the ${topic} nest?` }),
    ...claudeAssistant({ text: `The ${topic} nest in the reeds.` }),
  ]);
  const file = writeClaude(home, { id: uuidFrom(topic), rows });
  const at = new Date(Date.now() - days * DAY_MS);
  utimesSync(file, at, at);
  await begin(home);
  return file;
}

const begin = (home: TemporaryHome) => home.ok("hooks/background.ts", "--begin", "--cwd", home.project);
const copyOf = (home: TemporaryHome, topic: string) =>
  archivePlace(home.paths, { agent: "claude", id: uuidFrom(topic) });
const formerOf = (home: TemporaryHome, topic: string) =>
  join(home.paths.archive, "claude", `${uuidFrom(topic)}.jsonl`);

/** Moves a copy to where the version before had it, with the note that it wrote. */
function makeFormer(home: TemporaryHome, topic: string): string {
  const [now, former] = [copyOf(home, topic), formerOf(home, topic)];
  const { size, modified, rules } = readNote(now) ?? {};
  const writer = writeBlocks(former, { durable: false });
  writer.write(gunzipSync(readFileSync(`${now}.gz`)));
  writer.end({ size, modified, rules });
  rmSync(`${now}.gz`);
  return former;
}

const listed = async (home: TemporaryHome): Promise<string[]> =>
  (await home.json("session-reader", "--list")).sessions.map(({ id }: { id: string }) => id).sort();

describe("copies", () => {
  test("are listed from a table, without it, and where it is damaged", async () => {
    using home = temporaryHome();
    for (const topic of ["herons", "storks"]) rmSync(await copied(home, topic));
    const ids = ["herons", "storks"].map((topic) => uuidFrom(topic)).sort();
    const table = join(home.paths.copies, "list.db");
    expect([existsSync(table), await listed(home)]).toEqual([true, ids]);
    const damaged = new Database(table);
    damaged.run("UPDATE copies SET id = x'00' WHERE rowid = 1");
    damaged.close();
    expect(await listed(home)).toEqual(ids);
    for (const spoil of [() => writeFileSync(table, "no database at all"), () => rmSync(table)]) {
      for (const part of ["-wal", "-shm"]) rmSync(table + part, { force: true });
      spoil();
      expect(await listed(home)).toEqual(ids);
      await home.run("health");
      const db = new Database(table, { readonly: true });
      expect(db.query("SELECT id FROM copies ORDER BY id").values().flat()).toEqual(ids);
      db.close();
    }
  });

  test("are made anew once when a session went on, by what the table says of them", async () => {
    using home = temporaryHome();
    const file = await copied(home, "herons");
    const copy = `${copyOf(home, "herons")}.gz`;
    const made = () => statSync(copy).ino;
    const first = made();
    await begin(home);
    expect(made()).toBe(first);
    appendFileSync(file, readFileSync(file, "utf8").replaceAll("reeds", "old willows"));
    const at = new Date(Date.now() - 1.5 * DAY_MS);
    utimesSync(file, at, at);
    await begin(home);
    const second = made();
    expect(second).not.toBe(first);
    expect(gunzipSync(readFileSync(copy)).toString()).toContain("old willows");
    await begin(home);
    expect(made()).toBe(second);
    home.configure({ redact: { extra: ["willows"] } });
    await begin(home);
    expect(gunzipSync(readFileSync(copy)).toString()).not.toContain("willows");
  });

  test("say whose they are and where from", async () => {
    using home = temporaryHome();
    const file = await copied(home, "herons");
    const whose = { agent: "claude", id: uuidFrom("herons") };
    expect(readNote(copyOf(home, "herons"))).toMatchObject({ ...whose, place: file });
    rmSync(file);
    await home.ok("forget", "--pattern", basename(dirname(file)).slice(1), "--yes");
    const { place, ...note } = readNote(copyOf(home, "herons")) ?? {};
    expect([place, note]).toEqual([undefined, expect.objectContaining(whose)]);
    expect(await home.ok("session-reader", uuidFrom("herons"))).toContain("nest in the reeds");
  });

  test("of other people are counted by health", async () => {
    using home = temporaryHome();
    const whose = { owner: "bob", machine: "laptop", agent: "claude", id: uuidFrom("herons") };
    const row = {
      line: 2,
      nth: 0,
      at: "2026-02-03T14:00:00Z",
      who: "user" as const,
      text: "Where do herons nest?",
    };
    const said = { storedId: "bob@laptop:1", number: 1, seq: 1, project: "p", updatedAt: row.at };
    const session = { ...whose, ...said, meta: undefined, observations: undefined };
    writePulled(archivePlace(home.paths, whose), session, [{ line: 2, nth: 0, rows: [row] }]);
    expect((await home.run("health")).stdout).toContain(
      "1 session of hosts' databases, of prompts alone or of others",
    );
  });

  test("of the version before are taken over, listed once, and stay for thirty days", async () => {
    using home = temporaryHome();
    for (const topic of ["herons", "storks"]) rmSync(await copied(home, topic));
    const former = makeFormer(home, "herons");
    const ids = ["herons", "storks"].map((topic) => uuidFrom(topic)).sort();
    expect(await listed(home)).toEqual(ids);
    await begin(home);
    const copy = copyOf(home, "herons");
    expect([existsSync(`${copy}.gz`), existsSync(`${former}.gz`), await listed(home)]).toEqual([
      true,
      true,
      ids,
    ]);
    expect(readNote(copy)).toMatchObject({ agent: "claude", id: uuidFrom("herons") });
    expect(await home.ok("session-reader", uuidFrom("herons"))).toContain("nest in the reeds");
    expect((await home.json("health")).findings).toContainEqual(
      expect.objectContaining({ what: expect.stringContaining("the archive holds 2 sessions") }),
    );
    // what that version adds later is taken too
    rmSync(await copied(home, "egrets"));
    makeFormer(home, "egrets");
    await begin(home);
    expect(existsSync(`${copyOf(home, "egrets")}.gz`)).toBe(true);
    const there = () => [former, copy].map((file) => existsSync(`${file}.gz`));
    for (const [days, isLeft] of [
      [29, true],
      [31, false],
    ] as const) {
      setSystemTime(new Date(Date.now() + days * DAY_MS));
      try {
        await begin(home);
      } finally {
        setSystemTime();
      }
      expect([days, there()]).toEqual([days, [isLeft, true]]);
    }
  });

  test("of the version before are forgotten, excluded and redacted, and its files go with that", async () => {
    using home = temporaryHome();
    for (const topic of ["herons", "storks", "egrets"]) rmSync(await copied(home, topic));
    for (const topic of ["herons", "storks", "egrets"]) makeFormer(home, topic);
    await begin(home);
    const holding = (word: string) =>
      readdirSync(home.paths.home, { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".jsonl.gz"))
        .filter((name) =>
          gunzipSync(readFileSync(join(home.paths.home, name)))
            .toString()
            .includes(word),
        );
    expect(["herons", "storks", "egrets"].map((word) => holding(word).length)).toEqual([2, 2, 2]);
    await home.ok("forget", uuidFrom("herons"), "--yes");
    await home.ok("forget", "--pattern", "the storks", "--yes");
    home.configure({ redact: { extra: ["in the reeds"] } });
    await begin(home);
    expect([holding("herons"), holding("the storks"), holding("in the reeds")]).toEqual([[], [], []]);
    expect([holding("egrets").length, existsSync(home.paths.archive)]).toEqual([1, false]);
    home.configure({ exclude: { sessions: [uuidFrom("egrets")] } });
    await begin(home);
    expect(holding("egrets")).toEqual([]);
    const table = readFileSync(join(home.paths.copies, "list.db"), "latin1");
    expect([uuidFrom("herons"), uuidFrom("egrets")].filter((id) => table.includes(id))).toEqual([]);
  });
});

describe("copies of a host's database", () => {
  const ID = hostId("opencode");
  const copyIn = (home: TemporaryHome) => archivePlace(home.paths, { agent: "opencode", id: ID });
  const linesIn = (home: TemporaryHome) =>
    gunzipSync(readFileSync(`${copyIn(home)}.gz`))
      .toString()
      .split("\n")
      .slice(0, -1);
  const databaseOf = (home: TemporaryHome) => join(home.home, ".local/share/opencode/opencode.db");

  /** Puts the copy where the version before had it, with its note. */
  function makeUnpacked(home: TemporaryHome): string {
    const { changed, title, last } = readNote(copyIn(home)) ?? {};
    const former = join(home.paths.home, "opencode", `${ID}.jsonl`);
    write(
      former,
      linesIn(home)
        .map((line) => `${line}\n`)
        .join(""),
    );
    const sessions = { [ID]: [changed, title, last] };
    write(join(dirname(former), "copied.json"), JSON.stringify({ format: 5, states: {}, sessions }));
    rmSync(home.paths.copies, { recursive: true });
    return former;
  }

  test("lie among all others, say what they are of, and are appended to", async () => {
    using home = temporaryHome();
    layHost(home, "opencode");
    await home.ok("session-reader", "--list");
    const [before, bytes] = [linesIn(home), readFileSync(`${copyIn(home)}.gz`)];
    expect(readNote(copyIn(home))).toMatchObject({
      agent: "opencode",
      id: ID,
      from: "store",
      place: databaseOf(home),
    });
    sayInOpencode(home, ID, 20, "and the heron limit?");
    await home.ok("session-reader", "--list");
    expect(linesIn(home)).toEqual([...before, expect.stringContaining("heron limit")]);
    // what was there stays byte for byte: the new block comes behind it
    const after = readFileSync(`${copyIn(home)}.gz`);
    expect(after.subarray(512, bytes.length).equals(bytes.subarray(512))).toBe(true);
    expect(existsSync(join(home.paths.home, "opencode"))).toBe(false);
    // killed between the block and the header: the next command adds it again, once
    writeFileSync(`${copyIn(home)}.gz`, Buffer.concat([bytes.subarray(0, 512), after.subarray(512)]));
    rmSync(join(home.paths.copies, "list.db"));
    expect(linesIn(home)).toHaveLength(before.length + 1);
    expect(await home.ok("session-reader", ID, "--lines", "1")).toContain("heron limit");
    expect(linesIn(home).filter((line) => line.includes("heron limit"))).toHaveLength(1);
  });

  test("of the version before are gone on with, line by line, by whatever reads the session", async () => {
    using home = temporaryHome();
    layHost(home, "opencode");
    await home.ok("session-reader", "--list");
    const former = makeUnpacked(home);
    const kept = readFileSync(former, "utf8").replace("Let me look where", "LET ME LOOK where");
    writeFileSync(former, kept);
    sayInOpencode(home, ID, 20, "and the heron limit?");
    expect(await home.ok("session-reader", ID, "--lines", "1")).toContain("L8 ");
    // the lines that it had, though the database has others by now
    expect(
      linesIn(home)
        .slice(0, -1)
        .map((line) => `${line}\n`)
        .join(""),
    ).toBe(kept);
    expect([existsSync(former), await listed(home)]).toEqual([true, [ID]]);
  });

  test("of the version before are taken over in the background where the database has the session no more, with what it adds later", async () => {
    using home = temporaryHome();
    layHost(home, "opencode");
    await home.ok("session-reader", "--list");
    const former = makeUnpacked(home);
    run(databaseOf(home), "DELETE FROM session");
    const shown = await home.ok("session-reader", ID, "--tools");
    await begin(home);
    expect([await home.ok("session-reader", ID, "--tools"), await listed(home)]).toEqual([shown, [ID]]);
    expect(readNote(copyIn(home))).toMatchObject({ from: "store", id: ID });
    const note = JSON.parse(readFileSync(join(dirname(former), "copied.json"), "utf8"));
    note.sessions[ID][0] += 1000;
    write(join(dirname(former), "copied.json"), JSON.stringify(note));
    const more = {
      id: "msg_later",
      role: "user",
      timestamp: "2026-02-03T15:00:00Z",
      content: [{ type: "text", text: "and the heron limit?" }],
    };
    writeFileSync(former, `${readFileSync(former, "utf8")}${JSON.stringify(more)}\n`);
    await begin(home);
    expect(await home.ok("session-reader", ID, "--lines", "1")).toContain("User: and the heron limit?");
    for (const days of [29, 31]) {
      setSystemTime(new Date(Date.now() + days * DAY_MS));
      try {
        await begin(home);
      } finally {
        setSystemTime();
      }
      expect([days, existsSync(former), existsSync(`${copyIn(home)}.gz`)]).toEqual([days, days < 30, true]);
    }
  });

  test("are forgotten and redacted in both places, and a session that is kept out has none", async () => {
    using home = temporaryHome();
    layHost(home, "opencode");
    await home.ok("session-reader", "--list");
    const holding = (word: string) =>
      readdirSync(home.paths.home, { recursive: true, encoding: "utf8" }).filter((name) => {
        const file = join(home.paths.home, name);
        if (!/\.jsonl(\.gz)?$|news$|list\.db/.test(name)) return false;
        const bytes = readFileSync(file);
        return (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).includes(word);
      });
    const former = makeUnpacked(home);
    await begin(home);
    expect(holding("limits.conf")).toHaveLength(2);
    home.configure({ redact: { extra: ["limits\\.conf"] } });
    await begin(home);
    expect([holding("limits.conf"), existsSync(former)]).toEqual([[], false]);
    await home.ok("forget", "--pattern", "zebra limit is 20 now", "--yes");
    expect([holding("is 20 now"), (await listed(home)).length]).toEqual([[], 1]);
    home.configure({ exclude: { sessions: [ID] } });
    expect([await listed(home), existsSync(`${copyIn(home)}.gz`)]).toEqual([[], false]);
    home.configure({});
    expect([await listed(home), existsSync(`${copyIn(home)}.gz`)]).toEqual([[ID], true]);
    await home.ok("forget", ID, "--yes");
    expect([await listed(home), holding(ID)]).toEqual([[], []]);
  });

  test("are not needed where none can be written", async () => {
    using home = temporaryHome();
    layHost(home, "opencode");
    await home.ok("session-reader", "--list");
    sayInOpencode(home, ID, 20, "and the heron limit?");
    layHost(home, "kilo", "zebra", { id: "ses_kilo1" });
    chmodSync(home.paths.home, 0o500);
    const before = process.getuid?.() === 0 ? ["setpriv", "--bounding-set", "-dac_override"] : [];
    const read = async (...args: string[]) => {
      const options = { env: home.env, cwd: home.project };
      return (await runCommand([...before, ...starting("session-reader"), ...args], options)).stdout;
    };
    try {
      expect(await read(ID, "--lines", "1")).toContain("L8 [2026-02-03 14:30:20] User: and the heron limit?");
      expect(await read("ses_kilo1")).toContain("Raise the zebra limit");
      const { sessions } = JSON.parse(await read("--list", "--json"));
      expect(sessions.map(({ agent }: { agent: string }) => agent).sort()).toEqual(["kilo", "opencode"]);
    } finally {
      chmodSync(home.paths.home, 0o700);
    }
  });
});

test("an older version that is installed is named by health and forget, and so is an index that cannot be read", async () => {
  using home = temporaryHome();
  await copied(home, "herons");
  const named = async () => [
    (await home.run("health")).stdout,
    await home.ok("forget", "--pattern", "words that nobody said", "--yes"),
  ];
  const folder = join(home.home, ".claude/plugins/cache/session-memory/session-memory");
  write(join(folder, "0.2.0", "lib/config/config.ts"), 'join(home, "paid.db")');
  write(join(home.paths.home, "memory.db"), "no database at all");
  const [health = "", forgot = ""] = await named();
  expect([health, forgot].filter((text) => text.includes("an older session-memory"))).toEqual([]);
  expect(forgot).toContain(`files that cannot be read here, deleted:\n- ${home.paths.former}`);
  expect(existsSync(home.paths.former)).toBe(false);
  write(join(folder, "0.1.0", "dist/chunk.js"), 'join(home, "memory.db")');
  for (const text of await named()) expect(text).toMatch(/an older session-memory .*0\.1\.0/);
});

test("a damaged copy whose transcript is gone is named with a hint, and by health as ours", async () => {
  using home = temporaryHome();
  rmSync(await copied(home, "herons"));
  const copy = `${copyOf(home, "herons")}.gz`;
  const bytes = readFileSync(copy);
  writeFileSync(copy, bytes.fill("x", 0, 12));
  for (const name of ["session-reader", "handoff", "restore"]) {
    const { stderr, exitCode } = await home.run(name, uuidFrom("herons"));
    expect([name, exitCode, stderr.includes("PARSE_ERROR"), stderr.includes("hint: ")]).toEqual([
      name,
      1,
      true,
      true,
    ]);
  }
  const health = await home.ok("health");
  expect(health).toContain(`Cannot read "${copy}"`);
  expect(health).not.toContain("update session-memory");
});

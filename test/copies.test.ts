/** Our copies of sessions: one kind of file in one place, listed from a table, taken over from where versions before had theirs. */

import { Database } from "bun:sqlite";
import { describe, expect, setSystemTime, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { appendBlocks, copyBlocks, readNote, writeBlocks } from "../lib/hosts/blocks.ts";
import { withFile } from "../lib/hosts/lines.ts";
import { statUnpacked } from "../lib/hosts/packed.ts";
import { archivePlace } from "../lib/sessions/places.ts";
import { chain, claudeAssistant, claudeUser } from "./support/claude.ts";
import { type TemporaryHome, temporaryHome, writeClaude } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";

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
  JSON.parse(await home.ok("session-reader", "--list", "--json"))
    .sessions.map(({ id }: { id: string }) => id)
    .sort();

describe("a file in blocks", () => {
  test("says in its note whose it is, however long, and no line of it is the note's", () => {
    using home = temporaryHome();
    const file = join(home.root, "copy.jsonl");
    const place = `/home/user/${"folder/".repeat(200)}x.jsonl`;
    const writer = writeBlocks(file, { durable: true, about: { agent: "claude", place } });
    writer.write(Buffer.from("one\ntwo\n"));
    writer.end({ rules: "abc" });
    expect(readNote(file)).toEqual({ agent: "claude", place, rules: "abc" });
    expect(gunzipSync(readFileSync(`${file}.gz`)).toString()).toBe("one\ntwo\n");
    copyBlocks(file, `${file}2`, { id: "x" });
    expect(readNote(`${file}2`)).toEqual({ agent: "claude", place, rules: "abc", id: "x" });
    expect(gunzipSync(readFileSync(`${file}2.gz`)).toString()).toBe("one\ntwo\n");
  });

  test("is appended to: the block first, then the header, which a kill between leaves as it was", () => {
    using home = temporaryHome();
    const file = join(home.root, "copy.jsonl");
    const place = "/home/user/a/long/place/of/a/transcript/in/a/folder.jsonl";
    const writer = writeBlocks(file, { durable: true, about: { place } });
    writer.write(Buffer.from("one\n"));
    writer.end({ seq: 1 });
    const before = readFileSync(`${file}.gz`);
    appendBlocks(file, Buffer.from("two\n"), { note: { seq: 2 }, durable: true });
    const after = readFileSync(`${file}.gz`);
    const text = () => withFile(file, (_, size) => [size, statUnpacked(file)?.size]);
    expect([text(), readNote(file), gunzipSync(after).toString()]).toEqual([
      [8, 8],
      { place, seq: 2 },
      "one\ntwo\n",
    ]);
    // killed before the header was written, with half of the block on disk
    const header = before.subarray(0, 512);
    writeFileSync(`${file}.gz`, Buffer.concat([header, after.subarray(512, after.length - 5)]));
    expect([text(), readNote(file)]).toEqual([[4, 4], { place, seq: 1 }]);
    appendBlocks(file, Buffer.from("three\n"), { note: { seq: 3 }, durable: true });
    expect(gunzipSync(readFileSync(`${file}.gz`)).toString()).toBe("one\nthree\n");
  });
});

describe("copies", () => {
  test("are listed from a table, without it, and where it is damaged", async () => {
    using home = temporaryHome();
    for (const topic of ["herons", "storks"]) rmSync(await copied(home, topic));
    const ids = ["herons", "storks"].map((topic) => uuidFrom(topic)).sort();
    const table = join(home.paths.copies, "list.db");
    expect([existsSync(table), await listed(home)]).toEqual([true, ids]);
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
    expect(JSON.parse(await home.ok("health", "--json")).findings).toContainEqual(
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

  test("are forgotten, excluded and redacted in both places", async () => {
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
    expect(holding("egrets")).toHaveLength(2);
    home.configure({ exclude: { sessions: [uuidFrom("egrets")] } });
    await begin(home);
    expect(holding("egrets")).toEqual([]);
    const table = readFileSync(join(home.paths.copies, "list.db"), "latin1");
    expect([uuidFrom("herons"), uuidFrom("egrets")].filter((id) => table.includes(id))).toEqual([]);
  });
});

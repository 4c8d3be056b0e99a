/** A session that has been idle for a day is kept, redacted, for when its host deletes the transcript. */

import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { statUnpacked } from "../lib/hosts/packed.ts";
import { archivePlace } from "../lib/sessions/places.ts";
import { claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { type TemporaryHome, temporaryHome, writeClaude } from "./support/home.ts";
import { layHost } from "./support/hosts.ts";
import { jsonl, type Row, uuidFrom } from "./support/rows.ts";

const DAY_MS = 86_400_000;
const KEY = "sk-ant-api03-Zx9Kq2Lm8Wp4Tn6Rv1Yb3Hc5Jd7Fg0Sa2Qe4Ui6Oo8Pp1Ll3Kk5Mm7Nn9Bb-ZZZZZZZZ";

/** Sets a file's time so many days back. */
function age(file: string, days: number): string {
  const at = new Date(Date.now() - days * DAY_MS);
  utimesSync(file, at, at);
  return file;
}

function rowsOf(topic: string, at: string): Row[] {
  return [
    claudeUser({ at, text: `Why does the ${topic} test fail?` }),
    ...claudeAssistant({
      at,
      thinking: `I wonder about the ${topic}.`,
      text: `Its ${topic} was never loaded.`,
      tools: [{ id: `toolu_${topic}`, name: "Bash", input: { command: `make ${topic} KEY=${KEY}` } }],
    }),
    claudeToolResult({
      at,
      toolUseId: `toolu_${topic}`,
      content: `error: no ${topic} left\n${KEY}`,
      isError: true,
    }),
  ];
}

/** Writes a session that has been idle for `days`; returns its transcript. */
function session(
  home: TemporaryHome,
  topic: string,
  { days = 1.5, id = uuidFrom(topic), rows }: { days?: number; id?: string; rows?: Row[] } = {},
) {
  const at = new Date(Date.now() - days * DAY_MS).toISOString();
  return age(writeClaude(home, { id, rows: rows ?? rowsOf(topic, at) }), days);
}

const begin = (home: TemporaryHome) => home.ok("hooks/background.ts", "--begin", "--cwd", home.project);

/** The files of copies, below their folder. */
function archived(home: TemporaryHome): string[] {
  if (!existsSync(home.paths.copies)) return [];
  const names = readdirSync(home.paths.copies, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".gz")).toSorted();
}

/** The name of a session's copy, without its suffixes. */
function copyName(home: TemporaryHome, id: string): string {
  return basename(archivePlace(home.paths, { agent: "claude", id }), ".jsonl");
}

/** All that the archive holds, unpacked as any program does it. */
function content(home: TemporaryHome): string {
  return archived(home)
    .map((name) => gunzipSync(readFileSync(join(home.paths.copies, name))).toString("utf8"))
    .join("");
}

describe("a session that was idle for a day", () => {
  test("has no secret and no thought in its copy, which is the user's alone", async () => {
    using home = temporaryHome();
    const rows = rowsOf("ostrich", "2026-02-03T14:30:00.000Z");
    const secret: Row = { ...claudeUser({ text: "see" }), toolUseResult: { password: "hunter2swordfish" } };
    session(home, "ostrich", { rows: [...rows, secret] });
    await begin(home);
    const text = content(home);
    expect(text).toContain("[redacted:");
    for (const word of [KEY, "hunter2swordfish", "I wonder", "c2lnbmF0dXJl"])
      expect(text).not.toContain(word);
    expect(text.split("\n").length).toBe(rows.length + 2);
    const file = join(home.paths.copies, archived(home)[0] ?? "");
    expect([statSync(file).mode & 0o777, statSync(dirname(file)).mode & 0o777]).toEqual([0o600, 0o700]);
  });

  test("is copied again when it went on, and not while it goes on", async () => {
    using home = temporaryHome();
    const id = uuidFrom("ostrich");
    session(home, "ostrich", { days: 0.5 });
    await begin(home);
    expect(archived(home)).toEqual([]);
    session(home, "ostrich", { days: 3 });
    await begin(home);
    const first = content(home);
    session(home, "ostrich", {
      days: 2,
      rows: [...rowsOf("ostrich", "2026-02-03T14:30:00.000Z"), ...rowsOf("emu", "2026-02-04T14:30:00.000Z")],
    });
    await begin(home);
    expect([first.includes("emu"), content(home).includes("Why does the emu")]).toEqual([false, true]);
    expect(archived(home)).toEqual([`${copyName(home, id)}.jsonl.gz`]);
  });

  test("goes with its subagents and outputs, which outlive the host's", async () => {
    using home = temporaryHome();
    const id = uuidFrom("ostrich");
    const file = session(home, "ostrich");
    const agent = writeClaude(home, {
      id: "agent-a1",
      parentId: id,
      rows: rowsOf("feather", "2026-02-03T14:30:00.000Z").map((row) => ({
        ...row,
        isSidechain: true,
        agentId: "a1",
      })),
    });
    age(agent, 2);
    const outputs = join(file.replace(/\.jsonl$/, ""), "tool-results");
    mkdirSync(outputs, { recursive: true });
    writeFileSync(join(outputs, "b1.txt"), `${"all feathers\n".repeat(5000)}${KEY}\n`);
    writeFileSync(join(outputs, `${KEY}.txt`), "no name for a copy");
    age(writeClaude(home, { id: KEY, rows: rowsOf("emu", "2026-02-03T14:30:00.000Z") }), 2);
    layHost(home, "opencode", "zebra", { id: `ses_${KEY}` });
    await begin(home);
    expect(readdirSync(home.paths.home, { recursive: true }).filter((name) => name.includes(KEY))).toEqual(
      [],
    );
    expect(archived(home)).toEqual(
      [
        `${copyName(home, id)}.jsonl.gz`,
        `${copyName(home, "agent-a1")}.jsonl.gz`,
        `${copyName(home, id)}/outputs/b1.txt.gz`,
      ].toSorted(),
    );
    expect(content(home)).toContain("all feathers");
    expect(content(home)).not.toContain(KEY);
    rmSync(dirname(file), { recursive: true });
    await begin(home);
    expect(archived(home).length).toBe(3);
    expect(await home.ok("session-reader", "--list", "--subagents")).toContain("agent-a1");
    await home.ok("forget", id, "--yes");
    expect(readdirSync(home.paths.copies, { recursive: true })).toEqual([]);
  });

  test("is not copied where the user keeps less than the host, unless archive.enabled is written", async () => {
    using home = temporaryHome();
    session(home, "ostrich");
    writeFileSync(join(home.paths.claude, "settings.json"), JSON.stringify({ cleanupPeriodDays: 7 }));
    await begin(home);
    expect(archived(home)).toEqual([]);
    expect(await home.ok("health")).toContain(
      "nothing is archived: Claude Code is set to delete transcripts after 7 days",
    );
    expect((await home.run("setup")).stdout).toContain(
      "\nNothing is archived: Claude Code is set to delete transcripts after 7 days; set archive.enabled in config.json",
    );
    home.configure({ archive: { enabled: true } });
    await begin(home);
    expect(archived(home).length).toBe(1);
    home.configure({ archive: { enabled: false } });
    session(home, "emu");
    await begin(home);
    expect(archived(home).length).toBe(1);
    expect(await home.ok("health")).toContain("archive.enabled is false");
    await home.ok("forget", "--archive", "--yes");
    expect(archived(home)).toEqual([]);
  });
});

describe("a transcript that is away", () => {
  const results = async (home: TemporaryHome, ...args: string[]) =>
    (await home.json("search", "ostrich", ...args)).results;

  test("is the same session when it is back, and what it says then is found under its own id", async () => {
    using home = temporaryHome();
    const id = uuidFrom("ostrich");
    const file = session(home, "ostrich");
    const text = readFileSync(file, "utf8");
    await home.ok("embed");
    for (const words of ["emu", "rhea"]) {
      rmSync(file);
      await home.ok("embed");
      writeFileSync(file, text + jsonl(claudeUser({ text: `And the ${words} beside the ostrich?` })));
      const { index } = await home.json("search", "ostrich");
      expect(index.behind).toEqual({ sessions: 0, bytes: 0 });
      const [{ session_id, lines }] = await results(home, "--session", id, words);
      expect([session_id, lines.map(({ text }: { text: string }) => text).join()]).toEqual([
        id,
        expect.stringContaining(`And the ${words} beside`),
      ]);
      expect(await home.ok("session-reader", session_id)).toContain(words);
    }
    expect((await home.json("health")).metrics).toMatchObject({
      totalSessions: 1,
      behind: { sessions: 0, bytes: 0 },
    });
  });

  test("has a copy that search names, also before the index knows of it", async () => {
    using home = temporaryHome();
    const file = session(home, "ostrich");
    await home.ok("embed");
    const [{ file: before }] = await results(home);
    expect(before).toBe(file);
    rmSync(file);
    for (const flags of [["--no-index"], []]) {
      expect(await home.ok("search", "ostrich", ...flags)).toMatch(/ · archive\n/);
      const [{ source_gone, archived, file: copy }] = await results(home, ...flags);
      expect([source_gone, archived, existsSync(copy)]).toEqual([false, true, true]);
      expect(await home.ok("session-reader", copy)).toContain("Why does the ostrich test fail?");
      expect(await home.ok("search", "ostrich", "--by-session", "--resume", ...flags)).toContain("restore ");
    }
    const { session: read } = await home.json("session-reader", uuidFrom("ostrich"));
    const { sessions } = await home.json("session-reader", "--list");
    expect([read.file, sessions[0].file].map((path) => existsSync(path))).toEqual([true, true]);
  });
});

describe("the archive's limit", () => {
  const noise = (topic: string) =>
    Array.from({ length: 9 }, (_, row) =>
      claudeUser({ text: `${topic} ${`${row} feathers, `.repeat(8000)}` }),
    );

  test("takes first what the host keeps longest, and leaves what lives only there", async () => {
    using home = temporaryHome();
    const [old, middle, young] = [25, 15, 5].map((days) =>
      session(home, `day${days}`, { days, rows: noise(`day${days}`) }),
    );
    home.configure({ archive: { maxMb: 1 } });
    await begin(home);
    const kept = () =>
      archived(home)
        .map((name) => name.slice(0, -".jsonl.gz".length))
        .toSorted();
    const some = kept();
    expect(some).toContain(copyName(home, uuidFrom("day25")));
    expect(some).not.toContain(copyName(home, uuidFrom("day5")));
    for (const file of [old, middle, young]) if (file) rmSync(file);
    home.configure({ archive: { maxMb: 0 } });
    session(home, "emu");
    await begin(home);
    expect(kept()).toEqual(some);
    expect((await home.run("health")).stdout).toContain("nothing new is archived");
    expect((await home.run("setup")).stdout).toContain(
      "\nNothing new is archived: sessions that live only in the archive fill archive.maxMb (0); raise archive.maxMb",
    );
  });
});

test("what a killed writer left is removed", async () => {
  using home = temporaryHome();
  session(home, "ostrich");
  await begin(home);
  const file = join(home.paths.copies, archived(home)[0] ?? "");
  const before = readFileSync(file);
  writeFileSync(`${file}.999999.0123abcd.tmp`, before.subarray(0, 100));
  await begin(home);
  expect(archived(home).length).toBe(1);
  expect(readdirSync(dirname(file)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  expect(readFileSync(file).equals(before)).toBe(true);
});

test("a damaged copy is made anew while its transcript is there, and named where it is not", async () => {
  using home = temporaryHome();
  const file = session(home, "ostrich");
  await begin(home);
  const copy = join(home.paths.copies, archived(home)[0] ?? "");
  const whole = readFileSync(copy);
  writeFileSync(copy, "");
  await begin(home);
  expect(readFileSync(copy).equals(whole)).toBe(true);
  writeFileSync(copy, whole.subarray(0, whole.length - 40));
  rmSync(file);
  const { exitCode, stderr } = await home.run("session-reader", uuidFrom("ostrich"));
  expect([exitCode, stderr.includes("it is damaged")]).toEqual([1, true]);
});

test("a copy of several blocks is read from both ends as its transcript is", async () => {
  using home = temporaryHome();
  const rows = Array.from({ length: 800 }, (_, i) =>
    claudeUser({ at: "2026-02-03T14:30:00.000Z", text: `row ${i} ${"ä word ".repeat(150)}` }),
  );
  const file = session(home, "many", { rows });
  const reading = async () => [
    await home.ok("session-reader", uuidFrom("many"), "--lines", "20"),
    await home.ok("session-reader", `${uuidFrom("many")}:390-410`),
    await home.ok("session-reader", uuidFrom("many"), "--grep", "row 23", "--lines", "400"),
  ];
  await begin(home);
  const before = await reading();
  rmSync(file);
  expect(await reading()).toEqual(before);
  const unpacked = statUnpacked(archivePlace(home.paths, { agent: "claude", id: uuidFrom("many") }));
  expect(unpacked?.size).toBeGreaterThan(3 * 256 * 1024); // bytes of a block
});

/** Words that are forgotten, and all there is: chunks, observations, names, notes, the log. */

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { claudeAssistant, claudeState, claudeUser } from "./support/claude.ts";
import { serverPerFile } from "./support/fake-openai.ts";
import {
  AGENTS,
  DIMENSIONS,
  filesUnder,
  holdEverything,
  holding,
  homeWithAll,
  idOf,
  MARK,
  ofOthers,
  writeSession,
} from "./support/forget.ts";
import { homePerTest, write, writeClaude, writePi } from "./support/home.ts";
import { layHost } from "./support/hosts.ts";
import { piEntry, piHeader, piLinked, piUser } from "./support/pi.ts";
import { secondsAgo, uuidFrom } from "./support/rows.ts";

const home = homePerTest();
const server = serverPerFile({ dimensions: DIMENSIONS });

describe("forget", () => {
  test("keeps out what a pattern fits from then on, though nothing fits it yet", async () => {
    const tried = await home.run("forget", "--pattern", "Falcon", "--dry-run");
    expect([tried.exitCode, tried.stderr]).toEqual([0, "no stored data matches\n"]);
    expect(existsSync(home.paths.config)).toBe(false);
    const told = await home.run("forget", "--yes", "--pattern", "Falcon");
    expect([told.exitCode, told.stderr]).toEqual([0, "no stored data matches\n"]);
    const config = JSON.parse(readFileSync(home.paths.config, "utf8"));
    expect(config).toEqual({ exclude: { patterns: ["Falcon"] } });
  });

  test("takes what a pattern fits out of chunks, observations, names, notes and log, and leaves the rest", async () => {
    using home = homeWithAll();
    const ids = AGENTS.map((kind) => idOf(kind, "other"));
    for (const kind of AGENTS) writeSession(home, kind, { who: "other", mark: "plainword" });
    const id = uuidFrom("both");
    const cwd = home.project;
    const rows = [
      claudeUser({
        text: "always use tabs in this harmless project",
        at: secondsAgo(90),
        cwd,
        sessionId: id,
      }),
      ...claudeAssistant({ text: "Tabs it is", at: secondsAgo(89), cwd, sessionId: id }),
      claudeUser({ text: `always call it ${MARK}user`, at: secondsAgo(80), cwd, sessionId: id }),
      ...claudeAssistant({
        text: "Done",
        tools: [
          { name: "Edit", input: { file_path: `${cwd}/${MARK}tool.ts`, old_string: "", new_string: "x" } },
        ],
        at: secondsAgo(79),
        cwd,
        sessionId: id,
      }),
      claudeState("custom-title", { customTitle: `${MARK}title` }, id),
    ];
    writeClaude(home, { id, rows });
    const withLedger = uuidFrom("holds its own ledger");
    const observation = { priority: "red", at: null, sources: [2] };
    const observations = [
      { ...observation, id: "aaaa", text: `call it ${MARK}user` },
      { ...observation, id: "bbbb", text: "the harmless rest" },
    ];
    const data = { kind: "observed", observations, coversTo: 2, covers: "1-2", by: "rules" };
    writePi(home, {
      id: withLedger,
      rows: piLinked([
        piHeader({ id: withLedger, cwd }),
        piUser({ text: "hello there" }),
        piEntry("custom", { customType: "session-memory:observations", data }),
      ]),
    });
    await holdEverything(home, server, [id, ...ids]);
    const before = ofOthers(home, ids);
    expect(await home.ok("observe-compact", withLedger, "--render")).toContain(MARK);
    expect(holding(home, MARK).length).toBeGreaterThan(3);
    const told = JSON.parse(
      await home.ok("forget", "--yes", "--pattern", `${MARK}\\w+`, "--json", "--quiet"),
    );
    expect(told.removed).toMatchObject({ chunks: 1, vectors: 1, metaFiles: 1, ledgers: 1, cursors: 0 });
    expect(told.excluded).toEqual({ sessions: [], projects: [], patterns: [`${MARK}\\w+`] });
    expect(holding(home, MARK)).toEqual([]);
    const found = JSON.parse(await home.ok("search", "tabs harmless project", "--json"));
    expect(found.results.map((hit: { session_id: string }) => hit.session_id)).toContain(id);
    await home.ok("embed", "--all");
    await home.ok("observe-compact", id, "--observe");
    await home.ok("index-meta", id, "--force");
    await home.ok("save-session", id);
    await home.prompt("and now?");
    expect(holding(home, MARK)).toEqual([]);
    expect(await home.ok("observe-compact", id, "--render")).toContain("harmless project");
    const rendered = await home.ok("observe-compact", withLedger, "--render");
    expect([rendered.includes(MARK), rendered.includes("the harmless rest")]).toEqual([false, true]);
    expect(withoutState(ofOthers(home, ids))).toEqual(withoutState(before));
    const again = await home.run("forget", "--yes", "--pattern", `${MARK}\\w+`);
    expect(again.exitCode).toBe(0);
    expect(again.stderr).toBe("no stored data matches\n");
  }, 60_000);

  test("keeps no title of what a pattern took: not of a copied session, nor in the recorded path of a note", async () => {
    for (const [id, title] of [
      ["ses_dune00a1b2c3d", "the tapir hunt"],
      ["ses_newt00a1b2c3d", "a newt"],
    ] as const)
      layHost(home, "opencode", "zebra", { id, cwd: home.project, words: { "Zebra limits": title } });
    const id = uuidFrom("titled");
    const session = { sessionId: id, cwd: home.project };
    writeClaude(home, {
      id,
      rows: [
        claudeUser({ ...session, text: "Where did the tapir hunt end?", at: secondsAgo(60) }),
        ...claudeAssistant({ ...session, text: "At the river.", at: secondsAgo(50) }),
      ],
    });
    await home.ok("embed", "--all");
    // one in the state folder, one elsewhere; and one that says it only by its name
    const notes = [
      await home.ok("save-session", id, "--slug", "tapir-hunt-end", "--dir", home.paths.notes),
      await home.ok("save-session", id, "--slug", "tapir-hunt-end"),
      await home.ok("save-session", "ses_newt00a1b2c3d", "--slug", "after-the-tapir-hunt"),
    ].map((path) => path.trim());
    expect(holding(home, "tapir").length).toBeGreaterThan(0);
    await home.ok("forget", "--yes", "--pattern", "tapir hunt");
    expect(notes.filter((path) => existsSync(path))).toEqual([]);
    const held = () => holding(home, "tapir").filter((file) => file !== home.paths.config);
    expect(held()).toEqual([]);
    // what is copied again does not bring it back
    const found = JSON.parse(await home.ok("search", "raise the zebra limit", "--json"));
    expect(found.results.length).toBeGreaterThan(0);
    expect(held()).toEqual([]);
  });

  test("removes only notes that are as we wrote them, and lists the others", async () => {
    const id = uuidFrom("noted");
    writeClaude(home, { id, rows: [claudeUser({ text: `${MARK}user`, cwd: home.project, sessionId: id })] });
    const save = async (...flags: string[]) => (await home.ok("save-session", id, ...flags)).trim();
    const ours = await save("--slug", "ours");
    const elsewhere = await save("--dir", "docs/notes", "--slug", "elsewhere");
    const edited = await save("--slug", "edited");
    const header = readFileSync(ours, "utf8");
    const beheaded = await save("--slug", "beheaded");
    write(edited, `${header}\nremember to call Ann\n`);
    write(beheaded, "only my own words\n");
    const foreign = write(join(home.project, "memory", "2026-02-03-by-another-program.md"), header);
    const copied = write(join(home.project, "docs", "notes", "copy.md"), header);
    const unrelated = write(join(home.project, "memory", "todo.md"), "milk\n");
    const would = await home.ok("forget", id, "--dry-run");
    const told = JSON.parse(await home.ok("forget", id, "--yes", "--json", "--quiet"));
    expect(told.removed.notes.sort()).toEqual([elsewhere, ours].sort());
    expect(told.keptFiles.sort()).toEqual([beheaded, copied, edited, foreign].sort());
    expect([ours, elsewhere].map((file) => existsSync(file))).toEqual([false, false]);
    expect([beheaded, copied, edited, foreign, unrelated].map((file) => existsSync(file))).toEqual(
      Array(5).fill(true),
    );
    for (const file of [ours, elsewhere, edited, foreign, copied, beheaded]) expect(would).toContain(file);
    expect(would).not.toContain(unrelated);
  }, 30_000);

  test("ignores the case of a pattern in the names of files, and there alone", async () => {
    const id = uuidFrom("named");
    writeClaude(home, {
      id,
      rows: [claudeUser({ text: "count the herons", cwd: home.project, sessionId: id })],
    });
    const save = async (slug: string) => (await home.ok("save-session", id, "--slug", slug)).trim();
    const notes = [await save("project-falcon"), await save("a-heron")];
    const [, named = ""] = notes;
    const text = write(join(dirname(named), "mine.md"), `${readFileSync(named, "utf8")}\nproject falcon\n`);
    await home.ok("forget", "--pattern", "Project Falcon", "--yes");
    expect([...notes, text].map((file) => existsSync(file))).toEqual([false, true, true]);
  }, 30_000);

  test("removes a pi session's meta file only as we wrote it, since it lies in pi's folder", async () => {
    const files = ["ours", "edited", "seed"].map((who) => {
      const id = uuidFrom(who);
      writePi(home, { id, rows: piLinked([piHeader({ id, cwd: home.project }), piUser({ text: who })]) });
      return { id, meta: join(home.paths.pi, "sessions-meta", `${id}.meta.json`) };
    });
    const [ours, edited, seed] = files;
    await home.ok("index-meta", ours?.id ?? "", edited?.id ?? "", "--force");
    write(
      edited?.meta ?? "",
      readFileSync(edited?.meta ?? "", "utf8").replace(/"tags"/, '"mine": 1, "tags"'),
    );
    write(seed?.meta ?? "", JSON.stringify({ sessionId: seed?.id, name: "written by another extension" }));
    const ids = files.map(({ id }) => id);
    const told = JSON.parse(await home.ok("forget", ...ids, "--yes", "--json", "--quiet"));
    expect(told.removed.metaFiles).toBe(1);
    expect(told.keptFiles.sort()).toEqual([edited?.meta, seed?.meta].sort());
    expect(files.map(({ meta }) => existsSync(meta))).toEqual([false, true, true]);
  }, 30_000);
});

test("setup --remove removes what we keep elsewhere and nobody changed, and leaves the notes and the rest", async () => {
  using home = homeWithAll();
  for (const kind of AGENTS) writeSession(home, kind, { who: "victim", mark: MARK });
  await holdEverything(
    home,
    server,
    AGENTS.map((kind) => idOf(kind, "victim")),
  );
  const foreign = write(join(home.project, "memory", "mine.md"), `${MARK} by hand\n`);
  const notes = filesUnder(join(home.project, "memory")).filter((file) => file !== foreign);
  const state = filesUnder(home.paths.home).filter((file) => !/state\.db|-(?:wal|shm)$/.test(file));
  const asked = await home.run("setup", "--remove");
  expect([asked.exitCode, asked.stderr]).toEqual([0, "nothing was changed: run it again with --yes\n"]);
  expect(holding(home, MARK).length).toBeGreaterThan(5);
  const told = JSON.parse(await home.ok("setup", "--remove", "--yes", "--json"));
  expect(told.keptFiles.sort()).toEqual(notes.sort());
  const [meta, ...more] = told.removed;
  expect([dirname(meta), existsSync(meta), more]).toEqual([join(home.paths.pi, "sessions-meta"), false, []]);
  expect([foreign, ...notes].filter((file) => !existsSync(file))).toEqual([]);
  expect(filesUnder(home.paths.home).filter((file) => !/state\.db|-(?:wal|shm)$/.test(file))).toEqual(state);
}, 60_000);

/** The recipe of chunks changes with the patterns, and with it when they were read. */
function withoutState(held: unknown): unknown {
  return (held as unknown[]).filter((_, i) => i !== 2);
}

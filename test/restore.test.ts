/** A session made again as a new one, in its host's own place for another folder. */

import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { shortId } from "../lib/base/text.ts";
import { chain, claudeAssistant, claudeToolResult, claudeUser } from "./support/claude.ts";
import { codexAnswer, codexMeta, codexPrompt } from "./support/codex.ts";
import { type TemporaryHome, temporaryHome, write, writeClaude, writePi } from "./support/home.ts";
import { piAssistant, piHeader, piUser } from "./support/pi.ts";
import { jsonl, type Row, uuidFrom } from "./support/rows.ts";

const ID = uuidFrom("ostrich");
const KEY = "ghp_Zx9Kq2Lm8Wp4Tn6Rv1Yb3Hc5Jd7Fg0Sa2Qe4";

function claudeRows(cwd: string): Row[] {
  const image = {
    type: "image",
    source: { type: "base64", media_type: "image/png", data: "iVBORw0K".repeat(200) },
  };
  return chain([
    { ...claudeUser({ sessionId: ID, cwd, text: "Why does the ostrich test fail?" }) },
    ...claudeAssistant({
      sessionId: ID,
      cwd,
      thinking: "hm",
      tools: [{ id: "toolu_1", name: "Bash", input: { command: `make KEY=${KEY}` } }],
    }),
    claudeToolResult({
      sessionId: ID,
      cwd: join(cwd, "src"),
      toolUseId: "toolu_1",
      content: [{ type: "text", text: "no feathers" }, image],
    }),
    ...claudeAssistant({ sessionId: ID, cwd, text: "Its feathers were never loaded." }),
  ]);
}

interface Restored {
  dryRun: boolean;
  session: { id: string; agent: string; file: string; cwd: string; rows: number };
  from: { id: string; file: string; archived: boolean };
  command: string;
}

const restore = async (home: TemporaryHome, ...words: string[]): Promise<Restored> =>
  JSON.parse(await home.ok("restore", ID, ...words, "--json", "--quiet"));
const rowsIn = (file: string): Row[] =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

/** What was said, without the header. */
const said = async (home: TemporaryHome, id: string) =>
  (await home.ok("session-reader", id, "--tools")).replace(/^#.*\n/, "").replace(/^L\d+ /gm, "");

describe("restore", () => {
  test("writes what was said under a new id for the folder that a project moved to", async () => {
    using home = temporaryHome();
    const file = writeClaude(home, { id: ID, rows: claudeRows(home.project) });
    const before = await said(home, ID);
    const store = join(home.root, "store");
    renameSync(home.project, store);
    mkdirSync(home.project);
    const { session, command, from } = await restore(home, "--to", store);
    expect([session.id === ID, session.cwd, from]).toEqual([false, store, { id: ID, file, archived: false }]);
    expect(command).toBe(`cd ${store} && claude --resume ${session.id}`);
    expect(session.file).toBe(
      join(home.paths.claude, "projects", store.replace(/[^a-zA-Z0-9]/g, "-"), `${session.id}.jsonl`),
    );
    const rows = rowsIn(session.file);
    expect(new Set(rows.map(({ sessionId }) => sessionId))).toEqual(new Set([session.id]));
    expect(rows.flatMap(({ cwd }) => cwd ?? [])).toEqual([store, store, join(store, "src"), store]);
    const text = JSON.stringify(rows);
    for (const word of [KEY, "iVBORw0K", '"thinking"', home.project]) expect(text).not.toContain(word);
    const ids = new Set(rows.map(({ uuid }) => uuid));
    for (const { parentUuid } of rows)
      if (typeof parentUuid === "string") expect(ids.has(parentUuid)).toBe(true);
    expect((await said(home, session.id)).replace("  [image]\n", "")).toBe(before);
    expect(rows[0]).toMatchObject({ type: "restored-from", session: ID });
  });

  test("takes the folders below a project of another system to those below its own", async () => {
    using home = temporaryHome();
    const from = "C:\\Users\\dev\\shop";
    const below = ["", "\\src", "\\src\\api", "\\..cache"].map((path) => `c${from.slice(1)}${path}`);
    const outside = ["C:\\Users\\dev", "D:\\shop\\src", "/mnt/c/Users/dev/shop/src"];
    const rows = [from, ...below, ...outside].map((cwd, n) =>
      claudeUser({ sessionId: ID, cwd, text: `Why does ostrich ${n} fail?` }),
    );
    writeClaude(home, { id: ID, rows: chain(rows) });
    const { session } = await restore(home);
    const own = ["", "", "src", "src/api", "..cache"].map((path) => join(home.project, path));
    expect(rowsIn(session.file).flatMap(({ cwd }) => cwd ?? [])).toEqual([...own, ...outside]);
  });

  test("takes the archive's copy where the transcript is gone, and its rows count once", async () => {
    using home = temporaryHome();
    const file = writeClaude(home, { id: ID, rows: claudeRows(home.project) });
    const old = new Date(Date.now() - 3 * 86_400_000);
    utimesSync(file, old, old);
    await home.ok("embed");
    rmSync(dirname(file), { recursive: true });
    expect(await home.ok("session-reader", ID, "--resume")).toBe(`session-memory restore ${ID}\n`);
    const { session, from } = await restore(home);
    expect([session.cwd, from.archived]).toEqual([home.project, true]);
    await home.ok("embed");
    const { results } = JSON.parse(await home.ok("search", "ostrich feathers", "--json"));
    expect(results.length).toBe(1);
    expect(await home.ok("session-reader", session.id, "--resume")).toBe(`claude --resume ${session.id}\n`);
  });

  test("writes pi's and Codex's sessions where these look for them", async () => {
    using home = temporaryHome();
    const [first, second] = [piUser({ text: "Why pi?" }), piAssistant({ text: "Because." })];
    writePi(home, { id: ID, rows: [piHeader({ id: ID, cwd: "/gone/shop" }), first, second] });
    const pi = (await restore(home)).session;
    expect(rowsIn(pi.file)[0]).toMatchObject({ type: "session", id: pi.id, cwd: home.project });
    expect(dirname(pi.file).endsWith(`--${home.project.slice(1).replaceAll("/", "-")}--`)).toBe(true);
    expect(await said(home, pi.id)).toContain("Because.");
    const id = uuidFrom("emu");
    const at = "2026-02-03T14:30:00.000Z";
    const rollout = join(home.paths.codex, "sessions/2026/02/03", `rollout-2026-02-03T14-30-00-${id}.jsonl`);
    write(
      rollout,
      jsonl(
        codexMeta({ id, cwd: "/gone/shop", at }),
        ...codexPrompt({ at, text: "Why codex?" }),
        ...codexAnswer({ at, text: "Therefore." }),
      ),
    );
    const { session: codex } = JSON.parse(await home.ok("restore", id, "--json", "--quiet"));
    expect(rowsIn(codex.file)[0]?.payload).toMatchObject({
      id: codex.id,
      cwd: home.project,
      forked_from_id: id,
    });
    expect(await said(home, codex.id)).toContain("Therefore.");
  });

  test("says in lists where its copies are from, and names a copy that is there already", async () => {
    using home = temporaryHome();
    const [pi, codex] = [uuidFrom("rhea"), uuidFrom("emu")];
    writeClaude(home, { id: ID, rows: claudeRows(home.project) });
    writePi(home, { id: pi, rows: [piHeader({ id: pi, cwd: home.project }), piUser({ text: "Why pi?" })] });
    const at = "2026-02-03T14:30:00.000Z";
    const rollout = join(
      home.paths.codex,
      "sessions/2026/02/03",
      `rollout-2026-02-03T14-30-00-${codex}.jsonl`,
    );
    const meta = codexMeta({ id: codex, cwd: home.project, at });
    write(rollout, jsonl(meta, ...codexPrompt({ at, text: "Why codex?" })));
    for (const id of [ID, pi, codex]) {
      const first = await home.run("restore", id, "--json");
      expect(first.stderr).not.toContain("already");
      const { session } = JSON.parse(first.stdout);
      const again = await home.run("restore", id, "--dry-run");
      const resume = (await home.ok("session-reader", session.id, "--resume")).trim();
      expect(again.stderr).toContain(`a copy of it was there already: ${resume}\n`);
      const listed = (await home.ok("session-reader", "--list")).split("\n");
      const marked = listed.filter((line) => line.includes(`(from ${shortId(id)})`));
      expect(marked.map((line) => line.includes(shortId(session.id)))).toEqual([true]);
    }
  });

  test("changes nothing in a dry run, for no folder, and for a session that nobody has", async () => {
    using home = temporaryHome();
    writeClaude(home, { id: ID, rows: claudeRows("/gone/shop") });
    const files = () =>
      readdirSync(home.home, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".jsonl"));
    const before = files();
    const would = await restore(home, "--dry-run");
    expect([would.dryRun, would.session.rows, existsSync(would.session.file)]).toEqual([true, 5, false]);
    const nowhere = await home.run("restore", ID, "--to", "/no/such/folder");
    expect([nowhere.exitCode, nowhere.stderr.replace(/; .* takes/, "; … takes")]).toEqual([
      1,
      `error: NOT_FOUND: Cannot restore "${ID}": there is no folder "/no/such/folder"\nhint: --to is a folder: create it; … takes a session to another agent\n`,
    ]);
    expect((await home.run("restore", "nobody")).stderr).toContain("error: NOT_FOUND");
    expect(files()).toEqual(before);
  });

  test("takes a session of another machine from its synced folder, and says so where its command is asked for", async () => {
    using home = temporaryHome();
    const desk = join(home.root, "sync", "desk");
    home.configure({ transcripts: [{ path: desk, machine: "desk" }] });
    const file = write(
      join(desk, "projects", "-home-them-shop", `${ID}.jsonl`),
      claudeRows("/home/them/shop"),
    );
    const before = readFileSync(file, "utf8");
    expect(await home.ok("session-reader", ID, "--resume")).toBe(`session-memory restore ${ID}\n`);
    const { session } = await restore(home);
    expect(rowsIn(session.file).flatMap(({ cwd }) => cwd ?? [])).toContain(join(home.project, "src"));
    expect(readFileSync(file, "utf8")).toBe(before);
    expect(await home.ok("session-reader", session.id, "--resume")).toBe(`claude --resume ${session.id}\n`);
  });

  test("is what --resume names where the folder of a session is gone, in lists and searches too", async () => {
    using home = temporaryHome();
    const gone = join(home.root, "gone");
    writeClaude(home, { id: ID, cwd: gone, rows: claudeRows(gone) });
    const command = `session-memory restore ${ID}`;
    expect(await home.ok("session-reader", ID, "--resume")).toBe(`${command}\n`);
    expect(await home.ok("session-reader", "--list", "--resume")).toContain(`   ${command}\n`);
    expect(await home.ok("search", "ostrich", "--by-session", "--resume")).toContain(`   ${command}\n`);
    mkdirSync(gone);
    expect(await home.ok("session-reader", ID, "--resume")).toBe(`claude --resume ${ID}\n`);
    rmSync(gone, { recursive: true });
    renameSync(join(home.paths.claude, "projects"), join(home.root, "away"));
    const never = await home.run("restore", ID);
    expect([never.exitCode, never.stderr]).toEqual([
      1,
      expect.stringContaining(`error: NOT_FOUND: Cannot find session "${ID}"\nhint: `),
    ]);
  });

  test("leaves a file that is the user's: forget names the session in it, and set-up leaves it", async () => {
    using home = temporaryHome();
    writeClaude(home, { id: ID, rows: claudeRows(home.project) });
    const { session } = await restore(home);
    const written = readFileSync(session.file, "utf8");
    const forgotten = JSON.parse(await home.ok("forget", ID, "--yes", "--json"));
    expect(forgotten.forks).toEqual([session.id]);
    expect(await home.ok("search", "ostrich")).not.toContain("ostrich test");
    expect(readFileSync(session.file, "utf8")).toBe(written);
    const again = await home.ok("forget", session.id, "--yes");
    expect(again).toContain(session.file);
    await home.ok("setup", "--remove", "--yes");
    expect(readFileSync(session.file, "utf8")).toBe(written);
  });

  test("refuses a reference that fits several, and a host that takes none", async () => {
    using home = temporaryHome();
    const other = `${ID.slice(0, 12)}${uuidFrom("emu").slice(12)}`;
    for (const id of [ID, other]) writeClaude(home, { id, rows: claudeRows(home.project) });
    const several = await home.run("restore", ID.slice(0, 8));
    expect([several.exitCode, several.stderr]).toEqual([1, expect.stringContaining("error: AMBIGUOUS")]);
    const id = uuidFrom("quail");
    write(join(home.root, "plain", `${id}.jsonl`), [
      { role: "user", content: "Why does the quail test fail?" },
    ]);
    const plain = await home.run("restore", "--sessions", join(home.root, "plain"), id);
    expect([plain.exitCode, plain.stderr]).toEqual([
      2,
      expect.stringContaining(
        "plain cannot resume a session that another program wrote\nhint: hand it over with ",
      ),
    ]);
  });
});

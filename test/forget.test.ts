import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { loadConfig, resolvePaths } from "../lib/config/config.ts";
import { forgetInLog } from "../lib/forget/state-files.ts";
import { forgetSessions } from "../lib/index/forget-rows.ts";
import { heldSessions } from "../lib/index/held-sessions.ts";
import { embedSessions, failureOf } from "../lib/index/index-run.ts";
import { observeSession } from "../lib/observe/observe-session.ts";
import { resolveSession } from "../lib/sessions/resolve.ts";
import { listSessions } from "../lib/sessions/sessions.ts";
import { readRules } from "../lib/transcripts/rules.ts";
import { saveSessionToMemory } from "../scripts/save-session.ts";
import { claudeAssistant, claudeState, claudeUser } from "./support/claude.ts";
import { codexAnswer, codexCall, codexMeta, codexPrompt } from "./support/codex.ts";
import { serverPerFile } from "./support/fake-openai.ts";
import {
  homePerTest,
  lastSaid,
  type TemporaryHome,
  temporaryHome,
  write,
  writeClaude,
  writeCodex,
  writePi,
} from "./support/home.ts";
import { contentOf, openHomeStore } from "./support/index.ts";
import { piAssistant, piEntry, piHeader, piLinked, piUser } from "./support/pi.ts";
import { plainLine } from "./support/plain.ts";
import { type Row, secondsAgo, uuidFrom } from "./support/rows.ts";
import { BUN_FLAGS, runScript, scriptPath, startScript } from "./support/run.ts";

const home = homePerTest();

const DIMENSIONS = 64;
/** Every planted word begins with it, and no stemmer shortens them. */
const MARK = "zqvictim";
const AGENTS = ["claude", "pi", "codex", "plain"] as const;
type Kind = (typeof AGENTS)[number];

const server = serverPerFile({ dimensions: DIMENSIONS });

function idOf(kind: Kind, who: string): string {
  return kind === "plain" ? `${who}-plain-notes` : uuidFrom(`${who} ${kind}`);
}

/** One conversation in any format: `mark` is a part of every word of its user, its assistant, its tool and its title. */
function writeSession(home: TemporaryHome, kind: Kind, { who, mark }: { who: string; mark: string }): string {
  const id = idOf(kind, who);
  const asked = `please fix the ${mark}user parser of ${kind}, we decided to use a table`;
  const answered = `Fixed the ${mark}answer parser of ${kind} in the table`;
  const path = `src/${mark}tool.ts`;
  const at = secondsAgo(120);
  const cwd = home.project;
  if (kind === "claude") {
    const tools = [{ name: "Edit", input: { file_path: join(cwd, path), old_string: "a", new_string: "b" } }];
    return writeClaude(home, {
      id,
      rows: [
        claudeUser({ text: asked, at, cwd, sessionId: id }),
        ...claudeAssistant({ text: answered, tools, at, cwd, sessionId: id }),
        claudeState("custom-title", { customTitle: `${mark}title of claude` }, id),
      ],
    });
  }
  if (kind === "pi") {
    const tools = [{ name: "edit", arguments: { path, oldText: "a", newText: "b" } }];
    const rows = piLinked([
      piHeader({ id, cwd, at }),
      piUser({ text: asked, at }),
      piAssistant({ text: answered, tools, at }),
      piEntry("session_info", { name: `${mark}title of pi` }, { at }),
    ]);
    return writePi(home, { id, at, rows });
  }
  if (kind === "codex") {
    const rows: (Row | Row[])[] = [
      codexMeta({ id, cwd, at }),
      codexPrompt({ text: asked, at }),
      codexCall({ name: "shell", arguments: { command: ["cat", path] }, at }),
      codexAnswer({ text: answered, at }),
    ];
    return writeCodex(home, { id, at, rows });
  }
  return write(join(home.root, "plain", `${id}.jsonl`), [
    plainLine("user", asked, at),
    plainLine("assistant", answered, at),
  ]);
}

function homeWithAll(): TemporaryHome {
  const home = temporaryHome();
  const folders = [
    join(home.paths.claude, "projects"),
    join(home.paths.pi, "sessions"),
    join(home.paths.codex, "sessions"),
    join(home.root, "plain"),
  ];
  home.env.SESSION_MEMORY_SESSIONS = folders.join(":");
  home.paths = resolvePaths(home.env);
  return home;
}

function configure(home: TemporaryHome, more: object = {}): void {
  const at = { baseUrl: server.baseUrl, apiKeyEnv: "NO_KEY", model: "fake" };
  home.configure({ timezone: "UTC", embedding: { ...at, dimensions: DIMENSIONS }, ...more });
}

function withLlm(): object {
  return {
    llm: {
      baseUrl: server.baseUrl,
      apiKeyEnv: "NO_KEY",
      model: "fake",
      prices: { fake: { input: 0, output: 0 } },
    },
  };
}

/** Runs up to four pieces of work at a time: most of a run is the start of its process. */
async function together<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const waiting = [...items];
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: 4 }, worker));
}

/** What the script `embed` does, without a process: for what a test begins with. */
async function indexAll(home: TemporaryHome): Promise<void> {
  const config = await loadConfig(home.env, home.project);
  const sessions = listSessions(config.paths, { subagents: true, excluded: true }).reverse();
  const store = openHomeStore(home);
  try {
    expect(failureOf(await embedSessions({ config, sessions, store, isComplete: true }))).toBeUndefined();
  } finally {
    store.close();
  }
}

/** Observes a session and saves a note of it, as `observe-compact --observe` and `save-session` do. */
async function observeAndSave(home: TemporaryHome, id: string): Promise<void> {
  const { paths, settings } = await loadConfig(home.env, home.project);
  const session = resolveSession(id, { paths, cwd: home.project, current: undefined });
  const { status } = await observeSession(session, { paths, settings, waitMs: 30_000, when: "all" });
  const note = await saveSessionToMemory({
    sessionFile: session.file,
    workspaceDir: home.project,
    sessionKey: id,
    sessionId: id,
    source: session.agent,
    timezone: settings.timezone,
    rules: readRules(settings),
    log: paths.log,
    state: paths.state,
  });
  expect([id, status, note !== null]).toEqual([id, "observed", true]);
}

async function runWith(home: TemporaryHome, name: string, args: string[], stdin: string | undefined) {
  return await runScript(name, args, { env: home.env, cwd: home.project, ...(stdin ? { stdin } : {}) });
}

async function submitPrompt(home: TemporaryHome, prompt: string): Promise<void> {
  const hook = "hooks/claude/user-prompt-submit.ts";
  expect(await runWith(home, hook, [], promptOf(home, prompt))).toMatchObject({ stderr: "", exitCode: 0 });
}

function promptOf(home: TemporaryHome, prompt: string): string {
  const session_id = uuidFrom("somebody new");
  const transcript_path = join(home.root, `${session_id}.jsonl`);
  return JSON.stringify({ session_id, transcript_path, cwd: home.project, prompt });
}

/** Everything that can be held of all sessions: index, vectors, model's topics, ledgers, names, notes, marks, log, pages. */
async function holdEverything(home: TemporaryHome, ids: readonly string[]): Promise<void> {
  configure(home, withLlm());
  server.script((request) => {
    const pieces = String(request.body.messages.at(-1).content)
      .split(/^\d+\.$/m)
      .slice(1);
    const topics = pieces.map((text, i) => ({
      chunk: i + 1,
      tags: [text.includes(MARK) ? `${MARK}topic` : "parsers"],
    }));
    return JSON.stringify({ topics });
  });
  await home.ok("embed", "--topics");
  configure(home);
  for (const id of ids) await observeAndSave(home, id);
  await home.ok("index-meta", ...ids, "--force");
  await submitPrompt(home, `what of @@${ids[0]}?`);
  await home.ok("search", `${MARK}user`);
  await home.ok("report", "--all");
}

function filesUnder(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** All files of ours: state, pi's meta files, notes. */
function ours(home: TemporaryHome): string[] {
  const folders = [home.paths.home, join(home.paths.pi, "sessions-meta"), join(home.project, "memory")];
  return folders.flatMap(filesUnder).filter((file) => file !== home.paths.config);
}

/** Those of them that hold a text; a database also holds what is in its log. */
function holding(home: TemporaryHome, text: string): string[] {
  const files = ours(home)
    .filter((file) => readFileSync(file).toString("latin1").toLowerCase().includes(text))
    .map((file) => file.slice(home.root.length).replace(/-wal$/, ""));
  return [...new Set(files)];
}

/** What is held of sessions whose words have no mark. */
function ofOthers(home: TemporaryHome, others: readonly string[]): unknown {
  const store = openHomeStore(home);
  const { chunks, sessions, state } = contentOf(store) as Record<string, Record<string, unknown>[]>;
  expect(store.db.vectors.mode).toBe("vec0");
  const vectors = store.db
    .prepare(
      `SELECT session_id, chunk_index, hex(vec_to_json(e.embedding)) AS bits FROM session_embeddings e
       JOIN session_chunks c ON c.id = e.chunk_id ORDER BY 1, 2`,
    )
    .all();
  const integrity = store.db.prepare("PRAGMA integrity_check").get();
  store.db.exec("INSERT INTO chunks_fts(chunks_fts) VALUES ('integrity-check')");
  store.close();
  const isTheirs = (row: Record<string, unknown>) => others.includes(String(row.session_id ?? row.id));
  const files = ours(home).filter((file) => others.some((id) => readFileSync(file, "utf8").includes(id)));
  const texts = files
    .filter((file) => /meta\.json$|\.md$|\.jsonl$/.test(file))
    .map((file) => [file, readFileSync(file, "utf8")]);
  return [chunks, sessions, state, vectors]
    .map((rows) => rows?.filter(isTheirs))
    .concat([texts as never, integrity as never]);
}

describe("forget", () => {
  test("takes sessions of all four formats out of every byte we hold, and they stay out", async () => {
    using home = homeWithAll();
    const victims = AGENTS.map((kind) => idOf(kind, "victim"));
    const others = AGENTS.map((kind) => idOf(kind, "other"));
    for (const kind of AGENTS) {
      writeSession(home, kind, { who: "victim", mark: MARK });
      writeSession(home, kind, { who: "other", mark: "plainword" });
    }
    await holdEverything(home, [...victims, ...others]);
    const before = ofOthers(home, others);
    const places = holding(home, MARK).map((file) =>
      file.replace(/[^/]+\.(meta\.json|jsonl|md|html)$|(?<=indexes\/)[0-9a-f]+\.(db)$/, "*.$1$2"),
    );
    expect([...new Set(places)].sort()).toEqual(
      [
        "/home/.pi/agent/sessions-meta/*.meta.json",
        "/home/.session-memory/indexes/*.db",
        "/home/.session-memory/log.ndjson",
        "/home/.session-memory/observations/*.jsonl",
        "/home/.session-memory/reports/*.html",
        "/home/.session-memory/sessions-meta/*.meta.json",
        "/home/.session-memory/state.db",
        "/shop/memory/*.md",
      ].sort(),
    );
    const would = JSON.parse(await home.ok("forget", "--yes", ...victims, "--dry-run", "--json", "--quiet"));
    expect(ofOthers(home, others)).toEqual(before);

    const told = JSON.parse(await home.ok("forget", "--yes", ...victims, "--json", "--quiet"));
    expect(told).toEqual({ ...would, dryRun: false });
    expect(told.sessions.map(({ id }: { id: string }) => id)).toEqual(victims);
    expect(told.removed).toEqual({
      chunks: 4,
      vectors: 4,
      cached: 4,
      observations: expect.any(Number),
      ledgers: 4,
      metaFiles: 4,
      cursors: 4,
      notes: expect.any(Array),
      reports: expect.any(Array),
      logLines: expect.any(Number),
      sharedChunks: 0,
    });
    expect(told.removed.notes).toHaveLength(4);
    expect(told.removed.reports).toHaveLength(5); // with the overview that links them
    expect(told.transcripts.map((file: string) => existsSync(file))).toEqual([true, true, true, true]);
    expect(holding(home, MARK)).toEqual([]);
    expect(ofOthers(home, others)).toEqual(before);
    expect(JSON.parse(readFileSync(home.paths.config, "utf8")).exclude.sessions).toEqual(victims);

    await home.ok("embed", "--new");
    await home.ok("embed", "--all");
    await home.ok("index-meta", "--all");
    await submitPrompt(home, `${MARK}user @@${victims[0]}`);
    await together(victims, async (id) => {
      expect((await home.run("observe-compact", id, "--observe")).exitCode).toBe(1);
      expect((await home.run("index-meta", id, "--force")).exitCode).toBe(1);
      expect((await home.run("save-session", id)).exitCode).toBe(1);
      const turn = [
        "--session",
        id,
        "--file",
        told.transcripts[victims.indexOf(id)],
        "--cwd",
        home.project,
        "--save",
      ];
      await home.ok("hooks/background.ts", ...turn);
    });
    const digest = await home.ok(
      "activity-summary",
      "--since",
      "1h",
      "--scope",
      "all",
      "--current",
      others[0] ?? "",
    );
    const found = JSON.parse(await home.ok("search", `${MARK}user`, `${MARK}answer`, "--json"));
    expect([digest.includes(MARK), found.results]).toEqual([false, []]);
    expect(found.index.sessions).toBe(4);
    expect(holding(home, MARK)).toEqual([]);
  }, 60_000);

  test("takes a project out with all its worktrees, and its titles out of the cache of names", async () => {
    configure(home);
    const secret = join(home.root, "secret");
    mkdirSync(join(secret, ".git", "worktrees", "wt"), { recursive: true });
    write(join(secret, ".git", "HEAD"), "ref: refs/heads/main\n");
    const worktree = join(home.root, "elsewhere");
    write(join(worktree, ".git"), `gitdir: ${join(secret, ".git", "worktrees", "wt")}\n`);
    write(join(secret, ".git", "worktrees", "wt", "commondir"), "../..\n");
    write(join(secret, ".git", "worktrees", "wt", "gitdir"), `${join(worktree, ".git")}\n`);
    const inside = [join(secret, "packages"), worktree].map((cwd, i) => {
      const id = uuidFrom(`inside ${i}`);
      const title = claudeState("custom-title", { customTitle: `${MARK}title ${i}` }, id);
      writeClaude(home, {
        id,
        cwd,
        rows: [claudeUser({ text: `${MARK}user ${i}`, cwd, sessionId: id }), title],
      });
      return id;
    });
    for (let i = 0; i < 45; i++) {
      const id = uuidFrom(`outside ${i}`);
      const title = claudeState("custom-title", { customTitle: `outside ${i}` }, id);
      const rows = [claudeUser({ text: `a plain talk ${i}`, cwd: home.project, sessionId: id }), title];
      writeClaude(home, { id, rows });
    }
    const readNames = () => home.ok("session-reference", "see @@nobody");
    await home.ok("embed");
    await readNames();
    expect(holding(home, MARK)).toEqual([
      "/home/.session-memory/memory.db",
      "/home/.session-memory/state.db",
    ]);
    const told = JSON.parse(await home.ok("forget", "--yes", "--project", secret, "--json", "--quiet"));
    expect(told.sessions.map(({ id }: { id: string }) => id).sort()).toEqual(inside.sort());
    expect(told.excluded).toEqual({ sessions: [], projects: [secret], patterns: [] });
    await home.ok("embed", "--all");
    await readNames();
    expect(holding(home, MARK)).toEqual([]);
    const session = ["--session", inside[0] ?? "", "--cwd", worktree];
    await home.ok("hooks/background.ts", ...session, "--file", told.transcripts[0]);
    expect(holding(home, MARK)).toEqual([]);
    expect(holding(home, "a plain talk 7")).toEqual(["/home/.session-memory/memory.db"]);
  }, 60_000);

  test("knows a session whose transcript is gone by its id, by its beginning, and by its name", async () => {
    using home = homeWithAll();
    configure(home);
    const files = AGENTS.map((kind) => writeSession(home, kind, { who: "victim", mark: MARK }));
    const [first = "", second = "", third = ""] = AGENTS.map((kind) => idOf(kind, "victim"));
    await indexAll(home);
    await home.ok("observe-compact", first, "--observe");
    for (const file of files) rmSync(file);
    await home.ok("forget", "--yes", first);
    await home.ok("forget", "--yes", second.slice(0, 6));
    await home.ok("forget", "--yes", third, "victim-plain-notes");
    expect(holding(home, MARK)).toEqual([]);
    expect(await home.run("forget", "--yes", first)).toEqual({
      stdout: "",
      stderr: expect.stringMatching(/^error: NOT_FOUND: Cannot find session "[^"]+"\nhint: .+\n$/),
      exitCode: 1,
    });
  }, 30_000);

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
    await holdEverything(home, [id, ...ids]);
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
    await submitPrompt(home, "and now?");
    expect(holding(home, MARK)).toEqual([]);
    expect(await home.ok("observe-compact", id, "--render")).toContain("harmless project");
    const rendered = await home.ok("observe-compact", withLedger, "--render");
    expect([rendered.includes(MARK), rendered.includes("the harmless rest")]).toEqual([false, true]);
    expect(withoutState(ofOthers(home, ids))).toEqual(withoutState(before));
    const again = await home.run("forget", "--yes", "--pattern", `${MARK}\\w+`);
    expect(again.exitCode).toBe(0);
    expect(again.stderr).toBe("no stored data matches\n");
  }, 60_000);

  test("takes what was idle since a time, and keeps out those of it that a host still has", async () => {
    const old = ["there", "gone"].map((who) => uuidFrom(`old ${who}`));
    const files = [...old, uuidFrom("new")].map((id, i) => {
      const file = writeClaude(home, { id, rows: [claudeUser({ text: `${MARK}user`, sessionId: id })] });
      return lastSaid(file, (i < 2 ? 40 : 1) * 86_400);
    });
    await indexAll(home);
    rmSync(files[1] ?? "");
    const told = await home.ok("forget", "--yes", "--before", "30d");
    expect(told.split("\n")[0]).toBe("forgot 2 sessions");
    expect(told).toContain("\nonly these sessions are excluded, one by one: a time cannot be excluded\n");
    const config = JSON.parse(readFileSync(home.paths.config, "utf8"));
    expect(config).toEqual({ exclude: { sessions: [old[0]] } });
    await home.ok("embed", "--all");
    const store = openHomeStore(home);
    expect(store.db.prepare("SELECT id FROM sessions").all()).toEqual([{ id: uuidFrom("new") }]);
    store.close();
    expect((await home.run("forget", "--before", "400d")).stderr).toBe(
      "error: NOT_FOUND: Cannot forget before 400d: no stored data matches\n" +
        "hint: to exclude it anyway, add it to exclude in config.json\n",
    );
  }, 30_000);

  test("knows the project of a session whose first prompt is a large picture", async () => {
    const id = uuidFrom("large");
    const cwd = join(home.root, "secret");
    mkdirSync(cwd);
    const first = claudeUser({ text: "", cwd, sessionId: id });
    const picture = { type: "image", source: { type: "base64", data: "iVBOR".repeat(280_000) } };
    const rows = [
      { type: "queue-operation", operation: "enqueue", sessionId: id },
      { ...first, message: { role: "user", content: [picture, { type: "text", text: `${MARK}user` }] } },
      ...claudeAssistant({ text: `${MARK}answer`, cwd, sessionId: id }),
    ];
    writeClaude(home, { id, cwd, rows });
    await home.ok("embed");
    expect(holding(home, MARK)).toEqual(["/home/.session-memory/memory.db"]);
    const told = JSON.parse(await home.ok("forget", "--project", cwd, "--yes", "--json"));
    expect(told.sessions.map((session: { id: string }) => session.id)).toEqual([id]);
    await home.ok("embed", "--all");
    expect(holding(home, MARK)).toEqual([]);
  }, 30_000);

  test("forgets a session's subagents with it, and says which forks hold the same rows", async () => {
    const parent = uuidFrom("parent");
    const rows = [
      claudeUser({ text: `${MARK}user`, sessionId: parent, at: "2026-02-03T10:00:00.000Z" }),
      ...claudeAssistant({ text: "yes", sessionId: parent, at: "2026-02-03T10:00:01.000Z" }),
    ];
    writeClaude(home, { id: parent, rows });
    writeClaude(home, { id: "agent-a1", parentId: parent, rows: [claudeUser({ text: `${MARK}child` })] });
    const fork = uuidFrom("fork");
    writeClaude(home, { id: fork, rows: [...rows, claudeUser({ text: "further", sessionId: fork })] });
    await indexAll(home);
    const told = JSON.parse(await home.ok("forget", "--yes", parent, "--json", "--quiet"));
    expect(told.sessions.map(({ id }: { id: string }) => id)).toEqual([parent, "agent-a1"]);
    expect([told.forks, told.excluded.sessions]).toEqual([[fork], [parent]]);
    writeClaude(home, { id: "agent-a2", parentId: parent, rows: [claudeUser({ text: `${MARK}later` })] });
    await home.ok("embed");
    expect(holding(home, MARK)).toEqual([]);
  }, 30_000);

  test("with --no-exclude only deletes: the next indexing reads it again", async () => {
    const id = uuidFrom("again");
    writeClaude(home, { id, rows: [claudeUser({ text: `${MARK}user`, sessionId: id })] });
    await indexAll(home);
    const told = await home.ok("forget", "--yes", id, "--no-exclude");
    expect(told).toContain("\nnot excluded: the next indexing run reads it again\n");
    expect([holding(home, MARK), existsSync(home.paths.config)]).toEqual([[], false]);
    await home.ok("embed");
    expect(holding(home, MARK)).toEqual(["/home/.session-memory/memory.db"]);
  }, 30_000);

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

  test("takes a part of a name or a misspelt one for no name: it lists candidates and changes nothing", async () => {
    using home = temporaryHome();
    const id = uuidFrom("taxes");
    const title = claudeState("custom-title", { customTitle: "quarterly tax return" }, id);
    const rows = [claudeUser({ text: "hello", sessionId: id }), title];
    const file = writeClaude(home, { id, rows });
    await indexAll(home);
    const refused = async (reference: string) => {
      const { stdout, stderr, exitCode } = await home.run("forget", reference, "--yes");
      expect([stdout, exitCode]).toEqual(["", 1]);
      return stderr.replace(/, \d+[a-z]+ ago/, "");
    };
    await together(
      ["tax", "quartrly tax retrun", "quarterly tax", "tax return quarterly"],
      async (reference) => {
        expect(await refused(reference)).toBe(
          `error: NOT_FOUND: Cannot find session "${reference}"\n` +
            `hint: the nearest are ${id} "quarterly tax return" (claude)\n`,
        );
      },
    );
    rmSync(file); // and the same where only the index knows it
    for (const reference of ["tax", "quartrly tax retrun"]) {
      expect(await refused(reference)).toStartWith(`error: NOT_FOUND: Cannot find session "${reference}"\n`);
    }
    expect((await home.run("forget", `${id.slice(0, 8)}:3-5`, "--yes")).stderr).toBe(
      `error: Cannot forget "${id.slice(0, 8)}:3-5": it names lines of a session\n` +
        `hint: name the whole session: ${id.slice(0, 8)}\n`,
    );
    expect(existsSync(home.paths.config)).toBe(false);
    write(file, rows);
    const told = JSON.parse(await home.ok("forget", "Quarterly_tax-return", "--yes", "--json", "--quiet"));
    expect(told.sessions.map((session: { id: string }) => session.id)).toEqual([id]);
  }, 30_000);

  test("shows what would go and changes nothing until somebody says yes", async () => {
    const id = uuidFrom("asked about");
    writeClaude(home, { id, rows: [claudeUser({ text: "hello", cwd: home.project, sessionId: id })] });
    await indexAll(home);
    const shown = (await home.ok("forget", id, "--dry-run")).split("\n");
    expect(shown.slice(0, 2)).toEqual(["would forget 1 session", `- ${id} (claude)`]);
    const refusal = {
      stderr: "error: NOT_CONFIRMED: Cannot forget without a yes: nothing was changed\nhint: add --yes\n",
      exitCode: 1,
    };
    const asked = [[id], ["--project", home.project], ["--before", "0d"], ["--pattern", "hello"]];
    await together(asked, async (args) => {
      const preview = await home.ok("forget", ...args, "--dry-run");
      expect(await runWith(home, "forget", args, "yes\n")).toEqual({ ...refusal, stdout: preview });
      expect((await home.run("forget", ...args, "--json")).stdout).toBe("");
    });
    expect(existsSync(home.paths.config)).toBe(false);
    expect(await atTerminal(home, [id], "n\n")).toMatchObject({ exitCode: 1 });
    expect(await atTerminal(home, [id], "\x04")).toMatchObject({ exitCode: 1 });
    expect(existsSync(home.paths.config)).toBe(false);
    const { said, exitCode } = await atTerminal(home, [id], "y\n");
    expect([exitCode, said.includes("Forget this? [y/N]"), said.includes("forgot 1 session")]).toEqual([
      0,
      true,
      true,
    ]);
    expect(JSON.parse(readFileSync(home.paths.config, "utf8")).exclude.sessions).toEqual([id]);
  }, 30_000);

  test("--undo takes a session, a project or a pattern back out of exclude, and it is found again", async () => {
    const [one, two] = ["one", "two"].map((who) => {
      const id = uuidFrom(`undo ${who}`);
      const cwd = join(home.root, who);
      mkdirSync(cwd);
      writeClaude(home, {
        id,
        cwd,
        rows: [claudeUser({ text: `${MARK}${who} parser`, cwd, sessionId: id })],
      });
      return { id, cwd };
    }) as [{ id: string; cwd: string }, { id: string; cwd: string }];
    await indexAll(home);
    await home.ok("forget", one.id, "--yes");
    await home.ok("forget", "--project", two.cwd, "--yes");
    await home.ok("forget", "--pattern", "harmless \\w+", "--yes");
    const found = async () =>
      JSON.parse(await home.ok("search", `${MARK}one`, `${MARK}two`, "parser", "--json")).results.length;
    expect(await found()).toBe(0);
    const undone = async (what: string) =>
      JSON.parse(await home.ok("forget", "--undo", what, "--json")).undone;
    const none = { sessions: [], projects: [], patterns: [] };
    expect(await undone(one.id.slice(0, 8))).toEqual({ ...none, sessions: [one.id] });
    expect(await undone(two.cwd)).toEqual({ ...none, projects: [two.cwd] });
    expect(await undone("harmless \\w+")).toEqual({ ...none, patterns: ["harmless \\w+"] });
    expect(JSON.parse(readFileSync(home.paths.config, "utf8"))).toEqual({ exclude: none });
    expect(await found()).toBe(2);
    expect(await home.run("forget", "--undo", "nothing of it")).toEqual({
      stdout: "",
      stderr:
        'error: NOT_FOUND: Cannot undo "nothing of it": config.json does not exclude it\nhint: config.json excludes nothing\n',
      exitCode: 1,
    });
  }, 30_000);

  test("--everything removes all we hold but the settings, and names what remains", async () => {
    using home = homeWithAll();
    for (const kind of AGENTS) writeSession(home, kind, { who: "victim", mark: MARK });
    const ids = AGENTS.map((kind) => idOf(kind, "victim"));
    await holdEverything(home, ids);
    const foreign = write(join(home.project, "memory", "mine.md"), `${MARK} by hand\n`);
    const edited = filesUnder(join(home.project, "memory")).find((file) => file !== foreign) ?? "";
    write(edited, "my own words now\n");
    expect((await home.run("forget", "--everything")).exitCode).toBe(1);
    expect(holding(home, MARK).length).toBeGreaterThan(5);
    const config = readFileSync(home.paths.config, "utf8");
    const told = JSON.parse(await home.ok("forget", "--everything", "--yes", "--json"));
    expect(filesUnder(home.paths.home)).toEqual([home.paths.config]);
    expect(readFileSync(home.paths.config, "utf8")).toBe(config);
    expect(holding(home, MARK)).toEqual(["/shop/memory/mine.md"]);
    expect(existsSync(edited)).toBe(true);
    expect(told).toMatchObject({ dryRun: false, keptFiles: [edited] });
    expect(told.written).toHaveLength(4);
    expect(told.remains).toEqual([
      home.paths.config,
      join(home.paths.claude, "projects"),
      join(home.paths.pi, "sessions"),
      join(home.paths.codex, "sessions"),
    ]);
    expect(await home.ok("search", `${MARK}user`)).toContain(MARK); // from the transcripts, which are the hosts'
  }, 60_000);

  test("what is excluded is neither listed, named nor read", async () => {
    const hidden = uuidFrom("hidden project");
    const titled = uuidFrom("hidden title");
    const secret = join(home.root, "secret");
    mkdirSync(secret);
    const title = (id: string, customTitle: string) => claudeState("custom-title", { customTitle }, id);
    writeClaude(home, {
      id: hidden,
      cwd: secret,
      rows: [
        claudeUser({ text: `${MARK}user`, cwd: secret, sessionId: hidden }),
        title(hidden, "night watch"),
      ],
    });
    writeClaude(home, {
      id: titled,
      rows: [
        claudeUser({ text: "a harmless talk", cwd: home.project, sessionId: titled }),
        ...claudeAssistant({ text: "Yes", sessionId: titled }),
        title(titled, `${MARK}title`),
      ],
    });
    await indexAll(home);
    await home.ok("index-meta", "--all");
    await home.ok("forget", "--project", secret, "--yes");
    await home.ok("forget", "--pattern", MARK, "--yes");
    await home.ok("embed", "--all");
    await home.ok("index-meta", "--all", "--force");
    const exits: [string, string[]][] = [
      ["session-reader", ["--list"]],
      ["session-reader", ["--list", "--json"]],
      ["session-reader", [hidden]],
      ["session-reader", ["night watch"]],
      ["session-reader", [titled]],
      ["session-reference", [`@@${hidden} and @@"night watch" and @@${titled.slice(0, 8)}`]],
      ["search", ["harmless talk"]],
      ["search", ["harmless talk", "--json"]],
      ["search", [`${MARK}user`, "night watch"]],
      ["embed", ["--status"]],
      ["query-session", [hidden, "what?"]],
      ["save-session", [hidden]],
      ["observe-compact", [hidden, "--observe", "--render"]],
      ["index-meta", [hidden, "--force"]],
      ["activity-summary", ["--scope", "all", "--since", "2020-01-01", "--current", uuidFrom("nobody")]],
      ["hooks/claude/user-prompt-submit.ts", []],
    ];
    await together(exits, async ([name, args]) => {
      const stdin = args.length > 0 ? undefined : promptOf(home, `and @@"night watch" @@${titled}?`);
      const { stdout } = await runWith(home, name, args, stdin);
      expect([name, args, stdout.includes(MARK), stdout.includes(secret)]).toEqual([
        name,
        args,
        false,
        false,
      ]);
      if (!args.includes("night watch") && !stdin) {
        expect([name, args, stdout.includes("night watch")]).toEqual([
          name,
          args,
          name === "session-reference",
        ]);
      }
    });
    expect((await home.run("session-reader", hidden)).stderr).toContain("exclude");
    expect(holding(home, MARK)).toEqual([]);
    expect(holding(home, "night watch").filter((file) => !file.endsWith("log.ndjson"))).toEqual([]);
  }, 60_000);

  test("while indexing, embedding and observing go on, nothing comes back", async () => {
    using home = homeWithAll();
    configure(home);
    const ids = AGENTS.map((kind) => idOf(kind, "victim"));
    const files = AGENTS.map((kind) => writeSession(home, kind, { who: "victim", mark: MARK }));
    for (const kind of AGENTS) writeSession(home, kind, { who: "other", mark: "plainword" });
    await indexAll(home);
    let isOver = false;
    const keepOn = async (work: (round: number) => Promise<unknown>) => {
      for (let round = 0; !isOver; round++) await work(round);
    };
    const touch = (round: number) => utimesSync(files[round % 4] ?? "", new Date(), new Date());
    const started = (name: string, args: string[]) =>
      startScript(name, args, { env: home.env, cwd: home.project });
    const turn = (i: number) => ["--session", ids[i] ?? "", "--file", files[i] ?? "", "--cwd", home.project];
    const others = [
      keepOn(async (round) => {
        touch(round);
        await started("embed", round % 2 ? ["--all"] : []);
      }),
      keepOn((round) => home.run("hooks/background.ts", ...turn(round % 4))),
      keepOn((round) => started("search", [`${MARK}user ${round}`])),
    ];
    await Bun.sleep(700);
    await home.ok("forget", "--yes", ...ids);
    await Bun.sleep(700);
    isOver = true;
    await Promise.all(others);
    expect(holding(home, MARK)).toEqual([]);
    const store = openHomeStore(home);
    expect(store.db.prepare("SELECT count(*) AS n FROM sessions").get()).toEqual({ n: 4 });
    expect(store.db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  }, 60_000);

  test("ends what a run that was killed has left in the files", async () => {
    const id = uuidFrom("left");
    const file = writeClaude(home, { id, rows: [claudeUser({ text: `${MARK}user`, sessionId: id })] });
    await home.ok("embed");
    rmSync(file);
    const store = openHomeStore(home);
    forgetSessions(store, heldSessions(store));
    const other = openHomeStore(home);
    store.close(); // the last one to close empties the log, which a kill does not
    expect(holding(home, MARK)).not.toEqual([]);
    other.close();
    write(join(home.paths.observations, `${id}.jsonl.999999.0123abcd.tmp`), `${MARK}torn`);
    expect((await home.run("forget", "--yes", id)).exitCode).toBe(1);
    expect(holding(home, MARK)).toEqual([
      `/home/.session-memory/observations/${id}.jsonl.999999.0123abcd.tmp`,
    ]);
    await home.ok("forget", "--yes", writeOther(home));
    expect(holding(home, MARK)).toEqual([]);
  });

  test("what was added to exclude by hand is not found any more", async () => {
    const id = uuidFrom("by hand");
    const rows = [claudeUser({ text: `${MARK}user`, cwd: home.project, sessionId: id })];
    writeClaude(home, { id, rows });
    writeOther(home);
    const found = async (...flags: string[]) =>
      JSON.parse(await home.ok("search", `${MARK}user`, "--json", ...flags)).results.length;
    expect(await found()).toBe(1);
    home.configure({ exclude: { projects: [home.project] } });
    expect([await found("--no-index"), await found()]).toEqual([0, 0]);
    home.configure({ exclude: {} });
    expect(await found()).toBe(1);
    home.configure({ exclude: { sessions: [id.slice(0, 6)] } });
    await indexAll(home);
    expect(await found("--no-index")).toBe(0);
  }, 30_000);

  test("adds to config.json and keeps the rest of it", async () => {
    const id = uuidFrom("kept");
    const file = writeClaude(home, { id, rows: [claudeUser({ text: "hello", sessionId: id })] });
    const rest = {
      timezone: "UTC",
      exclude: { projects: ["/x"], sessions: ["abcd"] },
      activity: { maxChars: 300 },
    };
    home.configure(rest);
    for (let time = 0; time < 2; time++) await home.ok("forget", "--yes", id);
    const exclude = { projects: ["/x"], sessions: ["abcd", id] };
    expect(readFileSync(home.paths.config, "utf8")).toBe(
      `${JSON.stringify({ ...rest, exclude }, null, 2)}\n`,
    );
    expect(await home.ok("forget", "--yes", id)).toBe(
      [
        "forgot 1 session",
        `- ${id} (claude)`,
        "index: 0 chunks, 0 vectors, 0 cached",
        "observations: 0 in 0 ledgers",
        "meta files: 0; marks: 0; log lines: 0",
        "notes: 0",
        "still there: 1 transcript of the hosts; delete with rm:",
        `- ${file}`,
        "",
      ].join("\n"),
    );
  });

  test("refuses what it cannot mean", async () => {
    const usage = async (...args: string[]) => {
      const { stdout, stderr, exitCode } = await home.run("forget", ...args);
      expect([stdout, exitCode, existsSync(home.paths.home)]).toEqual(["", 2, false]);
      return stderr.split("\n")[0];
    };
    expect(await usage()).toBe("error: Expected what to forget");
    expect(await usage("a", "--project", "b")).toBe(
      "error: Cannot combine sessions, --project or --before, --pattern, --everything and --undo",
    );
    expect(await usage("--pattern", "(")).toStartWith('error: Cannot use --pattern "("');
    expect(await usage("--pattern", "x*")).toStartWith('error: Cannot use --pattern "x*"');
    expect(await usage("--before", "someday")).toBe('error: Cannot use --before "someday": not a time');
    expect((await home.run("forget", "nobody")).exitCode).toBe(1);
    expect((await home.run("forget", "--help")).stdout.split("\n").length).toBeLessThanOrEqual(26);
  });
});

/** Runs forget at a terminal and types an answer once it asks. */
async function atTerminal(
  home: TemporaryHome,
  args: string[],
  answer: string,
): Promise<{ said: string; exitCode: number }> {
  let said = "";
  const child = Bun.spawn([process.execPath, ...BUN_FLAGS, scriptPath("forget"), ...args], {
    env: home.env,
    cwd: home.project,
    terminal: {
      data(terminal, bytes) {
        said += new TextDecoder().decode(bytes);
        if (answer !== "" && said.includes("[y/N] ")) {
          terminal.write(answer);
          answer = "";
        }
      },
    },
  });
  const exitCode = await child.exited;
  return { said, exitCode };
}

function writeOther(home: TemporaryHome): string {
  const id = uuidFrom("some other");
  writeClaude(home, { id, rows: [claudeUser({ text: "hello", sessionId: id })] });
  return id;
}

describe("forgetInLog()", () => {
  const [gone, other] = [uuidFrom("gone"), uuidFrom("stays")];
  const lines = {
    own: { event: "background.index", session: gone },
    path: { event: "hook.stop", error: `Cannot read "/p/${gone}.jsonl"` },
    toldOfIt: { event: "injected", session: other, about: [gone, "x"], text: "- gone (3m ago)" },
    toldOfOthers: { event: "injected", session: other, about: ["x"], text: "- x (3m ago)" },
    toldOfWhom: { event: "injected", session: other, text: "who knows" },
    place: { event: "hook.stop", error: 'Cannot read "/secret/place/x"' },
    rest: { event: "embed", chunks: 3 },
  };
  const text = (...events: object[]) => events.map((event) => `${JSON.stringify(event)}\n`).join("");

  test("drops the lines about a session, and what others were told of it", () => {
    const { log } = home.paths;
    write(`${log}.1`, text(lines.own, lines.rest));
    write(
      log,
      `${text(lines.path, lines.toldOfIt, lines.toldOfOthers, lines.toldOfWhom, lines.place)}{"torn`,
    );
    const forgetting = { ids: new Set([gone]) };
    const options = { places: ["/secret/place"], dryRun: false };
    expect(forgetInLog(log, forgetting, { ...options, dryRun: true })).toBe(6);
    expect(forgetInLog(log, forgetting, options)).toBe(6);
    const told = { event: "injected", session: other };
    expect(readFileSync(`${log}.1`, "utf8")).toBe(text(lines.rest, told, lines.toldOfOthers, told));
    expect(existsSync(log)).toBe(false);
  });

  test("leaves a log alone that says nothing of it", () => {
    const { log } = home.paths;
    write(log, text(lines.rest, lines.toldOfOthers));
    expect(forgetInLog(log, { ids: new Set([gone]) }, { places: [], dryRun: false })).toBe(0);
    expect(readFileSync(log, "utf8")).toBe(text(lines.rest, lines.toldOfOthers));
    expect(
      forgetInLog(log, { hasText: (said) => said === "- x (3m ago)" }, { places: [], dryRun: false }),
    ).toBe(1);
    expect(readFileSync(`${log}.1`, "utf8")).toBe(text(lines.rest));
  });
});

/** The recipe of chunks changes with the patterns, and with it when they were read. */
function withoutState(held: unknown): unknown {
  return (held as unknown[]).filter((_, i) => i !== 2);
}

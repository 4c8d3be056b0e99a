/** Sessions whose directory is not one of ours: a relative path, another system's, another machine's. None is this project's. */

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../lib/config/config.ts";
import { currentExclusion } from "../lib/sessions/gate.ts";
import { localSessions } from "../lib/share/outgoing.ts";
import { openStore } from "../lib/store/store.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { codexMeta, codexPrompt } from "./support/codex.ts";
import { homePerTest, write, writeClaude, writeCodex } from "./support/home.ts";
import { secondsAgo, uuidFrom } from "./support/rows.ts";
import { runScript } from "./support/run.ts";

const home = homePerTest();
const ME = uuidFrom("me");
const OWN = uuidFrom("own");
const WORDS = "the flamingo deploys at dawn";

function talk(sessionId: string, cwd: string, minutes: number) {
  const at = secondsAgo(minutes * 60);
  return [
    claudeUser({ text: WORDS, sessionId, cwd, at }),
    ...claudeAssistant({ text: `It does: ${WORDS}.`, sessionId, cwd, at }),
  ];
}

/** Newer sessions than any of the project's: of another machine, of another system, and with a relative directory. */
function strangers(): string[] {
  const desk = join(home.root, "sync");
  home.configure({
    transcripts: [{ path: desk, machine: "desk" }],
    share: { projects: { "github.com/acme/shop": "team" } },
  });
  const elsewhere = ["C:\\Users\\me\\shop", "shop", ".", join(home.project, "not-here"), "../shop"];
  const ids = elsewhere.map((cwd, i) => {
    const id = uuidFrom(`synced ${i}`);
    write(join(desk, "projects", "-x", `${id}.jsonl`), talk(id, cwd, 2));
    return id;
  });
  const relative = uuidFrom("relative");
  writeClaude(home, { id: relative, rows: talk(relative, ".", 1) });
  const codex = "019c8a4c-0000-79a1-aa28-7738fc5ab61a";
  const rows = [
    codexMeta({ id: codex, cwd: "D:\\shop" }),
    ...codexPrompt({ text: WORDS, at: secondsAgo(60) }),
  ];
  writeCodex(home, { id: codex, at: secondsAgo(60), rows });
  return [...ids, relative, codex];
}

function own(): void {
  writeClaude(home, { id: OWN, rows: talk(OWN, home.project, 30) });
}

/** An empty folder in which nobody ever worked. */
function emptyFolder(): string {
  const folder = join(home.root, "empty");
  mkdirSync(folder);
  return folder;
}

const at = (cwd: string, script: string, ...args: string[]) =>
  runScript(script, args, { env: home.env, cwd });

test("a prompt's digest and a session's beginning show the project's own sessions alone", async () => {
  own();
  strangers();
  const digest = await home.prompt("hello");
  expect(digest.match(/\(\d+m ago/g)).toEqual(["(30m ago"]);
  const begun = { session_id: ME, transcript_path: join(home.root, "me.jsonl"), source: "startup" };
  home.configure({ activity: { digest: false } }); // which leaves them to the line on the last session
  const welcome = await home.hook("session-start", { ...begun, cwd: home.project });
  expect(welcome.stdout).toContain(` session-reader ${OWN.slice(0, 8)} --outline`);
  const cwd = emptyFolder();
  expect(await home.prompt("hello", { cwd })).toBe("");
  expect((await home.hook("session-start", { ...begun, cwd })).stdout).toBe("");
}, 30_000);

test("`last` and lists are the project's; where it has none, `last` is the newest of all and says so", async () => {
  own();
  const foreign = strangers();
  const listed = async (cwd: string) =>
    JSON.parse((await at(cwd, "session-reader", "--list", "--project", ".", "--json")).stdout).sessions;
  expect((await listed(home.project)).map(({ id }: { id: string }) => id)).toEqual([OWN]);
  const last = await at(home.project, "session-reader", "last", "--json");
  expect([JSON.parse(last.stdout).session.id, last.stderr]).toEqual([OWN, ""]);
  const empty = emptyFolder();
  expect(await listed(empty)).toEqual([]);
  const elsewhere = await at(empty, "session-reader", "last", "--json");
  expect(foreign).toContain(JSON.parse(elsewhere.stdout).session.id);
  expect(elsewhere.stderr).toBe("this project has no other session: last is the newest of any project\n");
  const searched = await at(empty, "search", "flamingo", "--session", "last", "--quiet");
  const found = await at(empty, "search", "flamingo", "--session", "last");
  expect([searched.stderr, found.stderr.split("\n")[0]]).toEqual(["", elsewhere.stderr.trim()]);
  const mentioned = await at(empty, "session-reference", "@@last");
  expect(mentioned.stdout).toContain(
    "- this project has no other session: last is the newest of any project",
  );
}, 30_000);

test("a project's name is the last part of a path of any system, for lists, searches, reports and forgetting alike", async () => {
  own();
  strangers();
  const json = async (script: string, ...args: string[]) =>
    JSON.parse((await at(home.root, script, "--project", "SHOP", "--json", ...args)).stdout);
  const listed = (await json("session-reader", "--list")).sessions.map(({ id }: { id: string }) => id).sort();
  expect(listed.length).toBeGreaterThan(2);
  expect(listed).toContain("019c8a4c-0000-79a1-aa28-7738fc5ab61a");
  const question = ["when does the flamingo deploy", "--by-session", "--limit", "20"];
  const { results } = await json("search", ...question);
  const found = new Set(results.map(({ session_id }: { session_id: string }) => session_id));
  expect([...found].sort()).toEqual(listed);
  const out = join(home.root, "pages");
  const { pages } = await json("report", "--out", out);
  expect(pages).toHaveLength(listed.length);
  const { sessions } = await json("forget", "--dry-run");
  expect(sessions.map(({ id }: { id: string }) => id).sort()).toEqual(listed);
}, 30_000);

test("a search prefers, and with --project finds, the project's own sessions alone", async () => {
  own();
  strangers();
  const found = async (...args: string[]) =>
    JSON.parse(
      (await at(home.project, "search", "when does the flamingo deploy", "--json", "--limit", "20", ...args))
        .stdout,
    ).results.map(({ session_id }: { session_id: string }) => session_id);
  expect((await found())[0]).toBe(OWN);
  expect(await found("--project", ".")).toEqual([OWN]);
}, 30_000);

test("forget --project takes the project's own sessions, and in an empty folder none", async () => {
  own();
  strangers();
  await at(home.project, "embed", "--quiet");
  const forget = (cwd: string) => at(cwd, "forget", "--project", ".", "--dry-run", "--json");
  const { sessions } = JSON.parse((await forget(home.project)).stdout);
  expect(sessions.map(({ id }: { id: string }) => id)).toEqual([OWN]);
  expect((await forget(emptyFolder())).stderr).toStartWith("error: NOT_FOUND: ");
}, 30_000);

test("only the project's own sessions are shared as its", async () => {
  own();
  strangers();
  writeFileSync(
    join(home.project, ".git", "config"),
    '[remote "origin"]\n\turl = git@github.com:acme/shop.git\n',
  );
  await at(home.project, "embed", "--quiet");
  const config = await loadConfig(home.env, home.project);
  const store = openStore(config.paths.database, { create: false });
  const before = process.cwd();
  process.chdir(home.project);
  try {
    const shared = localSessions(store, { config, exclusion: currentExclusion(config) });
    expect(shared.map(({ hostId }) => hostId)).toEqual([OWN]);
  } finally {
    process.chdir(before);
    store.close();
  }
}, 30_000);

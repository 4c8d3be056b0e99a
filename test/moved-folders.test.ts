/** A project's sessions stay its own when its folder is moved, and are not those of another repository in its old place. */

import { beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../lib/config/config.ts";
import { currentExclusion } from "../lib/sessions/gate.ts";
import { localSessions } from "../lib/share/outgoing.ts";
import { openStore } from "../lib/store/store.ts";
import { chain, claudeAssistant, claudeUser } from "./support/claude.ts";
import { homePerTest, writeClaude } from "./support/home.ts";
import { secondsAgo, uuidFrom } from "./support/rows.ts";
import { runScript } from "./support/run.ts";

const home = homePerTest();
let [shop, store] = ["", ""];

beforeEach(() => {
  shop = join(home.root, "work", "shop");
  store = join(home.root, "code", "store");
  for (const folder of [join(shop, "src"), join(home.root, "code")]) mkdirSync(folder, { recursive: true });
});

/** Makes a repository of a folder. */
function repository(folder: string, origin?: string): void {
  mkdirSync(join(folder, ".git"), { recursive: true });
  writeFileSync(join(folder, ".git", "HEAD"), "ref: refs/heads/main\n");
  const remote = origin === undefined ? "" : `[remote "origin"]\n\turl = ${origin}\n`;
  writeFileSync(join(folder, ".git", "config"), `[core]\n\tbare = false\n${remote}`);
}

/** Writes a session about something, a while ago; returns its id. */
function session(topic: string, cwd: string, { minutes = 10 } = {}): string {
  const [id, at] = [uuidFrom(topic), secondsAgo(minutes * 60)];
  const rows = chain([
    claudeUser({ sessionId: id, cwd, at, text: `Why does the ${topic} sail late?` }),
    ...claudeAssistant({ sessionId: id, cwd, at, text: `The ${topic} waits for the tide.` }),
  ]);
  const file = writeClaude(home, { id, cwd, rows });
  const time = new Date(at);
  utimesSync(file, time, time);
  return id;
}

async function inFolder(cwd: string, name: string, ...args: string[]): Promise<string> {
  const { stdout, stderr, exitCode } = await runScript(name, args, {
    cwd,
    env: { ...home.env, CLAUDE_CODE_SESSION_ID: uuidFrom("me") },
  });
  expect([exitCode, exitCode === 0 ? "" : stderr]).toEqual([0, ""]);
  return stdout;
}

const listed = async (cwd: string, project = "."): Promise<string[]> =>
  JSON.parse(await inFolder(cwd, "session-reader", "--list", "--project", project, "--json")).sessions.map(
    ({ id }: { id: string }) => id,
  );
const found = async (cwd: string, query: string, ...args: string[]): Promise<string[]> =>
  JSON.parse(await inFolder(cwd, "search", query, "--json", ...args)).results.map(
    ({ session_id }: { session_id: string }) => session_id,
  );
const index = () => inFolder(home.root, "embed");

test("after a move its old sessions are the project's for lists, last, the digest, the welcome and searches", async () => {
  repository(shop);
  const old = session("brig", join(shop, "src"));
  session("sloop", home.project, { minutes: 5 });
  await index();
  renameSync(shop, store);
  expect(await listed(store)).toEqual([old]);
  expect(await listed(store, "store")).toEqual([]); // nobody has worked there under this name
  expect(await inFolder(store, "session-reader", "last")).toContain("brig");
  const digest = await inFolder(store, "activity-summary", "--peek");
  expect([digest.includes("brig"), digest.includes("sloop")]).toEqual([true, false]);
  expect(await found(store, "tide", "--project", ".")).toEqual([old]);
  expect((await found(store, "waits for the tide"))[0]).toBe(old);
  const started = {
    session_id: uuidFrom("me"),
    transcript_path: join(home.paths.claude, "projects", "-new", `${uuidFrom("me")}.jsonl`),
    cwd: store,
    hook_event_name: "SessionStart",
    source: "startup",
  };
  home.configure({ activity: { digest: false } }); // which leaves it to the line on the last session
  expect((await home.hook("session-start", started)).stdout).toContain("brig");
  const next = session("yawl", store, { minutes: 1 });
  await index();
  expect((await listed(store)).toSorted()).toEqual([old, next].toSorted());
  expect((await listed(home.root, "store")).toSorted()).toEqual([old, next].toSorted());
});

test("a project is known by its origin: a new clone elsewhere has the sessions of the one that is gone", async () => {
  repository(shop, "git@github.com:acme/shop.git");
  const old = session("brig", shop);
  await index();
  rmSync(shop, { recursive: true });
  repository(store, "https://github.com/Acme/Shop");
  expect(await listed(store)).toEqual([old]);
  expect(await found(store, "tide", "--project", store)).toEqual([old]);
  repository(join(home.root, "other"), "https://github.com/acme/other");
  expect(await listed(join(home.root, "other"))).toEqual([]);
});

test("two repositories at one path in turn are two", async () => {
  repository(shop);
  const first = session("brig", shop, { minutes: 20 });
  await index();
  rmSync(join(shop, ".git"), { recursive: true });
  repository(shop);
  const second = session("yawl", shop, { minutes: 10 });
  expect(await found(shop, "tide", "--project", ".")).toEqual([second]);
  expect(await listed(shop)).toEqual([second]);
  expect(await inFolder(shop, "session-reader", "last")).toContain("yawl");
  const digest = await inFolder(shop, "activity-summary", "--peek");
  expect([digest.includes("brig"), digest.includes("yawl")]).toEqual([false, true]);
  expect(first).not.toBe(second);
});

test("a repository that took the place of one that moved has none of its sessions", async () => {
  repository(shop);
  const first = session("brig", shop, { minutes: 20 });
  await index();
  renameSync(shop, store);
  repository(shop);
  const second = session("yawl", shop);
  await index();
  expect([await listed(shop), await listed(store)]).toEqual([[second], [first]]);
  expect(await found(store, "tide", "--project", store)).toEqual([first]);
});

test("sessions of a worktree that was removed stay those of its repository", async () => {
  repository(shop);
  const tree = join(home.root, "feature");
  const own = join(shop, ".git", "worktrees", "feature");
  for (const folder of [own, tree]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(own, "commondir"), "../..\n");
  writeFileSync(join(own, "gitdir"), `${join(tree, ".git")}\n`);
  writeFileSync(join(tree, ".git"), `gitdir: ${own}\n`);
  const old = session("brig", tree);
  await index();
  for (const folder of [own, tree]) rmSync(folder, { recursive: true });
  expect(await listed(shop)).toEqual([old]);
});

test("forget --project removes them from where the folder was, with the path, and keeps them out", async () => {
  repository(shop);
  const old = session("brig", shop);
  session("sloop", home.project);
  await index();
  renameSync(shop, store);
  const dry = await inFolder(store, "forget", "--project", ".", "--dry-run");
  expect([dry.includes(old.slice(0, 8)), dry.includes(uuidFrom("sloop").slice(0, 8))]).toEqual([true, false]);
  await inFolder(store, "forget", "--project", ".", "--yes");
  expect(await found(home.root, "tide")).toEqual([uuidFrom("sloop")]);
  expect(readFileSync(join(home.paths.home, "projects.json"), "utf8")).not.toContain(shop);
  await index();
  expect(await found(home.root, "tide")).toEqual([uuidFrom("sloop")]);
  expect((await listed(store)).length).toBe(0);
});

test("an excluded project is excluded where it was moved to, and its old sessions are by its new place", async () => {
  repository(shop);
  home.configure({ exclude: { projects: [shop] } });
  await index();
  renameSync(shop, store);
  const moved = session("brig", store);
  session("sloop", home.project);
  expect(await found(home.root, "tide")).toEqual([uuidFrom("sloop")]);
  expect(await listed(store)).toEqual([]);
  home.configure({});
  await index();
  expect((await found(home.root, "tide")).toSorted()).toEqual([moved, uuidFrom("sloop")].toSorted());
});

test("a text that is forgotten leaves no path and no origin behind", async () => {
  repository(shop, "https://git.example.com/secret/brigantine");
  session("brig", shop);
  await index();
  const file = join(home.paths.home, "projects.json");
  expect(readFileSync(file, "utf8")).toContain("brigantine");
  await home.ok("forget", "--pattern", "brigantine", "--yes");
  await home.ok("embed", "--all");
  expect(readFileSync(file, "utf8")).not.toContain("brigantine");
  await home.ok("forget", "--pattern", "work/shop", "--yes");
  await home.ok("embed", "--all");
  expect(existsSync(file)).toBe(false);
});

test("what is shared of a project stays shared after a move, and is never another repository's in its place", async () => {
  const origin = "https://github.com/acme/shop";
  home.configure({ share: { projects: { "github.com/acme/*": "team" } } });
  repository(shop, origin);
  const old = session("brig", shop);
  await index();
  const published = async () => {
    const config = await loadConfig(home.env, home.root);
    const exclusion = currentExclusion(config);
    const held = openStore(config.paths.database);
    const found = localSessions(held, { config, exclusion });
    held.close();
    return found.map(({ id, signature }) => [id, signature.split(" ")[1]]);
  };
  const before = await published();
  expect(before.map(([id]) => id)).toEqual([old]);
  renameSync(shop, store);
  expect(await published()).toEqual(before);
  repository(shop, "https://example.com/somebody/else");
  expect(await published()).toEqual(before);
});

import { expect, test } from "bun:test";
import { utimesSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../lib/store/store.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { homePerTest, write, writeClaude, writeMeta } from "./support/home.ts";
import { secondsAgo, uuidFrom } from "./support/rows.ts";

const home = homePerTest();

const ME = uuidFrom("me");
const LAST = uuidFrom("last");

/** A session of the project with this name. */
function session(id: string, name: string): string {
  const at = secondsAgo(86_400);
  const file = writeClaude(home, { id, rows: talk(id, { cwd: home.project, at }) });
  writeMeta(home, { sessionId: id, sessionFile: file, updatedAt: at, name });
  return file;
}

function talk(sessionId: string, { cwd, at }: { cwd: string; at: string }) {
  return [
    claudeUser({ text: "hello", sessionId, cwd, at }),
    ...claudeAssistant({ text: "Hi, what shall we do?", sessionId, cwd, at }),
  ];
}

test("takes no session for newer than the moment it is read: not the last, not in lists, not in the digest", async () => {
  const future = uuidFrom("future");
  const cwd = home.project;
  const file = session(future, "From the future");
  const old = secondsAgo(86_400);
  const at = "2099-01-01T00:00:00.000Z";
  write(file, [...talk(future, { cwd, at: old }), ...talk(future, { cwd, at })]);
  utimesSync(file, new Date(at), new Date(at));
  // nothing of it is dated, and its file says the same
  const whole = session(uuidFrom("whole"), "All of it from there");
  write(whole, talk(uuidFrom("whole"), { cwd, at }));
  utimesSync(whole, new Date(at), new Date(at));
  const last = session(LAST, "The real last one");
  write(last, talk(LAST, { cwd, at: new Date(Date.now() + 50).toISOString() }));
  await Bun.sleep(60);
  home.configure({ activity: { digest: false } });
  const begun = { session_id: ME, transcript_path: join(home.root, "me.jsonl"), cwd, source: "startup" };
  const welcomed = JSON.parse((await home.hook("session-start", begun)).stdout).hookSpecificOutput
    .additionalContext;
  expect(welcomed).toContain('the last session in this project was "The real last one" (0s ago)');
  const { sessions } = await home.json("session-reader", "--list");
  const listed = (sessions as { id: string; updatedAt: string }[]).map(({ id, updatedAt }) => [
    id,
    updatedAt,
  ]);
  const now = new Date().toISOString();
  expect(listed[0]?.[0]).toBe(LAST);
  expect(listed.filter(([, updatedAt = ""]) => updatedAt > now)).toEqual([]);
  expect(listed.at(-1)).toEqual([future, old]);
  expect(await home.ok("session-reader", "last")).toContain("The real last one");
  writeClaude(home, { id: ME, rows: talk(ME, { cwd, at: secondsAgo(600) }) });
  const digest = await home.json("activity-summary", "--current", ME, "--since", "30d");
  const ages = digest.sessions.map(({ id, ageSeconds }: { id: string; ageSeconds: number }) => [
    id === LAST ? "last" : id === future ? "future" : "whole",
    ageSeconds > 3600,
  ]);
  expect(ages).toEqual([
    ["last", false],
    ["whole", false],
    ["future", true],
  ]);
  await home.ok("embed");
  const { results } = await home.json("search", "hello", "--after", "1d");
  expect(results.filter(({ timestamp }: { timestamp: string }) => timestamp > now)).toEqual([]);
  const store = openStore(home.paths.database);
  const times = store
    .prepare("SELECT max(updated_at) AS updated, max(started_at) AS started FROM sessions")
    .get();
  store.close();
  expect(Object.values(times ?? {}).filter((time) => String(time) > new Date().toISOString())).toEqual([]);
});

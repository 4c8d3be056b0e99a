/** A forgotten session stays so under every name: by its path, and as a copy or a fork under another id. */

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { claudeAssistant, claudeState, claudeUser } from "./support/claude.ts";
import { homePerTest, writeClaude, writePi } from "./support/home.ts";
import { piAssistant, piHeader, piUser } from "./support/pi.ts";
import { jsonl, type Row, secondsAgo, uuidFrom } from "./support/rows.ts";

const home = homePerTest();
const ID = uuidFrom("told");
const COPY = uuidFrom("copy");
const SECRET = "marmoset";

function told(): Row[] {
  const at = (seconds: number) => secondsAgo(600 - seconds);
  const of = { sessionId: ID, cwd: home.project };
  return [
    claudeUser({ ...of, text: `where is the ${SECRET}`, at: at(0) }),
    ...claudeAssistant({ ...of, text: `the ${SECRET} sleeps`, at: at(1) }),
    claudeState("custom-title", { customTitle: `About the ${SECRET}` }, ID),
  ];
}

/** The rows under another session's id, as a host's fork writes them. */
function forked(rows: readonly Row[], sessionId: string): Row[] {
  return rows.map((row) => ({ ...row, sessionId }));
}

async function everywhere(): Promise<string> {
  const me = { session_id: uuidFrom("me"), transcript_path: join(home.root, "me.jsonl"), cwd: home.project };
  const outputs = [
    await home.ok("session-reader", "--list"),
    await home.ok("search", SECRET, "--json"),
    await home.ok("index-meta", "--all", "--json"),
    await home.ok("session-reference", `@@"About the ${SECRET}"`, "--json"),
    await home.prompt("hello"),
    (await home.hook("session-start", { ...me, source: "startup" })).stdout,
  ];
  return outputs.join("\n").replaceAll(`@@\\"About the ${SECRET}\\"`, "");
}

test("a forgotten session is not read by its path", async () => {
  const file = writeClaude(home, { id: ID, rows: told() });
  await home.ok("forget", ID, "--yes");
  for (const script of ["session-reader", "save-session", "report"]) {
    const { exitCode, stdout, stderr } = await home.run(script, file);
    expect([script, exitCode, stdout]).toEqual([script, 1, ""]);
    expect(stderr).toStartWith(`error: NOT_FOUND: Cannot use session "${ID}": it is kept out\n`);
  }
}, 30_000);

test("a copy under another id is not indexed, named, listed or mentioned, until it is undone", async () => {
  const rows = told();
  writeClaude(home, { id: ID, rows });
  await home.ok("forget", ID, "--yes");
  writeClaude(home, { id: COPY, rows: forked(rows, COPY) });
  await home.ok("embed");
  expect(await home.ok("session-reader", "--list")).toBe("");
  expect(await everywhere()).not.toContain(SECRET);
  await home.ok("forget", "--undo", ID);
  expect(await home.ok("session-reader", "--list")).toContain(COPY.slice(0, 8));
  expect(await home.ok("search", SECRET)).toContain(SECRET);
}, 30_000);

test("a fork keeps its own rows, and shows none of those it copied", async () => {
  const rows = told().slice(0, -1);
  writeClaude(home, { id: ID, rows });
  await home.ok("forget", ID, "--yes");
  const of = { sessionId: COPY, cwd: home.project, at: secondsAgo(60) };
  const own = [
    claudeUser({ ...of, text: "and how do penguins walk" }),
    ...claudeAssistant({ ...of, text: "penguins waddle" }),
  ];
  writeClaude(home, { id: COPY, rows: [...forked(rows, COPY), ...own] });
  expect(await home.ok("search", "penguins waddle")).toContain("penguins waddle");
  expect(await home.ok("session-reader", COPY)).not.toContain(SECRET);
  expect(await everywhere()).not.toContain(SECRET);
}, 30_000);

test("short ids of rows are known by their time: a copy of a pi session stays forgotten too", async () => {
  const rows = [
    piHeader({ id: "mail-1", cwd: home.project }),
    piUser({ text: `where is the ${SECRET}`, at: secondsAgo(60) }),
    piAssistant({ text: `the ${SECRET} sleeps`, at: secondsAgo(50) }),
  ];
  writePi(home, { id: "mail-1", rows });
  await home.ok("forget", "mail-1", "--yes");
  const copy = writePi(home, { id: "mail-2", rows: [] });
  writeFileSync(copy, jsonl(piHeader({ id: "mail-2", cwd: home.project }), ...rows.slice(1)));
  expect(await home.ok("session-reader", "--list")).toBe("");
  expect(await everywhere()).not.toContain(SECRET);
}, 30_000);

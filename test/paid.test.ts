/** What was paid for outlives every index, and is forgotten without one. */

import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { openDatabase } from "../lib/store/sqlite.ts";
import { claudeUser } from "./support/claude.ts";
import { serverPerFile } from "./support/fake-openai.ts";
import { homePerTest, writeClaude } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";

const home = homePerTest();
const server = serverPerFile({ dimensions: 64 });

/** Writes a session and returns its id. */
function session(name: string): string {
  const id = uuidFrom(name);
  const rows = [claudeUser({ text: `fix the ${name} parser`, cwd: home.project, sessionId: id })];
  writeClaude(home, { id, rows });
  return id;
}

/** Returns the sessions that hold vectors, each with how many. */
function holders(): Record<string, number> {
  const db = openDatabase(home.paths.paid);
  try {
    const rows = db
      .prepare("SELECT session_id, count(*) AS n FROM holders JOIN vectors USING (content_hash) GROUP BY 1")
      .all();
    return Object.fromEntries(rows.map(({ session_id, n }) => [String(session_id), Number(n)]));
  } finally {
    db.close();
  }
}

test("a deleted index is filled with the vectors of before; what was forgotten has none, index or not", async () => {
  const at = { baseUrl: server.baseUrl, apiKeyEnv: "NO_KEY", model: "fake" };
  home.configure({ embedding: { ...at, dimensions: 64 } });
  const [kept, gone] = [session("kept"), session("gone")];
  await home.ok("embed");
  const asked = server.requests.length;
  expect(asked).toBeGreaterThan(0);
  expect(holders()).toEqual({ [kept]: 1, [gone]: 1 });
  for (const part of ["", "-wal", "-shm"]) rmSync(home.paths.database + part, { force: true });
  await home.ok("forget", "--yes", gone);
  expect(holders()).toEqual({ [kept]: 1 });
  await home.ok("embed");
  expect(server.requests.length).toBe(asked);
});

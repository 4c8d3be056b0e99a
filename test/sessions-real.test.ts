/** The real transcripts beside the repository, where they are: every one is found, with the agent that wrote it. */

import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { listSessions, sessionAt } from "../lib/sessions/sessions.ts";
import { temporaryHome } from "./support/home.ts";
import { ROOT } from "./support/run.ts";

const SHARED = join(ROOT, "..", "shared", "transcripts");
const isThere = existsSync(SHARED);
if (!isThere) console.log("skipped: the shared transcripts are not beside the repository");

function transcripts(folder: string): string[] {
  return readdirSync(join(SHARED, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => join(SHARED, folder, name));
}

test.skipIf(!isThere).each([
  ["claude", "claude"],
  ["claude-recorded", "claude"],
  ["pi", "pi"],
  ["pi-recorded", "pi"],
  ["codex", "codex"],
])("sessionAt() knows the agent of each real transcript in %s", (folder, agent) => {
  using home = temporaryHome();
  for (const file of transcripts(folder)) {
    const session = sessionAt(file, home.paths);
    if (!session) {
      // A hook's log, and files without a whole row of conversation, are no transcripts.
      console.log(`no transcript: ${file.slice(SHARED.length + 1)}`);
      continue;
    }
    expect([basename(file), session.agent]).toEqual([basename(file), agent]);
    if (agent === "claude") expect(session.id).toBe(basename(file, ".jsonl"));
    expect(session.name ?? "x").not.toMatch(/\p{Cc}/u);
  }
});

test.skipIf(!isThere)("listSessions() lists real projects with their subagents below their parents", () => {
  using home = temporaryHome();
  const root = join(SHARED, "claude", "claude-code-log", "real_projects");
  const sessions = listSessions({ ...home.paths, transcripts: [root] }, { subagents: true, described: true });
  const agents = sessions.filter(({ parentId }) => parentId !== undefined);
  expect(agents.length).toBeGreaterThan(4);
  expect(agents.every(({ id }) => id.startsWith("agent-"))).toBe(true);
  expect(sessions.some(({ id }) => id.startsWith("agent-acompact-"))).toBe(false);
  const listed = listSessions({ ...home.paths, transcripts: [root] }, { described: true });
  expect(listed.map(({ id }) => id).sort()).toEqual(
    sessions
      .filter(({ parentId }) => parentId === undefined)
      .map(({ id }) => id)
      .sort(),
  );
});

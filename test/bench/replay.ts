/**
 * Seen before on real transcripts: every failed command in the order of time, asked of the index as it was at that moment.
 *
 *     bun test/bench/replay.ts              prints what is said of each, for reading
 */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { shortId } from "../../lib/base/text.ts";
import { resolvePaths } from "../../lib/config/config.ts";
import { indexSessions } from "../../lib/index/indexing.ts";
import { describeSeen, seenBefore } from "../../lib/search/seen-before.ts";
import { listSessions } from "../../lib/sessions/sessions.ts";
import { openStore, type Store } from "../../lib/store/store.ts";
import { settingsWith } from "../support/index.ts";
import { atLeast, type BenchRow, inTemporaryFolder } from "./measure.ts";

const SHARED = resolve(import.meta.dir, "../../../shared");
const TRANSCRIPTS = ["transcripts", "bench/real2/claude"].map((folder) => join(SHARED, folder));

interface Failure {
  place: string;
  command: string;
  /** Empty where nothing is said. */
  said: string;
}

/** Replays the failed commands; nothing where the real transcripts are absent. */
async function replay(): Promise<Failure[]> {
  if (!TRANSCRIPTS.every((folder) => existsSync(folder))) return [];
  return await inTemporaryFolder(async (folder) => {
    const store = openStore(join(folder, "memory.db"));
    const paths = resolvePaths({ HOME: folder, SESSION_MEMORY_SESSIONS: TRANSCRIPTS.join(":") });
    const sessions = listSessions(paths, { subagents: true });
    await indexSessions({ store, sessions, settings: settingsWith() });
    const failures = replayIn(store);
    store.close();
    return failures;
  });
}

function replayIn(store: Store): Failure[] {
  const told = new Map<string, Set<number>>();
  const rows = store.db
    .prepare(
      `SELECT d.line, d.timestamp, coalesce(nullif(d.input, ''), d.target) AS command, d.result, s.id, s.cwd
       FROM deeds d JOIN sessions s ON s.number = d.session
       WHERE d.kind = 'command' AND d.outcome = 'failed' AND s.parent_id IS NULL ORDER BY d.timestamp`,
    )
    .all();
  return rows.map(({ line, timestamp, command, result, id, cwd }) => {
    const sessionId = String(id);
    const said = told.get(sessionId) ?? new Set();
    told.set(sessionId, said);
    const failed = {
      sessionId,
      cwd: cwd === null ? undefined : String(cwd),
      command: String(command),
      output: String(result),
    };
    const seen = seenBefore([store], failed, {
      now: new Date(String(timestamp)),
      said,
      isHidden: () => false,
      clean: (text) => text,
      nameOf: (session) => shortId(session.id),
    });
    const { text, shown } = describeSeen(seen);
    for (const key of shown) said.add(key);
    return { place: `${shortId(sessionId)}:${line}`, command: failed.command, said: text };
  });
}

/** How often it speaks, and of how many different errors. */
export async function rows(): Promise<BenchRow[]> {
  const failures = await replay();
  if (failures.length === 0) return [];
  const spoken = failures.filter(({ said }) => said !== "");
  const errors = new Set(spoken.map(({ said }) => /^- "(.*?)": in /m.exec(said)?.[1]));
  const silent = (100 * (failures.length - spoken.length)) / failures.length;
  const detail = `${spoken.length} of ${failures.length} spoken to`;
  return [
    atLeast("failed commands on which Seen before is silent", silent, 85, { unit: "%", detail }),
    atLeast("different errors whose end it knows", errors.size, 8, { unit: "" }),
  ];
}

if (import.meta.main) {
  const failures = await replay();
  for (const { place, command, said } of failures) {
    if (said !== "")
      console.log(
        `${place} $ ${command.split("\n")[0]?.slice(0, 100)}\n${said.split("\n").slice(1).join("\n")}\n`,
      );
  }
  console.log(`${failures.filter(({ said }) => said !== "").length} of ${failures.length} failed commands`);
}

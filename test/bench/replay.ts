/**
 * Seen before on real transcripts: every failed command in the order of time, asked of the index as it was at that moment.
 *
 *     bun test/bench/replay.ts              prints what is said of each, for reading
 */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { shortId } from "../../lib/base/text.ts";
import { resolvePaths } from "../../lib/config/config.ts";
import { describeSeen, seenBefore } from "../../lib/history/seen-before.ts";
import { indexSessions } from "../../lib/index/indexing.ts";
import { projectKey } from "../../lib/sessions/project.ts";
import { listSessions } from "../../lib/sessions/sessions.ts";
import { openStore, type Store } from "../../lib/store/store.ts";
import { type TemporaryHome, temporaryHome } from "../support/home.ts";
import { settingsWith } from "../support/index.ts";
import { scriptPath } from "../support/run.ts";
import {
  atLeast,
  atMost,
  type BenchRow,
  bun,
  emptyScript,
  interleaved,
  timeProcess,
  times,
} from "./measure.ts";

const HOOK = scriptPath("hooks/event.ts");
const SHARED = resolve(import.meta.dir, "../../../shared");
const TRANSCRIPTS = ["transcripts", "bench/real2/claude"].map((folder) => join(SHARED, folder));

interface Failure {
  place: string;
  command: string;
  /** Empty where nothing is said. */
  said: string;
}

const hasTranscripts = TRANSCRIPTS.every((folder) => existsSync(folder));

/** Runs `use` on an index of the real transcripts at its place in a home. */
async function withIndex<T>(use: (store: Store, home: TemporaryHome) => T | Promise<T>): Promise<T> {
  using home = temporaryHome();
  const store = openStore(home.paths.database);
  const paths = resolvePaths({ ...home.env, SESSION_MEMORY_SESSIONS: TRANSCRIPTS.join(":") });
  const sessions = listSessions(paths, { subagents: true });
  await indexSessions({ store, paths, sessions, settings: settingsWith() });
  try {
    return await use(store, home);
  } finally {
    store.close();
  }
}

function replayIn(store: Store): Failure[] {
  const told = new Map<string, Set<number>>();
  const rows = store
    .prepare(
      `SELECT r.line, r.at AS timestamp, coalesce(nullif(r.input, ''), r.target) AS command, r.result, s.id, s.cwd
       FROM rows r JOIN sessions s ON s.number = r.session
       WHERE r.kind = 'command' AND r.outcome = 'failed' AND s.parent_id IS NULL ORDER BY r.at`,
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
    const repository = repositoryOf(failed.cwd);
    const seen = seenBefore(store, failed, {
      now: new Date(String(timestamp)),
      said,
      isHidden: () => false,
      nameOf: (session) => shortId(session.id),
      originOf: ({ project }) => ({ owner: "", isHere: repositoryOf(project) === repository }),
    });
    const { text, shown } = describeSeen(seen);
    for (const key of shown) said.add(key);
    return { place: `${shortId(sessionId)}:${line}`, command: failed.command, said: text };
  });
}

/** Returns the folder of a repository: worktrees beside it (`shop-worktrees/fix-1`) were its own while they stood. */
function repositoryOf(folder = ""): string {
  return projectKey(folder).replace(/-worktrees\/[^/]+$/, "");
}

/** How often it speaks, of how many different errors, and what that costs a command that failed. */
export async function rows(): Promise<BenchRow[]> {
  if (!hasTranscripts) return [];
  return await withIndex(async (store, home) => {
    const failures = replayIn(store);
    const spoken = failures.filter(({ said }) => said !== "");
    const errors = new Set(spoken.map(({ said }) => /^- "(.*?)": in /m.exec(said)?.[1]));
    const silent = (100 * (failures.length - spoken.length)) / failures.length;
    const detail = `${spoken.length} of ${failures.length} spoken to`;
    return [
      atLeast("failed commands on which Seen before is silent", silent, 85, { unit: "%", detail }),
      atLeast("different errors whose end it knows", errors.size, 8, { unit: "" }),
      ...(await costs(home)),
    ];
  });
}

async function costs(home: TemporaryHome): Promise<BenchRow[]> {
  const empty = emptyScript(home.root);
  let sessions = 0;
  const failing = async (error: string, isKnown: boolean) => {
    const stdin = JSON.stringify({
      hook_event_name: "PostToolUseFailure",
      session_id: `session-${sessions++}`,
      cwd: home.project,
      tool_input: { command: "rtk bun run test" },
      error: `Exit code 2\n${error}`,
    });
    const { ms, stdout } = await timeProcess(bun(HOOK, "post-tool-use-failure"), {
      env: home.env,
      cwd: home.project,
      stdin,
    });
    if (stdout.includes("[Seen Before]") !== isKnown) throw new Error(`Expected otherwise of "${error}"`);
    return ms;
  };
  const measured = await interleaved(
    {
      silent: () => failing("error: this zebra was never seen", false),
      speaking: () => failing("error: unrecognized subcommand 'bun'", true),
      empty: async () => (await timeProcess(bun(empty), { env: home.env, cwd: home.project })).ms,
    },
    21,
  );
  const row = (which: "silent" | "speaking", name: string, bar: number) =>
    atMost(`${name} / empty Bun`, measured[which] / measured.empty, bar, {
      detail: times(measured[which], measured.empty),
    });
  return [
    row("silent", "a failing command of which nothing is known", 5),
    // 120 ms where an empty start takes 5
    row("speaking", "  the same, whose end is known", 24),
  ];
}

if (import.meta.main && hasTranscripts) {
  const failures = await withIndex(replayIn);
  const spoken = failures.filter(({ said }) => said !== "");
  for (const { place, command, said } of spoken) {
    const [, ...lines] = said.split("\n");
    console.log(`${place} $ ${command.split("\n")[0]?.slice(0, 100)}\n${lines.join("\n")}\n`);
  }
  console.log(`${spoken.length} of ${failures.length} failed commands`);
}

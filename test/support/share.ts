/** Homes of people who share through one hub: each with its own config, transcripts and index. */

import { beforeAll, setDefaultTimeout } from "bun:test";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { ShareConfig } from "../../lib/config/config.ts";
import { withState } from "../../lib/store/state.ts";
import { openStore } from "../../lib/store/store.ts";
import { type TemporaryHome, temporaryHome, write, writeClaude } from "./home.ts";
import { turn } from "./index.ts";
import { createDatabase, type Database } from "./postgres.ts";
import type { Row } from "./rows.ts";

export const PROJECT = "github.com/acme/shop";

export interface Sharer extends TemporaryHome {
  /** Runs `share.ts --json` and returns what it prints. */
  share(...args: string[]): Promise<ShareAnswer>;
  configure(config: { share?: Partial<ShareConfig> } & Record<string, unknown>): void;
}

interface ShareAnswer {
  hub: string;
  published?: { sessions: number; chunks: number; withdrawn: number };
  pulled?: { sessions: number; chunks: number; removed: number };
}

/** Makes the hub's tables, as its admin does once. */
export async function initHub(postgres: Pick<Database, "url">): Promise<void> {
  using home = temporaryHome({ SESSION_MEMORY_HUB_ADMIN_URL: postgres.url("hub_admin") });
  await home.ok("share", "--init", "hub_users");
}

/** A hub for all tests of a block. */
export function hubPerBlock(): Database {
  const hub = {} as Database;
  setDefaultTimeout(60_000); // the block that starts the server waits for it
  beforeAll(async () => void Object.assign(hub, await createHub()));
  return hub;
}

/** A database with the hub's tables. */
export async function createHub(): Promise<Database> {
  const hub = await createDatabase();
  await initHub(hub);
  return hub;
}

/** A person's machine whose project is a clone of `PROJECT`. */
export function sharer(
  postgres: Pick<Database, "url">,
  { role, machine, share = {} }: { role: string; machine: string; share?: Partial<ShareConfig> },
): Sharer {
  const home = temporaryHome({ SESSION_MEMORY_HUB_URL: postgres.url(role) });
  writeFileSync(
    join(home.project, ".git", "config"),
    '[remote "origin"]\n\turl = git@github.com:acme/shop.git\n',
  );
  const sharer: Sharer = Object.assign(home, {
    configure: ({ share: changed, ...rest }: Parameters<Sharer["configure"]>[0]) => {
      const projects = { [PROJECT]: "team_app" };
      write(
        home.paths.config,
        JSON.stringify({ ...rest, share: { machine, projects, ...share, ...changed } }),
      );
    },
    share: async (...args: string[]) => JSON.parse(await home.ok("share", "--json", ...args)) as ShareAnswer,
  });
  sharer.configure({});
  return sharer;
}

/** Writes a Claude Code session of one question and answer per pair. */
export function say(home: TemporaryHome, id: string, ...pairs: [question: string, answer: string][]): string {
  return writeClaude(home, { id, rows: conversation(home.project, id, pairs) });
}

export function conversation(cwd: string, sessionId: string, pairs: readonly [string, string][]): Row[] {
  const rows = pairs.map(([question, answer], minute) => turn(question, answer, { minute, sessionId }));
  const start = Date.now() - 1_800_000;
  return rows
    .flat()
    .map((row, at) => ({ ...row, cwd, timestamp: new Date(start + at * 1000).toISOString() }));
}

/** An id that is a uuid, told apart by a number. */
export function uuid(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
}

/** The words of own sessions, or of others', that the index holds, by session and position. */
export function wordsIn(
  { paths }: Pick<Sharer, "paths">,
  whose: "NULL" | "NOT NULL" = "NULL",
): Record<string, string[]> {
  const store = openStore(paths.database);
  try {
    const rows = store
      .prepare(
        `SELECT session_id, content FROM session_chunks JOIN sessions s ON s.number = session
         WHERE owner IS ${whose} ORDER BY session_id, chunk_index`,
      )
      .all();
    const words: Record<string, string[]> = {};
    for (const { session_id, content } of rows) {
      words[String(session_id)] = [...(words[String(session_id)] ?? []), String(content)];
    }
    return words;
  } finally {
    store.close();
  }
}

/** The words of others' sessions. */
export const pulledWords = (home: Pick<Sharer, "paths">) => wordsIn(home, "NOT NULL");

/** Lets the last pull have been some days ago. */
export function notePull({ paths }: Pick<Sharer, "paths">, daysAgo = 0): void {
  const at = new Date(Date.now() - daysAgo * 86_400_000).toISOString();
  withState(paths, (db) =>
    db.prepare("INSERT OR REPLACE INTO share_facts (name, value) VALUES ('pulled_at', ?)").run(at),
  );
}

/** A server in the place of a hub, which does this with every connection. */
export async function listenAsHub(answer: (socket: Socket) => void, host = "127.0.0.1") {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.on("error", () => {});
    answer(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: (role: string) => `postgresql://${role}:${role}-pw@${host}:${port}/memory`,
    connections: () => connections,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** The fixtures of each host, as `test/fixtures/hosts/<agent>` has them, laid at the place where that host keeps its sessions. */

import { Database } from "bun:sqlite";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { dashedPath } from "../../lib/base/text.ts";
import { encodeClaudeCwd } from "../../lib/hosts/claude.ts";
import { findHost } from "../../lib/hosts/hosts.ts";
import { FIXTURES_CWD } from "./fixtures.ts";
import type { TemporaryHome } from "./home.ts";
import { uuidFrom } from "./rows.ts";

const FOLDER = join(import.meta.dir, "..", "fixtures", "hosts");
export const AGENTS = readdirSync(FOLDER);

/**
 * What there is of a host: `zebra`, the same conversation in the form of each host, and `ostrich`, a subagent of it; what its
 * own program wrote when it was `recorded`.
 */
export type Part = "zebra" | "ostrich" | "recorded";

/** The time of the first row of the conversation. Each further one is a second later. */
const START = Date.parse("2026-02-03T14:30:00.000Z");

/** Returns the id of the conversation, or of another session like it, as a host gives one. */
export function hostId(agent: string, seed = "limit"): string {
  if (agent === "kimi") return `session_${uuidFrom(seed)}`;
  if (agent === "cline") return `1770129000000_${uuidFrom(seed).slice(0, 8)}`;
  return agent === "opencode" || agent === "kilo" ? `ses_${seed}0a1b2c3d` : uuidFrom(seed);
}

/** Returns the id of the subagent, in Kimi Code behind its parent's. */
function subagentId(agent: string): string {
  return agent === "kimi" ? "agent-0" : hostId(agent, "sub");
}

export interface Laid {
  /** @default the fixture's */
  id?: string | undefined;
  /** The directory it works in, ISO time of its first row. @default the fixture's */
  cwd?: string | undefined;
  at?: string | undefined;
  /** Texts of it in other words. */
  words?: Record<string, string>;
  /** Parts of its rows, as they stand there, and what is written in their places. */
  rows?: Record<string, string>;
}

/** Lays a part of a host's fixtures; returns its files, those of databases without what lies beside them. */
export function layHost(home: TemporaryHome, agent: string, part: Part = "zebra", laid: Laid = {}): string[] {
  const from = join(FOLDER, agent, part);
  if (!existsSync(from)) return [];
  const to = home.paths.expand(findHost(agent)?.home ?? "");
  const change = changer(part === "ostrich" ? subagentId(agent) : hostId(agent), laid);
  return readdirSync(from, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(from, name)).isFile())
    .map((name) => {
      const text = change(readFileSync(join(from, name), "utf8"));
      const file = join(to, change(name).replace(/\.sql$/, ""));
      mkdirSync(dirname(file), { recursive: true });
      if (name.endsWith(".sql")) run(file, text);
      else writeFileSync(file, text);
      const at = lastTime(text) ?? new Date(START + shift(laid) + 6000);
      utimesSync(file, at, at);
      return file;
    });
}

/** In the id of the conversation of most hosts: a subagent names it. */
const PARENT = uuidFrom("limit");
/** An id as `uuidFrom` gives them. */
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}/g;

function shift({ at }: Laid): number {
  return at === undefined ? 0 : Date.parse(at) - START;
}

/** Returns what writes the conversation for another session, directory, time, or in other words. */
function changer(known: string, laid: Laid): (text: string) => string {
  const { id, cwd, words = {}, rows = {} } = laid;
  const ms = shift(laid);
  const short = (whole: string) => `-${whole.slice(0, 8)}.jsonl`; // Gemini CLI names files so
  const said = Object.entries(words).map(
    ([a, b]) => [a, JSON.stringify(b).slice(1, -1).replaceAll("'", "''")] as const,
  );
  const pairs = [
    ...(id === undefined
      ? []
      : [
          [known, id] as const,
          [known.replace("session_", ""), id.replace("session_", "")] as const,
          [short(known), short(id)] as const,
        ]),
    ...(cwd === undefined
      ? []
      : [
          [FIXTURES_CWD, cwd] as const,
          [encodeClaudeCwd(FIXTURES_CWD), encodeClaudeCwd(cwd)] as const,
          [dashedPath(FIXTURES_CWD), dashedPath(cwd)] as const,
        ]),
    ...said,
    ...Object.entries(rows),
  ];
  return (text) => {
    const named = pairs.reduce((whole, [a, b]) => whole.replaceAll(a, b), text);
    // rows with the ids of another session's would be copies of these
    const changed =
      id === undefined
        ? named
        : named.replace(UUID, (row) => (id.includes(row) || row === PARENT ? row : uuidFrom(row + id)));
    if (ms === 0) return changed;
    return changed
      .replace(/2026-02-03T14:30:0\d\.000Z/g, (time) => new Date(Date.parse(time) + ms).toISOString())
      .replace(/Someday, Feb 3, 2026, 4:30 PM \(UTC\+2\)/g, `Someday, ${inWords(new Date(START + ms))} (UTC)`)
      .replace(/\b17701290\d{5}\b/g, (time) => String(Number(time) + ms));
  };
}

/** Writes a time as Cursor does. */
function inWords(time: Date): string {
  const style = {
    month: "short",
    day: "numeric",
    year: "numeric",
    hour: "numeric",
    minute: "2-digit",
  } as const;
  return time.toLocaleString("en-US", { ...style, timeZone: "UTC" }).replace("\u202f", " ");
}

/** Returns the newest of the times that a text names. */
function lastTime(text: string): Date | undefined {
  const times = Array.from(text.matchAll(/\b(20\d\d-\d\d-\d\dT[\d:.]+Z|1[78]\d{11})\b/g), ([, time = ""]) =>
    /T/.test(time) ? Date.parse(time) : Number(time),
  );
  return times.length > 0 ? new Date(Math.max(...times)) : undefined;
}

/** Runs SQL on a database, made when missing, as a client does that is running. */
export function run(file: string, sql: string): string {
  mkdirSync(dirname(file), { recursive: true });
  using db = new Database(file);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; ${sql}`);
  return "";
}

/** Says something in a session of opencode, that many seconds after its start. */
export function sayInOpencode({ home }: TemporaryHome, id: string, second: number, text: string): void {
  const [message, time] = [`msg_${id}_${String(second).padStart(4, "0")}`, START + second * 1000];
  const data = (value: object) => `'${JSON.stringify(value).replaceAll("'", "''")}'`;
  run(
    join(home, ".local/share/opencode/opencode.db"),
    `INSERT INTO message (id, session_id, time_created, time_updated, data)
     VALUES ('${message}', '${id}', ${time}, ${time}, ${data({ role: "user", time: { created: time } })});
     INSERT INTO part (id, message_id, session_id, time_created, time_updated, data)
     VALUES ('prt_${message}', '${message}', '${id}', ${time}, ${time}, ${data({ type: "text", text })});
     UPDATE session SET time_updated = ${time} WHERE id = '${id}'`,
  );
}

/** Homes with sessions of every format to forget, and where their words are held. */

import { expect } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { claudeAssistant, claudeState, claudeUser } from "./claude.ts";
import { codexAnswer, codexCall, codexMeta, codexPrompt } from "./codex.ts";
import type { FakeOpenAI } from "./fake-openai.ts";
import {
  type TemporaryHome,
  temporaryHome,
  testPaths,
  write,
  writeClaude,
  writeCodex,
  writePi,
} from "./home.ts";
import { contentOf, openHomeStore } from "./index.ts";
import { piAssistant, piEntry, piHeader, piLinked, piUser } from "./pi.ts";
import { plainLine } from "./plain.ts";
import { type Row, secondsAgo, uuidFrom } from "./rows.ts";

export const DIMENSIONS = 64;
/** Every planted word begins with it, and no stemmer shortens them. */
export const MARK = "zqvictim";
export const AGENTS = ["claude", "pi", "codex", "plain"] as const;
export type Kind = (typeof AGENTS)[number];

export function idOf(kind: Kind, who: string): string {
  return kind === "plain" ? `${who}-plain-notes` : uuidFrom(`${who} ${kind}`);
}

/** One conversation in any format: `mark` is a part of every word of its user, its assistant, its tool and its title. */
export function writeSession(
  home: TemporaryHome,
  kind: Kind,
  { who, mark }: { who: string; mark: string },
): string {
  const id = idOf(kind, who);
  const asked = `please fix the ${mark}user parser of ${kind}, we decided to use a table`;
  const answered = `Fixed the ${mark}answer parser of ${kind} in the table`;
  const path = `src/${mark}tool.ts`;
  const at = secondsAgo(120);
  const cwd = home.project;
  if (kind === "claude") {
    const tools = [{ name: "Edit", input: { file_path: join(cwd, path), old_string: "a", new_string: "b" } }];
    return writeClaude(home, {
      id,
      rows: [
        claudeUser({ text: asked, at, cwd, sessionId: id }),
        ...claudeAssistant({ text: answered, tools, at, cwd, sessionId: id }),
        claudeState("custom-title", { customTitle: `${mark}title of claude` }, id),
      ],
    });
  }
  if (kind === "pi") {
    const tools = [{ name: "edit", arguments: { path, oldText: "a", newText: "b" } }];
    const rows = piLinked([
      piHeader({ id, cwd, at }),
      piUser({ text: asked, at }),
      piAssistant({ text: answered, tools, at }),
      piEntry("session_info", { name: `${mark}title of pi` }, { at }),
    ]);
    return writePi(home, { id, at, rows });
  }
  if (kind === "codex") {
    const rows: (Row | Row[])[] = [
      codexMeta({ id, cwd, at }),
      codexPrompt({ text: asked, at }),
      codexCall({ name: "shell", arguments: { command: ["cat", path] }, at }),
      codexAnswer({ text: answered, at }),
    ];
    return writeCodex(home, { id, at, rows });
  }
  return write(join(home.root, "plain", `${id}.jsonl`), [
    plainLine("user", asked, at),
    plainLine("assistant", answered, at),
  ]);
}

export function homeWithAll(): TemporaryHome {
  const home = temporaryHome();
  const folders = [
    join(home.paths.claude, "projects"),
    join(home.paths.pi, "sessions"),
    join(home.paths.codex, "sessions"),
    join(home.root, "plain"),
  ];
  home.env.SESSION_MEMORY_SESSIONS = folders.join(":");
  home.paths = testPaths(home.env);
  return home;
}

export function configure(home: TemporaryHome, server: FakeOpenAI, more: object = {}): void {
  const at = { baseUrl: server.baseUrl, apiKeyEnv: "NO_KEY", model: "fake" };
  home.configure({ timezone: "UTC", embedding: { ...at, dimensions: DIMENSIONS }, ...more });
}

function withLlm(server: FakeOpenAI): object {
  return {
    llm: {
      baseUrl: server.baseUrl,
      apiKeyEnv: "NO_KEY",
      model: "fake",
      prices: { fake: { input: 0, output: 0 } },
    },
  };
}

/** Everything that can be held of all sessions: index, vectors, model's topics, ledgers, names, notes, marks, log, pages. */
export async function holdEverything(
  home: TemporaryHome,
  server: FakeOpenAI,
  ids: readonly string[],
): Promise<void> {
  configure(home, server, withLlm(server));
  server.script((request) => {
    const pieces = String(request.body.messages.at(-1).content)
      .split(/^\d+\.$/m)
      .slice(1);
    const topics = pieces.map((text, i) => ({
      chunk: i + 1,
      tags: [text.includes(MARK) ? `${MARK}topic` : "parsers"],
    }));
    return JSON.stringify({ topics });
  });
  await home.ok("embed", "--topics");
  configure(home, server);
  for (const id of ids) {
    await home.ok("observe-compact", id, "--observe");
    await home.ok("save-session", id);
  }
  await home.ok("index-meta", ...ids, "--force");
  await home.prompt(`what of @@${ids[0]}?`);
  await home.ok("search", `${MARK}user`);
  await home.ok("report", "--all");
}

export function filesUnder(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** All files of ours: state, pi's meta files, notes. */
export function ours(home: TemporaryHome): string[] {
  const folders = [home.paths.home, join(home.paths.pi, "sessions-meta"), join(home.project, "memory")];
  return folders.flatMap(filesUnder).filter((file) => file !== home.paths.config);
}

/** Those of them that hold a text; a database also holds what is in its log. */
export function holding(home: TemporaryHome, text: string): string[] {
  const files = ours(home)
    .filter((file) => readFileSync(file).toString("latin1").toLowerCase().includes(text))
    .map((file) => file.slice(home.root.length).replace(/-wal$/, ""));
  return [...new Set(files)];
}

/** What is held of sessions whose words have no mark. */
export function ofOthers(home: TemporaryHome, others: readonly string[]): unknown {
  const store = openHomeStore(home);
  const { chunks, sessions, state } = contentOf(store) as Record<string, Record<string, unknown>[]>;
  expect(store.db.vectors.mode).toBe("vec0");
  const vectors = store.db
    .prepare(
      `SELECT session_id, chunk_index, hex(vec_to_json(e.embedding)) AS bits FROM session_embeddings e
       JOIN session_chunks c ON c.id = e.chunk_id ORDER BY 1, 2`,
    )
    .all();
  const integrity = store.db.prepare("PRAGMA integrity_check").get();
  store.db.exec("INSERT INTO chunks_fts(chunks_fts) VALUES ('integrity-check')");
  store.close();
  const isTheirs = (row: Record<string, unknown>) => others.includes(String(row.session_id ?? row.id));
  const files = ours(home).filter((file) => others.some((id) => readFileSync(file, "utf8").includes(id)));
  const texts = files
    .filter((file) => /meta\.json$|\.md$|\.jsonl$/.test(file))
    .map((file) => [file, readFileSync(file, "utf8")]);
  return [chunks, sessions, state, vectors]
    .map((rows) => rows?.filter(isTheirs))
    .concat([texts as never, integrity as never]);
}

export function writeOther(home: TemporaryHome): string {
  const id = uuidFrom("some other");
  writeClaude(home, { id, rows: [claudeUser({ text: "hello", sessionId: id })] });
  return id;
}

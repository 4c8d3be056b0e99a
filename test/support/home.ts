/** A user's home made for one test: the hosts' places with transcripts in them, a project folder, and nothing else. */

import { afterEach, beforeEach, expect } from "bun:test";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { type Environment, type PathsWithRules, resolvePaths } from "../../lib/config/config.ts";
import { encodeClaudeCwd } from "../../lib/hosts/claude.ts";
import type { Agent } from "../../lib/hosts/session.ts";
import { TABLE } from "../../lib/hosts/table.ts";
import { metaFile, type SessionMeta } from "../../lib/sessions/meta.ts";
import { CLAUDE_SESSION } from "./claude.ts";
import { CODEX_SESSION } from "./codex.ts";
import { FIXTURES, FIXTURES_CWD } from "./fixtures.ts";
import { PI_SESSION } from "./pi.ts";
import { jsonl, type Row, uuidFrom } from "./rows.ts";
import { type Finished, runScript } from "./run.ts";
import type { Session } from "./world.ts";

export interface TemporaryHome {
  /** Everything lies in here. */
  root: string;
  home: string;
  /** A git repository without commits: the directory the sessions work in. */
  project: string;
  /** The whole environment for a process that shall see this home and nothing of the machine. */
  env: Environment;
  paths: TestPaths;
  /** Writes config.json. */
  configure(settings: object): void;
  /** Runs a script or a hook in the project. */
  run(name: string, ...args: string[]): Promise<Finished>;
  /** Runs a hook of Claude Code on this input. */
  hook(name: string, input: object | string): Promise<Finished>;
  /** Submits a prompt in Claude Code, in a session of no transcript unless told otherwise; returns what is injected. */
  prompt(
    text: string,
    fields?: { session_id?: string; transcript_path?: string; cwd?: string },
  ): Promise<string>;
  /** Runs one that must succeed and returns what it prints. */
  ok(name: string, ...args: string[]): Promise<string>;
  /** Runs one that must succeed with `--json` and returns the document. */
  json(name: string, ...args: string[]): Promise<ReturnType<typeof JSON.parse>>;
  /** What `lay` has laid in it (test/support/world.ts). */
  sessions: Map<string, Session>;
  /** What to do before it is removed. */
  atEnd: (() => void)[];
  remove(): void;
  [Symbol.dispose](): void;
}

/** The paths of an environment, with the homes of hosts. */
export type TestPaths = PathsWithRules & Record<"claude" | "pi" | "codex" | "openclaw", string>;

export function testPaths(env: Environment): TestPaths {
  const paths = resolvePaths(env);
  const homes = TABLE.map(({ agent, home }) => [agent, paths.expand(home)] as const);
  return {
    ...paths,
    ...(Object.fromEntries(homes) as Pick<TestPaths, "claude" | "pi" | "codex" | "openclaw">),
  };
}

const roots = new Set<string>();
process.once("exit", () => {
  for (const root of roots) rmSync(root, { recursive: true, force: true });
});

/** A fresh home. Removed by `using`, by `remove()`, or when the process ends. */
export function temporaryHome(variables: Environment = {}): TemporaryHome {
  const root = mkdtempSync(join(tmpdir(), "session-memory-home-"));
  const home = join(root, "home");
  const project = join(root, "shop");
  mkdirSync(home);
  mkdirSync(join(project, ".git"), { recursive: true });
  writeFileSync(join(project, ".git", "HEAD"), "ref: refs/heads/main\n");
  const env = { HOME: home, PATH: process.env.PATH, TZ: "UTC", LANG: "C.UTF-8", ...variables };
  roots.add(root);
  return {
    root,
    home,
    project,
    env,
    paths: testPaths(env),
    configure(settings) {
      write(this.paths.config, JSON.stringify(settings));
    },
    run(name, ...args) {
      return runScript(name, args, { env: this.env, cwd: this.project });
    },
    hook(name, input) {
      const stdin = typeof input === "string" ? input : JSON.stringify(input);
      return runScript(`hooks/${name === "moment" ? name : "event"}.ts`, [name], {
        env: this.env,
        cwd: this.project,
        stdin,
      });
    },
    async prompt(text, fields) {
      const { root, project, env } = this;
      const session = { session_id: uuidFrom("me"), transcript_path: join(root, "me.jsonl"), cwd: project };
      const input = { hook_event_name: "UserPromptSubmit", prompt: text, ...session, ...fields };
      const options = { env, cwd: input.cwd, stdin: JSON.stringify(input) };
      const { stdout, ...ended } = await runScript("hooks/event.ts", ["user-prompt-submit"], options);
      expect(ended).toEqual({ stderr: "", exitCode: 0 });
      return stdout === "" ? "" : JSON.parse(stdout).hookSpecificOutput.additionalContext;
    },
    async ok(name, ...args) {
      const { stdout, stderr, exitCode } = await this.run(name, ...args);
      expect([name, args, exitCode, exitCode === 0 ? "" : stderr]).toEqual([name, args, 0, ""]);
      return stdout;
    },
    async json(name, ...args) {
      return JSON.parse(await this.ok(name, ...args, "--json"));
    },
    sessions: new Map(),
    atEnd: [],
    remove() {
      for (const end of this.atEnd.splice(0)) end();
      roots.delete(root);
      rmSync(root, { recursive: true, force: true });
    },
    [Symbol.dispose]() {
      this.remove();
    },
  };
}

/** A home that is a fresh one in each test of the file. */
export function homePerTest(variables: Environment = {}): TemporaryHome {
  const home = {} as TemporaryHome;
  beforeEach(() => void Object.assign(home, temporaryHome(variables)));
  afterEach(() => home.remove());
  return home;
}

export interface TranscriptOptions {
  id?: string;
  /** The session's directory; the home's project by default. */
  cwd?: string;
  /** ISO time of the file's name, for the hosts that have one there. */
  at?: string;
  /** Rows, or the file's whole text. */
  rows: readonly (Row | readonly Row[])[] | string;
}

/** Puts a Claude Code transcript where the host would; `parentId` makes it a subagent's. */
export function writeClaude(
  home: TemporaryHome,
  options: TranscriptOptions & { parentId?: string; meta?: Row },
): string {
  const folder = join(home.paths.claude, "projects", encodeClaudeCwd(options.cwd ?? home.project));
  const id = options.id ?? CLAUDE_SESSION;
  if (options.parentId === undefined) return write(join(folder, `${id}.jsonl`), options.rows);
  const stem = join(folder, options.parentId, "subagents", id.startsWith("agent-") ? id : `agent-${id}`);
  if (options.meta) write(`${stem}.meta.json`, JSON.stringify(options.meta));
  return write(`${stem}.jsonl`, options.rows);
}

/** Puts a pi session where the host would. */
export function writePi(home: TemporaryHome, options: TranscriptOptions): string {
  const cwd = options.cwd ?? home.project;
  const folder = join(home.paths.pi, "sessions", `--${cwd.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-")}--`);
  const time = (options.at ?? "2026-02-03T14:30:00.000Z").replace(/[:.]/g, "-");
  return write(join(folder, `${time}_${options.id ?? PI_SESSION}.jsonl`), options.rows);
}

/** Puts a Codex rollout where the host would. */
export function writeCodex(home: TemporaryHome, options: TranscriptOptions): string {
  const at = options.at ?? "2026-02-03T14:30:00.000Z";
  const folder = join(home.paths.codex, "sessions", ...at.slice(0, 10).split("-"));
  const time = at.slice(0, 19).replaceAll(":", "-");
  return write(join(folder, `rollout-${time}-${options.id ?? CODEX_SESSION}.jsonl`), options.rows);
}

/** Names a session in a Volute folder: an Agent SDK session by its id, a pi session by a copy of its file. */
export function writeVolute(
  mind: string,
  name: string,
  session: { sessionId: string } | { piFile: string },
): void {
  const folder = join(mind, ".volute");
  if ("sessionId" in session) {
    write(join(folder, "sessions", `${name}.json`), JSON.stringify({ sessionId: session.sessionId }));
  } else {
    const target = join(folder, "pi-sessions", name, basename(session.piFile));
    mkdirSync(dirname(target), { recursive: true });
    cpSync(session.piFile, target);
  }
}

/** Gives a session a meta file, as a model would have made it. */
export function writeMeta(
  home: TemporaryHome,
  { agent = "claude", sessionId, ...fields }: Partial<SessionMeta> & { agent?: Agent; sessionId: string },
): string {
  const meta: SessionMeta = {
    schemaVersion: 1,
    sessionId,
    sessionFile: "/x.jsonl",
    name: "a session",
    description: "d",
    summary: "s",
    tags: [],
    cwd: home.project,
    createdAt: "2026-01-01T00:00:00.000Z",
    updatedAt: "2026-01-01T00:00:00.000Z",
    model: "tiny",
    lastIndexedLeafId: "line:1",
    ...fields,
  };
  return write(metaFile(home.paths, { id: sessionId, agent }), JSON.stringify(meta));
}

/** Writes a file with its folders; rows become JSONL. Returns the path. */
export function write(file: string, content: TranscriptOptions["rows"]): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : jsonl(...content));
  return file;
}

/** Gives every transcript under `folder` the time of its last row, as if it had been left alone since. */
function ageTranscripts(folder: string): void {
  for (const name of filesUnder(folder).filter((path) => path.endsWith(".jsonl"))) {
    const file = join(folder, name);
    const rows = readFileSync(file, "utf8").matchAll(/"timestamp":"(\d{4}-[^"]+)"/g);
    const times = Array.from(rows, (match) => Date.parse(match[1] ?? "")).filter(Number.isFinite);
    if (times.length > 0) utimesSync(file, new Date(Math.max(...times)), new Date(Math.max(...times)));
  }
}

/** Gives a transcript's rows, and the file, the time of so many seconds ago. Returns the path. */
export function lastSaid(file: string, seconds: number): string {
  const at = new Date(Date.now() - seconds * 1000);
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace(/"timestamp":"\d{4}-[^"]+"/g, `"timestamp":"${at.toISOString()}"`));
  utimesSync(file, at, at);
  return file;
}

/**
 * Lays every committed fixture out as a real home, working in the home's project: Claude Code's projects, pi's
 * sessions, Codex's day folders, an OpenClaw agent, a plain folder and a Volute mind. Each file's time is that of
 * its last row.
 */
export function layFixtures(home: TemporaryHome): {
  /** Folder of plain transcripts, for `--sessions`. */
  plain: string;
  /** A Volute mind's working directory: `email` is a pi session, `discord` a Claude Code one. */
  mind: string;
} {
  const into = (fixture: string) => readFileSync(fixture, "utf8").replaceAll(FIXTURES_CWD, home.project);
  const claude = join(home.paths.claude, "projects", encodeClaudeCwd(home.project));
  for (const file of filesUnder(FIXTURES.claude.folder)) {
    write(join(claude, file), into(join(FIXTURES.claude.folder, file)));
  }
  for (const { file, id, startedAt } of Object.values(FIXTURES.pi)) {
    writePi(home, { id, at: startedAt, rows: into(file) });
  }
  for (const { file, id, startedAt } of Object.values(FIXTURES.codex)) {
    writeCodex(home, { id, at: startedAt, rows: into(file) });
  }
  const plain = join(home.root, "sessions");
  for (const { file, id } of Object.values(FIXTURES.plain)) write(join(plain, `${id}.jsonl`), into(file));
  const rollout = FIXTURES.pi.deploy;
  write(
    join(home.paths.openclaw, "agents", "main", "sessions", `${OPENCLAW_SESSION}.jsonl`),
    into(rollout.file).replaceAll(rollout.id, OPENCLAW_SESSION),
  );
  const mind = join(home.root, "mind");
  writeVolute(mind, "discord", { sessionId: FIXTURES.claude.posting.id });
  writeVolute(mind, "new-scratch", { sessionId: FIXTURES.claude.deploy.id });
  const email = FIXTURES.pi.invoice;
  write(join(mind, ".volute", "pi-sessions", "email", basename(email.file)), into(email.file));
  mkdirSync(join(mind, "home"));
  ageTranscripts(home.root);
  return { plain, mind: join(mind, "home") };
}

/** The id under which `layFixtures` gives OpenClaw a copy of the pi deploy session. */
export const OPENCLAW_SESSION = "8555a0a4-1f3c-4d2b-9a77-3c1e5b9d0f21";

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

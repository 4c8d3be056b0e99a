/** The glance may say that nothing is new only where a look would find nothing. */

import { expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { takeLook } from "../lib/activity/look.ts";
import { readUpdates } from "../lib/activity/news.ts";
import { readHookSettings, resolvePaths } from "../lib/config/config.ts";
import { type Host, isAllAsItWas } from "../lib/sessions/glance.ts";
import { claudeAssistant, claudeUser } from "./support/claude.ts";
import { codexMeta, codexPrompt } from "./support/codex.ts";
import {
  claudeFolder,
  type TemporaryHome,
  temporaryHome,
  write,
  writeClaude,
  writeCodex,
  writePi,
  writeVolute,
} from "./support/home.ts";
import { piHeader, piUser } from "./support/pi.ts";
import { fuzzSeed, type Random, seeded } from "./support/random.ts";
import { jsonl, type Row, secondsAgo, uuidFrom } from "./support/rows.ts";
import { runScript } from "./support/run.ts";

const ME = uuidFrom("me");
const HOOK = "hooks/claude/user-prompt-submit.ts";
const FLAGS = ["--no-env-file"];

interface World {
  home: TemporaryHome;
  env: Record<string, string | undefined>;
  /** Where the prompt is written. */
  cwd: string;
  /** Milliseconds that the clock is off. */
  skew: number;
  made: number;
}

function world(home: TemporaryHome): World {
  return { home, env: { ...home.env }, cwd: home.project, skew: 0, made: 0 };
}

function stdinOf({ home, cwd }: World): string {
  const transcript_path = ownFile(home);
  return JSON.stringify({ session_id: ME, transcript_path, cwd, prompt: "what now?" });
}

function ownFile(home: TemporaryHome): string {
  return join(home.paths.claude, "projects", claudeFolder(home.project), `${ME}.jsonl`);
}

function glance(at: World): boolean {
  const host: Host = { env: at.env, execArgv: FLAGS, cwd: () => at.cwd };
  return isAllAsItWas(stdinOf(at), host, Date.now() + at.skew);
}

/** What a look finds, without leaving a trace. */
function look({ home, env, cwd, skew }: World): "nothing" | "news" | "failure" {
  const paths = resolvePaths(env);
  const settings = readHookSettings(paths);
  if (!settings) return "failure";
  const current = { id: ME, file: ownFile(home), cwd };
  const now = Date.now() + skew;
  try {
    const look = takeLook({ paths, looker: current, scope: settings.activity.scope, now });
    if (look.changed.length === 0) return "nothing";
    return readUpdates({ paths, settings, current, look }).isForeign ? "nothing" : "news";
  } catch {
    return "failure";
  }
}

async function prompt(at: World): Promise<string> {
  const { stdout, stderr, exitCode } = await runScript(HOOK, [], {
    cwd: at.cwd,
    env: at.env,
    stdin: stdinOf(at),
  });
  expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  return stdout;
}

/** Folders are taken to be as they were only a tick of the clock after they changed. */
const tick = () => Bun.sleep(25);

async function quiet(home: TemporaryHome): Promise<World> {
  const at = world(home);
  for (let i = 0; i < 3; i++) {
    await tick();
    await prompt(at);
  }
  expect(glance(at)).toBe(true);
  return at;
}

function said(home: TemporaryHome, id: string, cwd = home.project): string {
  return writeClaude(home, {
    id,
    cwd,
    rows: [claudeUser({ sessionId: id, cwd, text: "so", at: secondsAgo(60) })],
  });
}

const more = (cwd: string): Row => claudeUser({ cwd, text: "and more", at: secondsAgo(1) });

test("a glance is enough while nothing happens, and while only the looking session goes on", async () => {
  using home = temporaryHome();
  said(home, uuidFrom("other"));
  const mine = said(home, ME);
  const at = await quiet(home);
  const cursors = join(home.paths.cursors, `${ME}.json`);
  const before = readFileSync(cursors, "utf8");
  appendFileSync(mine, jsonl(more(home.project)));
  expect(glance(at)).toBe(true);
  expect(await prompt(at)).toBe("");
  expect(readFileSync(cursors, "utf8")).toBe(before);
  expect(readdirSync(home.paths.cursors).sort()).toEqual([
    `${ME}.json`,
    `${ME}.json.glance`,
    `${ME}.json.own`,
  ]);
  expect(statSync(`${cursors}.glance`).mode & 0o777).toBe(0o600);
});

test("a glance is enough again once a look has found that what changed is of another project", async () => {
  using home = temporaryHome();
  said(home, ME);
  const at = await quiet(home);
  const neighbour = said(home, uuidFrom("neighbour"), `${home.project}-2`);
  for (let i = 0; i < 2; i++) {
    expect(glance(at)).toBe(false);
    await tick();
    expect(await prompt(at)).toBe("");
    expect(glance(at)).toBe(true);
    appendFileSync(neighbour, jsonl(more(`${home.project}-2`)));
  }
});

test("a glance counts as a look: what the session edited before it is not warned of", async () => {
  using home = temporaryHome();
  const cwd = home.project;
  const edit = (ago: number) =>
    claudeAssistant({
      at: secondsAgo(ago),
      cwd,
      tools: [{ name: "Edit", input: { file_path: join(cwd, "a.ts") } }],
    });
  const other = writeClaude(home, { id: uuidFrom("other"), rows: edit(300) });
  const mine = said(home, ME);
  const at = await quiet(home);
  appendFileSync(mine, jsonl(...edit(5)));
  expect(await prompt(at)).toBe("");
  appendFileSync(other, jsonl(...edit(0)));
  expect(await prompt(at)).not.toContain("which you edited");
  appendFileSync(mine, jsonl(...edit(-1)));
  appendFileSync(other, jsonl(...edit(-1)));
  expect(await prompt(at)).toContain("edited a.ts, which you edited");
});

test.each<[string, (at: World) => void]>([
  ["another session goes on", ({ home }) => appendFileSync(said(home, uuidFrom("other")), jsonl(more("/")))],
  ["a session begins", ({ home }) => said(home, uuidFrom("new"))],
  [
    "a session begins in a folder below",
    ({ home }) => said(home, uuidFrom("new"), join(home.project, "sub")),
  ],
  ["a pi session begins", ({ home }) => writePi(home, { id: uuidFrom("pi"), rows: [piHeader({})] })],
  ["Codex begins a day", ({ home }) => codex(home, 0)],
  ["a worktree is added", ({ home }) => worktree(home, "fix")],
  ["the project becomes a mind's", ({ home }) => writeVolute(home.project, "email", { sessionId: ME })],
  ["config.json changes", ({ home }) => write(home.paths.config, "{}")],
  ["the cursors are gone", ({ home }) => rmSync(join(home.paths.cursors, `${ME}.json`))],
  ["its own transcript is gone", ({ home }) => rmSync(ownFile(home))],
  ["a variable names another place", (at) => Object.assign(at.env, { CODEX_HOME: at.home.root })],
  ["the clock was set back", (at) => Object.assign(at, { skew: -3_600_000 })],
  ["the day is another one", (at) => Object.assign(at, { skew: 86_400_000 })],
  ["the repository is gone", ({ home }) => rmSync(join(home.project, ".git"), { recursive: true })],
])("a glance is not enough when %s", async (_what, change) => {
  using home = temporaryHome();
  mkdirSync(join(home.project, "sub"));
  mkdirSync(join(home.paths.codex, "sessions"), { recursive: true });
  said(home, uuidFrom("other"));
  said(home, ME);
  const at = await quiet(home);
  change(at);
  expect(glance(at)).toBe(false);
});

test("a glance never does for the host's own prompts, or where a .env file may steer", async () => {
  using home = temporaryHome();
  said(home, ME);
  const at = await quiet(home);
  const host: Host = { env: at.env, execArgv: FLAGS, cwd: () => at.cwd };
  const input = JSON.parse(stdinOf(at));
  expect(isAllAsItWas(JSON.stringify(input), host)).toBe(true);
  for (const text of ["<task-notification>done</task-notification>", undefined]) {
    expect(isAllAsItWas(JSON.stringify({ ...input, prompt: text }), host)).toBe(false);
  }
  expect(isAllAsItWas(JSON.stringify(input), { ...host, execArgv: [] })).toBe(false);
  expect(isAllAsItWas(JSON.stringify({ ...input, cwd: "/" }), host)).toBe(false);
  expect(isAllAsItWas("{", host)).toBe(false);
});

test("a prompt with a reference is answered without a look where nothing is new", async () => {
  using home = temporaryHome();
  said(home, ME);
  said(home, uuidFrom("other"));
  const at = await quiet(home);
  const stdin = JSON.stringify({ ...JSON.parse(stdinOf(at)), prompt: `as in @@${uuidFrom("other")}` });
  const { stdout } = await runScript(HOOK, [], { cwd: at.cwd, env: at.env, stdin });
  expect(JSON.parse(stdout).hookSpecificOutput.additionalContext).toStartWith("[Session References]");
});

test("a damaged glance is none, and replaced by the next look", async () => {
  using home = temporaryHome();
  said(home, ME);
  const at = await quiet(home);
  for (const damage of ["", "{", "[]", "null", '{"circumstances": 1}']) {
    writeFileSync(join(home.paths.cursors, `${ME}.json.glance`), damage);
    expect(glance(at)).toBe(false);
    expect(await prompt(at)).toBe("");
    expect(glance(at)).toBe(true);
  }
});

// ── Against the look, whatever happens ──

function codex(home: TemporaryHome, number: number): string {
  const at = new Date().toISOString();
  const context = { id: uuidFrom(`codex ${number}`), cwd: home.project, at };
  return writeCodex(home, { ...context, rows: [codexMeta(context), ...codexPrompt({ text: "so", at })] });
}

function worktree(home: TemporaryHome, name: string): void {
  const top = join(home.root, name);
  const own = join(home.project, ".git", "worktrees", name);
  write(join(own, "gitdir"), `${top}/.git\n`);
  write(join(own, "commondir"), "../..\n");
  write(join(top, ".git"), `gitdir: ${own}\n`);
}

function transcripts({ home }: World): string[] {
  return readdirSync(home.root, { recursive: true })
    .map((path) => join(home.root, String(path)))
    .filter((path) => path.endsWith(".jsonl") && !path.includes(ME) && existsSync(path))
    .sort();
}

type Change = (at: World, random: Random) => void;

function onFile(change: (file: string, at: World, random: Random) => void): Change {
  return (at, random) => {
    const files = transcripts(at);
    if (files.length > 0) change(random.pick(files), at, random);
  };
}

/** Puts other words of the same length in place of a file, with its times, or the next second's. */
const replaceAlike = onFile((file, _at, random) => {
  const { atimeMs, mtimeMs } = statSync(file);
  const text = readFileSync(file, "utf8").replace(/so|as/, (word) => (word === "so" ? "as" : "so"));
  writeFileSync(`${file}.new`, text);
  const time = random.chance(0.5) ? mtimeMs : Math.floor(mtimeMs / 1000) * 1000 + random.integer(0, 999);
  utimesSync(`${file}.new`, atimeMs / 1000, time / 1000);
  renameSync(`${file}.new`, file);
});

const age = onFile((file, _at, random) => {
  const time = Date.now() / 1000 - random.integer(-60, 9000);
  utimesSync(file, time, time);
});

const begin: Change = (at, random) => {
  const { home } = at;
  const id = `${random.pick(["a", "b"])} ${at.made++}`;
  const places = [
    home.project,
    join(home.project, "sub"),
    join(home.root, "fix"),
    `${home.project}-2`,
    "/else",
  ];
  const cwd = random.pick(places);
  if (random.chance(0.2)) codex(home, at.made);
  else if (random.chance(0.25))
    writePi(home, { id: uuidFrom(id), cwd, rows: [piHeader({ cwd }), piUser({ text: "so" })] });
  else said(home, uuidFrom(id), cwd);
};

const CHANGES: Change[] = [
  begin,
  onFile((file, at) => appendFileSync(file, jsonl(more(at.home.project)))),
  onFile((file) => appendFileSync(file, '{"type":"us')),
  replaceAlike,
  age,
  onFile((file) => rmSync(file)),
  onFile((file, at) => renameSync(file, join(dirname(file), `${uuidFrom(`moved ${at.made++}`)}.jsonl`))),
  onFile((file, { home, made }) => {
    rmSync(file);
    symlinkSync(join(home.root, `elsewhere-${made}`), file);
  }),
  ({ home }, random) =>
    write(
      home.paths.config,
      random.pick(["{}", '{"activity": {"scope": "all"}}', '{"activity": {"scope": "project"}}', "{"]),
    ),
  ({ home }) => rmSync(home.paths.config, { force: true }),
  ({ home }) => worktree(home, "fix"),
  ({ home }) => rmSync(join(home.project, ".git", "worktrees"), { recursive: true, force: true }),
  ({ home }, random) =>
    writeVolute(home.project, random.pick(["email", "new-x"]), { sessionId: uuidFrom("a 0") }),
  ({ home }) => rmSync(join(home.project, ".volute"), { recursive: true, force: true }),
  ({ home }) => rmSync(join(home.paths.cursors, `${ME}.json`), { force: true }),
  (at) => {
    at.cwd = at.cwd === at.home.project ? join(at.home.project, "sub") : at.home.project;
  },
  (at, random) => {
    at.env = random.chance(0.3) ? { ...at.home.env, CLAUDE_CONFIG_DIR: at.home.root } : { ...at.home.env };
  },
  ({ home }) => appendFileSync(existsSync(ownFile(home)) ? ownFile(home) : said(home, ME), jsonl(more("/"))),
  ({ home }) => rmSync(ownFile(home), { force: true }),
];

/** Prompts until a glance is enough, which it may never be: some changes always need a look. */
async function settleDown(at: World, random: Random): Promise<void> {
  for (let i = 0; i < 3 && !glance(at); i++) {
    await tick();
    if (random.chance(0.1)) await Promise.all([prompt(at), prompt(at)]);
    else await prompt(at);
  }
}

test("a glance is enough only where a look finds nothing, whatever happens in between", async () => {
  const seed = fuzzSeed("glance");
  const random = seeded(seed);
  const seen = { glances: 0, looks: 0 };
  for (let round = 0; round < 10; round++) {
    using home = temporaryHome();
    mkdirSync(join(home.project, "sub"));
    const at = world(home);
    for (let i = 0; i < 3; i++) begin(at, random);
    for (let step = 0; step < 6; step++) {
      await settleDown(at, random);
      for (let i = random.pick([0, 1, 1, 1, 2]); i > 0; i--) random.pick(CHANGES)(at, random);
      at.skew = random.chance(0.1) ? random.integer(-2, 2) * 1_800_000 : 0;
      const where = `round ${round}, step ${step} of seed ${seed}`;
      const found = look(at);
      const isEnough = glance(at);
      if (isEnough) expect([where, found]).toEqual([where, "nothing"]);
      seen[isEnough ? "glances" : "looks"]++;
      at.skew = 0;
    }
  }
  expect(seen.glances).toBeGreaterThan(5);
  expect(seen.looks).toBeGreaterThan(5);
}, 60_000);

test("glances between looks neither lose a message nor tell one twice", async () => {
  const seed = fuzzSeed("messages");
  const random = seeded(seed);
  using home = temporaryHome();
  write(home.paths.config, '{"activity": {"maxChars": 9000}}');
  said(home, ME);
  const at = world(home);
  await prompt(at);
  const written = new Map<string, number>();
  const told = new Map<string, number>();
  let glances = 0;
  // Some seeds leave few quiet moments: go on until there were enough.
  for (let step = 0; step < 30 || (glances < 3 && step < 400); step++) {
    for (let i = random.pick([0, 0, 0, 1, 3]); i > 0; i--) {
      const id = uuidFrom(`other ${random.integer(0, 4)}`);
      const file = join(dirname(ownFile(home)), `${id}.jsonl`);
      if (existsSync(file)) appendFileSync(file, jsonl(more(home.project)));
      else said(home, id);
      written.set(id.slice(0, 8), (written.get(id.slice(0, 8)) ?? 0) + 1);
    }
    if (random.chance(0.5)) appendFileSync(ownFile(home), jsonl(more(home.project)));
    if (random.chance(0.7)) await tick();
    if (glance(at)) glances++;
    const text = await prompt(at);
    for (const [, id = "", count] of text.matchAll(/- (\w{8}) \(\d+\w ago, (\d+) message/g)) {
      told.set(id, (told.get(id) ?? 0) + Number(count));
    }
  }
  expect([seed, ...[...told].sort()]).toEqual([seed, ...[...written].sort()]);
  expect(glances).toBeGreaterThan(2);
}, 60_000);

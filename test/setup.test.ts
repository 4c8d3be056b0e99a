import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { setup as runSetup, type Start } from "../scripts/setup.ts";
import { layFixtures, type TemporaryHome, temporaryHome, write } from "./support/home.ts";
import { runInProcess, runWithin } from "./support/in-process.ts";
import { uuidFrom } from "./support/rows.ts";
import { BUN_PATH, ROOT, runCommand, scriptPath, startScript } from "./support/run.ts";
import { lay } from "./support/world.ts";

let home: TemporaryHome;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => {
  onCall = () => {};
  home[Symbol.dispose]();
});

const bin = () => join(home.root, "bin");
const calls = () => join(home.root, "calls");
const called = () => (existsSync(calls()) ? readFileSync(calls(), "utf8").trimEnd().split("\n") : []);

/** A host's program that writes down how it was called. */
function host(name: string, exitCode = 0): string {
  const file = join(bin(), name);
  write(file, `#!/bin/sh\necho "${name} $*" >>"${calls()}"\nexit ${exitCode}\n`);
  chmodSync(file, 0o755);
  return file;
}

const STARTER = join(ROOT, "bin", "session-memory");
const options = (cwd: string) => ({
  env: { ...home.env, PATH: `${bin()}:${BUN_PATH}`, SESSION_MEMORY_COMMAND: STARTER },
  cwd,
});

/** Runs set-up, whose scripts run in this process and whose hosts' programs are only written down. */
const setup = (...args: string[]) => setupIn(home.home, ...args);
function setupIn(cwd: string, ...args: string[]) {
  return runInProcess(scriptPath("setup"), args, options(cwd), () => runSetup(start));
}

/** The other effects of a host's program, which is not started. */
let onCall: (line: string) => void = () => {};
const start: Start = async ([program = "", ...args], { stdout }) => {
  if (args[0] !== STARTER) {
    const line = [basename(program), ...args].join(" ");
    appendFileSync(calls(), `${line}\n`);
    onCall(line);
    return { status: Number(/exit (\d)/.exec(readFileSync(program, "utf8"))?.[1]) };
  }
  // within set-up a script that is quiet would make set-up quiet too: they share lib/cli.ts
  const [, name = "", ...words] = args.filter((word) => word !== "--quiet");
  const ended = await runWithin(scriptPath(name), words, { env: { ...process.env }, cwd: process.cwd() });
  if (stdout === "inherit") writeSync(1, ended.stdout);
  return { status: ended.exitCode };
};

test("setup installs nothing where nobody can answer, but indexes and names, and says how to go on", async () => {
  const [claude, pi, codex] = [host("claude"), host("pi"), host("codex")];
  layFixtures(home);
  const { stdout, stderr, exitCode } = await setup();
  expect(stdout.split("\n\n")[0]?.split("\n")).toEqual([
    `Claude Code: ${claude}, 5 sessions since 2025-07-02`,
    `pi: ${pi}, 4 sessions since 2025-12-09`,
    `Codex: ${codex}, 2 sessions since 2025-12-14`,
    "To install with --yes:",
    `  ${claude} plugin marketplace add ${ROOT}   # Claude Code`,
    `  ${claude} plugin install session-memory@session-memory   # Claude Code`,
    `  ${pi} install ${ROOT}   # pi`,
    `  ${codex} plugin marketplace add ${ROOT}   # Codex`,
    `  ${codex} plugin add session-memory@session-memory   # Codex`,
    `  set statusLine in ${join(home.paths.claude, "settings.json")}   # Claude Code`,
    "From then on sends: conversation to the model chosen in pi for observing (at most $1.00 a day)",
    "In pi, a conversation is compacted at 38,000 tokens, whatever the model's window; pi asks first, once",
    "Idle sessions are kept as redacted copies, in case their host deletes them (Claude Code after 30 days): at most 2048 MB",
  ]);
  expect(stderr).toEndWith(
    `installed into no agent: sh ${ROOT}/bin/session-memory setup --yes does what is listed above\n`,
  );
  expect([exitCode, called(), existsSync(home.paths.meta)]).toEqual([0, [], true]);
});

test("setup --yes runs the hosts' commands, indexes and names, and answers a question of the user's own history", async () => {
  host("claude");
  layFixtures(home);
  const { stdout, exitCode } = await startScript("setup", ["--yes"], options(home.home));
  expect(called()).toEqual([
    `claude plugin marketplace add ${ROOT}`,
    "claude plugin install session-memory@session-memory",
  ]);
  expect(exitCode).toBe(0);
  expect(stdout).toContain("Codex: no codex on PATH, 2 sessions since 2025-12-14\n");
  const { sessions } = await home.json("session-reader", "--list");
  const counts = [...stdout.matchAll(/, (\d+) sessions? since/g)].map(([, count]) => Number(count));
  expect(counts.reduce((sum, count) => sum + count)).toBe(sessions.length);
  expect(stdout).toContain(`\n${sessions.length} sessions can be searched now\n`);
  const [, answer] = stdout.split(/^Questions from your own history:$/m);
  expect(answer).toMatch(
    /^(?:\n {2}sh \S+\/session-memory search '.+\?'){1,3}\n\nThe first one's answer:\n1\. \S+:\d+-\d+ · [\s\S]+\n {3}L\d+ [\s\S]+\n\nInstalled from \S+ in Claude Code\nTo undo: \S+/,
  );
  expect([existsSync(home.paths.database), existsSync(home.paths.meta)]).toEqual([true, true]);
});

test("setup brings an installation up to date with no more commands than that takes", async () => {
  for (const name of ["claude", "pi", "codex"]) host(name);
  installed();
  write(join(home.paths.codex, "config.toml"), `[marketplaces.session-memory]\nsource = "${ROOT}"\n`);
  await setup("--yes");
  expect(called()).toEqual([
    "pi remove npm:session-memory@0.1.0",
    `codex plugin marketplace add ${ROOT}`,
    "codex plugin add session-memory@session-memory",
  ]);
});

test("setup moves an installation of another folder to this one", async () => {
  for (const name of ["pi", "codex"]) host(name);
  const other = join(home.root, "old-clone");
  write(join(other, "package.json"), '{"name": "session-memory"}');
  write(join(home.paths.pi, "settings.json"), JSON.stringify({ packages: [other] }));
  write(join(home.paths.codex, "config.toml"), `[marketplaces.session-memory]\nsource = "${other}"\n`);
  await setup("--yes");
  expect(called()).toEqual([
    `pi remove ${other}`,
    `pi install ${ROOT}`,
    "codex plugin marketplace remove session-memory",
    `codex plugin marketplace add ${ROOT}`,
    "codex plugin add session-memory@session-memory",
  ]);
});

/** A session in which a question was answered. */
function writeWork(name: string, asked: string, day: string, cwd = home.project): void {
  lay(
    home,
    `@claude ${uuidFrom(name)} 2026-02-${day} 10:01 in ${cwd}
User: Have a look at the ${name} module. ${asked}
Assistant: ${asked} Because the ${name} module retries too often.`,
  );
}

const asked = (stdout: string) => stdout.match(/(?<=^ {2}\S.* search ).*$/gm);

test("setup asks what a person would, of the sessions of the project one stands in first, quoted for a shell", async () => {
  writeWork("alpha", "Why is the gateway's retry limit low?", "01");
  writeWork("gamma", "Why is it?", "03", "/elsewhere");
  writeWork("billing", "Can you look at it?", "02");
  const questions = asked((await setupIn(home.project, "--yes")).stdout);
  expect(questions?.slice(0, 2)).toEqual([
    "'what came of \"Have a look at the billing module\"?'",
    "'Why is the gateway'\\''s retry limit low?'",
  ]);
  const typed = await runCommand(["sh", "-c", `printf %s ${questions?.[1]}`], { env: home.env });
  expect(typed.stdout).toBe("Why is the gateway's retry limit low?");
});

test("setup asks nothing where nothing was said", async () => {
  lay(home, "@claude 00000001 2026-02-03 14:30\nUser: hello");
  const { stdout, exitCode } = await setup("--yes");
  expect(stdout).toContain("1 session can be searched now\n");
  expect([asked(stdout), exitCode]).toEqual([null, 0]);
});

test("setup --json prints one document, and the hosts' words as remarks", async () => {
  const claude = host("claude");
  const { stdout, exitCode } = await setup("--yes", "--json");
  const command = [claude, "plugin", "marketplace", "add", ROOT];
  const { hosts, commands, ...report } = JSON.parse(stdout);
  expect([hosts[0], commands[0], exitCode]).toEqual([
    { name: "Claude Code", program: claude },
    { host: "Claude Code", command, ok: true },
    0,
  ]);
  const statusLine = `/bin/sh "${ROOT}/bin/session-memory" status-line`;
  expect(report).toEqual({ statusLine, pages: [], sessions: 0, questions: [], removed: [], keptFiles: [] });
});

test("setup writes skill pages into the folders of hosts without commands of their own, and takes them out again", async () => {
  host("qwen");
  const page = (skill: string) => join(home.home, ".qwen", "skills", skill, "SKILL.md");
  const beside = (name: string) => join(dirname(page("session-search")), `${name}.md`);
  const before = await setup();
  expect(before.stdout).toContain(
    `To install with --yes:\n  write 4 skill pages in ${dirname(dirname(page("x")))}   # Qwen Code\n`,
  );
  expect(existsSync(beside("sessions"))).toBe(false);
  await setup("--yes");
  const text = readFileSync(page("session-search"), "utf8");
  expect(text).toStartWith("---\nname: session-search\n");
  expect(text).toContain(`sh ${ROOT}/bin/session-memory search "`);
  expect(text).not.toMatch(/ROOT\/|CLAUDE_|allowed-tools/);
  expect((await setup("--yes")).stdout).not.toContain("To install:");
  write(beside("sessions"), "mine now");
  const { stdout } = await setup("--remove", "--yes");
  expect(stdout).toContain(`To remove:\n  ${dirname(dirname(page("x")))}: 3 skill pages\n`);
  expect(stdout).toContain(`  ${beside("sessions")}: changed since we wrote it\n`);
  expect(readdirSync(dirname(page("session-search")))).toEqual(["sessions.md"]);
  expect(readFileSync(beside("sessions"), "utf8")).toBe("mine now");
});

test("setup runs no program of the project's, nor do the hosts' commands, in a folder of it", async () => {
  const [folder, stolen] = [join(home.project, ".venv", "bin"), join(home.root, "stolen")];
  for (const name of ["claude", "pi", "codex", "inner"])
    chmodSync(write(join(folder, name), `#!/bin/sh\necho ${name} >>"${stolen}"\n`), 0o755);
  const claude = write(join(bin(), "claude"), `#!/bin/sh\ninner >>"${calls()}" 2>&1\n`);
  for (const file of [claude, write(join(bin(), "inner"), "#!/bin/sh\necho own\n")]) chmodSync(file, 0o755);
  const cwd = join(home.project, "src");
  mkdirSync(cwd);
  const env = { ...home.env, PATH: [folder, "../.venv/bin", bin(), BUN_PATH].join(":") };
  const { stdout } = await startScript("setup", ["--yes"], { env, cwd });
  expect(stdout).toStartWith(`Claude Code: ${claude}\npi: no pi on PATH\nCodex: no codex on PATH\n`);
  expect([called(), existsSync(stolen)]).toEqual([["own", "own"], false]);
});

/** The copy that Codex makes of a plugin. */
const copyOfCodex = () => join(home.paths.codex, "plugins/cache/session-memory/session-memory", VERSION);
const { version: VERSION, files: FILES } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

test("setup says one line where nothing is left to do, and installs into Codex again only what changed", async () => {
  for (const name of ["claude", "pi", "codex", "qwen"]) host(name);
  layFixtures(home);
  installed([relative(home.paths.pi, ROOT)]);
  const config = `[marketplaces.session-memory]\nsource = "${ROOT}"\n[plugins."session-memory@session-memory"]\n`;
  write(join(home.paths.codex, "config.toml"), config);
  for (const name of [...FILES, "package.json", "bun.lock"])
    if (existsSync(join(ROOT, name)))
      cpSync(join(ROOT, name), join(copyOfCodex(), name), { recursive: true });
  await setup("--yes");
  const again = await setup("--yes");
  const sessions = (await home.json("session-reader", "--list")).sessions.length;
  expect(again).toMatchObject({
    stdout: `nothing to do: session-memory is in Claude Code, pi, Codex, Qwen Code; ${sessions} sessions can be searched\n`,
    exitCode: 0,
  });
  expect((await setup()).stdout).toBe(again.stdout);
  expect(called()).toEqual([]);
  write(join(copyOfCodex(), "hooks", "hook.ts"), "// an older one\n");
  const { stdout } = await setup("--yes");
  expect(called()).toEqual([
    `codex plugin marketplace add ${ROOT}`,
    "codex plugin add session-memory@session-memory",
  ]);
  expect(stdout).toContain(`\nInstalled from ${ROOT} in Codex\n`);
});

test("setup goes on after a host's command that failed, names it, and ends with 1", async () => {
  const claude = host("claude", 3);
  host("pi");
  const { stdout, exitCode } = await setup("--yes", "--quiet");
  expect(called()).toHaveLength(3);
  expect(stdout).toContain(`failed: ${claude} plugin marketplace add ${ROOT}   # Claude Code\n`);
  expect(exitCode).toBe(1);
});

test("setup --only names the agents to install into, and refuses one that it does not know", async () => {
  for (const name of ["claude", "pi", "codex"]) host(name);
  const { stdout, exitCode } = await setup("--yes", "--only", "pi, codex");
  expect(exitCode).toBe(0);
  expect(called().map((line) => line.split(" ")[0])).toEqual(["pi", "codex", "codex"]);
  expect(stdout).not.toContain("Claude Code");
  expect(stdout).toContain(`\nInstalled from ${ROOT} in pi, Codex\n`);
  const wrong = await setup("--only", "claud");
  expect([wrong.exitCode, wrong.stderr.split("\n").slice(0, 2)]).toEqual([
    2,
    ['error: Cannot use --only "claud": not one of its values', "hint: did you mean --only claude?"],
  ]);
});

test("setup sets Claude Code's status line where there is none, keeps the rest, and takes its own back", async () => {
  host("claude");
  const settings = join(home.paths.claude, "settings.json");
  const read = () => JSON.parse(readFileSync(settings, "utf8"));
  write(settings, '{"model": "opus"}');
  // the client's own command writes there too
  onCall = (line) => write(settings, JSON.stringify({ ...read(), enabled: line.includes(" install ") }));
  await setup("--yes");
  const command = `/bin/sh "${ROOT}/bin/session-memory" status-line`;
  expect(read()).toEqual({ model: "opus", enabled: true, statusLine: { type: "command", command } });
  expect((await setup("--remove")).stdout).toContain(`  "statusLine" in ${settings}\n`);
  await setup("--remove", "--yes");
  expect(read()).toEqual({ model: "opus", enabled: expect.any(Boolean) });
  onCall = () => {};

  const others = { statusLine: { type: "command", command: "my-line" } };
  write(settings, JSON.stringify(others));
  expect((await setup("--yes")).stdout).not.toContain("statusLine");
  await setup("--remove", "--yes");
  expect(read()).toEqual(others);

  write(settings, "{}");
  home.configure({ activity: { statusLine: false } });
  expect((await setup("--yes")).stdout).not.toContain("statusLine");
});

/** What the hosts keep of an installation. */
function installed(pi: unknown[] = [relative(home.paths.pi, ROOT), "npm:session-memory@0.1.0"]): void {
  const plugins = join(home.paths.claude, "plugins");
  write(join(plugins, "installed_plugins.json"), '{"plugins": {"session-memory@session-memory": [{}]}}');
  const installLocation = ROOT;
  write(join(plugins, "known_marketplaces.json"), JSON.stringify({ "session-memory": { installLocation } }));
  const packages = [...pi, { source: "npm:other" }];
  write(join(home.paths.pi, "settings.json"), JSON.stringify({ packages }));
}

test("setup --remove undoes what setup did and lists what stays", async () => {
  host("claude");
  host("pi");
  installed();
  const copy = join(home.paths.claude, "plugins", "cache", "session-memory");
  mkdirSync(copy, { recursive: true });
  const { stdout, exitCode } = await setup("--remove", "--yes");
  expect(called()).toEqual([
    "claude plugin uninstall session-memory@session-memory",
    "claude plugin marketplace remove session-memory",
    `pi remove ${ROOT}`,
    "pi remove npm:session-memory@0.1.0",
  ]);
  expect(stdout).toContain(`  ${copy}: Claude Code's copy of the plugin\n`);
  expect([exitCode, existsSync(home.paths.database)]).toEqual([0, false]);
});

test("setup --remove leaves the notes and pages that somebody exported, and takes out the model that it wrote", async () => {
  layFixtures(home);
  const pages = join(home.project, "pages");
  await home.ok("index-meta", "--all", "--quiet");
  const note = (await home.ok("save-session", "last", "--dir", "memory")).trim();
  await home.ok("report", "--all", "--out", pages, "--quiet");
  const exported = [note, ...readdirSync(pages).map((name) => join(pages, name))];
  const { stdout } = await setup("--remove", "--yes");
  expect(exported.filter((file) => !existsSync(file))).toEqual([]);
  expect(existsSync(join(home.paths.pi, "sessions-meta"))).toBe(false);
  expect(stdout).toContain(`  ${dirname(note)}: 1 note or page of yours\n`);
  expect(stdout).toContain(`  ${pages}: ${exported.length - 1} notes and pages of yours\n`);

  home.configure({ llm: { command: "claude" }, timezone: "UTC" });
  const left = await setup("--remove");
  expect(left.stdout).toContain(`To remove:\n  "llm" in ${home.paths.config}\n`);
  expect(readFileSync(home.paths.config, "utf8")).toContain("llm");
  await setup("--remove", "--yes");
  expect(JSON.parse(readFileSync(home.paths.config, "utf8"))).toEqual({ timezone: "UTC" });
  expect((await setup("--remove", "--yes")).stdout).toContain("nothing to remove: ");
});

test("setup installs into Codex, says that its hooks need a yes, and takes it out again", async () => {
  host("codex");
  const { stdout } = await setup("--yes");
  expect(stdout).toContain("\nCodex runs no hook before you trust it: start codex once");
  const config = '[marketplaces.session-memory]\nsource = "x"\n[plugins."session-memory@session-memory"]\n';
  const trust = '[hooks.state."session-memory@session-memory:stop"]\ntrusted_hash = "x"\n';
  write(join(home.paths.codex, "config.toml"), `${config}${trust}`);
  const removed = await setup("--remove", "--yes");
  expect(removed.stdout).toContain("config.toml: 1 [hooks.state] block by which you trusted our hooks\n");
  expect(called()).toEqual([
    `codex plugin marketplace add ${ROOT}`,
    "codex plugin add session-memory@session-memory",
    "codex plugin remove session-memory@session-memory",
    "codex plugin marketplace remove session-memory",
  ]);
});

test("setup says that opencode shows nothing at first, where it wrote a plugin there", async () => {
  host("opencode");
  const word = "\nopencode installs packages of its own when it first starts with a plugin";
  expect((await setup()).stdout).not.toContain(word);
  expect((await setup("--yes")).stdout).toContain(word);
});

test("setup --remove removes what npm start installed, and the link to it, but no other program of that name", async () => {
  const data = join(home.home, ".local", "share", "session-memory");
  const link = join(home.home, ".local", "bin", "session-memory");
  const starter = write(join(data, "package", "bin", "session-memory"), "");
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(starter, link);
  const first = await setup("--remove");
  expect(first.stdout).toContain(`To remove:\n  ${data}\n  ${link}\n`);
  expect([first.stderr, existsSync(starter)]).toEqual([
    "nothing was changed: run it again with --yes\n",
    true,
  ]);
  await setup("--remove", "--yes");
  expect([existsSync(data), existsSync(link)]).toEqual([false, false]);
  write(link, "#!/bin/sh\n");
  const { stdout, stderr, exitCode } = await setup("--remove");
  expect(stdout).toContain("nothing to remove: no agent found here has session-memory\n");
  expect([stderr, exitCode, existsSync(link)]).toEqual(["", 0, true]);
});

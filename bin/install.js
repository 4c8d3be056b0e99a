/**
 * `npm start`: installs this clone with its dependencies and Bun among the user's data, links `session-memory` into
 * ~/.local/bin and sets up the agents of this machine. Again, it updates. Plain JavaScript that Node 18 runs without a Bun.
 */

import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = resolve(fileURLToPath(import.meta.url), "..", "..");
const PACKAGE = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const SAMPLE = join(ROOT, "test", "fixtures", "claude");
const SAMPLE_QUESTION = ["how often do we post", "posting frequency"];

/** The folder of everything that `npm start` installs. */
export const INSTALLED = join(dataFolder(), "session-memory");
/** The starter below a folder of the user's data. */
const PLACE = join("session-memory", "package", "bin", "session-memory");
const STARTER = join(dataFolder(), PLACE);

function dataFolder() {
  const { XDG_DATA_HOME = "" } = process.env;
  return isAbsolute(XDG_DATA_HOME) ? XDG_DATA_HOME : join(homedir(), ".local", "share");
}

/** Ends this program with an error that the user can act on. */
function fail(message, hint) {
  console.error(`error: ${message}\nhint: ${hint}`);
  process.exit(1);
}

/** Ends this program on Windows: nothing of ours starts without a system's shell. */
export function refuseWindows() {
  if (process.platform !== "win32") return;
  console.error("error: session-memory needs Linux or macOS: on Windows run it inside WSL");
  process.exit(1);
}

/** Runs a program to its end, with its output on stderr unless it is to be seen as ours. */
function run(command, args, { cwd = ROOT, stdio = ["ignore", 2, 2], env = process.env } = {}) {
  return spawnSync(command, args, { cwd, stdio, env }).status === 0;
}

/** Returns whether a program is the Bun we are tested on. */
export function isBun(file) {
  const { stdout } = spawnSync(file, ["--version"], { encoding: "utf8" });
  return stdout?.trim() === PACKAGE.config.bun;
}

/** Puts the Bun we are tested on into a folder, unless it is there. Returns its path. */
export function installBun(folder) {
  const bun = join(folder, "bun");
  if (isBun(bun)) return bun;
  console.error(`Installing Bun ${PACKAGE.config.bun} into ${folder}`);
  const stage = `${folder}.new`;
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  writeFileSync(join(stage, "package.json"), "{}\n");
  // The binary lies in the package of its platform, so no script of a package needs to run.
  const flags = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  flags.push("--fetch-retries=1", "--fetch-retry-mintimeout=1000"); // without a network npm waits for more than a minute
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ["npm"];
  const [command, ...words] = [...npm, "install", ...flags, `--prefix=${stage}`, `bun@${PACKAGE.config.bun}`];
  const isInstalled = run(command, words, { cwd: stage });
  const platforms = join(stage, "node_modules", "@oven");
  const binaries = existsSync(platforms) ? readdirSync(platforms) : [];
  // A system may get several, for other C libraries.
  const works = binaries.map((name) => join(platforms, name, "bin", "bun")).find(isBun);
  const isBunThere = isInstalled && works !== undefined;
  if (isBunThere) {
    mkdirSync(folder, { recursive: true });
    renameSync(works, bun);
  }
  rmSync(stage, { recursive: true, force: true });
  if (!isBunThere)
    fail(
      `Cannot install Bun ${PACKAGE.config.bun}: npm says why above`,
      "check the network, then npm start again",
    );
  return bun;
}

/** Builds what a package holds beside the old one, and puts it in the old one's place. */
function installPackage(bun) {
  const [place, stage, old] = ["package", "package.new", "package.old"].map((name) => join(INSTALLED, name));
  for (const folder of [stage, old]) rmSync(folder, { recursive: true, force: true });
  buildPackage(bun, stage);
  writePlugin(stage, join(place, "bin", "session-memory"));
  if (existsSync(place)) renameSync(place, old);
  renameSync(stage, place);
  rmSync(old, { recursive: true, force: true });
  return join(place, "bin", "session-memory");
}

/** Copies what a package holds into a folder, and builds it there; `flags` are more of Bun's for its dependencies. */
export function buildPackage(bun, stage, ...flags) {
  const files = PACKAGE.files.filter((name) => name !== "dist"); // of another commit, perhaps
  for (const name of [...files, "package.json", "bun.lock", "LICENSE", "README.md"])
    if (existsSync(join(ROOT, name))) cpSync(join(ROOT, name), join(stage, name), { recursive: true });
  const words = ["install", "--production", "--frozen-lockfile", "--ignore-scripts", "--silent", ...flags];
  if (!run(bun, words, { cwd: stage })) {
    rmSync(stage, { recursive: true, force: true });
    fail("Cannot install the dependencies: Bun says why above", "check the network, then npm start again");
  }
  bundle(bun, stage);
}

/** Puts the code and the libraries that it needs into a file for each script and hook, and removes what went into them. */
export function bundle(bun, stage) {
  const PATH = [dirname(bun), process.env.PATH].join(delimiter);
  if (!run(bun, ["run", "--silent", "bundle"], { cwd: stage, env: { ...process.env, PATH } }))
    fail("Cannot build session-memory: Bun says why above", "report it with the lines above");
  const libraries = join(stage, "node_modules");
  // what is native stays; and pi reads its extension's first file itself
  const built = [
    join(stage, "lib"),
    ...below(libraries).filter((path) => !basename(path).startsWith("sqlite-vec")),
    ...["", "pi"].flatMap((name) => below(join(stage, "hooks", name))).filter((path) => path.endsWith(".ts")),
  ];
  for (const path of built) rmSync(path, { recursive: true, force: true });
  writeFileSync(join(stage, "hooks", "agent-sdk.ts"), 'export * from "../dist/hooks/agent-sdk.js";\n');
}

function below(folder) {
  return readdirSync(folder).map((name) => join(folder, name));
}

/** Makes the folder that hosts copy as a plugin: hooks, skill pages and a starter that leads to the installed one. */
export function writePlugin(stage, starter) {
  const plugin = join(stage, "plugin");
  for (const name of [
    ".claude-plugin/plugin.json",
    ".codex-plugin",
    "hooks/hooks.json",
    "hooks/codex",
    "skills",
  ])
    cpSync(join(stage, name), join(plugin, name), { recursive: true });
  const quoted = `'${starter.replaceAll("'", "'\\''")}'`;
  mkdirSync(join(plugin, "bin"));
  writeFileSync(
    join(plugin, "bin", "session-memory"),
    `#!/bin/sh
# Starts session-memory where npm start installed it. A hook never fails.
[ -f ${quoted} ] && exec /bin/sh ${quoted} "$@"
echo "error: Cannot find session-memory: it was removed from" ${quoted} >&2
echo 'hint: npm start in a clone of it installs it again' >&2
case \${1-} in session-start | session-end | user-prompt-submit | post-tool-use-failure | pre-compact | stop) exit 0 ;; esac
exit 1
`,
    { mode: 0o755 },
  );
  const marketplace = join(stage, ".claude-plugin", "marketplace.json");
  writeFileSync(
    marketplace,
    readFileSync(marketplace, "utf8").replace('"source": "./"', '"source": "./plugin"'),
  );
}

/** Links the command into the user's own folder of programs, unless another program has its name there. */
export function link(starter) {
  const folder = join(homedir(), ".local", "bin");
  const file = join(folder, "session-memory");
  mkdirSync(folder, { recursive: true });
  const there = lstatSync(file, { throwIfNoEntry: false });
  const isOurs = there?.isSymbolicLink() && isOwn(resolve(folder, readlinkSync(file)));
  if (there && !isOurs) return console.error(`${file} is another program: left as it is`);
  if (there) rmSync(file);
  symlinkSync(starter, file);
  const path = (process.env.PATH ?? "").split(delimiter);
  if (!path.includes(folder))
    console.error(`To find session-memory in a terminal: export PATH="${folder}:$PATH"`);
}

/** Returns whether a link leads to what this installs, or to where another data folder had it. */
function isOwn(target) {
  return target.startsWith(INSTALLED + sep) || (!existsSync(target) && target.endsWith(sep + PLACE));
}

function main(args) {
  refuseWindows();
  // Hints name the command that this run links.
  const env = { ...process.env, SESSION_MEMORY_COMMAND: join(homedir(), ".local", "bin", "session-memory") };
  const start = (...words) =>
    spawnSync("/bin/sh", [starter, ...words], { stdio: "inherit", env }).status ?? 1;
  let starter = STARTER;
  if (args.includes("--remove") || args.includes("--help")) {
    if (!existsSync(STARTER)) starter = join(ROOT, "bin", "session-memory");
    process.exitCode = start("setup", ...args);
    return;
  }
  const isUpdate = existsSync(STARTER);
  starter = installPackage(installBun(join(INSTALLED, "runtime")));
  link(starter);
  process.exitCode = start("setup", ...args);
  if (isUpdate || hasSessions(starter)) return;
  console.log("\nNo session on this machine yet. A search of a bundled sample:");
  const words = SAMPLE_QUESTION.map((phrasing) => `"${phrasing}"`).join(" ");
  console.log(`$ session-memory search --sessions ${relative(process.cwd(), SAMPLE)} ${words}`);
  start("search", "--quiet", "--sessions", SAMPLE, ...SAMPLE_QUESTION);
}

function hasSessions(starter) {
  const args = [starter, "session-reader", "--list", "-n", "1", "--json", "--quiet"];
  const { stdout, status } = spawnSync("/bin/sh", args, { encoding: "utf8" });
  return status !== 0 || JSON.parse(stdout).sessions.length > 0;
}

if (realpathSync(process.argv[1] ?? ".") === fileURLToPath(import.meta.url)) main(process.argv.slice(2));

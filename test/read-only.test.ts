/** A state folder that takes no write: it is said, and what is there is still read. */

import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type TemporaryHome, temporaryHome, writeClaude } from "./support/home.ts";
import { turn } from "./support/index.ts";
import { uuidFrom } from "./support/rows.ts";
import { type Finished, runCommand, starting, startScript } from "./support/run.ts";

const [ONE, TWO] = [uuidFrom("read-only one"), uuidFrom("read-only two")];

/** A home with one indexed session and one that came after. */
async function indexedHome(prepare?: (home: TemporaryHome) => void): Promise<TemporaryHome> {
  const home = temporaryHome();
  prepare?.(home);
  writeClaude(home, { id: ONE, rows: [turn("how do I feed the walrus", "With clams.")] });
  // in a process of its own: once it has ended, nothing lies beside the index that a reader could use
  const { exitCode } = await startScript("embed", ["--quiet"], { env: home.env, cwd: home.project });
  expect(exitCode).toBe(0);
  writeClaude(home, { id: TWO, rows: [turn("the walrus is hungry", "Then feed it.")] });
  return home;
}

/** What each command prints when nothing can be written. */
async function assertReadable(why: string, run: (...command: string[]) => Promise<Finished>): Promise<void> {
  const warning = `warning: ${why}: only what is there already can be read`;
  const health = await run("health", "--json");
  const { status, findings, metrics } = JSON.parse(health.stdout);
  expect([health.exitCode, status, findings[0].level, findings[0].what, metrics.totalChunks]).toEqual([
    1,
    "ERROR",
    "error",
    why,
    1,
  ]);
  expect((await run("health")).stdout).toStartWith(`ERROR\nerror: ${why} · `);
  const found = await run("search", "walrus clams", "--json");
  expect([found.exitCode, found.stderr.split("\n")[0]]).toEqual([0, warning]);
  const { results, index } = JSON.parse(found.stdout);
  expect(results.map(({ session_id }: { session_id: string }) => session_id)).toEqual([ONE]);
  expect(index.behind.sessions).toBe(1);
  const read = await run("session-reader", TWO);
  expect([read.exitCode, read.stderr, read.stdout.split("\n")[1]]).toEqual([
    0,
    `${warning}\n`,
    expect.stringContaining("the walrus is hungry"),
  ]);
  const embed = await run("embed");
  expect([embed.exitCode, embed.stdout]).toEqual([1, ""]);
  expect(embed.stderr).toStartWith(`${warning}\nerror: STORAGE_ERROR: Cannot `);
}

test("a state folder that may not be written", async () => {
  using home = await indexedHome();
  chmodSync(home.paths.home, 0o500);
  // Nothing is read-only to a superuser who has this right; another user may not be let into the folder of the tests.
  const before = process.getuid?.() === 0 ? ["setpriv", "--bounding-set", "-dac_override"] : [];
  const run = (name = "", ...args: string[]) =>
    runCommand([...before, ...starting(name), ...args], {
      env: home.env,
      cwd: home.project,
    });
  await assertReadable(`${home.paths.home} is read-only`, run);
  chmodSync(home.paths.home, 0o700);
}, 60_000);

const IN_OWN_MOUNTS = ["unshare", "--map-root-user", "--mount", "sh", "-c"];
const canMount = Bun.spawnSync([...IN_OWN_MOUNTS, "mount -t tmpfs none /mnt"]).exitCode === 0;

test.skipIf(!canMount)(
  "a state folder without space",
  async () => {
    using home = await indexedHome((home) => {
      mkdirSync(home.paths.home, { mode: 0o700 });
    });
    const { size } = statSync(home.paths.database);
    const kept = join(home.root, "kept");
    writeFileSync(join(home.root, "full.sh"), FULL);
    await runCommand(["cp", "-r", home.paths.home, kept]);
    const run = (name = "", ...args: string[]) => {
      const script = [...starting(name), ...args];
      const mounted = [
        "sh",
        join(home.root, "full.sh"),
        home.paths.home,
        kept,
        `${size + 600_000}`,
        ...script,
      ];
      return runCommand([...IN_OWN_MOUNTS, 'exec "$@"', "sh", ...mounted], {
        env: home.env,
        cwd: home.project,
      });
    };
    await assertReadable(`no space is left for ${home.paths.home}`, run);
  },
  60_000,
);

test.skipIf(!canMount)(
  "a state folder without space in which nothing but empty databases could be made",
  async () => {
    using home = temporaryHome();
    const [kept, script] = [join(home.root, "kept"), join(home.root, "full.sh")];
    for (const folder of [kept, home.paths.home]) mkdirSync(folder, { mode: 0o700 });
    for (const name of ["state.db", basename(home.paths.database)]) writeFileSync(join(kept, name), "");
    writeFileSync(script, FULL);
    writeClaude(home, { id: ONE, rows: [turn("how do I feed the walrus", "With clams.")] });
    const mounted = ["sh", script, home.paths.home, kept, "65536", ...starting("health")];
    const { stdout, stderr, exitCode } = await runCommand([...IN_OWN_MOUNTS, 'exec "$@"', "sh", ...mounted], {
      env: home.env,
      cwd: home.project,
    });
    expect([exitCode, stderr]).toEqual([1, ""]);
    expect(stdout).toStartWith(`ERROR\nerror: no space is left for ${home.paths.home} · `);
  },
  60_000,
);

/** Mounts a small file system as the state folder, fills it up, and runs a command. */
const FULL = `
folder=$1 kept=$2 size=$3
shift 3
mount -t tmpfs -o "size=$size,mode=700" none "$folder"
cp -r "$kept"/. "$folder"
cat /dev/zero > "$folder/filling" 2> /dev/null
exec "$@"
`;

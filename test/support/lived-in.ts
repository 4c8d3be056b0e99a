/** The lived-in home: what ae396cfb had written by March 2026, from test/fixtures/lived-in, and that version beside this one. */

import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../../lib/store/sqlite.ts";
import { write } from "./home.ts";
import { ROOT } from "./run.ts";
import type { World } from "./world.ts";

/** The version that wrote the home. */
export const VERSION = "ae396cfb";
const FOLDER = join(import.meta.dir, "..", "fixtures", "lived-in");
const ARCHIVE = join(FOLDER, "home.tar.gz");
/** Stands in the archive for the home's path. */
const HOME = "/lived-in";
/** Stands there for the address of its model and embedder. */
export const NOWHERE = "http://127.0.0.1:9/v1";
/** The home's clock after all that it holds. */
const NOW = new Date("2026-03-10T12:00:00Z");

/** Unpacks the home; the project of its sessions lies in `~/shop` by now. */
export function layLivedIn(world: World): void {
  const { status, stderr } = spawnSync("tar", ["-xzf", ARCHIVE, "-C", world.home], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  rewrite(world.home, HOME, world.home);
  if (world.server !== NOWHERE) rewrite(world.home, NOWHERE, world.server);
  write(join(world.project, ".git", "config"), '[remote "origin"]\n\turl = git@github.com:acme/shop.git\n');
  world.now = NOW;
}

/** Replaces a text in all files below a folder, in databases as values; times stay. */
function rewrite(folder: string, from: string, to: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const file = join(folder, name);
    const stat = statSync(file, { throwIfNoEntry: false }); // a database takes its log away
    if (!stat?.isFile()) continue;
    const bytes = readFileSync(file);
    if (name.endsWith(".gz") || !bytes.includes(from)) continue;
    if (bytes.subarray(0, 15).toString() === "SQLite format 3") rewriteDatabase(file, from, to);
    else writeFileSync(file, bytes.toString().replaceAll(from, to));
    utimesSync(file, stat.atime, stat.mtime);
  }
}

function rewriteDatabase(file: string, from: string, to: string): void {
  const db = openDatabase(file);
  db.exec("PRAGMA secure_delete = ON");
  const all = (sql: string) => db.prepare(sql).all();
  const tables = all(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'",
  );
  for (const { name } of tables)
    for (const { name: column, type } of all(`SELECT name, type FROM pragma_table_info('${name}')`))
      if (type === "TEXT")
        db.prepare(
          `UPDATE "${name}" SET "${column}" = replace("${column}", ?, ?) WHERE instr("${column}", ?)`,
        ).run(from, to, from);
  db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
  db.close();
}

/** Checks the version that wrote the home out of this clone's history; undefined where it is not there (a shallow clone). */
export function checkOut(into: string): string | undefined {
  const git = (...args: string[]) => spawnSync("git", ["-C", ROOT, ...args], { maxBuffer: 1 << 28 });
  if (git("cat-file", "-e", `${VERSION}^{commit}`).status !== 0) return undefined;
  mkdirSync(into, { recursive: true });
  spawnSync("tar", ["-x", "-C", into], {
    input: git(
      "archive",
      VERSION,
      "bin",
      "lib",
      "scripts",
      "hooks",
      "package.json",
      "tsconfig.json",
      "bunfig.toml",
    ).stdout,
  });
  symlinkSync(join(ROOT, "node_modules"), join(into, "node_modules"));
  return existsSync(join(into, "scripts", "search.ts")) ? into : undefined;
}

/** The command that runs a file of a checkout, on the clock of its environment. */
export function command(checkout: string): string[] {
  return [
    process.execPath,
    `--preload=${join(import.meta.dir, "clock.ts")}`,
    `--config=${join(checkout, "bunfig.toml")}`,
    "--no-env-file",
  ];
}

export function clockOf({ env, now }: World) {
  return { ...env, SESSION_MEMORY_TEST_NOW: now.toISOString() };
}

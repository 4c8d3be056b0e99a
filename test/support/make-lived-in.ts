/**
 * Makes the lived-in home anew: `bun test/support/make-lived-in.ts <checkout>` lets that version live through
 * test/fixtures/lived-in/story.txt, with a model and an embedder on loopback and a hub of its own, and packs what it wrote.
 * Sessions of the story work in /home/dev/shop, which must not be there: it is made for the time being.
 */

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { openDatabase } from "../../lib/store/sqlite.ts";
import { answerAsModel, startFakeOpenAI } from "./fake-openai.ts";
import { write } from "./home.ts";
import { clockOf, command, FOLDER, HOME, holding, NOWHERE, rewrite } from "./lived-in.ts";
import { startTeam } from "./postgres.ts";
import { runCommand } from "./run.ts";
import { emptyWorld, lay, splitElements, type World } from "./world.ts";

const SHOP = "/home/dev/shop";
const ORIGIN = '[remote "origin"]\n\turl = git@github.com:acme/shop.git\n';

/** What the person shares with whom the home's owner works. */
const BOB = `
@config {"timezone": "UTC", "share": {"machine": "laptop", "projects": {"github.com/acme/shop": "team_app"}}}
@claude d0000001 2026-02-16 09:00 in ${SHOP}
User: which queue do the payment retries use?
Assistant: The payments queue, with five tries and a backoff of a minute.
[Edit ${SHOP}/src/queue.ts]
  -tries: 3
  +tries: 5
User: never retry a refund
Assistant: Refunds are left out.
@claude d0000002 2026-02-17 09:00 in ${SHOP}
User: move the webhooks behind the gateway
Assistant: They answer at /hooks on the gateway now.
`;

const [checkout = ""] = process.argv.slice(2).map((path) => resolve(path));
if (!existsSync(join(checkout, "scripts", "search.ts")))
  throw new Error("Expected a checkout of session-memory");
if (existsSync(dirname(SHOP))) throw new Error(`Expected no ${dirname(SHOP)} here`);

const server = await startFakeOpenAI({ dimensions: 8, replies: [answerAsModel] });
const { database: hub, stop: stopHub } = await startTeam();
try {
  write(join(SHOP, ".git", "HEAD"), "ref: refs/heads/main\n");
  write(join(SHOP, ".git", "config"), ORIGIN);
  await tell(
    emptyWorld(),
    `@now 2026-02-18 12:00\n${BOB}\n$ session-memory share --init hub_users\n$ session-memory embed\n$ session-memory index-meta --all\n$ session-memory share`,
    "bob",
  );
  const world = emptyWorld(server.baseUrl);
  const story = readFileSync(join(FOLDER, "story.txt"), "utf8");
  await tell(world, story.slice(story.search(/^@/m)), "alice");
  pack(world);
} finally {
  stopHub();
  await server.close();
  rmSync(dirname(SHOP), { recursive: true });
}

/** Lays the elements of a text and runs its lines with the checkout's scripts and hooks. */
async function tell(world: World, text: string, role: string): Promise<void> {
  const bin = join(world.root, "bin");
  world.env = {
    ...world.env,
    PATH: `${bin}:${world.env.PATH}`,
    SESSION_MEMORY_HUB_URL: hub.url(role),
    SESSION_MEMORY_HUB_ADMIN_URL: hub.url("hub_admin"),
  };
  write(
    join(bin, "session-memory"),
    `#!/bin/sh\nfor file in scripts hooks/claude hooks; do file="${checkout}/$file/$1.ts"; [ -f "$file" ] && break; done\nif [ -f "$file" ]; then shift; else file="${checkout}/hooks/event.ts"; fi\nexec ${command(checkout).join(" ")} "$file" "$@"\n`,
  );
  spawnSync("chmod", ["+x", join(bin, "session-memory")]);
  for (const part of splitElements(text).flatMap((each) => each.split(/^(?=\$ )/m))) {
    if (part.startsWith("@")) lay(world, part);
    if (!part.startsWith("$ ")) continue;
    const [line = ""] = part.slice(2).split("\n", 1);
    const { stdout, stderr, exitCode } = await runCommand(["sh", "-c", line], {
      env: clockOf(world),
      cwd: SHOP,
    });
    process.stderr.write(
      `${line}\n${exitCode === 0 ? "" : `[${exitCode}]\n`}${stderr}${stdout.slice(0, 400)}`,
    );
    if (exitCode !== 0) throw new Error(line);
    settle(world);
  }
}

/** Gives the files that were written by now the time of the world's clock. */
function settle({ home, now }: World): void {
  for (const name of readdirSync(home, { recursive: true, encoding: "utf8" })) {
    const file = join(home, name);
    if (statSync(file).mtime > now) utimesSync(file, now, now);
  }
}

function pack(world: World): void {
  const { home, root } = world;
  for (const name of ["shop", ".bun"]) rmSync(join(home, name), { recursive: true });
  rewrite(home, home, HOME);
  rewrite(home, server.baseUrl, NOWHERE);
  for (const file of ["opencode/opencode.db", "kilo/kilo.db"]) {
    // their clients are not running
    const path = join(home, ".local/share", file);
    const { atime, mtime } = statSync(path);
    const db = openDatabase(path);
    db.exec("PRAGMA journal_mode = DELETE");
    db.close();
    utimesSync(path, atime, mtime);
  }
  for (const name of readdirSync(home, { recursive: true, encoding: "utf8" }))
    if (/-(?:wal|shm)$/.test(name)) rmSync(join(home, name));
  settle(world);
  for (const [what, text] of Object.entries({ root, checkout })) {
    const files = holding(home, text);
    if (files.length > 0) throw new Error(`${what} stands in ${files.join(", ")}`);
  }
  const archive = join(FOLDER, "home.tar.gz");
  const flags = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"];
  const { status, stderr } = spawnSync(
    "sh",
    ["-c", `tar -C '${home}' ${flags.join(" ")} -cf - . | gzip -9n > '${archive}'`],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(stderr);
  process.stderr.write(`${archive}: ${statSync(archive).size} bytes\n`);
}

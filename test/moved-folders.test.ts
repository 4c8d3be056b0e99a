/** A project's sessions stay its own when its folder is moved, and are not those of another repository in its old place. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../lib/config/config.ts";
import { currentExclusion } from "../lib/sessions/gate.ts";
import { localSessions } from "../lib/share/outgoing.ts";
import { openStore } from "../lib/store/store.ts";
import { homePerTest } from "./support/home.ts";
import { uuidFrom } from "./support/rows.ts";
import { lay } from "./support/world.ts";

const home = homePerTest();
let [shop, store] = ["", ""];
const began = process.cwd();
afterEach(() => process.chdir(began));

beforeEach(() => {
  shop = join(home.root, "work", "shop");
  store = join(home.root, "code", "store");
  for (const folder of [join(shop, "src"), join(home.root, "code")]) mkdirSync(folder, { recursive: true });
});

/** Makes a repository of a folder. */
function repository(folder: string, origin?: string): void {
  mkdirSync(join(folder, ".git"), { recursive: true });
  writeFileSync(join(folder, ".git", "HEAD"), "ref: refs/heads/main\n");
  const remote = origin === undefined ? "" : `[remote "origin"]\n\turl = ${origin}\n`;
  writeFileSync(join(folder, ".git", "config"), `[core]\n\tbare = false\n${remote}`);
}

/** Writes a session about something, a while ago; returns its id. */
function session(topic: string, cwd: string): string {
  const id = uuidFrom(topic);
  lay(
    home,
    `@claude ${id} 600s ago in ${cwd}
User: Why does the ${topic} sail late?
Assistant: The ${topic} waits for the tide.`,
  );
  return id;
}

test("what is shared of a project stays shared after a move, and is never another repository's in its place", async () => {
  const origin = "https://github.com/acme/shop";
  home.configure({ share: { projects: { "github.com/acme/*": "team" } } });
  repository(shop, origin);
  const old = session("brig", shop);
  session("sloop", "."); // is nowhere, and not where this process works
  process.chdir(shop);
  await home.ok("embed");
  const published = async () => {
    const config = await loadConfig(home.env, home.root);
    const exclusion = currentExclusion(config.paths);
    const held = openStore(config.paths.database);
    const found = localSessions({ store: held, config, exclusion });
    held.close();
    return found.map(({ id, signature }) => [id, signature.split(" ")[1]]);
  };
  const before = await published();
  expect(before.map(([id]) => id)).toEqual([old]);
  renameSync(shop, store);
  expect(await published()).toEqual(before);
  repository(shop, "https://example.com/somebody/else");
  expect(await published()).toEqual(before);
});

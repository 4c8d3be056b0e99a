/** docs/sharing.md: its five commands take a team from an empty PostgreSQL to the first shared answer. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { defaultSettings } from "../lib/config/config.ts";
import { parseSettings } from "../lib/config/schema.ts";
import { temporaryHome, write } from "./support/home.ts";
import { hasPostgres, type Postgres, startPostgres } from "./support/postgres.ts";
import { ROOT, runCommand } from "./support/run.ts";
import { say, uuid } from "./support/share.ts";

setDefaultTimeout(60_000); // a server is made first

const PAGE = readFileSync(join(ROOT, "docs", "sharing.md"), "utf8");

/** The shell block behind a comment of this name. */
function commandOf(name: string): string {
  const [, after = ""] = PAGE.split(`<!-- ${name} -->`);
  const [, block = ""] = after.split("```");
  expect(block).toStartWith("sh\n");
  return block.slice("sh\n".length).trim();
}

test("each config.json that docs/sharing.md shows is valid", () => {
  const examples = [...PAGE.matchAll(/```json\n([\s\S]*?)\n```/g)].map(([, json = ""]) => json);
  expect(examples).toHaveLength(2);
  for (const json of examples) parseSettings(json, "config.json", defaultSettings());
});

describe.skipIf(!hasPostgres())("docs/sharing.md", () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await startPostgres({ settings: { listen_addresses: "localhost" } });
  });
  afterAll(() => postgres.stop());

  test("leads to the first shared answer, also past a member who holds a lock", async () => {
    const here = (command: string) =>
      command
        .replaceAll("@hub.example.org/", `@localhost:${postgres.port}/`)
        .replaceAll("hub.example.org", "localhost")
        .replaceAll("session-memory ", `sh ${ROOT}/bin/session-memory `)
        .replace(/^sudo -u postgres /, "");
    for (const name of ["tls", "roles"]) postgres.shell(here(commandOf(name)));
    const [, , config = ""] = PAGE.split("```json\n");
    const person = () => {
      const home = temporaryHome();
      write(
        join(home.project, ".git", "config"),
        '[remote "origin"]\n\turl = git@github.com:acme/shop.git\n',
      );
      write(home.paths.config, config.split("\n```")[0] ?? "");
      copyFileSync(join(postgres.folder, "data", "server.crt"), join(home.home, "hub-ca.pem"));
      const bun = `${process.execPath.slice(0, process.execPath.lastIndexOf("/"))}:${process.env.PATH}`;
      const run = async (name: string) => {
        const { stdout, stderr, exitCode } = await runCommand(["sh", "-c", here(commandOf(name))], {
          env: { ...home.env, PATH: bun },
          cwd: home.project,
        });
        expect([name, exitCode, stderr.includes("error:") ? stderr : ""]).toEqual([name, 0, ""]);
        return stdout;
      };
      return { ...home, type: run };
    };
    const [admin, alice, bob] = [person(), person(), person()];
    await admin.type("init");
    say(alice, uuid(1), [
      "why are refunds booked twice",
      "the webhook is retried and the ledger key is random",
    ]);
    await alice.type("alice");
    expect(await bob.type("bob")).toContain("the webhook is retried and the ledger key is random");
    postgres.shell(here(commandOf("locks")).replace("1min", "1s"));
    const { Client } = createRequire(import.meta.url)("pg");
    const client = new Client(`postgresql://alice:change-me-2@127.0.0.1:${postgres.port}/memory`);
    client.on("error", () => {}); // the server ends it
    await client.connect();
    await client.query("BEGIN");
    await client.query("LOCK TABLE session_memory.sessions");
    expect(await bob.type("bob")).toContain("the webhook is retried and the ledger key is random");
    for (const home of [admin, alice, bob]) home.remove();
  });
});

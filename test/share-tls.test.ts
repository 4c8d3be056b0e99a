/** The connection to the hub: who it is, what is said where it is not, and that no credential is said anywhere. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { ShareConfig } from "../lib/config/config.ts";
import { temporaryHome, write } from "./support/home.ts";
import { giveToServer, hasPostgres, makeCertificates, startTeam } from "./support/postgres.ts";
import { type Finished, runCommand, runScript, scriptPath } from "./support/run.ts";
import { initHub, listenAsHub, type Sharer, say, sharer, uuid } from "./support/share.ts";

setDefaultTimeout(60_000); // a server is made first

/** The runtimes that are here: CI names the other two. */
const RUNTIMES: [name: string, command: string[] | undefined][] = [
  ["Bun", undefined],
  ...[process.env.SESSION_MEMORY_TEST_NODE]
    .filter((node) => node !== undefined)
    .map((node): [string, string[]] => ["Node", [node]]),
  ...[process.env.SESSION_MEMORY_TEST_DENO]
    .filter((deno) => deno !== undefined)
    .map((deno): [string, string[]] => ["Deno", [deno, "run", "-A", "--quiet"]]),
];

/** An address of this machine that is not loopback: TLS is required there. */
const OUTSIDE = Object.values(networkInterfaces())
  .flat()
  .find((address) => address && !address.internal && address.family === "IPv4")?.address;

function home(url: string, share: Partial<ShareConfig> = {}): Sharer {
  return sharer({ url: () => url }, { role: "alice", machine: "desk", share });
}

/** Runs share.ts on a runtime, or in this process. */
function share(runtime: string[] | undefined, home: Sharer, ...args: string[]): Promise<Finished> {
  if (runtime === undefined) return home.run("share", ...args);
  return runCommand([...runtime, scriptPath("share"), ...args], { env: home.env, cwd: home.project });
}

const WRONG = /its certificate is refused: .+\nhint: correct share\.caFile, or the host name in the URL\n$/;
const MISSING =
  /it offers no TLS\nhint: turn ssl on in its postgresql\.conf: a password is not sent in the clear\n$/;

describe.skipIf(!hasPostgres())("the hub's certificate", () => {
  let postgres: Awaited<ReturnType<typeof startTeam>>;
  let folder: string;
  let ca: string;
  let otherCa: string;

  beforeAll(async () => {
    const { root } = temporaryHome();
    folder = root;
    const made = makeCertificates(join(folder, "localhost"), "localhost");
    const byAddress = makeCertificates(join(folder, "other"), "hub.example.org");
    [ca, otherCa] = [made.ca, byAddress.ca];
    postgres = await startTeam({
      settings: { ssl: "on", listen_addresses: ["localhost", OUTSIDE].filter(Boolean).join() },
      prepare: (data) => {
        for (const [from, to] of [
          [made.certificate, "server.crt"],
          [made.key, "server.key"],
        ] as const) {
          write(join(data, to), readFileSync(from, "utf8"));
          giveToServer(join(data, to));
        }
      },
    });
    await initHub(postgres.database);
  });
  afterAll(() => {
    postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const at = (host: string) => `${postgres.database.url("alice", { host })}?sslmode=disable`;
  /** Shares with a hub that answers that it has no TLS. */
  const withoutTls = async (host: string, settings?: Partial<ShareConfig>) => {
    const plain = await listenAsHub((socket) => void socket.once("data", () => socket.write("N")), host);
    using alice = home(`${plain.url("alice")}?sslmode=disable`, settings);
    const finished = await alice.run("share");
    plain.close();
    return finished;
  };

  for (const [name, runtime] of RUNTIMES) {
    describe(`on ${name}`, () => {
      test("is taken from the authority that config.json names, for the host of the URL", async () => {
        using alice = home(at("localhost"), { caFile: ca });
        say(alice, uuid(1), ["over tls", "it went"]);
        const { stderr, exitCode } = await share(runtime, alice, "--quiet");
        expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
        const encrypted = postgres.database.sql(
          "SELECT count(*) FROM session_memory.sessions WHERE owner = 'alice'",
        );
        expect(Number(encrypted[0])).toBeGreaterThan(0);
      });

      const refused: [what: string, home: () => Sharer][] = [
        ["of another authority", () => home(at("localhost"), { caFile: otherCa })],
        ["for another name", () => home(at("127.0.0.1"), { caFile: ca })],
      ];
      test.each(refused)("%s is refused", async (_, make) => {
        using alice = make();
        expectRefused(await share(runtime, alice), WRONG);
      });
    });
  }

  test("that is missing is refused", async () => {
    expectRefused(await withoutTls("localhost", { caFile: ca }), MISSING);
  });

  test.skipIf(OUTSIDE === undefined)(
    "is asked for wherever the hub is not on this machine, whatever the URL says",
    async () => {
      using untrusted = home(at(OUTSIDE ?? ""));
      expectRefused(await untrusted.run("share"), WRONG);
      expectRefused(await withoutTls(OUTSIDE ?? ""), MISSING);
    },
  );

  function expectRefused({ stdout, stderr, exitCode }: Finished, message: RegExp): void {
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 1 });
    expect(stderr).toStartWith("error: HUB_ERROR: Cannot reach the hub ");
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain("alice-pw");
  }
});

describe("a hub", () => {
  test("that nobody runs is said to be refused, and a URL that is none is never repeated", async () => {
    using alice = home("postgresql://alice:pa%24word@127.0.0.1:9/memory");
    say(alice, uuid(2), ["is it", "there"]);
    const { stderr, exitCode } = await alice.run("share");
    expect({ stderr, exitCode }).toEqual({
      exitCode: 1,
      stderr:
        "error: HUB_ERROR: Cannot reach the hub 127.0.0.1:9/memory: connect ECONNREFUSED 127.0.0.1:9\nhint: check that it runs and that the URL names it\n",
    });
    for (const url of [
      "alice:hunter2@hub/memory",
      "https://alice:hunter2@hub/memory",
      "postgresql://alice:hunter2@/memory",
      "postgresql://hub/memory",
      "",
    ]) {
      const wrong = await runScript("share", [], {
        env: { ...alice.env, SESSION_MEMORY_HUB_URL: url },
        cwd: alice.project,
      });
      expect(wrong.exitCode).toBe(1);
      expect(wrong.stderr).toStartWith("error: CONFIG_INVALID: Cannot ");
      expect(wrong.stderr).not.toContain("hunter2");
    }
  });

  test("that says nothing is given up", async () => {
    const silent = await listenAsHub(() => {});
    using alice = home(`postgresql://alice:alice-pw@127.0.0.1:${silent.port}/memory`);
    const { stderr, exitCode } = await alice.run("share");
    silent.close();
    expect({ stderr, exitCode }).toEqual({
      exitCode: 1,
      stderr: `error: HUB_ERROR: Cannot reach the hub 127.0.0.1:${silent.port}/memory: it does not answer\nhint: check that it runs and that no firewall blocks it\n`,
    });
  });
});

describe("credentials and a project's .env", () => {
  test("are in no state file, and PG* variables of a project's .env change nothing", async () => {
    using alice = home("postgresql://alice:hunter2secret@127.0.0.1:9/memory");
    say(alice, uuid(3), ["is it", "there"]);
    write(
      join(alice.project, ".env"),
      "PGHOST=evil.example\nPGPASSWORD=x\nPGSSLMODE=no-verify\nNODE_PG_FORCE_NATIVE=1\n",
    );
    const env = {
      ...alice.env,
      PGHOST: "evil.example",
      PGPORT: "1",
      PGOPTIONS: "-c x=y",
      NODE_PG_FORCE_NATIVE: "1",
    };
    const { stderr } = await runScript("share", [], { env, cwd: alice.project });
    expect(stderr).toContain("Cannot reach the hub 127.0.0.1:9/memory: connect ECONNREFUSED 127.0.0.1:9");
    await alice.run("health", "--json");
    const glob = new Bun.Glob("**/*");
    const files = [...glob.scanSync({ cwd: alice.paths.home, onlyFiles: true, dot: true })];
    expect(files).toContain("state.db");
    for (const file of files) {
      expect([file, readFileSync(join(alice.paths.home, file)).includes("hunter2secret")]).toEqual([
        file,
        false,
      ]);
    }
  });
});

/**
 * A PostgreSQL server made for one test file: in a temp folder, on loopback, as an unprivileged user, with the roles of
 * a small team. Debian's packages; a machine without them skips with a word, and CI fails.
 */

import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

export interface Postgres {
  port: number;
  folder: string;
  /** A URL for a role; its password is its name followed by `-pw`. */
  url(role: string, options?: { database?: string; host?: string }): string;
  /** Runs SQL as a role and returns the rows, columns joined by `|`. */
  sql(sql: string, role?: string, database?: string): string[];
  /** Runs SQL and returns what went wrong, empty when nothing did. */
  refusal(sql: string, role: string): string;
  /** Everything in a database as SQL. */
  dump(database?: string): string;
  /** Runs a shell command as the server's own user, with what its programs need to reach it. */
  shell(command: string): void;
  stop(): void;
}

const DATABASE = "memory";
const PACKAGES = "/usr/lib/postgresql";

/** The folder of PostgreSQL's programs; undefined where the packages are not installed. */
export function postgresPrograms(): string | undefined {
  if (!existsSync(PACKAGES)) return undefined;
  const versions = readdirSync(PACKAGES).sort((a, b) => Number(b) - Number(a));
  return versions
    .map((version) => join(PACKAGES, version, "bin"))
    .find((bin) => existsSync(join(bin, "initdb")));
}

/**
 * Whether tests with a server can run here. Says so once where not.
 *
 * @throws where CI has no server: there a skip would go unnoticed.
 */
export function hasPostgres(): boolean {
  if (postgresPrograms()) return true;
  if (process.env.SESSION_MEMORY_TEST_POSTGRES === "required") {
    throw new Error("Expected PostgreSQL's packages: apt-get install postgresql");
  }
  console.error("skipped: PostgreSQL is not installed (apt-get install postgresql)");
  return false;
}

/** Starts a server with the roles and the database of a team. */
export async function startPostgres({
  settings = {},
  prepare = () => {},
  hasTeam = true,
}: {
  /** Whether the roles and the database of a team are there from the start. @default {true} */
  hasTeam?: boolean;
  settings?: Record<string, string>;
  /** Puts files into the data folder before the server starts. */
  prepare?: (data: string) => void;
} = {}): Promise<Postgres> {
  const bin = postgresPrograms();
  if (bin === undefined) throw new Error("Expected PostgreSQL's packages: apt-get install postgresql");
  const user = unprivileged();
  // Not below TMPDIR: its folders are closed to other users.
  const folder = mkdtempSync("/tmp/session-memory-pg-");
  own(folder, user);
  const port = await freePort();
  const data = join(folder, "data");
  const password = join(folder, "password");
  writeFileSync(password, "postgres-pw\n");
  own(password, user);
  runAs(user, [
    join(bin, "initdb"),
    "-D",
    data,
    "-U",
    "postgres",
    "--auth=scram-sha-256",
    `--pwfile=${password}`,
    "-E",
    "UTF8",
    "--locale=C",
    "--no-sync",
  ]);
  writeFileSync(
    join(data, "pg_hba.conf"),
    "host all all 127.0.0.1/32 scram-sha-256\nhost all all ::1/128 scram-sha-256\nhost all all all scram-sha-256\n",
  );
  prepare(data);
  const all = { listen_addresses: "127.0.0.1", unix_socket_directories: "", fsync: "off", ...settings };
  const flags = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const child = spawn(...commandAs(user, [join(bin, "postgres"), "-D", data, "-p", String(port), ...flags]), {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  child.stderr?.on("data", (bytes) => {
    log = `${log}${bytes}`.slice(-20_000);
  });
  const url: Postgres["url"] = (role, { database = DATABASE, host = "127.0.0.1" } = {}) =>
    `postgresql://${role}:${role}-pw@${host}:${port}/${database}`;
  const psql = (sql: string, role: string, database: string) =>
    spawnSync(
      join(bin, "psql"),
      ["-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-c", sql, url(role, { database })],
      {
        encoding: "utf8",
        env: { PATH: process.env.PATH, PGSSLMODE: "disable" },
        maxBuffer: 1 << 30,
      },
    );
  const server: Postgres = {
    port,
    folder,
    url,
    sql(sql, role = "postgres", database = DATABASE) {
      const { status, stdout, stderr } = psql(sql, role, database);
      if (status !== 0) throw new Error(stderr);
      return stdout.split("\n").filter(Boolean);
    },
    refusal: (sql, role) => psql(sql, role, DATABASE).stderr.trim(),
    dump(database = DATABASE) {
      const { stdout } = spawnSync(join(bin, "pg_dump"), ["--inserts", url("postgres", { database })], {
        encoding: "utf8",
        maxBuffer: 1 << 30,
      });
      return stdout;
    },
    shell(command) {
      const env = {
        PATH: `${bin}:/usr/bin:/bin`, // the folder of the tests is closed to it
        PGHOST: "127.0.0.1",
        PGPORT: String(port),
        PGUSER: "postgres",
        PGPASSWORD: "postgres-pw",
      };
      const { status, stderr } = spawnSync(...commandAs(user, ["sh", "-c", command]), {
        encoding: "utf8",
        env,
        cwd: folder,
      });
      if (status !== 0) throw new Error(stderr);
    },
    stop() {
      child.kill("SIGQUIT");
      spawnSync("sleep", ["0.2"]);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  await untilReady(
    () => psql("SELECT 1", "postgres", "postgres").status === 0,
    () => log,
  );
  if (!hasTeam) return server;
  server.sql(TEAM.join(";"), "postgres", "postgres");
  server.sql(`CREATE DATABASE ${DATABASE} OWNER hub_admin`, "postgres", "postgres");
  return server;
}

/** Alice and Bob are in the team, Eve may use the hub and is not; the admin owns the tables and is no superuser. */
const TEAM = [
  "CREATE ROLE team_app NOLOGIN",
  "CREATE ROLE hub_users NOLOGIN",
  ...["alice", "bob", "eve"].map(
    (name) => `CREATE ROLE ${name} LOGIN PASSWORD '${name}-pw' IN ROLE hub_users`,
  ),
  "GRANT team_app TO alice, bob",
  "CREATE ROLE hub_admin LOGIN CREATEROLE PASSWORD 'hub_admin-pw'",
];

async function untilReady(isReady: () => boolean, log: () => string): Promise<void> {
  for (let tries = 0; !isReady(); tries++) {
    if (tries > 200) throw new Error(`Expected PostgreSQL to start: ${log()}`);
    await Bun.sleep(50);
  }
}

interface User {
  uid: number;
  gid: number;
}

/** PostgreSQL refuses to run as root. */
function unprivileged(): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = ["-u", "-g"].map((flag) =>
    Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout),
  );
  return { uid: uid ?? 0, gid: gid ?? 0 };
}

function own(path: string, user: User | undefined): void {
  if (user) chownSync(path, user.uid, user.gid);
}

function commandAs(user: User | undefined, command: string[]): [string, string[]] {
  const all = user
    ? ["setpriv", `--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups", ...command]
    : command;
  return [all[0] ?? "", all.slice(1)];
}

function runAs(user: User | undefined, command: string[]): void {
  const { status, stderr } = spawnSync(...commandAs(user, command), {
    encoding: "utf8",
    env: { PATH: process.env.PATH },
  });
  if (status !== 0) throw new Error(stderr);
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

/** A certificate authority and a server certificate for a name, made by openssl in a folder. */
export function makeCertificates(
  folder: string,
  name: string,
): { ca: string; certificate: string; key: string } {
  mkdirSync(folder, { recursive: true });
  const at = (file: string) => join(folder, file);
  const openssl = (line: string) => {
    const { status, stderr } = spawnSync("openssl", line.split(" "), { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
  };
  const subject = /^[\d.:]+$/.test(name) ? `IP:${name}` : `DNS:${name}`;
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
  openssl(`req -x509 ${key} -days 2 -subj /CN=test-ca -keyout ${at("ca.key")} -out ${at("ca.pem")}`);
  openssl(`req ${key} -subj /CN=${name} -keyout ${at("server.key")} -out ${at("server.csr")}`);
  writeFileSync(at("server.ext"), `subjectAltName=${subject}\n`);
  const signed = `-CA ${at("ca.pem")} -CAkey ${at("ca.key")} -CAcreateserial -extfile ${at("server.ext")}`;
  openssl(`x509 -req -days 2 -in ${at("server.csr")} ${signed} -out ${at("server.pem")}`);
  return { ca: at("ca.pem"), certificate: at("server.pem"), key: at("server.key") };
}

/** Gives files to the user that the server runs as. */
export function giveToServer(...files: string[]): void {
  const user = unprivileged();
  for (const file of files) {
    chmodSync(file, 0o600);
    own(file, user);
  }
}

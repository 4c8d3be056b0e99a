/**
 * PostgreSQL for tests: on loopback, as an unprivileged user, in a temp folder. One server per run of tests, with the roles
 * of a small team and a database per block of tests; a server of its own where its settings are what is tested. Debian's
 * packages; a machine without them skips with a word, and CI fails.
 */

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

/** A server. */
export interface Postgres {
  port: number;
  folder: string;
  /** Runs a shell command as the server's own user, with what its programs need to reach it. */
  shell(command: string): void;
  stop(): void;
}

/** A database of a team. */
export interface Database {
  name: string;
  /** As our messages name it: host, port and name. */
  address: string;
  /** A URL for a role; its password is its name followed by `-pw`. */
  url(role: string, options?: { database?: string; host?: string }): string;
  /** Runs SQL as a role and returns the rows, columns joined by `|`. */
  sql(sql: string, role?: string, database?: string): string[];
  /** Runs SQL and returns what went wrong, empty when nothing did. */
  refusal(sql: string, role: string): string;
  /** Everything in the database as SQL. */
  dump(): string;
  /** The folder of the database's files. */
  folder(): string;
}

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

/** Makes a database of the team's on the server of this run of tests. */
export async function createDatabase(): Promise<Database> {
  const name = `memory_${crypto.randomUUID().slice(0, 8)}`;
  const { port, folder } = await serverOfRun();
  const database = teamDatabase(name, port, folder);
  database.sql(`CREATE DATABASE ${name} OWNER hub_admin`, "postgres", "postgres");
  return database;
}

/** Makes a server with settings of its own, and a team's database on it. */
export async function startTeam(options: ServerOptions = {}): Promise<Postgres & { database: Database }> {
  const server = await startPostgres(options);
  const database = teamDatabase("memory", server.port, server.folder);
  database.sql(TEAM.join(";"), "postgres", "postgres");
  database.sql("CREATE DATABASE memory OWNER hub_admin", "postgres", "postgres");
  return { ...server, database };
}

function teamDatabase(name: string, port: number, folder: string): Database {
  const bin = postgresPrograms() ?? "";
  const url: Database["url"] = (role, { database = name, host = "127.0.0.1" } = {}) =>
    `postgresql://${role}:${role}-pw@${host}:${port}/${database}`;
  const run = (program: string, ...args: string[]) =>
    spawnSync(join(bin, program), args, {
      encoding: "utf8",
      env: { PATH: process.env.PATH, PGSSLMODE: "disable" },
      maxBuffer: 1 << 30,
    });
  const psql = (sql: string, role: string, database = name) =>
    run("psql", "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-c", sql, url(role, { database }));
  const sql: Database["sql"] = (sql, role = "postgres", database) => {
    const { status, stdout, stderr } = psql(sql, role, database);
    if (status !== 0) throw new Error(stderr);
    return stdout.split("\n").filter(Boolean);
  };
  return {
    name,
    address: `127.0.0.1:${port}/${name}`,
    url,
    sql,
    refusal: (sql, role) => psql(sql, role).stderr.trim(),
    dump: () => run("pg_dump", "--inserts", url("postgres")).stdout,
    folder: () => {
      const [oid = ""] = sql(`SELECT oid FROM pg_database WHERE datname = '${name}'`);
      return join(folder, "data", "base", oid);
    },
  };
}

/** The run of tests that this process belongs to: the id of its first process, and what tells it from an older one. */
const RUN = process.env.SESSION_MEMORY_TEST_RUN ?? `${process.pid}-${Math.round(performance.timeOrigin)}`;

/** Returns the server of this run; the first that asks starts it, and it ends with the run. */
async function serverOfRun(): Promise<{ port: number; folder: string }> {
  const folder = `/tmp/session-memory-pg-${RUN}`;
  const ready = join(folder, "ready");
  if (isMade(folder)) {
    const { port } = await startPostgres({ folder });
    teamDatabase("postgres", port, folder).sql(TEAM.join(";"));
    writeFileSync(`${ready}.new`, String(port));
    renameSync(`${ready}.new`, ready);
  }
  for (let tries = 0; !existsSync(ready); tries++) {
    if (tries > 600)
      throw new Error(`Expected the first process of this run to start PostgreSQL in ${folder}`);
    await Bun.sleep(50);
  }
  return { port: Number(readFileSync(ready, "utf8")), folder };
}

/** Makes a folder; false where it is there. */
function isMade(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

interface ServerOptions {
  /** An empty folder. @default a new one */
  folder?: string;
  settings?: Record<string, string>;
  /** Puts files into the data folder before the server starts. */
  prepare?: (data: string) => void;
}

/** Starts a server without roles or databases of ours. It ends with the run, if it is not stopped before. */
export async function startPostgres({
  folder = mkdtempSync("/tmp/session-memory-pg-"), // not below TMPDIR: its folders are closed to other users
  settings = {},
  prepare = () => {},
}: ServerOptions = {}): Promise<Postgres> {
  const bin = postgresPrograms();
  if (bin === undefined) throw new Error("Expected PostgreSQL's packages: apt-get install postgresql");
  const user = unprivileged();
  own(folder, user);
  const port = await freePort();
  const [data, password, log] = ["data", "password", "log"].map((name) => join(folder, name)) as Three;
  const control = [join(bin, "pg_ctl"), "-D", data, "-l", log];
  const command = commandAs(user, [...control, "-m", "immediate", "stop"])
    .flat()
    .join(" ");
  // the programs that the tests see are gone when their run is over
  const stop = `PATH=/usr/bin:/bin; ${command}; rm -rf ${folder}`;
  endWithRun(stop);
  writeFileSync(password, "postgres-pw\n");
  own(password, user);
  const flags = "-U postgres --auth=scram-sha-256 -E UTF8 --locale=C --no-sync --no-instructions".split(" ");
  runAs(user, [join(bin, "initdb"), "-D", data, `--pwfile=${password}`, ...flags]);
  writeFileSync(
    join(data, "pg_hba.conf"),
    "host all all 127.0.0.1/32 scram-sha-256\nhost all all ::1/128 scram-sha-256\nhost all all all scram-sha-256\n",
  );
  prepare(data);
  const all = { ...SETTINGS, port: String(port), ...settings };
  const options = Object.entries(all).map(([name, value]) => `-c ${name}='${value}'`);
  runAs(user, [...control, "-w", "-o", options.join(" "), "start"], log);
  return {
    port,
    folder,
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
    stop: () => void spawnSync("sh", ["-c", stop]),
  };
}

type Three = [string, string, string];

/** A server whose data nobody needs after the run. */
const SETTINGS = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  fsync: "off",
  full_page_writes: "off",
};

/** Runs a shell command when the run of tests is over, however it ended. */
function endWithRun(command: string): void {
  const [id] = RUN.split("-");
  // a process that a test started is killed with it, one that its shell left behind is not
  const waits = `tail --pid=${id} -f /dev/null; ${command}`;
  spawnSync("sh", ["-c", `setsid sh -c '${waits}' </dev/null >/dev/null 2>&1 &`]);
}

/**
 * The users of the hub. Eve is not in the team; Mallory is, and writes what she likes; Carol's membership comes and
 * goes, for roles are the server's and not a database's. The admin owns the tables and is not a superuser.
 */
const TEAM = [
  "CREATE ROLE team_app NOLOGIN",
  "CREATE ROLE hub_users NOLOGIN",
  ...["alice", "bob", "carol", "eve", "mallory"].map(
    (name) => `CREATE ROLE ${name} LOGIN PASSWORD '${name}-pw' IN ROLE hub_users`,
  ),
  "GRANT team_app TO alice, bob, carol, mallory",
  "CREATE ROLE hub_admin LOGIN CREATEROLE PASSWORD 'hub_admin-pw'",
];

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

function runAs(user: User | undefined, command: string[], log?: string): void {
  const { status, stderr } = spawnSync(...commandAs(user, command), {
    encoding: "utf8",
    env: { PATH: process.env.PATH },
  });
  if (status !== 0) throw new Error(log === undefined ? stderr : readFileSync(log, "utf8"));
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

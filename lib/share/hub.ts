/**
 * A connection to the hub: its address, how it is secured, its errors. The only file that loads the PostgreSQL driver; it
 * gives up on a hub that says nothing. The URL holds a password: nothing of it but host, port and database is ever shown.
 */

import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { type ConnectionOptions, checkServerIdentity } from "node:tls";
import { describeError, SessionMemoryError } from "../base/errors.ts";
import { type Config, expandPath } from "../config/config.ts";
import { ownRules } from "../transcripts/rules.ts";

/** A value of a row, as PostgreSQL writes it: integers beyond 32 bits are text. */
export type HubRow = Record<string, unknown>;

export interface Hub {
  /** Host, port and database. */
  readonly label: string;
  query(sql: string, values?: readonly unknown[]): Promise<HubRow[]>;
  /** Runs `work` between BEGIN and COMMIT; anything thrown rolls back. */
  transaction<T>(work: () => Promise<T>, mode?: string): Promise<T>;
  close(): Promise<void>;
}

/** The part of the driver that is used. */
interface Client {
  connect(): Promise<void>;
  query(sql: string, values?: readonly unknown[]): Promise<{ rows: HubRow[] }>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): void;
  connection?: { stream?: { destroy(): void } };
}

/** With the time that closing takes, a silent hub is abandoned after less than eight seconds. */
const CONNECT_TIMEOUT_MS = 5_000;
const QUERY_TIMEOUT_MS = 7_000; // the largest page takes two seconds on a slow line
const CLOSE_TIMEOUT_MS = 500; // nobody waits for a goodbye

/** Errors of the network, by code: no hub is there, or it does not answer. */
const UNREACHABLE =
  /^(?:ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|ENOENT|EACCES|57P0[123]|53\w{3}|08\w{3})$/;
const SILENT = /timeout/i;
const CLOSED = /Connection terminated|server conn crashed|closed the connection/i;
const CERTIFICATE =
  /certificate|self[- ]signed|altname|CERT_|UnknownIssuer|NotValidForName|UNABLE_TO_|issuer/i;

/**
 * Connects.
 *
 * @throws {SessionMemoryError} `HUB_ERROR` when the hub cannot be reached, is not who it should be, or refuses us.
 */
export async function connectHub(address: HubAddress): Promise<Hub> {
  const client = await newClient(address);
  let broken: Error | undefined;
  client.on("error", (error) => {
    broken = error;
  });
  try {
    await client.connect();
  } catch (error) {
    await close(client);
    throw hubError("reach", broken ?? error, address);
  }
  const query = async (sql: string, values?: readonly unknown[]) => {
    try {
      return (await client.query(sql, values)).rows;
    } catch (error) {
      throw hubError("use", broken ?? error, address);
    }
  };
  return {
    label: address.label,
    query,
    async transaction(work, mode = "") {
      await query(`BEGIN ${mode}`);
      try {
        const result = await work();
        await query("COMMIT");
        return result;
      } catch (error) {
        // Without an answer the connection is closed, and the transaction ends with it.
        if (!(error instanceof SessionMemoryError && error.recoverable)) {
          await client.query("ROLLBACK").catch(() => {});
        }
        throw error;
      }
    },
    close: () => close(client),
  };
}

async function newClient({ host, port, user, password, database, ssl }: HubAddress): Promise<Client> {
  // A project's .env may have set these: the driver takes from them what it is not given.
  for (const name of Object.keys(process.env)) {
    if (/^PG[A-Z]|^NODE_PG_/.test(name)) delete process.env[name];
  }
  // @ts-expect-error the driver comes without types
  const driver: { default: { Client: new (options: object) => Client } } = await import("pg");
  return new driver.default.Client({
    host,
    port,
    user,
    // a function, since without one the driver looks for a password file
    password: () => password,
    database,
    ssl,
    application_name: "session-memory",
    client_encoding: "UTF8",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  });
}

/** Closes the connection within a limit: a hub that does not answer would not confirm it either. */
async function close(client: Client): Promise<void> {
  await Promise.race([client.end().catch(() => {}), setTimeout(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
  client.connection?.stream?.destroy();
}

function hubError(
  action: "reach" | "use",
  cause: unknown,
  { label, password }: HubAddress,
): SessionMemoryError {
  const code = errorCode(cause);
  const text = describeError(cause).split("\n")[0] ?? "";
  const [reason, hint] = explain(
    code,
    ownRules().clean(password === "" ? text : text.replaceAll(password, "…")),
  );
  return new SessionMemoryError("HUB_ERROR", `Cannot ${action} the hub ${label}: ${reason}`, {
    recoverable: isTransient(code, text),
    hint,
    details: code === "" ? {} : { code },
  });
}

function isTransient(code: string, text: string): boolean {
  return UNREACHABLE.test(code) || SILENT.test(text) || CLOSED.test(text) || /^40/.test(code);
}

function explain(code: string, text: string): [reason: string, hint: string] {
  if (SILENT.test(text)) return ["it does not answer", "check that it runs and that no firewall blocks it"];
  if (CERTIFICATE.test(`${code} ${text}`)) {
    return [`its certificate is refused: ${text}`, "correct share.caFile, or the host name in the URL"];
  }
  if (/not support SSL|SSL connection/i.test(text)) {
    return ["it offers no TLS", "turn ssl on in its postgresql.conf: a password is not sent in the clear"];
  }
  if (/^28/.test(code)) return [text, "correct user and password in the URL"];
  if (code === "3F000" || code === "42P01")
    return ["its tables are not there", "run session-memory share --init <role>"];
  if (code === "42501" && /row-level security/.test(text)) {
    return [
      "it refuses the rows",
      "name an audience in share.projects that is you or a role that you are in",
    ];
  }
  if (code === "42501") return [text, "ask for membership in the role that --init was given"];
  if (UNREACHABLE.test(code)) return [text, "check that it runs and that the URL names it"];
  return [text, "see the server's log"];
}

function errorCode(error: unknown): string {
  if (error instanceof AggregateError) return errorCode(error.errors[0]);
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** The variable that holds the URL of a role that may create tables. */
export const ADMIN_URL_VARIABLE = "SESSION_MEMORY_HUB_ADMIN_URL";
const PORT = 5432; // PostgreSQL's

type HubAddress = ReturnType<typeof hubAddress>;

/**
 * Returns the address in a variable, with all that a connection needs: a driver takes what it is not given from `PG*`
 * variables.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` when the variable is not set, is not a PostgreSQL URL, or the certificate
 * authority's file cannot be read.
 */
export function hubAddress(
  variable: string,
  { env, paths, settings }: Pick<Config, "env" | "paths" | "settings">,
) {
  const url = parseUrl(variable, env[variable]);
  const host = hubHost(url);
  const user = part(url.username);
  if (user === "") throw invalid(variable, "it names no user");
  const database = part(url.pathname.slice(1)) || user;
  const port = url.port === "" ? PORT : Number(url.port);
  const caFile = settings.share?.caFile;
  const ca = caFile === undefined ? undefined : readCa(expandPath(caFile, env, paths.home));
  const isEncrypted =
    ca !== undefined || !isLocal(host) || /^(?:require|verify)/.test(url.searchParams.get("sslmode") ?? "");
  return {
    host,
    port,
    user,
    password: part(url.password),
    database,
    /** False for a connection that stays on this machine. */
    ssl: isEncrypted && tlsSettings(host, ca),
    /** The name of the hub in messages: host, port and database. */
    label: `${host.includes(":") ? `[${host}]` : host}:${port}/${database}`,
  };
}

/** Parses a `postgresql://` or `postgres://` URL; several hosts are not supported. */
function parseUrl(variable: string, value: string | undefined): URL {
  if (value === undefined || value === "") throw invalid(variable, "it is not set");
  if (!URL.canParse(value)) throw invalid(variable, "it is no URL");
  const url = new URL(value);
  if (!/^postgres(?:ql)?:$/.test(url.protocol))
    throw invalid(variable, "it does not begin with postgresql://");
  if (hubHost(url) === "" || url.hostname.includes(",")) throw invalid(variable, "it names no single host");
  return url;
}

function hubHost(url: URL): string {
  const socket = url.searchParams.get("host") ?? "";
  if (socket.startsWith("/")) return socket;
  return part(url.hostname).replace(/^\[(.*)\]$/, "$1");
}

function part(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a percent sign of its own
  }
}

function isLocal(host: string): boolean {
  return host.startsWith("/") || host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function readCa(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const reason = describeError(cause);
    throw new SessionMemoryError("CONFIG_INVALID", `Cannot read share.caFile "${file}": ${reason}`, {
      hint: "correct share.caFile in config.json",
      cause,
    });
  }
}

/** Checks certificate and name whatever the URL's sslmode says: "require" alone would trust anybody. */
function tlsSettings(host: string, ca: string | undefined): ConnectionOptions {
  return {
    ...(ca === undefined ? {} : { ca }),
    rejectUnauthorized: true,
    // the driver gives no name for an address, and runtimes differ in what they then compare with
    checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate),
  };
}

function invalid(variable: string, reason: string): SessionMemoryError {
  return new SessionMemoryError("CONFIG_INVALID", `Cannot use ${variable}: ${reason}`, {
    hint: `set ${variable} to postgresql://<user>:<password>@<host>/<database>`,
  });
}

/** Groups items in order, so that no group of several weighs more than `max`. */
export function* batchesBy<T>(
  items: Iterable<T>,
  { max, weigh }: { max: number; weigh: (item: T) => number },
): Generator<T[]> {
  let batch: T[] = [];
  let sum = 0;
  for (const item of items) {
    const weight = weigh(item);
    if (batch.length > 0 && sum + weight > max) {
      yield batch;
      batch = [];
      sum = 0;
    }
    batch.push(item);
    sum += weight;
  }
  if (batch.length > 0) yield batch;
}

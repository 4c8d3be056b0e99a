/**
 * The hub's address and how the connection to it is secured. The URL holds a password: nothing of it but host, port and
 * database is ever shown.
 */

import { readFileSync } from "node:fs";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { describeError, SessionMemoryError } from "../base/errors.ts";
import { type Config, expandPath } from "../config/config.ts";

/** Everything a connection needs, each field given: a driver takes what is missing from `PG*` variables. */
export interface HubAddress {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  /** False for a connection that stays on this machine. */
  ssl: false | TlsSettings;
  /** The name of the hub in messages: host, port and database. */
  label: string;
}

interface TlsSettings {
  ca?: string;
  rejectUnauthorized: true;
  checkServerIdentity: (name: string, certificate: PeerCertificate) => Error | undefined;
}

/** The variable that holds the URL of a role that may create tables. */
export const ADMIN_URL_VARIABLE = "SESSION_MEMORY_HUB_ADMIN_URL";
const PORT = 5432;

/**
 * The address in a variable.
 *
 * @throws {SessionMemoryError} `CONFIG_INVALID` when the variable is not set, is no PostgreSQL URL, or the certificate
 * authority's file cannot be read.
 */
export function hubAddress(
  variable: string,
  { env, paths, settings }: Pick<Config, "env" | "paths" | "settings">,
): HubAddress {
  const url = parseUrl(variable, env[variable]);
  const host = hostOf(url);
  const database = part(url.pathname.slice(1)) || part(url.username);
  const user = part(url.username);
  if (user === "") throw invalid(variable, "it names no user");
  const caFile = settings.share?.caFile;
  const ca = caFile === undefined ? undefined : readCa(expandPath(caFile, env, paths.home));
  const isEncrypted = ca !== undefined || !isLocal(host) || /^(?:require|verify)/.test(sslMode(url));
  const port = url.port === "" ? PORT : Number(url.port);
  return {
    host,
    port,
    user,
    password: part(url.password),
    database,
    ssl: isEncrypted ? tlsSettings(host, ca) : false,
    label: `${host.includes(":") ? `[${host}]` : host}:${port}/${database}`,
  };
}

/** Parses a `postgresql://` or `postgres://` URL; several hosts are not supported. */
function parseUrl(variable: string, value: string | undefined): URL {
  if (value === undefined || value === "") {
    throw new SessionMemoryError("CONFIG_INVALID", `Cannot reach the hub: ${variable} is not set`, {
      hint: `set ${variable} to postgresql://<user>:<password>@<host>/<database>`,
    });
  }
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    throw invalid(variable, "it is no URL"); // the cause would repeat it, with the password
  }
  if (!/^postgres(?:ql)?:$/.test(url.protocol))
    throw invalid(variable, "it does not begin with postgresql://");
  if (hostOf(url) === "" || url.hostname.includes(",")) throw invalid(variable, "it names no single host");
  return url;
}

function hostOf(url: URL): string {
  const socket = url.searchParams.get("host") ?? "";
  if (socket.startsWith("/")) return socket;
  return part(url.hostname).replace(/^\[(.*)\]$/, "$1");
}

function sslMode(url: URL): string {
  return url.searchParams.get("sslmode") ?? "";
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
function tlsSettings(host: string, ca: string | undefined): TlsSettings {
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

/** The address of a git repository in one spelling, whatever protocol, user or port a clone names it with. */

/** Their names do not distinguish case. */
const FOLDS_CASE = new Set(["github.com", "gitlab.com", "bitbucket.org"]);
/** Names of the same hosts for networks that close port 22, or of their web sites. */
const ALIASES: Record<string, string> = {
  "ssh.github.com": "github.com",
  "www.github.com": "github.com",
  "altssh.gitlab.com": "gitlab.com",
  "altssh.bitbucket.org": "bitbucket.org",
};
const DEFAULT_PORTS: Record<string, string> = { http: "80", https: "443", git: "9418" };

/**
 * Returns `host/path` of a repository's address, such as `github.com/acme/shop`; undefined for a path on this machine.
 * User names and passwords are left out: addresses carry tokens.
 */
export function normalizeRemote(address: string): string | undefined {
  const parts = partsOf(address.trim());
  if (!parts) return undefined;
  const { scheme, port } = parts;
  const given = parts.host.toLowerCase().replace(/\.$/, "");
  const host = ALIASES[given] ?? given;
  const path = pathOf(parts.path);
  if (host === "" || path === "") return undefined;
  // A server's ssh port is another one than its web port: it says nothing of which server it is.
  const isUsual = scheme.endsWith("ssh") || port === "" || port === DEFAULT_PORTS[scheme];
  return `${host}${isUsual ? "" : `:${port}`}/${FOLDS_CASE.has(host) ? path.toLowerCase() : path}`;
}

interface Parts {
  scheme: string;
  host: string;
  port: string;
  path: string;
}

function partsOf(address: string): Parts | undefined {
  const url = /^([a-z][a-z0-9+.-]*):\/\/(?:[^@/?#]*@)?(\[[^\]]*\]|[^:/?#]*)(?::(\d*))?\/([^?#]*)/i.exec(
    address,
  );
  if (url) {
    const [, name = "", host = "", port = "", path = ""] = url;
    const scheme = name.toLowerCase().replace(/^git\+|\+git$/, "");
    return /^(?:https?|ssh|git)$/.test(scheme) ? { scheme, host, port, path } : undefined;
  }
  // `user@host:path`; one letter before the colon is a Windows drive
  const short = /^(?:[^@/\s:]+@)?(\[[^\]]*\]|[^@:/\\\s]{2,}):(?!\/\/)([^?#]*)$/.exec(address);
  return short ? { scheme: "ssh", host: short[1] ?? "", port: "", path: short[2] ?? "" } : undefined;
}

function pathOf(path: string): string {
  const names = decoded(path)
    .split("/")
    .filter((name) => name !== "" && name !== ".");
  return names.join("/").replace(/\.git$/i, "");
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // a percent sign of its own
  }
}

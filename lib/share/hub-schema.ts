/**
 * The hub's tables, policies and grants, and the SQL by which `share.ts --init` makes them: PostgreSQL 15 and later,
 * without extensions.
 *
 * A session's readers are its `audience`: a role, and everyone who is a member of it. Row-level security holds this
 * inside the server, for any client, and is forced, so that the tables' owner is bound by it too.
 */

import { SessionMemoryError } from "../base/errors.ts";
import type { Config } from "../config/config.ts";
import { ADMIN_URL_VARIABLE, connectHub, type Hub, hubAddress } from "./hub.ts";
import { DOCUMENT_MAX_BYTES, EXCHANGE_MAX_ROWS, SENT_COLUMNS, SESSION_MAX_CHUNKS } from "./wire.ts";

/** Every table is in this schema, and named with it: a pooler may refuse a search path. */
const SCHEMA = "session_memory";

/** The first version of the tables that holds exchanges. */
const OLDEST_VERSION = 4;

interface InitReport {
  hub: string;
  role: string;
  /** Versions of the tables. */
  from: number;
  to: number;
}

/** Returns SQL by which everyone who sees a session reads its words, and its owner writes them. */
function policiesOfWords(table: string): string {
  const of = (rest: string) =>
    `EXISTS (SELECT 1 FROM session_memory.sessions s WHERE s.number = session${rest})`;
  const own = of(" AND s.owner = current_user");
  return `CREATE POLICY reads ON session_memory.${table} FOR SELECT USING (
  ${of("")});
CREATE POLICY adds ON session_memory.${table} FOR INSERT WITH CHECK (
  ${own});
CREATE POLICY changes ON session_memory.${table} FOR UPDATE USING (
  ${own});
CREATE POLICY removes ON session_memory.${table} FOR DELETE USING (
  ${own});
`;
}

/** An append-only list; entries that were released are never edited. */
const HUB_MIGRATIONS: readonly string[] = [
  `
CREATE TABLE session_memory.facts (name text PRIMARY KEY, value text NOT NULL);
INSERT INTO session_memory.facts VALUES ('hub', gen_random_uuid()::text), ('version', '0');

-- a state folder that publishes; seq counts its changes, and the row's lock makes their order that of the commits
CREATE TABLE session_memory.origins (
  id uuid PRIMARY KEY,
  owner name NOT NULL DEFAULT current_user,
  machine text NOT NULL CHECK (length(machine) BETWEEN 1 AND 64),
  seq bigint NOT NULL DEFAULT 0
);

CREATE TABLE session_memory.sessions (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner name NOT NULL DEFAULT current_user,
  agent text NOT NULL CHECK (length(agent) BETWEEN 1 AND 32),
  id text NOT NULL CHECK (length(id) BETWEEN 1 AND 512),
  origin uuid NOT NULL REFERENCES session_memory.origins ON DELETE CASCADE,
  machine text NOT NULL CHECK (length(machine) BETWEEN 1 AND 64),
  audience name NOT NULL,
  -- the normalised origin URL of its repository
  project text NOT NULL CHECK (length(project) BETWEEN 1 AND 512),
  seq bigint NOT NULL,
  parent_id text,
  name text,
  -- its directory within the repository
  folder text NOT NULL,
  started_at text,
  updated_at text NOT NULL,
  lines integer NOT NULL,
  chunks integer NOT NULL,
  -- description, summary and tags
  meta jsonb,
  observations text,
  UNIQUE (owner, agent, id)
);
CREATE INDEX sessions_feed ON session_memory.sessions (project, origin, seq);
CREATE INDEX sessions_origin ON session_memory.sessions (origin);

CREATE TABLE session_memory.chunks (
  session bigint NOT NULL REFERENCES session_memory.sessions ON DELETE CASCADE,
  idx integer NOT NULL,
  seq bigint NOT NULL,
  -- null where the chunk is gone: readers learn of it by the row
  hash bytea,
  at text,
  body jsonb,
  content text,
  PRIMARY KEY (session, idx)
);

-- sessions that their owner has forgotten, by a hash that names none: no copy elsewhere brings one back
CREATE TABLE session_memory.forgotten (
  owner name NOT NULL DEFAULT current_user,
  key bytea NOT NULL CHECK (length(key) = 32),
  PRIMARY KEY (owner, key)
);

ALTER TABLE session_memory.origins ENABLE ROW LEVEL SECURITY;
ALTER TABLE session_memory.origins FORCE ROW LEVEL SECURITY;
ALTER TABLE session_memory.sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE session_memory.sessions FORCE ROW LEVEL SECURITY;
ALTER TABLE session_memory.chunks ENABLE ROW LEVEL SECURITY;
ALTER TABLE session_memory.chunks FORCE ROW LEVEL SECURITY;
ALTER TABLE session_memory.forgotten ENABLE ROW LEVEL SECURITY;
ALTER TABLE session_memory.forgotten FORCE ROW LEVEL SECURITY;

CREATE POLICY own ON session_memory.origins
  USING (owner = current_user) WITH CHECK (owner = current_user);
CREATE POLICY own ON session_memory.forgotten
  USING (owner = current_user) WITH CHECK (owner = current_user);

-- a set that is made once for a query: asking for each row takes a hundred times longer
CREATE POLICY reads ON session_memory.sessions FOR SELECT USING (
  owner = current_user OR audience IN (
    SELECT rolname FROM pg_catalog.pg_roles WHERE pg_catalog.pg_has_role(oid, 'usage')));
CREATE POLICY adds ON session_memory.sessions FOR INSERT WITH CHECK (
  owner = current_user
  AND origin IN (SELECT o.id FROM session_memory.origins o WHERE o.owner = current_user)
  AND audience IN (SELECT rolname FROM pg_catalog.pg_roles WHERE pg_catalog.pg_has_role(oid, 'usage'))
  AND NOT EXISTS (SELECT 1 FROM session_memory.forgotten f WHERE f.owner = current_user
    AND f.key = sha256(convert_to(sessions.agent || ' ' || sessions.id, 'UTF8'))));
CREATE POLICY changes ON session_memory.sessions FOR UPDATE USING (owner = current_user) WITH CHECK (
  owner = current_user
  AND origin IN (SELECT o.id FROM session_memory.origins o WHERE o.owner = current_user)
  AND audience IN (SELECT rolname FROM pg_catalog.pg_roles WHERE pg_catalog.pg_has_role(oid, 'usage')));
CREATE POLICY removes ON session_memory.sessions FOR DELETE USING (owner = current_user);

${policiesOfWords("chunks")}`,
  // NOT VALID: rows from before the limits stay, and readers skip them
  `
ALTER TABLE session_memory.sessions
  ADD CONSTRAINT sessions_limits CHECK (
    coalesce(length(parent_id), 0) <= 512 AND coalesce(length(name), 0) <= 1000 AND length(folder) <= 4096
    AND coalesce(length(started_at), 0) <= 64 AND length(updated_at) <= 64
    AND coalesce(octet_length(meta::text), 0) <= ${DOCUMENT_MAX_BYTES}
    AND coalesce(octet_length(observations), 0) <= ${DOCUMENT_MAX_BYTES}) NOT VALID;
ALTER TABLE session_memory.chunks
  ADD CONSTRAINT chunks_limits CHECK (
    coalesce(octet_length(hash), 0) <= 64 AND coalesce(length(at), 0) <= 64
    AND coalesce(octet_length(content), 0) <= 65536
    AND coalesce(octet_length(body::text), 0) <= ${DOCUMENT_MAX_BYTES}) NOT VALID;
`,
  // what a row says of itself; readers count for themselves
  `
ALTER TABLE session_memory.origins
  ADD CONSTRAINT origins_claims CHECK (seq BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}) NOT VALID;
ALTER TABLE session_memory.sessions
  ADD CONSTRAINT sessions_claims CHECK (
    seq BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER} AND lines >= 0
    AND chunks BETWEEN 0 AND ${SESSION_MAX_CHUNKS}) NOT VALID;
ALTER TABLE session_memory.chunks
  ADD CONSTRAINT chunks_claims CHECK (
    seq BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER} AND idx >= 0
    AND CASE WHEN jsonb_typeof(body -> 'deeds') = 'array'
      THEN jsonb_array_length(body -> 'deeds') <= 2000 ELSE true END) NOT VALID;
`,
  // exchanges in place of chunks, which older programs still look for
  `
CREATE TABLE session_memory.exchanges (
  session bigint NOT NULL REFERENCES session_memory.sessions ON DELETE CASCADE,
  -- the place of its first row
  line integer NOT NULL,
  nth integer NOT NULL,
  seq bigint NOT NULL,
  -- null where the exchange is gone: readers learn of it by the row
  hash bytea,
  -- rows and topics
  body jsonb,
  PRIMARY KEY (session, line, nth),
  CONSTRAINT exchanges_limits CHECK (
    coalesce(octet_length(hash), 0) <= 64 AND coalesce(octet_length(body::text), 0) <= ${DOCUMENT_MAX_BYTES}),
  CONSTRAINT exchanges_claims CHECK (
    seq BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER} AND line >= 0 AND nth >= 0
    AND CASE WHEN jsonb_typeof(body -> 'rows') = 'array'
      THEN jsonb_array_length(body -> 'rows') <= ${EXCHANGE_MAX_ROWS} ELSE true END)
);
ALTER TABLE session_memory.exchanges ENABLE ROW LEVEL SECURITY;
ALTER TABLE session_memory.exchanges FORCE ROW LEVEL SECURITY;
${policiesOfWords("exchanges")}`,
];

/** Makes or migrates the hub's tables, as the role of the admin URL, in one transaction. */
export async function initHub(config: Config, role: string): Promise<InitReport> {
  const hub = await connectHub(hubAddress(ADMIN_URL_VARIABLE, config));
  try {
    const [found] = await hub.query("SELECT to_regclass($1) IS NOT NULL AS found", [`${SCHEMA}.facts`]);
    const [row] = found?.found
      ? await hub.query(`SELECT value FROM ${SCHEMA}.facts WHERE name = 'version'`)
      : [];
    const from = Number(row?.value ?? 0);
    if (from > HUB_MIGRATIONS.length) throw otherVersion("migrate", hub, from);
    await hub.query(initSql(role, from));
    return { hub: hub.label, role, from, to: HUB_MIGRATIONS.length };
  } finally {
    await hub.close();
  }
}

/**
 * Refuses a hub whose tables are of a version with which this program cannot share.
 *
 * @throws {SessionMemoryError} `HUB_ERROR`
 */
export function assertVersion(hub: Hub, version: number): void {
  if (!(version >= OLDEST_VERSION && version <= HUB_MIGRATIONS.length))
    throw otherVersion("use", hub, version);
}

/** Returns the error for a hub whose tables are of another version. */
function otherVersion(action: "use" | "migrate", { label }: Hub, version: number): SessionMemoryError {
  const known = HUB_MIGRATIONS.length;
  return new SessionMemoryError(
    "HUB_ERROR",
    `Cannot ${action} the hub ${label}: its tables are version ${version}, this program knows ${known}`,
    { hint: version < known ? "run session-memory share --init <role> there" : "update session-memory" },
  );
}

/** Returns the SQL that brings a hub from a version to the current one and lets a role and its members use it. */
export function initSql(role: string, from: number): string {
  const parts = [`CREATE SCHEMA IF NOT EXISTS ${SCHEMA};`, roleSql(role)];
  HUB_MIGRATIONS.slice(from).forEach((sql, at) => {
    parts.push(sql.trim(), `UPDATE ${SCHEMA}.facts SET value = '${from + at + 1}' WHERE name = 'version';`);
  });
  parts.push(grantSql(role));
  return `BEGIN;\n${parts.join("\n\n")}\nCOMMIT;`;
}

function roleSql(role: string): string {
  return `DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = ${literal(role)}) THEN
    CREATE ROLE ${identifier(role)} NOLOGIN;
  END IF;
END $$;`;
}

function grantSql(role: string): string {
  const name = identifier(role);
  const tables = ["origins", "sessions", "chunks", "exchanges", "forgotten"].map(
    (table) => `${SCHEMA}.${table}`,
  );
  // a session's number is the hub's to give: one taken ahead of its turn would be refused to another member
  return `GRANT USAGE ON SCHEMA ${SCHEMA} TO ${name};
GRANT SELECT ON ${SCHEMA}.facts TO ${name};
GRANT SELECT, INSERT, UPDATE, DELETE ON ${tables.join(", ")} TO ${name};
REVOKE INSERT ON ${SCHEMA}.sessions FROM ${name};
GRANT INSERT (${["owner", "origin", "seq", ...Object.keys(SENT_COLUMNS)].join(", ")}) ON ${SCHEMA}.sessions TO ${name};`;
}

function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

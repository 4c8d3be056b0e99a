/**
 * Prepares a session to be sent: its chunks, its name and summary, its observations. All of it is redacted again, home
 * folders become `~`, and what config.json keeps out is left out, whatever the index holds.
 */

import { sha256 } from "../base/hash.ts";
import type { Config } from "../config/config.ts";
import { ledgerFile, readLedgerFile } from "../observe/ledger.ts";
import { renderObservations } from "../observe/render-observations.ts";
import { redactor } from "../redact/redact.ts";
import { metaFile, readMeta } from "../sessions/meta.ts";
import { projectDirectories } from "../sessions/project.ts";
import type { Row } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import type { Exclusion } from "../transcripts/rules.ts";
import { cleanRows } from "./clean-rows.ts";
import { homeRemover, rootRemover, withoutForeignPaths } from "./home-paths.ts";
import type { LocalSession } from "./local-sessions.ts";
import { deedsByChunk, type SharedDeed } from "./shared-deeds.ts";

/** A chunk as it is sent. */
export interface OutgoingChunk {
  idx: number;
  /** Hexadecimal, over all that follows. */
  hash: string;
  at: string;
  content: string;
  body: ChunkBody;
}

/** The fields of a chunk beside its time and words. */
interface ChunkBody {
  speakers: string[];
  topics: string[];
  decision: boolean;
  action: boolean;
  first: number;
  last: number;
  exchange: number;
  tokens: number;
  header: string;
  tools: string;
  /** The start of each message and its line: `0:118 340:121`. */
  rows: string;
  deeds: SharedDeed[];
}

/** The metadata that a model or a rule made of a session. */
export interface SharedMeta {
  description: string;
  summary: string;
  tags: string[];
}

export interface OutgoingSession {
  session: LocalSession;
  name: string | undefined;
  lines: number;
  chunks: OutgoingChunk[];
  meta: SharedMeta | undefined;
  observations: string | undefined;
}

const HASH_BYTES = 16;
const COLUMNS = `chunk_index, timestamp, speakers, topic_tags, has_decision, has_action, first_line, last_line,
  exchange_line, token_count, content, context_content, tools, row_lines`;

type Prepare = (store: Store, session: LocalSession) => OutgoingSession;

/** Makes the function that reads a session out of the index as it may be sent. */
export function outgoing({ config, exclusion }: { config: Config; exclusion: Exclusion }): Prepare {
  const redacted = redactor(config.settings.redact.extra);
  const withoutHome = homeRemover(config.env.HOME || process.getBuiltinModule("node:os").homedir());
  const { hasText } = exclusion;
  return (store, session) => {
    const root = projectDirectories(session.cwd)[0] ?? session.cwd;
    const withoutRoot = rootRemover(root);
    const clean = (text: string) => withoutHome(withoutRoot(redacted(text)));
    const all = store.db
      .prepare(`SELECT ${COLUMNS} FROM session_chunks WHERE session_id = ? ORDER BY chunk_index`)
      .all(session.storedId);
    const rows = all.filter((row) => !hasText(`${row.context_content}\n${row.tools}`));
    const places = rows.map((row) => ({ idx: Number(row.chunk_index), first: Number(row.first_line) }));
    const deeds = deedsByChunk(store, { number: session.number, chunks: places }, { clean, hasText, root });
    return {
      session,
      lines: all.reduce((last, row) => Math.max(last, Number(row.last_line)), 0),
      chunks: rows.map((row) => toOutgoing(row, deeds.get(Number(row.chunk_index)) ?? [], clean)),
      ...readDerived(session, { config, clean, hasText }),
    };
  };
}

interface Rules {
  config: Config;
  clean: (text: string) => string;
  hasText: (text: string) => boolean;
}

function readDerived(
  session: LocalSession,
  { config, clean, hasText }: Rules,
): Pick<OutgoingSession, "name" | "meta" | "observations"> {
  const { hostId: id, agent } = session;
  const { meta } = readMeta(metaFile(config.paths, { id, agent }));
  const sent = (text: string) => (hasText(text) ? "" : clean(text));
  const name = sent(meta?.name ?? session.name ?? "");
  const { records } = readLedgerFile(ledgerFile(config.paths, id));
  const observations = renderObservations(records);
  return {
    name: name === "" ? undefined : name,
    meta: meta && {
      description: sent(meta.description),
      summary: sent(meta.summary),
      tags: meta.tags.map(sent).filter((tag) => tag !== ""),
    },
    observations: observations
      ?.split("\n")
      .filter((line) => !hasText(line))
      .map(clean)
      .join("\n"),
  };
}

function toOutgoing(row: Row, deeds: SharedDeed[], clean: (text: string) => string): OutgoingChunk {
  const content = String(row.content);
  const context = String(row.context_content);
  const said = cleanRows({ content, rowLines: String(row.row_lines) }, clean);
  const sent = {
    at: String(row.timestamp),
    content: said.content,
    body: {
      speakers: JSON.parse(String(row.speakers)) as string[],
      topics: (JSON.parse(String(row.topic_tags)) as string[]).map(clean),
      decision: row.has_decision === 1,
      action: row.has_action === 1,
      first: Number(row.first_line),
      last: Number(row.last_line),
      exchange: Number(row.exchange_line),
      tokens: Number(row.token_count),
      header: clean(context.slice(0, context.length - content.length)),
      tools: withoutForeignPaths(clean(String(row.tools))),
      rows: said.rowLines,
      deeds,
    },
  };
  const hash = sha256().update(JSON.stringify(sent)).digest().subarray(0, HASH_BYTES);
  return { idx: Number(row.chunk_index), hash: Buffer.from(hash).toString("hex"), ...sent };
}

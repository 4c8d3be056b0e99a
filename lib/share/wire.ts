/**
 * The form in which sessions go from machine to machine, with its limits, which the sender, the hub and the reader keep; both sides
 * derive chunks from exchanges by the same function.
 */

import type { PulledExchange } from "../archive/pulled-copy.ts";

/** An exchange as it is sent, and as the hub's table holds it. */
export interface SharedExchange extends PulledExchange {
  /** The hash of all that, in hex. */
  hash: string;
}

/** The columns of a session that is sent, with their types. */
export const SENT_COLUMNS = {
  agent: "text",
  id: "text",
  machine: "text",
  audience: "text",
  project: "text",
  parent_id: "text",
  name: "text",
  folder: "text",
  started_at: "text",
  updated_at: "text",
  lines: "integer",
  chunks: "integer",
  meta: "jsonb",
  observations: "text",
};

/** The most bytes of an exchange, a session's description or its observations; 100 KB in real sessions. */
export const DOCUMENT_MAX_BYTES = 1024 * 1024;
/** The most rows of an exchange; a longer one is sent as several. */
export const EXCHANGE_MAX_ROWS = 2000;
/** The most chunks of a session; the index keeps 2,000 of one. */
export const SESSION_MAX_CHUNKS = 20_000;
/** The most of a text other than a message: more than any call of ours holds. */
export const TEXT_MAX = 64 * 1024;
/** The longest name or tag; ours have at most 80 characters. */
export const NAME_MAX = 200;
/** The most topics or tags of one thing; ours have ten. */
export const TEXTS_MAX = 100;
/** The longest directory within a repository. */
export const FOLDER_MAX = 4096;

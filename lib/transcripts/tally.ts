/** Counts what was said and done in rows, for digests, outlines, pages and searches alike. */

import type { Done, Row, Said } from "../hosts/session.ts";
import { wasStopped } from "./outcome.ts";
import { isChange } from "./rows.ts";

/** The words and deeds of some rows. */
export interface Tally {
  /** The messages of the user and the assistant. */
  messages: number;
  /** The user's first words, and the assistant's last. */
  firstUser?: Said;
  lastAssistant?: Said;
  /** Tool calls of every kind. */
  calls: number;
  /** The last call that changed a file, by the file's path as written. */
  edited: Map<string, Done>;
  /** The files that a call was to change which failed, was turned down or is still running. */
  tried: Set<string>;
  read: Set<string>;
  /** Commands that were begun. */
  ran: number;
  /** The time of the newest row. */
  latest?: string;
}

/** Counts rows; calls without their results count as done. */
export function tally(rows: Iterable<Row>): Tally {
  const sum = emptyTally();
  for (const row of rows) addRow(sum, row);
  return sum;
}

export function emptyTally(): Tally {
  return { messages: 0, calls: 0, edited: new Map(), tried: new Set(), read: new Set(), ran: 0 };
}

/** Adds a row, which may go on with the message of the row before it. */
export function addRow(sum: Tally, row: Row, { goesOn = false } = {}): void {
  if (row.who === "summary") return;
  if (row.who === "tool") addDone(sum, row);
  else addSaid(sum, row, goesOn);
  if (row.at !== undefined && row.at > (sum.latest ?? "")) sum.latest = row.at;
}

function addSaid(sum: Tally, row: Said, goesOn: boolean): void {
  if (!goesOn) sum.messages++;
  if (row.who === "user") sum.firstUser ??= row;
  else sum.lastAssistant = row;
}

function addDone(sum: Tally, row: Done): void {
  sum.calls++;
  if (row.kind === "command" && !wasStopped(row)) sum.ran++;
  const isDone = row.outcome === "done" || row.outcome === "unknown";
  if (isChange(row)) for (const path of row.paths) isDone ? sum.edited.set(path, row) : sum.tried.add(path);
  else if (row.kind === "read" && isDone) for (const path of row.paths) sum.read.add(path);
}

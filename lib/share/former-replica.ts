/**
 * Takes over what the version before pulled: its rows are written as copies and its file is copied as ours, so that others'
 * sessions are there before the hub is asked again. The next pull reads them anew.
 */

import { closeSync, openSync, renameSync } from "node:fs";
import { besideCopy } from "../archive/copy.ts";
import { FILE_MODE, hasContent, remove, replaceFile, statPath, whyUnwritable } from "../base/files.ts";
import { type PathsWithRules, REPLICA_VERSION } from "../config/config.ts";
import type { Row } from "../hosts/session.ts";
import { withoutTexts } from "../index/derive.ts";
import { readExchanges } from "../index/stored-rows.ts";
import { keepCopyList } from "../sessions/copy-list.ts";
import { currentExclusion, type Exclusion } from "../sessions/gate.ts";
import { isOfVersion, PARTS } from "../store/carry-over.ts";
import { openDatabase, type SqlRow } from "../store/sqlite.ts";
import { copyDatabase } from "../store/store.ts";
import { pulledCopy } from "./pulled-copy.ts";
import { openReplica, placeOfShared, type Replica } from "./replica.ts";

/** The version whose replica has the tables of ours, with the words of sessions in them. */
const FORMER_VERSION = 5;

/** Takes it over once, where it can be written; the former file stays for the version that wrote it. */
export function takeFormerReplica(paths: PathsWithRules): void {
  const { formerShared, shared, copies, home } = paths;
  if (statPath(shared) || !hasContent(formerShared) || whyUnwritable(home) !== undefined) return;
  const [taking, whole] = ["taking", "whole"].map((state) => `${shared}.${process.pid}.${state}`) as [
    string,
    string,
  ];
  try {
    snapshot(formerShared, taking);
    if (!isRenumbered(taking)) return;
    const replica = openReplica({ shared: taking, copies });
    try {
      const rules = currentExclusion({ paths, settings: paths.rules });
      for (const row of replica.db.prepare(HELD).all()) writeHeld(replica, row, rules);
    } finally {
      replica.close();
    }
    keepCopyList(paths);
    // what was written last may still lie in the log beside the file
    snapshot(taking, whole);
    if (!statPath(shared)) renameSync(whole, shared);
  } finally {
    for (const part of PARTS) remove(taking + part);
    remove(whole);
  }
}

/** Copies a database into one file: SQLite writes into an empty one, and leaves its mode as it is. */
function snapshot(from: string, to: string): void {
  closeSync(openSync(to, "w", FILE_MODE));
  copyDatabase(from, to);
}

/** Makes a copy of the former file one of this version; returns whether it was of the version before. */
function isRenumbered(file: string): boolean {
  const db = openDatabase(file, { create: false });
  try {
    if (!isOfVersion(db, FORMER_VERSION)) return false;
    db.exec(`DROP TABLE IF EXISTS shared_exchanges; PRAGMA user_version = ${REPLICA_VERSION}`);
    return true;
  } finally {
    db.close();
  }
}

const HELD = `SELECT h.stored_id, h.owner, h.machine, h.agent, h.id, h.project, h.number AS hub_number, h.held_seq, h.updated_at,
    h.meta, h.observations, s.number, s.name, s.cwd, s.parent_id, s.started_at
  FROM shared_sessions h JOIN sessions s ON s.id = h.stored_id WHERE h.held_seq > 0`;

/** Writes the copy of a session, with what its owner's machine made of it beside it. */
function writeHeld(replica: Replica, row: SqlRow, { admits, hasText }: Exclusion): void {
  const text = (column: string) => (typeof row[column] === "string" ? String(row[column]) : undefined);
  const [owner = "", machine = "", agent = "", id = ""] = ["owner", "machine", "agent", "id"].map(text);
  const [session = "", cwd, project] = [text("stored_id"), text("cwd"), text("project")];
  const named = text("name");
  const name = named !== undefined && hasText(named) ? undefined : named;
  const parent = text("parent_id");
  if (!admits({ id: session, name, cwd, project, parentId: parent })) return;
  const file = placeOfShared(replica, { owner, machine, agent, id });
  const modifiedAt = text("updated_at") ?? "";
  const copy = pulledCopy(file, {
    head: {
      ...{ host: agent, session, parent, cwd, remote: project },
      timestamp: text("started_at") || modifiedAt,
    },
    about: { agent, id, parent, owner, machine, from: "shared", project, number: Number(row.hub_number) },
    gone: [],
    modifiedAt,
  });
  for (const { rows, ...exchange } of readExchanges(replica, Number(row.number))) {
    const said = rows.map(({ id: _, session: __, ...said }) => said as Row);
    copy.put({ ...exchange, rows: withoutTexts(said, hasText), hash: "" });
  }
  copy.end({ seq: Number(row.held_seq) });
  const meta = JSON.parse(text("meta") ?? "null") ?? undefined;
  replaceFile(besideCopy(file), JSON.stringify({ name, meta, observations: text("observations") }));
  // the index goes on from the copy at its next change
  replica.db.prepare("UPDATE sessions SET file = ? WHERE id = ?").run(file, session);
  replica.db
    .prepare("UPDATE index_state SET file_path = ?, file_hash = '', size = 0 WHERE session_id = ?")
    .run(file, session);
}

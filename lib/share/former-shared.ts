/**
 * Writes what the version before pulled as copies, so that others' sessions are there before the hub is asked again. Its file stays
 * for the version that wrote it; the next pull reads all anew.
 */

import { writePulled } from "../archive/pulled-copy.ts";
import { hasContent, whyUnwritable } from "../base/files.ts";
import type { PathsWithRules } from "../config/config.ts";
import type { Row } from "../hosts/session.ts";
import { withoutTexts } from "../index/derive.ts";
import { readExchanges } from "../index/stored-rows.ts";
import { keepCopyList } from "../sessions/copy-list.ts";
import { currentExclusion, type Exclusion } from "../sessions/gate.ts";
import { archivePlace } from "../sessions/places.ts";
import { isOfVersion } from "../store/carry-over.ts";
import { attachPaid } from "../store/paid.ts";
import { openDatabase, type SqlDatabase, type SqlRow, textOf } from "../store/sqlite.ts";
import { withExistingState } from "../store/state.ts";
import { readFact } from "../store/store.ts";
import { readShareFact, writeShareFact } from "./share-state.ts";

/** The version whose file has the words of sessions in the tables of an index. */
const FORMER_VERSION = 5;

const HELD = `SELECT h.stored_id, h.owner, h.machine, h.agent, h.id, h.project, h.number AS hub_number, h.held_seq, h.updated_at,
    h.meta, h.observations, s.number, s.name, s.cwd, s.parent_id, s.started_at
  FROM shared_sessions h JOIN sessions s ON s.id = h.stored_id WHERE h.held_seq > 0`;

/** Writes the copies once, where they can be written and nothing was pulled by this version yet. */
export function takeFormerShared(paths: PathsWithRules): void {
  if (!hasContent(paths.formerShared) || whyUnwritable(paths.home) !== undefined) return;
  withExistingState(paths, (state) => {
    if (readShareFact(state, "pull_rules") !== undefined) return;
    const db = openDatabase(paths.formerShared, { create: false });
    try {
      if (!isOfVersion(db, FORMER_VERSION)) return;
      attachPaid(db, paths.database);
      const rules = currentExclusion(paths);
      for (const row of db.all(HELD)) writeHeld({ db, paths }, row, rules);
      writeShareFact(state, "pulled_at", readFact(db, "pulled_at"));
    } finally {
      db.close();
    }
    keepCopyList(paths);
    writeShareFact(state, "pull_rules", "");
  });
}

/** Writes the copy of a session, with what its owner's machine made of it. */
function writeHeld(
  { db, paths }: { db: SqlDatabase; paths: PathsWithRules },
  row: SqlRow,
  { admits, hasText }: Exclusion,
): void {
  const text = (column: string) => textOf(row[column]);
  const filled = (column: string) => text(column) ?? "";
  const key = {
    owner: filled("owner"),
    machine: filled("machine"),
    agent: filled("agent"),
    id: filled("id"),
  };
  const place = { cwd: text("cwd"), project: filled("project"), parentId: text("parent_id") };
  const [storedId, named] = [filled("stored_id"), text("name")];
  const name = named !== undefined && hasText(named) ? undefined : named;
  if (!admits({ ...place, id: storedId, name })) return;
  const session = {
    ...key,
    ...place,
    storedId,
    name,
    number: Number(row.hub_number),
    seq: Number(row.held_seq),
    updatedAt: filled("updated_at"),
    startedAt: text("started_at"),
    meta: JSON.parse(text("meta") ?? "null") ?? undefined,
    observations: text("observations"),
  };
  const exchanges = readExchanges(db, Number(row.number)).map(({ rows, ...exchange }) => {
    const said = rows.map(({ id: _, session: __, ...said }) => said as Row);
    return { ...exchange, rows: withoutTexts(said, hasText) };
  });
  writePulled(archivePlace(paths, key), session, exchanges);
}

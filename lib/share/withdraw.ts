/** Takes sessions back from the hub: those that were forgotten, kept out, or are of a project that is shared no more. */

import type { Config } from "../config/config.ts";
import type { Store } from "../store/store.ts";
import type { Hub } from "./hub.ts";
import { publishedExclusion, shareRules } from "./local-sessions.ts";
import {
  dropPublished,
  pendingWithdrawals,
  readPublished,
  readShareFact,
  type SessionKey,
  settleWithdrawals,
  writeShareFact,
} from "./share-state.ts";
import { sharedProject } from "./shared-projects.ts";

const KEYS = "jsonb_to_recordset($1::jsonb) AS k(agent text, id text)";
const KEY_HASH = "sha256(convert_to(k.agent || ' ' || k.id, 'UTF8'))";

/** Sends the hub what was forgotten here, or is wanted back. Returns how many of its sessions were removed. */
export async function sendWithdrawals(hub: Hub, state: Store): Promise<number> {
  const pending = pendingWithdrawals(state);
  if (pending.length === 0) return 0;
  const [back, out] = [pending.filter(({ undone }) => undone), pending.filter(({ undone }) => !undone)];
  const removed = await hub.transaction(async () => {
    if (back.length > 0) {
      await hub.query(
        `DELETE FROM session_memory.forgotten f USING ${KEYS} WHERE f.owner = current_user AND f.key = ${KEY_HASH}`,
        [JSON.stringify(back)],
      );
    }
    if (out.length === 0) return 0;
    await hub.query(
      `INSERT INTO session_memory.forgotten (key) SELECT ${KEY_HASH} FROM ${KEYS} ON CONFLICT DO NOTHING`,
      [JSON.stringify(out)],
    );
    return await removeSessions(hub, out);
  });
  state.db.transaction(() => {
    dropPublished(state, out);
    settleWithdrawals(state, pending);
  });
  return removed;
}

/** Removes what config.json has come to keep out or to share no more. Returns how many sessions went. */
export async function withdrawUnshared(
  hub: Hub,
  state: Store,
  { config, origin }: { config: Config; origin: string },
): Promise<number> {
  const rules = shareRules(config);
  if (readShareFact(state, "rules") === rules) return 0;
  const isExcluded = publishedExclusion(config);
  const projects = config.settings.share?.projects ?? {};
  const notes = readPublished(state);
  const rows = await hub.query(
    "SELECT agent, id, name, project FROM session_memory.sessions WHERE origin = $1 AND owner = current_user",
    [origin],
  );
  const out = rows
    .map(({ agent, id, name, project }) => ({
      agent: String(agent),
      id: String(id),
      project: String(project),
      name: typeof name === "string" ? name : undefined,
      cwd: notes.get(`${agent} ${id}`)?.cwd,
    }))
    .filter((session) => !sharedProject(session.project, projects) || isExcluded(session));
  const removed = out.length === 0 ? 0 : await hub.transaction(() => removeSessions(hub, out));
  dropPublished(state, out);
  writeShareFact(state, "rules", rules);
  return removed;
}

/** Removes sessions with their subagents' from the hub, whichever machine of theirs published them. */
async function removeSessions(hub: Hub, keys: readonly SessionKey[]): Promise<number> {
  const rows = await hub.query(
    `DELETE FROM session_memory.sessions s USING ${KEYS}
     WHERE s.owner = current_user AND s.agent = k.agent AND (s.id = k.id OR starts_with(s.id, k.id || '/'))
     RETURNING s.number`,
    [JSON.stringify(keys)],
  );
  return rows.length;
}

/** Returns the hashes of what this owner has forgotten: nothing of it is sent again. */
export async function readForgotten(hub: Hub): Promise<ReadonlySet<string>> {
  const rows = await hub.query(
    "SELECT encode(key, 'hex') AS key FROM session_memory.forgotten WHERE owner = current_user",
  );
  return new Set(rows.map(({ key }) => String(key)));
}

/** Copies of sessions whose host keeps them in a database: brought up to date before sessions are read. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { tryLock } from "../base/locks.ts";
import type { Reading } from "../config/config.ts";
import { copiesFolder, databaseFile, HOSTS } from "./hosts.ts";
import { readRules } from "./rules.ts";

/** Brings the copies of every host up to date. A copy that another process is making is left to it. */
export async function updateCopies(paths: Reading): Promise<void> {
  if (paths.transcripts.length > 0) return;
  for (const host of HOSTS) {
    const { agent, load } = host;
    const file = databaseFile(host, paths);
    if (file === undefined) continue;
    const release = tryLock(join(paths.home, `${agent}.lock`));
    if (!release) continue;
    try {
      await (await load()).copySessions?.(file, copiesFolder(paths, agent), readRules(paths.rules));
    } finally {
      release();
    }
  }
}

/** Removes every copy: what is still wanted is copied again. */
export function removeCopies(paths: Pick<Reading, "home">): void {
  for (const { agent, database } of HOSTS) {
    if (database !== undefined) rmSync(copiesFolder(paths, agent), { recursive: true, force: true });
  }
}

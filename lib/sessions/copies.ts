/** Copies what hosts keep in stores of their own: every reader reads files. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { namesIn } from "../base/files.ts";
import type { PathsWithRules } from "../config/config.ts";
import { copiesFolder, HOSTS } from "../transcripts/hosts.ts";

/**
 * Brings the copies of sessions up to date that hosts keep in stores, before any is read. Copies that another process is
 * making are left to it. A store that cannot be read affects no other host's.
 */
export async function updateCopies(paths: PathsWithRules): Promise<void> {
  if (paths.transcripts.length > 0) return;
  let failure: unknown;
  for (const { agent, home, store: kept } of HOSTS) {
    const root = paths.expand(home);
    const files = kept ? filesLike(root, kept.files.split("/")) : [];
    if (!kept || files.length === 0) continue;
    const [{ tryLock }, { readRules }, { copySessions }, { storedGate }, { store }] = await Promise.all([
      import("../base/locks.ts"),
      import("../transcripts/rules.ts"),
      import("../transcripts/database.ts"),
      import("./gate.ts"),
      kept.load(),
    ]);
    const release = tryLock(join(paths.home, `${agent}.lock`));
    try {
      const [rules, admits] = [readRules(paths.rules), storedGate(paths.rules)];
      const folder = copiesFolder(paths, agent);
      if (release) copySessions({ agent, store, root, files, folder, rules, admits });
    } catch (error) {
      failure ??= error;
    } finally {
      release?.();
    }
  }
  if (failure !== undefined) throw failure;
}

/** Returns the files of a path in which `*` stands for any name, or the beginning of one. */
function filesLike(folder: string, [name = "", ...rest]: readonly string[]): string[] {
  const names = name.startsWith("*")
    ? namesIn(folder).filter((each) => each.endsWith(name.slice(1)))
    : [name];
  const places = names.map((each) => join(folder, each));
  return rest.length > 0
    ? places.flatMap((place) => filesLike(place, rest))
    : places.filter((place) => existsSync(place));
}

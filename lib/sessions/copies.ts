/** Copies what hosts keep in stores of their own: every reader reads files. */

import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { namesIn } from "../base/files.ts";
import type { PathsWithRules } from "../config/config.ts";
import type { Host } from "../hosts/host.ts";
import { HOSTS } from "../hosts/hosts.ts";
import { PROMPTS_ALONE } from "../hosts/names.ts";
import { copiesFolder } from "../hosts/table.ts";

/**
 * Brings the copies of sessions up to date that hosts keep in stores, before any is read. Copies that another process is
 * making are left to it. A store that cannot be read affects no other host's.
 */
export async function updateCopies(paths: PathsWithRules): Promise<void> {
  if (paths.transcripts.length > 0) return;
  let failure: unknown;
  for (const host of HOSTS) {
    const { agent, home, prompts, store: kept = prompts } = host;
    const root = paths.expand(home);
    const files = kept ? listStores({ home, store: kept }, paths) : [];
    if (!kept || files.length === 0) continue;
    const [{ tryLock }, { copySessions }, { currentExclusion }] = await Promise.all([
      import("../base/locks.ts"),
      import("./host-copies.ts"),
      import("./gate.ts"),
    ]);
    const rules = currentExclusion({ paths, settings: paths.rules });
    const release = tryLock(join(paths.home, `${agent}.lock`));
    try {
      const folder = copiesFolder(paths, agent);
      const end = kept === prompts ? PROMPTS_ALONE : ".jsonl";
      if (release)
        copySessions({ ...{ agent, root, files, folder, end, rules }, store: kept, admits: rules.admits });
    } catch (error) {
      failure ??= error;
    } finally {
      release?.();
    }
  }
  if (failure !== undefined) throw failure;
}

/** Returns the databases and documents that a host keeps sessions in. */
export function listStores(
  { home, store }: Pick<Host, "home" | "store">,
  { expand }: Pick<PathsWithRules, "expand">,
): string[] {
  return store ? filesLike(expand(home), store.files.split("/")) : [];
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

/** Removes every copy: the ones still wanted are made again. */
export function removeCopies(paths: Pick<PathsWithRules, "home">): void {
  for (const { agent, store, prompts } of HOSTS)
    if (store ?? prompts) rmSync(copiesFolder(paths, agent), { recursive: true, force: true });
}

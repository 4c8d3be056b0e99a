/** Brings up to date the copies of sessions that hosts keep in databases and documents, and of prompts that outlived their transcript. */

import { join } from "node:path";
import { isFile, whyUnwritable } from "../base/files.ts";
import { waitForLock } from "../base/locks.ts";
import type { Paths, PathsWithRules } from "../config/config.ts";
import type { Host } from "../hosts/host.ts";
import { HOSTS } from "../hosts/hosts.ts";
import type { HostStore } from "../hosts/store.ts";
import { listStores } from "../sessions/found.ts";
import { formerFolders, takenOver } from "./former-places.ts";

/** The longest that one run copies: the next one goes on. */
const COPY_MS = 5000;
/** A command waits so long for another one that copies. */
const WAIT_MS = 200;

/** The files of a host that sessions are copied from. */
export interface Source {
  agent: string;
  store: HostStore;
  /** Its name in a copy's note. */
  from: "store" | "prompts";
  files: readonly string[];
}

interface UpdateOptions {
  /** @default {COPY_MS} */
  ms?: number | undefined;
  /** True if all of them are copied again, since something may come back. @default {false} */
  isAnew?: boolean;
}

/**
 * Brings the copies up to date before any is read. Copies that another process is making are left to it. Where none can be written,
 * what is new is read without. A store that cannot be read affects no other host's.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` after all others were copied, if some sessions cannot be read.
 */
export async function updateCopies(
  paths: PathsWithRules,
  { ms = COPY_MS, isAnew = false }: UpdateOptions = {},
): Promise<void> {
  if (paths.transcripts.length > 0) return;
  const sources = HOSTS.flatMap((host) => sourceOf(host, paths) ?? []);
  const isUpdated = formerFolders(paths).length > 0 && !isFile(takenOver(paths));
  const former = isUpdated ? await import("./former.ts") : undefined;
  if (sources.length === 0 && !former) return;
  const { copyStored, readStored } = await import("./stored.ts");
  if (whyUnwritable(paths.home) !== undefined) return readStored(sources, paths);
  const release = waitForLock(copiesLock(paths), WAIT_MS);
  try {
    if (!release) return;
    former?.takeFormer(paths);
    copyStored(sources, { paths, isAnew, until: Date.now() + ms });
  } finally {
    release?.();
  }
}

/** Returns the lock for writers that go on with a copy. */
export function copiesLock({ home }: Paths): string {
  return join(home, "copies.lock");
}

function sourceOf(host: Host, paths: Paths): Source | undefined {
  const { agent, home, store, prompts } = host;
  if (store) {
    const files = listStores(host, paths);
    return files.length === 0 ? undefined : { agent, store, from: "store", files };
  }
  const file = prompts && join(paths.expand(home), prompts.files);
  return prompts && file && isFile(file)
    ? { agent, store: prompts, from: "prompts", files: [file] }
    : undefined;
}

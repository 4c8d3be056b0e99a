/**
 * Lock files that outlive no crash and no living owner.
 *
 * A lock names the process that holds it: its id, when it started, and where an id means something (host, boot, pid
 * namespace). It is broken only when that process is provably gone; age proves nothing, since a run may take hours. The
 * lock of a process on another host or in another container is waited for, and the error names that process.
 */

import { readFileSync, readlinkSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { SessionMemoryError } from "./errors.ts";
import { createFile, ensureDirectory, isRunning, pause, readIfExists, remove } from "./files.ts";
import { parseRecord } from "./json.ts";

/** A lock without a readable owner is the remains of a power failure; a writer on a slow network drive gets this long. */
const UNREADABLE_STALE_MS = 60_000;

/** Time to wait for a file's writer, whose model may still be answering. */
export const WRITER_WAIT_MS = 60_000;

/** The marks that tell a process from every other. Fields are undefined where the system does not provide them. */
interface Owner {
  pid: number;
  /** The time of its start, in clock ticks since boot: ids are reused. */
  started?: string | undefined;
  host: string;
  boot?: string | undefined;
  /** The pid namespace: in two containers of one kernel the same id means different processes. */
  namespace?: string | undefined;
}

/**
 * Runs `work` while holding the lock file `path`.
 *
 * @throws {SessionMemoryError} `BUSY` when another process holds it for longer than `waitMs`.
 */
export async function withLock<T>(path: string, waitMs: number, work: () => T | Promise<T>): Promise<T> {
  const release = await acquire(path, waitMs);
  try {
    return await work();
  } finally {
    release();
  }
}

/** Takes a lock without waiting; returns how to release it, or undefined when it is held. */
export function tryLock(path: string): (() => void) | undefined {
  ensureDirectory(dirname(path));
  const token = `${process.pid} ${JSON.stringify({ id: crypto.randomUUID(), ...self() })}`;
  for (let attempt = 0; attempt < 2; attempt++) {
    if (createFile(path, token, { durable: false })) return () => releaseLock(path, token);
    const holder = readIfExists(path);
    if (holder === undefined) continue;
    if (!isStale(path, holder)) return undefined;
    breakLock(path, holder);
  }
  return undefined;
}

/** Short beside what a holder does, long beside one try. */
const RETRY_MS = 10;

/** Takes a lock, blocking the thread for a while where it is held; returns how to release it, or undefined when it stays held. */
export function waitForLock(path: string, waitMs: number): (() => void) | undefined {
  const deadline = Date.now() + waitMs;
  for (;;) {
    const release = tryLock(path);
    if (release || Date.now() >= deadline) return release;
    pause(RETRY_MS);
  }
}

/** Returns who holds a lock, and whether that can be verified from here; undefined when nobody does. */
export function lockHolder(path: string): { who: string; isKnown: boolean } | undefined {
  const holder = readIfExists(path);
  if (holder === undefined || isStale(path, holder)) return undefined;
  const owner = readOwner(holder);
  if (!owner) return { who: "another process", isKnown: false };
  const isKnown = isOnThisMachine(owner);
  const place = isKnown ? "" : ` ${owner.host === self().host ? "in another container" : `on ${owner.host}`}`;
  return { who: `process ${owner.pid}${place}`, isKnown };
}

async function acquire(path: string, waitMs: number): Promise<() => void> {
  const deadline = Date.now() + waitMs;
  for (;;) {
    const release = tryLock(path);
    if (release) return release;
    if (Date.now() >= deadline) throw busy(path);
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 15));
  }
}

function busy(path: string): SessionMemoryError {
  const { who, isKnown } = lockHolder(path) ?? { who: "another process", isKnown: true };
  return new SessionMemoryError("BUSY", `Cannot take lock "${path}": ${who} holds it`, {
    recoverable: true,
    hint: isKnown ? "wait for the other run to end" : `wait for it to end, or delete "${path}" if it is gone`,
  });
}

function releaseLock(path: string, token: string): void {
  // Only our own: somebody may have deleted the file and taken the lock.
  if (readIfExists(path) === token) remove(path);
}

function isStale(path: string, holder: string): boolean {
  const owner = readOwner(holder);
  if (owner) return isGone(owner);
  const taken = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return taken !== undefined && Date.now() - taken > UNREADABLE_STALE_MS;
}

function isGone(owner: Owner): boolean {
  const { host, boot } = self();
  const isRestarted = owner.host === host && owner.boot !== undefined && owner.boot !== boot;
  if (isRestarted && boot !== undefined) return true;
  if (!isOnThisMachine(owner)) return false;
  if (!isRunning(owner.pid)) return true;
  if (owner.started === undefined) return false;
  const started = readStart(owner.pid);
  return started !== undefined && started !== owner.started;
}

/** Returns whether the owner's process id is meaningful here. */
function isOnThisMachine({ host, boot, namespace }: Owner): boolean {
  const own = self();
  return boot === undefined ? host === own.host : boot === own.boot && namespace === own.namespace;
}

function readOwner(holder: string): Owner | undefined {
  const owner = parseRecord(holder.slice(holder.indexOf(" ")));
  // a signal to process 0 or -1 reaches many: such an owner would hold its lock for good
  const isOwner = typeof owner?.host === "string" && typeof owner.pid === "number" && owner.pid > 0;
  return isOwner ? (owner as unknown as Owner) : undefined;
}

let own: Owner | undefined;

function self(): Owner {
  own ??= {
    pid: process.pid,
    started: readStart(process.pid),
    // loading node:os takes half as long as a lock
    host: readKernel("hostname") ?? process.getBuiltinModule("node:os").hostname(),
    boot: readKernel("random/boot_id"),
    namespace: readProc(() => readlinkSync("/proc/self/ns/pid")),
  };
  return own;
}

/** Returns when a process started, in clock ticks since boot; undefined without /proc or without such a process. */
function readStart(pid: number): string | undefined {
  const stat = readProc(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  // The name, in parentheses, may hold anything; the state is the field after it, the start the twentieth.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return /^[ZX]/.test(fields?.[0] ?? "") ? "ended" : fields?.[19];
}

function readKernel(name: string): string | undefined {
  return readProc(() => readFileSync(`/proc/sys/kernel/${name}`, "utf8").trim());
}

function readProc(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined; // not Linux, or that process is gone
  }
}

/**
 * Removes a stale lock, unless somebody has done so since: of all who saw it one at a time looks again, under a lock of
 * its own, so that no living lock is ever moved away from its owner.
 */
function breakLock(path: string, holder: string): void {
  const release = tryLock(`${path}.stale`);
  if (!release) return;
  try {
    if (readIfExists(path) === holder) remove(path);
  } finally {
    release();
  }
}

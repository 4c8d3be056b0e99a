/** Whole-file effects: atomic replace, exclusive create, and a lock that outlives no crash. */

import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { hasCode, SessionMemoryError } from "./errors.ts";
import { readIfExists } from "./read.ts";

/** A lock older than this belongs to a process that died without its id being told apart from a new one. */
const LOCK_STALE_MS = 10 * 60_000;
const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

export interface WriteOptions {
  /**
   * Whether the bytes are forced to disk before they take the name, so that a power cut leaves no empty file.
   * Costs milliseconds: false for what is rebuilt by itself.
   * @default {true}
   */
  durable?: boolean;
}

/** Creates a directory (mode 0700) with its parents. */
export function ensureDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: DIRECTORY_MODE });
}

/** Writes a whole file such that a reader or a crash sees the old content or the new, never a part. */
export function replaceFile(path: string, content: string | Uint8Array, options: WriteOptions = {}): void {
  const temporary = writeTemporary(path, content, options);
  try {
    renameSync(temporary, path);
  } catch (error) {
    remove(temporary);
    throw error;
  }
}

/** Writes a whole new file, or returns false when one is already there. */
export function createFile(path: string, content: string | Uint8Array, options: WriteOptions = {}): boolean {
  const temporary = writeTemporary(path, content, options);
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  } finally {
    remove(temporary);
  }
}

/** Deletes a file if it is there. */
export function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}

/**
 * Runs `work` while holding the lock file `path`, or throws `BUSY` when another live process holds it for longer than
 * `waitMs`. The lock names its process: one whose process is gone, or older than ten minutes, is taken over.
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
  const token = `${process.pid} ${crypto.randomUUID()}`;
  for (let attempt = 0; attempt < 2; attempt++) {
    if (createFile(path, token, { durable: false })) return () => releaseLock(path, token);
    const holder = readIfExists(path);
    if (holder === undefined) continue;
    if (!isStale(path, holder)) return undefined;
    breakLock(path, holder);
  }
  return undefined;
}

async function acquire(path: string, waitMs: number): Promise<() => void> {
  const deadline = Date.now() + waitMs;
  for (;;) {
    const release = tryLock(path);
    if (release) return release;
    if (Date.now() >= deadline) {
      throw new SessionMemoryError("BUSY", `Cannot take lock "${path}": another process holds it`, {
        recoverable: true,
        hint: "wait for the other run to end",
      });
    }
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 15));
  }
}

function releaseLock(path: string, token: string): void {
  // Only our own: a lock we overstayed may have been taken over.
  if (readIfExists(path) === token) remove(path);
}

function isStale(path: string, holder: string): boolean {
  const pid = Number.parseInt(holder, 10);
  if (Number.isInteger(pid) && pid > 0 && !isAlive(pid)) return true;
  const taken = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return taken !== undefined && Date.now() - taken > LOCK_STALE_MS;
}

/** Two waiters may both see a stale lock, and one may already have replaced it: only the stale one is removed. */
function breakLock(path: string, holder: string): void {
  const grave = `${path}.${crypto.randomUUID()}.stale`;
  try {
    renameSync(path, grave);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return;
    throw error;
  }
  if (readIfExists(grave) !== holder) {
    try {
      linkSync(grave, path); // it was a live one: give it back
    } catch (error) {
      if (!hasCode(error, "EEXIST")) throw error;
    }
  }
  remove(grave);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, "EPERM");
  }
}

/** From the global: importing node:crypto would double a hook's start. */
function shortId(): string {
  return crypto.randomUUID().slice(0, 8);
}

function writeTemporary(
  path: string,
  content: string | Uint8Array,
  { durable = true }: WriteOptions,
): string {
  ensureDirectory(dirname(path));
  const temporary = `${path}.${process.pid}.${shortId()}.tmp`;
  const descriptor = openSync(temporary, "wx", FILE_MODE);
  try {
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    for (let written = 0; written < bytes.length; ) {
      written += writeSync(descriptor, bytes, written, bytes.length - written);
    }
    if (durable) fsyncSync(descriptor);
  } catch (error) {
    closeSync(descriptor);
    remove(temporary);
    throw error;
  }
  closeSync(descriptor);
  return temporary;
}

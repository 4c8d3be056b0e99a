/**
 * Remembers which repository was at a path when a session there was indexed: folders are moved, and one path can hold
 * several repositories in turn. A small file, since prompts read it too.
 */

import { dirname, join } from "node:path";
import { readIfExists, readJson, remove, replaceFile, statPath } from "../base/files.ts";
import { arrayOf, isRecord, stringOf } from "../base/json.ts";
import type { ForgetIn, Forgetting, Found } from "./state.ts";

/** The names of a repository, wherever it lies. */
export interface RepositoryNames {
  /** The identity of its `.git`: a rename within a file system keeps it, and no other repository has it. */
  git: string;
  /** Its normalised origin. */
  origin?: string | undefined;
}

/** A repository that was at a path. */
interface KnownRepository extends RepositoryNames {
  /** Ids of the sessions that ran in it there. */
  sessions: readonly string[];
}

/** By the top of a worktree: the repositories that were there, in their order. */
export type KnownRepositories = ReadonlyMap<string, readonly KnownRepository[]>;

let last: { file: string; state: string; known: KnownRepositories } | undefined;

/** Returns a text that changes with the file; undefined without it. */
export function repositoriesState(file: string | undefined): string | undefined {
  const stat = file === undefined ? undefined : statPath(file);
  return stat && `${stat.size} ${stat.mtimeMs} ${stat.ino}`;
}

/** Reads what is known. */
export function readRepositories(file: string): KnownRepositories {
  const state = repositoriesState(file);
  if (state === undefined) return NOTHING;
  if (last?.file !== file || last.state !== state) last = { file, state, known: parse(readJson(file)) };
  return last.known;
}

const NOTHING: KnownRepositories = new Map();

function parse(read: unknown): KnownRepositories {
  if (!isRecord(read)) return NOTHING;
  return new Map(
    Object.entries(read).map(([top, there]) => [
      top,
      arrayOf(there).flatMap((each) => {
        if (!isRecord(each) || typeof each.git !== "string") return [];
        const sessions = arrayOf(each.sessions).map(String);
        return [{ git: each.git, origin: stringOf(each.origin), sessions }];
      }),
    ]),
  );
}

/** Returns whether two are one repository, or clones of one. */
export function isSameRepository(a: RepositoryNames, b: RepositoryNames): boolean {
  return a.git === b.git || (a.origin !== undefined && a.origin === b.origin);
}

/** Returns the paths at which a repository was the last that is known. */
export function findTops(repository: RepositoryNames, known: KnownRepositories): string[] {
  return [...known].flatMap(([top, there]) => {
    const now = there.at(-1);
    return now && isSameRepository(now, repository) ? [top] : [];
  });
}

/** A session, and the repository that is where it ran. */
interface SessionThere {
  id: string;
  top: string;
  repository: RepositoryNames;
}

/** Returns the record with further sessions; the same without anything new. */
function withSessions(known: KnownRepositories, sessions: readonly SessionThere[]): KnownRepositories {
  const next = new Map(known);
  for (const { id, top, repository } of sessions) {
    const there = next.get(top) ?? [];
    const at = there.findIndex((each) => isSameRepository(each, repository));
    const before = there[at];
    const ids = before?.sessions ?? [];
    const isNoted = id === "" || ids.includes(id);
    if (before && isNoted && before.git === repository.git && before.origin === repository.origin) continue;
    const noted: KnownRepository = { ...repository, sessions: isNoted ? ids : [...ids, id] };
    next.set(top, at === -1 ? [...there, noted] : there.with(at, noted));
  }
  return next;
}

const LOCK_WAIT_MS = 10_000; // a writer replaces one small file

/** Adds sessions to what is known. */
export async function noteRepositories(file: string, sessions: readonly SessionThere[]): Promise<void> {
  if (sessions.length > 0) await change(file, (known) => withSessions(known, sessions));
}

/** Removes sessions, and repositories without any left; or paths and origins with a text. */
export async function forgetRepositories(
  forgetting: Forgetting,
  { paths, dryRun }: ForgetIn,
): Promise<Partial<Found>> {
  const left = (repository: KnownRepository): KnownRepository[] => {
    const { origin = "", sessions } = repository;
    if ("hasText" in forgetting)
      return [forgetting.hasText(origin) ? { ...repository, origin: undefined } : repository];
    const kept = sessions.filter((id) => !forgetting.ids.has(id));
    return kept.length > 0 || sessions.length === 0 ? [{ ...repository, sessions: kept }] : [];
  };
  const isGone = (top: string) => "hasText" in forgetting && forgetting.hasText(top);
  const file = paths.repositories;
  if (!dryRun && repositoriesState(file) !== undefined)
    await change(
      file,
      (known) =>
        new Map([...known].flatMap(([top, there]) => (isGone(top) ? [] : [[top, there.flatMap(left)]]))),
    );
  return {};
}

async function change(file: string, work: (known: KnownRepositories) => KnownRepositories): Promise<void> {
  const { withLock } = await import("../base/locks.ts"); // prompts only read
  await withLock(join(dirname(file), "projects.lock"), LOCK_WAIT_MS, () => {
    const next = [...work(readRepositories(file))].filter(([, there]) => there.length > 0);
    const text = `${JSON.stringify(Object.fromEntries(next))}\n`;
    if (next.length === 0) remove(file);
    else if (text !== readIfExists(file)) replaceFile(file, text);
  });
}

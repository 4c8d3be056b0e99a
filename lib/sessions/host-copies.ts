/**
 * Copies sessions that a host keeps in another form than lines: each is written, redacted, as lines of our plain form below one
 * that names the session, and read from there.
 */

import { appendFileSync, existsSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { describeError, SessionMemoryError } from "../base/errors.ts";
import { ensureDirectory, fileStem, readJson, replaceFile } from "../base/files.ts";
import { type JsonRecord, recordOf } from "../base/json.ts";
import { counted, shortHash } from "../base/text.ts";
import { copiedFormat, isoTime } from "../hosts/format.ts";
import type { Session } from "../hosts/session.ts";
import type { Clean, HostStore, OpenStore, Reading, StoredSession } from "../hosts/store.ts";
import { openForeign } from "../store/sqlite.ts";
import { isBusy } from "../store/storage-errors.ts";
import { recordTest } from "../transcripts/forgotten.ts";
import type { Rules } from "../transcripts/rules.ts";
import { secretMemory } from "../transcripts/secret-rows.ts";

/** The state of a session's copy: when it had changed, the hash of its title, which may be forgotten, its last place, and whether it holds secrets. */
type Copied = Record<string, [changed: number, title: number, last: string, hasSecrets?: boolean]>;

/** Raised when the note means something else: all is copied again. */
const FORMAT = 5;
const NOTE = "copied.json";
/** The longest that one run copies from a host's files: the next one goes on. */
const COPY_MS = 5000;

interface CopyOptions {
  agent: string;
  store: HostStore;
  /** The host's home, and its files there. */
  root: string;
  files: readonly string[];
  /** The folder of the copies, and the end of their names. */
  folder: string;
  end: string;
  rules: Rules;
  /** True if a session may be copied. */
  admits(session: Pick<Session, "id" | "cwd">): boolean;
}

/**
 * Copies what is new in a host's files, a file a session, of subagents below their parent's id. A file is not opened while it
 * and those beside it are as they were.
 *
 * @throws {SessionMemoryError} `STORAGE_ERROR` after all others were copied, if some sessions cannot be read.
 */
export function copySessions(options: CopyOptions): void {
  const { root, files, folder, store } = options;
  const note = recordOf(readJson(join(folder, NOTE)));
  const isCurrent = note.format === FORMAT;
  const before = isCurrent ? recordOf(note.states) : {};
  const copied = (isCurrent ? recordOf(note.sessions) : {}) as Copied;
  const state = (file: string) => describeState([file, ...store.beside(file)]);
  const states = Object.fromEntries(files.map((file) => [relative(root, file), state(file)]));
  const changed = files.filter((file) => before[relative(root, file)] !== states[relative(root, file)]);
  if (changed.length === 0) return;
  ensureDirectory(folder);
  const problems: string[] = [];
  const until = Date.now() + COPY_MS;
  for (const file of changed) {
    try {
      const { isAll, failed } = copyFrom(file, copied, { ...options, until });
      // What could not be read is tried, and named, again.
      if (!isAll || failed.length > 0) delete states[relative(root, file)];
      problems.push(...failed);
    } catch (error) {
      if (isBusy(error)) delete states[relative(root, file)];
      problems.push(describeError(error));
    }
  }
  const text = JSON.stringify({ format: FORMAT, states, sessions: copied });
  replaceFile(join(folder, NOTE), text, { durable: false });
  const [problem, ...others] = problems;
  if (problem === undefined) return;
  const more = others.length > 0 ? ` (and ${counted(others.length, "more like this")})` : "";
  throw new SessionMemoryError("STORAGE_ERROR", `${problem}${more}`);
}

interface CopyFromOptions extends CopyOptions {
  until: number;
}

/** Copies what is new in one file of a host's; returns whether that was all, and why sessions could not be read. */
function copyFrom(
  file: string,
  copied: Copied,
  options: CopyFromOptions,
): { isAll: boolean; failed: string[] } {
  const { admits, rules, until } = options;
  if (Date.now() > until) return { isAll: false, failed: [] };
  const store = options.store.open(file, openForeign);
  const failed: string[] = [];
  if (store.isBeingWritten) return { isAll: false, failed };
  try {
    for (const session of store.sessions()) {
      if (Date.now() > until) return { isAll: false, failed };
      const names = `${session.parent ?? ""} ${session.id}`;
      if (rules.clean(names) !== names) continue; // the copy would be named by a secret
      const target = copyPath(session, options);
      const known = existsSync(target) ? copied[session.id] : undefined;
      if (known?.[0] === session.changed || !admits({ id: session.id, cwd: session.cwd })) continue;
      try {
        const { last, isWhole, hasSecrets } = copySession(store, { session, target, known }, options);
        const changed = isWhole ? session.changed : 0;
        copied[session.id] = [changed, shortHash(session.title), last ?? "", hasSecrets];
      } catch (error) {
        failed.push(`Cannot read session ${session.id} of ${file}: ${describeError(error)}`);
      }
    }
    return { isAll: true, failed };
  } finally {
    store.close();
  }
}

function copyPath({ id, parent }: StoredSession, { folder, end }: CopyOptions): string {
  return join(folder, parent === undefined ? "" : fileStem(parent), `${fileStem(id)}${end}`);
}

function copySession(
  store: OpenStore,
  { session, target, known }: { session: StoredSession; target: string; known: Copied[string] | undefined },
  { agent, store: { hasHostRows }, rules }: CopyOptions,
): Reading & { hasSecrets: boolean } {
  const memory = secretMemory(target, { clean: rules.clean });
  const clean: Clean = (text, taken) => memory.clean(text, { rows: [], taken });
  const read = (after: string | undefined) => store.read(session.id, { after, clean });
  let reading = read(known?.[3] ? undefined : known?.[2] || undefined);
  const hasSecrets = known?.[3] === true || memory.takeNew().length > 0;
  // what one message announces is taken out of those before it too, which are copied again
  if (hasSecrets) reading = read(undefined);
  const isNew = known === undefined || hasSecrets || reading.isAnew === true;
  const lines = reading.lines.map((line) =>
    line.role === "user" ? { ...line, typed: line.typed ?? session.parent === undefined } : line,
  );
  if (!hasHostRows && (isNew || known[1] !== shortHash(session.title)))
    lines.unshift(headLine(agent, session, { clean, isLater: !isNew }));
  const isForgotten = recordTest(agent, copiedFormat(agent), rules);
  // What is kept out leaves its line: the places of others stay as they are.
  const rows = lines.map((line) => (isForgotten(line) ? "" : JSON.stringify(line)));
  const isOut = (row: string) => rules.hasPatterns && rules.hasText(row);
  const text = rows.map((row) => `${isOut(row) ? "" : row}\n`).join("");
  // A crash between file and note makes the file anew.
  if (isNew) replaceFile(target, text, { durable: false });
  else if (text !== "") appendFileSync(target, text);
  return { ...reading, hasSecrets };
}

function describeState(files: readonly string[]): string {
  return files
    .map((each) => statSync(each, { throwIfNoEntry: false }))
    .map((stat) => (stat ? `${stat.size}:${stat.mtimeMs}` : ""))
    .join(" ");
}

function headLine(
  agent: string,
  { id, parent, cwd, title, started, changed }: StoredSession,
  { clean, isLater }: { clean: Clean; isLater: boolean },
): JsonRecord {
  return {
    host: agent,
    session: id,
    ...(parent !== undefined && { parent }),
    cwd: clean(cwd),
    title: clean(title),
    timestamp: isoTime(isLater ? changed : started),
  };
}

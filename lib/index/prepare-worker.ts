/** The second thread of a large indexing run: takes the next file that nobody has, prepares it, and hands it over. */

import { type MessagePort, workerData } from "node:worker_threads";
import { readRules } from "../transcripts/rules.ts";
import { type HandOver, NEXT, TAKEN, takeNext } from "./prepare-queue.ts";
import { prepareFile } from "./prepared.ts";

/** So far it may be ahead of the other thread: what waits lies in memory. */
const AHEAD_MAX = 64;
const PATIENCE_MS = 50;

function work({
  port,
  control,
  sessions,
  participants,
  timezone,
  settings,
}: HandOver & { port: MessagePort }): void {
  const options = { participants, timezone, rules: readRules(settings) };
  for (;;) {
    while (Atomics.load(control, NEXT) - Atomics.load(control, TAKEN) > AHEAD_MAX) {
      Atomics.wait(control, TAKEN, Atomics.load(control, TAKEN), PATIENCE_MS);
    }
    const number = takeNext(control, sessions.length);
    const session = number === undefined ? undefined : sessions[number];
    if (!session) break;
    port.postMessage({ number, prepared: tryPrepare(session) });
  }
  port.close();

  function tryPrepare(session: HandOver["sessions"][number]) {
    try {
      return prepareFile(session, options);
    } catch {
      return undefined; // gone or unreadable: the other thread finds out and says so
    }
  }
}

// Nothing is handed over where the file is only loaded.
if (workerData) work(workerData);

/**
 * Files prepared by two threads for one writer: a worker prepares ahead, and the writer prepares one itself where it
 * would wait. Only for the first run over many transcripts; a thread costs more than a few files do.
 */

import { availableParallelism } from "node:os";
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import type { Settings } from "../config/config.ts";
import type { Rules } from "../transcripts/rules.ts";
import type { Session } from "../transcripts/session.ts";
import { type PreparedFile, type PrepareOptions, prepareFile } from "./prepared.ts";

/** What the worker is given. */
export interface HandOver {
  control: Int32Array;
  sessions: Pick<Session, "id" | "file">[];
  participants: Settings["participants"];
  timezone: string;
  settings: Pick<Settings, "redact" | "exclude">;
}

export interface PrepareQueue {
  /** The prepared file of a session; undefined when it must be read the usual way. */
  take(session: Session): PreparedFile | undefined;
  close(): void;
}

/** Places in the memory both threads see: the next file nobody has taken, and how many the writer has used. */
export const NEXT = 0;
export const TAKEN = 1;

const BYTES_MIN = 4 * 1024 * 1024;
/** A larger file is read in pieces. */
const FILE_BYTES_MAX = 256 * 1024;
/** A worker that takes longer for a small file is dead. */
const PATIENCE_MS = 5000;

/** The number of the next file, which nobody else gets; undefined when all are taken. */
export function takeNext(control: Int32Array, count: number): number | undefined {
  const number = Atomics.add(control, NEXT, 1);
  return number < count ? number : undefined;
}

/** Starts preparing files that the index does not know yet; undefined when they are too few for a second thread. */
export function startPreparing(
  unknown: readonly Session[],
  {
    settings,
    options,
  }: { settings: Pick<Settings, "redact" | "exclude">; options: PrepareOptions & { rules: Rules } },
): PrepareQueue | undefined {
  const sessions = unknown.filter(({ size }) => size > 0 && size <= FILE_BYTES_MAX);
  const bytes = sessions.reduce((sum, { size }) => sum + size, 0);
  if (bytes < BYTES_MIN || availableParallelism() < 2) return undefined;
  const control = new Int32Array(new SharedArrayBuffer(8));
  const channel = new MessageChannel();
  let worker: Worker;
  try {
    worker = startWorker(channel.port2, {
      control,
      sessions: sessions.map(({ id, file }) => ({ id, file })),
      participants: options.participants,
      timezone: options.timezone,
      settings: { redact: settings.redact, exclude: settings.exclude },
    });
  } catch {
    return undefined; // a runtime without threads reads alone
  }
  const numbers = new Map(sessions.map(({ file }, number) => [file, number]));
  const ready = new Map<number, PreparedFile | undefined>();
  const receive = () => {
    for (let message = receiveNext(channel.port1); message; message = receiveNext(channel.port1)) {
      ready.set(message.number, message.prepared);
    }
  };
  return {
    take({ file }) {
      const number = numbers.get(file);
      if (number === undefined) return undefined;
      waitFor(number);
      const prepared = ready.get(number);
      ready.delete(number);
      Atomics.add(control, TAKEN, 1);
      Atomics.notify(control, TAKEN);
      return prepared;
    },
    close() {
      Atomics.store(control, NEXT, sessions.length);
      channel.port1.close();
      void worker.terminate();
    },
  };

  /** Until the file is there: prepares others, or the file itself. */
  function waitFor(wanted: number): void {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      receive();
      if (ready.has(wanted) || performance.now() > end) return;
      const number = takeNext(control, sessions.length);
      const session = number === undefined ? undefined : sessions[number];
      if (number === undefined || !session) Atomics.wait(control, TAKEN, Atomics.load(control, TAKEN), 1);
      else ready.set(number, tryPrepare(session));
    }
  }

  function tryPrepare(session: Session): PreparedFile | undefined {
    try {
      return prepareFile(session, options);
    } catch {
      return undefined; // reading it the usual way says why
    }
  }
}

interface Message {
  number: number;
  prepared: PreparedFile | undefined;
}

function receiveNext(port: MessagePort): Message | undefined {
  const received = receiveMessageOnPort(port);
  return received && (received.message as Message);
}

function startWorker(port: MessagePort, handOver: HandOver): Worker {
  const worker = new Worker(new URL("./prepare-worker.ts", import.meta.url), {
    workerData: { ...handOver, port },
    transferList: [port],
  });
  worker.on("error", () => {}); // the writer reads what does not come
  worker.unref();
  return worker;
}

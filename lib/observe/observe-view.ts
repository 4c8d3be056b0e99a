/** Shows a session's memory to people: its status, the rows not observed yet, and the sources of an observation. */

import { SessionMemoryError } from "../base/errors.ts";
import { counted } from "../base/text.ts";
import { formatLocal } from "../base/time.ts";
import { PARTICIPANTS, type Participants, type PathsWithRules } from "../config/config.ts";
import type { Entry, Session } from "../hosts/session.ts";
import { heldSessions } from "../index/held-sessions.ts";
import { readRows } from "../index/stored-rows.ts";
import { observingHost } from "../sessions/hosts.ts";
import { withExistingStore } from "../store/store.ts";
import { isMessage } from "../transcripts/calls.ts";
import { readRules } from "../transcripts/rules.ts";
import { readBackoff } from "./ledger.ts";
import {
  DONE,
  excerpt,
  foldLedger,
  observationLine,
  observationTokens,
  openThreads,
  type Priority,
  uncovered,
} from "./observations.ts";
import { rawTokens } from "./observe.ts";
import type { SessionMemoryState } from "./observe-session.ts";
import { observationLines } from "./render-observations.ts";

/** Characters of one line of conversation. */
const LINE_CHARS = 2000;

export type ObservationStatus = ReturnType<typeof observationStatus>;

/** Returns the state of a session's memory; the observer is a model, `rules`, or why nothing observes: `none: …`. */
export function observationStatus(
  { entries, ledger, settings, session, paths }: SessionMemoryState,
  observer: string,
) {
  const memory = foldLedger(ledger);
  const pending = uncovered(entries, memory);
  const backoff = readBackoff(paths, session.id);
  const until = backoff && new Date(backoff.notBefore).toISOString();
  const count = (wanted: Priority) =>
    memory.observations.filter(({ priority }) => priority === wanted).length;
  return {
    settings,
    observer,
    raw: {
      messages: entries.filter(isMessage).length,
      tokens: rawTokens(entries),
      uncoveredMessages: pending.filter(isMessage).length,
      uncoveredTokens: rawTokens(pending),
    },
    observations: {
      red: count("red"),
      yellow: count("yellow"),
      green: count("green"),
      open: openThreads(memory).length,
      done: memory.observations.filter(({ text }) => text.startsWith(DONE)).length,
      tokens: observationTokens(memory.observations),
    },
    /** The last line covered; 0 when nothing is. */
    coversTo: memory.coversTo,
    records: ledger.length,
    reflected: memory.reflectedTokens !== undefined,
    backoff: backoff && until ? { failures: backoff.failures, until, reason: backoff.reason } : null,
  };
}

/** Formats a status as lines. */
export function statusText(status: ObservationStatus): string {
  const { settings, observer, raw, observations, coversTo, backoff } = status;
  const { mode, auto, observerTokens, reflectorTokens, retainTokens, stepTokens } = settings;
  const { red, yellow, green, open } = observations;
  const compact =
    settings.early === "no"
      ? `when ${observingHost()} does`
      : `at ${observerTokens} + ${retainTokens} retained`;
  return [
    `mode          ${mode}, automatic ${auto ? "on" : "off"}, observer ${observer}`,
    `conversation  ${raw.messages} messages, ${raw.tokens} tokens`,
    `covered       ${coversTo > 0 ? `to line ${coversTo}` : "nothing yet"}; left: ${raw.uncoveredMessages} messages, ${raw.uncoveredTokens} tokens`,
    `observations  🔴 ${red} 🟡 ${yellow} 🟢 ${green}, ${open} open threads, ${observations.tokens} tokens`,
    `thresholds    step ${stepTokens}, compact ${compact}, reflect at ${reflectorTokens}`,
    ...(backoff
      ? [`failing       ${counted(backoff.failures, "time")}, next try ${backoff.until}: ${backoff.reason}`]
      : []),
  ].join("\n");
}

interface LineStyle {
  /** IANA name. */
  timezone?: string | undefined;
  /** The names of the two speakers. @default User and Assistant */
  participants?: Participants | undefined;
}

/** Returns the observations (`obs`), and the conversation that is not yet observed (`raw`), a line per message, call or result. */
export function viewLines(
  { entries, ledger }: SessionMemoryState,
  views: readonly string[],
  style: LineStyle,
): string[] {
  const memory = foldLedger(ledger);
  const raw = views.includes("raw") ? uncovered(entries, memory) : [];
  return [
    ...(views.includes("obs") ? observationLines(memory) : []),
    ...raw.map((entry) => entryLine(entry, style)),
  ];
}

type ShownLine = Pick<Entry, "line" | "at" | "kind" | "text">;

/**
 * Returns an observation, live or dropped, with its source lines; from the index where the host has deleted the transcript.
 *
 * @throws {SessionMemoryError} `NOT_FOUND`.
 */
export function recallObservation(
  { entries: read, ledger, session, paths }: SessionMemoryState,
  id: string,
  style: LineStyle,
) {
  const { file } = session;
  const observation = foldLedger(ledger).history.get(id.replace(/^\[|\]$/g, ""));
  if (!observation) {
    const message = `Cannot recall "${id}": no observation of this session has that id`;
    throw new SessionMemoryError("NOT_FOUND", message, { hint: "see the ids with --view obs" });
  }
  const sources =
    file === ""
      ? indexedLines(session, observation.sources, paths)
      : read.filter(({ line }) => observation.sources.includes(line));
  const lines = sources.map((entry) => `${file === "" ? "" : `${file}:`}${entryLine(entry, style)}`);
  const left = lines.length > 0 ? ": from the index" : "";
  const remark =
    file === ""
      ? `its transcript is gone${left}`
      : `line ${observation.sources.join(", ")} is no longer in ${file}`;
  const text = [
    observationLine(observation),
    ...(file === "" || lines.length === 0 ? [remark] : []),
    ...lines,
  ];
  return {
    observation,
    file,
    entries: sources.map((entry) => ({
      line: entry.line,
      at: entry.at ?? null,
      kind: entry.kind,
      text: excerpt(entry.text, LINE_CHARS),
    })),
    /** Everything above. */
    text: text.join("\n"),
  };
}

/** Returns lines of a session as the index holds them until it hears that the transcript is gone. */
function indexedLines({ id }: Session, lines: readonly number[], paths: PathsWithRules): ShownLine[] {
  const { hasText } = readRules(paths);
  const rows = withExistingStore(paths.database, (store) => {
    const held = heldSessions(store).find(({ session }) => session.id === id && session.owner === undefined);
    return lines.flatMap((to) => (held ? readRows(store, held.number, { after: to - 1, to }) : []));
  });
  return (rows ?? []).flatMap((row): ShownLine[] => {
    const { line, at, who: kind } = row;
    const text = row.who === "tool" ? `${row.tool} ${row.target}` : row.text;
    return hasText(text) ? [] : [{ line, at, kind, text }];
  });
}

const SPEAKERS = { ...PARTICIPANTS, tool: "Tool", result: "Result", summary: "Summary" };

function entryLine({ line, at, kind, text }: ShownLine, { timezone, participants }: LineStyle): string {
  const time = at ? ` [${formatLocal(at, timezone)}]` : "";
  return `${line}:${time} ${{ ...SPEAKERS, ...participants }[kind]}: ${excerpt(text, LINE_CHARS)}`;
}

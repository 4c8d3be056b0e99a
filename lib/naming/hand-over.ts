/** What a session leaves to the one that goes on with its work: what is open, what holds, what was noted last. */

import { quote, truncate } from "../base/text.ts";
import type { Paths, Settings } from "../config/config.ts";
import { readLedger } from "../observe/ledger.ts";
import { redactLedger } from "../observe/ledger-record.ts";
import {
  foldLedger,
  isOpen,
  type Ledger,
  MARKS,
  type Observation,
  openThreads,
} from "../observe/observations.ts";
import { observe } from "../observe/observe.ts";
import { readRules } from "../transcripts/rules.ts";
import type { Session } from "../transcripts/session.ts";
import { readActiveBranch } from "../transcripts/transcript.ts";

const TEXT_CHARS = 240;
const OPEN_MAX = 6;
const RECENT_MAX = 8;
const FILES_MAX = 12;
/** A session that nobody observed is observed by rule here and now, up to this size. */
const READ_BYTES_MAX = 4 * 1024 * 1024;

interface HandOverOptions {
  paths: Paths;
  settings: Pick<Settings, "redact" | "exclude" | "observe">;
  clean: (text: string) => string;
}

/** Returns lines for a prompt; none when nothing was observed. Foreign words are quoted. */
export async function handOverLines(session: Session, options: HandOverOptions): Promise<string[]> {
  const memory = foldLedger(await ledgerOf(session, options));
  const threads = new Set(openThreads(memory));
  const rules = memory.observations.filter((item) => isOpen(item, memory) && !threads.has(item));
  const listed = new Set([...threads, ...rules]);
  const recent = memory.observations.filter((item) => !listed.has(item)).slice(-RECENT_MAX);
  const line = (label: string) => (item: Observation) =>
    `- ${label}: ${MARKS[item.priority]} ${quote(truncate(options.clean(item.text), TEXT_CHARS))}`;
  const files = [...memory.files.modified].slice(-FILES_MAX).map((path) => options.clean(path));
  return [
    ...rules.slice(-OPEN_MAX).map(line("holds")),
    ...[...threads].slice(-OPEN_MAX).map(line("open")),
    ...recent.map(line("noted")),
    ...(files.length > 0 ? [`- modified: ${quote(truncate(files.join(", "), TEXT_CHARS))}`] : []),
  ];
}

async function ledgerOf(session: Session, { paths, settings }: HandOverOptions): Promise<Ledger> {
  const { ledger } = readLedger(session, { paths, entries: [] });
  if (ledger.length > 0) return redactLedger(ledger, settings.redact.extra);
  if (session.size > READ_BYTES_MAX) return [];
  const rules = readRules(settings);
  const { entries } = readActiveBranch(session.file, { rules, results: true });
  const observed = await observe({
    ...{ ledger, entries, settings: settings.observe },
    timezone: "UTC",
    when: "all",
    redact: rules.clean,
    append: () => {},
  });
  return observed.ledger;
}

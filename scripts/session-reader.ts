#!/usr/bin/env bun

/**
 * Prints what was said and done in another session, newest part first found, oldest line first shown.
 *
 * Reads the transcript from its end, so a huge one takes no longer than a small one.
 *
 * @module
 */

import { SessionMemoryError } from "../lib/base/errors.ts";
import { formatLocal } from "../lib/base/time.ts";
import {
  choiceFlag,
  integerFlag,
  note,
  parseFlags,
  print,
  printJson,
  runMain,
  timeFlag,
  usageError,
  useConfig,
} from "../lib/cli.ts";
import { loadConfig, pathsReading, readingAnyVolute } from "../lib/config/config.ts";
import { oneLine } from "../lib/redact/redact.ts";
import { resolveSession } from "../lib/sessions/resolve.ts";
import { describeSession, listSessions } from "../lib/sessions/sessions.ts";
import { offsetOfLine, withFile } from "../lib/transcripts/jsonl.ts";
import { ownRules, type Rules, readRules } from "../lib/transcripts/rules.ts";
import type { Agent, Entry, Session } from "../lib/transcripts/session.ts";
import {
  type Head,
  numberLines,
  readEntries,
  readHead,
  readLastEntries,
} from "../lib/transcripts/transcript.ts";

const USAGE = `\
Usage: bun scripts/session-reader.ts <session> [options]
       bun scripts/session-reader.ts --list [options]

<session>: id, unique start of an id (4+), name, part of a name, transcript path, or "last".

Options:
  --lines <n>       Last entries to print (default: 50)
  --line <l>        Print the entry at this transcript line and those around it
  --around <k>      With --line: entries before and after (default: 10)
  --since <t>       Only entries (sessions) since then: 2026-02-03, yesterday, 7d, "last week"
  --utc             Times in UTC (default: the configured or system's time zone)
  --full            Whole compaction summaries and tool calls
  --list            List sessions, newest first; --agent claude|pi|codex|plain,
                    --project <folder or name>, -n <count> (default: 20)
  --subagents       Subagents' sessions too
  --sessions <path> Read this file or folder instead of the agents' own (repeatable)
  --json            One JSON document       --quiet  No remarks on stderr
  -h, --help        Show this help

Examples:
  bun scripts/session-reader.ts discord --lines 50
  bun scripts/session-reader.ts --list --agent pi -n 5
`;

/** A tool call's line is cut here, brackets included. */
const TOOL_LINE_MAX = 160;
/** No path is longer, so none is cut. */
const PATH_MAX = 4096;
const LIST_TITLE_MAX = 80;
/** The first request stands here, or is not looked for. */
const BEGINNING_BYTES = 256 * 1024;
const AGENTS = ["claude", "pi", "codex", "plain"] as const;

/** How a log is written out. */
export interface LogStyle {
  /** IANA name. */
  timezone: string;
  full: boolean;
}

/** A transcript's last `lines` entries as text. */
export function readSessionLog(options: {
  jsonlPath: string;
  format: "agent-sdk" | "pi" | "codex" | "plain";
  /** @default {50} */
  lines?: number;
}): string {
  const agent: Agent = options.format === "agent-sdk" ? "claude" : options.format;
  const head: Head = { ...readHead(options.jsonlPath), agent };
  const { entries } = readLastEntries(options.jsonlPath, {
    rules: ownRules(),
    count: options.lines ?? 50,
    head,
  });
  const style = { timezone: Intl.DateTimeFormat().resolvedOptions().timeZone, full: false };
  return entries.map((entry) => formatEntry(entry, style)).join("\n");
}

/** The entries of a session around one of its lines: `around` before it, those at it, `around` after it. */
export function readAround(
  file: string,
  { rules, line, around }: { rules: Rules; line: number; around: number },
): Entry[] {
  const offset = withFile(file, (descriptor, size) => offsetOfLine(descriptor, line, size));
  if (offset === undefined) {
    throw new SessionMemoryError("NOT_FOUND", `Cannot show line ${line}: "${file}" has fewer lines`, {
      hint: "leave out --line to see its end",
    });
  }
  const before = readLastEntries(file, { rules, count: around, before: offset }).entries;
  numberLines(file, before, { line, offset });
  const entries = before;
  let after = 0;
  const from = { offset, line: line - 1 };
  for (const entry of readEntries(file, { rules, from, unterminated: "accept" })) {
    if (entry.line !== line && ++after > around) break;
    entries.push(entry);
  }
  return entries;
}

/** One entry as it is printed. */
function formatEntry(entry: Entry, { timezone, full }: LogStyle): string {
  const time = `[${entry.at ? formatLocal(entry.at, timezone) : "no time"}]`;
  const { text } = entry;
  switch (entry.kind) {
    case "user":
      return `${time} User: ${text}`;
    case "assistant":
      return `${time} Assistant: ${text}`;
    case "summary":
      if (full) return `${time} [Compacted]\n${text}`;
      return `${time} [Compacted: ${[...text].length} characters, --full to show]`;
    default:
      return `${time} [${full ? text : oneLine(text, TOOL_LINE_MAX - 2)}]`;
  }
}

function entryJson({ line, at, kind, text, tool }: Entry) {
  if (!tool) return { line, at: at ?? null, kind, text };
  const { name, target, action } = tool;
  return { line, at: at ?? null, kind, text, tool: { name, target, action } };
}

function sessionJson({ id, name, agent, cwd, file }: Session, { clean }: Rules) {
  const shown = (text: string | undefined) => (text === undefined ? null : clean(text));
  return { id: shown(id), name: shown(name), agent, cwd: shown(cwd), file: shown(file) };
}

/** The part of a session that was asked for. */
function readPart(
  session: Session,
  { lines, line, around }: { lines: number; line: number | undefined; around: number },
  { rules, since }: { rules: Rules; since: Date | undefined },
): { entries: Entry[]; skipped: number } {
  if (line !== undefined) return { entries: readAround(session.file, { rules, line, around }), skipped: 0 };
  const { entries, skipped } = readLastEntries(session.file, { rules, count: lines });
  if (!since) return { entries, skipped };
  const after = since.toISOString();
  const recent = entries.filter((entry) => (entry.at ?? after) >= after);
  if (recent.length === lines)
    note(`the last ${lines} entries since then, there may be more: --lines ${lines * 10}`);
  return { entries: recent, skipped };
}

function header(session: Session, rules: Rules): string {
  const title = oneLine(rules.clean(session.name ?? session.id), TOOL_LINE_MAX);
  return `# ${title} · ${identity(session, rules)}`;
}

/** Ids and folders come from files: they may hold line breaks and control characters too. */
function identity({ id, agent, cwd = "?" }: Session, { clean }: Rules): string {
  const [shownId, folder] = [id, cwd].map((text) => oneLine(clean(text), PATH_MAX));
  return `${agent} · ${shownId} · ${folder}`;
}

function printList(
  sessions: Session[],
  { rules, timezone, json }: { rules: Rules; timezone: string; json: boolean },
): void {
  if (json) {
    const rows = sessions.map((session) => {
      const { updatedAt, size } = session;
      return { ...sessionJson(session, rules), updatedAt, size };
    });
    printJson({ sessions: rows });
    return;
  }
  if (sessions.length === 0) note("no sessions found");
  for (const session of sessions) {
    const { updatedAt, size } = session;
    const parts = [formatLocal(updatedAt, timezone), titleOf(session, rules), identity(session, rules)];
    print([...parts.filter(Boolean), formatSize(size)].join(" · "));
  }
}

/** A session's name, or the words it began with in quotes: an id alone tells nobody what it was about. */
function titleOf({ name, file }: Session, rules: Rules): string {
  if (name !== undefined) return oneLine(rules.clean(name), LIST_TITLE_MAX);
  const words = firstWords(file, rules);
  return words === undefined ? "" : `"${oneLine(words, LIST_TITLE_MAX - 2)}"`;
}

function firstWords(file: string, rules: Rules): string | undefined {
  try {
    for (const { kind, text } of readEntries(file, { rules, to: BEGINNING_BYTES, unterminated: "accept" })) {
      if (kind === "user") return text;
    }
  } catch {
    // gone since it was listed
  }
  return undefined;
}

function formatSize(bytes: number): string {
  const kib = Math.ceil(bytes / 1024);
  return kib < 1024 ? `${kib} KiB` : `${(kib / 1024).toFixed(1)} MiB`;
}

async function main(args: string[]): Promise<void> {
  const { values, words } = parseFlags(
    args,
    {
      lines: { type: "string" },
      line: { type: "string" },
      around: { type: "string" },
      since: { type: "string" },
      utc: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      agent: { type: "string" },
      project: { type: "string" },
      n: { type: "string", short: "n" },
      subagents: { type: "boolean", default: false },
      sessions: { type: "string", multiple: true },
      json: { type: "boolean", default: false },
    },
    { max: 1 },
  );
  const limit = integerFlag("-n", values.n, 20, { min: 1 });
  const agent = choiceFlag("--agent", values.agent, AGENTS);
  const input = {
    lines: integerFlag("--lines", values.lines, 50, { min: 1 }),
    line: values.line === undefined ? undefined : integerFlag("--line", values.line, 1, { min: 1 }),
    around: integerFlag("--around", values.around, 10),
  };
  if (!values.list && words[0] === undefined) {
    throw usageError("Expected a session", 'name one, or see them with --list; "last" is the most recent');
  }
  if (values.list && words[0] !== undefined) {
    throw usageError(`Cannot use argument "${words[0]}" with --list`, "leave out one of them");
  }
  const config = await loadConfig(process.env, process.cwd());
  useConfig(config);
  const paths = readingAnyVolute(pathsReading(config, values.sessions, process.cwd()));
  const rules = readRules(config.settings);
  const timezone = values.utc ? "UTC" : config.settings.timezone;
  const since = values.since === undefined ? undefined : timeFlag("--since", values.since, timezone);
  if (values.list) {
    const { project, subagents, json } = values;
    const sessions = listSessions(paths, { agent, project, subagents, limit, described: true });
    const changed = since ? sessions.filter(({ updatedAt }) => updatedAt >= since.toISOString()) : sessions;
    printList(changed, { rules, timezone, json });
    return;
  }
  const session = describeSession(
    resolveSession(words[0] ?? "", {
      paths,
      cwd: process.cwd(),
      current: config.currentSession,
      subagents: values.subagents,
    }),
    paths,
  );
  const { entries, skipped } = readPart(session, input, { rules, since });
  if (skipped > 0) note(`${skipped} damaged ${skipped === 1 ? "line" : "lines"} skipped`);
  if (values.json) {
    if (input.line === undefined) numberLines(session.file, entries);
    const { startedAt, updatedAt } = session;
    printJson({
      session: { ...sessionJson(session, rules), startedAt: startedAt ?? null, updatedAt },
      entries: entries.map(entryJson),
      skipped,
    });
    return;
  }
  print(header(session, rules));
  const style = { timezone, full: values.full };
  if (entries.length > 0) print(entries.map((entry) => formatEntry(entry, style)).join("\n"));
  else note(since ? "nothing was said since then" : "nothing was said yet");
}

if (import.meta.main) await runMain(USAGE, main);

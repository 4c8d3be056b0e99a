/**
 * Writes the lines on the sessions that a prompt mentions. All of it is data about other sessions: one line per fact, in which
 * nothing can begin a line or a tag of its own.
 */

import { fit } from "../base/fit.ts";
import { countPoints } from "../base/output.ts";
import { ownCommand } from "../base/runtime.ts";
import {
  counted,
  headed,
  oneLine,
  onMachine,
  quote,
  quoted,
  quoteName,
  repeats,
  shortId,
} from "../base/text.ts";
import { formatAge, formatMinute } from "../base/time.ts";
import type { Session } from "../hosts/session.ts";
import type { SessionMeta } from "../sessions/meta.ts";
import type { Candidate } from "../sessions/resolve.ts";
import type { Rules } from "../transcripts/rules.ts";

const HEADER = headed("Session References");
/** The least that a host hands over is 10,000 characters, and the activity of other sessions comes before these. */
const BLOCK_MAX_CHARS = 9000;
const NAME_CHARS = 100;
const DESCRIPTION_CHARS = 300;
const SUMMARY_CHARS = 1500;
const TAGS_CHARS = 200;

/** A session that a prompt mentions. */
interface Mentioned {
  /** As the prompt has it. */
  written: string;
  session: Session;
  meta: SessionMeta | undefined;
}

interface Style extends Pick<Rules, "hasText"> {
  /** @default the system's own */
  timezone: string | undefined;
}

/** Returns the whole block; empty when there is nothing in it. Lines beyond the limit are replaced by a count. */
export function referenceBlock(lines: readonly string[], maxChars: number = BLOCK_MAX_CHARS): string {
  const room = Math.min(maxChars, BLOCK_MAX_CHARS) - countPoints([HEADER]);
  const blocks = lines.map((line, rank) => ({ rank, forms: [[line]] }));
  const gap = (count: number) => [`… ${counted(count, "more line")} left out`];
  if (lines.length === 0 || room <= countPoints(gap(lines.length))) return "";
  return [HEADER, ...fit(blocks, { maxChars: room, gap })].join("\n");
}

/** Returns the lines about one session. */
export function sessionLines({ written, session, meta }: Mentioned, { timezone, hasText }: Style): string[] {
  // A meta file may be older than what is excluded.
  const shown = (text = "") => (hasText(text) ? "" : text);
  const name = shown(meta?.name ?? session.name);
  const updated = formatMinute(session.updatedAt, timezone);
  const lines = [
    `${oneLine(written, NAME_CHARS)} is ${name === "" ? "(no name)" : quote(oneLine(name, NAME_CHARS))} · ${session.agent} · ${quoteName(oneLine(session.id, 255))} · updated ${updated}`,
  ];
  if (meta) {
    const [description, summary] = [shown(meta.description), shown(meta.summary)];
    const tags = meta.tags.filter((tag) => !hasText(tag));
    if (!repeats(description, [summary, name]))
      lines.push(`- description: ${quote(oneLine(description, DESCRIPTION_CHARS))}`);
    if (!repeats(summary, [name]))
      lines.push(`- summary: ${quote(oneLine(summary.replace(/\n+/g, " / "), SUMMARY_CHARS))}`);
    if (tags.length > 0) lines.push(`- tags: ${quote(oneLine(tags.join(", "), TAGS_CHARS))}`);
  } else lines.push("- no description of it yet");
  return lines;
}

/** The ways of asking a session in this host. */
interface Asking {
  /** True if a model answers `@@name: question`. */
  hasModel: boolean;
  /** True if the host has the tool `query_session`. */
  hasTool: boolean;
  /** True if only commands given in its folder know the session: neither prompts nor the index do. */
  isVisited: boolean;
}

/** Returns the line that says how to ask a session more, in the form that works here. */
export function askLine(
  { written, session }: Pick<Mentioned, "written" | "session">,
  { hasModel, hasTool, isVisited }: Asking,
): string {
  const ways = [
    ...(hasModel ? [`${shownName(written)}: <question> in a prompt`] : []),
    ...(hasTool ? ["query_session"] : []),
  ];
  if (ways.length > 0 && !isVisited) return `- to ask more: ${ways.join(", or ")}`;
  const id = quoted(onMachine(shortId(session.id), session));
  const command = ownCommand("session-reader").map(quoted).join(" ");
  const searched = isVisited ? "" : `, or the same with: search --session ${id} <question>`;
  return `- to read more: ${command} ${id}${searched}`;
}

/** Names sessions that a reference may mean. */
export function choiceList(choices: readonly Candidate[]): string {
  return choices
    .map(({ id, agent, name, ageSeconds }) => {
      const called = name === undefined ? "" : ` ${quote(shownName(name))}`;
      return `${quoteName(oneLine(id, 255))}${called} (${agent}, ${formatAge(ageSeconds)} ago)`;
    })
    .join("; ");
}

/** Returns a name, or a reference as it was written, on one short line. */
export function shownName(name: string): string {
  return oneLine(name, NAME_CHARS);
}

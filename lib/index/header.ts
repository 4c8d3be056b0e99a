/** The situational header of a chunk: when, who, which topics, what about. It is embedded and searched with the content. */

import { localTime } from "../base/time.ts";
import type { Chunk } from "../transcripts/session.ts";

interface HeaderFacts {
  at: string | undefined;
  /** IANA name. */
  timezone: string;
  participants: { user: string; assistant: string };
  topics: readonly string[];
  /** The exchange in one line. */
  about: string;
}

const MONTHS = "January February March April May June July August September October November December".split(
  " ",
);

/** Returns the header's lines and the blank one that ends it. */
export function writeHeader({ at, timezone, participants, topics, about }: HeaderFacts): string {
  return (
    `[Session from ${formatMoment(at, timezone)}]\n` +
    `[Participants: ${participants.user} and ${participants.assistant}]\n` +
    `[Topics: ${topics.join(", ")}]\n[Context: ${about}]\n\n`
  );
}

/** Returns a chunk's header without labels, names and clock, which are the same everywhere: date, topics, context. */
export function headerWords(chunk: Pick<Chunk, "content" | "contextContent">): string {
  const { date, topics, context } = readHeader(chunk);
  return `${date}\n${topics}\n${context}`;
}

/** Returns a chunk's date, topics and context, without labels. */
function readHeader(chunk: Pick<Chunk, "content" | "contextContent">): {
  date: string;
  topics: string;
  context: string;
} {
  const [session = "", , topics = "", context = ""] = headerLines(chunk);
  return {
    date: session.slice("[Session from ".length, -1).split(" at ")[0] ?? "",
    topics: topics.slice("[Topics: ".length, -1),
    context: context.replace(/^\[Context: (?:User asks|Assistant says): |\]$/g, ""),
  };
}

/** Returns the subject of a chunk's exchange, in one sentence. */
export function headerContext(chunk: Pick<Chunk, "content" | "contextContent">): string {
  return (headerLines(chunk)[3] ?? "").slice("[Context: ".length, -1);
}

function headerLines({ content, contextContent }: Pick<Chunk, "content" | "contextContent">): string[] {
  return contextContent.slice(0, contextContent.length - content.length).split("\n");
}

/** Formats a moment: `February 5, 2026 at 10:30 AM Melbourne time`. */
function formatMoment(iso: string | undefined, timezone: string): string {
  const time = iso === undefined ? Number.NaN : Date.parse(iso);
  if (Number.isNaN(time)) return "an unknown date";
  const local = new Date(time + zoneOffset(time, timezone));
  const hour = local.getUTCHours();
  const minute = String(local.getUTCMinutes()).padStart(2, "0");
  const clock = `${hour % 12 || 12}:${minute} ${hour < 12 ? "AM" : "PM"}`;
  const day = `${MONTHS[local.getUTCMonth()]} ${local.getUTCDate()}, ${local.getUTCFullYear()}`;
  return `${day} at ${clock} ${zoneName(timezone)}`;
}

/** Names a zone: `Australia/Melbourne` → Melbourne time; `UTC` stays. */
function zoneName(timezone: string): string {
  const city = timezone.slice(timezone.lastIndexOf("/") + 1);
  return city === timezone ? timezone : `${city.replaceAll("_", " ")} time`;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const QUARTER_MS = HOUR_MS / 4;
const offsets = new Map<string, number>();

/** Returns a zone's offset from UTC. Asking the calendar is slow, and the answer is the same for most whole days. */
function zoneOffset(time: number, timezone: string): number {
  if (timezone === "UTC") return 0;
  const day = Math.floor(time / DAY_MS) * DAY_MS;
  const atStart = knownOffset(day, timezone);
  if (atStart === knownOffset(day + DAY_MS, timezone)) return atStart;
  return knownOffset(Math.floor(time / QUARTER_MS) * QUARTER_MS, timezone);
}

function knownOffset(time: number, timezone: string): number {
  const key = `${time} ${timezone}`;
  let offset = offsets.get(key);
  if (offset === undefined) {
    const { year, month, day, hour, minute, second } = localTime(new Date(time), timezone);
    offset = Date.UTC(year, month - 1, day, hour, minute, second) - time;
    if (offsets.size > 10_000) offsets.clear();
    offsets.set(key, offset);
  }
  return offset;
}

/** Renders the digest of what other sessions did: a few lines within a number of characters. Pure. */

import { fit } from "../base/fit.ts";
import { countPoints } from "../base/output.ts";
import { counted, headed, quote, quoteName } from "../base/text.ts";
import { formatAge } from "../base/time.ts";
import type { SessionKey } from "../hosts/session.ts";
import type { Tally } from "../transcripts/tally.ts";

/** One session in the digest, and in its JSON. Texts are redacted and on one line. */
export interface Activity extends SessionKey {
  /** Its name, else a part of its id. */
  name: string;
  ageSeconds: number;
  messages: number;
  firstUser: string | null;
  lastAssistant: string | null;
  /** From the top of the project. */
  edited: string[];
  read: string[];
  ran: number;
  /** True if the digest only counts it where others are listed; no part of JSON. @default {false} */
  isMinor?: boolean;
}

/** A file that both another session and the viewer edited. */
export interface Overlap {
  /** The other session's. */
  id: string;
  name: string;
  file: string;
  /** Since the viewer edited it. */
  ageSeconds: number;
}

const HEADER = headed("Session Activity");
/** The share of the space that warnings may take: the more there are, the less each matters. */
const WARNING_SHARE = 0.5;
/** Returns whether there is anything to report: words, edits or commands. Reading alone is not news. */
export function isNews({ messages, edited, ran }: Tally): boolean {
  return messages > 0 || edited.size > 0 || ran > 0;
}

/**
 * Renders the digest in the given order: whole lines only, at most `maxChars` code points.
 *
 * When space is short, quoted last texts are dropped first, the oldest session's before the others', then whole
 * sessions, oldest first.
 *
 * @returns null without news, or no space even to say that there is.
 */
export function renderDigest(
  activities: readonly Activity[],
  { overlaps = [], maxChars }: { overlaps?: readonly Overlap[]; maxChars: number },
): string | null {
  if (activities.length === 0) return null;
  const major = activities.filter(({ isMinor = false }) => !isMinor);
  const onlyCounted = major.length > 0 ? activities.filter(({ isMinor = false }) => isMinor) : [];
  const groups = groupAlike(major.length > 0 ? major : activities);
  const warnings = warningLines(overlaps, Math.floor(maxChars * WARNING_SHARE));
  // What is only counted is a block without a form: the warnings stand before the count.
  const gap = (count: number) => [
    ...warnings,
    ...moreLine([...groups.slice(groups.length + 1 - count).flat(), ...onlyCounted]),
  ];
  const room = maxChars + 1 - countPoints([HEADER]);
  // Lines beyond the room are not written: what they would say is only counted.
  const bare: string[] = [];
  for (const group of groups) if (countPoints(bare) <= room) bare.push(groupLine(group, false));
  const isWhole = countPoints([...bare, ...gap(1)]) <= room;
  const withTexts = isWhole ? [true, false] : [false];
  const blocks = groups.map((group, rank) => ({
    rank,
    forms: (rank < bare.length ? withTexts : []).map((withText) => [groupLine(group, withText)]),
  }));
  const told = fit([...blocks, { rank: -1, forms: [] }], { maxChars: room, gap });
  const shown = [told, moreLine(activities)].find((each) => countPoints(each) <= room);
  return shown ? [HEADER, ...shown].join("\n") : null;
}

function moreLine(leftOut: readonly Activity[]): string[] {
  if (leftOut.length === 0) return [];
  const editing = leftOut.filter(({ edited }) => edited.length > 0).length;
  const share = leftOut.length === 1 ? "" : editing === leftOut.length ? "all of " : `${editing} of `;
  const edited = editing > 0 ? `, ${share}which edited files here` : "";
  return [`- +${counted(leftOut.length, "more session", "more sessions")}${edited}`];
}

/** Groups sessions with the same line, such as the many runs of one program. */
function groupAlike(activities: readonly Activity[]): Activity[][] {
  const groups = Map.groupBy(activities, (activity) => {
    const { id, name, firstUser } = activity;
    const done = whatWasDone(activity);
    if (firstUser === null) return `id ${id}`;
    return done === "" ? `said ${firstUser}` : `${name} said ${firstUser} did ${done}`;
  });
  return [...groups.values()];
}

function groupLine(group: readonly Activity[], withLastText: boolean): string {
  const [first, ...others] = group as [Activity, ...Activity[]];
  if (others.length === 0) return sessionLine(first, withLastText);
  const done = whatWasDone(first);
  return `- ${counted(group.length, "session")}: ${quote(first.firstUser ?? "")}${done && ` -> each ${done}`}`;
}

function sessionLine(activity: Activity, withLastText: boolean): string {
  const { name, ageSeconds, messages, firstUser, lastAssistant } = activity;
  const isItsName = firstUser !== null && isNamedBy(firstUser, name);
  const called = isItsName ? quote(firstUser) : quoteName(name);
  const words = firstUser === null || isItsName ? "" : beyondName(firstUser, name);
  const asked = words === "" ? "" : `: ${quote(words)}`;
  const outcome = [whatWasDone(activity)];
  if (withLastText && lastAssistant !== null) outcome.push(quote(lastAssistant));
  const done = outcome.filter(Boolean).join("; ");
  return `- ${called} (${formatAge(ageSeconds)} ago, ${counted(messages, "message")})${asked}${done && ` -> ${done}`}`;
}

/** Returns whether a name is but the beginning of these words and the place where they were said: `"what is" in shop on …`. */
function isNamedBy(words: string, name: string): boolean {
  const opening = /^"([^"]+)" (?:in|on) /.exec(name)?.[1];
  return opening !== undefined && plainWords(words).startsWith(plainWords(opening));
}

function plainWords(text: string): string {
  return text.toLowerCase().replace(/[\s.!?…]+$/, "");
}

/** Returns the words that a name does not say already: many names are the first words. */
function beyondName(words: string, name: string): string {
  const [said, called] = [plainWords(words), plainWords(name)];
  if (called.startsWith(said)) return "";
  const isBeginning = said.startsWith(called) && /^[^\p{L}\p{N}]/u.test(said.slice(called.length));
  return isBeginning ? `… ${words.slice(called.length).replace(/^[\s.!?…,;:]+/, "")}` : words;
}

function whatWasDone({ edited, read, ran }: Activity): string {
  const done: string[] = [];
  const [file, ...others] = edited;
  if (file !== undefined && others.length === 0) done.push(`updated ${quoteName(file)}`);
  if (edited.length > 1) done.push(`edited ${edited.length} files`);
  if (read.length > 0) done.push(`read ${counted(read.length, "file")}`);
  if (ran > 0) done.push(`ran ${counted(ran, "command")}`);
  return done.join(", ");
}

function warningLines(overlaps: readonly Overlap[], maxChars: number): string[] {
  const lines = overlaps.map(
    ({ name, file, ageSeconds }) =>
      `! ${quoteName(name)} edited ${quoteName(file)}, which you edited ${formatAge(ageSeconds)} ago`,
  );
  const blocks = lines.map((line, rank) => ({ rank, forms: [[line]] }));
  const gap = (count: number) =>
    count === lines.length
      ? [`! ${counted(count, "file")} edited here and elsewhere`]
      : [`! +${counted(count, "more file")}`];
  return fit(blocks, { maxChars: maxChars + 1, gap });
}

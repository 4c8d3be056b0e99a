/** Reads and formats times as people write them, in a time zone. */

interface LocalTime {
  year: number;
  /** 1 to 12. */
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
}

export const DAY_MS = 86_400_000;
const UNIT_MS: Record<string, number> = {
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: DAY_MS,
  w: 7 * DAY_MS,
};
export const MONTHS =
  "January February March April May June July August September October November December".split(" ");
/** A leap day is at most this far back. */
const YEARS_BACK = 8;
const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

const formatters = new Map<string, Intl.DateTimeFormat>();

interface ParseTimeOptions {
  now: Date;
  /** The end of a day, month or year that is meant: `--after` wants its start, `--before` its end. */
  edge: "start" | "end";
  /** IANA name. @default the system's */
  timezone?: string | undefined;
}

/**
 * Reads a time: ISO date or date-time, `2026-02`, `2026`, `14 July 2026`, `July 14` (the latest), `July`, `today`,
 * `yesterday`, a weekday, `7d`, `3h ago`, `last week`, `last month`, `last year`, `this week` and the like. A date means the
 * whole local day, a span (`7d`) the moment that long ago.
 *
 * @returns undefined for any other form.
 */
export function parseTime(
  text: string,
  { now, edge, timezone = systemTimezone() }: ParseTimeOptions,
): Date | undefined {
  const word = text.trim().toLowerCase().replace(/\s+/g, " ");
  const { year, month, day } = localTime(now, timezone);
  // A day or month beyond its range is one of the next or the last month or year.
  const between = (from: Day, to: Day) =>
    edge === "start"
      ? toInstant(midnight(from), timezone)
      : new Date(toInstant(midnight(to), timezone).getTime() - 1);
  const days = (start: number, length: number) =>
    between([year, month, day + start], [year, month, day + start + length]);
  const iso = /^(?<year>\d{4})(?:-(?<month>\d{1,2})(?:-(?<day>\d{1,2}))?)?$/.exec(word)?.groups;
  const written = iso ?? writtenDate(word);
  if (written) {
    const meant = latestDate(written, (last) => toInstant(midnight(last), timezone) <= now, year);
    return meant && between(...meant);
  }
  if (word === "now") return now;
  if (word === "today") return days(0, 1);
  if (word === "yesterday") return days(-1, 1);
  const dayOfWeek = new Date(Date.UTC(year, month - 1, day)).getUTCDay();
  const weekday = WEEKDAYS.indexOf(word.replace(/^(?:last|on) /, ""));
  if (weekday !== -1) return days(-(((dayOfWeek - weekday + 6) % 7) + 1), 1);
  const named = /^(this|last) (week|month|year)$/.exec(word);
  const back = named?.[1] === "last" ? 1 : 0;
  if (named?.[2] === "week") return days(-((dayOfWeek + 6) % 7) - 7 * back, 7);
  if (named?.[2] === "month") return between([year, month - back, 1], [year, month - back + 1, 1]);
  if (named) return between([year - back, 1, 1], [year - back + 1, 1, 1]);
  return parseInstant(word, timezone) ?? parseAgo(word, now, timezone);
}

/** Parses a date with a time of day. */
function parseInstant(word: string, timezone: string): Date | undefined {
  const parts = /^(\d{4}-\d\d-\d\d)[t ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(z|[+-]\d\d:?\d\d)?$/.exec(word);
  if (!parts) return undefined;
  const [, date, time, zone] = parts;
  const instant = new Date(`${date}T${time}${zone?.toUpperCase() ?? "Z"}`);
  if (Number.isNaN(instant.getTime())) return undefined;
  return zone ? instant : toInstant(localTime(instant, "UTC"), timezone);
}

/** Parses a length of time before now. */
function parseAgo(word: string, now: Date, timezone: string): Date | undefined {
  const ago =
    /^(\d+) ?(s|m|min|h|d|w|mo|y|seconds?|minutes?|hours?|days?|weeks?|months?|years?)(?: ago)?$/.exec(word);
  if (!ago) return undefined;
  const today = localTime(now, timezone);
  const [count, long = ""] = [Number(ago[1]), ago[2]];
  const unit = long.length > 3 ? (long.startsWith("mo") ? "mo" : long.slice(0, 1)) : long;
  if (unit === "mo") return toInstant({ ...today, month: today.month - count }, timezone);
  if (unit === "y") return toInstant({ ...today, year: today.year - count }, timezone);
  return new Date(now.getTime() - count * (UNIT_MS[unit] ?? 0));
}

/** A day of a calendar, its month from 1 on. */
type Day = [year: number, month: number, day: number];

function midnight([year, month, day]: Day): LocalTime {
  return { year, month, day, hour: 0, minute: 0, second: 0 };
}

/** The parts of a date as written: a missing one stands for all of it. */
type DateParts = { [part in "year" | "month" | "day"]?: string | undefined };

/** Reads `14 July 2026`, `July 14th, 2026`, `July 2026`, `July` and `14.7.2026`. */
function writtenDate(word: string): DateParts | undefined {
  const digits = /^(?<day>\d{1,2})\.(?<month>\d{1,2})\.(?<year>\d{4})$/.exec(word)?.groups;
  if (digits) return digits;
  const rest = word.replace(/^(?:on |in )?(?:(?:sun|mon|tues|wednes|thurs|fri|satur)day,? )?(?:the )?/, "");
  const parts =
    /^(?<day>\d{1,2})(?:st|nd|rd|th)?\.?(?: of)? (?<month>[a-z]{3,})\.?(?:,? (?<year>\d{4}))?$/.exec(rest) ??
    /^(?<month>[a-z]{3,})\.?(?: (?:the )?(?<day>\d{1,2})(?:st|nd|rd|th)?)?(?:,? (?<year>\d{4}))?$/.exec(rest);
  const { day, month = "", year } = parts?.groups ?? {};
  const number = MONTHS.findIndex((name) => name.toLowerCase().startsWith(month)) + 1;
  return parts && number > 0 ? { year, month: `${number}`, day } : undefined;
}

/** Returns a written date from its first day up to the one after it, of those without a year the latest that has begun. */
function latestDate(
  parts: DateParts,
  hasBegun: (day: Day) => boolean,
  thisYear: number,
): [from: Day, to: Day] | undefined {
  const years = parts.year
    ? [Number(parts.year)]
    : Array.from({ length: YEARS_BACK + 1 }, (_, i) => thisYear - i);
  const [month, day] = [Number(parts.month ?? 1), Number(parts.day ?? 1)];
  if (month < 1 || month > 12 || day < 1) return undefined;
  const year = years.find(
    (each) =>
      day <= new Date(Date.UTC(each, month, 0)).getUTCDate() &&
      (parts.year !== undefined || hasBegun([each, month, day])),
  );
  if (year === undefined) return undefined;
  const to: Day = parts.day ? [year, month, day + 1] : parts.month ? [year, month + 1, 1] : [year + 1, 1, 1];
  return [[year, month, day], to];
}

/** `2026-02-12 10:30:05` in the time zone; of the system's own, without the milliseconds that loading zones takes. */
export function formatLocal(iso: string | Date, timezone?: string): string {
  const date = new Date(iso);
  if (timezone !== undefined && timezone !== "UTC") return formatter(timezone).format(date);
  const offset = timezone === undefined ? date.getTimezoneOffset() * 60_000 : 0;
  return `${new Date(date.getTime() - offset).toJSON()}`.slice(0, 19).replace("T", " ");
}

/** `2026-02-12 10:30` in the time zone. */
export function formatMinute(iso: string, timezone?: string): string {
  return formatLocal(iso, timezone).slice(0, 16);
}

/** Returns the local date, `2026-02-12`. */
export function formatDate(iso: string, timezone?: string): string {
  return formatLocal(iso, timezone).slice(0, 10);
}

/** Returns an ISO time of UTC; undefined for one later than now: nothing that was read is newer than that. */
export function pastTime(iso: string | undefined, now: Date = new Date()): string | undefined {
  return iso !== undefined && iso <= now.toISOString() ? iso : undefined;
}

/** `45s`, `3m`, `2h`, `5d`: the largest unit that fits. */
export function formatAge(seconds: number): string {
  const age = Math.max(0, Math.floor(seconds));
  if (age < 60) return `${age}s`;
  if (age < 3600) return `${Math.floor(age / 60)}m`;
  if (age < 86_400) return `${Math.floor(age / 3600)}h`;
  return `${Math.floor(age / 86_400)}d`;
}

/** Returns the wall clock of an instant in a time zone. */
export function localTime(date: Date, timezone?: string): LocalTime {
  const numbers = formatLocal(date, timezone).match(/\d+/g) ?? [];
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = numbers.map(Number);
  return { year, month, day, hour, minute, second };
}

/** Returns the instant at which a time zone's clock shows this; in a gap of summer time, the moment after it. */
export function toInstant(local: LocalTime, timezone: string): Date {
  const wall = Date.UTC(local.year, local.month - 1, local.day, local.hour, local.minute, local.second);
  let guess = wall;
  // The offset may differ between the guess and the answer (summer time): the second round settles it.
  for (let round = 0; round < 2; round++) {
    const shown = localTime(new Date(guess), timezone);
    const offset =
      Date.UTC(shown.year, shown.month - 1, shown.day, shown.hour, shown.minute, shown.second) - guess;
    guess = wall - offset;
  }
  return new Date(guess);
}

export function systemTimezone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function formatter(timezone: string): Intl.DateTimeFormat {
  let known = formatters.get(timezone);
  // Swedish writes times as ISO does
  known ??= new Intl.DateTimeFormat("sv", { timeZone: timezone, dateStyle: "short", timeStyle: "medium" });
  formatters.set(timezone, known);
  return known;
}

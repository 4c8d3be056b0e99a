/** Times as people write and read them, in a time zone. */

interface LocalTime {
  year: number;
  /** 1 to 12. */
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
}

const DAY_MS = 86_400_000;
const UNIT_MS: Record<string, number> = {
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: DAY_MS,
  w: 7 * DAY_MS,
};
/** English only; a question's may be of other languages (`lib/language/times.ts`). */
const MONTHS = "january february march april may june july august september october november december".split(
  " ",
);
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
 * @returns undefined when it is none of these.
 */
export function parseTime(
  text: string,
  { now, edge, timezone = systemTimezone() }: ParseTimeOptions,
): Date | undefined {
  const word = text.trim().toLowerCase().replace(/\s+/g, " ");
  const today = localTime(now, timezone);
  const days = (start: number, length: number) =>
    wholeDays({ ...today, day: today.day + start }, length, edge, timezone);
  const iso = /^(?<year>\d{4})(?:-(?<month>\d{1,2})(?:-(?<day>\d{1,2}))?)?$/.exec(word)?.groups;
  if (iso) return wholeDate(iso, edge, timezone);
  const written = writtenDate(word);
  if (written) return latestDate(written, { now, edge, timezone });
  const dateTime = /^(\d{4}-\d\d-\d\d)[t ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(z|[+-]\d\d:?\d\d)?$/.exec(word);
  if (dateTime) return instant(dateTime, timezone);
  if (word === "now") return now;
  if (word === "today") return days(0, 1);
  if (word === "yesterday") return days(-1, 1);
  const weekday = WEEKDAYS.indexOf(word.replace(/^(?:last|on) /, ""));
  if (weekday !== -1) return days(-(((dayOfWeek(today) - weekday + 6) % 7) + 1), 1);
  const monday = -((dayOfWeek(today) + 6) % 7);
  if (word === "this week") return days(monday, 7);
  if (word === "last week") return days(monday - 7, 7);
  const named = /^(this|last) (month|year)$/.exec(word);
  if (named) return wholePeriod(today, named[2] === "month", named[1] === "last" ? 1 : 0, edge, timezone);
  return spanAgo(word, now, today, timezone);
}

/** `2026-02-12 10:30:05` in the time zone. */
export function formatLocal(iso: string, timezone?: string): string {
  const { year, month, day, hour, minute, second } = localTime(new Date(iso), timezone);
  return `${pad(year, 4)}-${pad(month)}-${pad(day)} ${pad(hour)}:${pad(minute)}:${pad(second)}`;
}

/** `45s`, `3m`, `2h`, `5d`: the largest unit that fits. */
export function formatAge(seconds: number): string {
  const age = Math.max(0, Math.floor(seconds));
  if (age < 60) return `${age}s`;
  if (age < 3600) return `${Math.floor(age / 60)}m`;
  if (age < 86_400) return `${Math.floor(age / 3600)}h`;
  return `${Math.floor(age / 86_400)}d`;
}

/** Returns the wall clock of an instant in a time zone; the system's own zone needs none of the milliseconds that loading zones costs. */
export function localTime(date: Date, timezone?: string): LocalTime {
  if (timezone === undefined) {
    return {
      year: date.getFullYear(),
      month: date.getMonth() + 1,
      day: date.getDate(),
      hour: date.getHours(),
      minute: date.getMinutes(),
      second: date.getSeconds(),
    };
  }
  if (timezone === "UTC") {
    return {
      year: date.getUTCFullYear(),
      month: date.getUTCMonth() + 1,
      day: date.getUTCDate(),
      hour: date.getUTCHours(),
      minute: date.getUTCMinutes(),
      second: date.getUTCSeconds(),
    };
  }
  const parts = new Map(
    formatter(timezone)
      .formatToParts(date)
      .map((part) => [part.type, Number(part.value)]),
  );
  const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0;
  return {
    year: part("year"),
    month: part("month"),
    day: part("day"),
    hour: part("hour"),
    minute: part("minute"),
    second: part("second"),
  };
}

/** Returns the instant at which a time zone's clock shows this; in a gap of summer time, the moment after it. */
export function instantOf(local: LocalTime, timezone: string): Date {
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

/** Returns the system's time zone. */
function systemTimezone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function formatter(timezone: string): Intl.DateTimeFormat {
  let known = formatters.get(timezone);
  if (!known) {
    known = new Intl.DateTimeFormat("en-US", {
      timeZone: timezone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    formatters.set(timezone, known);
  }
  return known;
}

/** As written; what is missing is meant as a whole. */
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
  const number = MONTHS.findIndex((name) => name.startsWith(month)) + 1;
  return parts && number > 0 ? { year, month: `${number}`, day } : undefined;
}

/** Returns a date; without a year the latest that has begun. */
function latestDate(
  date: DateParts,
  { now, edge, timezone }: { now: Date; edge: "start" | "end"; timezone: string },
): Date | undefined {
  if (date.year !== undefined) return wholeDate(date, edge, timezone);
  const thisYear = localTime(now, timezone).year;
  for (let back = 0; back <= YEARS_BACK; back++) {
    const dated = { ...date, year: `${thisYear - back}` };
    const start = wholeDate(dated, "start", timezone);
    if (start && start <= now) return wholeDate(dated, edge, timezone);
  }
  return undefined;
}

function wholeDate(parts: DateParts, edge: "start" | "end", timezone: string): Date | undefined {
  const [year, month, day] = [Number(parts.year), Number(parts.month ?? 1), Number(parts.day ?? 1)];
  if (month < 1 || month > 12 || day < 1 || day > new Date(Date.UTC(year, month, 0)).getUTCDate())
    return undefined;
  const midnight = { year, month, day, hour: 0, minute: 0, second: 0 };
  if (edge === "start") return instantOf(midnight, timezone);
  const next = parts.day
    ? { ...midnight, day: day + 1 }
    : parts.month
      ? { ...midnight, month: month + 1 }
      : { ...midnight, year: year + 1 };
  return new Date(instantOf(next, timezone).getTime() - 1);
}

function instant(match: RegExpExecArray, timezone: string): Date | undefined {
  const [date, time, zone] = [match[1] ?? "", match[2] ?? "", match[3]];
  const utc = new Date(`${date}T${time}${zone ? zone.toUpperCase() : "Z"}`);
  if (Number.isNaN(utc.getTime())) return undefined;
  return zone ? utc : instantOf(localTime(utc, "UTC"), timezone);
}

function wholeDays(from: LocalTime, length: number, edge: "start" | "end", timezone: string): Date {
  const midnight = { ...from, hour: 0, minute: 0, second: 0 };
  if (edge === "start") return instantOf(midnight, timezone);
  return new Date(instantOf({ ...midnight, day: from.day + length }, timezone).getTime() - 1);
}

function wholePeriod(
  today: LocalTime,
  isMonth: boolean,
  back: number,
  edge: "start" | "end",
  timezone: string,
): Date {
  const start = { ...today, day: 1, hour: 0, minute: 0, second: 0 };
  const first = isMonth
    ? { ...start, month: today.month - back }
    : { ...start, month: 1, year: today.year - back };
  if (edge === "start") return instantOf(first, timezone);
  const next = isMonth ? { ...first, month: first.month + 1 } : { ...first, year: first.year + 1 };
  return new Date(instantOf(next, timezone).getTime() - 1);
}

function spanAgo(word: string, now: Date, today: LocalTime, timezone: string): Date | undefined {
  const match =
    /^(\d+) ?(s|m|min|h|d|w|mo|y|seconds?|minutes?|hours?|days?|weeks?|months?|years?)(?: ago)?$/.exec(word);
  if (!match) return undefined;
  const count = Number(match[1]);
  const long = match[2] ?? "";
  const unit = long.length > 3 ? (long.startsWith("mo") ? "mo" : long.slice(0, 1)) : long;
  if (unit === "mo") return instantOf({ ...today, month: today.month - count }, timezone);
  if (unit === "y") return instantOf({ ...today, year: today.year - count }, timezone);
  return new Date(now.getTime() - count * (UNIT_MS[unit] ?? 0));
}

function dayOfWeek({ year, month, day }: LocalTime): number {
  return new Date(Date.UTC(year, month - 1, day)).getUTCDay();
}

function pad(value: number, length = 2): string {
  return String(value).padStart(length, "0");
}
